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

var seedSmaller = cause.Cure{Fix: "lower_resolution", Title: "Lower the resolution of the result, or batch_size", Told: "In SeedVR2 Video Upscaler. batch_size is the number of frames at once (4n+1): 5, then 1.", Cost: "A smaller result; less steady motion at 1."}

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
		out["spilled"] = "It held " + units.Amount(c.Mine.Bytes) + " on a card of " + units.Amount(c.Total.Bytes) + ": Windows moved the rest to RAM, which is slow."
	}
	return out
}

// trellisNode is about the packs that run TRELLIS's pipeline, which name its
// checkpoints where no frame names the pack.
var trellisNode = cause.Card{
	ID: "comfyui/trellis-models", Kinds: onCard, Said: []string{"slat_flow_img_dit", "ss_flow_img_dit", "slat_dec_mesh", "TRELLIS-image-large"}, Unsaid: []string{"ksampler"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of graphics memory[[ ({total})]] in a node that runs TRELLIS",
	Means:    "The log loads TRELLIS's models (structure, shape, three decoders) and an image encoder; its code puts all of them on the card at once, and it states 16 GB.[[ {mine} of {total} is this program's own.]] Where both bars \"Sampling\" are full, it was decoding the object, which grows with its surface.",
	Not:      "Fewer sampling steps: each needs the same. `--lowvram`: such nodes move their models by themselves.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Offload in the node, and load nothing else", Told: "If its loader has a low-VRAM or offload option, turn it on (a newer version of the pack may have one). Restart ComfyUI and run this workflow alone, without Stable Diffusion in it.", Cost: "Slower."},
		{Fix: "lower_resolution", Title: "Ask for less: the mesh alone, a small texture", Told: "Where the node has them: save_gaussian and render_video off, texture_size 512, texture_mode fast; a simple object, cut out and alone in the image.", Cost: "Coarser texture."},
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
		Means:    "Block swap keeps the swapped part of the video model in RAM, beside the text encoder and the other models that ComfyUI keeps there.",
		Not:      "More blocks to swap: that needs more RAM.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap fewer blocks, without pinning", Told: "Node WanVideo BlockSwap: blocks_to_swap as low as the card allows, use_non_blocking off; start ComfyUI with `--disable-pinned-memory` (late 2025 and later).", Cost: "Some speed."},
			smallerOnDisk, letWindowsPage,
		},
		Sources: []string{wanWrapper + "issues/565", wanWrapper + "issues/360", wanWrapper + "issues/1986"}, Solved: 3,
	},
	{
		ID: "comfyui/wanvideo", Kinds: onCard, Said: []string{"WanVideoWrapper", "WanAnimate: ", "Node Type: WanVideoSampler", "Node Type: WanVideoModelLoader", "executing WanVideoSampler", "Initializing block swap"}, Unsaid: []string{"enable_vae_tiling"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] in WanVideoWrapper",
		Means:    "WanVideoWrapper loads and moves its model by itself, so ComfyUI's memory options hardly reach it. The node WanVideo BlockSwap decides how many weights are on the card (14B has 40 blocks); activations grow with frames and resolution.",
		Not:      "`--lowvram`: the wrapper does not follow it.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap more blocks to RAM", Told: "Connect WanVideo BlockSwap to the model loader: blocks_to_swap 10 more than now (20 to start with), up to 40 for 14B; Model Loader: load_device offload_device.", Cost: "Some speed, and RAM for those blocks."},
			{Fix: "lower_resolution", Title: "Fewer frames, or a lower resolution", Told: "Lower num_frames (4n+1), or 480p; long clips: WanVideo Context Options, 81 frames at a time.", Cost: "A shorter or smaller clip."},
			{Fix: "upgrade_version", Title: "If it worked before an update", Told: "Delete Triton's cache (the folder `.triton` in your home and `torchinductor_*` in the temp folder): stale kernels raised memory use after updates.", Cost: "It compiles once more."},
		},
		Sources: []string{wanWrapper + "blob/main/nodes.py", wanWrapper + "issues/653", wanWrapper + "issues/1644", wanWrapper + "issues/898"}, Solved: 2,
	},
	{
		ID: "comfyui/wanvideo-decode", Kinds: onCard, Said: []string{"enable_vae_tiling", "Node Type: WanVideoDecode", "Node Type: WanVideoEncode", "executing WanVideoDecode"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode or encode the clip in WanVideo's node",
		Means:    "WanVideo's own decode or encode node failed, not the sampler. It handles whole frames unless its tiling is on.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures:    []cause.Cure{{Fix: "vae_tiling", Title: "Turn on enable_vae_tiling in that node", Told: "WanVideo Decode (or Encode): enable_vae_tiling on, tile_x and tile_y 272, strides 144 and 128; smaller if it is on already.", Cost: "Slower; seams may show."}, fewerFrames, comfyUnload},
		Sources:  []string{wanWrapper + "blob/main/nodes.py"},
	},
	{
		ID: "comfyui/gguf", Kinds: onCard, Said: []string{"ComfyUI-GGUF", "dequantize_blocks", "dequantize_tensor"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Means: "It failed with a GGUF model in use. Each layer is unpacked to 16 bit on the card when it is used, LoRAs are applied during that, and activations come on top of the weights.",
		Not:   "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			comfyKeepFree,
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation, fewer LoRAs", Told: "Unet Loader (GGUF): the next smaller file (Q4_K_S is half of Q8_0); Unet Loader (GGUF/Advanced): patch_on_device off.", Cost: "Some loss of quality."},
			fewerPixels,
		},
		Sources: []string{"https://github.com/city96/ComfyUI-GGUF/blob/main/nodes.py"},
	},
	{
		ID: "comfyui/seedvr2-vae", Kinds: onCard, Said: []string{"video_vae_v3", "Error in Phase 1 (", "Error in Phase 3 ("}, Unsaid: []string{"Error in Phase 2 ("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the VAE of SeedVR2, the video upscaler",
		Means:    "SeedVR2's VAE failed, which encodes the input and decodes the result, a batch of frames at once at the resolution of the result. Its memory grows with pixels times frames.",
		Not:      "`--lowvram`: these nodes move their models by themselves.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on encode_tiled and decode_tiled", Told: "In SeedVR2 (Down)Load VAE Model: both on, tile sizes 1024, then 768 or 512 (if they are on: half of the present size). Older versions of the node have no tiles: update it.", Cost: "Slower."},
			seedSmaller,
			comfyUnload,
		},
		Sources: []string{seedVR2 + "README.md", seedVR2 + "src/interfaces/vae_model_loader.py"},
	},
	{
		ID: "comfyui/seedvr2", Kinds: onCard, Said: []string{"SeedVR2"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in SeedVR2, the video upscaler",
		Means:    "SeedVR2 upscales a batch of frames at once, at the resolution of the result. Its log names the phase that failed (encoding, upscaling, decoding); each has its own setting.",
		Not:      "ComfyUI's `--lowvram`: these nodes move their models by themselves.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use tiles (encoding, decoding) or block swap (upscaling)", Ways: []cause.Way{
				{For: "Encoding, Decoding", Text: "SeedVR2 VAE loader: encode_tiled and decode_tiled on, tile sizes 1024, then 768 or 512"},
				{For: "Upscaling", Text: "SeedVR2 DiT loader: offload_device cpu, blocks_to_swap 16, then 32 (3B) or 36 (7B), swap_io_components on"},
			}, Cost: "Slower; block swap needs RAM."},
			seedSmaller,
			{Fix: "use_lower_quant", Title: "Load the 3B model, or an fp8 or GGUF file", Told: "In the DiT loader; it helps in the phase Upscaling.", Cost: "Less detail."},
		},
		Sources: []string{seedVR2 + "README.md"},
	},
	{
		ID: "comfyui/ipadapter", Kinds: onCard, Said: []string{"IPAdapter", "CrossAttentionPatch", "PulidFlux", "ApplyInstantID"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Means: "It failed inside an image adapter (IPAdapter, InstantID, PuLID). Its image encoder and its weights stay on the card beside the model, and each reference adds work to every attention layer.",
		Not:   "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer reference images and adapters", Told: "One reference image for each adapter; bypass (Ctrl+B) all but one adapter and ControlNet to see which is too much.", Cost: "Looser likeness."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{"https://github.com/cubiq/ComfyUI_IPAdapter_plus"},
	},
	{
		// Its motion_sample is above every sampling once it is installed.
		ID: "comfyui/animatediff", Kinds: onCard, Said: []string{"Sliding context window activated", "Regular AnimateDiff activated", "AnimateDiffModel", "evolved_sampling_function", "sliding_calc_cond", "motion_module"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in AnimateDiff",
		Means:    "AnimateDiff samples all frames of a context as one batch, so memory grows with frames times pixels. Without context options that is the whole clip.",
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Set context_length 16", Told: "Connect Context Options (Looped Uniform or Standard Static), context_length 16, to the AnimateDiff loader: the sampler then holds 16 frames at a time, however long the clip is.", Cost: "Slower; slight changes between contexts."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-AnimateDiff-Evolved/blob/main/animatediff/sampling.py"},
	},
	{
		ID: "comfyui/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return c.In("comfyui") && !c.Kind(inRAM...) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "was refused {asked} of graphics memory through DirectML",
		Means:    "DirectML (AMD, Intel or older NVIDIA cards under Windows) says neither how large the card is nor what is free, so ComfyUI cannot plan. The same image usually takes more memory than with ROCm or CUDA.[[ {full}]]",
		Figures: func(c *ledger.Case) map[string]string {
			if _, ok := c.Fact("weights_32"); ok {
				return map[string]string{"full": "The weights are at 32 bit here (`model weight dtype torch.float32`): twice what they take at 16."}
			}
			return map[string]string{"full": ""}
		},
		Cures: []cause.Cure{
			{Fix: comfyTiles.Fix, Title: comfyTiles.Title, Told: comfyTiles.Told, Cost: comfyTiles.Cost, If: addon.Decodes},
			{Fix: "lower_resolution", Title: "Make it smaller", Told: "Fewer pixels, one image at a time, in video fewer frames: half of both sides is a quarter. Go up again step by step.", Cost: "Less detail."},
			lowDirectML,
			{Fix: "half_precision", Title: "Load the weights at 16 bit: `--force-fp16`", If: when.Fact("weights_32"), Told: "If images turn black, also `--fp32-vae`.", Cost: "Hardly any loss of quality."},
			addon.WithoutDirectML,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/amd-vae", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding", "comfy/sd.py"}, Unsaid: []string{"VAEEncode", "vae.encode(", "regular VAE encoding", "vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, If: amdCard, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image on this AMD card",
		Means:    "The VAE failed, which turns the latent into pixels. This is a usual place on AMD: MIOpen's convolutions can take several times the workspace that NVIDIA's take, so decoding can fail where sampling worked.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures:    []cause.Cure{comfyTiles, {Fix: "efficient_attention", Title: "Limit MIOpen's search: `MIOPEN_FIND_MODE=FAST`", Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."}, {Fix: "half_precision", Title: "Run the VAE at 16 bit: `--bf16-vae`", Told: "Many versions run it at 32 bit on AMD by default.", Cost: "No visible difference."}},
		Sources:  []string{comfyThread + "5341", comfyThread + "5759", comfyThread + "9547", "https://github.com/LykosAI/StabilityMatrix/pull/1469"}, Solved: 3,
	},
}

// comfyOwn speak last of those about the card: for nodes that nothing is known of.
var comfyOwn = []cause.Card{
	{
		ID: "comfyui/own-load", Kinds: onCard, Said: []string{"from_pretrained", "load_state_dict", "in load_model", "in loadmodel", "in load_checkpoint", "in load_pipe", "in _load_"}, If: when.All(ownModel, when.Not(ledger.Roomy)), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while the custom node {node} loaded its own model",
		Means:    "{node} loads its model with its own code: ComfyUI's memory management neither counts nor moves it. What ComfyUI has on the card by then (diffusion model, text encoder) stays there beside it[[; {mine} of {total} was held]].[[ {spilled}]]",
		Figures:  ownFigures,
		Not:      "A smaller image: it failed on the weights. `--lowvram`: it does not reach this model.",
		Cures: []cause.Cure{
			nodeAlone,
			{Fix: "use_lower_quant", Title: "Choose a smaller or quantised model in that node", Told: "In its loader, where it has them: 8 bit, 4 bit (nf4) or fp8; precision fp16 or bf16 instead of fp32; offload, or device cpu; a smaller model.", Cost: "Some quality, or speed."},
			nodeOther,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "server.py"},
	},
	{
		ID: "comfyui/own-model", Kinds: onCard, If: when.All(ownModel, when.Not(ledger.Roomy)), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] in the custom node {node}",
		Means:    "{node} runs its model with its own code, outside ComfyUI's memory management, which neither counts nor moves it. Models that ComfyUI or other nodes left on the card stay beside it[[; {mine} of {total} was held when {asked} more was refused]].[[ {spilled}]]",
		Figures:  ownFigures,
		Not:      "Fewer steps: each needs the same. `--lowvram`: it does not reach this model.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the sizes in that node", Told: "Its resolution, frames, batch or chunk size; for 3D the octree or texture resolution and the number of faces. In its loader fp16 and offload, where it has them.", Cost: "A smaller result."},
			nodeAlone, nodeOther,
		},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "server.py", "https://github.com/kijai/ComfyUI-DynamiCrafterWrapper"},
	},
}

var (
	nodeAlone = cause.Cure{Fix: "restart_session", Title: "Run that node alone, on an empty card", Told: "Save what it needs (image, prompt) and make a workflow of this node and its loaders only; Manager, Unload Models (or restart ComfyUI), then queue it. Go on in a second workflow.", Cost: "Two workflows."}
	nodeOther = cause.Cure{Fix: "use_smaller_model", Title: "Use native nodes for the same model", Told: "ComfyUI's own nodes, or a wrapper with offload or block swap, where the Manager lists one: they load fp16, fp8 or GGUF files and move them to RAM.", Cost: "The workflow must be rebuilt."}
)
