package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
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
		Fix: "lower_resolution", Title: "Make the image smaller, upscale it in tiles", Kind: "ui",
		Text: "Empty Latent node: halve width and height, batch_size 1; enlarge afterwards with Ultimate SD Upscale or a tiled upscaler",
		Cost: "A quarter of the pixels; detail comes back by upscaling.",
	}
	fewerFrames = cause.Cure{
		Fix: "lower_resolution", Title: "Make fewer frames, or smaller ones", Kind: "ui",
		Text: "The latent video node: lower length (frames) first, then width and height; join clips afterwards",
		Cost: "A shorter or smaller clip.",
	}
	smallerFile = cause.Cure{
		Fix: "use_lower_quant", Title: "Load an fp8 or GGUF file of the model", Kind: "ui",
		Text: "Load Diffusion Model: a file whose name ends in fp8_scaled or fp8_e4m3fn; or a GGUF (Q5_K_M, Q4_K_S) with the node Unet Loader (GGUF)",
		Cost: "Little quality; half to a quarter of the weights.",
	}
	comfyKeepFree = cause.Cure{
		Fix: "lowvram_mode", Title: "Keep more of the card free for the work",
		Cost: "Slower: more weights wait in system memory.",
	}
	comfyTiles = cause.Cure{
		Fix: "vae_tiling", Title: "Decode in tiles: VAE Decode (Tiled)", Kind: "ui",
		Text: "Replace the node VAE Decode by VAE Decode (Tiled): tile_size 256, overlap 64; for video also temporal_size 16",
		Cost: "Some seconds; seams are rarely seen.",
	}
)

var comfyCards = ofCard(slices.Concat(comfyNodes, comfyCore, comfyBare))

