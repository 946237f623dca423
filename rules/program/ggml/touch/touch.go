// Package touch knows calls of ggml's that only look at a card and are refused.
package touch

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
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
		{Fix: "select_gpu", Title: "With several GPUs: use one that is free", Own: true, Told: "The number is the one of a free GPU in `nvidia-smi`.", Cost: "only where there is another"},
		{Fix: "cpu_offload", Title: "Run on the CPU for now", Told: "`CUDA_VISIBLE_DEVICES=-1` before the start hides the GPU, and the CPU computes.", Cost: "slow"},
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
}

// Opens are calls that set up a queue on a card (ggml_backend_cuda_context::stream,
// ggml_backend_cuda_device_event_new).
var Opens = []string{"in function stream at", "StreamCreateWithFlags(", "EventCreateWithFlags(", "in function ggml_backend_cuda_device_event_new"}

// Unloaded: no buffer of a card was listed before the failure.
func Unloaded(c *ledger.Case) bool {
	return !ledger.InHost(c) && !slices.ContainsFunc(c.Facts.Buffers, func(b fact.Buffer) bool {
		return !fact.HostMemory(b.Device) && b.Size.Line < c.Failure.Line
	})
}

const (
	// OpenMeans says what it was that Opens.
	OpenMeans = "The call that failed only sets up a queue on the GPU, and no line above says that a model was placed there. It takes little. Either the GPU is full already (another program, an earlier run), or driver and runtime do not match: then an empty GPU refuses it too. These lines do not show which."
	// OpenNot is what does not help.
	OpenNot = "A smaller model, a shorter context, fewer layers: nothing shows as loaded yet."
)

// Matching brings driver and runtime together.
var Matching = cause.Cure{Fix: "upgrade_version", Title: "If the GPU is empty then: update its driver, or take an older runtime", Cost: "a download and a restart", Steps: func(c *ledger.Case) []step.Step {
	if c.Backend == "rocm" {
		return []step.Step{{Kind: "text", Text: "Update the driver (amdgpu, Adrenalin) and restart; or use a build for an older ROCm: with 7.2 this was seen on empty GPUs."}}
	}
	return []step.Step{{Kind: "text", Text: "Update the driver and restart the computer; or use a build for an older CUDA."}}
}}

// Opening is about that in llama.cpp and what is built on it.
var Opening = cause.Card{
	ID: "llama.cpp/opening", Kinds: []fact.Kind{fact.GGMLRuntime}, Said: Opens, If: Unloaded,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "was refused memory while it opened the GPU",
	Means: OpenMeans, Not: OpenNot,
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See what is on the GPU while this program does not run", Cost: "what you end loses its work", Steps: func(c *ledger.Case) []step.Step {
			look := "nvidia-smi"
			if c.Backend == "rocm" {
				look = "rocm-smi --showmeminfo vram --showpids"
			}
			return []step.Step{{Kind: "text", Text: "Nearly full: end what holds it, such as an earlier run or another model server."}, {Kind: "shell", Text: look}}
		}},
		Matching,
		{Fix: "cpu_offload", Title: "Compare with the Vulkan build", Told: "llama.cpp's releases have one for the same GPU: the same model and options, without CUDA or ROCm. If it runs, runtime and driver are at fault.", Cost: "somewhat slower as a rule"},
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "https://github.com/ROCm/legacy-rocm-build/issues/5902"},
}
