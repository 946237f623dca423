package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	wanWrapper = "https://github.com/kijai/ComfyUI-WanVideoWrapper/"
	seedVR2    = "https://github.com/numz/ComfyUI-SeedVR2_VideoUpscaler/blob/main/"
)

var seedSmaller = cause.Cure{Fix: "lower_resolution", Title: "Lower batch_size, then the resolution", Told: "In the node SeedVR2 Video Upscaler. batch_size is the number of frames at once: set 5, then 1.", Cost: "More flicker at 1, or a smaller result."}

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
	out := map[string]string{"node": customNode(c), "spilled": "", "loaded": partLoaded(c)["part"], "solid": addon.Solid(customNode(c))}
	if ledger.Overfull(c) {
		out["spilled"] = "It held " + units.Amount(c.Mine.Bytes) + " on a card of " + units.Amount(c.Total.Bytes) + ": Windows put the rest in RAM, which is slow."
	}
	return out
}

// trellisNode is about the packs that run TRELLIS's pipeline, which name its
// checkpoints where no frame names the pack.
var trellisNode = cause.Card{
	ID: "comfyui/trellis-models", Kinds: onCard, Said: []string{"slat_flow_img_dit", "ss_flow_img_dit", "slat_dec_mesh", "TRELLIS-image-large"}, Unsaid: []string{"ksampler"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory[[ ({total})]] in a node that runs TRELLIS",
	Means:    "TRELLIS loads several models and puts all of them on the card at once; its README asks for 16 GB. If both \"Sampling\" bars reached 100%, it was decoding the object, which needs more memory for complex shapes.",
	Not:      "Fewer sampling steps: every step needs the same memory. `--lowvram`: these nodes do not follow it.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Turn on offloading in the node, and load nothing else", Told: "Turn on the loader's low-VRAM or offload option; update the node pack if it has none. Restart ComfyUI and run this workflow alone, without other models in it.", Cost: "Slower."},
		{Fix: "lower_resolution", Title: "Make only the mesh, with a small texture", Told: "If the node has these settings: save_gaussian and render_video off, texture_size 512, texture_mode fast. Use an image of one simple object, cut out.", Cost: "Coarser texture."},
		{Fix: "close_other_apps", Title: "Close what else uses the card", Told: "Browser, games: Task Manager, Details, column Dedicated GPU memory; Linux: `nvidia-smi`.", Cost: "Free."},
		{Fix: "bigger_gpu", Title: "Use a card of 16 GB, or a hosted TRELLIS", Told: "16 GB is what its README states.", Cost: "Money."},
	},
	Sources: []string{"https://github.com/microsoft/TRELLIS/blob/main/README.md", "https://github.com/microsoft/TRELLIS/blob/main/trellis/pipelines/trellis_image_to_3d.py", "https://github.com/if-ai/ComfyUI-IF_Trellis/blob/main/IF_Trellis.py"},
}

