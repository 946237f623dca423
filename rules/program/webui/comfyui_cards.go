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
		Told: "Empty Latent node: half the width and height, batch_size 1 (image to image: a smaller input image; AnimateDiff: fewer frames). Then upscale in tiles with Ultimate SD Upscale.",
		Cost: "One more step.",
	}
	fewerFrames = cause.Cure{
		Fix: "lower_resolution", Title: "Fewer frames, then a lower resolution",
		Told: "Half of `length` (wrappers: num_frames) first, then a smaller width and height. Make a long video from several clips.",
		Cost: "A shorter or smaller clip.",
	}
	smallerFile = cause.Cure{
		Fix: "use_lower_quant", Title: "Load an fp8 or GGUF file of the model",
		Told: "If it is 16 bit now: an fp8 file in Load Diffusion Model (half the size), or a GGUF (Q5_K_M, Q4_K_S: about a third) with Unet Loader (GGUF) of ComfyUI-GGUF. More VRAM is then left for the image.",
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
		Told: "Replace the node VAE Decode by VAE Decode (Tiled): tile_size 256 (older versions: 320, their smallest), overlap 64; for a video VAE also temporal_size 16.",
		Cost: "Some seconds; seams are rarely seen.",
	}
	comfyCPUVAE = cause.Cure{
		Fix: "cpu_offload", Title: "Run the VAE on the CPU: `--cpu-vae`", Cost: "Minutes for each image.",
		Steps: comfyStart("", step.Change{Flag: "--cpu-vae"}),
	}
	comfyUnload = cause.Cure{
		Fix: "restart_session", Title: "Unload models before the run",
		Told: "Manager: Unload Models (or restart ComfyUI), then run only this workflow. Close other programs that use the card; the browser that shows ComfyUI can hold some hundred MB.",
		Cost: "Models load again.",
	}
)

