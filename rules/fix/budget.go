package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// ofBudget change how a program shares and divides a card.
var ofBudget = []Fix{
	{
		ID:       "empty_cache",
		Title:    "Delete what is no longer needed, then empty the cache",
		Tradeoff: "A little time at each call.",
		Cost:     free,
		Check:    "The snippet prints both figures before and after: `allocated` must fall, not only `reserved`.",
		Next:     "If `allocated` does not fall, some variable still holds the tensors: restart the session.",
		Told:     "Unload models that are no longer needed.",
	},
	{
		ID:       "balance_split",
		Title:    "Split the model unevenly over the GPUs",
		Tradeoff: "A few trials to find the split.",
		Cost:     cheap,
		Check:    "`nvidia-smi` after loading: every GPU has 1 to 2 GiB to spare, the first one included.",
		Next:     "If all GPUs are nearly full, the model is too big for them together.",
		Told:     "Put less of the model on the GPU that is full, and more on the others.",
	},
	{
		ID:       "expandable_segments",
		Title:    "Turn on expandable segments in PyTorch's allocator",
		Tradeoff: "Sometimes a little speed; older versions can't share GPU tensors between processes with it.",
		Cost:     free,
		Check:    "If it fails again, the message shows little that is `reserved by PyTorch but unallocated`.",
		Next:     "If it still fails, memory is really short: lower the batch size, or use a smaller model.",
		Told:     "Before the start, set PyTorch's allocator to expandable segments.",
	},
	{
		ID:       "max_split_size",
		Title:    "Set max_split_size_mb in PyTorch's allocator",
		Tradeoff: "Some speed; a wrong value can make it worse.",
		Cost:     cheap,
		Check:    "If it fails again, the message shows a smaller gap between `reserved` and `allocated`.",
		Next:     "Try 512. If that fails too, memory is really short: lower the batch size.",
	},
	{
		ID:       "limit_framework_preallocation",
		Title:    "Turn off preallocation of GPU memory",
		Tradeoff: "A little speed, and more fragmentation.",
		Cost:     free,
		Check:    "`nvidia-smi` right after the start shows a few hundred MiB instead of most of the GPU.",
		Next:     "If it still runs out, the work itself is too big: lower the batch size.",
		Told:     "If the program has an option for it, let it take GPU memory as needed, not nearly all of it at the start.",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{step.Environ(c, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), step.Environ(c, "TF_FORCE_GPU_ALLOW_GROWTH", "true")}
		},
	},
	{
		ID:       "tf_cuda_malloc_async",
		Title:    "Use CUDA's asynchronous allocator in TensorFlow or JAX",
		Tradeoff: "Little or no speed.",
		Cost:     free,
		Check:    "The log at the start says `Using CUDA malloc Async allocator for GPU`.",
		Next:     "If it still fails, the work is too big: lower the batch size.",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{step.Environ(c, "TF_GPU_ALLOCATOR", "cuda_malloc_async")}
		},
	},
	{
		ID:       "raise_gpu_memory_utilization",
		Title:    "Let the server use more of the GPU's memory",
		Tradeoff: "Less in reserve: a long prompt may fail later.",
		Cost:     free,
		Check:    "The startup log prints how many tokens the KV cache holds: it must be more than the context length.",
		Next:     "Shorten the context, or store the KV cache in 8 bit.",
		Told:     "Let the server use more of the GPU's memory in its settings.",
	},
	{
		ID:       "lower_gpu_memory_utilization",
		Title:    "Let the server use less of the GPU's memory",
		Tradeoff: "A smaller KV cache: fewer parallel requests, or a shorter context.",
		Cost:     free,
		Check:    "It starts, and `nvidia-smi` shows 1 to 2 GiB free under load.",
		Next:     "If the KV cache is now too small, shorten the context or allow fewer parallel requests.",
		Told:     "Let the server use less of the GPU's memory in its settings.",
	},
	{
		ID:       "raise_mem_fraction",
		Title:    "Raise the static memory fraction",
		Tradeoff: "Less room for computing: long prompts may fail.",
		Cost:     free,
		Check:    "The startup log prints `max_total_num_tokens`: it must be more than the context length.",
		Next:     "Shorten the context, or use a quantised model.",
		Told:     "Raise the static memory fraction in your program's settings.",
	},
	{
		ID:       "lower_mem_fraction",
		Title:    "Lower the static memory fraction",
		Tradeoff: "A smaller KV cache: fewer parallel requests.",
		Cost:     free,
		Check:    "It survives the longest prompt you expect, with 1 to 2 GiB free in `nvidia-smi`.",
		Next:     "Lower `--chunked-prefill-size`, then the largest batch for CUDA graphs.",
		Told:     "Lower the static memory fraction in your program's settings.",
	},
	{
		ID:       "raise_watermark",
		Title:    "Raise the limit of PyTorch on a Mac (MPS watermark)",
		Tradeoff: "The Mac may swap heavily, freeze, or end programs.",
		Cost:     costly,
		Check:    "The message no longer says `max allowed`; Activity Monitor's memory pressure stays green or yellow.",
		Next:     "Undo it, and make the work smaller: a lower resolution, a smaller batch or a smaller model.",
	},
	{
		ID:       "lower_swap_space",
		Title:    "Lower vLLM's swap space",
		Tradeoff: "Requests that were interrupted are computed again instead of swapped in.",
		Cost:     free,
		Check:    CheckRAM,
		Next:     "Fewer GPUs in one process, or more system memory (RAM).",
		Told:     "Reserve less system memory (RAM) for swapped requests.",
	},
}