var comfyCore = []cause.Card{
	{
		ID: "comfyui/vae-fell-back", Kinds: []fact.Kind{fact.ComfyVAE},
		If:    func(c *ledger.Case) bool { return !c.Kind(onCard...) && !c.Kind(fact.MPSAlloc) },
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "The whole image did not fit through the VAE, so ComfyUI decodes it again in tiles. That is a warning, not a crash: if the image comes out, nothing needs mending. A log that ends here hung or was cut.",
		Cures:   []cause.Cure{comfyTiles, {Fix: "cpu_offload", Title: "Run the VAE on the processor", Kind: "text", Text: "Start with `--cpu-vae`: takes minutes, needs no memory of the card.", Cost: "Minutes an image."}},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "9547"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-tiles-failed", Kinds: onCard, Said: []string{"retrying with tiled VAE decoding", "decode_tiled_", "decode_tiled("},
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means:   "The VAE failed on the whole image, ComfyUI tried again in tiles by itself, and the tiles did not fit either. The card was nearly full before: models that were not unloaded, or another program.",
		Not:     "Fewer steps or another sampler: sampling was already done.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Decode in smaller tiles", Kind: "ui", Text: "Node VAE Decode (Tiled): tile_size 128 to 256; for video temporal_size 8 to 16", Cost: "Some seconds; seams may show at 128."}, comfyKeepFree, {Fix: "cpu_offload", Title: "Run the VAE on the processor", Kind: "text", Text: "Start with `--cpu-vae`.", Cost: "Minutes an image."}},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "12823", comfyThread + "2431"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-decode-video", Kinds: onCard, Said: []string{"ldm/wan/vae", `ldm\wan\vae`, "hunyuan_video/vae", `hunyuan_video\vae`, "lightricks/vae", `lightricks\vae`, "causal_video_autoencoder"},
		Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "All frames were sampled; what failed is turning them into pixels. A video VAE works on many frames at once, so this step needs more than sampling did.",
		Not:     "A smaller quantisation of the video model: it is out of the way at this point.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Decode in tiles of space and time", Kind: "ui", Text: "Node VAE Decode (Tiled): tile_size 256, overlap 64, temporal_size 16, temporal_overlap 4", Cost: "Slower; tiles in time can flicker a little."}, fewerFrames},
		Sources: []string{comfyCode + "nodes.py", comfyThread + "5759"}, Solved: 2,
	},
	{
		ID: "comfyui/vae-decode", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding"},
		Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "Sampling was done; the last step failed: the VAE turns the latent into all pixels at once, which takes more working memory than sampling. It grows with the pixels and the batch.",
		Not:     "A smaller or quantised model: its weights are not what this step needs.",
		Cures:   []cause.Cure{comfyTiles, comfyKeepFree, fewerPixels},
		Sources: []string{comfyCode + "comfy/sd.py", comfyThread + "5341", comfyThread + "2431"}, Solved: 3,
	},
	{
		ID: "comfyui/vae-encode", Kinds: onCard, Said: []string{"vae.encode(", "VAEEncode", "regular VAE encoding", "encode_tiled_"},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "It failed before sampling, while the VAE encoded the input picture or frames. What counts here is the size of what was loaded, not the size of the output: a photo of 12 megapixels is enough.",
		Not:     "Another sampler or fewer steps: sampling had not begun.",
		Cures:   []cause.Cure{{Fix: "lower_resolution", Title: "Scale the input down before it is encoded", Kind: "ui", Text: "Put the node Upscale Image (or Scale Image to Total Pixels, 1.0 megapixel) between Load Image and VAE Encode", Cost: "None where the output is not larger."}, {Fix: "vae_tiling", Title: "Encode in tiles", Kind: "ui", Text: "Replace VAE Encode by VAE Encode (Tiled), tile_size 512", Cost: "Some seconds."}},
		Sources: []string{comfyCode + "comfy/sd.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/upscale-model", Kinds: onCard, Said: []string{"ImageUpscaleWithModel", "nodes_upscale_model"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "The upscaler works in tiles of 512 pixels and halves them by itself down to 128 before it gives up. So the tile was not the problem: the card was full of models, or the picture and its result do not fit beside them.",
		Not:     "Looking for a tile setting: this node has none and has tried the smallest.",
		Cures:   []cause.Cure{{Fix: "restart_session", Title: "Unload the models first", Kind: "ui", Text: "Manager: Unload Models, Free model and node cache; then run the upscaling in a workflow of its own", Cost: "Models load again next time."}, {Fix: "lower_resolution", Title: "Use a 2x model, or a smaller input", Kind: "ui", Text: "A 4x model makes 16 times the pixels; a 2x model 4 times. Batches: one image at a time", Cost: "A smaller result."}, {Fix: "vae_tiling", Title: "Upscale with Ultimate SD Upscale", Kind: "ui", Text: "Node Ultimate SD Upscale: tile_width and tile_height 512", Cost: "Slower; it redraws each tile."}},
		Sources: []string{comfyCode + "comfy_extras/nodes_upscale_model.py"},
	},
	{
		ID: "comfyui/text-encoder", Kinds: onCard, Said: []string{"encode_from_tokens", "encode_token_weights", "CLIPTextEncode", "text_encoders/", `text_encoders\`},
		Cause: cause.ModelTooLarge, Weight: 0.75,
		Means:   "It failed while the prompt was encoded, before any image work. T5-XXL takes about 9.8 GB at fp16 and half of that at fp8; the encoders of new video models are larger still. The image size does not matter here.",
		Not:     "A smaller image or fewer frames: the encoder never sees them.",
		Cures:   []cause.Cure{{Fix: "use_lower_quant", Title: "Load the fp8 text encoder", Kind: "ui", Text: "CLIP Loader: t5xxl_fp8_e4m3fn_scaled.safetensors (or a GGUF with CLIPLoader (GGUF)) instead of the fp16 file", Cost: "Hardly any quality."}, {Fix: "cpu_offload", Title: "Encode the prompt on the processor", Kind: "ui", Text: "CLIP Loader, DualCLIPLoader: device: cpu", Cost: "Some seconds for each new prompt."}, {Fix: "close_other_apps", Title: "See what else is on the card", Kind: "text", Text: "`nvidia-smi` lists it; a browser with hardware acceleration holds up to some GB.", Cost: "Free."}},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/sd.py"},
	},
	{
		ID: "comfyui/controlnet", Kinds: onCard, Said: []string{"comfy/controlnet.py", `comfy\controlnet.py`, "ControlNetApply", "comfy/cldm/", `comfy\cldm\`},
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means:   "It failed inside a ControlNet. Each one is a second model on the card (at 16 bit about 0.7 GB for SD 1.5, 2.5 GB for SDXL) that runs in every step beside the main one.",
		Cures:   []cause.Cure{{Fix: "use_smaller_model", Title: "Use one ControlNet, at fp16 or as a control LoRA", Kind: "ui", Text: "Control files named fp16, small or control-lora take a half to a tenth; a union model replaces several", Cost: "Slightly looser control."}, fewerPixels, comfyKeepFree},
		Sources: []string{comfyCode + "comfy/controlnet.py"},
	},
	{
		ID: "comfyui/attention-whole", Kinds: onCard, Said: []string{"attention_basic", "attention_split", "attention_sub_quad"},
		Cause: cause.OversizedAllocation, Weight: 0.75,
		Means:   "This ComfyUI runs attention without a fused kernel: the frame says split, sub-quadratic or basic. It builds score matrices that grow with the square of the pixels, where PyTorch's own attention needs none.",
		Cures:   []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch's attention", Cost: "None; usually faster."}, fewerPixels},
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/split-refused", Said: []string{"Not enough memory, use lower resolution"},
		Cause: cause.OversizedAllocation, Weight: 0.9,
		Means:   "The split attention counted beforehand: even in its smallest slices the picture needs more than is free on the card. The message itself names the largest square that would fit now.",
		Cures:   []cause.Cure{{Fix: "efficient_attention", Title: "Leave split attention for PyTorch's own", Cost: "None; usually faster."}, fewerPixels, {Fix: "close_other_apps", Title: "Free the card", Kind: "text", Text: "The limit is computed from what is free right now: end other programs that use the card.", Cost: "Free."}},
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py"},
	},
	{
		ID: "comfyui/moving-weights", Kinds: onCard, Said: []string{"load_models_gpu", "partially_load", "patch_weight_to_device", "model_load("},
		Unsaid: []string{"model_function_wrapper", "apply_model", "ldm/modules/attention", `ldm\modules\attention`}, Cause: cause.ModelTooLarge, Weight: 0.6,
		Means:   "It failed while weights were moved to the card, before the first step. ComfyUI plans that move by what looked free, so either something else took memory meanwhile, or LoRA patches were computed on top.",
		Not:     "A smaller image: no image work had begun.",
		Cures:   []cause.Cure{{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "text", Text: "`nvidia-smi` (Windows: Task Manager, Details, column Dedicated GPU memory). End a second ComfyUI, games, browsers.", Cost: "Free."}, comfyKeepFree, smallerFile},
		Sources: []string{comfyCode + "comfy/model_patcher.py", comfyThread + "14396"}, Solved: 1,
	},
	{
		ID: "comfyui/dynamic-vram", Kinds: onCard, Said: []string{saysDynamic, "aimdo: src"},
		Cause: cause.BatchTooLarge, Weight: 0.55,
		Means:   "This ComfyUI runs with dynamic VRAM, the loader of 2026: weights are paged in while it works, so that a failed request mostly means too large a piece of work, or a loader that freed too late.",
		Not:     "`--lowvram`: under dynamic VRAM it does nothing, by its own help text.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Keep headroom free, or turn the loader off", Kind: "text", Text: "Start with `--vram-headroom 1` (GB, raise it in halves); if that fails, `--disable-dynamic-vram` brings the old loader back.", Cost: "Slower; the old loader needs more RAM."}, fewerPixels, {Fix: "upgrade_version", Title: "Update ComfyUI", Kind: "text", Text: "The loader was mended often in 2026: update with the Manager or update\\update_comfyui.bat.", Cost: "Some minutes."}},
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyThread + "13598", comfyThread + "14396", "https://github.com/Comfy-Org/ComfyUI/pull/14480"}, Solved: 2,
	},
	{
		ID: "comfyui/sampling-video", Kinds: onCard, Said: []string{"ldm/wan/model", `ldm\wan\model`, "ldm/hunyuan_video/model", `ldm\hunyuan_video\model`, "ldm/lightricks/model", `ldm\lightricks\model`, "ldm/cosmos/", "ldm/genmo/"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "It failed in a sampling step of a video model. The work grows with width, height and frames together, and all frames are in the card at once. ComfyUI had already moved out the weights it could.",
		Not:     "Fewer steps: each step needs the same memory.",
		Cures:   []cause.Cure{fewerFrames, comfyKeepFree, smallerFile},
		Sources: []string{comfyCode + "comfy/ldm/wan/model.py", comfyThread + "13598"}, Solved: 1,
	},
	{
		ID: "comfyui/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"common_ksampler", "KSampler", "sample_custom", "comfy/samplers.py", `comfy\samplers.py`},
		If: func(c *ledger.Case) bool { return ledger.Allocator(c) && c.F().Requested != nil }, Cause: cause.BatchTooLarge, Weight: 0.65,
		Means:   "It failed in a sampling step. ComfyUI fits the weights to what is free before it samples, so what did not fit is the work on the image: it grows with pixels and batch, and ControlNets, IPAdapters and previews add theirs.",
		Not:     "Fewer steps: each step needs the same memory.",
		Cures:   []cause.Cure{fewerPixels, comfyKeepFree, smallerFile},
		Sources: []string{comfyCode + "comfy/samplers.py", comfyCode + "comfy/model_management.py"},
	},
}
