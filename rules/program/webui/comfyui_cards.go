package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// What refuses memory of a card, and of the computer, under programs that make
// images.
var (
	onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.TorchSummary, fact.ComfyUnload, fact.ComfyTips}
	inRAM  = []fact.Kind{fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.MmapFailed}
	killed = []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.RankKilled, fact.ContainerKill}
)

// uncounted: cudaMallocAsync keeps what was freed in a pool that its message does
// not count (c10/cuda/CUDAMallocAsyncAllocator.cpp), so the rest of the card is
// not proved to be held by others.
func uncounted(c *ledger.Case) bool { return c.Root(fact.TorchAsync) }

// crowded: others hold a large part of the card, or most likely do where the pool
// is not counted: with what it asked for the program would fill less than half.
func crowded(c *ledger.Case) bool {
	return ledger.Crowded(c) && (!uncounted(c) || customNode(c) == "" && 2*(c.Mine.Bytes+ledger.Requested(c)) < c.Total.Bytes)
}

// ofCard lets cards about a card be silent where the computer's own memory was
// refused, whose words are alike, and where others hold a large part of the card.
func ofCard(cards []cause.Card) []cause.Card {
	for i := range cards {
		k := &cards[i]
		if !slices.Contains(k.Kinds, fact.TorchAlloc) {
			continue
		}
		also := k.If
		k.If = func(c *ledger.Case) bool {
			return !c.Root(fact.CommitLimit) && !c.Root(inRAM...) && !carvedOut(c) && !crowded(c) && (also == nil || also(c))
		}
	}
	return cards
}

// comfyCode is ComfyUI's upstream, comfyThread a thread of it.
const (
	comfyCode   = "https://github.com/Comfy-Org/ComfyUI/blob/master/"
	comfyThread = "https://github.com/Comfy-Org/ComfyUI/issues/"
)

// Cures that several cards share.
var (
	fewerPixels = cause.Cure{
		Fix: "lower_resolution", Title: "Lower the resolution, upscale afterwards",
		Told: "Empty Latent node: batch_size 1, and at most 512x512 for SD 1.5, 1024x1024 for SDXL and Flux; if that is set already, half of both. Image to image: scale the input image down. AnimateDiff: fewer frames. Upscale the result with Ultimate SD Upscale.",
		Cost: "One more step.",
	}
	fewerFrames = cause.Cure{
		Fix: "lower_resolution", Title: "Fewer frames, then a lower resolution",
		Told: "First set `length` (in wrapper nodes num_frames) to about half, for example 49 instead of 81. Then lower width and height, for example to 832x480. Join several clips for a long video.",
		Cost: "A shorter or smaller clip.",
	}
	smallerFile = cause.Cure{
		Fix: "use_lower_quant", Title: "Load an fp8 or GGUF file of the model",
		Told: "If your file is 16 bit, load an fp8 file in Load Diffusion Model: half the size. Or install ComfyUI-GGUF and load a Q5_K_M or Q4_K_S file with Unet Loader (GGUF): about a third.",
		Cost: "Slight loss of quality.",
	}
	comfyKeepFree = cause.Cure{
		Fix: "lowvram_mode", Title: "Keep more VRAM free",
		Cost: "Slower: more weights stay in RAM.",
	}
	comfyHoldLess = cause.Cure{
		Fix: "lowvram_mode", Title: "Start with `--lowvram`", Cost: "Slower.",
		Steps: comfyStart("", step.Change{Flag: "--lowvram"}),
	}
	comfyTiles = cause.Cure{
		Fix: "vae_tiling", Title: "Use VAE Decode (Tiled)",
		Told: "Replace the node VAE Decode with VAE Decode (Tiled): tile_size 256 (older versions: 320), overlap 64; for video also temporal_size 16.",
		Cost: "Some seconds; rarely visible seams.",
	}
	comfyCPUVAE = cause.Cure{
		Fix: "cpu_offload", Title: "Run the VAE on the CPU: `--cpu-vae`", Cost: "Minutes for each image.",
		Steps: comfyStart("", step.Change{Flag: "--cpu-vae"}),
	}
	comfyUnload = cause.Cure{
		Fix: "restart_session", Title: "Unload models before the run",
		Told: "Click Unload Models (beside Manager), or restart ComfyUI. Then run only this workflow. Close games and other programs that use the card.",
		Cost: "Models load again.",
	}
)

