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

var lookAtCards = cause.Cure{Fix: "kill_stale_process", Title: "Check that nothing else is on the GPUs", Kind: "shell", Text: look, Cost: "free"}

// withoutFigures: the message says neither what was asked for nor what there is.
func withoutFigures(c *ledger.Case) bool { return !c.Asked.Has() && !c.Total.Has() }

// tgiCaptures are in the traceback where CUDA graphs are captured.
var tgiCaptures = []string{"capture_end", "cuda_graph_warmup", "torch/cuda/graphs.py"}

func tgiCapture(c *ledger.Case) bool { return c.Near(tgiCaptures...) }

var tgiBareCards = []cause.Card{
	{
		ID: "tgi/graphs", Kinds: onCard, If: inTGI, Said: tgiCaptures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory while capturing CUDA graphs",
		Means:    "Weights, trial batch and KV cache were in place. TGI captures CUDA graphs last, one for each batch size, in what the KV cache leaves.",
		Not:      "Fewer prompt tokens alone: the KV cache then takes what they leave.",
		Cures: []cause.Cure{
			{Fix: "enforce_eager", If: func(c *ledger.Case) bool { return !era.Lacks(c, "tgi", "--cuda-graphs") }, Title: "Capture fewer CUDA graphs, or none", Told: "`--cuda-graphs 1,2,4`, or 0 for none (2.0 and later). Add it after the image's name.", Cost: "slower answers with few users"},
			{Fix: "lower_mem_fraction", If: when.Not(earlyTGI), Title: "Or leave more GPU memory beside the KV cache", Told: "Before the image's name; the default is 0.90 to 0.95 (2.3 and later):", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.85", Cost: "fewer tokens at a time"},
			where(when.All(earlyTGI, driverGives), tgiFraction),
		},
		Sources: []string{tgiCausal, tgiLauncher},
	},
	{
		ID: "tgi/no-figures", Kinds: onCard, If: when.All(inTGI, withoutFigures),
		Headline: "ran out of GPU memory; the message has no figures",
		Means:    "The right fix depends on the step. If a shard failed to start, the weights are too large. If it failed after `Warming up model`, it was the trial batch; later, a request that needed more than the KV cache left free.",
		Not:      "A larger `--shm-size`: that is system RAM, for several GPUs.",
		Cures: []cause.Cure{
			lookAtCards,
			{Fix: "lower_max_batched_tokens", If: when.Not(when.In("load")), Title: "If the weights had loaded, lower `--max-batch-prefill-tokens`", Told: "To half of your value (the default is 4096 in many versions). If requests fail later, put `-e TGI_WIGGLE_ROOM=0.8` before the image's name (2.3 and later).", Cost: "longer prompts are refused"},
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
		Headline: "lost a worker: Ray ended it because the machine's system RAM was nearly full",
		Means:    "This is system RAM, not GPU memory. Ray ends a process when the node (or its container) uses 95 % of its RAM by default. The checkpoint uses it while loading, as do swap space, `--cpu-offload-gb` and other programs. The process that was ended need not be the one that grew.",
		Not:      "`--gpu-memory-utilization`: it limits GPU memory. Turning Ray's monitor off: Linux then kills a process instead.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Set `swap_space` to 0", If: swapsRequests, Own: true, Told: "The V0 engine (up to 0.10) reserves 4 GiB of RAM per GPU by default. Only beam search and several samples per request use it. Versions from 2026 do not have the option.", Cost: "interrupted requests may be computed again"},
			{Fix: "raise_memory_limit", Title: "Give the node or its container more RAM", Told: "It must hold the checkpoint's files while they load, plus some GiB per GPU. Docker: a higher `--memory`. Kubernetes: `resources.limits.memory`.", Cost: "only if the machine has it"},
			{Fix: "close_other_apps", Title: "Check what uses the RAM, and whether it grows", Kind: "shell", Text: "ps aux --sort=-rss | head", Cost: "free"},
			{Fix: "cpu_offload", Title: "If you set `--cpu-offload-gb`, lower it", Kind: "text", Text: "It counts for every GPU.", Cost: "more must fit on the GPU"},
		},
		Sources: []string{"vllm/config/cache.py", "vllm/config/offload.py", "https://docs.ray.io/en/latest/ray-core/scheduling/ray-oom-prevention.html"},
	},
	{
		ID: "vllm/killed", Kinds: []fact.Kind{fact.VLLMKilled, fact.ShellKilled}, If: func(c *ledger.Case) bool { return c.Framework == "vllm" },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed (signal 9): most likely system RAM ran out",
		Means:    "Signal 9 comes from outside the process: usually Linux or a container's memory limit ended it because system RAM ran out. Often that happens while weights are loaded, converted or offloaded. The kernel's log shows whether it was that.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Check the kernel's log, then raise the memory limit", Told: "In Docker also check `docker inspect CONTAINER` (its name; look for OOMKilled), in Kubernetes `kubectl describe pod`. The limit must hold the largest checkpoint file for each process, plus all that is offloaded.", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process'", Cost: "only if the machine has the memory"},
			{Fix: "lower_num_workers", Title: "Use less system RAM while loading", Kind: "text", Text: "Use a checkpoint in `.safetensors` files: `.bin` files are read whole by every process. Lower `--cpu-offload-gb` or `--swap-space` if you set one (each counts per GPU).", Cost: "a slower start"},
			{Fix: "add_swap", Title: "Or add swap", Cost: "a slow start"},
		},
		Sources: []string{"vllm/v1/engine/utils.py", "https://github.com/wtdcode/vllm-backport/issues/68"},
	},
	{
		ID: "vllm/all-reduce", Kinds: onCard, If: inVLLM, Said: []string{"custom_all_reduce.py", "create_shared_buffer", "in init_worker_distributed_environment"},
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of GPU memory while connecting the GPUs, before loading the weights",
		Means:    "The buffers for exchanging results between GPUs come first and need at most a few hundred MB per GPU. So a GPU was almost full already. Usually an earlier start still runs, another program uses it, or two processes of this job share one GPU.",
		Not:      "A smaller model, a shorter context or another share: none takes effect before the weights load.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what uses the GPUs and end what is yours", Told: "Look for `VLLM::Worker` or python of an earlier start. In a container, look on the host.", Kind: "shell", Text: look, Cost: "what you end stops"},
			{Fix: "select_gpu", Title: "Check that each process has its own GPU", Told: "`CUDA_VISIBLE_DEVICES` must list as many different numbers as `--tensor-parallel-size`.", Cost: "free"},
			{Fix: "enforce_eager", Title: "If the GPUs are empty, turn these buffers off", Kind: "config", Text: "--disable-custom-all-reduce", Cost: "a little slower"},
		},
		Sources: []string{"vllm/distributed/device_communicators/custom_all_reduce.py", "vllm/v1/worker/gpu_worker.py"},
	},
}

