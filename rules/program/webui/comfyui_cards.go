package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// What refuses memory of a card, and of the computer, under programs that make
// images.
var (
	onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.TorchSummary, fact.ComfyUnload, fact.ComfyTips}
	inRAM  = []fact.Kind{fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.MmapFailed}
	killed = []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.RankKilled, fact.ContainerKill}
)

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
			return !c.Root(fact.CommitLimit) && !c.Root(inRAM...) && !carvedOut(c) && !ledger.Crowded(c) && (also == nil || also(c))
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
		Fix: "lower_resolution", Title: "Sample smaller, enlarge afterwards",
		Told: "Empty Latent node: half the width and height (a quarter of the work), batch_size 1 (AnimateDiff: fewer frames, they are the batch). Then Ultimate SD Upscale, which works in tiles.",
		Cost: "One step more.",
	}
	fewerFrames = cause.Cure{
		Fix: "lower_resolution", Title: "Fewer frames, then smaller ones",
		Told: "In the latent video node: `length` first (49 instead of 81 is 0.6 of the work), then width and height. Longer films from several clips.",
		Cost: "A shorter or smaller clip.",
	}
	smallerFile = cause.Cure{
		Fix: "use_lower_quant", Title: "A smaller file of the same model",
		Told: "An fp8 file in Load Diffusion Model (half of 16 bit), or a GGUF (Q5_K_M, Q4_K_S: about a third) with Unet Loader (GGUF) of ComfyUI-GGUF. It frees room for the work.",
		Cost: "Little quality.",
	}
	comfyKeepFree = cause.Cure{
		Fix: "lowvram_mode", Title: "Keep more of the card free for the work",
		Cost: "Slower: more weights wait in RAM.",
	}
	comfyHoldLess = cause.Cure{
		Fix: "lowvram_mode", Title: "Let ComfyUI hold less at once", Cost: "Slower.",
		Steps: comfyStart("", step.Change{Flag: "--lowvram"}),
	}
	comfyTiles = cause.Cure{
		Fix: "vae_tiling", Title: "Decode in tiles",
		Told: "In place of the node VAE Decode: VAE Decode (Tiled), tile_size 256, overlap 64; with a video VAE also temporal_size 16.",
		Cost: "Some seconds; seams are rarely seen.",
	}
	comfyCPUVAE = cause.Cure{
		Fix: "cpu_offload", Title: "Run the VAE on the processor", Cost: "Minutes an image.",
		Steps: comfyStart("", step.Change{Flag: "--cpu-vae"}),
	}
	comfyUnload = cause.Cure{
		Fix: "restart_session", Title: "Empty the card first",
		Told: "Manager: Unload Models (or restart ComfyUI), then run only this workflow. Close what else uses the card: the browser that shows ComfyUI can hold some hundred MB.",
		Cost: "Models load again.",
	}
)

var comfyCards = slices.Concat(comfyPlaces, ofCard(slices.Concat(comfyAddons, comfyMerge, comfyNodes, comfyHost, comfyCore, comfyBare)))

// allOnCard: it was started so that nothing is moved to RAM.
func allOnCard(c *ledger.Case) bool { _, ok := c.Setting("gpu_only", "highvram"); return ok }

// allOnCardFlag is the flag that does it.
func allOnCardFlag(c *ledger.Case) map[string]string {
	if _, ok := c.Setting("gpu_only"); ok {
		return map[string]string{"flag": "--gpu-only", "keeps": "keeps everything on the card: the model of the image, the text encoder (T5-XXL: 9.8 GB at 16 bit), the VAE"}
	}
	return map[string]string{"flag": "--highvram", "keeps": "leaves every model on the card after use: those of the image, text encoder, VAE, of earlier workflows"}
}