// comfyNodes are cards of custom nodes.
var comfyNodes = []cause.Card{
	trellisNode,
	{
		ID: "comfyui/wanvideo-ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath, fact.HostBuffer}, inRAM...), killed...), Said: []string{"WanVideoWrapper", "WanVideo", "block swap"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "Block swap keeps part of the video model in RAM. The text encoder and other models that ComfyUI has unloaded are there too.",
		Not:      "More blocks to swap: that needs even more RAM.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap fewer blocks, without pinning", Told: "In WanVideo BlockSwap: lower blocks_to_swap as far as the card allows, use_non_blocking off. Start ComfyUI (late 2025 or newer) with `--disable-pinned-memory`.", Cost: "Some speed."},
			smallerOnDisk, letWindowsPage,
		},
		Sources: []string{wanWrapper + "issues/565", wanWrapper + "issues/360", wanWrapper + "issues/1986"}, Solved: 3,
	},
	{
		ID: "comfyui/wanvideo", Kinds: onCard, Said: []string{"WanVideoWrapper", "WanAnimate: ", "Node Type: WanVideoSampler", "Node Type: WanVideoModelLoader", "executing WanVideoSampler", "Initializing block swap"}, Unsaid: []string{"enable_vae_tiling"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in WanVideoWrapper", Figures: addon.WanFigures,
		Means: "WanVideoWrapper manages its model itself, so ComfyUI's memory options hardly help. [[{blocks}]] Working memory grows with frames and resolution.[[ {clip}]]",
		Not:   "`--lowvram`: the wrapper ignores it.",
		Cures: []cause.Cure{
			where(addon.WanLong, addon.WanFrames), addon.WanSwap, addon.WanFrames,
			{Fix: "upgrade_version", Title: "If it worked before an update: delete Triton's cache", Told: "Delete the folder `.triton` in your home folder and `torchinductor_*` in the temp folder. Old kernels there raised memory use after updates.", Cost: "It compiles once more."},
		},
		Sources: []string{wanWrapper + "blob/main/nodes.py", wanWrapper + "issues/653", wanWrapper + "issues/1644", wanWrapper + "issues/898"}, Solved: 2,
	},
	{
		ID: "comfyui/wanvideo-decode", Kinds: onCard, Said: []string{"enable_vae_tiling", "Node Type: WanVideoDecode", "Node Type: WanVideoEncode", "executing WanVideoDecode"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in WanVideo's decode or encode node",
		Means:    "WanVideo's own decode or encode node failed, not the sampler. It handles whole frames unless tiling is on.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures:    []cause.Cure{{Fix: "vae_tiling", Title: "Turn on enable_vae_tiling in that node", Told: "WanVideo Decode (or Encode): enable_vae_tiling on, tile_x and tile_y 272, tile_stride_x 144, tile_stride_y 128. If it is on already: smaller values.", Cost: "Slower; seams may show."}, fewerFrames, comfyUnload},
		Sources:  []string{wanWrapper + "blob/main/nodes.py"},
	},
	{
		ID: "comfyui/gguf", Kinds: onCard, Said: []string{"ComfyUI-GGUF", "dequantize_blocks", "dequantize_tensor"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with a GGUF model",
		Means:    "A GGUF model is in use. Each layer is unpacked to 16 bit on the card when its turn comes, and LoRAs are added there. The working memory for the image comes on top of the weights.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			comfyKeepFree,
			{Fix: "use_lower_quant", Title: "Load a smaller GGUF file, with fewer LoRAs", Told: "In Unet Loader (GGUF) pick the next smaller file (Q4_K_S is about half of Q8_0). In Unet Loader (GGUF/Advanced) set patch_on_device off.", Cost: "Some loss of quality."},
			fewerPixels,
		},
		Sources: []string{"https://github.com/city96/ComfyUI-GGUF/blob/main/nodes.py"},
	},
	{
		ID: "comfyui/seedvr2-vae", Kinds: onCard, Said: []string{"video_vae_v3", "Error in Phase 1 (", "Error in Phase 3 ("}, Unsaid: []string{"Error in Phase 2 ("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE of SeedVR2, the video upscaler",
		Means:    "SeedVR2's VAE encodes the input and decodes the result, a batch of frames at once. Both are done at the final resolution, so memory grows with pixels x frames.",
		Not:      "`--lowvram`: these nodes ignore it.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on encode_tiled and decode_tiled", Told: "In SeedVR2 (Down)Load VAE Model: both on, tile sizes 1024, then 768 or 512. If they are on already, halve the sizes. Old versions have no tiles: update the node.", Cost: "Slower."},
			seedSmaller,
			comfyUnload,
		},
		Sources: []string{seedVR2 + "README.md", seedVR2 + "src/interfaces/vae_model_loader.py"},
	},
	{
		ID: "comfyui/seedvr2", Kinds: onCard, Said: []string{"SeedVR2"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in SeedVR2, the video upscaler",
		Means:    "SeedVR2 works on a batch of frames at once, at the final resolution. Its log usually names the phase that failed (encoding, upscaling, decoding); each has its own setting.",
		Not:      "ComfyUI's `--lowvram`: these nodes ignore it.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on tiles or block swap", Ways: []cause.Way{
				{For: "If encoding or decoding failed", Text: "SeedVR2 VAE loader: encode_tiled and decode_tiled on, tile sizes 1024, then 768 or 512"},
				{For: "If upscaling failed", Text: "SeedVR2 DiT loader: offload_device cpu, blocks_to_swap 16, then 32 (3B) or 36 (7B), swap_io_components on"},
			}, Cost: "Slower; block swap needs RAM."},
			seedSmaller,
			{Fix: "use_lower_quant", Title: "Load the 3B model, or an fp8 or GGUF file", Told: "In the DiT loader. This helps if the upscaling phase failed.", Cost: "Less detail."},
		},
		Sources: []string{seedVR2 + "README.md"},
	},
	{
		ID: "comfyui/ipadapter", Kinds: onCard, Said: []string{"IPAdapter", "CrossAttentionPatch", "PulidFlux", "ApplyInstantID"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with an image adapter",
		Means:    "An image adapter (IPAdapter, InstantID, PuLID) is in use. Its image encoder and weights take GPU memory beside the model, and each reference image adds work in every step.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer reference images and adapters", Told: "Use one reference image and one adapter. Bypass the other adapters and ControlNets (select, Ctrl+B) to see which is too much.", Cost: "Looser likeness."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{"https://github.com/cubiq/ComfyUI_IPAdapter_plus"},
	},
	{
		// Its motion_sample is above every sampling once it is installed.
		ID: "comfyui/animatediff", Kinds: onCard, Said: []string{"Sliding context window activated", "Regular AnimateDiff activated", "AnimateDiffModel", "evolved_sampling_function", "sliding_calc_cond", "motion_module"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in AnimateDiff",
		Means:    "AnimateDiff samples many frames as one batch, so memory grows with frames x pixels. Without Context Options that is the whole clip.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Set context_length to 16", Told: "Connect a Context Options node (Looped Uniform or Standard Static) with context_length 16 to the AnimateDiff loader. It then works on 16 frames at a time, however long the clip is.", Cost: "Slower; slight changes between contexts."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-AnimateDiff-Evolved/blob/main/animatediff/sampling.py"},
	},
	{
		ID: "comfyui/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return c.In("comfyui") && !c.Kind(inRAM...) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory with DirectML",
		Means:    "DirectML does not tell ComfyUI how large the card is or what is free, so ComfyUI cannot plan its memory. The same image usually needs more memory than with ROCm or CUDA.[[ {full}]]",
		Figures: func(c *ledger.Case) map[string]string {
			if _, ok := c.Fact("weights_32"); ok {
				return map[string]string{"full": "The weights are at 32 bit here (`model weight dtype torch.float32`), which doubles them."}
			}
			return map[string]string{"full": ""}
		},
		Cures: []cause.Cure{
			{Fix: comfyTiles.Fix, Title: comfyTiles.Title, Told: comfyTiles.Told, Cost: comfyTiles.Cost, If: addon.Decodes},
			{Fix: "lower_resolution", Title: "Make a smaller image", Told: "In the Empty Latent node: 512x512, batch_size 1. Video: fewer frames. Go up again step by step.", Cost: "Less detail."},
			lowDirectML,
			{Fix: "half_precision", Title: "Load the weights at 16 bit: `--force-fp16`", If: when.Fact("weights_32"), Told: "If images turn black, also `--fp32-vae`.", Cost: "Hardly any loss of quality."},
			addon.WithoutDirectML,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/amd-vae", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding", "comfy/sd.py"}, Unsaid: []string{"VAEEncode", "vae.encode(", "regular VAE encoding", "vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, If: amdCard, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE on this AMD card",
		Means:    "The VAE failed, which turns the latent into the image. That is common on AMD: its convolutions (MIOpen) can need several times the memory they need on NVIDIA. So decoding can fail although sampling worked.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures:    []cause.Cure{comfyTiles, {Fix: "efficient_attention", Title: "Limit MIOpen's search: `MIOPEN_FIND_MODE=FAST`", Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."}, {Fix: "half_precision", Title: "Run the VAE at 16 bit: `--bf16-vae`", Told: "Start ComfyUI with it. Many versions run the VAE at 32 bit on AMD.", Cost: "No visible difference."}},
		Sources:  []string{comfyThread + "5341", comfyThread + "5759", comfyThread + "9547", "https://github.com/LykosAI/StabilityMatrix/pull/1469"}, Solved: 3,
	},
}

// comfyOwn speak last of those about the card: for nodes that nothing is known of.
var comfyOwn = []cause.Card{
	{
		ID: "comfyui/own-sampler", Kinds: onCard, If: ownSampler, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the custom node {node}",
		Means:    "{node} computes with its own code, which ComfyUI's memory plan does not count.[[ That plan already put {loaded} of weights on the card.]][[ {spilled}]] Memory grows with resolution, frames and batch size.",
		Figures:  ownFigures,
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Keep more VRAM free: `--reserve-vram 4`", Told: "Start ComfyUI with it; more weights then stay in RAM. An fp8 or GGUF file of the model frees more.", Cost: "Slower.", If: planned},
			fewerPixels,
			{Fix: "lowvram_mode", Title: "Keep more VRAM free: `--reserve-vram 4`", Told: "Start ComfyUI with it; more weights then stay in RAM. An fp8 or GGUF file of the model frees more.", Cost: "Slower."},
			{Fix: "upgrade_version", Title: "Use ComfyUI's own nodes, where available", Told: "KSampler or SamplerCustomAdvanced instead of the sampler of {node}: they follow ComfyUI's memory plan.", Cost: "Part of the workflow must be rebuilt."},
		},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/XLabs-AI/x-flux-comfyui/blob/main/nodes.py"},
	},
	{
		ID: "comfyui/own-load", Kinds: onCard, Said: []string{"from_pretrained", "load_state_dict", "in load_model", "in loadmodel", "in load_checkpoint", "in load_pipe", "in _load_"}, If: when.All(ownModel, when.Not(ledger.Roomy)), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while the custom node {node} loaded its own model",
		Means:    "{node} loads its model itself, outside ComfyUI's memory management. Models that ComfyUI already has on the card can stay there beside it.[[ {spilled}]]",
		Figures:  ownFigures,
		Not:      "A smaller image: loading the weights failed. `--lowvram`: this node ignores it.",
		Cures: []cause.Cure{
			nodeAlone,
			{Fix: "use_lower_quant", Title: "Choose a smaller or quantised model in that node", Told: "Look in its loader for fp8, 8-bit or 4-bit (nf4); for fp16 or bf16 instead of fp32; for offload or device cpu; or for a smaller model.", Cost: "Some quality, or speed."},
			nodeOther,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "server.py"},
	},
	{
		ID: "comfyui/own-model", Kinds: onCard, If: when.All(ownModel, when.Not(ledger.Roomy)), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in the custom node {node}",
		Means:    "{node} runs its model itself, outside ComfyUI's memory management. Models that ComfyUI or other nodes left on the card can stay there beside it.[[ {spilled}]]",
		Figures:  ownFigures,
		Not:      "Fewer steps: every step needs the same memory. `--lowvram`: this node ignores it.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the sizes in that node", Told: "Resolution, frames, batch or chunk size[[; {solid}]]. A node without such inputs takes them from what goes in: give it a smaller picture or a shorter video. In its loader choose fp16 and offload, if it has them.", Cost: "A smaller result."},
			nodeAlone, nodeOther,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "server.py", "https://github.com/kijai/ComfyUI-DynamiCrafterWrapper"},
	},
}

var (
	nodeAlone = cause.Cure{Fix: "restart_session", Title: "Run that node alone, on an empty card", Told: "Click Unload Models (beside Manager), or restart ComfyUI. Then run a workflow with only this node and its loaders. Save its result and continue in a second workflow.", Cost: "Two workflows."}
	nodeOther = cause.Cure{Fix: "use_smaller_model", Title: "Use other nodes for the same model", Told: "Look for native ComfyUI nodes, or a node pack with offload or block swap. They can load fp8 or GGUF files and move weights to RAM.", Cost: "The workflow must be rebuilt."}
)
