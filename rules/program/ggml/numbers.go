package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// told is a fix as the program spells it, after words with its figures.
func told(fix, title, told, cost string) cause.Cure {
	cure := cause.Cure{Fix: fix, Title: title, Told: told, Own: true, Cost: cost}
	if fix == "quantize_kv_cache" || fix == "enable_flash_attention" {
		cure.If = when.Not(oldVulkan)
	}
	return cure
}

// where is a cure for some of the cases in which a card holds.
func where(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = holds
	return cure
}

// numbers are what the sentences of llama.cpp's cards name, "" for what the
// log does not give.
func numbers(c *ledger.Case) map[string]string {
	b := budgetOf(c)
	out := map[string]string{
		"gpu":     gpuName(c),
		"ub":      fmt.Sprint(b.Batch),
		"ubTo":    fmt.Sprint(BatchToTry(c)),
		"context": grouped(b.Context),
		"ctxTo":   grouped(contextToTry(c)),
		"all":     grouped(b.Layers),
		"moment":  moment(c),
		"others":  sharesOf(c),
		"slots":   grouped(max(count(c, "n_seq_max", 256), slots(c))),
		"look":    lookAt(c),
		"devices": devicesOf(c),
		"claimed": claimed(c),
		"noFile":  noFile(c),
		"prompt":  grouped(promptTokens(c)),
		"placed":  placed(c),
	}
	if !severalDevices(c) && !pieced(c) {
		out["layers"] = out["all"]
	}
	amounts(c, b, out)
	budgeted(b, out)
	if cache, has, n := beyond(c); n > 0 {
		out["planned"], out["has"], out["planTo"] = units.Amount(cache), units.Amount(has), units.Amount(ledger.Proportion(cache, n, b.Context))
	}
	if out["placed"] != "" {
		out["unset"], out["graph"] = ownLength(c, b), units.Amount(b.Graph)
	}
	out["q8ctx"] = grouped(longestIn8Bit(b))
	out["q8told"] = cacheTold(c, out)
	out["kvOthers"], out["shareHow"] = books.OthersCache(c)
	open := "Either the GPU is too small for this, or something else already uses part of it: see `" + lookAt(c) + "`."
	if c.Backend == "sycl" && ledger.Requested(c) > pieceLimit {
		out["piece"] = "Intel's driver may also refuse any single buffer above 4 GiB."
		open += " " + out["piece"]
	}
	if pieced(c) {
		out["pieces"] = "It is one of several pieces of the weights; those before it fitted."
	}
	switch c.Failure.Stage {
	case "weights", "compute":
		if out["had"] == "" && out["left"] == "" {
			out["doubt"] = open
			if out["claimed"] != "" {
				out["doubt"] = out["claimed"] + " was listed as free before; `" + lookAt(c) + "` shows what else uses the GPU."
			}
			if c.Asked.Bytes > largestCard {
				out["doubt"] = "Hardly any single GPU has that much memory."
			}
		}
	case "kv":
		out["unset"] = ownLength(c, b)
	}
	out["weighed"] = load.Weighed(c, out)
	return out
}

// deviceSize is what the list of devices says of the largest one.
func deviceSize(c *ledger.Case) (most int64) {
	for _, d := range c.Facts.Devices {
		most = max(most, ledger.SizeOf(d.Total), ledger.SizeOf(d.Free))
	}
	return most
}

