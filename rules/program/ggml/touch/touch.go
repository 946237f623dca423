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
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the GPU full before it loaded anything",
	Means: "The call that failed only opens the GPU, which takes 200 to 500 MiB. Even that was not free, so something else already fills it. These lines do not say what.",
	Not:   "A smaller model, a shorter context or fewer layers: nothing was loaded yet.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See which process holds the GPU, and end it", Told: "Usually it is an earlier run that did not end, another model server or a game.", Cost: "unsaved work in it is lost"},
		{Fix: "select_gpu", Title: "With several GPUs: use one that is free", Own: true, Told: "Take the number of a free GPU from `nvidia-smi`.", Cost: "only where there is another"},
		{Fix: "cpu_offload", Title: "Run on the CPU for now", Told: "Start it with `CUDA_VISIBLE_DEVICES=-1` (AMD: `HIP_VISIBLE_DEVICES=-1`): that hides the GPU.", Cost: "slow"},
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
	OpenMeans = "The call that failed only opens the GPU and needs little memory; no line above shows a model on it. Either another program or an earlier run already fills the GPU. Or driver and runtime do not match, and then even an empty GPU refuses."
	// OpenNot is what does not help.
	OpenNot = "A smaller model, a shorter context or fewer layers: nothing was loaded yet, as far as the log shows."
)

// Matching brings driver and runtime together.
var Matching = cause.Cure{Fix: "upgrade_version", Title: "If the GPU is empty: update its driver, or use an older runtime", Cost: "a download and a restart", Steps: func(c *ledger.Case) []step.Step {
	if c.Backend == "rocm" {
		return []step.Step{{Kind: "text", Text: "Update the driver (amdgpu, Adrenalin) and restart. Or use a build for an older ROCm: with ROCm 7.2 this happened on empty GPUs."}}
	}
	return []step.Step{{Kind: "text", Text: "Update the driver and restart the computer. Or use a build for an older CUDA version."}}
}}

// Opening is about that in llama.cpp and what is built on it.
var Opening = cause.Card{
	ID: "llama.cpp/opening", Kinds: []fact.Kind{fact.GGMLRuntime}, Said: Opens, If: Unloaded,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "got an out-of-memory error while it opened the GPU",
	Means: OpenMeans, Not: OpenNot,
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "Close this program, and see what still uses the GPU", Cost: "what you end loses its work", Steps: func(c *ledger.Case) []step.Step {
			look := "nvidia-smi"
			if c.Backend == "rocm" {
				look = "rocm-smi --showmeminfo vram --showpids"
			}
			return []step.Step{{Kind: "text", Text: "If it is nearly full, end what uses it: an earlier run or another model server."}, {Kind: "shell", Text: look}}
		}},
		Matching,
		{Fix: "cpu_offload", Title: "Try the Vulkan build", Told: "llama.cpp's releases have one that runs on the same GPU with the same options, without CUDA or ROCm. If it works, runtime or driver are at fault.", Cost: "usually somewhat slower"},
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "https://github.com/ROCm/legacy-rocm-build/issues/5902"},
}
