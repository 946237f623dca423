package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/program/ggml/negative"
	"github.com/oomdoc/oomdoc/rules/when"
)

var llamaChecks = map[string]string{
	"fewer_gpu_layers":       "The load line says `offloaded N/M layers to GPU` with your number, and a long prompt runs.",
	"lower_context":          "The log says `n_ctx` with your number, and the `KV buffer size` lines shrink with it.",
	"lower_ubatch":           "The log says `n_ubatch` with your number, and the `compute buffer size` shrinks with it.",
	"quantize_kv_cache":      "The KV line says `K (q8_0)` and `V (q8_0)`, about half of the size before.",
	"enable_flash_attention": "The log says `flash_attn = 1` or `enabled`, and the `compute buffer size` shrinks.",
	"moe_cpu_offload":        "The `CUDA0 model buffer size` shrinks while `offloaded N/M` stays; `nvidia-smi` shows room.",
}

var llamaEffects = map[string]func(*ledger.Case) *effect.Effect{
	"fewer_gpu_layers":       held(fewerLayers),
	"lower_context":          held(shorterContext),
	"lower_ubatch":           held(smallerBatch),
	"enable_flash_attention": held(flashAttention),
	"quantize_kv_cache":      held(cacheIn8Bit),
	"moe_cpu_offload":        held(expertsInRAM),
	"use_lower_quant":        held(smallerFile),
	"raise_memory_limit":     effectWiredLimit,
}

// change is what is on the device after a fix, and how that comes about; ok is
// false where the log does not say.
type change func(c *ledger.Case, b budget) (after budget, how string, ok bool)

// held is the effect of a change: what it leaves against what there was.
func held(by change) func(*ledger.Case) *effect.Effect {
	return func(c *ledger.Case) *effect.Effect {
		b := budgetOf(c)
		if after, how, ok := by(c, b); ok && b.Free > 0 {
			return effectOf(b, after, how)
		}
		return nil
	}
}

// effectOf holds what a change leaves against what there was, and says what it
// consists of.
func effectOf(b, after budget, how string) *effect.Effect {
	if b.Scores > after.Scores {
		how += fmt.Sprintf(" Flash attention takes %s off the compute buffer.", units.Amount(b.Scores))
	}
	note := strings.TrimSpace(how + " " + parts(after) + " " + b.Against)
	e := &effect.Effect{NeedBytes: after.Sum(), HaveBytes: b.Free, Fits: after.Sum() <= b.Free, Basis: b.Basis, Note: note}
	if cacheToCome(b) {
		e.Certainty = effect.Bound
	}
	return e
}

// parts lists the sum.
func parts(b budget) string {
	cache := " of KV cache"
	if b.Context > 0 {
		cache += fmt.Sprintf(" for %d tokens", b.Context)
	}
	what := [...]string{" of weights", cache, " of compute buffer", " for the driver's context and the run-time pool"}
	var list []string
	for i, bytes := range [...]int64{b.Weights, b.KV, b.Graph, b.Kept} {
		if bytes > 0 {
			list = append(list, units.Amount(bytes)+what[i])
		}
	}
	text := "That makes " + strings.Join(list, ", ") + "."
	if cacheToCome(b) {
		text += " The KV cache, which the log does not tell, comes on top."
	}
	return text
}

// cacheToCome: the weights were refused, and how large the cache is that
// follows them is not told.
func cacheToCome(b budget) bool { return b.Part == "weights" && b.KV == 0 }

func fewerLayers(_ *ledger.Case, b budget) (after budget, how string, ok bool) {
	n, ok := b.LayersThatFit()
	if !ok {
		return b, "", false
	}
	one := b.WithLayers(1)
	if n == 0 {
		return one, fmt.Sprintf("Not even one of the %d layers fits: the card cannot help with these settings.", b.Layers), true
	}
	return b.WithLayers(n), fmt.Sprintf("%d of %d layers, each of about %s. Layers differ somewhat in size.", n, b.Layers, units.Amount(one.Weights+one.KV)), true
}

func shorterContext(c *ledger.Case, b budget) (after budget, how string, ok bool) {
	n, ok := b.ContextThatFits()
	switch {
	case !ok:
		return b, "", false
	case n < leastContext:
		return b.WithFlash().WithContext(leastContext), fmt.Sprintf("Not even %d tokens find room: layers have to leave the card.", leastContext), true
	}
	return b.WithFlash().WithContext(contextToTry(c)), "The cache is linear in the context.", true
}

func smallerBatch(c *ledger.Case, b budget) (after budget, how string, ok bool) {
	_, ok = b.BatchThatFits()
	return b.WithBatch(BatchToTry(c)), fmt.Sprintf("The compute buffer is linear in the physical batch: %s at %d tokens.", units.Amount(b.Graph), b.Batch), ok
}

func flashAttention(_ *ledger.Case, b budget) (after budget, how string, ok bool) {
	return b.WithFlash(), "The matrix of attention is heads x context x physical batch x 4 bytes.", b.Scores > 0
}

func cacheIn8Bit(c *ledger.Case, b budget) (after budget, how string, ok bool) {
	ok = b.KV > 0 && b.Part != "weights" && !dialect.QuantisedCache(c)
	return b.WithFlash().In8Bit(), fmt.Sprintf("q8_0 takes 17/32 of the cache of %s.", units.Amount(b.KV)), ok
}

