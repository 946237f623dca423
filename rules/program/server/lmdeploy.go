package server

import (
	"math"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// LMDeploy is what is peculiar to LMDeploy. Its share for the cache,
// cache_max_entry_count, is of what is free after the weights (0.8 by default).
var LMDeploy = program.Program{
	Name: "lmdeploy",
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {
			cause.Said(0.4, "The cache takes its share (cache_max_entry_count, 0.8 by default) of what the weights leave free.", fact.TurboMind),
			cause.Said(0.7, "The cache's share of the card leaves it no room.", fact.LMDeployCache)},
		cause.ModelTooLarge: {firstOf(
			says{0.7, "The cache's share is {utilization} already and creating the engine fails: weights fill the card.", when.All(when.Root(fact.TurboMind), shareBelow(0.31))},
			says{0.38, "The message has no figures; the weights may fill the card.", when.Root(fact.TurboMind)},
		)},
		cause.BatchTooLarge: {cause.Said(0.2, "The buffers of a batch may be what found no room.", fact.TurboMind)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "lower_mem_fraction", Fit: 1}, {Fix: "lower_context", Fit: 0.8}, {Fix: "lower_batch_size", Fit: 0.75}},
		cause.ModelTooLarge:       {{Fix: "lower_mem_fraction", Fit: 0.95, If: when.Not(shareBelow(0.31))}, {Fix: "use_lower_quant", Fit: 1}, {Fix: "multi_gpu", Fit: 0.9}, {Fix: "lower_batch_size", Fit: 0.6}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_mem_fraction": shell("lmdeploy serve api_server MODEL --cache-max-entry-count 0.4"),
		"lower_context":      shell("lmdeploy serve api_server MODEL --session-len 4096"),
		"lower_batch_size":   shell("lmdeploy serve api_server MODEL --max-batch-size 16"),
		"multi_gpu":          shell("lmdeploy serve api_server MODEL --tp 2"),
		"quantize_kv_cache":  shell("lmdeploy serve api_server MODEL --quant-policy 8"),
		"use_lower_quant":    shell("lmdeploy lite auto_awq MODEL --work-dir model-4bit && lmdeploy serve api_server model-4bit --model-format awq"),
	},
}

// MLC is what is peculiar to MLC LLM. Its share of the card,
// gpu_memory_utilization, is 0.85 unless set.
var MLC = program.Program{
	Name: "mlc-llm",
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {firstOf(says{0.65, "Weights ({weights}) and buffer ({compute_buffer}) need more than the {limit} that the share of the card allows, 0.85 unless set.", mlcRoom})},
		cause.ModelTooLarge: {firstOf(
			says{0.35, "The weights take {weights} of the {limit} that may be used.", mlcRoom},
			says{0.75, "The weights take {weights}; {limit} may be used.", when.Root(fact.MLCBudget)},
		)},
		cause.BatchTooLarge: {cause.Said(0.3, "The temporary buffer follows prefill_chunk_size.", fact.MLCBudget)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "raise_gpu_memory_utilization", Fit: 1}, {Fix: "lower_max_batched_tokens", Fit: 0.5}, {Fix: "use_lower_quant", Fit: 0.5}},
		cause.ModelTooLarge:       {{Fix: "use_lower_quant", Fit: 1}, {Fix: "lower_max_batched_tokens", Fit: 0.8}, {Fix: "multi_gpu", Fit: 0.75}, {Fix: "use_smaller_model", Fit: 0.7}},
		cause.BatchTooLarge:       {{Fix: "lower_max_batched_tokens", Fit: 1}, {Fix: "lower_context", Fit: 0.6}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_gpu_memory_utilization": func(c *ledger.Case) []step.Step {
			u, _ := mlcNeeded(c)
			return shell(`mlc_llm serve MODEL --overrides "gpu_memory_utilization=` + percent(min(mostUtilization, u)) + `"`)(c)
		},
		"lower_max_batched_tokens": shell(`mlc_llm serve MODEL --overrides "prefill_chunk_size=512"`),
		"lower_context":            shell(`mlc_llm serve MODEL --overrides "context_window_size=2048;prefill_chunk_size=512"`),
		"multi_gpu":                shell(`mlc_llm serve MODEL --overrides "tensor_parallel_shards=2"`),
		"use_lower_quant":          step.Paste("shell", "mlc_llm serve HF://mlc-ai/MODEL-q4f16_1-MLC   # or q3f16_1, the smallest"),
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{
		"raise_gpu_memory_utilization": func(c *ledger.Case) *effect.Effect {
			f := c.F()
			u, ok := mlcNeeded(c)
			if !ok {
				return nil
			}
			card := float64(f.Limit.Bytes) / mlcDefault
			return fits(f.Weights.Bytes+f.ComputeBuffer.Bytes, int64(card*min(mostUtilization, u)), "Counted from the default share of 0.85. The KV cache comes on top.")
		},
	},
}

const mlcDefault = 0.85

// mlcNeeded is the share at which weights and buffer fit.
func mlcNeeded(c *ledger.Case) (float64, bool) {
	f := c.F()
	if !c.Root(fact.MLCBudget) || f.Weights == nil || f.ComputeBuffer == nil || ledger.SizeOf(f.Limit) <= 0 {
		return 0, false
	}
	return math.Ceil(mlcDefault*float64(f.Weights.Bytes+f.ComputeBuffer.Bytes)/float64(f.Limit.Bytes)*100+1) / 100, true
}

// mlcRoom: the card has room for a share at which both fit.
func mlcRoom(c *ledger.Case) bool { u, ok := mlcNeeded(c); return ok && u <= 0.95 }
