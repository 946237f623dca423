package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	a1111Code   = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/blob/master/modules/"
	a1111Thread = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/"
	forgeCode   = "https://github.com/lllyasviel/stable-diffusion-webui-forge/blob/main/"
)

// a1111Plain is the web UI itself, no fork that has its own memory plan.
func a1111Plain(c *ledger.Case) bool { return !inForge(c) && !c.In("sdnext") }

// wholeCard: one request of more than half the card.
func wholeCard(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.Total != nil && f.Requested.Bytes*2 > f.Total.Bytes
}

var (
	a1111Medvram = cause.Cure{
		Fix: "lowvram_mode", Title: "Start with --medvram", Cost: "Some speed; --medvram-sdxl does it for SDXL alone.",
	}
	a1111Tiled = cause.Cure{
		Fix: "vae_tiling", Title: "Decode in tiles: Tiled VAE", Kind: "ui",
		Text: "Install the extension multidiffusion-upscaler-for-automatic1111; tick Tiled VAE, Decoder Tile Size 64", Cost: "Some seconds.",
	}
	a1111Smaller = cause.Cure{
		Fix: "lower_resolution", Title: "Make it smaller, enlarge it afterwards", Kind: "ui",
		Text: "512x512 (SD 1.5) or 1024x1024 (SDXL), Batch size 1; then tab Extras, or the script Ultimate SD Upscale in img2img", Cost: "One step more.",
	}
	a1111SDP = cause.Cure{
		Fix: "efficient_attention", Title: "Use an attention that builds no matrix", Cost: "None; usually faster.",
	}
)

