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
		Headline: "ran out of graphics memory while a LoRA was added to a GGUF model",
		Means:    "The GGUF loader keeps LoRAs beside its quantised weights and adds them when a layer is used; weights that are not quantised are patched at once, at 32 bit on the card. That patching failed, not a sampling step.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Run it once without the LoRA", Told: "Bypass the LoRA node (Ctrl+B). If it runs then: Unet Loader (GGUF/Advanced) with patch_on_device off, and one LoRA instead of several.", Cost: "A test of a minute."},
			comfyKeepFree,
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation", Told: "Unet Loader (GGUF): the next smaller file (Q4_K_S is half of Q8_0), and a GGUF or fp8 text encoder.", Cost: "Some loss of quality."},
		},
		Sources: []string{ggufNodes, comfyCode + "comfy/lora.py"},
	},
	{
		ID: "comfyui/merge", Kinds: merged, Said: merging, Unsaid: sampling, If: when.Not(inForge), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while a LoRA was added to the model",
		Means:    "ComfyUI adds a LoRA to one weight after the other, at 32 bit on the card, and keeps the originals in RAM. That needs VRAM beside the model; it failed there, not in a sampling step.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Unload models, then try one LoRA at a time", Told: "Manager: Unload Models, or restart ComfyUI; bypass the LoRA nodes (Ctrl+B) and bring them back one by one.", Cost: "Some minutes."},
			comfyKeepFree, smallerFile,
		},
		Sources: []string{comfyCode + "comfy/lora.py", comfyCode + "comfy/model_patcher.py"},
	},
	{
		ID: "comfyui/builds-on-card", Kinds: onCard, If: addon.BuildsOnCard, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while a node built a network on the card[[ ({network})]]",
		Means:    "The traceback makes the layers of a network[[ of {network}]] directly on the card, without ComfyUI's loader: ComfyUI does not plan for that, so models of earlier nodes may still be on the card.",
		Figures:  addon.Network,
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Unload models before that node runs", Told: "Manager: Unload Models (or restart ComfyUI) and run this workflow alone, or this model in a workflow of its own. `nvidia-smi` shows whether another program holds the card.", Cost: "Models load again."},
			{Fix: "cpu_offload", Title: "Set that node to CPU, offload or a smaller model", Told: "In the red node, where it has such a setting; update it in the Manager.", Cost: "That node is slower."},
			comfyKeepFree,
		},
		Sources: []string{"https://github.com/pytorch/pytorch/blob/main/torch/utils/_device.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/own-sampler", Kinds: onCard, If: ownSampler, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the custom node {node}",
		Means:    "The traceback ends in {node}: it computes with its own code, which ComfyUI's memory plan does not count[[; {loaded} of weights are on the card by that plan]].[[ {spilled}]] Its memory grows with width times height, frames and images at once.",
		Figures:  ownFigures,
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Keep more VRAM free: `--reserve-vram 4`", Told: "Start ComfyUI with it: more of the weights then stay in RAM. An fp8 or GGUF file of the model frees more.", Cost: "Slower.", If: planned},
			fewerPixels,
			{Fix: "lowvram_mode", Title: "Keep more VRAM free: `--reserve-vram 4`", Told: "Start ComfyUI with it: more of the weights then stay in RAM. An fp8 or GGUF file of the model frees more.", Cost: "Slower."},
			{Fix: "upgrade_version", Title: "Use ComfyUI's own nodes, where available", Told: "KSampler or SamplerCustomAdvanced in place of a sampler of {node}: they follow ComfyUI's memory plan.", Cost: "Part of the workflow must be rebuilt."},
		},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/XLabs-AI/x-flux-comfyui/blob/main/nodes.py"},
	},
}

// forgeMerge is Forge's merge of a LoRA. Its menu "Diffusion in Low Bits" has
// each entry twice; those with "(fp16 LoRA)" merge nothing (online_lora).
var forgeMerge = cause.Card{
	ID: "forge/merge", Kinds: merged, Said: merging, If: inForge, Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of graphics memory while it patched LoRAs into the model",
	Means:    "Forge adds the LoRA to one weight after the other on the card; a quantised weight is unpacked for that and packed again[[. {asked} was refused there]]. Its plan in the lines [Memory Management] does not count this.",
	Not:      "`--medvram`, `--lowvram`: Forge ignores both.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Set Diffusion in Low Bits to Automatic (fp16 LoRA)", Told: "At the top of the page (UI: flux or all). The LoRA is then applied while each layer computes, and nothing is merged. If the menu lacks it: update Forge (`update.bat`, or `git pull`).", Cost: "Slightly slower steps."},
		{Fix: "cpu_offload", Title: "Lower GPU Weights (MB) by 2000", Told: "At the top as well; Swap Location CPU, Swap Method Queue. That much more is then free for merging.", Cost: "Some speed."},
		{Fix: "use_smaller_model", Title: "Use one LoRA, or a smaller file of the model", Told: "Try it without `<lora:...>` in the prompt. If it runs then: one LoRA at a time, or an fp8, Q4_K_S GGUF or NF4 file of the model, if yours is larger.", Cost: "Slight loss of quality."},
	},
	Sources: []string{forgeCode + "backend/patcher/lora.py", forgeCode + "modules_forge/main_entry.py"},
}
