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
		Tradeoff: "A little time at each call; no quality.",
		Cost:     free,
		Check:    "The two figures that the snippet prints before and after: `allocated` must fall, not only `reserved`.",
		Next:     "If `allocated` stays, something still points to the tensors: restart the session.",
		Told:     "Unload models that are no longer needed.",
	},
	{
		ID:       "balance_split",
		Title:    "Split the model unevenly over the cards",
		Tradeoff: "A few trials to find the split; no quality.",
		Cost:     cheap,
		Check:    "`nvidia-smi` after loading: every card has 1 to 2 GiB to spare, the first one included.",
		Next:     "If all cards are nearly full, the model is too big for their sum.",
		Told:     "Split the model unevenly over the cards, less on the one that is full.",
	},
	{
		ID:       "expandable_segments",
		Title:    "Turn on expandable segments in PyTorch's allocator",
		Tradeoff: "None for quality; now and then a little speed. Tensors can't be shared between processes with it.",
		Cost:     free,
		Check:    "The next message, if there is one, shows a small `reserved by PyTorch but unallocated`.",
		Next:     "If it still fails, memory is really short: lower the batch or the model's size.",
		Told:     "Set PyTorch's allocator to expandable segments before the start.",
	},
	{
		ID:       "max_split_size",
		Title:    "Set max_split_size_mb in PyTorch's allocator",
		Tradeoff: "Some speed; a wrong value can make it worse.",
		Cost:     cheap,
		Check:    "The next message, if there is one, shows less between `reserved` and `allocated`.",
		Next:     "Try 512, then lower the batch: after that memory is really short.",
	},
	{
		ID:       "limit_framework_preallocation",
		Title:    "Turn off preallocation of the whole GPU",
		Tradeoff: "A little speed, and more fragmentation.",
		Cost:     free,
		Check:    "`nvidia-smi` right after the start shows a few hundred MiB instead of most of the card.",
		Next:     "If it still runs out, the work itself is too big: lower the batch.",
		Told:     "Where the program has an option for it, let it take memory as it needs it, not nearly the whole card at its start.",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{step.Environ(c, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), step.Environ(c, "TF_FORCE_GPU_ALLOW_GROWTH", "true")}
		},
	},
	{
		ID:       "tf_cuda_malloc_async",
		Title:    "Use CUDA's asynchronous allocator in TensorFlow or JAX",
		Tradeoff: "None for quality; little or no speed.",
		Cost:     free,
		Check:    "The log at the start says `Using CUDA malloc Async allocator for GPU`.",
		Next:     "If it still fails, the work is too big: lower the batch.",
		Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{step.Environ(c, "TF_GPU_ALLOCATOR", "cuda_malloc_async")}
		},
	},
	{
		ID:       "raise_gpu_memory_utilization",
		Title:    "Give the engine a larger share of the card",
		Tradeoff: "Less reserve: a spike of a long prompt may fail later.",
		Cost:     free,
		Check:    "The start prints how many tokens the KV cache has; it must be above the context length.",
		Next:     "Shorten the context, or keep the cache at 8 bit.",
		Told:     "Give the engine a larger share of the card in your program's settings.",
	},
	{
		ID:       "lower_gpu_memory_utilization",
		Title:    "Give the engine a smaller share of the card",
		Tradeoff: "A smaller KV cache: fewer requests at a time, or a shorter context.",
		Cost:     free,
		Check:    "The start runs through, and `nvidia-smi` shows 1 to 2 GiB free under load.",
		Next:     "If the KV cache is now too small, shorten the context or lower the number of sequences.",
		Told:     "Give the engine a smaller share of the card in your program's settings.",
	},
	{
		ID:       "raise_mem_fraction",
		Title:    "Raise the static memory fraction",
		Tradeoff: "Less room for what is computed: long prompts may fail.",
		Cost:     free,
		Check:    "The start prints `max_total_num_tokens`; it must be above the context length.",
		Next:     "Shorten the context, or use a quantised model.",
		Told:     "Raise the static memory fraction in your program's settings.",
	},
	{
		ID:       "lower_mem_fraction",
		Title:    "Lower the static memory fraction",
		Tradeoff: "A smaller KV cache: fewer requests at a time.",
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
		Next:     "Take it back, and make the work smaller: lower resolution, batch, or a smaller model.",
	},
	{
		ID:       "lower_swap_space",
		Title:    "Lower vLLM's swap space",
		Tradeoff: "Preempted requests are computed again instead of being swapped.",
		Cost:     free,
		Check:    CheckRAM,
		Next:     "Fewer cards in one process, or more system memory.",
		Told:     "Reserve less system memory for swapping requests.",
	},
}
