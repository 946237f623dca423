package stage

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const gaudiWarmup = "vllm-gaudi/docs/features/warmup.md"

func onGaudi(c *ledger.Case) bool { return c.In("vllm-gaudi") }

// GaudiCards are vLLM's on Intel Gaudi, whose share is of what is free after the
// weights and a trial run, not of the whole card.
var GaudiCards = []cause.Card{
	{
		ID: "vllm-gaudi/load", If: onGaudi, Said: []string{"in load_model", "in load_weights", "in create_weights", "get_model("}, Unsaid: []string{"in warmup_model", "in profile_run"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights did not fit on the Gaudi card",
		Means:    "It failed while loading the weights, before KV cache and graphs. They take 2 GB per billion parameters at 16 bit, divided by `--tensor-parallel-size`. A Gaudi 2 has 96 GB, a Gaudi 3 has 128 GB.",
		Not:      "`--gpu-memory-utilization` or `VLLM_GRAPH_RESERVED_MEM`: both divide only what is free after loading.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check that nothing else uses the card", Kind: "shell", Text: "hl-smi", Cost: "free"},
			{Fix: "multi_gpu", Title: "Split the weights over more cards", Told: "Use a number that divides the model's attention heads:", Kind: "config", Text: "--tensor-parallel-size 2", Cost: "needs more cards"},
			{Fix: "use_lower_quant", Title: "Or load 8-bit weights", Told: "Use an FP8 checkpoint that was calibrated for Gaudi, with `--quantization inc`.", Cost: "slight loss of quality"},
		},
		Sources: []string{gaudiWarmup, "vllm-gaudi/docs/configuration/quantization/inc.md"},
	},
	{
		ID: "vllm-gaudi/warm-up", If: onGaudi, Said: []string{"in warmup_model", "in warmup_graphs", "in warmup_scenario", "in warmup_buckets", "in _warmup", "[Warmup][Prompt]", "[Warmup][Decode]", "[Warmup][Graph"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: the warm-up of its graphs did not fit",
		Means:    "Weights and KV cache were in place. vLLM then runs every bucket of batch size and length once and records HPU graphs. Of what is free after loading, `--gpu-memory-utilization` (0.9 by default) goes to graphs and KV cache. Everything else must fit in the rest.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower `--gpu-memory-utilization`", Told: "It is a share of what is free after loading. If it still fails, lower it again.", Own: true, Cost: "a smaller KV cache"},
			{Fix: "lower_max_num_seqs", Title: "Or use fewer and smaller buckets", Told: "Buckets for answers go up to `--max-num-seqs`, buckets for prompts up to `VLLM_PROMPT_BS_BUCKET_MAX` and the longest prompt:", Kind: "config", Text: "--max-num-seqs 32 --max-model-len 8192", Cost: "more requests wait; longer ones are refused"},
			{Fix: "enforce_eager", Title: "As a test, skip the warm-up", Told: "Graphs are then recorded at the first request of each size.", Kind: "env", Text: "export VLLM_SKIP_WARMUP=true", Cost: "slow first requests"},
		},
		Sources: []string{gaudiWarmup, "vllm-gaudi/docs/configuration/env_variables.md"},
	},
	{
		ID: "vllm-gaudi/open", If: onGaudi,
		Headline: "ran out of memory on the Gaudi card",
		Means:    "The right fix depends on the step. While the weights load, they are too large or something else uses the card. In the warm-up and on requests too little is left beside KV cache and graphs, which take 0.9 of what is free after loading.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what uses the card", Kind: "shell", Text: "hl-smi", Cost: "free"},
			{Fix: "lower_gpu_memory_utilization", Title: "If the weights had loaded, lower `--gpu-memory-utilization`", Own: true, Cost: "a smaller KV cache"},
			{Fix: "multi_gpu", Title: "If it failed while loading, use more cards", Kind: "config", Text: "--tensor-parallel-size 2", Cost: "needs more cards"},
		},
		Sources: []string{gaudiWarmup},
	},
}

// TPUCards are vLLM's on TPUs.
var TPUCards = []cause.Card{{
	ID: "tpu-inference/reserve", Kinds: []fact.Kind{fact.TPUReserve},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "could not load a compiled program onto the TPU: too little HBM was free",
	Means:    "vLLM fills its share of the TPU's memory (HBM) with weights and KV cache. A compiled program needs its working memory on top, in one piece[[: {asked}, and {free} was free in all]].",
	Not:      "A shorter context alone: the KV cache fills the share at any length.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `--gpu-memory-utilization`", Told: "It is 0.9 by default.", Own: true, Cost: "a smaller KV cache"},
		{Fix: "lower_max_batched_tokens", Title: "Or compile smaller programs", Told: "vLLM compiles programs for up to this many tokens and requests.", Kind: "config", Text: "--max-num-batched-tokens 1024 --max-num-seqs 64", Cost: "slower long prompts, more requests wait"},
		{Fix: "multi_gpu", Title: "Or use more chips", Told: "Set `--tensor-parallel-size` to their number: weights and KV cache are then divided.", Cost: "a larger slice"},
	},
	Sources: []string{"https://github.com/AI-Hypercomputer/tpu-recipes/issues/151", "vllm/config/cache.py"},
}}
