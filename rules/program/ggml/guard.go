package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// guardRefused: a front end's own estimate, of the size of a model.
func guardRefused(c *ledger.Case) cause.Finding {
	need := c.F().SystemRequired
	switch {
	case !c.Root(fact.LlamaGuard) || c.F().Context != nil || when.Fact("guard_nan")(c):
		return cause.Nothing()
	case need == nil:
		return cause.Seen(0.4, "A front end stopped before loading: by its own estimate, whose figure is not in this log, model and context do not fit.", c.Failure.Line)
	case need.Bytes > absurdEstimate:
		return cause.Nothing()
	}
	return cause.Seen(0.5, fmt.Sprintf("LM Studio estimates %s for model and context and stopped before loading.", need.Text), c.Failure.Line)
}

// absurdEstimate is more than any model people load at home: then the context
// drives the estimate.
const absurdEstimate = 100 << 30

func guardContext(c *ledger.Case) cause.Finding {
	if !c.Root(fact.LlamaGuard) {
		return cause.Nothing()
	}
	if f := c.F(); f.Context != nil {
		return cause.Seen(0.85, fmt.Sprintf("The program itself computed that a context of %s tokens does not fit, before it allocated anything.", f.Context.Text), c.Failure.Line)
	}
	if need := c.F().SystemRequired; need != nil && need.Bytes > absurdEstimate {
		return cause.Seen(0.55, fmt.Sprintf("%s is far more than any model's weights: the context length drives the estimate.", need.Text), c.Failure.Line)
	}
	if when.Fact("guard_nan")(c) {
		return cause.Nothing()
	}
	return cause.Seen(0.25, "The estimate counts the context too.", c.Failure.Line)
}

func guardWithoutFigure(c *ledger.Case) cause.Finding {
	if !c.Root(fact.LlamaGuard) || !when.Fact("guard_nan")(c) {
		return cause.Nothing()
	}
	return cause.Seen(0.85, "The estimate has no number (NaN): the guard's own arithmetic failed, and no memory was asked for.", c.Failure.Line)
}

func cacheRefused(c *ledger.Case) cause.Finding {
	if c.Root(fact.GGMLCannotRun) {
		return cause.Seen(0.8, "One layer's part of the KV cache is larger than what this Vulkan device can address in a piece.", c.Failure.Line)
	}
	if ledger.GgmlRefused(c, "state") {
		return cause.Seen(0.33, asked(c, "The recurrent state of a hybrid model"), c.Failure.Line)
	}
	if !ledger.GgmlRefused(c, "kv") || c.Says("whisper.cpp") {
		return cause.Nothing()
	}
	why := asked(c, "The KV cache")
	if f := c.F(); f.Context != nil {
		why += fmt.Sprintf(" It grows with the context: %s tokens here.", f.Context.Text)
	}
	if ledger.InHost(c) {
		return cause.Seen(0.62, why, c.Failure.Line)
	}
	return cause.Seen(0.75, why+" The weights were in place.", c.Failure.Line)
}

// computeRefused: the graph's buffer grows with the physical batch, and
// without flash attention with the context too.
func computeRefused(c *ledger.Case) cause.Finding {
	if !ledger.GgmlRefused(c, "compute", "output") {
		return cause.Nothing()
	}
	why := asked(c, "The compute buffer") + " Weights and KV cache were in place."
	context := c.F().Context
	switch {
	case c.Says("stable-diffusion.cpp", "whisper.cpp"):
		return cause.Nothing() // there is no context to shorten: see diffusionWork
	case absurdGraph(c):
		return cause.Seen(0.12, why, c.Failure.Line)
	case ledger.InHost(c) && ledger.Requested(c) < units.GiB && ledger.Requested(c) > 0:
		return cause.Seen(0.1, why, c.Failure.Line)
	case c.Root(fact.GGMLLimit) && context == nil:
		return cause.Seen(0.35, why, c.Failure.Line)
	case c.In("ollama"):
		return cause.Seen(0.35, why, c.Failure.Line)
	}
	return cause.Seen(0.5, why, c.Failure.Line)
}

