package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/when"
)

// The last cards of servers on a card whose message has no figures: what fails
// so late that only the phase tells.

var lookAtCards = cause.Cure{Fix: "kill_stale_process", Title: "Check that nothing else is on the cards", Kind: "shell", Text: look, Cost: "free"}

// withoutFigures: the message says neither what was asked for nor what there is.
func withoutFigures(c *ledger.Case) bool { return !c.Asked.Has() && !c.Total.Has() }

// tgiCaptures are in the traceback where CUDA graphs are captured.
var tgiCaptures = []string{"capture_end", "cuda_graph_warmup", "torch/cuda/graphs.py"}

func tgiCapture(c *ledger.Case) bool { return c.Near(tgiCaptures...) }

var tgiBareCards = []cause.Card{
	{
		ID: "tgi/graphs", Kinds: onCard, If: inTGI, Said: tgiCaptures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "found no room for CUDA graphs",
		Means:    "Weights, trial batch and KV cache were done: TGI captures CUDA graphs last, one for each batch size, in what the cache left.[[ {asked} was refused.]]",
		Not:      "Fewer prompt tokens alone: the KV cache then takes what they leave.",
		Cures: []cause.Cure{
			{Fix: "enforce_eager", If: func(c *ledger.Case) bool { return !era.Lacks(c, "tgi", "--cuda-graphs") }, Title: "Capture fewer CUDA graphs, or none", Told: "After the image's name (2.0 and later): `--cuda-graphs 1,2,4`, or 0 for none.", Cost: "slower answers to few requests"},
			{Fix: "lower_mem_fraction", If: when.Not(earlyTGI), Title: "Or leave more of the card beside the KV cache", Told: "Before the image's name; unset it is 0.90 to 0.95 (2.3 and later):", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.85", Cost: "fewer tokens at a time"},
			where(when.All(earlyTGI, driverGives), tgiFraction),
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
	{
		ID: "tgi/no-figures", Kinds: onCard, If: when.All(inTGI, withoutFigures),
		Headline: "ran out of graphics memory; the message has no figures",
		Means:    "Which step failed decides what helps: while shards load, the weights are too large; in the warm-up (`Warming up model`) it is the largest batch that the settings allow. Afterwards it is a request that needed more than the KV cache left free.",
		Not:      "A larger `--shm-size`: it is system memory, for several cards.",
		Cures: []cause.Cure{
			lookAtCards,
			{Fix: "lower_max_batched_tokens", Title: "After the load, lower `--max-batch-prefill-tokens`", Told: "To half of your value (4096 is the default in many versions). For requests that fail later, `-e TGI_WIGGLE_ROOM=0.8` before the image's name leaves a margin (2.3 and later).", Cost: "longer prompts are refused"},
			tgiQuant, tgiSplit,
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
}

func inVLLM(c *ledger.Case) bool { return c.In("vllm") }

// swapsRequests: a vLLM of the V0 engine, or one whose version is not known.
func swapsRequests(c *ledger.Case) bool {
	return !era.Told(c, "vllm") || era.Lacks(c, "vllm", era.SecondEngine)
}

// VLLMEarlyCards are of what vLLM does before it loads, and of kills.
var VLLMEarlyCards = []cause.Card{
	{
		ID: "vllm/ray-killed", Kinds: []fact.Kind{fact.RayKilled}, If: func(c *ledger.Case) bool { return c.Framework == "vllm" },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a worker: Ray ended it because the node's system memory (RAM) was nearly full",
		Means:    "This is system memory (RAM), not graphics memory. Ray ends a process when the node passes a limit, 95 % unless set; in a container its memory limit counts as the node. In RAM are the checkpoint while it loads, swap space (4 GiB for each card on older versions), `--cpu-offload-gb`, and other programs of the node. The process that was ended need not be the one that grew.",
		Not:      "`--gpu-memory-utilization`: it limits graphics memory. Turning Ray's monitor off: the kernel then kills instead.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Set `swap_space` to 0", If: swapsRequests, Own: true, Told: "It takes 4 GiB of RAM for each card up to 2025; only beam search and several samples per request use it. 2026 versions have dropped the option.", Cost: "preempted requests are computed again"},
			{Fix: "raise_memory_limit", Title: "Give the node or its container more RAM", Told: "It must hold the checkpoint's files while they load, and some GiB for each card. Docker: a higher `--memory`, Kubernetes: `resources.limits.memory`, otherwise a machine with more.", Cost: "only if the machine has it"},
			{Fix: "close_other_apps", Title: "Check who holds the RAM, and whether it climbs", Kind: "shell", Text: "ps aux --sort=-rss | head", Cost: "free"},
			{Fix: "cpu_offload", Title: "If you set `--cpu-offload-gb`, lower it", Kind: "text", Text: "It counts for every card.", Cost: "more must fit on the card"},
		},
		Sources: []string{"vllm/config/cache.py", "vllm/config/offload.py", "https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html"},
	},
	{
		ID: "vllm/killed", Kinds: []fact.Kind{fact.VLLMKilled, fact.ShellKilled}, If: func(c *ledger.Case) bool { return c.Framework == "vllm" },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed (signal 9): most likely system memory (RAM) ran out",
		Means:    "Signal 9 comes from outside the process: usually from the kernel's out-of-memory killer or a container's memory limit. Then system memory (RAM) ran out, often while weights are read, converted or offloaded. The kernel's log tells.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Check who was killed, then raise the memory limit", Told: "In Docker also `docker inspect CONTAINER` (its name; look for OOMKilled), in Kubernetes `kubectl describe pod`. The limit must hold the largest checkpoint file for each rank and all that is offloaded.", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process'", Cost: "only if the machine has the memory"},
			{Fix: "lower_num_workers", Title: "Use less RAM while loading", Kind: "text", Text: "Take a checkpoint in `.safetensors` files, which are mapped; every rank reads `.bin` files whole. Lower `--cpu-offload-gb` or `--swap-space` (each counts for every card) if you set one.", Cost: "a slower start"},
			{Fix: "add_swap", Title: "Or add swap", Cost: "a slow start"},
		},
		Sources: []string{"vllm/v1/engine/utils.py", "https://github.com/wtdcode/vllm-backport/issues/68"},
	},
	{
		ID: "vllm/all-reduce", Kinds: onCard, If: inVLLM, Said: []string{"custom_all_reduce.py", "create_shared_buffer", "in init_worker_distributed_environment"},
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of graphics memory while connecting its cards, before the weights",
		Means:    "The buffers through which the ranks exchange results come first, some ten MB on each card[[; {asked} was refused]]. So a card was almost full before: usually an earlier start that is still running, another program, or two ranks on one card.",
		Not:      "A smaller model, a shorter context or another share: none has an effect before the weights load.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what holds the cards and end what is yours", Told: "On the host look for `VLLM::Worker` or python of an earlier start.", Kind: "shell", Text: look, Cost: "what you end stops"},
			{Fix: "select_gpu", Title: "Check that each rank has its own card", Told: "`CUDA_VISIBLE_DEVICES` must have as many different numbers as `--tensor-parallel-size`.", Cost: "free"},
			{Fix: "enforce_eager", Title: "If the cards are empty, turn these buffers off", Kind: "config", Text: "--disable-custom-all-reduce", Cost: "a little slower"},
		},
		Sources: []string{"vllm/distributed/device_communicators/custom_all_reduce.py", "vllm/v1/worker/gpu_worker.py"},
	},
}

