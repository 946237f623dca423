package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const wanWrapper = "https://github.com/kijai/ComfyUI-WanVideoWrapper/"

// ownModel is a custom node that runs a model with its own code: nothing of
// ComfyUI's loader or sampler is among the frames.
func ownModel(c *ledger.Case) bool { return customNode(c) != "" }

// customNode is the folder of the node whose frames are the last, "" where
// ComfyUI's own code works below it. ComfyUI prints the error first, then the
// frames.
func customNode(c *ledger.Case) string {
	node := ""
	for _, x := range c.Facts.Code {
		file := strings.ReplaceAll(x.File, "\\", "/")
		if strings.Contains(file, "/comfy/") || strings.HasPrefix(file, "comfy/") {
			return ""
		}
		if _, rest, ok := strings.Cut(file, "custom_nodes/"); ok {
			node, _, _ = strings.Cut(rest, "/")
		}
	}
	return node
}

// ownFigures are what the card on such nodes names.
func ownFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"node": customNode(c), "spilled": "", "loaded": partLoaded(c)["part"]}
	if ledger.Overfull(c) {
		out["spilled"] = "It held " + units.Amount(c.Mine.Bytes) + " on a card of " + units.Amount(c.Total.Bytes) + ": Windows moves the rest to RAM, slowly, until that is used up too."
	}
	return out
}