// contextAtRuntime: a long context leaves the least room to grow.
func contextAtRuntime(c *ledger.Case) cause.Finding {
	if !c.Root(fact.GGMLRuntime) {
		return cause.Nothing()
	}
	if f := c.F(); f.Context != nil && f.Context.Value >= 16384 {
		return cause.Seen(0.55, fmt.Sprintf("The context is %s tokens long, so that the KV cache takes much of the card.", f.Context.Text), c.Failure.Line)
	}
	if prompt, ok := c.Fact("prompt_tokens"); ok && prompt.Count.Value >= 8192 {
		return cause.Seen(0.5, fmt.Sprintf("The prompt alone is %s tokens long: the KV cache takes much of the card, and its scratch memory the rest.", prompt.Count.Text), prompt.Line, c.Failure.Line)
	}
	if pinned, ok := c.Fact("pinned_refused"); ok {
		return cause.Seen(0.5, fmt.Sprintf("%s of pinned memory was refused before: a round figure like that is a KV cache.", pinned.Size.Text), pinned.Line, c.Failure.Line)
	}
	return cause.Seen(0.33, "The KV cache may be what fills the card.", c.Failure.Line)
}

func metalContext(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.GGMLMetal) {
		return cause.Nothing()
	}
	if f.Context != nil && f.Context.Value >= 16384 && f.Weights != nil && f.Limit != nil && f.Weights.Bytes*10 < f.Limit.Bytes*6 {
		return cause.Seen(0.65, fmt.Sprintf("The weights take %s of %s; the cache for %s tokens is what is left to explain it.", units.Format(f.Weights.Bytes), units.Format(f.Limit.Bytes), f.Context.Text), c.Failure.Line)
	}
	return cause.Seen(0.25, "The context may be what goes over the limit.", c.Failure.Line)
}

func batchOfCompute(c *ledger.Case) cause.Finding {
	if !ledger.GgmlRefused(c, "compute") || absurdGraph(c) || c.Says("stable-diffusion.cpp", "whisper.cpp") {
		return cause.Nothing()
	}
	if ub := physicalBatch(c); ub > 512 {
		return cause.Seen(0.55, fmt.Sprintf("The physical batch is %d tokens; the compute buffer grows with it (512 is the default).", ub), c.Failure.Line)
	}
	return cause.Seen(0.28, "The compute buffer grows with the physical batch.", c.Failure.Line)
}

// batchOfPool: arenas of 2023 were planned for the usual batch.
func batchOfPool(c *ledger.Case) cause.Finding {
	if !c.Root(fact.GGMLPool, fact.GGMLPlan) {
		return cause.Nothing()
	}
	if s, ok := c.Setting("batch_size"); ok {
		if n, ok := ledger.Whole(s.Value); ok && n > 512 {
			return cause.Seen(0.8, fmt.Sprintf("The batch is %d tokens; the arena of this build is planned for 512.", n), s.Line, c.Failure.Line)
		}
	}
	return cause.Seen(0.15, "A batch or prompt that this build did not plan for.", c.Failure.Line)
}

// diffusionWork: stable-diffusion.cpp names the part that it computed.
func diffusionWork(c *ledger.Case) cause.Finding {
	part, ok := c.Fact("diffusion_part")
	if !ok && c.Says("stable-diffusion.cpp") && c.Failure.Stage == "compute" {
		return cause.Seen(0.6, "The working memory of one step was refused; it grows with the size of the image or the batch.", c.Failure.Line)
	}
	if !ok || !c.Root(fact.GGMLSYCL, fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime) {
		return cause.Nothing()
	}
	return cause.Seen(0.7, fmt.Sprintf("The last step asked for %s of working memory, which grows with the size of the image.", part.Size.Text), part.Line, c.Failure.Line)
}
