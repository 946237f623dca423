package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const comfyThread, comfyArgs = "https://github.com/Comfy-Org/ComfyUI/issues/", "https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/cli_args.py"

// moves are words of frames in which ComfyUI moves weights.
var moves = []string{"in cast_to", "r.copy_(", "in cast_bias_weight", "model_patcher.py", "in pin_memory", "model_load("}

// Driver are ComfyUI's cards on the driver's refusal, which has no figures:
// unloads holds where weights were leaving the card, unpin turns pinned memory
// off, look and keep are what to look at and how to keep more of the card free.
func Driver(unloads func(*ledger.Case) bool, unpin, look, keep cause.Cure) []cause.Card {
	return []cause.Card{
		{
			ID: "comfyui/wanvideo-unloading", Kinds: []fact.Kind{fact.CUDAError}, If: func(c *ledger.Case) bool {
				return c.Near("Initializing block swap") || c.Near("WanVideoWrapper") && unloads(c)
			},
			Headline: "got a CUDA out-of-memory error without sizes, with block swap on",
			Means:    "The message is the driver's. The node moves blocks to RAM between their turns; with `use_non_blocking` (in the WanVideoWrapper of March 2025 always) that RAM is pinned, which the driver hands out too, so a lack of it reads like one of the card. A full card mostly says \"Allocation on device\" or \"Tried to allocate\".",
			Not:      "`--lowvram`: these nodes move their model by themselves.",
			Cures: []cause.Cure{
				{Fix: "use_mmap", Title: "Update the wrapper, `use_non_blocking` off", Told: "Manager: update ComfyUI-WanVideoWrapper; then WanVideo BlockSwap: use_non_blocking off. ComfyUI since November 2025: also `--disable-pinned-memory`.", Cost: "Some speed."},
				look,
				{Fix: "cpu_offload", Title: "Change blocks_to_swap", Told: "Fewer where RAM is nearly full, more (up to 40 for 14B) where the card is; an fp8 or GGUF file halves both.", Cost: "Some speed, or VRAM."},
			},
			Sources: []string{"https://github.com/kijai/ComfyUI-WanVideoWrapper/blob/main/wanvideo/modules/model.py", "https://github.com/kijai/ComfyUI-WanVideoWrapper/issues/93", "https://github.com/kijai/ComfyUI-WanVideoWrapper/issues/110", "pytorch/aten/src/ATen/native/TensorConversions.cpp"},
		},
		{
			ID: "comfyui/driver-moving", Kinds: []fact.Kind{fact.CUDAError}, Said: moves, Unsaid: []string{"calculate_weight"}, If: (*ledger.Case).Windows, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "got a CUDA out-of-memory error without sizes while it moved weights",
			Means:    "The message is the driver's and has no figures. Weights were on their way between RAM and card, so either may be full: ComfyUI pins RAM for such weights (since November 2025), and on Windows card memory also counts against RAM plus page file. A full card alone usually says \"Tried to allocate\" or \"Allocation on device\".",
			Cures:    []cause.Cure{unpin, look, keep},
			Sources:  []string{comfyThread + "10662", comfyThread + "14126", "https://github.com/kijai/ComfyUI-KJNodes/issues/430", comfyThread + "15255", comfyThread + "9139", comfyArgs}, Solved: 2,
		},
		{
			ID: "comfyui/driver", Kinds: []fact.Kind{fact.CUDAError}, Unsaid: []string{"QuantizedFluxModel", "svdq-"}, If: unplaced,
			Headline: "got a CUDA out-of-memory error without sizes",
			Means:    "The message is the driver's, and no frame here shows what was being done. A full card mostly says \"Allocation on device\" or \"Tried to allocate\"; the driver's words also come when RAM for waiting weights cannot be pinned (ComfyUI pins it since November 2025), and on Windows when RAM plus page file are used up.",
			Not:      "`--disable-cuda-malloc`, allocator settings: they do not reach the driver.",
			Cures:    []cause.Cure{unpin, look, keep},
			Sources:  []string{comfyThread + "10662", comfyThread + "15255", "https://github.com/mcmonkeyprojects/SwarmUI/issues/1114", comfyArgs},
		},
	}
}

// unplaced: the log has no frame but those of ComfyUI's queue.
func unplaced(c *ledger.Case) bool {
	return c.Says("comfyui") && !slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return x.Line >= c.Failure.Line-nearby && x.Line <= c.Failure.EndLine+nearby && !strings.HasSuffix(strings.ReplaceAll(x.File, `\`, "/"), "ComfyUI/execution.py")
	})
}

// Unpacking is about the weight of one layer, on its way to its work.
func Unpacking(keep, smaller cause.Cure) cause.Card {
	return cause.Card{
		ID: "comfyui/unpacking", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"in cast_bias_weight"}, Unsaid: []string{"IPAdapter", "text_encoders/", `text_encoders\`, "encode_from_tokens"}, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while it brought one layer's weights to the card",
		Means:    "It failed in `cast_bias_weight`: ComfyUI copies a layer from RAM when its turn comes and, on cards that cannot compute with its type (fp8 before RTX 40), unpacks it to 16 bit.[[ {asked} was refused, with {mine} in use.]] The weights that stay on the card and the work left no room for that.",
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			keep, smaller,
			{Fix: "upgrade_version", Title: "Update ComfyUI, if the model is new", Told: "How much room a new model needs is an estimate, often corrected in the weeks after its release.", Cost: "Some minutes."},
		},
		Sources: []string{"https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/ops.py", comfyThread + "10891"},
	}
}

// FastAlready: ComfyUI on an NVIDIA card, where it takes PyTorch's attention unless
// told otherwise.
func FastAlready(c *ledger.Case) bool {
	return c.Backend == "cuda" && c.Says("comfyui") && !c.Near("attention_basic", "attention_split", "attention_sub_quad") && c.Signal("no_fast_attention") == nil
}
