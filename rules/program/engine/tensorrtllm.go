package engine

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// TensorRTLLM is what is peculiar to TensorRT-LLM and Triton. The share
// for the cache, free_gpu_memory_fraction, is of what is free after the engine.
var TensorRTLLM = program.Program{
	Name: "tensorrt-llm", Shown: "TensorRT-LLM", Rank: 80,
	Commands: []string{"trtllm-serve"},
	Work:     "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs: []string{"model_params[f'model.layers", "tensorrt_llm/models/", "trtllm-build --", "Serially build TensorRT engines", "Parallelly build TensorRT engines"},
	Cards:  slices.Concat([]cause.Card{parts.Benchmark, parts.BuildKilled, parts.Buffers}, trtCards, trtEngineCards),
	Sources: program.Sources{
		"TensorRT-LLM/tensorrt_llm/commands/serve.py": "--free_gpu_memory_fraction --max_batch_size --max_num_tokens --max_seq_len --tp_size",
		"TensorRT-LLM/tensorrt_llm/commands/build.py": "--gather_context_logits --max_beam_width --max_input_len --use_paged_context_fmha", "TensorRT-LLM/benchmarks/python/benchmark.py": "--enable_fp8 --fp8_kv_cache --input_output_len --max_output_len",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {
			trtPart(cause.Fair, "The part that could not be made is the KV cache: its share of what is free is too large, or the estimate wrong.", "kvcache"),
			cause.Said(cause.Weak, "The cache's share of the card may be set too low.", fact.TRTCacheTooSmall),
			cause.Said(cause.Hint, "The cache's share may leave too little for buffers.", fact.TRTRuntime)},
		cause.BatchTooLarge: {
			trtPart(cause.Likely, "Weights and cache are made; what follows max_num_tokens and max_batch_size did not fit.", "additionalexecutorresources", "initialkvcache", "extraresources"),
			trtPart(cause.Good, "The sampler's buffers follow batch size and length.", "sampler", "drafter"),
			cause.Said(cause.Weak, "The buffers of the runtime follow the batch size and length that the engine was built for.", fact.TRTRuntime),
			cause.Said(cause.Weak, "The engine's buffers follow the batch size and length of the build.", fact.TRTEngine)},
		cause.ContextTooLong:  {cause.Said(cause.Good, "What is left for the cache holds less than one sequence of the length that the engine was built for.", fact.TRTCacheTooSmall), cause.Said(cause.Hint, "The buffers also follow the longest input of the build.", fact.TRTRuntime)},
		cause.ModelTooLarge:   {trtPart(cause.Strong, "The part that could not be made is the model itself.", "model"), cause.Said(cause.Hint, "Weights and buffers leave next to nothing for the cache.", fact.TRTCacheTooSmall), cause.Said(cause.Hint, "The engine may fill the card alone.", fact.TRTRuntime), cause.Said(cause.Weak, "The engine may be larger than what is free.", fact.TRTEngine)},
		cause.DeviceImbalance: {figures.First(cause.If(trtRanksTogether, cause.Decisive, "A rank loads its part on GPU {device}, where other ranks of the same job are already."))},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {{Fix: "raise_mem_fraction", Fit: cause.Cures, If: when.Root(fact.TRTCacheTooSmall)}, {Fix: "lower_mem_fraction", Fit: cause.Cures, If: when.Not(when.Root(fact.TRTCacheTooSmall))}, {Fix: "upgrade_version", Fit: cause.MayHelp}, {Fix: "lower_batch_size", Fit: cause.MayHelp}, {Fix: "lower_max_batched_tokens", Fit: cause.MayHelp}},
		cause.BatchTooLarge: {
			{Fix: "lower_max_batched_tokens", Fit: cause.Cures, If: when.Root(fact.TRTExecutor)},
			{Fix: "lower_batch_size", Fit: cause.Cures},
			{Fix: "lower_context", Fit: cause.Helps, If: when.Not(when.Root(fact.TRTExecutor))},
			{Fix: "lower_mem_fraction", Fit: cause.MayHelp},
			{Fix: "quantize_kv_cache", Fit: cause.MayHelp, If: when.Not(when.Root(fact.TRTExecutor))},
		},
		cause.ModelTooLarge:   {{Fix: "multi_gpu", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_max_batched_tokens", Fit: cause.MayHelp}},
		cause.DeviceImbalance: {{Fix: "select_gpu", Fit: cause.Cures}, {Fix: "upgrade_version", Fit: cause.Cures}, {Fix: "multi_gpu", Fit: cause.MayHelp}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_mem_fraction": after("config", "parameters: { key: \"kv_cache_free_gpu_mem_fraction\" value: { string_value: \"0.95\" } }   # Triton, config.pbtxt",
			shell("trtllm-serve MODEL --free_gpu_memory_fraction 0.95")),
		"lower_mem_fraction": func(c *ledger.Case) []step.Step {
			return append(shell("trtllm-serve MODEL --free_gpu_memory_fraction 0.7   # of what is free after the weights; 0.9 is the default")(c),
				step.Step{Kind: "config", Text: "parameters: { key: \"kv_cache_free_gpu_mem_fraction\" value: { string_value: \"0.7\" } }   # Triton, config.pbtxt; several instances share: about 0.9 / instances"})
		},
		"lower_max_batched_tokens": shell("trtllm-serve MODEL --max_num_tokens 2048 --max_batch_size 16"),
		"lower_batch_size":         shell("trtllm-serve MODEL --max_batch_size 16   # an engine built by hand keeps the sizes of its build"),
		"lower_context":            shell("trtllm-serve MODEL --max_seq_len 4096   # an engine built by hand has to be built again"),
		"multi_gpu":                shell("trtllm-serve MODEL --tp_size 2"),
		"upgrade_version":          step.Paste("shell", "pip install -U tensorrt-llm"),
	},
}

// trtPart is a clue for the components that the report names. Newer versions
// add words in brackets.
func trtPart(weight cause.Level, why string, parts ...string) cause.Clue {
	return figures.First(cause.If(func(c *ledger.Case) bool {
		return slices.ContainsFunc(parts, func(p string) bool {
			return c.Failure.Stage == p || p != "model" && strings.HasPrefix(c.Failure.Stage, p)
		})
	}, weight, why+"| {free} of {total} GiB was free.")).Of(fact.TRTExecutor)
}

// trtRanksTogether: while a rank loads, several other processes are on its card:
// ranks of the same job, each of which should have a card of its own.
func trtRanksTogether(c *ledger.Case) bool {
	return c.In("tensorrt-llm") && c.Phase == "load" && c.F().Device != nil && len(c.F().OtherProcesses) >= 2
}
