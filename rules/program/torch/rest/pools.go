package rest

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Pools are about graphics whose figures are of two kinds of memory.
var Pools = []cause.Card{
	{
		ID: "pytorch/two-pools", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, room.FreeAboveTotal),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "was refused {asked} on graphics that share the computer's RAM",
		Means:    "The message reports {free} free of {total} in all, so it mixes two pools, as on AMD graphics without their own memory. The total is the part that the BIOS reserves; the free amount includes RAM that the driver can map (GTT). PyTorch's tensors held {held}, and the pool it asked was full.",
		Not:      "Closing programs because of the {free}: that part was not short. `empty_cache()`.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give the graphics more of the RAM", Cost: "a restart; less RAM for the rest", Told: "Set a larger UMA frame buffer in the BIOS. Or keep it small and raise GTT: on Linux `ttm.pages_limit=16777216` (64 GiB, in pages of 4 KiB) on the kernel command line (older kernels: `amdgpu.gttsize` in MiB). This shows both pools:", Kind: "shell", Text: "sudo dmesg | grep -iE 'amdgpu.*memory'; rocminfo | grep -A4 'Pool 1'; uname -r"},
			{Fix: "upgrade_version", Title: "Use a newer kernel, and a newer ROCm build of PyTorch", Cost: "half an hour", Told: "Newer ROCm versions use both pools on such graphics."},
			{Fix: "use_lower_quant", Title: "Until then: weights that fit {total}", Cost: "little quality", Told: "8 bit takes half of 16, 4 bit about a quarter."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			return map[string]string{"free": c.F().Free.String(), "held": c.F().Allocated.String()}
		},
		Sources: []string{cures.AllocatorSource, "https://github.com/ROCm/TheRock/issues/2535", "https://rocm.docs.amd.com/en/docs-7.14.0/reference/system-optimization/rdna3-5.html"},
	}, {
		ID: "pytorch/graph-pools", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, ledger.FillsAlone, graphPools), Among: []string{cause.BatchTooLarge, cause.ModelTooLarge, cause.BudgetMisconfigured, cause.ContextTooLong},
		Headline: "ran out of memory: this program fills the {total} card by itself, and it uses CUDA graphs",
		Means:    "The message mentions private pools, which come from CUDA graphs: usually a model server (SGLang, vLLM; also for RL rollouts), or `torch.compile` with `mode=\"reduce-overhead\"`. A server reserves a share of the GPU for weights and KV cache at its start. A request ({asked} here) has only the rest.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`: at most {reserve} to gain.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower the server's share of the card", Ways: []cause.Way{
				{For: "A model server", Text: "0.05 to 0.1 less than now, such as SGLang `--mem-fraction-static 0.75` or vLLM `--gpu-memory-utilization 0.85`."},
				{For: "RL training (GRPO, PPO) with vLLM on the same cards", Text: "`vllm_gpu_memory_utilization` 0.3 in TRL or ms-swift (there with `--sleep_level 1`), in verl `actor_rollout_ref.rollout.gpu_memory_utilization=0.4`."},
			}, Cost: "fewer requests, or tokens, at a time"},
			{Fix: "lower_batch_size", Title: "Or let a request need less", Ways: []cause.Way{
				{For: "A model server", Text: "SGLang `--chunked-prefill-size 2048 --max-running-requests 16`, vLLM `--max-num-batched-tokens 2048 --max-num-seqs 16`; fewer or smaller images."},
				{For: "Code of your own", Text: "a smaller batch or input, and `torch.compile(mode=\"default\")`, which keeps no graphs."},
			}, Cost: "slower"},
			{Fix: "use_lower_quant", Title: "Or smaller weights", Told: "Use a checkpoint stored in FP8 or 4 bit, or split the weights over two GPUs (SGLang `--tp 2`, vLLM `--tensor-parallel-size 2`).", Cost: "little quality, or a second card"},
		},
		Figures: func(c *ledger.Case) map[string]string {
			return map[string]string{"reserve": c.F().ReservedUnallocated.String()}
		},
		Sources: []string{cures.AllocatorSource, "sglang/python/sglang/srt/server_args.py", "vllm/vllm/engine/arg_utils.py", "pytorch/torch/__init__.py", "ms-swift/docs/source_en/Instruction/Command-line-parameters.md", "trl/trl/trainer/grpo_config.py", "https://github.com/modelscope/ms-swift/issues/7826"},
	},
}

// graphPools: CUDA graphs hold memory, and no program but PyTorch is proved, nor
// that it trains.
func graphPools(c *ledger.Case) bool {
	return len(c.Stack) == 1 && c.Contains("private pools") && !c.Training() && c.F().ReservedUnallocated != nil
}
