package engine

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// TensorRTLLM is what is peculiar to TensorRT-LLM and Triton. The share
// for the cache, free_gpu_memory_fraction, is of what is free after the engine.
var TensorRTLLM = program.Program{
	Name: "tensorrt-llm", Shown: "TensorRT-LLM", Rank: 80,
	Commands: []string{"trtllm-serve"},
	Work:     "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs: []string{"model_params[f'model.layers", "tensorrt_llm/models/"},
	Cards:  slices.Concat(trtCards, trtEngineCards),
	Sources: program.Sources{
		"TensorRT-LLM/tensorrt_llm/commands/serve.py": "--free_gpu_memory_fraction --max_batch_size --max_num_tokens --max_seq_len --tp_size",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {
			trtPart(0.78, "The part that could not be made is the KV cache: its share of what is free is too large, or the estimate wrong.", "kvcache"),
			cause.Said(0.35, "The cache's share of the card may be set too low.", fact.TRTCacheTooSmall),
			cause.Said(0.2, "The cache's share may leave too little for buffers.", fact.TRTRuntime)},
		cause.BatchTooLarge: {
			trtPart(0.65, "Weights and cache are made; what follows max_num_tokens and max_batch_size found no room.", "additionalexecutorresources", "initialkvcache", "extraresources"),
			trtPart(0.6, "The sampler's buffers follow batch size and length.", "sampler", "drafter"),
			cause.Said(0.42, "The buffers of the runtime follow the batch size and length that the engine was built for.", fact.TRTRuntime),
			cause.Said(0.35, "The engine's buffers follow the batch size and length of the build.", fact.TRTEngine)},
		cause.ContextTooLong:  {cause.Said(0.6, "What is left for the cache holds less than one sequence of the length that the engine was built for.", fact.TRTCacheTooSmall), cause.Said(0.22, "The buffers also follow the longest input of the build.", fact.TRTRuntime)},
		cause.ModelTooLarge:   {trtPart(0.85, "The part that could not be made is the model itself.", "model"), cause.Said(0.25, "Weights and buffers leave next to nothing for the cache.", fact.TRTCacheTooSmall), cause.Said(0.2, "The engine may fill the card alone.", fact.TRTRuntime), cause.Said(0.4, "The engine may be larger than what is free.", fact.TRTEngine)},
		cause.DeviceImbalance: {figures.First(cause.If(trtRanksTogether, 0.95, "A rank loads its part on GPU {device}, where other ranks of the same job are already."))},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "raise_mem_fraction", Fit: 1, If: when.Root(fact.TRTCacheTooSmall)}, {Fix: "lower_mem_fraction", Fit: 1, If: when.Not(when.Root(fact.TRTCacheTooSmall))}, {Fix: "upgrade_version", Fit: 0.7}, {Fix: "lower_batch_size", Fit: 0.6}, {Fix: "lower_max_batched_tokens", Fit: 0.6}},
		cause.BatchTooLarge: {
			{Fix: "lower_max_batched_tokens", Fit: 1, If: when.Root(fact.TRTExecutor)},
			{Fix: "lower_batch_size", Fit: 0.95},
			{Fix: "lower_mem_fraction", Fit: 0.75},
			{Fix: "lower_context", Fit: 0.8, If: when.Not(when.Root(fact.TRTExecutor))},
			{Fix: "quantize_kv_cache", Fit: 0.75, If: when.Not(when.Root(fact.TRTExecutor))},
		},
		cause.ModelTooLarge:   {{Fix: "multi_gpu", Fit: 1}, {Fix: "use_lower_quant", Fit: 0.95}, {Fix: "lower_max_batched_tokens", Fit: 0.7}},
		cause.DeviceImbalance: {{Fix: "upgrade_version", Fit: 0.95}, {Fix: "select_gpu", Fit: 1}, {Fix: "multi_gpu", Fit: 0.75}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_mem_fraction": after("config", "parameters: { key: \"kv_cache_free_gpu_mem_fraction\" value: { string_value: \"0.95\" } }   # Triton, config.pbtxt",
			shell("trtllm-serve MODEL --free_gpu_memory_fraction 0.95")),
		"lower_mem_fraction": func(c *ledger.Case) []step.Step {
			return append(shell("trtllm-serve MODEL --free_gpu_memory_fraction 0.7   # of what is free after the weights; 0.9 is the default")(c),
				step.Step{Kind: "config", Text: "parameters: { key: \"kv_cache_free_gpu_mem_fraction\" value: { string_value: \"0.7\" } }   # Triton, config.pbtxt; several instances share: about 0.9 / instances"})
		},
		"lower_max_batched_tokens": shell("trtllm-serve MODEL --max_num_tokens 2048 --max_batch_size 16"),
		"lower_batch_size":         shell("trtllm-serve MODEL --max_batch_size 16   # an engine built by hand (until July 2026) has its sizes from the build"),
		"lower_context":            shell("trtllm-serve MODEL --max_seq_len 4096   # an engine built by hand (until July 2026) has to be built again"),
		"multi_gpu":                shell("trtllm-serve MODEL --tp_size 2"),
		"upgrade_version":          step.Paste("shell", "pip install -U tensorrt-llm"),
	},
}

// trtPart is a clue for the components that the report names. Newer versions
// add words in brackets.
func trtPart(weight float64, why string, parts ...string) cause.Clue {
	return figures.First(cause.If(func(c *ledger.Case) bool {
		return c.Root(fact.TRTExecutor) && slices.ContainsFunc(parts, func(p string) bool {
			return c.Failure.Stage == p || p != "model" && strings.HasPrefix(c.Failure.Stage, p)
		})
	}, weight, why+"| {free} of {total} GiB was free."))
}

// trtRanksTogether: while a rank loads, several other processes are on its card:
// ranks of the same job, each of which should have a card of its own.
func trtRanksTogether(c *ledger.Case) bool {
	return c.In("tensorrt-llm") && c.Phase == "load" && c.F().Device != nil && len(c.F().OtherProcesses) >= 2
}
