package engine

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
		Means:    "It failed while the weights were loaded[[: {asked} more was refused]], before cache and graphs. They take 2 GB for each billion parameters at 16 bit, divided by the cards of `--tensor-parallel-size`; a Gaudi 2 has 96 GB, a Gaudi 3 128.",
		Not:      "`--gpu-memory-utilization`, `VLLM_GRAPH_RESERVED_MEM`: both share out what is free after the load.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See that nothing else holds the card", Kind: "shell", Text: "hl-smi", Cost: "free"},
			{Fix: "multi_gpu", Title: "Split the weights over more cards", Told: "The number has to divide the model's attention heads:", Kind: "config", Text: "--tensor-parallel-size 2", Cost: "needs them"},
			{Fix: "use_lower_quant", Title: "Or 8-bit weights", Told: "An FP8 checkpoint calibrated for it, with `--quantization inc`.", Cost: "slight loss of quality"},
		},
		Sources: []string{gaudiWarmup, "vllm-gaudi/docs/configuration/quantization/inc.md"},
	},
	{
		ID: "vllm-gaudi/warm-up", If: onGaudi, Said: []string{"in warmup_model", "in warmup_graphs", "in warmup_scenario", "in warmup_buckets", "in _warmup"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: its warm-up of graphs found no room",
		Means:    "Weights and KV cache were in place. Every bucket of batch and length is run once then, and HPU graphs are recorded for it[[: {asked} more was refused]]. Of what was free after the load vLLM takes `--gpu-memory-utilization` (0.9), a tenth of it for graphs (`VLLM_GRAPH_RESERVED_MEM=0.1`), the rest for the cache; what a bucket computes comes on top.",
		Not:      "Smaller weights first: they are in.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Leave more of the card free", Told: "It is a share of what is free after the load: 0.8 doubles the margin.", Kind: "config", Text: "--gpu-memory-utilization 0.8", Cost: "a smaller KV cache"},
			{Fix: "lower_max_num_seqs", Title: "Fewer and smaller buckets", Told: "Decode buckets go up to `--max-num-seqs`, prompt buckets to `VLLM_PROMPT_BS_BUCKET_MAX` and the longest prompt:", Kind: "config", Text: "--max-num-seqs 32 --max-model-len 8192", Cost: "more requests wait; longer ones are refused"},
			{Fix: "enforce_eager", Title: "To see that it is this: no warm-up", Told: "Graphs are then made at the first request of each size.", Kind: "env", Text: "export VLLM_SKIP_WARMUP=true", Cost: "slow first requests"},
		},
		Sources: []string{gaudiWarmup, "vllm-gaudi/docs/configuration/env_variables.md"},
	},
	{
		ID: "vllm-gaudi/open", If: onGaudi,
		Headline: "ran out of the Gaudi card's memory",
		Means:    "[[{asked} more was refused. ]]Which step it was decides: while weights load they are too large, or something else holds the card; in the warm-up of buckets and at work it is what lies beside the cache, for vLLM takes 0.9 of what is free after the load for cache and graphs.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what holds the card", Kind: "shell", Text: "hl-smi", Cost: "free"},
			{Fix: "lower_gpu_memory_utilization", Title: "After the load: leave more of it free", Kind: "config", Text: "--gpu-memory-utilization 0.8 --max-num-seqs 32", Cost: "a smaller KV cache, more requests wait"},
			{Fix: "multi_gpu", Title: "While weights load: more cards", Kind: "config", Text: "--tensor-parallel-size 2", Cost: "needs them"},
		},
		Sources: []string{gaudiWarmup},
	},
}

// TPUCards are vLLM's on TPUs.
var TPUCards = []cause.Card{{
	ID: "tpu-inference/reserve", Kinds: []fact.Kind{fact.TPUReserve},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "could not load a compiled program onto the TPU: its cache left too little",
	Means:    "A compiled program wants its scratch memory in one piece[[: {asked}, where {free} was free in all]]. vLLM had filled its share of the chip with weights and KV cache, at any length of requests, and programs for large batches or many tokens come on top.",
	Not:      "Clearing the compilation cache, a shorter context alone: the cache takes the whole share.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Leave the programs room", Told: "0.1 less than now; the usual is 0.9.", Kind: "config", Text: "--gpu-memory-utilization 0.8", Cost: "a smaller KV cache"},
		{Fix: "lower_max_batched_tokens", Title: "Or smaller programs", Told: "They are compiled for up to that many tokens and sequences.", Kind: "config", Text: "--max-num-batched-tokens 1024 --max-num-seqs 64", Cost: "slower long prompts, more requests wait"},
		{Fix: "multi_gpu", Title: "Or more chips", Told: "`--tensor-parallel-size` with their number: weights and cache are divided.", Cost: "a larger slice"},
	},
	Sources: []string{"https://github.com/AI-Hypercomputer/tpu-recipes/issues/151", "vllm/config/cache.py"},
}}
