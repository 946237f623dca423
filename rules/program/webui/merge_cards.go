package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/when"
)

const ggufNodes = "https://github.com/city96/ComfyUI-GGUF/blob/main/nodes.py"

// merging are words of a LoRA that is added into the weights: ComfyUI's
// comfy/lora.py and Forge's backend/patcher/lora.py, which took it from there,
// print "ERROR lora KEY MESSAGE" for the weight that failed (before 2024 "ERROR
// KEY MESSAGE"); Forge shows a bar.
var merging = append([]string{"ERROR lora ", "calculate_weight", "Patching LoRAs"}, addon.Unmerged...)

// sampling are words of a step: with weights in RAM a LoRA is added there, while
// the layer computes (LowVramPatch of comfy/model_patcher.py).
var sampling = []string{"model_function_wrapper", "apply_model", "ldm/modules/attention", `ldm\modules\attention`}

// merged are the kinds with which a merge fails: also without figures, on cards
// that are not NVIDIA's.
var merged = append(slices.Clone(onCard), fact.DeviceAlloc, fact.PlainDevice, fact.XPURuntime, fact.XPUBlock)

// ownSampler: a custom node computes with its own copy of the addon.Network, so the
// failing work is a step and not the weights.
func ownSampler(c *ledger.Case) bool {
	return ownModel(c) && c.Phase != "load" && operation.Is(operation.Attention, operation.Convolution, operation.Projection, operation.Pointwise, operation.Concatenation)(c)
}

// planned: the log says how much of the model ComfyUI put on the card.
func planned(c *ledger.Case) bool { return ledger.Sized(c, "loaded_part") > 0 }

// comfyMerge are cards of what happens between a file and the first step.
var comfyMerge = []cause.Card{
	{
		ID: "comfyui/gguf-merge", Kinds: merged, Said: merging, Unsaid: sampling, If: func(c *ledger.Case) bool { return c.Near("ComfyUI-GGUF") }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it added a LoRA to a GGUF model",
		Means:    "Adding the LoRA to the model's weights failed, not a sampling step. The GGUF loader adds LoRAs to quantised weights later, layer by layer. Weights that are not quantised are patched at once, at 32 bit on the card.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Run it once without the LoRA", Told: "Bypass the LoRA node (select it, Ctrl+B). If that works, load the model with Unet Loader (GGUF/Advanced), patch_on_device off, and use one LoRA instead of several.", Cost: "A test of a minute."},
			comfyKeepFree,
			{Fix: "use_lower_quant", Title: "Load a smaller GGUF file", Told: "In Unet Loader (GGUF) pick the next smaller file (Q4_K_S is about half of Q8_0), and use a GGUF or fp8 text encoder.", Cost: "Some loss of quality."},
		},
		Sources: []string{ggufNodes, comfyCode + "comfy/lora.py"},
	},
	{
		ID: "comfyui/merge", Kinds: merged, Said: merging, Unsaid: sampling, If: when.Not(inForge), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it added a LoRA to the model",
		Means:    "Adding the LoRA to the model's weights failed, not a sampling step. ComfyUI does that weight by weight at 32 bit on the card, which needs extra GPU memory beside the model.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Unload models, then try one LoRA at a time", Told: "Click Unload Models (beside Manager), or restart ComfyUI. Bypass the LoRA nodes (select, Ctrl+B) and turn them on again one by one.", Cost: "Some minutes."},
			comfyKeepFree, smallerFile,
		},
		Sources: []string{comfyCode + "comfy/lora.py", comfyCode + "comfy/model_patcher.py"},
	},
	{
		ID: "comfyui/builds-on-card", Kinds: onCard, If: addon.BuildsOnCard, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while a node built a model on the card[[ ({network})]]",
		Means:    "A node creates a model[[ of the library {network}]] directly on the card, not with ComfyUI's loader. ComfyUI makes no room for that, so models of earlier nodes may still be on the card.",
		Figures:  addon.Network,
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Unload models before that node runs", Told: "Click Unload Models (beside Manager), or restart ComfyUI. Then run only this workflow, or put this node into a separate one. `nvidia-smi` shows what else uses the card.", Cost: "Models load again."},
			{Fix: "cpu_offload", Title: "Set that node to CPU, offload or a smaller model", Told: "Look for such a setting in the red node. If it has none, update the node in the Manager.", Cost: "That node is slower."},
			comfyKeepFree,
		},
		Sources: []string{"https://github.com/pytorch/pytorch/blob/main/torch/utils/_device.py", comfyCode + "comfy/model_management.py"},
	},
}

// forgeMerge is Forge's merge of a LoRA. Its menu "Diffusion in Low Bits" has
// each entry twice; those with "(fp16 LoRA)" merge nothing (online_lora).
var forgeMerge = cause.Card{
	ID: "forge/merge", Kinds: merged, Said: merging, If: inForge, Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory while it patched LoRAs into the model",
	Means:    "Forge adds the LoRA to the weights one by one on the card. A quantised weight is unpacked for that and packed again, which needs extra memory. The plan in the lines `[Memory Management]` does not count it.",
	Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Set Diffusion in Low Bits to Automatic (fp16 LoRA)", Told: "It is at the top of the page (with UI set to flux or all). The LoRA is then applied while each layer computes. If the menu lacks it, update Forge (`update.bat`, or `git pull`).", Cost: "Slightly slower steps."},
		{Fix: "cpu_offload", Title: "Lower GPU Weights (MB) by 2000", Told: "Also at the top. Set Swap Location to CPU and Swap Method to Queue. This leaves 2 GB more for patching.", Cost: "Some speed."},
		{Fix: "use_smaller_model", Title: "Use one LoRA, or a smaller file of the model", Told: "Try it without `<lora:...>` in the prompt. If that works, use one LoRA at a time, or an fp8, Q4_K_S GGUF or NF4 file of the model.", Cost: "Slight loss of quality."},
	},
	Sources: []string{forgeCode + "backend/patcher/lora.py", forgeCode + "modules_forge/main_entry.py"},
}
