package vllm

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// swapCards are about vLLM's own pool in system memory, and about memory that
// is pinned or runs out there.
var swapCards = []cause.Card{
	{
		ID: "vllm/swap-too-large", Kinds: []fact.Kind{fact.VLLMSwapTooLarge},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "did not start: its swap space would take {asked} of {room} of system RAM",
		Means:    "`swap_space` is system RAM, not GPU memory: 4 GiB by default for each GPU of `--tensor-parallel-size`. vLLM refuses more than 70 % of the RAM of the machine or container. Only beam search and several samples per request use it.",
		Not:      "A smaller model or a lower `--gpu-memory-utilization`: they do not change this size.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", Title: "Set `swap_space` to 0", Cost: "interrupted requests may be computed again"},
			{Fix: "raise_memory_limit", Title: "Or give the container more memory", Cost: "only if the machine has it"},
			{Fix: "upgrade_version", Title: "Or update vLLM", Kind: "text", Text: "The V1 engine does not use it, and 2026 versions dropped the option. `pip install -U vllm`", Cost: "flags may have changed"},
		},
		Sources: []string{"vllm/config/cache.py", threads + "pull/1090"},
	},
	{
		ID: "vllm/swap-full", Kinds: []fact.Kind{fact.VLLMSwapFull},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: swapFigures,
		Headline: "stopped: its KV cache on the GPU and its swap space in RAM are both full",
		Means:    "Too many or too long requests ran at once and filled the KV cache. The old V0 engine then moves requests with several samples (n > 1, beam search) to `swap_space` in RAM, 4 GiB per GPU by default. That was full too.",
		Not:      "Swap of the operating system or more RAM alone: this pool has a fixed size.",
		Cures: []cause.Cure{
			{Fix: "raise_gpu_memory_utilization", Title: "Raise `gpu_memory_utilization` if the GPU has room", Told: "{set_share}. Leave enough for a trainer on the same GPU.", Cost: "less for other programs"},
			{Fix: "lower_max_num_seqs", Title: "Lower `max_num_seqs`", Told: "{set_seqs}. Halve it again if the error comes back; shorter answers help too.", Cost: "slower"},
			{Fix: "upgrade_version", Title: "Update to the V1 engine, or enlarge the pool", Told: "V1 (the default since 0.8) does not swap. On V0, {set_swap} takes 16 GiB of RAM per GPU; or ask n times for one sample each.", Cost: "an update to test, or RAM"},
		},
		Sources: []string{"vllm/core/scheduler.py", "https://github.com/verl-project/verl/pull/960"},
	},
	{
		ID: "vllm/killed-kernel", Said: []string{"Killed process"}, If: when.All(func(c *ledger.Case) bool {
			return c.Framework == "vllm" && c.Contains("killed process") && !c.Root(fact.BuildKilled)
		}),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a process: Linux killed it because system RAM ran out",
		Means:    "Linux ends a process when system RAM runs out. The log does not show what filled it. Usual causes are `--cpu-offload-gb` (that many GiB per GPU), weights being loaded, and the input cache of image models (`--mm-processor-cache-gb`, 4 GiB by default). On DGX Spark or Jetson, vLLM's share of the GPU is RAM too.",
		Cures: []cause.Cure{
			Words("use_lower_quant", "Use less system RAM", "Lower `--cpu-offload-gb` if you set it: the value times the number of GPUs must stay a quarter below the RAM. Or load smaller weights (4 bit). On DGX Spark or Jetson also lower `--gpu-memory-utilization`.", "quality, or more GPUs"),
			{Fix: "raise_memory_limit", Title: "Check the RAM, and raise the container's memory limit", Told: "In Docker `--memory`, in Kubernetes `resources.limits.memory`.", Kind: "shell", Text: "free -h; sudo dmesg -T | grep -i 'killed process'", Cost: "only if the machine has the memory"},
			{Fix: "add_swap", Title: "Or add swap space while it loads", Cost: "a slow start"},
		},
		Sources: []string{"vllm/config/offload.py", "docs/configuration/conserving_memory.md", "https://github.com/wtdcode/vllm-backport/issues/68"},
	},
	{
		ID: "vllm/load-pinned", Kinds: []fact.Kind{fact.CUDAError}, Said: []string{"pin_memory", "uva.py", "get_cuda_view_from_cpu_tensor", "maybe_offload_to_cpu"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "may have run out of pinned system RAM, not of GPU memory",
		Means:    "It failed around pinned system RAM, which `--cpu-offload-gb` uses. CUDA reports a shortage of RAM and of GPU memory with the same words. Pinned memory is limited by free RAM, by the container, and on WSL to about half the RAM.",
		Not:      "A lower `--gpu-memory-utilization`: system RAM was short.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Move less to system RAM", Kind: "text", Text: "Lower `--cpu-offload-gb`, so that the value times the number of GPUs stays well below free RAM.", Cost: "more must fit on the GPU"},
			{Fix: "raise_memory_limit", Title: "Give the container more memory", Cost: "only if the machine has it"},
		},
		Sources: []string{"vllm/config/offload.py", threads + "issues/1084"},
	},
}

// swapFigures are the options as vLLM's own readers set them, and those of verl.
func swapFigures(c *ledger.Case) map[string]string {
	if c.Says("verl") {
		const rollout = "`actor_rollout_ref.rollout."
		return map[string]string{"set_share": "In steps of 0.1: " + rollout + "gpu_memory_utilization=0.7`", "set_seqs": rollout + "max_num_seqs=64`", "set_swap": "`+actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=16`"}
	}
	return map[string]string{
		"set_share": "`--gpu-memory-utilization 0.95`, in Python `LLM(..., gpu_memory_utilization=0.95)`; verl, in steps of 0.1: `actor_rollout_ref.rollout.gpu_memory_utilization=0.7`",
		"set_seqs":  "`--max-num-seqs 64` (verl: `actor_rollout_ref.rollout.max_num_seqs=64`)",
		"set_swap":  "`--swap-space 16` (verl: `+actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=16`)",
	}
}