// amounts are those of what was refused: per layer, per token, at other
// settings.
func amounts(c *ledger.Case, b budget, out map[string]string) {
	asked := ledger.Requested(c)
	if asked == 0 {
		return
	}
	for _, gb := range [...]int64{4, 6, 8, 12, 16, 24, 32, 48, 80} {
		if gb*units.GiB <= asked && max(ledger.SizeOf(c.F().Free), c.Total.Bytes, deviceSize(c)) < asked {
			out["never"] = fmt.Sprint(gb)
		}
	}
	if c.Root(fact.GGMLLimit) && onVulkan(c) {
		out["oneBuffer"] = "Free memory is not what is short: the driver allows no single buffer that large (often 4 GiB, on some 2)."
	}
	out["quarter"], out["q8"] = units.Amount(asked/4), units.Amount(ledger.Proportion(asked, 17, 32))
	switch c.Failure.Stage {
	case "weights":
		if b.Layers > 1 && !severalDevices(c) && !pieced(c) {
			out["layer"] = units.Amount(ledger.CeilDiv(asked, b.Layers))
			out["mib"] = fmt.Sprint((ledger.CeilDiv(asked, b.Layers) + units.MiB/2) / units.MiB)
		}
	case "kv":
		out["q4"] = units.Amount(ledger.Proportion(asked, 9, 32))
		if b.Context > 0 {
			out["kib"] = units.Amount(asked / b.Context)
			out["ctxThen"] = units.Amount(ledger.Proportion(asked, contextToTry(c), b.Context))
		}
	case "compute":
		out["ubThen"] = units.Amount(ledger.Proportion(asked, BatchToTry(c), b.Batch))
		if n := scores(c, b.Context); n > 0 && n < asked {
			out["scores"], out["rest"] = units.Amount(n), units.Amount(asked-n)
			if (asked-n)*50 < asked {
				out["scores"] = "Nearly all"
			}
			if out["ctxThen"] = out["rest"] + " with flash attention"; onSYCL(c) || oldVulkan(c) {
				out["ctxThen"] = units.Amount(asked - n + ledger.Proportion(n, contextToTry(c), b.Context))
			}
		}
		if b.Context == 0 {
			out["tokens128"], out["tokens64"] = load.TokensFor(asked, b.Batch, 128), load.TokensFor(asked, b.Batch, 64)
		}
	}
}

// budgeted are what was free and what was short.
func budgeted(b budget, out map[string]string) {
	if b.Free == 0 || b.Free == pieceLimit {
		return
	}
	out["had"] = units.Amount(b.Free)
	if b.Basis == "estimate" {
		out["had"] = "about " + out["had"]
	}
	if left := b.Free - (b.Sum() - b.Refused); left > 0 && left < b.Refused && b.Part != "weights" {
		out["left"], out["short"], out["kept"] = units.Amount(left), units.Amount(b.Refused-left), units.Amount(b.Kept)
	}
	if b.Part == "weights" && b.Refused > b.Free {
		out["short"] = units.Amount(b.Refused - b.Free)
	}
	if b.Part == "weights" && b.Free >= b.Refused && b.Basis == "log" {
		out["close"] = "That is only a little more than the weights need, and the driver itself takes 200 to 500 MiB of it."
	}
	n, ok := b.LayersThatFit()
	if !ok || n == 0 || n >= b.Layers {
		return
	}
	out["keep"] = fmt.Sprint(n)
	if b.Context > 8192 && b.KV > 0 {
		b.KV, b.Context = ledger.Proportion(b.KV, 8192, b.Context), 8192
		if short, ok := b.LayersThatFit(); ok && short > n+1 {
			out["keepShort"] = fmt.Sprint(short)
		}
	}
}

// cacheTold is what an 8-bit cache takes, and whether that is enough.
func cacheTold(c *ledger.Case, out map[string]string) string {
	switch {
	case unevenHeads(c):
		return "For the keys only, which are more than half of this cache: builds before May 2025 have no flash attention for DeepSeek's large models, and an 8-bit V cache needs it."
	case out["q8ctx"] != "":
		return "All " + out["context"] + " tokens would still take " + out["q8"] + ", and " + out["left"] + " is left. With a context of " + out["q8ctx"] + " it fits."
	case out["q8"] != "" && out["q4"] != "":
		return "It takes " + out["q8"] + " instead of " + units.Amount(ledger.Requested(c)) + " (q4_0: " + out["q4"] + ")."
	}
	return ""
}

// longestIn8Bit is the context whose 8-bit cache fits where all of it does not,
// 0 where it does or that is not known.
func longestIn8Bit(b budget) int64 {
	left := b.Free - (b.Sum() - b.Refused)
	all := ledger.Proportion(b.Refused, 17, 32)
	if b.Free == 0 || b.Part != "kv" || left <= 0 || all <= left || b.Context == 0 {
		return 0
	}
	return ledger.Proportion(b.Context, left, all) / 1024 * 1024
}