// comfyNodes are cards of custom nodes.
var comfyNodes = []cause.Card{
	{
		ID: "comfyui/wanvideo-ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath, fact.HostBuffer}, inRAM...), killed...), Said: []string{"WanVideoWrapper", "WanVideo", "block swap"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of the computer's own memory: swapped blocks of the video model fill it",
		Means:    "It is RAM that ran out, not the card's memory. Block swap keeps the swapped part of the model in RAM, beside the text encoder and whatever other models ComfyUI keeps there.",
		Not:      "More blocks to swap: that moves still more into RAM.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap fewer blocks, without pinning", Told: "Node WanVideo BlockSwap: blocks_to_swap as low as the card allows, use_non_blocking off; start ComfyUI with `--disable-pinned-memory` (late 2025 and later).", Cost: "Some speed."},
			smallerOnDisk, letWindowsPage,
		},
		Sources: []string{wanWrapper + "issues/565", wanWrapper + "issues/360", wanWrapper + "issues/1986"}, Solved: 3,
	},
	{
		ID: "comfyui/wanvideo", Kinds: onCard, Said: []string{"WanVideoWrapper"}, Unsaid: []string{"enable_vae_tiling"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] in WanVideoWrapper",
		Means:    "WanVideoWrapper loads and moves its model by itself: ComfyUI's own memory options hardly reach it. Its knobs are the node WanVideo BlockSwap for the weights (14B has 40 blocks), and frames and size for the work.",
		Not:      "`--lowvram`: the wrapper does not follow it.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap more blocks to RAM", Told: "Connect WanVideo BlockSwap to the model loader: blocks_to_swap 20, then up to 40; Model Loader: load_device offload_device.", Cost: "Some speed, and RAM for those blocks."},
			{Fix: "lower_resolution", Title: "Fewer frames or smaller ones", Told: "num_frames 49 instead of 81, or 480p; long clips: WanVideo Context Options, 81 frames at a time.", Cost: "A shorter or smaller clip."},
			{Fix: "upgrade_version", Title: "If it worked before an update", Told: "Empty Triton's cache (the folder `.triton` in your home and `torchinductor_*` in the temp folder): stale kernels raised memory after updates.", Cost: "It compiles once more."},
		},
		Sources: []string{wanWrapper + "blob/main/nodes.py", wanWrapper + "issues/653", wanWrapper + "issues/1644", wanWrapper + "issues/898"}, Solved: 2,
	},
	{
		ID: "comfyui/wanvideo-decode", Kinds: onCard, Said: []string{"enable_vae_tiling"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode or encode the clip in WanVideo's node",
		Means:    "Not sampling failed but WanVideo's own decode or encode node. It works on the whole clip at once unless its tiling is on.",
		Not:      "More blocks to swap: the video model is not what is short here.",
		Cures:    []cause.Cure{{Fix: "vae_tiling", Title: "Turn tiling on in that node", Told: "WanVideo Decode (or Encode): enable_vae_tiling on, tile_x and tile_y 272, strides 144 and 128.", Cost: "Slower; seams may show."}, fewerFrames, comfyUnload},
		Sources:  []string{wanWrapper + "blob/main/nodes.py"},
	},
	{
		ID: "comfyui/gguf", Kinds: onCard, Said: []string{"ComfyUI-GGUF", "dequantize_blocks", "dequantize_tensor"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Means: "It failed in the GGUF node, which unpacks each layer to 16 bit on the card when it is used. A smaller file saves weights, not that scratch or the work on the image; LoRAs are applied while unpacking and add to it.",
		Not:   "A Q2 or Q3 file for this alone: the scratch for a layer stays the same.",
		Cures: []cause.Cure{
			comfyKeepFree,
			{Fix: "use_lower_quant", Title: "One quantisation smaller, fewer LoRAs", Told: "Unet Loader (GGUF): Q4_K_S instead of Q8_0; Unet Loader (GGUF/Advanced): patch_on_device off.", Cost: "Some quality."},
			fewerPixels,
		},
		Sources: []string{"https://github.com/city96/ComfyUI-GGUF/blob/main/nodes.py"},
	},
	{
		ID: "comfyui/seedvr2", Kinds: onCard, Said: []string{"SeedVR2"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in SeedVR2, the video upscaler",
		Means:    "SeedVR2 upscales a batch of frames at once at the size of the result. Its own log names the phase that failed, and each phase has a cure of its own.",
		Not:      "ComfyUI's `--lowvram`: these nodes keep their own memory plan.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Go by the phase", Ways: []cause.Way{
				{For: "Encoding, Decoding", Text: "SeedVR2 VAE loader: encode_tiled and decode_tiled on, tile sizes 1024, then 768 or 512"},
				{For: "Upscaling", Text: "SeedVR2 DiT loader: offload_device cpu, blocks_to_swap 16, then 32 (3B) or 36 (7B), swap_io_components on"},
			}, Cost: "Slower; block swap needs RAM."},
			{Fix: "lower_batch_size", Title: "Fewer frames at once", Told: "batch_size 5, then 1 (it counts 4n+1), or a lower resolution of the result.", Cost: "Less steady motion at 1."},
			{Fix: "use_lower_quant", Title: "The 3B model, or an fp8 or GGUF file", Told: "In the DiT loader.", Cost: "Some detail."},
		},
		Sources: []string{"https://github.com/numz/ComfyUI-SeedVR2_VideoUpscaler/blob/main/README.md"},
	},
	{
		ID: "comfyui/ipadapter", Kinds: onCard, Said: []string{"IPAdapter", "CrossAttentionPatch", "PulidFlux", "ApplyInstantID"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Means: "It failed inside an image adapter (IPAdapter, InstantID, PuLID). Its image encoder and its weights stay on the card beside the model, and each reference adds work to every attention layer.",
		Not:   "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer references and adapters", Told: "One reference image for each adapter, no batch; bypass (Ctrl+B) other adapters and ControlNets to see which one tips it over.", Cost: "Looser likeness."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{"https://github.com/cubiq/ComfyUI_IPAdapter_plus"},
	},
	{
		ID: "comfyui/animatediff", Kinds: onCard, Said: []string{"AnimateDiff-Evolved", "animatediff"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in AnimateDiff",
		Means:    "AnimateDiff samples all frames of a context as one batch: memory grows with frames times pixels. Without context options the context is the whole clip.",
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "A context of 16 frames", Told: "Connect Context Options (Looped Uniform or Standard Static), context_length 16, to the AnimateDiff loader: memory then stays that of 16 frames however long the clip is.", Cost: "None for clips of up to 16 frames."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-AnimateDiff-Evolved"},
	},
	{
		ID: "comfyui/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"},
		If: comfyDirectML, Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means: "DirectML refused memory. It does not tell PyTorch how much is free, so ComfyUI writes 1024 MB, whatever the card has, and cannot move weights out in time.[[ {full}]]",
		Figures: func(c *ledger.Case) map[string]string {
			if _, ok := c.Fact("weights_32"); ok {
				return map[string]string{"full": "The weights are at 32 bit here (`model weight dtype torch.float32`): twice what they take at 16."}
			}
			return map[string]string{"full": ""}
		},
		Not: "`--reserve-vram`: it reckons with figures that DirectML does not give.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Force the low-memory mode", Cost: "Slower.", Steps: comfyStart("Then `--novram` in place of `--lowvram`.", directML...)},
			comfyTiles,
			{Fix: "half_precision", Title: "Weights at 16 bit", If: when.Fact("weights_32"), Told: "Add `--force-fp16` to that; if images turn black, also `--fp32-vae`.", Cost: "Hardly any quality."},
			{Fix: "upgrade_version", Title: "Leave DirectML", Told: "ComfyUI's portable package for AMD (ROCm on Windows, RX 7000 and later), ComfyUI-ZLUDA for older cards, or Linux: the same card with far less memory used.", Cost: "A new installation."},
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/amd-vae", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding", "comfy/sd.py"},
		Unsaid: []string{"VAEEncode", "vae.encode(", "regular VAE encoding", "vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, If: amdCard, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the finished image on this AMD card",
		Means:    "Sampling was done; the VAE failed. On AMD that is the usual place: the convolutions of MIOpen take several times the scratch that NVIDIA's take, so an image that was sampled well does not get decoded.",
		Not:      "`--reserve-vram`: this scratch does not heed it.",
		Cures:    []cause.Cure{comfyTiles, {Fix: "efficient_attention", Title: "Let MIOpen search less", Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."}, {Fix: "half_precision", Title: "The VAE at bf16", Told: "Start with `--bf16-vae`: ROCm runs it at 32 bit by default in many versions.", Cost: "None that can be seen."}},
		Sources:  []string{comfyThread + "5341", comfyThread + "5759", comfyThread + "9547", "https://github.com/LykosAI/StabilityMatrix/pull/1469"}, Solved: 3,
	},
	{
		ID: "comfyui/own-model", Kinds: onCard, If: ownModel,
		Cause: cause.ModelTooLarge, Weight: cause.Good,
		Headline: "ran out of graphics memory in a node that runs its own model ({node})",
		Means:    "The frames end in {node} and none is ComfyUI's loader or sampler: the node loads and runs its model with its own code, as a rule whole on the card.[[ {spilled}]]",
		Figures:  ownFigures,
		Not:      "`--lowvram`, `--novram`, `--reserve-vram`: such a node does not heed them. Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Set the node itself to need less", Told: "Its loader: precision or dtype fp16 (bf16 on RTX 30 and later) instead of fp32, offload or keep on CPU where it has it, the smallest variant of the model; then the smallest image and fewest frames that it takes.", Cost: "Hardly any quality; a smaller result."},
			{Fix: "use_smaller_model", Title: "Another node for the same model", Told: "In the Manager look for a wrapper or native nodes that load pruned fp16, fp8 or GGUF files and move the model to RAM between steps (DynamiCrafter: ComfyUI-DynamiCrafterWrapper).", Cost: "The workflow is built again."},
			comfyUnload,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/kijai/ComfyUI-DynamiCrafterWrapper"},
	},
}