var a1111Cards = ofCard([]cause.Card{
	{
		ID: "a1111/odd-size", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"split_cross_attention_forward", "cross_attention_attnblock_forward"},
		If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: 0.9,
		Means:   "It asked for {asked} in one piece on a {total} card. This attention cuts the work into slices only where the number of latent pixels divides evenly; other sizes take the whole matrix, so a larger picture may fit where this one fails.",
		Not:     "`max_split_size_mb`: no card of this size has such a piece.",
		Cures:   []cause.Cure{a1111SDP, {Fix: "lower_resolution", Title: "Use sizes that are multiples of 64", Kind: "ui", Text: "Set width and height, after Hires. fix or upscaling too, to multiples of 64 (best 128): use Resize to instead of a factor like 2.55", Cost: "None."}},
		Sources: []string{a1111Code + "sd_hijack_optimizations.py", a1111Thread + "10887", a1111Thread + "9922", a1111Thread + "7589"}, Solved: 2,
	},
	{
		ID: "a1111/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"einsum('b i d, b j d", "ldm/modules/attention", `ldm\modules\attention`, "sd_hijack_optimizations"},
		If: func(c *ledger.Case) bool { return a1111Plain(c) && wholeCard(c) }, Cause: cause.OversizedAllocation, Weight: 0.9,
		Means:   "It asked for {asked} in one piece: attention writes down how each latent pixel relates to each other one, the square of the pixels. A fast attention never makes that matrix; none is on here, or it did not load.",
		Not:     "`max_split_size_mb` and closing programs: no card has such a piece to spare.",
		Cures:   []cause.Cure{a1111SDP, a1111Smaller},
		Sources: []string{a1111Code + "cmd_args.py", a1111Code + "sd_hijack_optimizations.py", a1111Thread + "7002"},
	},
	{
		ID: "a1111/not-enough", Said: []string{"Not enough memory, use lower resolution"}, If: a1111Plain,
		Cause: cause.OversizedAllocation, Weight: 0.9,
		Means:   "The web UI counted beforehand: its split attention, even in its smallest slices, needs more than is free. The message names the largest square that fits now.",
		Cures:   []cause.Cure{a1111SDP, a1111Smaller, a1111Medvram},
		Sources: []string{a1111Code + "sd_hijack_optimizations.py"},
	},
	{
		ID: "a1111/vae", Kinds: onCard, Said: []string{"decode_first_stage", "autoencoder.py", "single_sample_to_image", "first_stage_model.decode"}, If: a1111Plain,
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "All steps were done; it failed when the VAE turned the latent into pixels, which takes more than the steps did. It grows with the pixels, and doubles with `--no-half-vae`.",
		Not:     "Fewer steps or another sampler: they were over.",
		Cures:   []cause.Cure{a1111Tiled, a1111Medvram, a1111Smaller},
		Sources: []string{a1111Code + "processing.py", "https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111/issues/63"}, Solved: 2,
	},
	{
		ID: "a1111/hires", Kinds: onCard, Said: []string{"sample_hr_pass", "hires_fix", "sample_hr"}, If: a1111Plain,
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "The first pass worked; the second pass of Hires. fix failed. At a factor of 2 it has four times the pixels, and attention up to sixteen times the work, all of it for the whole batch at once.",
		Not:     "Fewer hires steps: each needs the same memory.",
		Cures:   []cause.Cure{{Fix: "lower_resolution", Title: "Lower the factor, or upscale in tiles", Kind: "ui", Text: "Hires. fix: Upscale by 1.5, Batch size 1 (Batch count instead); or without it: img2img with the script Ultimate SD Upscale", Cost: "One step more."}, a1111SDP, a1111Tiled},
		Sources: []string{a1111Code + "processing.py", a1111Thread + "11960", a1111Thread + "7002"}, Solved: 2,
	},
	{
		ID: "a1111/upscaler", Kinds: onCard, Said: []string{"upscaler.upscale", "esrgan_model.py", "upscaler_utils.py", "upscale_without_tiling", "tiled_upscale"},
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means:   "It failed in the upscaler model (ESRGAN and its like), not in Stable Diffusion, whose weights still lie on the card beside it. What counts is its tile.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Lower the upscaler's tile", Kind: "ui", Text: "Settings, Upscaling: Tile size for all ESRGAN upscalers 128 (0 means no tiles: the most memory)", Cost: "Some seconds."}, a1111Medvram, {Fix: "lower_resolution", Title: "Enlarge by 2 instead of 4", Kind: "ui", Text: "Extras: Resize 2; a second time if needed", Cost: "A second pass."}},
		Sources: []string{a1111Code + "upscaler_utils.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/training-tab", Kinds: onCard, Said: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"},
		Cause: cause.TrainingStateTooLarge, Weight: 0.8,
		Means:   "It failed while training an embedding or hypernetwork in the Train tab. That keeps the whole model, its VAE and the gradients on the card at once, whatever was set to save memory for making images.",
		Not:     "`--lowvram`: the Train tab refuses to work with it.",
		Cures:   []cause.Cure{{Fix: "cpu_offload", Title: "Move VAE and CLIP out while training", Kind: "ui", Text: "Settings, Training: Move VAE and CLIP to RAM when training if possible; Train tab: Batch size 1, 512x512", Cost: "Previews take longer."}, a1111SDP, {Fix: "use_lora", Title: "Train a LoRA with kohya's trainer instead", Kind: "text", Text: "kohya_ss trains a LoRA of SD 1.5 in 6 to 8 GB, with latents cached and an 8-bit optimizer.", Cost: "Another program to set up."}},
		Sources: []string{a1111Code + "textual_inversion/textual_inversion.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/loading-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"sd_models.py", "load_model_weights", "read_state_dict", "get_checkpoint_state_dict"},
		Cause: cause.HostMemory, Weight: 0.9,
		Means:   "It was system memory that ran out, not the card's: a checkpoint is read into RAM as a whole before it goes to the card, and a .ckpt needs room for it twice.",
		Not:     "`--medvram` and `--lowvram`: they keep more in RAM, not less.",
		Cures:   []cause.Cure{letWindowsPage, {Fix: "use_mmap", Title: "Load straight to the card", Kind: "config", Text: "set COMMANDLINE_ARGS=--lowram", Cost: "Card memory while loading."}, {Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Kind: "ui", Text: "Choose the pruned fp16 .safetensors of the model; Settings, Stable Diffusion: Checkpoints to cache in RAM 0", Cost: "None for making images."}},
		Sources: []string{a1111Code + "cmd_args.py", a1111Thread + "7408"}, Solved: 1,
	},
	{
		ID: "a1111/loading-card", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"load_model_weights", "send_model_to_device", "reload_model_weights", "move_model_to"}, If: a1111Plain,
		Cause: cause.ModelTooLarge, Weight: 0.65,
		Means:   "It failed while the model was put on the card. Switching models can need both for a moment, and an SDXL refiner beside its base certainly does. SD 1.5 is 2 GB, SDXL 7 GB at 16 bit.",
		Not:     "A smaller image: no image work had begun.",
		Cures:   []cause.Cure{a1111Medvram, {Fix: "use_lower_quant", Title: "Keep one model, at 8 bit", Kind: "ui", Text: "Settings, Stable Diffusion: Maximum number of checkpoints loaded at the same time 1; Optimizations: FP8 weight Enable (1.8 and later); Refiner: None", Cost: "Little quality."}, {Fix: "restart_session", Title: "Restart the web UI", Kind: "text", Text: "Close its console window and start it again: what a failed load left behind is gone then.", Cost: "Free."}},
		Sources: []string{a1111Code + "sd_models.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/controlnet", Kinds: onCard, Said: []string{"sd-webui-controlnet", "cldm.py", "ControlNet"}, If: a1111Plain,
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means:   "It failed with ControlNet in use. Each unit is a further model on the card that runs in every step, and units that are enabled count even where their weight is small.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Tick Low VRAM in the unit", Kind: "ui", Text: "ControlNet unit: Low VRAM; disable other units; Settings, ControlNet: Model cache size 1", Cost: "Slower."}, a1111Medvram, a1111Smaller},
		Sources: []string{"https://github.com/Mikubill/sd-webui-controlnet"},
	},
	{
		ID: "a1111/full-precision", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Phases: []string{"inference"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && fullPrecision(c) },
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "`--no-half` keeps the model at 32 bit: twice the weights and twice the work. It is there for cards that make black images at 16 bit (GTX 16xx), and seldom needed in full.",
		Cures:   []cause.Cure{{Fix: "half_precision", Title: "Take --no-half out", Cost: "None that can be seen."}, a1111SDP},
		Sources: []string{a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"sd_samplers", "k_diffusion", "CFGDenoiser", "process_images_inner"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.Allocator(c) && !ledger.Roomy(c) },
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means:   "It failed in a sampling step, with the model on the card. What grows there is the image: pixels times batch size, plus each ControlNet and LoRA.",
		Not:     "Fewer steps: each needs the same memory.",
		Cures:   []cause.Cure{a1111Smaller, a1111Medvram, a1111SDP},
		Sources: []string{a1111Code + "cmd_args.py", a1111Code + "processing.py"},
	},
})

