package ggml

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/touch"
	"github.com/oomdoc/oomdoc/rules/when"
)

// overPiece: one buffer of 4 GiB or more under oneAPI.
func overPiece(c *ledger.Case) bool {
	return c.Backend == "sycl" && c.Failure.Stage != "kv" && ledger.Requested(c) >= 4*units.GiB-units.MiB
}

// roomForPiece: more was listed as free than was asked for, before anything was
// placed.
func roomForPiece(c *ledger.Case) bool {
	return overPiece(c) && touch.Unloaded(c) && claimed(c) != "" && c.Failure.Stage != "compute"
}

// syclPiece is about one large buffer that Intel's driver refused.
func syclPiece(id string, weight cause.Level, holds func(*ledger.Case) bool) cause.Card {
	return cause.Card{
		ID: "llama.cpp/" + id, Kinds: gpuFull, If: holds, Cause: cause.OversizedAllocation, Weight: weight,
		Figures: func(c *ledger.Case) map[string]string {
			out := numbers(c)
			if !roomForPiece(c) { // what was listed before is of another moment
				out["claimed"] = ""
			}
			return out
		},
		Headline: "could not get one buffer of {asked} on an Intel GPU[[, with {claimed} listed as free]]",
		Means:    "Intel's driver refuses single buffers above 4 GiB unless a program asks for them. llama.cpp asks only since May 2026. Some drivers of 2026 still fail above about 19 GiB on Arc Pro B65 and B70.[[ {claimed} was listed as free, so the GPU is probably not full.]]",
		Cures: []cause.Cure{
			does("fix_shape", "Allow buffers above 4 GiB", "env", "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1", "may be a little slower"),
			does("upgrade_version", "Update llama.cpp and the driver, or use the Vulkan build", "text", "Builds since September 2026 use smaller pieces on Arc Pro B65 and B70. The Vulkan build from llama.cpp's releases runs on the same GPU with the same model and options, without oneAPI.", "half an hour"),
			where(when.Any(stage("weights"), bare), as("fewer_gpu_layers", "Put fewer layers on the GPU", "the rest runs on the CPU: slower")),
			where(when.Not(when.Any(stage("weights"), bare)), as("lower_ubatch", "Lower the physical batch size", "slower prompts")),
			where(when.Not(when.Any(stage("weights"), bare)), as("lower_context", "Shorten the context", "shorter conversations")),
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md", "https://github.com/ggml-org/llama.cpp/pull/28953", "https://github.com/intel/compute-runtime/issues/984"},
	}
}

// vulkanPiece is about a piece of weights that is as large as drivers allow.
var vulkanPiece = cause.Card{
	ID: "llama.cpp/vulkan-largest-piece", Kinds: []fact.Kind{fact.GGMLAlloc}, Figures: numbers, If: func(c *ledger.Case) bool {
		asked := ledger.Requested(c)
		return onVulkan(c) && c.Failure.Stage == "weights" && asked > pieceLimit*7/8 && asked < pieceLimit && !unified(c) && !byOllama(c)
	},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: {gpu} did not give one piece of {asked} for the weights",
	Means: "Vulkan builds before February 2025 load the weights in pieces as large as the driver allows, usually 4 GiB. Either the GPU was full, or the driver refused so large a piece although memory was free; some do.",
	Not:   "A shorter context or smaller batch: the weights come first, and they did not fit.",
	Cures: []cause.Cure{
		does("fix_shape", "Ask for pieces of 1 GiB", "env", "export GGML_VK_FORCE_MAX_ALLOCATION_SIZE=1073741824   # then start it as before", "free to try"),
		does("upgrade_version", "Update llama.cpp", "text", "Builds since February 2025 use pieces of at most 1 GiB by themselves.", "a download"),
		does("fewer_gpu_layers", "If it still fails: put fewer layers on the GPU", "text", "Start with half of them (`-ngl 16` for a 7B model), and halve again until it loads. Then raise it while `{look}` shows room.", "slower"),
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "5441", "https://github.com/geerlingguy/raspberry-pi-pcie-devices/issues/706"},
}