var comfyCore = []cause.Card{
	{
		ID: "comfyui/all-on-card", Kinds: onCard, If: func(c *ledger.Case) bool { return allOnCard(c) && !ledger.Roomy(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "fills the card[[ ({total})]]: it was started with {flag}",
		Means:    "`{flag}` {keeps}. Nothing goes to RAM when it is not needed[[, and {mine%} of the card is its own now]].[[ The {asked} that was refused is only the last piece.]]",
		Figures:  allOnCardFlag,
		Not:      "Allocator settings[[: {slack} to gain at most]]. More RAM or closing programs, as long as the flag is there.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Start without it", Told: "ComfyUI then moves to RAM what it does not need at the moment.", Steps: comfyStart("", step.Change{Flag: "--gpu-only", Drop: true}, step.Change{Flag: "--highvram", Drop: true}), Cost: "Some seconds a run, and RAM."},
			smallerFile,
			fewerPixels,
		},
		Sources: []string{comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/sliced-attention", Kinds: []fact.Kind{fact.ComfySlices}, If: func(c *ledger.Case) bool { return !c.Kind(fact.TorchAlloc, fact.MPSAlloc) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "had no room for attention, and tries again in smaller slices",
		Means:    "No crash yet: split attention ran out[[ beside {part} of weights]], empties the cache and repeats that call in slices; each line is one call, so a step takes very long. Split attention is used with `--use-split-cross-attention`, or where ComfyUI found no faster one (some AMD and old cards).",
		Figures:  partLoaded,
		Not:      "Closing programs: nothing here shows another one. `--highvram` and `--gpu-only` make it worse.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "PyTorch's attention instead", Cost: "None; usually faster."},
			comfyKeepFree, smallerFile,
		},
		Later:   "It may also end in an error, or run on for hours: a smaller image is a quick test.",
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py", comfyThread + "9621"},
	},
	{
		ID: "comfyui/vae-fell-back", Kinds: []fact.Kind{fact.ComfyVAE},
		If:    func(c *ledger.Case) bool { return !c.Kind(onCard...) && !c.Kind(fact.MPSAlloc) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "had to decode in tiles: the whole image did not fit through the VAE",
		Means:    "This is a warning: ComfyUI caught the failure and decodes again in tiles of 512 pixels by itself. If the result comes out, nothing needs mending. Sampling was over; usually its models were still on the card and left too little. If nothing follows this line, the paste was cut or the tiles hang.",
		Not:      "Fewer steps or a smaller model file: sampling is done.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Decode in tiles at once, smaller ones", Told: "In place of VAE Decode: VAE Decode (Tiled), tile_size 256, overlap 64; with a video VAE temporal_size 16 as well. It saves the failed try, and small tiles need a quarter of the memory.", Cost: "Seams, if any, at the borders of tiles."},
			{Fix: "lower_resolution", Title: "Less to decode", Told: "Fewer frames (`length`) or a smaller image: decoding grows with pixels times frames.", Cost: "Size."},
			comfyCPUVAE,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "9547"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-node-tiles", Kinds: onCard, Said: []string{"vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, Unsaid: []string{"enable_vae_tiling"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "could not decode the result, though it decodes in tiles already",
		Means:    "All steps were sampled, and the node that decodes works in tiles: one tile still did not fit.[[ {asked} was asked for and {free} was free.]] So the tiles are too large for what the models of the sampling left, or those were not moved out.[[ {amd}]]",
		Figures:  amdScratch,
		Not:      "Fewer steps or a smaller file of the sampling model alone: sampling was done.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Smaller tiles", Told: "In the node that decodes: half of the tile size it has now (mostly to 256, then 128); with a video VAE fewer frames at a time too (temporal_size 16, then 8).", Cost: "Some seconds; seams may show at 128."},
			{Fix: "efficient_attention", Title: "Let MIOpen search less", If: amdCard, Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."},
			comfyUnload, comfyCPUVAE,
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py", comfyThread + "5759"},
	},
	{
		ID: "comfyui/vae-tiles-failed", Kinds: onCard, Said: []string{"retrying with tiled VAE decoding", "decode_tiled_"}, Unsaid: []string{"vae.decode_tiled("},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image, not even in tiles",
		Means:    "All steps were sampled. The VAE failed on the whole image, ComfyUI tried again in tiles of 512 pixels by itself, and one tile did not fit either. So the card was nearly full before: models that were not unloaded, or another program.",
		Not:      "Fewer steps or another sampler: sampling was done.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Smaller tiles", Told: "VAE Decode (Tiled): tile_size 256, then 128; with a video VAE temporal_size 16, then 8.", Cost: "Some seconds; seams may show at 128."},
			comfyKeepFree, comfyUnload,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "12823", comfyThread + "2431"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-encode", Kinds: onCard, Said: []string{"vae.encode(", "VAEEncode", "regular VAE encoding", "encode_tiled_"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not encode the input image or clip",
		Means:    "It failed before sampling: the VAE turns the input into a latent[[, {retried}]]. What counts is the size and number of the images that go in, not of the result; a photo of 12 megapixels or a clip of 100 frames is enough. If the first run works and the next fails, models of the first are still on the card.",
		Figures:  func(c *ledger.Case) map[string]string { return map[string]string{"retried": retriedEncoding(c)} },
		Not:      "Another sampler, fewer steps, a smaller model file: sampling had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Scale the input down first", Told: "Between the loader and the node that encodes: Upscale Image, or Scale Image to Total Pixels with 1.0 megapixels. Video: load fewer frames (frame_load_cap in Load Video).", Cost: "None where the result is not larger."},
			{Fix: "vae_tiling", Title: "Encode in tiles", Told: "VAE Encode (Tiled) in place of VAE Encode: tile_size 256, with a video VAE temporal_size 16. Image-to-video nodes that encode by themselves have no such switch.", Cost: "Some seconds."},
			comfyUnload,
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/vae-decode-video", Kinds: onCard, Said: []string{"ldm/wan/vae", `ldm\wan\vae`, "hunyuan_video/vae", `hunyuan_video\vae`, "lightricks/vae", `lightricks\vae`, "causal_video_autoencoder", "autoencoder_kl_causal_3d"},
		Unsaid: []string{"vae.encode(", "VAEEncode", "vae.decode_tiled(", "temporal_tiled_decode", "spatial_tiled_decode"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not turn the sampled clip into frames",
		Means:    "All steps were done; the video VAE failed. It takes many frames at once, each at full size, so this last step can need more than sampling did.",
		Not:      "A smaller quantisation of the video model: it is out of the way at this point.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Tiles in space and time", Told: "VAE Decode (Tiled) in place of VAE Decode: tile_size 256, overlap 64, temporal_size 16, temporal_overlap 4.", Cost: "Slower; borders in time can flicker a little."},
			fewerFrames, comfyUnload,
		},
		Sources: []string{comfyCode + "nodes.py", comfyThread + "5759"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-decode", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding"},
		Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the finished image",
		Means:    "Sampling was done; the last step failed, where the VAE turns the latent into pixels. [[{asked} was asked for and {free} was free. ]]It grows with pixels and batch (every image of the batch counts) and can take more than sampling did.",
		Not:      "A smaller or quantised model, fewer steps: neither is what this step needs.",
		Cures:    []cause.Cure{comfyTiles, comfyKeepFree, fewerPixels},
		Sources:  []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "2431"}, Solved: 3,
	},
	{
		ID: "comfyui/upscale-model", Kinds: onCard, Said: []string{"ImageUpscaleWithModel", "nodes_upscale_model"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not enlarge the image with the upscale model",
		Means:    "Upscale Image (using Model) works in tiles of 512 pixels and halves them down to 128 by itself before it gives up. So the tile was not the problem: the card was full of other models, or the input and its result do not fit beside them. At 4x the result has 16 times the pixels.",
		Not:      "Looking for a tile setting: this node has none and has tried the smallest.",
		Cures: []cause.Cure{
			comfyUnload,
			{Fix: "lower_resolution", Title: "A 2x model, or one image at a time", Told: "2x makes 4 times the pixels, 4x 16 times. A clip: in batches of some frames.", Cost: "A smaller result."},
			{Fix: "vae_tiling", Title: "Ultimate SD Upscale", Told: "The node of that name instead, tile_width and tile_height 512.", Cost: "Slower; it redraws each tile."},
		},
		Sources: []string{comfyCode + "comfy_extras/nodes_upscale_model.py"},
	},
	{
		ID: "comfyui/text-encoder", Kinds: onCard, Said: []string{"encode_from_tokens", "encode_token_weights", "CLIPTextEncode", "text_encoders/", `text_encoders\`},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not run the text encoder",
		Means:    "It failed on the prompt, before any work on the image. T5-XXL takes about 9.8 GB at fp16 and half of that at fp8; the encoders of newer models (Qwen, Gemma, Mistral) are often larger. The size of the image does not matter here.",
		Not:      "A smaller image, fewer frames, VAE tiles: none of them has begun.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "The fp8 file of the text encoder", Told: "In the CLIP loader, for example `t5xxl_fp8_e4m3fn_scaled.safetensors`; or a GGUF with CLIPLoader (GGUF).", Cost: "Hardly any quality."},
			{Fix: "cpu_offload", Title: "Encode the prompt on the processor", Told: "CLIP loader: `device` cpu. It runs once for each new prompt.", Cost: "Some seconds, and RAM for it."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py"},
	},
	{
		ID: "comfyui/controlnet", Kinds: onCard, Said: []string{"comfy/controlnet.py", `comfy\controlnet.py`, "ControlNetApply", "comfy/cldm/", `comfy\cldm\`},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Means: "It failed inside a ControlNet. Each is a second model on the card (at 16 bit about 0.7 GB for SD 1.5, 2.5 GB for SDXL, more for Flux) and runs in every step beside the main one.",
		Not:   "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "One ControlNet, in a small file", Told: "Files named fp16, small or control-lora take a half to a tenth; a union model replaces several. Bypass the others (Ctrl+B) to see which one tips it over.", Cost: "Slightly looser control."},
			fewerPixels, comfyKeepFree,
		},
		Sources: []string{comfyCode + "comfy/controlnet.py"},
	},
	{
		ID: "comfyui/attention-whole", Kinds: onCard, Said: []string{"attention_basic", "attention_split", "attention_sub_quad"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of graphics memory in an attention that writes out its scores",
		Means:    "The frame says split, sub-quadratic or basic attention: [[{asked} of ]]scores between all parts of the image, which grow with the square of the pixels. PyTorch's own attention never writes them down.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."}, fewerPixels, comfyKeepFree},
		Sources:  []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/split-refused", Said: []string{"Not enough memory, use lower resolution"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Means:   "The split attention counted beforehand: even in its smallest slices the image needs more than is free on the card. The message itself names the largest square that would fit now.",
		Cures:   []cause.Cure{{Fix: "efficient_attention", Title: "PyTorch's attention instead of split", Cost: "None; usually faster."}, fewerPixels, {Fix: "close_other_apps", Title: "Free the card", Told: "The limit is computed from what is free right now: end other programs that use the card.", Cost: "Free."}},
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/moving-weights", Kinds: onCard, Said: []string{"load_models_gpu", "partially_load", "patch_weight_to_device", "model_load("},
		Unsaid: []string{"model_function_wrapper", "apply_model", "ldm/modules/attention", `ldm\modules\attention`}, Cause: cause.ModelTooLarge, Weight: cause.Good,
		Headline: "ran out of graphics memory while it moved a model to the card",
		Means:    "No step had run. ComfyUI plans such a move by what looked free and splits a model that is too large, so either something else took memory meanwhile, or LoRA patches were computed on top.",
		Not:      "A smaller image: no work on it had begun.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "`nvidia-smi` (Windows also: Task Manager, Details, column Dedicated GPU memory). End a second ComfyUI, games, browsers.", Cost: "Free."},
			comfyKeepFree, smallerFile,
		},
		Sources: []string{comfyCode + "comfy/model_patcher.py", comfyThread + "14396"}, Solved: 1,
	},
	{
		ID: "comfyui/dynamic-vram", Kinds: onCard, Said: []string{saysDynamic, "aimdo: src", "comfy_kitchen"},
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means: "This ComfyUI runs with dynamic VRAM, the loader of 2026: weights are paged in while it works, so that a failed request mostly means too large a piece of work, or a loader that freed too late.",
		Not:   "`--lowvram`: under dynamic VRAM it does nothing, by its own help text.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Keep headroom free, or turn the loader off", Told: "`--vram-headroom 1` (GB; raise it in halves). If that fails, `--disable-dynamic-vram` brings the old loader back. Portable build: at the end of the line in `run_nvidia_gpu.bat`.", Cost: "Slower; the old loader needs more RAM."},
			fewerPixels,
			{Fix: "upgrade_version", Title: "Update ComfyUI", Told: "The loader was fixed often in 2026: Manager, or `update\\update_comfyui.bat` of the portable build.", Cost: "Some minutes."},
		},
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyThread + "13598", comfyThread + "14396", "https://github.com/Comfy-Org/ComfyUI/pull/14480"}, Solved: 2,
	},
	{
		ID: "comfyui/sampling-video", Kinds: onCard, Said: []string{"ldm/wan/model", `ldm\wan\model`, "ldm/hunyuan_video/model", `ldm\hunyuan_video\model`, "ldm/lightricks/model", `ldm\lightricks\model`, "ldm/cosmos/", "ldm/genmo/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it sampled the clip",
		Means:    "It failed in a sampling step of a video model. [[The last piece was {asked}, of a card of {total}. ]]The work grows with width, height and frames together, and all frames are on the card at once; ComfyUI had already moved out what weights it could.",
		Not:      "Fewer steps: each needs the same memory.",
		Cures:    []cause.Cure{fewerFrames, comfyKeepFree, smallerFile},
		Sources:  []string{comfyCode + "comfy/ldm/wan/model.py", comfyThread + "13598"}, Solved: 1,
	},
	{
		ID: "comfyui/sampling-bare", Kinds: []fact.Kind{fact.TorchAsync, fact.ComfyUnload, fact.ComfyTips, fact.CUDAError, fact.DeviceAlloc, fact.PlainDevice, fact.XPURuntime, fact.XPUBlock}, Unsaid: []string{"comfy/controlnet.py", "comfy/cldm/", "IPAdapter"}, Said: []string{"common_ksampler", "KSampler", "sample_custom", "comfy/samplers.py", `comfy\samplers.py`, `comfy\\samplers.py`},
		If: func(c *ledger.Case) bool { return c.F().Requested == nil && !merges(c) && c.Backend != "mps" }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in a sampling step",
		Means:    "The message has no sizes; the frames say where: in a step, so loading was done and decoding had not begun.[[ {part} of the model's weights lay on the card and the rest in RAM, by ComfyUI's own plan.]] What did not fit is the work on the image: it grows with pixels, frames and batch, and ControlNets, IPAdapters and LoRAs add theirs.",
		Figures:  partLoaded,
		Not:      "Fewer steps: each needs the same. VAE tiles: it had not come to that.",
		Cures:    []cause.Cure{fewerPixels, comfyKeepFree, {Fix: "raise_pagefile", Title: "Windows: see RAM and page file too", Told: "The driver itself refused, which it also does where RAM plus page file are promised away: Task Manager, Performance, Memory, \"Committed x / y\" while it runs.", Cost: "Free to look.", If: driverOnWindows}, smallerFile},
		Sources:  []string{comfyCode + "comfy/samplers.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"common_ksampler", "KSampler", "sample_custom", "comfy/samplers.py", `comfy\samplers.py`, `comfy\\samplers.py`},
		If: func(c *ledger.Case) bool { return ledger.Allocator(c) && c.F().Requested != nil && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while sampling",
		Means:    "It failed in a sampling step: {asked} more for the work on the image. ComfyUI fits the weights to what is free before it samples, so what did not fit is that work: it grows with pixels and batch, and ControlNets, IPAdapters and LoRAs add theirs.",
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
		return "the whole input first, then in tiles by ComfyUI itself"
	}
	return ""
}