var forgeCards = ofCard([]cause.Card{
	{
		ID: "forge/weights-too-large", Kinds: []fact.Kind{fact.ForgeLoad}, Said: []string{"Remaining: -"}, If: func(c *ledger.Case) bool { return !c.Kind(fact.CPUAlloc, fact.CommitLimit) },
		Cause: cause.ModelTooLarge, Weight: 0.8,
		Means:   "Forge's own plan says it: Remaining is negative, so the weights (Model Require) are larger than the card leaves for them. Forge swaps the rest, in card memory or in pinned RAM, and one of the two was refused.",
		Not:     "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures:   []cause.Cure{{Fix: "use_lower_quant", Title: "Use an NF4 or GGUF build", Kind: "ui", Text: "flux1-dev-bnb-nf4-v2 (8 GB and more) or a GGUF such as flux1-dev-Q4_K_S; Diffusion in Low Bits: Automatic", Cost: "Little quality."}, {Fix: "lowvram_mode", Title: "Lower GPU Weights (MB)", Kind: "ui", Text: "At the top: GPU Weights (MB) about 2000 lower; Swap Location: CPU; Swap Method: Queue", Cost: "Some speed."}},
		Sources: []string{forgeCode + "backend/memory_management.py", forgeCode + "modules_forge/main_entry.py"},
	},
	{
		ID: "forge/weights-slider", Kinds: []fact.Kind{fact.ForgeLoad}, If: func(c *ledger.Case) bool { return !c.Kind(fact.CPUAlloc, fact.CommitLimit) },
		Cause: cause.ModelTooLarge, Weight: 0.75,
		Means:   "Forge planned its weights by the slider GPU Weights: what it is set to goes on the card, whatever else is there. The plan stands in the line [Memory Management]: with a small Remaining the slider is too high.",
		Not:     "`--medvram`, `--lowvram`: Forge ignores both.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Lower GPU Weights (MB)", Kind: "ui", Text: "At the top: GPU Weights (MB): card minus 3000 (8 GB card: 5000; with Hires. fix or ControlNet less); Swap Location: CPU", Cost: "Some speed."}, {Fix: "use_lower_quant", Title: "Use an NF4 or GGUF build", Kind: "ui", Text: "flux1-dev-bnb-nf4-v2 or a Q4_K_S GGUF, and an fp8 T5; Diffusion in Low Bits: Automatic", Cost: "Little quality."}},
		Sources: []string{forgeCode + "modules_forge/main_entry.py", forgeCode + "backend/memory_management.py"},
	},
	{
		ID: "forge/vae", Kinds: onCard, Said: []string{"decode_first_stage", "vae.decode", "autoencoder", "IntegratedAutoencoderKL"}, If: inForge,
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means:   "All steps were done; the VAE failed. Forge retries in tiles by itself where it sees the failure coming; here it did not, or the tiles found no room beside the weights.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Always decode in tiles", Kind: "ui", Text: "Never OOM Integrated: tick Enabled for VAE (always tiled)", Cost: "Some seconds."}, {Fix: "lowvram_mode", Title: "Lower GPU Weights (MB) by 1000", Kind: "ui", Text: "At the top: GPU Weights (MB) 1000 lower than now", Cost: "Some speed."}},
		Sources: []string{forgeCode + "extensions-builtin/sd_forge_neveroom/scripts/forge_never_oom.py"},
	},
	{
		ID: "forge/ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), If: inForge,
		Cause: cause.HostMemory, Weight: 0.9,
		Means:   "System memory ran out, not the card's. Flux with T5 passes 16 to 33 GB through RAM while it loads, and Forge keeps what does not fit on the card there.",
		Not:     "GPU Weights lower: that moves more into RAM.",
		Cures:   []cause.Cure{letWindowsPage, {Fix: "use_lower_quant", Title: "Use NF4 or GGUF, and an fp8 T5", Kind: "ui", Text: "flux1-dev-bnb-nf4-v2 (all in one, 12 GB) or a Q4_K_S GGUF with t5xxl_fp8_e4m3fn", Cost: "Little quality."}},
		Sources: []string{forgeCode + "backend/memory_management.py"},
	},
})