var comfyCards = slices.Concat(comfyPlaces, ofCard(slices.Concat(addon.Nunchaku, comfyAddons, comfyMerge, comfyDriver, comfyNodes, comfyHost, []cause.Card{addon.Unpacking(comfyKeepFree, smallerFile)}, comfyCore, []cause.Card{addon.Encoder(comfyUnload)}, comfyOwn, comfyBare)))

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
		Headline: "ran out of graphics memory[[ ({total})]]: it was started with {flag}",
		Means:    "`{flag}` {keeps}. Models that are not in use are not moved to RAM[[; {mine%} of the card is ComfyUI's own now]].",
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
		Headline: "ran out of graphics memory in attention and tries again in smaller slices",
		Means:    "This is a warning: split attention did not fit[[ beside {part} of weights]], so ComfyUI empties the cache and repeats that call in smaller slices, which is slow. Split attention is used with `--use-split-cross-attention`, or where ComfyUI found no faster one (some AMD and old cards).",
		Figures:  partLoaded,
		Not:      "`--highvram`, `--gpu-only`: both leave less free.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."},
			comfyKeepFree, smallerFile,
		},
		Later:   "If the steps are too slow: try a smaller image.",
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py", comfyThread + "9621"},
	},
	{
		ID: "comfyui/vae-closed", Kinds: []fact.Kind{fact.ComfyVAE}, Said: []string{"Press any key to continue"},
		If:    func(c *ledger.Case) bool { return !c.Kind(onCard...) && !c.Kind(fact.MPSAlloc) },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "closed while it ran the VAE again in tiles; most likely RAM ran out",
		Means:    "The whole image did not fit through the VAE, so the VAE is run again in tiles. After that line the program ended without an error of its own (\"Press any key to continue\" comes from the script that started it), as it does when RAM and page file are used up.",
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
		Headline: "could not fit the whole image through the VAE and tries again in tiles",
		Means:    "This line is a warning: after the failure the VAE is run again in tiles. If the result comes out, nothing needs fixing. If the program closed after it, RAM is probably used up as well. Often other models are still on the card and leave too little for the whole image.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use the tiled VAE node at once", Told: "VAE Decode (Tiled) in place of VAE Decode, or VAE Encode (Tiled) in place of VAE Encode: tile_size 256, overlap 64; for a video VAE also temporal_size 16. This skips the failed try.", Cost: "Faint seams between tiles."},
			{Fix: "lower_resolution", Title: "Lower the resolution, or fewer frames", Told: "The VAE's memory grows with pixels times frames.", Cost: "A smaller result."},
			{Fix: largerPageFile.Fix, Title: "If the program closed: enlarge the page file", Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: (*ledger.Case).Windows},
			{Fix: comfyCPUVAE.Fix, Title: comfyCPUVAE.Title, Steps: comfyCPUVAE.Steps, Cost: comfyCPUVAE.Cost, If: when.Not(inForge)},
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "9547"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-node-tiles", Kinds: onCard, Said: []string{"vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, Unsaid: []string{"enable_vae_tiling"}, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "could not decode the result, although it decodes in tiles",
		Means:    "It failed in a VAE that decodes in tiles; one tile still did not fit.[[ {asked} was asked for and {free} was free.]] The tiles are too large for the VRAM that is left, or other models are still on the card.[[ {amd}]]",
		Figures:  amdScratch,
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Lower the tile size", Told: "In the node that decodes: half of the present tile size; for a video VAE also half of temporal_size.", Cost: "Slower; small tiles can show seams."},
			{Fix: "efficient_attention", Title: "Limit MIOpen's search: `MIOPEN_FIND_MODE=FAST`", If: amdCard, Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."},
			comfyUnload, comfyCPUVAE,
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py", comfyThread + "5759"},
	},
	{
		ID: "comfyui/vae-tiles-failed", Kinds: onCard, Said: []string{"retrying with tiled VAE decoding", "decode_tiled_"}, Unsaid: []string{"vae.decode_tiled(", "common_ksampler", "sample_custom"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image, even in tiles",
		Means:    "The VAE failed on the whole image, ComfyUI tried again in tiles, and one tile did not fit either. Most often the card is nearly full of models that were not unloaded, or of another program; with video a tile of many frames can also be too large.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Lower the tile size", Told: "VAE Decode (Tiled) in place of VAE Decode: tile_size 256, then 128; for a video VAE temporal_size 16, then 8.", Cost: "Slower; small tiles can show seams."},
			comfyKeepFree, comfyUnload,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "12823", comfyThread + "2431"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-encode", Kinds: onCard, Said: []string{"vae.encode(", "VAEEncode", "regular VAE encoding", "encode_tiled_"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not encode the input image or clip",
		Means:    "The VAE was turning an input image or clip into a latent[[, {retried}]]. Its memory grows with the size and number of the images that go in; a photo of 12 megapixels or a clip of 100 frames can be too much. If the first run works and the next fails, models of the first are probably still on the card.",
		Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"retried": retriedEncoding(c)} },
		Not:      "Another sampler, fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Scale the input image down, or load fewer frames", Told: "Between the loader and the node that encodes: Scale Image to Total Pixels, 1.0 megapixels. Video: frame_load_cap in Load Video (VHS).", Cost: "None where the result is not larger."},
			{Fix: "vae_tiling", Title: "Use VAE Encode (Tiled)", Told: "In place of VAE Encode: tile_size 256, for a video VAE temporal_size 16. Nodes that encode by themselves (image to video) mostly have no such switch.", Cost: "Some seconds."},
			comfyUnload,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/vae-decode-video", Kinds: onCard, Said: []string{"ldm/wan/vae", `ldm\wan\vae`, "hunyuan_video/vae", `hunyuan_video\vae`, "lightricks/vae", `lightricks\vae`, "causal_video_autoencoder", "autoencoder_kl_causal_3d"}, Unsaid: []string{"vae.encode(", "VAEEncode", "vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the sampled clip",
		Means:    "The video VAE failed, which turns the sampled latent into frames. It takes many frames at once, each at full size, so decoding can need more than sampling did.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use VAE Decode (Tiled)", Told: "In place of VAE Decode: tile_size 256, overlap 64, temporal_size 16, temporal_overlap 4.", Cost: "Slower; slight flicker is possible."},
			fewerFrames, comfyUnload,
		},
		Sources: []string{comfyCode + "nodes.py", comfyThread + "5759"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-decode", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding"}, Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image",
		Means:    "The VAE failed, which turns the latent into pixels. [[{asked} was asked for and {free} was free. ]]Its memory grows with the pixels and the batch and can be more than sampling took.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures:    []cause.Cure{comfyTiles, comfyKeepFree, fewerPixels},
		Sources:  []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "2431"}, Solved: 3,
	},
	{
		ID: "comfyui/upscale-model", Kinds: onCard, Said: []string{"ImageUpscaleWithModel", "nodes_upscale_model"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in Upscale Image (using Model)",
		Means:    "This node works in tiles of 512 pixels and halves them down to 128 by itself before it gives up. It copies all input images to the card at once. So the card was most likely full of other models, or the input (many frames, or a large image) is too large.",
		Not:      "Looking for a tile setting: this node has none.",
		Cures: []cause.Cure{
			comfyUnload,
			{Fix: "lower_resolution", Title: "Fewer or smaller images at a time", Told: "A clip in batches of some frames (frame_load_cap in Load Video); a large image scaled down first, or a 2x model in place of a 4x one.", Cost: "Several runs, or a smaller result."},
			{Fix: "vae_tiling", Title: "Use Ultimate SD Upscale instead", Told: "It redraws the image tile by tile: tile_width and tile_height 512.", Cost: "Slower; it changes the image."},
		},
		Sources: []string{comfyCode + "comfy_extras/nodes_upscale_model.py"},
	},
	{
		ID: "comfyui/text-encoder", Kinds: onCard, Said: []string{"encode_from_tokens", "encode_token_weights", "CLIPTextEncode", "text_encoders/", `text_encoders\`}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not run the text encoder",
		Means:    "It failed on the prompt. T5-XXL (Flux, SD 3.5) takes about 9.8 GB at fp16 and half of that at fp8; the encoders of newer models (Qwen, Gemma, Mistral) are often larger. CLIP of SD 1.5 and SDXL is below 2 GB: there other models or programs fill the card.",
		Not:      "VAE tiles, fewer steps: it failed in the text encoder.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load an fp8 file of the text encoder", Told: "In the CLIP loader, for T5 `t5xxl_fp8_e4m3fn_scaled.safetensors`; or a GGUF with CLIPLoader (GGUF).", Cost: "Hardly any loss of quality."},
			{Fix: "cpu_offload", Title: "Run the text encoder on the CPU", Told: "CLIP loader: `device` cpu. It runs once for each new prompt.", Cost: "Some seconds, and RAM."},
			comfyUnload,
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py"},
	},
	{
		ID: "comfyui/controlnet", Kinds: onCard, Said: []string{"comfy/controlnet.py", `comfy\controlnet.py`, "ControlNetApply", "comfy/cldm/", `comfy\cldm\`}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Means: "It failed in a ControlNet. Each is one more model on the card (at 16 bit about 0.7 GB for SD 1.5, 2.5 GB for SDXL, more for Flux) that runs beside the main model.",
		Not:   "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use one ControlNet, in a smaller file", Told: "Files named fp16, small or control-lora take a half to a tenth; a union model replaces several. Bypass (Ctrl+B) all but one to see which is too much.", Cost: "Slightly looser control."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{comfyCode + "comfy/controlnet.py"},
	},
	{
		ID: "comfyui/attention-whole", Kinds: onCard, Said: []string{"attention_basic", "attention_split", "attention_sub_quad"}, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of graphics memory in basic, split or sub-quadratic attention",
		Means:    "The traceback shows split, sub-quadratic or basic attention[[, which asked for {asked}]]. It writes out a score matrix that grows with the square of the pixels; PyTorch's fused attention needs no such matrix.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."}, fewerPixels, comfyKeepFree},
		Sources:  []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/split-refused", Said: []string{"Not enough memory, use lower resolution"}, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "refused to begin: split attention does not fit on the card, even in 64 slices",
		Means:    "Split attention computes beforehand what it needs[[: {asked} in one slice, with {free} of graphics memory free]]. \"max approx.\" is the largest square image that would fit now.",
		Not:      "More RAM, a page file: it counted the card.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."}, fewerPixels, {Fix: "close_other_apps", Title: "Close other programs on the card", Told: "The limit follows from what is free at that moment.", Cost: "Free."}},
		Sources:  []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/leak", Kinds: onCard, If: func(c *ledger.Case) bool { return c.Signal("comfy_leak") != nil && !ledger.Roomy(c) }, Said: []string{"load_models_gpu", "partially_load", "model_patcher.py"}, Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of graphics memory: a model that it dropped is still held",
		Means:    "ComfyUI itself warns of a memory leak: it unloaded a model, but something still refers to it, most often a custom node that wraps or patches models (compiling, caching, block swap). So the next run finds the card partly full; the first after a start works.",
		Not:      "A smaller image alone: the model of the last run stays.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Free models and node cache between runs", Told: "Manager: Unload Models and Free Node Cache (or Edit, the button Free model and node cache); if that is not enough restart ComfyUI.", Cost: "Models load again."},
			{Fix: "upgrade_version", Title: "Update, or leave out, the node that patches the model", Told: "Nodes between the loader and the sampler: bypass one after another (Ctrl+B) until the warning is gone; update that one.", Cost: "Some minutes."},
			comfyKeepFree,
		},
		Sources: []string{comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/moving-weights", Kinds: onCard, Said: []string{"load_models_gpu", "partially_load", "patch_weight_to_device", "model_load("}, Unsaid: []string{"model_function_wrapper", "apply_model", "ldm/modules/attention", `ldm\modules\attention`}, Cause: cause.ModelTooLarge, Weight: cause.Good,
		Headline: "ran out of graphics memory while it moved a model to the card",
		Means:    "It failed while weights went to the card. ComfyUI plans such a move by what is free and splits a model that is too large. So most often something else took memory meanwhile, or LoRA patches were computed on top.",
		Cures: []cause.Cure{
			where(patched, smallerFile),
			{Fix: "close_other_apps", Title: "Restart ComfyUI, close what else uses the card", Told: "A second ComfyUI, games, browsers: `nvidia-smi` lists them (Windows also: Task Manager, Details, column Dedicated GPU memory).", Cost: "Free."},
			comfyKeepFree, where(when.Not(patched), smallerFile),
		},
		Sources: []string{comfyCode + "comfy/model_patcher.py", comfyThread + "14396"}, Solved: 1,
	},
	{
		ID: "comfyui/dynamic-vram", Kinds: onCard, Said: []string{addon.SaysDynamic, "aimdo: src", "comfy_kitchen"}, Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means: "This ComfyUI uses dynamic VRAM, the loader of 2026, which pages weights in while it works. A refused request then mostly means that the work on the image is too large, or that the loader freed memory too late.",
		Not:   "`--lowvram`: it does nothing under dynamic VRAM.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Set `--vram-headroom`, or turn the loader off", Told: "Start with `--vram-headroom 1` (GB), then 2. If that fails: `--disable-dynamic-vram`. Portable build: at the end of the line in `run_nvidia_gpu.bat`.", Cost: "Slower; the old loader needs more RAM."},
			fewerPixels,
			{Fix: "upgrade_version", Title: "Update ComfyUI", Told: "The loader was often fixed in 2026. Manager: Update ComfyUI, or `update\\update_comfyui.bat` of the portable build.", Cost: "Some minutes."},
		},
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyThread + "13598", comfyThread + "14396", "https://github.com/Comfy-Org/ComfyUI/pull/14480"}, Solved: 2,
	},
	{
		ID: "comfyui/sampling-video", Kinds: onCard, Said: []string{"ldm/wan/model", `ldm\wan\model`, "ldm/hunyuan_video/model", `ldm\hunyuan_video\model`, "ldm/lightricks/model", `ldm\lightricks\model`, "ldm/cosmos/", "ldm/genmo/"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in a sampling step of a video model",
		Means:    "It failed in a sampling step of a video model. [[It asked for {asked} more, on a card of {total}. ]]Activations grow with width times height times frames, and all frames are on the card at once.",
		Not:      "Fewer steps: each needs the same memory.",
		Cures:    []cause.Cure{fewerFrames, comfyKeepFree, smallerFile},
		Sources:  []string{comfyCode + "comfy/ldm/wan/model.py", comfyThread + "13598"}, Solved: 1,
	},
	{
		ID: "comfyui/never-fits", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "asked for {asked} in one piece, on a card of {total}",
		Means:    "Most likely this is the score matrix of attention, which PyTorch writes out where it has no fused kernel for the card and which grows with the square of the pixels: half the width and height needs a sixteenth. In image to image the loaded image sets the size.",
		Not:      "`--lowvram`, fp8 files, closing programs: one request is larger than the card.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Scale the input image down, or lower the resolution", Told: "Image to image: Scale Image to Total Pixels, 1.0 megapixels, behind Load Image. Text to image: half the width and height in the Empty Latent node, batch_size 1. Video: fewer frames first.", Cost: "Less detail; upscale afterwards in tiles."},
			{Fix: "efficient_attention", Title: "Use sub-quadratic attention", If: pytorchAttends, Told: "The traceback runs through PyTorch's attention; this one works in pieces:", Steps: comfyStart("", step.Change{Flag: "--use-quad-cross-attention"}, step.Change{Flag: "--use-pytorch-cross-attention", Drop: true}, step.Change{Flag: "--use-split-cross-attention", Drop: true}), Cost: "Slower."},
			{Fix: "efficient_attention", Title: "Use PyTorch's attention", If: when.Not(pytorchAttends), Cost: "None; usually faster."},
			{Fix: "upgrade_version", Title: "Or PyTorch 2.5 or later with its kernels for AMD", Told: "It leaves off those that it calls experimental. Set `TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1` before ComfyUI starts, with `--use-pytorch-cross-attention`. RX 6000 and older have no such kernels.", Cost: "Free to try.", If: func(c *ledger.Case) bool { return c.Backend == "rocm" }},
			{Fix: "upgrade_version", Title: "Update PyTorch and the driver", Told: "Fused kernels for Intel cards came with later versions of both.", Cost: "Half an hour.", If: func(c *ledger.Case) bool { return c.Backend != "cuda" && notAMD(c) }},
			comfyTiles,
		},
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py", comfyCode + "README.md", comfyThread + "7004"},
	},
	{
		ID: "comfyui/sampling-bare", Kinds: []fact.Kind{fact.TorchAsync, fact.ComfyUnload, fact.ComfyTips, fact.CUDAError, fact.DeviceAlloc, fact.PlainDevice, fact.XPURuntime, fact.XPUBlock}, Unsaid: []string{"comfy/controlnet.py", "comfy/cldm/", "IPAdapter"}, Said: addon.Sampling, If: func(c *ledger.Case) bool { return c.F().Requested == nil && !merges(c) && c.Backend != "mps" }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in a sampling step",
		Means:    "The message has no sizes; the log shows a sampling step.[[ {part} of the model's weights were on the card by ComfyUI's plan, the rest in RAM.]] Most likely the activations did not fit: they grow with pixels, frames and batch, and ControlNets, IPAdapters and LoRAs add to them.",
		Figures:  partLoaded,
		Not:      "Fewer steps: each needs the same. VAE tiles: it failed in a step.",
		Cures:    []cause.Cure{fewerPixels, comfyKeepFree, {Fix: "raise_pagefile", Title: "Check RAM and page file too", Told: "Windows also refuses card memory when RAM plus page file are used up: Task Manager, Performance, Memory, \"Committed x / y\" while it runs. If x is near y: a larger page file.", Cost: "Free to look.", If: driverOnWindows}, smallerFile},
		Sources:  []string{comfyCode + "comfy/samplers.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: addon.Sampling, If: func(c *ledger.Case) bool { return ledger.Allocator(c) && c.F().Requested != nil && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while sampling",
		Means:    "It failed in a sampling step, which asked for {asked} more. ComfyUI fits the weights to the card before it samples, so most likely the activations did not fit: they grow with pixels and batch, and ControlNets, IPAdapters and LoRAs add to them.",
		Not:      "Fewer steps: each needs the same memory.",
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