func expertsInRAM(c *ledger.Case, b budget) (after budget, how string, ok bool) {
	layers, expert, ok := b.ExpertLayers(c)
	after = b
	after.Weights -= layers * expert
	return after, fmt.Sprintf("The experts of one layer take about %s (3 x n_embd x n_ff_exp x n_expert at the file's bits per weight); %d layers' experts go to system memory.", units.Amount(expert), layers), ok
}

// smallerFile: the largest one, by what the card had.
func smallerFile(c *ledger.Case, b budget) (after budget, how string, ok bool) {
	after = b
	after.Weights, ok = b.FileThatFits(c)
	return after, fmt.Sprintf("A file of %s at most, instead of %s.", units.Amount(after.Weights), units.Amount(b.Weights)), ok
}

// wiredLimit is the limit to set in MiB: what was taken and 500 MiB, in steps
// of 256; 0 where the log does not say.
func wiredLimit(c *ledger.Case) int64 {
	if b := budgetOf(c); b.Part == "" && b.Free > 0 {
		return ledger.CeilDiv(b.Sum()+500*units.MiB, 256*units.MiB) * 256
	}
	return 0
}

func effectWiredLimit(c *ledger.Case) *effect.Effect {
	b := budgetOf(c)
	if b.Part != "" || b.Free == 0 {
		return nil
	}
	e := effectOf(b, b, fmt.Sprintf("%s more than macOS gives the GPU by itself, and 500 MiB to spare. Exact, if the Mac's RAM has it beside what else runs.", units.Amount(b.Sum()-b.Free)))
	e.HaveBytes, e.Fits = wiredLimit(c)*units.MiB, true
	return e
}

// limitHasRoom: what was taken is within five sixths of a Mac's RAM, of which
// macOS gives the GPU two thirds to three quarters (recommendedMaxWorkingSetSize).
func limitHasRoom(c *ledger.Case) bool {
	limit := ledger.SizeOf(c.F().Limit)
	share := int64(126) // of two thirds
	if limit > 24*units.GiB {
		share = 112 // of three quarters
	}
	return wiredLimit(c)*units.MiB*100 <= limit*share
}

// contextIsEnough: a shorter context alone makes the room, and is still worth
// having.
func contextIsEnough(c *ledger.Case) bool {
	n, ok := budgetOf(c).ContextThatFits()
	return ok && n >= 2048 && n < contextOf(c)
}

const (
	tooSmall  = "A buffer inside the program is too small"
	notLoaded = "The weights come first, and they did not fit; the %s is allocated after them."
	toTheHost = ", and layers that leave the GPU need more of it."
)

var llamaUseless = map[string]func(*ledger.Case) string{
	"fewer_gpu_layers": figures.Why(
		cause.If(arena, cause.None, tooSmall+"; the GPU is not involved."),
		cause.If(hostRefused, cause.None, "This is system RAM"+toTheHost),
		cause.If(when.Root(fact.OllamaSystem), cause.None, "The check is about system memory"+toTheHost),
		cause.If(when.All(when.Root(fact.GGMLLimit), stage("compute")), cause.None, "One buffer is larger than the device allows in one piece; it stays as large with fewer layers."),
	),
	"quantize_kv_cache": figures.Why(
		cause.If(dialect.QuantisedCache, cause.None, "The KV cache is quantised already."),
		cause.If(arena, cause.None, tooSmall+", not the cache."),
		cause.If(when.All(when.Root(fact.GGMLLimit), stage("compute")), cause.None, "The buffer that is too large is working memory, not the cache."),
		cause.If(stage("state"), cause.None, "The recurrent state is kept at 32 bit; only the KV cache can be quantised."),
	),
	"enable_flash_attention": figures.Why(cause.If(dialect.FlashOn, cause.None, "It is on already.")),
	"use_lower_quant":        figures.Why(cause.If(arena, cause.None, tooSmall+"; how large the weights are does not matter.")),
	"lower_batch_size":       figures.Why(cause.If(when.All(arena, loading), cause.None, tooSmall+" for the weights; no batch was read yet.")),
	"lower_ubatch":           figures.Why(cause.If(weightsWere, cause.None, fmt.Sprintf(notLoaded, "batch"))),
	"lower_context": figures.Why(
		cause.If(weightsWere, cause.None, fmt.Sprintf(notLoaded, "context")),
		cause.If(when.All(when.Root(fact.GGMLLimit), stage("compute"), dialect.FlashOn), cause.None, "Flash attention is on, so this buffer hardly grows with the context."),
		cause.If(shortContext, cause.None, "The context is 2048 tokens or less already; there is next to nothing to gain."),
	),
}

func shortContext(c *ledger.Case) bool {
	n := contextOf(c)
	return n > 0 && n <= 2048 && (ledger.GGMLRefused(c) || c.Root(fact.GGMLMetal)) && !negative.Asked(c)
}

// mmapRefused: the file itself could not be mapped. That takes address space,
// no memory, so a limit on address space (ulimit -v, LimitAS) is what refused.
func mmapRefused(c *ledger.Case) bool { return c.Contains("mmap failed: cannot allocate memory") }