// cacheIn8BitSteps sets the 8-bit cache, with the context that fits then.
func cacheIn8BitSteps(c *ledger.Case) []step.Step {
	d := dialect.Of(c)
	if c.Says("gpustack") && unevenHeads(c) {
		return []step.Step{{Kind: "text", Text: "Edit Model, Advanced, Backend Parameters: `--cache-type-k=q8_0`."}}
	}
	if unevenHeads(c) {
		return []step.Step{d.Step(c, "-ctk q8_0")}
	}
	if n := longestIn8Bit(budgetOf(c)); n > 0 && d.Kind == "shell" {
		return []step.Step{d.Step(c, fmt.Sprintf("-c %d ", n)+d.Settings["quantize_kv_cache"])}
	}
	return llamaSteps["quantize_kv_cache"](c)
}

// deepSeek is what to know of flash attention where the model may be one of
// DeepSeek's large ones.
func deepSeek(c *ledger.Case) string {
	if name := strings.ToLower(c.ModelName()); name != "model" && !strings.Contains(name, "deepseek") || !dialect.OldBuild(c) && name == "model" {
		return ""
	}
	return ". DeepSeek's large models have it only since May 2025 (on NVIDIA from RTX 30 on): update first, then add `-fa on`."
}

// unevenHeads: keys and values of DeepSeek's large models have heads of
// different size. Builds before May 2025 turn flash attention off for them
// ("requires n_embd_head_k == n_embd_head_v"), which a V cache of 8 bit needs.
func unevenHeads(c *ledger.Case) bool {
	name := strings.ToLower(c.ModelName())
	return strings.Contains(name, "deepseek") && !strings.Contains(name, "distill") && !strings.Contains(name, "coder") && dialect.OldBuild(c) && dialect.Of(c).Kind == "shell"
}

// flashThere turns flash attention on, with what to know of the model.
func flashThere(c *ledger.Case) []step.Step {
	steps := llamaSteps["enable_flash_attention"](c)
	if last := len(steps) - 1; steps[last].Kind == "text" && deepSeek(c) != "" {
		steps[last].Text = strings.TrimSuffix(steps[last].Text, ".") + deepSeek(c)
	}
	return steps
}

func grouped(n int64) string {
	if n <= 0 {
		return ""
	}
	return ledger.Thousands(n)
}

// gpuName is the failing device as the log numbers it.
func gpuName(c *ledger.Case) string {
	if d := c.F().Device; d != nil && d.Value >= 0 {
		return fmt.Sprintf("GPU %d", int(d.Value))
	}
	return "the GPU"
}

// moment is when a buffer was asked for while the program ran.
func moment(c *ledger.Case) string {
	if c.Phase == "inference" && c.Failure.Stage == "compute" {
		return "The model was already running when it needed more working memory."
	}
	return ""
}

// layersByHand is the number of layers, or how to reckon it from what is free.
func layersByHand(c *ledger.Case) []step.Step {
	d, out := dialect.Of(c), numbers(c)
	if out["keep"] != "" || out["mib"] == "" || d.Kind == "ui" {
		return llamaLayers(c)
	}
	return []step.Step{{Kind: "text", Text: fmt.Sprintf("Each of the %s layers takes about %s, so set %s to (free MiB in `%s` - 1500) / %s.", out["all"], out["layer"], d.Layers, lookAt(c), out["mib"])}}
}

// lookAt is what shows what is free on the card.
func lookAt(c *ledger.Case) string {
	switch c.Backend {
	case "rocm":
		return "rocm-smi --showmeminfo vram"
	case "metal":
		return "Activity Monitor"
	case "vulkan", "sycl":
		if c.Windows() {
			return "Task Manager"
		}
		return "nvtop"
	}
	return "nvidia-smi"
}

// hostNumbers say what system memory was to hold.
func hostNumbers(c *ledger.Case) map[string]string {
	out := map[string]string{"part": "for the part of the model that is not on the GPU", "little": ""}
	switch c.Failure.Stage {
	case "compute":
		out["part"] = "of working memory"
	case "":
		out["part"] = "in one buffer"
	}
	if below(units.GiB)(c) {
		out["little"] = "So small an amount is usually refused only when almost nothing is left."
	}
	return out
}