var sdnextCards = ofCard([]cause.Card{
	{
		ID: "sdnext/balanced", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"sdnext", "oom:", "automatic/modules", "modules/sd_offload.py", "Processing: "},
		If: func(c *ledger.Case) bool { return c.In("sdnext") }, Cause: cause.BatchTooLarge, Weight: 0.55,
		Means:   "SD.Next moves parts of the model by its offload mode. Balanced, its default, keeps weights on the card up to a high watermark (70 % by default): what is left above must hold the work on the image.",
		Not:     "A1111's `--opt-sdp-attention` and `--medvram-sdxl`: SD.Next does not know them.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Lower the offload watermark", Kind: "ui", Text: "Settings, Models & Loading: Model offload mode balanced, GPU high watermark 0.5; or sequential, the slowest and smallest", Cost: "Slower."}, {Fix: "vae_tiling", Title: "Turn VAE tiling on", Kind: "ui", Text: "Settings, Variable Auto Encoder: VAE tiling", Cost: "Some seconds."}, {Fix: "use_lower_quant", Title: "Quantise while loading", Kind: "ui", Text: "Settings, Quantization Settings: tick Model and Text Encoder for one method (BitsAndBytes, NNCF, SDNQ)", Cost: "Little quality."}},
		Sources: []string{"https://github.com/vladmandic/automatic/blob/master/modules/shared.py"},
	},
})
