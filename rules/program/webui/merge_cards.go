package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

const ggufNodes = "https://github.com/city96/ComfyUI-GGUF/blob/main/nodes.py"

// merging are words of a LoRA that is added into the weights: ComfyUI's
// comfy/lora.py and Forge's backend/patcher/lora.py, which took it from there,
// print "ERROR lora KEY MESSAGE" for the weight that failed; Forge shows a bar.
var merging = []string{"ERROR lora ", "calculate_weight", "Patching LoRAs"}

// sampling are words of a step: with weights in RAM a LoRA is added there, while
// the layer computes (LowVramPatch of comfy/model_patcher.py).
var sampling = []string{"model_function_wrapper", "apply_model", "ldm/modules/attention", `ldm\modules\attention`}

// merged are the kinds with which a merge fails: also without figures, on cards
// that are not NVIDIA's.
var merged = append(slices.Clone(onCard), fact.DeviceAlloc, fact.PlainDevice, fact.XPURuntime, fact.XPUBlock)

// buildsOnCard: the innermost frames make the layers of a network, under a
// default device (torch/utils/_device.py), outside ComfyUI's loader.
func buildsOnCard(c *ledger.Case) bool {
	making, placed := 0, false
	for _, x := range c.Facts.Code {
		if strings.Contains(x.File, "/comfy/model_") || strings.Contains(x.File, "/comfy/sd.py") {
			return false
		}
		if x.Function == "__init__" {
			making++
		}
		placed = placed || strings.HasSuffix(x.File, "torch/utils/_device.py")
	}
	return making > 0 && placed
}

// network is the library whose layers were being made.
func network(c *ledger.Case) map[string]string {
	for _, x := range slices.Backward(c.Facts.Code) {
		if _, rest, ok := strings.Cut(x.File, "site-packages/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); name != "torch" {
				return map[string]string{"network": name}
			}
		}
	}
	return map[string]string{"network": ""}
}

// ownSampler: a custom node computes with its own copy of the network, so the
// failing work is a step and not the weights.
func ownSampler(c *ledger.Case) bool {
	return ownModel(c) && c.Phase != "load" && operation.Is(operation.Attention, operation.Convolution, operation.Projection, operation.Pointwise, operation.Concatenation)(c)
}

// planned: the log says how much of the model ComfyUI put on the card.
func planned(c *ledger.Case) bool { return ledger.Sized(c, "loaded_part") > 0 }

