package server

import (
	"fmt"
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

// LMDeploy is what is peculiar to LMDeploy. Its share for the cache,
// cache_max_entry_count, is of what is free after the weights (0.8 by default).
var LMDeploy = program.Program{
	Name: "lmdeploy",
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {turboMindShare, cause.Said(0.7, "The cache's share of the card leaves it no room.", fact.LMDeployCache)},
		cause.ModelTooLarge:       {turboMindWeights},
		cause.BatchTooLarge:       {cause.Said(0.2, "The buffers of a batch may be what found no room.", fact.TurboMind)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "lower_mem_fraction", Fit: 1}, {Fix: "lower_context", Fit: 0.8}, {Fix: "lower_batch_size", Fit: 0.75}},
		cause.ModelTooLarge: {
			{Fix: "lower_mem_fraction", Fit: 0.95, If: func(c *ledger.Case) bool { return lmdeployShare(c) > 0.3 }},
			{Fix: "use_lower_quant", Fit: 1},
			{Fix: "multi_gpu", Fit: 0.9},
			{Fix: "lower_batch_size", Fit: 0.6},
		},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_mem_fraction": lmdeployWith("--cache-max-entry-count 0.4"),
		"lower_context":      lmdeployWith("--session-len 4096"),
		"lower_batch_size":   lmdeployWith("--max-batch-size 16"),
		"multi_gpu":          lmdeployWith("--tp 2"),
		"quantize_kv_cache":  lmdeployWith("--quant-policy 8"),
		"use_lower_quant": func(c *ledger.Case) []step.Step {
			return append([]step.Step{{Kind: "shell", Text: "lmdeploy lite auto_awq " + quote.Shell(c.ModelName()) + " --work-dir model-4bit"}},
				step.Step{Kind: "shell", Text: "lmdeploy serve api_server model-4bit --model-format awq"})
		},
	},
}

func lmdeployWith(flags string) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "lmdeploy serve api_server " + quote.Shell(c.ModelName()) + " " + flags}}
	}
}

// lmdeployShare is the cache's share as stated, else the default.
func lmdeployShare(c *ledger.Case) float64 {
	if u := c.F().Utilization; u != nil {
		return u.Value
	}
	return 0.8
}

func turboMindShare(c *ledger.Case) cause.Finding {
	switch {
	case !c.Root(fact.TurboMind):
		return cause.Nothing()
	case lmdeployShare(c) <= 0.3:
		return cause.Seen(0.2, "The cache's share is small already.", c.Failure.Line)
	case c.Failure.Stage == "weights":
		return cause.Seen(0.38, "The cache takes 0.8 of what is free by default.", c.Failure.Line)
	}
	return cause.Seen(0.5, "The cache's share (cache_max_entry_count, 0.8 of what is free by default) left no room for the buffers of requests.", c.Failure.Line)
}

func turboMindWeights(c *ledger.Case) cause.Finding {
	switch {
	case !c.Root(fact.TurboMind):
		return cause.Nothing()
	case lmdeployShare(c) <= 0.3:
		return cause.Seen(0.7, fmt.Sprintf("The cache's share is %g already and creating the engine fails: weights fill the card.", lmdeployShare(c)), c.Failure.Line)
	case c.Failure.Stage == "weights":
		return cause.Seen(0.42, "The place that asked allocates weights and fixed buffers.", c.Failure.Line)
	}
	return cause.Seen(0.3, "The message has no figures; the weights may fill the card.", c.Failure.Line)
}