// bareStep says in which step a message without figures came, as far as the log
// shows it.
func bareStep(later string) func(*ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		if c.Phase == "load" {
			return map[string]string{"step": "It failed while the weights were loading: they are too large, or something else uses the GPU."}
		}
		return map[string]string{"step": "The right fix depends on the step. While the weights load, they are too large or something else uses the GPU. " + later}
	}
}

// VLLMBareCards are vLLM's.
var VLLMBareCards = []cause.Card{
	{
		ID: "vllm/no-figures", Kinds: onCard, If: when.All(inVLLM, withoutFigures),
		Headline: "ran out of GPU memory; the message has no figures",
		Means:    "{step}", Figures: bareStep("After the line `Model loading took` it is the trial run; after `GPU KV cache size` it is CUDA graphs or a request."),
		Cures: []cause.Cure{
			lookAtCards,
			{Fix: "use_lower_quant", If: when.In("load"), Title: "Use smaller weights", Told: "Use an AWQ, GPTQ or FP8 version of the model, or `--tensor-parallel-size` with more GPUs.", Cost: "slight loss of quality"},
			{Fix: "use_lower_quant", If: when.Not(when.In("load")), Title: "If it failed while loading, use smaller weights", Told: "Use an AWQ, GPTQ or FP8 version of the model, or `--tensor-parallel-size` with more GPUs.", Cost: "slight loss of quality"},
			{Fix: "lower_gpu_memory_utilization", If: when.Not(when.In("load")), Title: "If it failed later, lower `--gpu-memory-utilization`", Told: "By 0.05 (the default is 0.9, in 2026 versions 0.92). Also halve `--max-num-batched-tokens` and `--max-num-seqs`.", Cost: "a smaller KV cache"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
}

var sglangBareCards = []cause.Card{
	{
		ID: "sglang/no-figures", Kinds: onCard, If: when.All(func(c *ledger.Case) bool { return c.In("sglang") }, withoutFigures),
		Headline: "ran out of GPU memory; the message has no figures",
		Means:    "SGLang uses a fixed share of the GPU for weights and KV cache; CUDA graphs and requests use the rest. If it failed while loading, the weights are too large. If it failed later, the rest was too small, or another program took memory.",
		Cures: []cause.Cure{
			where(when.In("load"), lookAtCards), where(when.In("load"), sglangQuant),
			{Fix: "lower_mem_fraction", If: when.Not(when.In("load")), Title: "Lower `--mem-fraction-static`", Told: "By 0.05 (the default is 0.8 to 0.9; `server_args` in the first lines shows yours). If the GPU was not empty before the start, end what uses it first.", Cost: "fewer tokens in the cache"},
			{Fix: "chunked_prefill", If: when.Not(when.In("load")), Title: "Or lower `--chunked-prefill-size`", Told: "To 2048. If many requests come at once, add `--max-running-requests 16`.", Cost: "slower long prompts"},
			lookAtCards,
		},
		Sources: []string{sglangThread},
	},
}
