package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var tfCudaMallocAsync = Fix{
	ID:       "tf_cuda_malloc_async",
	Title:    "Use CUDA's asynchronous allocator in TensorFlow or JAX",
	Tradeoff: "None for quality; little or no speed.",
	Cost:     free,
	Check:    "The log at the start says `Using CUDA malloc Async allocator for GPU`.",
	Next:     "If it still fails, the work is too big: lower the batch.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.Environ(c, "TF_GPU_ALLOCATOR", "cuda_malloc_async")}
	},
}
