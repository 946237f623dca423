package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
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
	"enable_flash_attention": effectFlash,
	"lower_batch_size":       effectPoolBatch,
	"raise_memory_limit":     effectWiredLimit,
	"fewer_gpu_layers": func(c *ledger.Case) *effect.Effect {
		if ledger.InHost(c) || c.Root(fact.GGMLLimit) {
			return nil
		}
		b := budget(c)
		n, need, ok := b.keepAny(c.Failure.Stage)
		if !ok {
			return effect.FirstEffect(effectLayersUnder(c), effectNoLayer(c, b))
		}
		return b.effect(need, b.Free, fmt.Sprintf("%d of %d layers, each of about %s%s; %s are kept for the driver's context and the run-time pool. Layers differ somewhat in size.",
			n, b.Layers, units.Format(b.layerSize(c.Failure.Stage)), b.withCache(c.Failure.Stage), units.Format(b.reserve(c.Failure.Stage))))
	},
	"use_lower_quant": func(c *ledger.Case) *effect.Effect {
		format, need, have, ok := quantThatFits(c)
		if !ok || c.Root(fact.GGMLLimit) {
			return effectFileThatFits(c)
		}
		return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: true, Basis: "estimate",
			Note: fmt.Sprintf("Weights of %s at %s, from its name; %s of the card are kept for context, cache and a short prompt.", quote.Printable(c.ModelName()), format, units.Format(ledger.BesideWeights))}
	},
	"moe_cpu_offload": func(c *ledger.Case) *effect.Effect {
		b := budget(c)
		layers, expert, ok := expertLayers(c)
		if !ok {
			return nil
		}
		need := b.Refused - layers*expert + b.KV + b.Compute + loadReserve
		return b.effect(need, b.Free, fmt.Sprintf("The experts of one layer take about %s (3 x n_embd x n_ff_exp x n_expert at the file's bits per weight); %d layers' experts go to system memory.", units.Format(expert), layers))
	},
	"lower_context": func(c *ledger.Case) *effect.Effect {
		b := budget(c)
		n, need, ok := b.contextThatFits()
		if c.Failure.Stage != "kv" || ledger.InHost(c) {
			return effect.FirstEffect(effectContextUnder(c), effectContextBeside(c))
		}
		if least := int64(1024); !ok && b.Free > 0 && b.Context > least && b.Refused > 0 && b.room() < ledger.Proportion(b.Refused, least, b.Context) {
			return b.effect(ledger.Proportion(b.Refused, least, b.Context), max(b.room(), 0), fmt.Sprintf("Not even %d tokens find room beside the weights; %s are kept for the driver's context and the compute buffer. Layers have to leave the card.", least, units.Format(contextReserve+b.Compute)))
		}
		if !ok {
			return nil
		}
		return b.effect(need, b.room(), fmt.Sprintf("The cache is linear in the context: %s for %d tokens make %s for %d. %s are kept for the driver's context and the compute buffer.", units.Format(b.Refused), b.Context, units.Format(need), n, units.Format(contextReserve+b.Compute)))
	},
	"quantize_kv_cache": func(c *ledger.Case) *effect.Effect {
		b := budget(c)
		if c.Failure.Stage != "kv" || ledger.InHost(c) || b.room() <= 0 || b.Refused == 0 || quantisedCache(c) {
			return effect.FirstEffect(effectCacheUnder(c), effectCacheBeside(c))
		}
		return b.effect(ledger.Proportion(b.Refused, 17, 32), b.room(), "q8_0 takes 17/32 of 16 bit.")
	},
	"lower_ubatch":  effectBatchOfGraph,
	"balance_split": effectSplit,
}

// effectFlash: what is left of a refused compute buffer.
func effectFlash(c *ledger.Case) *effect.Effect {
	b := budget(c)
	limit := b.batchLimit(c)
	if !scoresFill(c) || limit <= 0 || ledger.InHost(c) {
		return nil
	}
	matrix := scores(c, b.Context)
	return b.effect(b.Refused-matrix, limit, fmt.Sprintf("%s less the matrix of attention of %s (heads x context x physical batch x 4 bytes).", units.Format(b.Refused), units.Format(matrix)))
}

