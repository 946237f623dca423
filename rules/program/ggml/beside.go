package ggml

import (
	"fmt"

	"strings"

	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// cacheOfFirst is the KV cache of a model that was in place before what failed
// was loaded, on the device that failed, and the context it is for.
func cacheOfFirst(c *ledger.Case) (bytes, context int64) {
	for _, b := range c.Facts.Buffers {
		if b.Kind == "kv" && !fact.HostMemory(b.Device) && b.Size.Line < c.Failure.Line {
			bytes = max(bytes, b.Size.Bytes)
		}
	}
	return bytes, contextOf(c)
}

// cacheBeside: that cache is so long and so large that half of it is worth
// having.
func cacheBeside(c *ledger.Case) bool {
	bytes, context := cacheOfFirst(c)
	return context >= 4096 && bytes >= units.GiB/2
}

// besideNumbers are what sentences name about a part that is loaded after a
// model: what it left, and what half of its cache would give.
func besideNumbers(c *ledger.Case) map[string]string {
	out := map[string]string{"gpu": gpuName(c), "kv": "", "context": "", "half": "", "ctxHalf": "", "rest": ""}
	if bytes, context := cacheOfFirst(c); bytes > 0 && context >= 1024 {
		out["kv"], out["context"] = units.Amount(bytes), grouped(context)
		out["half"], out["ctxHalf"] = units.Amount(bytes/2), plainNumber(context/2/256*256)
	}
	for _, d := range c.Facts.Devices {
		if d.Free != nil && mayFail(c, d) && d.Line < c.Failure.Line && loadedBefore(c, d.Line) && d.Free.Bytes < ledger.Requested(c) {
			out["rest"] = units.Amount(d.Free.Bytes)
		}
	}
	return out
}

// smallerQuant is a smaller file of the same model, smallerInstead another
// model where no usual format of this one is small enough, or where it is made
// in 4 bit.
var (
	smallerQuant   = where(when.Not(noSmallerFile), as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"))
	smallerInstead = where(noSmallerFile, cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "[[{noFile} ]]At 4 bit a model takes about 0.6 GB for each billion parameters, plus 1 to 2 GB for context and work.", Cost: "lower quality"})
)

// noSmallerFile: gpt-oss is published in MXFP4 and hardly smaller in any other
// format; or what would fit is below Q2_K.
func noSmallerFile(c *ledger.Case) bool {
	if strings.Contains(strings.ToLower(c.ModelName()), "gpt-oss") {
		return true
	}
	b := budgetOf(c)
	_, ok := b.FileThatFits(c)
	return !ok && b.Free > 0 && b.WholeThere(c) && bitsPerWeight(c) > 0
}

// noFile says why there is no smaller file.
func noFile(c *ledger.Case) string {
	switch name := strings.ToLower(c.ModelName()); {
	case strings.Contains(name, "gpt-oss-120b"):
		return "gpt-oss comes in 4 bit (MXFP4), and its other files are hardly smaller. gpt-oss-20b takes 12 GB."
	case strings.Contains(name, "gpt-oss"):
		return "gpt-oss comes in 4 bit (MXFP4), and its other files are hardly smaller."
	}
	return "No usual quantisation of this one is small enough for the GPU."
}

// keepMoreFree is for builds that chose layers and context themselves.
var keepMoreFree = where(fitted, does("fewer_gpu_layers", "Keep more of the GPU free: `--fit-target 2048`", "text", "This build fits layers and context to the free GPU memory, but leaves only 1 GiB. Add `--fit-target 2048` (MiB), or 3072 if that fails too. Leave `-ngl` out.", "a few layers run on the CPU"))

// fitted: the build fits what the command leaves open (common/fit.cpp, since
// December 2025), and did not say that it could not.
func fitted(c *ledger.Case) bool {
	layers, set := c.Setting("n_gpu_layers")
	return dialect.Said(c, []string{"common_init_result", "llama_params_fit", "common_params_fit_impl"}) && !c.Says("koboldcpp", "lm-studio") && !byOllama(c) &&
		(!set || layers.Default) && !dialect.Said(c, []string{"failed to fit params to free device memory"})
}

// batchIsEnough: a smaller physical batch makes the room, as far as the log
// tells what there is.
func batchIsEnough(c *ledger.Case) bool {
	b := budgetOf(c)
	n, ok := b.BatchThatFits()
	return !ok || b.WithBatch(n).Sum() <= b.Free
}

// contextWorth: the context that would fit is still worth having.
func contextWorth(c *ledger.Case) bool {
	n, ok := budgetOf(c).ContextThatFits()
	return !ok || n >= 2048
}

// windowWhole: --swa-full keeps all tokens for layers with a sliding window
// (llama-kv-cache-iswa.cpp).
func windowWhole(c *ledger.Case) bool {
	s, ok := c.Setting("swa_full")
	return ok && s.Value == "on"
}

// Tegra: a Jetson's graphics, for which the file cache is no free memory.
func Tegra(c *ledger.Case) bool {
	name := strings.ToLower(SharedMemoryCard(c))
	return strings.Contains(name, "orin") || strings.Contains(name, "xavier") || strings.Contains(name, "thor") || strings.Contains(name, "tegra")
}

// noExpertsOption: the build is of 2024 or older, before --n-cpu-moe (August
// 2025) and -ot (April 2025).
func noExpertsOption(c *ledger.Case) bool {
	return dialect.Of(c).Kind == "shell" && dialect.Said(c, []string{"llm_load_tensors", "llm_load_print_meta", "llama_new_context_with_model", "llama_init_from_gpt_params"})
}

// promptTooLong: the prompt that was being read would not fit into the context
// that would be tried.
func promptTooLong(c *ledger.Case) bool {
	prompt := promptTokens(c)
	return prompt > 0 && contextOf(c) > 0 && prompt >= contextToTry(c)
}

// repacked: the buffer is that of weights in the order of the CPU's kernels.
func repacked(c *ledger.Case) bool {
	return strings.Contains(strings.ToUpper(c.Failure.Memory), "REPACK")
}

// oneSlotSteps serve one request with the context that each slot had.
func oneSlotSteps(c *ledger.Case) []step.Step {
	d, n := dialect.Of(c), max(count(c, "n_seq_max", 256), slots(c))
	if each := contextOf(c) / max(n, 1) / 256 * 256; d.Kind == "shell" && each >= leastContext {
		return []step.Step{d.Step(c, fmt.Sprintf("--parallel 1 -c %d", each))}
	}
	return llamaSteps["lower_parallel"](c)
}

// textSteps sets context and both batches to the same, as models for embeddings
// and ranking want it.
func textSteps(c *ledger.Case) []step.Step {
	if d := dialect.Of(c); d.Kind == "shell" {
		return []step.Step{d.Step(c, fmt.Sprintf("-c %d -b %[1]d -ub %[1]d", BatchToTry(c)))}
	}
	return llamaSteps["lower_ubatch"](c)
}

// amdShares: graphics of AMD's, whose share of the RAM can be set.
func amdShares(c *ledger.Case) bool {
	name := strings.ToLower(SharedMemoryCard(c))
	return strings.Contains(name, "radeon") || strings.Contains(name, "amd") || strings.Contains(name, "gfx") || c.Backend == "rocm"
}

// overShare: more was asked for than the device listed as free.
func overShare(c *ledger.Case) bool {
	for _, d := range c.Facts.Devices {
		if d.Free != nil && mayFail(c, d) {
			return ledger.Requested(c) > d.Free.Bytes
		}
	}
	return false
}

// sharedNumbers are those of a GPU that shares the system's memory.
func sharedNumbers(c *ledger.Case) map[string]string {
	out := numbers(c)
	out["sharer"], out["beyondShare"], out["inPieces"], out["pieceAsked"] = SharedMemoryCard(c), "", "", ""
	if out["had"] != "" && overShare(c) {
		out["beyondShare"] = "Its share here is " + out["had"] + ", and llama.cpp asked for " + units.Amount(ledger.Requested(c)) + "."
		out["claimed"] = ""
	}
	switch {
	case pieced(c):
		out["inPieces"] = "Vulkan builds load weights in pieces of about 1 GiB; earlier pieces fitted, so the whole is larger than " + units.Amount(ledger.Requested(c)) + "."
	case above(1)(c):
		out["pieceAsked"] = units.Amount(ledger.Requested(c)) + " in one piece"
	}
	return out
}

func plainNumber(n int64) string { return strconv.FormatInt(n, 10) }
