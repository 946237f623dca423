package engine

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// The last cards of servers on a card whose message has no figures: what fails
// so late that only the phase tells.

var lookAtCards = cause.Cure{Fix: "kill_stale_process", Title: "See that nothing else is on the cards", Kind: "shell", Text: look, Cost: "free"}

// withoutFigures: the message says neither what was asked for nor what there is.
func withoutFigures(c *ledger.Case) bool { return !c.Asked.Has() && !c.Total.Has() }

var tgiBareCards = []cause.Card{
	{
		ID: "tgi/graphs", Kinds: onCard, If: inTGI, Said: []string{"capture_end", "cuda_graph_warmup", "torch/cuda/graphs.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: capturing CUDA graphs found no room",
		Means:    "Weights, trial batch and cache were done: TGI captures its graphs last, one for each batch size, and they need working memory of their own beside the cache.[[ {asked} was refused.]] A driver's message without figures is usual there.",
		Not:      "Fewer prompt tokens alone: the cache then takes what they leave.",
		Cures: []cause.Cure{
			{Fix: "enforce_eager", Title: "Start without graphs", Told: "`--cuda-graphs 0` behind the image's name; or fewer of them, `--cuda-graphs 1,2,4`.", Cost: "slower answers to few requests"},
			{Fix: "lower_mem_fraction", Title: "Or leave more of the card free", Told: "`--cuda-memory-fraction 0.9`, then 0.85: the cache becomes smaller by as much.", Cost: "fewer requests at a time"},
			lookAtCards,
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
	{
		ID: "tgi/no-figures", Kinds: onCard, If: when.All(inTGI, withoutFigures),
		Headline: "ran out of graphics memory; the message has no figures",
		Means:    "Which step it was decides what helps. While shards load, the weights are too large. In the warm-up (`Warming up model`) it is the largest batch that the settings allow. Afterwards it is a request that needed more than the cache had left free.",
		Not:      "A longer shared memory (`--shm-size`): it is RAM, for several cards.",
		Cures: []cause.Cure{
			lookAtCards,
			{Fix: "lower_max_batched_tokens", Title: "In the warm-up or at work: fewer tokens at a time", Told: "`--max-batch-prefill-tokens 2048`, and `--cuda-memory-fraction 0.9` to keep a margin.", Cost: "longer prompts are refused"},
			tgiQuant, tgiSplit,
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
}

func inVLLM(c *ledger.Case) bool { return c.In("vllm") }

// VLLMEarlyCards are of what vLLM does before it loads.
var VLLMEarlyCards = []cause.Card{
	{
		ID: "vllm/all-reduce", Kinds: onCard, If: inVLLM, Said: []string{"custom_all_reduce.py", "create_shared_buffer", "in init_worker_distributed_environment"},
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out while it connected its cards, before any weights were loaded",
		Means:    "The buffers through which the ranks exchange results are made first, some ten MB on each card[[; {asked} was refused]]. So a card was full already: an earlier start that has not ended, another program, or two ranks on one card.",
		Not:      "A smaller model, a shorter context, another share: none of them was reached.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what holds the cards, end what is yours", Told: "Look on the host for `VLLM::Worker` or python of an earlier start.", Kind: "shell", Text: look, Cost: "whatever you end stops"},
			{Fix: "select_gpu", Title: "See that each rank has a card of its own", Told: "`CUDA_VISIBLE_DEVICES` with as many different numbers as `--tensor-parallel-size`.", Cost: "free"},
			{Fix: "enforce_eager", Title: "The cards are empty: leave these buffers out", Kind: "config", Text: "--disable-custom-all-reduce", Cost: "a little slower"},
		},
		Sources: []string{"vllm/distributed/device_communicators/custom_all_reduce.py", "vllm/v1/worker/gpu_worker.py"},
	},
}

// VLLMBareCards are vLLM's.
var VLLMBareCards = []cause.Card{
	{
		ID: "vllm/no-figures", Kinds: onCard, If: when.All(inVLLM, withoutFigures),
		Headline: "ran out of graphics memory; the message has no figures",
		Means:    "Which step failed decides what helps. While the weights load, they are too large for the card, or something else is on it. After `Model loading took` it is the trial run with the largest batch, after `GPU KV cache size` CUDA graphs or a request that finds only what lies outside the share.",
		Not:      "A shorter context alone once the cache is there: it takes the whole share at any length.",
		Cures: []cause.Cure{
			lookAtCards,
			{Fix: "use_lower_quant", Title: "While weights load: smaller ones", Told: "An AWQ, GPTQ or FP8 checkpoint of the same model, or `--tensor-parallel-size` with more cards.", Cost: "slight loss of quality"},
			{Fix: "lower_gpu_memory_utilization", Title: "After them: leave more of the card free", Told: "`--gpu-memory-utilization` 0.05 lower than today (0.9 unless set), `--max-num-seqs 32`.", Cost: "a smaller KV cache"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
}

var sglangBareCards = []cause.Card{
	{
		ID: "sglang/no-figures", Kinds: onCard, If: when.All(func(c *ledger.Case) bool { return c.In("sglang") }, withoutFigures),
		Headline: "ran out of graphics memory; the message has no figures",
		Means:    "SGLang takes weights and KV pool as a share of the card at its start, and works in what is left. A refusal at work means that this rest was too small for the requests of the moment, or that something else came to the card.",
		Not:      "A shorter context alone: the pool takes its share at any length.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Leave more of the card outside the pool", Told: "`--mem-fraction-static` 0.05 lower than today (the start line prints it).", Cost: "fewer tokens in the cache"},
			{Fix: "chunked_prefill", Title: "Smaller pieces of long prompts", Told: "`--chunked-prefill-size 2048`, and `--max-running-requests 16` where many come at once.", Cost: "slower long prompts"},
			lookAtCards,
		},
		Sources: []string{sglangThread},
	},
}
