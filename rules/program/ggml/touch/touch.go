// Package touch knows calls of ggml's that only look at a card and are refused.
package touch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// First are calls for which CUDA or HIP makes its context on a card
// (ggml_backend_cuda_device_get_memory, ggml_cuda_set_device).
var First = []string{"cudaMemGetInfo(", "hipMemGetInfo(", "ggml_backend_cuda_device_get_memory", "ggml_backend_cuda_get_device_memory", "in function ggml_cuda_set_device", "cudaSetDevice("}

// Card is about that in llama.cpp and what is built on it.
var Card = cause.Card{
	ID: "llama.cpp/no-context", Kinds: []fact.Kind{fact.GGMLRuntime}, Said: First, If: when.Not(ledger.InHost),
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the card full before it loaded anything",
	Means: "The call that failed only opens the GPU. CUDA or HIP needs 200 to 500 MiB there for a context of its own and could not get it, so the GPU was full already. These lines do not say with what.",
	Not:   "A smaller model, a shorter context or fewer layers: nothing was loaded yet.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See which process holds the GPU, and end it", Told: "An earlier run that did not end, another model server, a game.", Cost: "what it had not saved"},
		{Fix: "select_gpu", Title: "With several GPUs: use one that is free", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1   # the number of a free GPU in nvidia-smi", Cost: "only where there is another"},
		{Fix: "cpu_offload", Title: "Run on the CPU for now", Told: "`CUDA_VISIBLE_DEVICES=-1` before the start hides the GPU, and the CPU computes.", Cost: "slow"},
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
}