// comfyMerge are cards of what happens between a file and the first step.
var comfyMerge = []cause.Card{
	{
		ID: "comfyui/gguf-merge", Kinds: merged, Said: merging, Unsaid: sampling, If: func(c *ledger.Case) bool { return c.Near("ComfyUI-GGUF") },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while a LoRA was added to a GGUF model",
		Means:    "No step had run. The GGUF loader keeps LoRAs beside its quantised weights and adds them when a layer is used; the weights that are not quantised get them at once, at 32 bit on the card, which is what failed.",
		Not:      "A smaller image, fewer steps: no work on it had begun.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Run it once without the LoRA", Told: "Bypass the LoRA node (Ctrl+B). Runs it then: Unet Loader (GGUF/Advanced) with patch_on_device off, and one LoRA instead of several.", Cost: "A test of a minute."},
			comfyKeepFree,
			{Fix: "use_lower_quant", Title: "One quantisation smaller", Told: "Unet Loader (GGUF): Q4_K_S instead of Q8_0, and a GGUF or fp8 text encoder.", Cost: "Some quality."},
		},
		Sources: []string{ggufNodes, comfyCode + "comfy/lora.py"},
	},
	{
		ID: "comfyui/merge", Kinds: merged, Said: merging, Unsaid: sampling, If: when.Not(inForge),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while a LoRA was added to the model",
		Means:    "No step had run. ComfyUI adds a LoRA into each weight at 32 bit on the card, one weight at a time, and keeps the untouched ones in RAM: so it needs room beside a model that may fill the card by itself.",
		Not:      "A smaller image, fewer steps: no work on it had begun.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Empty the card, then one LoRA at a time", Told: "Manager: Unload Models, or restart ComfyUI; bypass the LoRA nodes (Ctrl+B) and bring them back one by one. The model alone runs: then it is the merge.", Cost: "A test of a minute."},
			comfyKeepFree, smallerFile,
		},
		Sources: []string{comfyCode + "comfy/lora.py", comfyCode + "comfy/model_patcher.py"},
	},
	{
		ID: "comfyui/builds-on-card", Kinds: onCard, If: buildsOnCard,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while a node built a network on the card[[ ({network})]]",
		Means:    "The frames make the layers of a network[[ of {network}]] straight on the card, before its weights are read. ComfyUI's own loader is not among them: a custom node does it, and ComfyUI neither plans for it nor moves other models out first. So the models of the steps before still lie there.",
		Figures:  network,
		Not:      "A smaller image: nothing had been computed. `--lowvram`: the node does not heed it.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Empty the card before that node runs", Told: "Manager: Unload Models (or restart ComfyUI) and run this workflow alone; place an unload node before it, or load this model in a workflow of its own.", Cost: "Models load again."},
			{Fix: "cpu_offload", Title: "Let the node build it on the CPU", Told: "In the node that is red: device cpu or offload, where it has that, or its smaller variant; update it in the Manager.", Cost: "Slower there."},
			comfyKeepFree,
		},
		Sources: []string{"https://github.com/pytorch/pytorch/blob/main/torch/utils/_device.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/own-sampler", Kinds: onCard, If: ownSampler,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in a step of a node that computes by itself ({node})",
		Means:    "The frames end in {node}: it samples with its own copy of the network, so ComfyUI's attention and memory options do not reach that step, and the model lies on the card beside it[[: {loaded} of its weights, by ComfyUI's plan, which knows nothing of this node's work]].[[ {spilled}]] The work grows with width times height (attention with the square of it), frames and images at once.",
		Figures:  ownFigures,
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "More room beside the model", Told: "A GGUF Q4_K_S or fp8 file of the model, and ComfyUI started with `--reserve-vram 4`: more of the weights then wait in RAM.", Cost: "Slower.", If: planned},
			fewerPixels,
			{Fix: "lowvram_mode", Title: "More room beside the model", Told: "A GGUF Q4_K_S or fp8 file of the model, and ComfyUI started with `--reserve-vram 4`: more of the weights then wait in RAM.", Cost: "Slower."},
			{Fix: "upgrade_version", Title: "ComfyUI's own nodes for the same", Told: "KSampler or SamplerCustomAdvanced, with ControlNet and adapters applied as conditioning, in place of {node}'s sampler: they follow ComfyUI's memory plan.", Cost: "Part of the workflow is built again."},
		},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/XLabs-AI/x-flux-comfyui/blob/main/nodes.py"},
	},
}

// forgeMerge is Forge's merge of a LoRA. Its menu "Diffusion in Low Bits" has
// each entry twice; those with "(fp16 LoRA)" merge nothing (online_lora).
var forgeMerge = cause.Card{
	ID: "forge/merge", Kinds: merged, Said: merging, If: inForge,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of graphics memory while it patched LoRAs into the model",
	Means:    "No step had run. Forge adds the LoRA into each weight on the card: a quantised weight is unpacked for that and packed again, one after the other[[, and the {asked} that was refused is one of them]]. Nothing in its plan [Memory Management] keeps room for it.",
	Not:      "A smaller image, fewer steps: no work on it had begun. `--medvram`, `--lowvram`: Forge ignores both.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Diffusion in Low Bits: Automatic (fp16 LoRA)", Told: "At the top of the page (UI: flux or all). The LoRA is then added while each layer computes, nothing is merged.", Cost: "Steps are somewhat slower."},
		{Fix: "cpu_offload", Title: "GPU Weights (MB) 2000 lower", Told: "At the top as well; Swap Location CPU, Swap Method Queue: that much is left for merging.", Cost: "Some speed."},
		{Fix: "use_smaller_model", Title: "One LoRA, a smaller file", Told: "Try it without the `<lora:...>` in the prompt: runs it then, use one at a time; or a Q4_K_S GGUF or NF4 file of the model.", Cost: "Little quality."},
	},
	Sources: []string{forgeCode + "backend/patcher/lora.py", forgeCode + "modules_forge/main_entry.py"},
}