var comfyCards = slices.Concat(comfyPlaces, ofCard(slices.Concat(addon.Nunchaku, comfyAddons, comfyMerge, comfyDriver, comfyNodes, comfyHost, []cause.Card{addon.Unpacking(comfyKeepFree, smallerFile)}, comfyCore, []cause.Card{addon.Encoder(comfyUnload)}, comfyOwn, []cause.Card{addon.LoadingNode(onCard, comfyUnload)}, comfyBare)))

// allOnCard: it was started so that nothing is moved to RAM.
func allOnCard(c *ledger.Case) bool { _, ok := c.Setting("gpu_only", "highvram"); return ok }

// allOnCardFlag is the flag that does it.
func allOnCardFlag(c *ledger.Case) map[string]string {
	if _, ok := c.Setting("gpu_only"); ok {
		return map[string]string{"flag": "--gpu-only", "keeps": "keeps everything on the card: diffusion model, text encoder (T5-XXL: 9.8 GB at 16 bit), VAE"}
	}
	return map[string]string{"flag": "--highvram", "keeps": "leaves every model on the card after use: diffusion model, text encoder, VAE, models of earlier workflows"}
}

var comfyCore = []cause.Card{
	{
		ID: "comfyui/all-on-card", Kinds: onCard, If: func(c *ledger.Case) bool { return allOnCard(c) && !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]: it was started with {flag}",
		Means:    "With `{flag}` ComfyUI {keeps}. It does not move unused models to RAM.",
		Figures:  allOnCardFlag,
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Start without `{flag}`", Told: "ComfyUI then moves models that are not in use to RAM.", Steps: comfyStart("", step.Change{Flag: "--gpu-only", Drop: true}, step.Change{Flag: "--highvram", Drop: true}), Cost: "Some seconds for each run; more RAM."},
			smallerFile,
			fewerPixels,
		},
		Sources: []string{comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/sliced-attention", Kinds: []fact.Kind{fact.ComfySlices}, If: func(c *ledger.Case) bool { return !c.Kind(fact.TorchAlloc, fact.MPSAlloc) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in attention and tries again in smaller slices",
		Means:    "This is a warning. Split attention did not fit[[ beside {part} of weights]], so ComfyUI retries it in smaller, slower slices. ComfyUI uses split attention with `--use-split-cross-attention`, or where it found nothing faster (some AMD and old cards).",
		Figures:  partLoaded,
		Not:      "`--highvram`, `--gpu-only`: both leave less free.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."},
			comfyKeepFree, smallerFile,
		},
		Later:   "If the image comes out, nothing needs fixing. If steps are too slow, make a smaller image.",
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py", comfyThread + "9621"},
	},
	{
		ID: "comfyui/vae-closed", Kinds: []fact.Kind{fact.ComfyVAE}, Said: []string{"Press any key to continue"},
		If:    func(c *ledger.Case) bool { return !c.Kind(onCard...) && !c.Kind(fact.MPSAlloc) },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "closed while it ran the VAE again in tiles; most likely RAM ran out",
		Means:    "The VAE ran out of GPU memory on the whole image and started again in tiles. Then the program closed without an error. That usually means that RAM and page file were full; a driver crash looks the same. \"Press any key to continue\" comes from the .bat file.",
		Cures: []cause.Cure{
			largerPageFile,
			{Fix: "vae_tiling", Title: "Turn on Never OOM for the VAE (always tiled)", If: inForge, Cost: "Some seconds."},
			{Fix: comfyTiles.Fix, Title: comfyTiles.Title, Told: comfyTiles.Told, Cost: comfyTiles.Cost, If: when.Not(inForge)},
			closeForRAM,
		},
		Sources: []string{comfyCode + "comfy/sd.py", "https://github.com/lllyasviel/stable-diffusion-webui-forge/issues/1382"},
	},
	{
		ID: "comfyui/vae-fell-back", Kinds: []fact.Kind{fact.ComfyVAE},
		If:    func(c *ledger.Case) bool { return !c.Kind(onCard...) && !c.Kind(fact.MPSAlloc) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE and tries again in tiles",
		Means:    "This line is a warning. If the image or video comes out, nothing needs fixing. The VAE needs the most memory when it handles the whole image at once, and other models may still be on the card. If the program closed after this line, RAM is probably full as well.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use the tiled VAE node from the start", Told: "Replace VAE Decode with VAE Decode (Tiled), or VAE Encode with VAE Encode (Tiled): tile_size 256, overlap 64; for video also temporal_size 16. This skips the failed attempt.", Cost: "Faint seams between tiles."},
			{Fix: "lower_resolution", Title: "Lower the resolution, or use fewer frames", Told: "Half the width and height needs about a quarter of the memory in the VAE; half the frames about half.", Cost: "A smaller result."},
			{Fix: largerPageFile.Fix, Title: "If the program closed: enlarge the page file", Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: (*ledger.Case).Windows},
			{Fix: comfyCPUVAE.Fix, Title: comfyCPUVAE.Title, Steps: comfyCPUVAE.Steps, Cost: comfyCPUVAE.Cost, If: when.Not(inForge)},
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "9547"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-node-tiles", Kinds: onCard, Said: []string{"vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, Unsaid: []string{"enable_vae_tiling"}, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "could not decode the result, although it decodes in tiles",
		Means:    "The VAE already decodes in tiles, but one tile did not fit. Either the tiles are too large for the VRAM that is left, or other models still fill the card.[[ {amd}]]",
		Figures:  amdScratch,
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Lower the tile size", Told: "In the node that decodes: tile_size 256, then 128; for video also temporal_size 16, then 8. If a node has no such setting, lower the resolution or frame count.", Cost: "Slower; small tiles can show seams."},
			{Fix: "efficient_attention", Title: "Limit MIOpen's search: `MIOPEN_FIND_MODE=FAST`", If: amdCard, Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."},
			comfyUnload, comfyCPUVAE,
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py", comfyThread + "5759"},
	},
	{
		ID: "comfyui/vae-tiles-failed", Kinds: onCard, Said: []string{"retrying with tiled VAE decoding", "decode_tiled_"}, Unsaid: []string{"vae.decode_tiled(", "common_ksampler", "sample_custom"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image, even in tiles",
		Means:    "The whole image did not fit through the VAE, and then one tile did not fit either. Usually the card is nearly full of other models or programs. In video, a tile with many frames can also be too large.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use VAE Decode (Tiled) with small tiles", Told: "Replace VAE Decode with VAE Decode (Tiled): tile_size 256, then 128; for video also temporal_size 16, then 8.", Cost: "Slower; small tiles can show seams."},
			comfyUnload, comfyKeepFree,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "12823", comfyThread + "2431"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-encode", Kinds: onCard, Said: []string{"vae.encode(", "VAEEncode", "regular VAE encoding", "encode_tiled_"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not encode the input image or clip",
		Means:    "The VAE was encoding an input image or clip[[, {retried}]]. Its memory grows with the size and number of the images: a 12-megapixel photo or 100 frames can be too much. If the first run works and the next fails, the first run's models are probably still on the card.",
		Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"retried": retriedEncoding(c)} },
		Not:      "Another sampler, fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Scale the input image down, or load fewer frames", Told: "Put Scale Image to Total Pixels, 1.0 megapixels, between the loader and the node that encodes. Video: set frame_load_cap in Load Video (VHS).", Cost: "A smaller result."},
			{Fix: "vae_tiling", Title: "Use VAE Encode (Tiled)", Told: "Replace VAE Encode with it: tile_size 256, for video also temporal_size 16. Image-to-video nodes that encode themselves usually have no tiling.", Cost: "Some seconds."},
			comfyUnload,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/vae-decode-video", Kinds: onCard, Said: []string{"ldm/wan/vae", `ldm\wan\vae`, "hunyuan_video/vae", `hunyuan_video\vae`, "lightricks/vae", `lightricks\vae`, "causal_video_autoencoder", "autoencoder_kl_causal_3d"}, Unsaid: []string{"vae.encode(", "VAEEncode", "vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the video VAE",
		Means:    "The video VAE failed, most likely while it turned the sampled latent into frames. It handles several frames at once at full size, so decoding can need more memory than sampling did.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use VAE Decode (Tiled)", Told: "Replace VAE Decode with it: tile_size 256, overlap 64, temporal_size 16, temporal_overlap 4.", Cost: "Slower; slight flicker is possible."},
			fewerFrames, comfyUnload,
		},
		Sources: []string{comfyCode + "nodes.py", comfyThread + "5759"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-decode", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding"}, Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE",
		Means:    "The VAE failed while it turned the latent into an image. Its memory grows with the resolution and the batch size, and can be more than sampling needed.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures:    []cause.Cure{comfyTiles, comfyKeepFree, fewerPixels},
		Sources:  []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "2431"}, Solved: 3,
	},
	{
		ID: "comfyui/upscale-model", Kinds: onCard, Said: []string{"ImageUpscaleWithModel", "nodes_upscale_model"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in Upscale Image (using Model)",
		Means:    "This node already works in tiles, which it shrinks from 512 to 128 pixels before it gives up. But it copies all input images to the card at once. So most likely other models fill the card, or the input is too large (many frames, or a huge image).",
		Not:      "Looking for a tile setting: this node has none.",
		Cures: []cause.Cure{
			comfyUnload,
			{Fix: "lower_resolution", Title: "Fewer or smaller images at a time", Told: "Video: set frame_load_cap in Load Video (VHS), for example 50, and join the parts. Large image: scale it down first, or use a 2x model instead of a 4x one.", Cost: "Several runs, or a smaller result."},
			{Fix: "vae_tiling", Title: "Use Ultimate SD Upscale instead", Told: "It redraws the image tile by tile: tile_width and tile_height 512.", Cost: "Slower; it changes the image."},
		},
		Sources: []string{comfyCode + "comfy_extras/nodes_upscale_model.py"},
	},
	{
		ID: "comfyui/text-encoder", Kinds: onCard, Said: []string{"encode_from_tokens", "encode_token_weights", "CLIPTextEncode", "text_encoders/", `text_encoders\`}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the text encoder",
		Means:    "It failed in the text encoder, which reads the prompt. T5-XXL (Flux, SD 3.5) takes about 9.8 GB at fp16, half of that at fp8. Newer models (Qwen, Gemma, Mistral encoders) often need more. SD 1.5 and SDXL need under 2 GB: there something else fills the card.",
		Not:      "VAE tiles, fewer steps, a smaller image: it failed in the text encoder.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load an fp8 file of the text encoder", Told: "In the CLIP loader, for Flux and SD 3.5: `t5xxl_fp8_e4m3fn_scaled.safetensors`; for Wan: `umt5_xxl_fp8_e4m3fn_scaled.safetensors`. Or a GGUF with CLIPLoader (GGUF).", Cost: "Hardly any loss of quality."},
			{Fix: "cpu_offload", Title: "Run the text encoder on the CPU", Told: "In the CLIP loader set `device` to cpu (an advanced input in some versions). It runs once for each new prompt.", Cost: "Some seconds, and RAM."},
			comfyUnload,
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py"},
	},
	{
		ID: "comfyui/controlnet", Kinds: onCard, Said: []string{"comfy/controlnet.py", `comfy\controlnet.py`, "ControlNetApply", "comfy/cldm/", `comfy\cldm\`}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] with a ControlNet",
		Means:    "It failed in a ControlNet or the node that applies it. Each ControlNet is one more model on the card: at 16 bit about 0.7 GB for SD 1.5, 2.5 GB for SDXL, more for Flux.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use one ControlNet, in a smaller file", Told: "Bypass all ControlNet nodes but one (select, Ctrl+B). Load a file named fp16, small or control-lora: half to a tenth of the size. A union model replaces several.", Cost: "Slightly looser control."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{comfyCode + "comfy/controlnet.py"},
	},
	{
		ID: "comfyui/attention-whole", Kinds: onCard, Said: []string{"attention_basic", "attention_split", "attention_sub_quad"}, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a memory-hungry kind of attention",
		Means:    "The traceback shows basic, split or sub-quadratic attention. These write out a score matrix, in whole or in parts, that grows with the square of the pixels. PyTorch's own attention needs no such matrix on most cards.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."}, fewerPixels, comfyKeepFree},
		Sources:  []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/split-refused", Said: []string{"Not enough memory, use lower resolution"}, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "refused to begin: split attention does not fit on the card, even in 64 slices",
		Means:    "Split attention checks beforehand how much GPU memory it needs[[: {asked} in one slice, with {free} free]]. \"max approx.\" is the largest square image that fits right now.",
		Not:      "More RAM, a page file: the graphics card is too full.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."}, fewerPixels, {Fix: "close_other_apps", Title: "Close other programs on the card", Told: "Games, a browser, another copy of this program: the limit depends on what is free at that moment.", Cost: "Free."}},
		Sources:  []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/leak", Kinds: onCard, If: func(c *ledger.Case) bool { return c.Signal("comfy_leak") != nil && !ledger.Roomy(c) }, Said: []string{"load_models_gpu", "partially_load", "model_patcher.py"}, Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of GPU memory: an unloaded model still takes space",
		Means:    "ComfyUI itself warns of a memory leak: it unloaded a model, but something still holds it. Usually that is a custom node that patches models (compile, cache, block swap). The first run after a restart then works, and a later one finds the card partly full.",
		Not:      "A smaller image alone: the old model stays on the card.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Free models and node cache between runs", Told: "Click Free model and node cache (beside Manager). If that is not enough, restart ComfyUI.", Cost: "Models load again."},
			{Fix: "upgrade_version", Title: "Find the node that patches the model, and update it", Told: "Bypass the nodes between the loader and the sampler one by one (Ctrl+B) until the warning is gone. Update that node in the Manager, or leave it out.", Cost: "Some minutes."},
			comfyKeepFree,
		},
		Sources: []string{comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/moving-weights", Kinds: onCard, Said: []string{"load_models_gpu", "partially_load", "patch_weight_to_device", "model_load("}, Unsaid: []string{"model_function_wrapper", "apply_model", "ldm/modules/attention", `ldm\modules\attention`}, Cause: cause.ModelTooLarge, Weight: cause.Good,
		Headline: "ran out of GPU memory while it moved a model to the card",
		Means:    "It failed while weights went to the card. ComfyUI normally keeps part of a large model in RAM. So usually something else took the memory in the meantime, or LoRA patches came on top.",
		Cures: []cause.Cure{
			where(patched, smallerFile),
			{Fix: "close_other_apps", Title: "Restart ComfyUI, close what else uses the card", Told: "Look for a second ComfyUI, games, browsers. `nvidia-smi` lists them (Windows also: Task Manager, Details, column Dedicated GPU memory).", Cost: "Free."},
			comfyKeepFree, where(when.Not(patched), smallerFile),
		},
		Sources: []string{comfyCode + "comfy/model_patcher.py", comfyThread + "14396"}, Solved: 1,
	},
	{
		ID: "comfyui/dynamic-vram", Kinds: onCard, Said: []string{addon.SaysDynamic, "aimdo: src", "comfy_kitchen"}, Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means: "This ComfyUI most likely uses dynamic VRAM, its loader since 2026, which loads weights to the card while it works. If memory still runs out, the image or video is probably too large, or the loader freed memory too late.",
		Not:   "`--lowvram`: it does nothing with dynamic VRAM.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set `--vram-headroom`, or turn the loader off", Told: "Start ComfyUI with `--vram-headroom 1` (GB), then 2. If that fails: `--disable-dynamic-vram`. Portable build: add it at the end of the line in `run_nvidia_gpu.bat`.", Cost: "Slower; the old loader needs more RAM."},
			fewerPixels,
			{Fix: "upgrade_version", Title: "Update ComfyUI", Told: "Many bugs of the loader were fixed in 2026. Manager: Update ComfyUI; portable build: `update\\update_comfyui.bat`.", Cost: "Some minutes."},
		},
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyThread + "13598", comfyThread + "14396", "https://github.com/Comfy-Org/ComfyUI/pull/14480"}, Solved: 2,
	},
	{
		ID: "comfyui/sampling-video", Kinds: onCard, Said: []string{"ldm/wan/model", `ldm\wan\model`, "ldm/hunyuan_video/model", `ldm\hunyuan_video\model`, "ldm/lightricks/model", `ldm\lightricks\model`, "ldm/cosmos/", "ldm/genmo/"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while sampling a video",
		Means:    "It failed in a sampling step of a video model. All frames are on the card at once, so memory grows with width x height x frames.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{fewerFrames, comfyKeepFree, smallerFile},
		Sources:  []string{comfyCode + "comfy/ldm/wan/model.py", comfyThread + "13598"}, Solved: 1,
	},
	{
		ID: "comfyui/never-fits", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "asked for {asked} at once, more than the whole card ({total})",
		Means:    "Most likely this is the score matrix of attention. PyTorch writes it out where it has no fused kernel for the card. It grows with the square of the pixels: half the width and height needs a sixteenth. In image to image the loaded image sets the size.",
		Not:      "`--lowvram`, fp8 files, closing programs: this one request is larger than the card.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Scale the input image down, or lower the resolution", Told: "Image to image: put Scale Image to Total Pixels, 1.0 megapixels, behind Load Image. Text to image: half the width and height in the Empty Latent node, batch_size 1. Video: half of `length` first.", Cost: "Less detail; upscale afterwards in tiles."},
			{Fix: "efficient_attention", Title: "Use sub-quadratic attention", If: when.Any(pytorchAttends, onIntel), Told: "It works in smaller chunks than PyTorch's, which was used here.", Steps: comfyStart("", step.Change{Flag: "--use-quad-cross-attention"}, step.Change{Flag: "--use-pytorch-cross-attention", Drop: true}, step.Change{Flag: "--use-split-cross-attention", Drop: true}), Cost: "Slower."},
			{Fix: "efficient_attention", Title: "Use PyTorch's attention", If: when.Not(when.Any(pytorchAttends, onIntel)), Cost: "None; usually faster."},
			{Fix: "upgrade_version", Title: "Turn on PyTorch's fused attention for AMD", Told: "With PyTorch 2.5 or later, set `TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1` and start ComfyUI with `--use-pytorch-cross-attention`. RX 6000 and older cards are not supported.", Cost: "Free to try.", If: func(c *ledger.Case) bool { return c.Backend == "rocm" }},
			{Fix: "upgrade_version", Title: "Update PyTorch and the driver", Told: "On Intel cards, newer versions of both have attention kernels that need less memory.", Cost: "Half an hour.", If: func(c *ledger.Case) bool { return c.Backend != "cuda" && notAMD(c) }},
			comfyTiles,
		},
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py", comfyCode + "README.md", comfyThread + "7004"},
	},
	{
		ID: "comfyui/sampling-bare", Kinds: []fact.Kind{fact.TorchAsync, fact.ComfyUnload, fact.ComfyTips, fact.CUDAError, fact.DeviceAlloc, fact.PlainDevice, fact.XPURuntime, fact.XPUBlock}, Unsaid: []string{"comfy/controlnet.py", "comfy/cldm/", "IPAdapter"}, If: func(c *ledger.Case) bool {
			return addon.Samples(c) && c.F().Requested == nil && !merges(c) && c.Backend != "mps"
		}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a sampling step",
		Means:    "The log shows a sampling step, without sizes.[[ ComfyUI planned {part} of weights on the card.]] Most likely the working memory of the step did not fit. It grows with resolution, frames and batch size; ControlNets, IPAdapters and LoRAs add to it.",
		Figures:  partLoaded,
		Not:      "Fewer steps: every step needs the same memory. VAE tiles: it failed before the VAE.",
		Cures:    []cause.Cure{fewerPixels, comfyKeepFree, {Fix: "raise_pagefile", Title: "Check RAM and page file too", Told: "Windows also denies GPU memory when RAM plus page file are full. While it runs, look at Task Manager, Performance, Memory, \"Committed x / y\". If x is near y, enlarge the page file.", Cost: "Free to look.", If: driverOnWindows}, smallerFile},
		Sources:  []string{comfyCode + "comfy/samplers.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: addon.Sampling, If: func(c *ledger.Case) bool { return ledger.Allocator(c) && c.F().Requested != nil && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while sampling",
		Means:    "It failed in a sampling step, after the model was loaded. So most likely the working memory of the step did not fit[[ ({asked} more)]]. It grows with resolution and batch size; ControlNets, IPAdapters and LoRAs add to it.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{{Fix: comfyKeepFree.Fix, Title: comfyKeepFree.Title, Cost: comfyKeepFree.Cost, If: littleMissing}, fewerPixels, comfyKeepFree, smallerFile},
		Sources:  []string{comfyCode + "comfy/samplers.py", comfyCode + "comfy/model_management.py"},
	},
}

func driverOnWindows(c *ledger.Case) bool { return c.Kind(fact.CUDAError) && c.Windows() }

// littleMissing: what was refused is a small part of the card, so that a little
// more room for the work is enough as a rule.
func littleMissing(c *ledger.Case) bool {
	return c.Total.Has() && ledger.Requested(c)*16 < c.Total.Bytes
}

// merges: a LoRA is being added to weights, or they are moved.
func merges(c *ledger.Case) bool {
	return c.Near("calculate_weight", "load_models_gpu", "partially_load")
}

// partLoaded is how much of the model ComfyUI put on the card.
func partLoaded(c *ledger.Case) map[string]string {
	if n := ledger.Sized(c, "loaded_part"); n > 0 {
		return map[string]string{"part": units.Amount(n)}
	}
	return map[string]string{"part": ""}
}

// retriedEncoding: ComfyUI tried the whole input, then tiles.
func retriedEncoding(c *ledger.Case) string {
	if c.Kind(fact.ComfyVAE) {
		return "first the whole input, then in tiles"
	}
	return ""
}

// pytorchAttends: PyTorch's attention is on (comfy/ldm/modules/attention.py).
func pytorchAttends(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return x.Function == "attention_pytorch" })
}

// onIntel: there ComfyUI takes PyTorch's attention by itself.
func onIntel(c *ledger.Case) bool { return c.Backend == "xpu" }

// patched: a LoRA was being computed into a weight, for which ComfyUI makes a copy
// in 32 bit on the card.
func patched(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return f.Function == "patch_weight_to_device" && strings.Contains(f.Source, "torch.float32")
	})
}

// where is a cure under a condition.
func where(holds func(*ledger.Case) bool, it cause.Cure) cause.Cure {
	it.If = holds
	return it
}
