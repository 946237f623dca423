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
			Means:    "Either RAM or the card may be full. Block swap moves parts of the model to RAM, and with `use_non_blocking` that RAM is pinned. If it cannot be pinned, the driver prints this same CUDA error. A full card usually says \"Allocation on device\" or \"Tried to allocate\" instead.",
			Not:      "`--lowvram`: these nodes ignore it.",
			Cures: []cause.Cure{
				{Fix: "use_mmap", Title: "Update the wrapper, turn `use_non_blocking` off", Told: "Update ComfyUI-WanVideoWrapper in the Manager. In WanVideo BlockSwap set use_non_blocking off. ComfyUI since November 2025: also start it with `--disable-pinned-memory`.", Cost: "Some speed."},
				look,
				{Fix: "cpu_offload", Title: "Change blocks_to_swap", Told: "If RAM is nearly full: swap fewer blocks. If the card is: more, up to 40 for 14B. An fp8 or GGUF file helps with both.", Cost: "Some speed, or VRAM."},
			},
			Sources: []string{"https://github.com/kijai/ComfyUI-WanVideoWrapper/blob/main/wanvideo/modules/model.py", "https://github.com/kijai/ComfyUI-WanVideoWrapper/issues/93", "https://github.com/kijai/ComfyUI-WanVideoWrapper/issues/110", "pytorch/aten/src/ATen/native/TensorConversions.cpp"},
		},
		{
			ID: "comfyui/driver-moving", Kinds: []fact.Kind{fact.CUDAError}, Said: moves, Unsaid: []string{"calculate_weight"}, If: (*ledger.Case).Windows, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "got a CUDA out-of-memory error without sizes while it moved weights",
			Means:    "Weights were moving between RAM and the card, so either may be full. ComfyUI pins RAM for them (since November 2025), and on Windows GPU memory also counts against RAM plus page file. A full card alone usually says \"Tried to allocate\" or \"Allocation on device\".",
			Cures:    []cause.Cure{unpin, look, keep},
			Sources:  []string{comfyThread + "10662", comfyThread + "14126", "https://github.com/kijai/ComfyUI-KJNodes/issues/430", comfyThread + "15255", comfyThread + "9139", comfyArgs}, Solved: 2,
		},
		{
			ID: "comfyui/driver", Kinds: []fact.Kind{fact.CUDAError}, Unsaid: []string{"QuantizedFluxModel", "svdq-"}, If: unplaced,
			Headline: "got a CUDA out-of-memory error without sizes",
			Means:    "Either RAM or the card may be full; the log does not show which. A full card usually says \"Allocation on device\" or \"Tried to allocate\". This message also comes when ComfyUI cannot pin RAM (since November 2025), and on Windows when RAM plus page file are full.",
			Not:      "`--disable-cuda-malloc`, allocator settings: this error comes from the driver.",
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
		Headline: "ran out of GPU memory[[ ({total})]] while it loaded one layer's weights",
		Means:    "It failed in `cast_bias_weight`: there ComfyUI copies a layer to the card when its turn comes, and converts it if needed (fp8 to 16 bit, for example). The weights and the image's working memory left no room for it.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			keep, smaller,
			{Fix: "upgrade_version", Title: "Update ComfyUI, if the model is new", Told: "ComfyUI estimates how much room a model needs. For new models that estimate is often corrected in the first weeks.", Cost: "Some minutes."},
		},
		Sources: []string{"https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/ops.py", comfyThread + "10891"},
	}
}

// FastAlready: ComfyUI on an NVIDIA card, where it takes PyTorch's attention unless
// told otherwise.
func FastAlready(c *ledger.Case) bool {
	return c.Backend == "cuda" && c.Says("comfyui") && !c.Near("attention_basic", "attention_split", "attention_sub_quad") && c.Signal("no_fast_attention") == nil
}