// reserve is what the arithmetic keeps free: more where weights were refused,
// for there the compute buffer is still to come.
func (b ggmlBudget) reserve(stage string) int64 {
	if stage == "kv" || stage == "compute" {
		return contextReserve
	}
	return loadReserve
}

// withCache says whether a layer's size holds its part of the cache, where the
// weights were refused and the cache was still to come.
func (b ggmlBudget) withCache(stage string) string {
	switch {
	case stage == "kv" || stage == "compute":
		return ""
	case b.KV == 0:
		return " without its part of the KV cache, which the log does not tell"
	case b.Compute == 0:
		return " with its part of the KV cache"
	}
	return fmt.Sprintf(" with its part of the KV cache for %d tokens, beside %s of compute buffer", b.Context, units.Format(b.Compute+b.Output))
}

func (b ggmlBudget) layerSize(stage string) int64 {
	if stage == "weights" || b.Weights == 0 {
		return b.perLayer()
	}
	return b.Weights / b.Layers
}

// effect states the arithmetic; what the log does not state is said.
func (b ggmlBudget) effect(need, have int64, note string) *effect.Effect {
	basis := "log"
	if b.Assumed != "" {
		basis, note = "estimate", note+" Counted on "+b.Assumed+"."
	}
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: basis, Note: note}
}

var llamaUseless = map[string]func(*ledger.Case) string{
	"fewer_gpu_layers": func(c *ledger.Case) string {
		switch {
		case c.Root(fact.GGMLPool, fact.GGMLPlan):
			return "A buffer inside the program is too small; the card is not involved."
		case ledger.GgmlRefused(c) && ledger.InHost(c):
			return "System memory was refused: what leaves the card goes there, so that fewer layers on the card make it worse."
		case c.Root(fact.OllamaSystem):
			return "The check is about system memory: what leaves the card goes there, so that fewer layers on the card make it worse."
		case c.Root(fact.GGMLLimit) && c.Failure.Stage == "compute":
			return "One buffer is larger than the device gives in a piece; it stays as large with fewer layers."
		}
		return ""
	},
	"quantize_kv_cache": func(c *ledger.Case) string {
		switch {
		case quantisedCache(c):
			return "The KV cache is quantised already."
		case c.Root(fact.GGMLPool, fact.GGMLPlan):
			return "A buffer inside the program is too small, not the cache."
		case ledger.GgmlRefused(c, "state"):
			return "The recurrent state is kept at 32 bit; only the KV cache can be quantised."
		}
		return ""
	},
	"enable_flash_attention": func(c *ledger.Case) string {
		if flashOn(c) {
			return "Flash attention is on already."
		}
		return ""
	},
	"use_lower_quant": func(c *ledger.Case) string {
		if c.Root(fact.GGMLPool, fact.GGMLPlan) {
			return "A buffer inside the program is too small; how large the weights are does not matter."
		}
		return ""
	},
	"lower_ubatch": func(c *ledger.Case) string {
		if c.Root(fact.GGMLAlloc) && c.Failure.Stage == "weights" {
			return "The weights did not load; the batch is not allocated yet at that point."
		}
		return ""
	},
	"lower_context": func(c *ledger.Case) string {
		if c.Root(fact.GGMLAlloc) && c.Failure.Stage == "weights" {
			return "The weights did not load; the context is not allocated yet at that point."
		}
		if f := c.F(); f.Context != nil && f.Context.Value <= 2048 && ledger.GgmlRefused(c) {
			return fmt.Sprintf("The context is %s tokens already; there is next to nothing to win.", f.Context.Text)
		}
		return ""
	},
}

// mmapRefused: the file itself could not be mapped. That takes address space,
// no memory, so a limit on address space (ulimit -v, LimitAS) is what refused.
func mmapRefused(c *ledger.Case) bool {
	return c.Contains("mmap failed: cannot allocate memory")
}
