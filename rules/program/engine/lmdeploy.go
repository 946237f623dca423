package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/engine/mlc"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// LMDeploy is what is peculiar to LMDeploy. Its share for the cache,
// cache_max_entry_count, is of what is free after the weights (0.8 by default).
var LMDeploy = program.Program{
	Name: "lmdeploy", Shown: "LMDeploy",
	Commands: []string{"lmdeploy"},
	Units:    []string{"lmdeploy"},
	Proofs:   []string{"lmdeploy/pytorch/", "lmdeploy/vl/", "lmdeploy/lite/", "lmdeploy/serve/", "lmdeploy/turbomind/", "lmdeploy serve api_server ", "- lmdeploy - ", "[TM][INFO]", "[TM][WARNING]", "[TM][ERROR]", "TurbomindEngineConfig(", "PytorchEngineConfig("},
	Work:     "text-inference", Edits: "flags", Language: "python",
	Cards: lmdeployCards,
	Sources: program.Sources{
		"lmdeploy/cli/lite.py":  "--work-dir --batch-size --calib-seqlen --calib-samples",
		"lmdeploy/cli/utils.py": "--backend --cache-max-entry-count --max-batch-size --max-prefill-token-num --model-format --quant-policy --session-len --tp --vision-max-batch-size",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {
			figures.First(
				cause.If(turboMindWeights, cause.Weak, "The cache takes 0.8 of what is free by default."),
				cause.If(when.Not(shareBelow(0.31)), cause.Fair, "The cache's share (cache_max_entry_count, 0.8 of what is free by default) left no room for the buffers of requests.")).Of(fact.TurboMind),
			cause.Said(cause.Likely, "The cache's share of the card leaves it no room.", fact.LMDeployCache)},
		cause.ModelTooLarge: {figures.First(
			cause.If(shareBelow(0.31), cause.Likely, "The cache's share is {utilization} already and creating the engine fails: weights fill the card."),
			cause.If(turboMindWeights, cause.Weak, "The place that asked allocates weights and fixed buffers."),
			cause.If(nil, cause.Weak, "The message has no figures; the weights may fill the card."),
		).Of(fact.TurboMind)},
		cause.BatchTooLarge: {cause.Said(cause.Hint, "The buffers of a batch may be what did not fit.", fact.TurboMind)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "lower_batch_size", Fit: cause.MayHelp}},
		cause.ModelTooLarge:       {{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_mem_fraction", Fit: cause.Cures, If: when.All(turboMind, when.Not(shareBelow(0.31)))}, {Fix: "multi_gpu", Fit: cause.Helps}, {Fix: "lower_batch_size", Fit: cause.MayHelp}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_mem_fraction": lmdeployServer.Adds(launch.To("cache_max_entry_count", "0.4")),
		"lower_context":      lmdeployServer.Adds(launch.AtMost("session_len", 4096)),
		"lower_batch_size":   lmdeployServer.Adds(launch.AtMost("max_batch_size", 16)),
		"multi_gpu":          lmdeployServer.Adds(launch.Whole("tp", cards.For("tp"))),
		"quantize_kv_cache":  lmdeployServer.Adds(launch.To("quant_policy", "8")),
		"use_lower_quant":    shell("lmdeploy lite auto_awq MODEL --work-dir model-4bit\nlmdeploy serve api_server model-4bit --model-format awq"),
	},
}

var turboMind = when.Root(fact.TurboMind)

func turboMindWeights(c *ledger.Case) bool { return turboMind(c) && c.Failure.Stage == "weights" }

// MLC is what is peculiar to MLC LLM. Its share of the card,
// gpu_memory_utilization, is 0.85 unless set.
var MLC = program.Program{
	Name: "mlc-llm", Shown: "MLC LLM",
	Commands: []string{"mlc_llm"},
	Proofs:   []string{"mlc_llm", "mlc-llm", "mlc_chat", "mlc-chat", "MLCChat", "MLCEngine"},
	Hints:    []string{"tvm/src/runtime/"},
	Cards:    mlc.Cards,
	Work:     "text-inference", Edits: "flags", Language: "python",
	Sources: program.Sources{"mlc-llm/python/mlc_llm/cli/serve.py": "--overrides --device"},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {figures.First(cause.If(nil, cause.Fair, "Weights ({weights}) and buffer ({compute_buffer}) need more than the {limit} that the share of the GPU allows, 0.85 by default.")).Of(fact.MLCBudget)},
		cause.ModelTooLarge:       {figures.First(cause.If(nil, cause.Weak, "The weights take {weights} of the {limit} that may be used.")).Of(fact.MLCBudget)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "raise_gpu_memory_utilization", Fit: cause.Cures}, {Fix: "lower_max_batched_tokens", Fit: cause.LastResort}, {Fix: "use_lower_quant", Fit: cause.LastResort}},
		cause.ModelTooLarge:       {{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_max_batched_tokens", Fit: cause.Helps}, {Fix: "multi_gpu", Fit: cause.MayHelp}, {Fix: "use_smaller_model", Fit: cause.MayHelp}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_gpu_memory_utilization": shell(`mlc_llm serve MODEL --overrides "gpu_memory_utilization=0.95"`),
		"lower_max_batched_tokens":     shell(`mlc_llm serve MODEL --overrides "prefill_chunk_size=512"`),
		"multi_gpu":                    shell(`mlc_llm serve MODEL --overrides "tensor_parallel_shards=2"`),
		"use_lower_quant":              step.Paste("shell", "mlc_llm serve HF://mlc-ai/MODEL-q4f16_1-MLC   # or q3f16_1, the smallest"),
	},
}
