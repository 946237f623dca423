package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// LMDeploy is what is peculiar to LMDeploy. Its share for the cache,
// cache_max_entry_count, is of what is free after the weights (0.8 by default).
var LMDeploy = program.Program{
	Name: "lmdeploy", Shown: "LMDeploy",
	Commands: []string{"lmdeploy"},
	Units:    []string{"lmdeploy"},
	Work:     "text-inference", Edits: "flags", Language: "python",
	Cards: lmdeployCards,
	Sources: program.Sources{
		"lmdeploy/cli/lite.py":  "--work-dir",
		"lmdeploy/cli/utils.py": "--cache-max-entry-count --max-batch-size --model-format --quant-policy --session-len --tp",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {
			figures.First(
				cause.If(turboMindWeights, 0.38, "The cache takes 0.8 of what is free by default."),
				cause.If(when.All(turboMind, when.Not(shareBelow(0.31))), 0.5, "The cache's share (cache_max_entry_count, 0.8 of what is free by default) left no room for the buffers of requests.")),
			cause.Said(0.7, "The cache's share of the card leaves it no room.", fact.LMDeployCache)},
		cause.ModelTooLarge: {figures.First(
			cause.If(when.All(turboMind, shareBelow(0.31)), 0.7, "The cache's share is {utilization} already and creating the engine fails: weights fill the card."),
			cause.If(turboMindWeights, 0.42, "The place that asked allocates weights and fixed buffers."),
			cause.If(turboMind, 0.3, "The message has no figures; the weights may fill the card."),
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

var turboMind = when.Root(fact.TurboMind)

func turboMindWeights(c *ledger.Case) bool { return turboMind(c) && c.Failure.Stage == "weights" }

// MLC is what is peculiar to MLC LLM. Its share of the card,
// gpu_memory_utilization, is 0.85 unless set.
var MLC = program.Program{
	Name: "mlc-llm", Shown: "MLC LLM",
	Commands: []string{"mlc_llm"},
	Cards:    mlcCards,
	Work:     "text-inference", Edits: "flags", Language: "python",
	Sources: program.Sources{"mlc-llm/python/mlc_llm/cli/serve.py": "--overrides"},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {figures.First(cause.If(when.Root(fact.MLCBudget), 0.5, "Weights ({weights}) and buffer ({compute_buffer}) need more than the {limit} that the share of the card allows, 0.85 unless set."))},
		cause.ModelTooLarge:       {figures.First(cause.If(when.Root(fact.MLCBudget), 0.35, "The weights take {weights} of the {limit} that may be used."))},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "raise_gpu_memory_utilization", Fit: 1}, {Fix: "lower_max_batched_tokens", Fit: 0.5}, {Fix: "use_lower_quant", Fit: 0.5}},
		cause.ModelTooLarge:       {{Fix: "use_lower_quant", Fit: 1}, {Fix: "lower_max_batched_tokens", Fit: 0.8}, {Fix: "multi_gpu", Fit: 0.75}, {Fix: "use_smaller_model", Fit: 0.7}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_gpu_memory_utilization": shell(`mlc_llm serve MODEL --overrides "gpu_memory_utilization=0.95"`),
		"lower_max_batched_tokens":     shell(`mlc_llm serve MODEL --overrides "prefill_chunk_size=512"`),
		"multi_gpu":                    shell(`mlc_llm serve MODEL --overrides "tensor_parallel_shards=2"`),
		"use_lower_quant":              step.Paste("shell", "mlc_llm serve HF://mlc-ai/MODEL-q4f16_1-MLC   # or q3f16_1, the smallest"),
	},
}