// MLC is what is peculiar to MLC LLM.
var MLC = program.Program{
	Name: "mlc-llm",
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {mlcShare},
		cause.ModelTooLarge:       {mlcWeights},
		cause.BatchTooLarge:       {mlcBuffer},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "raise_gpu_memory_utilization", Fit: 1}, {Fix: "lower_max_batched_tokens", Fit: 0.5}, {Fix: "use_lower_quant", Fit: 0.5}},
		cause.ModelTooLarge:       {{Fix: "use_lower_quant", Fit: 1}, {Fix: "lower_max_batched_tokens", Fit: 0.8}, {Fix: "multi_gpu", Fit: 0.75}, {Fix: "use_smaller_model", Fit: 0.7}},
		cause.BatchTooLarge:       {{Fix: "lower_max_batched_tokens", Fit: 1}, {Fix: "lower_context", Fit: 0.6}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_gpu_memory_utilization": func(c *ledger.Case) []step.Step {
			u, _ := mlcNeeded(c)
			return mlcWith(c, "gpu_memory_utilization="+percent(min(0.97, u)))
		},
		"lower_max_batched_tokens": func(c *ledger.Case) []step.Step { return mlcWith(c, "prefill_chunk_size=512") },
		"lower_context":            func(c *ledger.Case) []step.Step { return mlcWith(c, "context_window_size=2048;prefill_chunk_size=512") },
		"multi_gpu":                func(c *ledger.Case) []step.Step { return mlcWith(c, "tensor_parallel_shards="+strconv.Itoa(2)) },
		"use_lower_quant":          step.Paste("shell", "mlc_llm serve HF://mlc-ai/MODEL-q4f16_1-MLC   # or q3f16_1, the smallest"),
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{
		"raise_gpu_memory_utilization": func(c *ledger.Case) *effect.Effect {
			f := c.F()
			u, ok := mlcNeeded(c)
			if !ok {
				return nil
			}
			card := int64(float64(f.Limit.Bytes) / mlcDefault)
			return &effect.Effect{NeedBytes: f.Weights.Bytes + f.ComputeBuffer.Bytes, HaveBytes: int64(float64(card) * min(0.97, u)), Fits: u <= 0.97, Basis: "log",
				Note: "Counted from the default share of 0.85. The KV cache comes on top."}
		},
	},
}

// mlcDefault is MLC's gpu_memory_utilization.
const mlcDefault = 0.85

// mlcNeeded is the share at which weights and buffer fit.
func mlcNeeded(c *ledger.Case) (float64, bool) {
	f := c.F()
	if !c.Root(fact.MLCBudget) || f.Limit == nil || f.Weights == nil || f.ComputeBuffer == nil || f.Limit.Bytes <= 0 {
		return 0, false
	}
	return math.Ceil(mlcDefault*float64(f.Weights.Bytes+f.ComputeBuffer.Bytes)/float64(f.Limit.Bytes)*100+1) / 100, true
}

func mlcWith(c *ledger.Case, override string) []step.Step {
	return []step.Step{{Kind: "shell", Text: "mlc_llm serve " + quote.Shell(c.ModelName()) + ` --overrides "` + override + `"`}}
}

func mlcShare(c *ledger.Case) cause.Finding {
	u, ok := mlcNeeded(c)
	if !ok {
		return cause.Nothing()
	}
	why := fmt.Sprintf("Weights and buffer need %.2f of the card; the share is 0.85 unless set.", u)
	if u <= 0.95 {
		return cause.Seen(0.65, why, c.Failure.Line)
	}
	return cause.Seen(0.2, why, c.Failure.Line)
}

func mlcWeights(c *ledger.Case) cause.Finding {
	f := c.F()
	if _, ok := mlcNeeded(c); !ok {
		return cause.Nothing()
	}
	if f.Weights.Bytes > f.Limit.Bytes {
		return cause.Seen(0.75, fmt.Sprintf("The weights alone (%s) are more than the %s that may be used.", f.Weights.Text, f.Limit.Text), c.Failure.Line)
	}
	return cause.Seen(0.35, fmt.Sprintf("The weights take %s of the %s that may be used.", f.Weights.Text, f.Limit.Text), c.Failure.Line)
}

func mlcBuffer(c *ledger.Case) cause.Finding {
	f := c.F()
	if _, ok := mlcNeeded(c); !ok {
		return cause.Nothing()
	}
	if f.ComputeBuffer.Bytes*3 > f.Limit.Bytes {
		return cause.Seen(0.6, fmt.Sprintf("The temporary buffer (%s) follows prefill_chunk_size.", f.ComputeBuffer.Text), c.Failure.Line)
	}
	return cause.Seen(0.15, "The temporary buffer follows prefill_chunk_size.", c.Failure.Line)
}