// VLLMBareCards are vLLM's.
var VLLMBareCards = []cause.Card{
	{
		ID: "vllm/no-figures", Kinds: onCard, If: when.All(inVLLM, withoutFigures),
		Headline: "ran out of graphics memory; the message has no figures",
		Means:    "Which step failed decides what helps: while the weights load, they are too large for the card, or something else is on it. After `Model loading took` it is the trial run with the largest batch; after `GPU KV cache size` it is CUDA graphs or a request, which have only what lies outside vLLM's share.",
		Cures: []cause.Cure{
			lookAtCards,
			{Fix: "use_lower_quant", Title: "While weights load, take smaller ones", Told: "An AWQ, GPTQ or FP8 checkpoint of the same model, or `--tensor-parallel-size` with more cards.", Cost: "slight loss of quality"},
			{Fix: "lower_gpu_memory_utilization", Title: "After that, lower `--gpu-memory-utilization`", Told: "By 0.05 (0.9 unless set, 0.92 in 2026 versions), and `--max-num-batched-tokens` and `--max-num-seqs` by half.", Cost: "a smaller KV cache"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
}

var sglangBareCards = []cause.Card{
	{
		ID: "sglang/no-figures", Kinds: onCard, If: when.All(func(c *ledger.Case) bool { return c.In("sglang") }, withoutFigures),
		Headline: "ran out of graphics memory; the message has no figures",
		Means:    "At start SGLang allocates weights and KV cache pool, a fixed share of the card; CUDA graphs and requests use the rest. While weights load, they are too large for the card; later that rest was too small, or something else took memory on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `--mem-fraction-static`", Told: "By 0.05 (`server_args` in the start lines has the present value; 0.8 to 0.9 unless set). If the card was not empty before the start, end what is on it first.", Cost: "fewer tokens in the cache"},
			{Fix: "chunked_prefill", Title: "Or lower `--chunked-prefill-size`", Told: "2048, and `--max-running-requests 16` if many requests come at once.", Cost: "slower long prompts"},
			lookAtCards,
		},
		Sources: []string{sglangThread},
	},
}
