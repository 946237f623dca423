package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

const (
	a1111Code   = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/blob/master/modules/"
	a1111Thread = "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/"
)

// a1111Plain is the web UI itself, no fork that has its own memory plan.
func a1111Plain(c *ledger.Case) bool { return !inForge(c) && !c.In("sdnext") }

// wholeCard: one request of more than half the card.
func wholeCard(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.Total != nil && f.Requested.Bytes*2 > f.Total.Bytes
}

func a1111Only(c *ledger.Case) bool { return c.In("a1111") && a1111Plain(c) }

var (
	a1111Medvram = cause.Cure{
		Fix: "lowvram_mode", Title: "Keep less of the model on the card", Cost: "Some speed.",
	}
	a1111Tiled = cause.Cure{
		Fix: "vae_tiling", Title: "Decode in tiles: Tiled VAE", Cost: "Some seconds.",
		Told: "Extensions, Install from URL: `https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111`; then tick Tiled VAE, Decoder Tile Size 64.",
	}
	a1111Smaller = cause.Cure{
		Fix: "lower_resolution", Title: "Make it smaller, enlarge it afterwards", Cost: "One step more.",
		Told: "512 x 512 (SD 1.5) or 1024 x 1024 (SDXL), Batch size 1, Hires. fix off; then tab Extras, or Ultimate SD Upscale in img2img. Half of both sides is a quarter of the pixels.",
	}
	a1111SDP = cause.Cure{
		Fix: "efficient_attention", Title: "An attention that writes no score matrix", Cost: "None; usually faster.",
	}
)

var a1111Cards = slices.Concat([]cause.Card{
	roomLeft("a1111/room-left", a1111Only, a1111Medvram, a1111Thread+"13878", a1111Thread+"10403"),
	othersHold("a1111/others-hold", "The web UI", a1111Only, a1111Code+"memmon.py"),
	{
		ID: "a1111/killed", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...), If: func(c *ledger.Case) bool { return c.In("a1111") },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed by the system: RAM ran out, not the card",
		Means:    "The log ends without an error of its own: the kernel ended the program (signal 9, exit code 137). That is RAM, of the machine, the virtual machine or the container. A checkpoint is read into RAM as a whole, a .ckpt for a moment twice; SD 1.5 then peaks far above the 2 to 4 GB of its file.",
		Not:      "`--medvram`, `--lowvram`, tiles: they are about the card and keep more in RAM.",
		Cures: []cause.Cure{
			boxed,
			{Fix: "use_lower_quant", Title: "A pruned fp16 .safetensors", Told: "SD 1.5: 2 GB instead of 4 to 7, SDXL 6.5; it is read once and not unpickled. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "None for making images."},
			{Fix: "use_mmap", Title: "Load straight to the card", Cost: "Card memory while loading.", Steps: a1111Flags("", step.Change{Flag: "--lowram"})},
		},
		Later:   "`sudo dmesg -T | grep -i -E \"oom|killed\"` on the host names the process and the limit.",
		Sources: []string{a1111Code + "cmd_args.py", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/64", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/347"}, Solved: 1,
	},
}, ofCard(slices.Concat(a1111Addons, a1111Work)))

var a1111Work = []cause.Card{
	{
		ID: "a1111/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return a1111Only(c) && !c.Kind(inRAM...) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "was refused memory through DirectML",
		Means:    "An AMD (or Intel) card under Windows. DirectML does not tell PyTorch what is free and gives little back, so the web UI cannot plan: the same image takes about twice what it takes with ROCm or CUDA.[[ {asked} was refused at once.]]",
		Not:      "`--xformers`, `PYTORCH_CUDA_ALLOC_CONF`: they are for CUDA. FP8 weights: DirectML has none.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "An attention in slices", Cost: "Some speed.", Steps: a1111Flags("", step.Change{Flag: "--opt-sub-quad-attention"}, step.Change{Flag: "--xformers", Drop: true}, step.Change{Flag: "--opt-sdp-attention", Drop: true})},
			a1111Medvram, a1111Smaller,
			{Fix: "upgrade_version", Title: "Leave DirectML", Told: "The same web UI with ZLUDA (`--use-zluda` in lshqqytiger's fork), or PyTorch's ROCm wheels for Windows on RX 7000 and later.", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/lshqqytiger/stable-diffusion-webui-amdgpu", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/first-calculation", Kinds: []fact.Kind{fact.CUDAError, fact.TorchAlloc, fact.TorchAsync}, Said: []string{"first_time_calculation"}, If: a1111Only,
		Cause: cause.Unknown, Weight: cause.Strong,
		Headline: "was refused in its first trial calculation, which needs next to nothing",
		Means:    "`first_time_calculation` multiplies one number to wake CUDA up, beside the loading of the checkpoint. A card or driver that refuses this has nothing left to give: an earlier web UI or another program holds the card, or Windows has no RAM and page file left to back it. So your settings are not what is too large.",
		Not:      "A smaller image, batch or checkpoint: none was reached. `CUDA_LAUNCH_BLOCKING=1` only helps to locate.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "End what is left over, restart the computer", Told: "Close the web UI's window, end every python that is left in the Task Manager; before the next start the card should be nearly empty:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: largerPageFile.Fix, Title: largerPageFile.Title, Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: mostlyWindowsPaths},
			a1111Medvram,
			{Fix: "upgrade_version", Title: "Driver", Told: "Update it, or go back one if it began with an update; then start once with extensions off.", Cost: "Half an hour."},
		},
		Later:   "Scroll up: if an error stands above, that one is the first.",
		Sources: []string{a1111Code + "devices.py", a1111Code + "initialize.py", a1111Thread + "13873"},
	},
	{
		ID: "a1111/extension-training", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return c.Training() && !c.In("sd-dreambooth-extension") },
		Unsaid: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while an extension was training",
		Means:    "The frames are those of a training run inside the web UI. Model, gradients and activations of a step lie on the card together, and the web UI's own model may lie there too, above all if an image was made before.",
		Not:      "`--medvram` and fewer steps: training needs all parts at once, in every step.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Start clean", Told: "End the web UI, see that `nvidia-smi` shows an empty card, start it and train at once, without making an image before; previews off.", Cost: "Free."},
			{Fix: "optimizer_8bit", Title: "The extension's savings together", Told: "LoRA, batch size 1, 8-bit Adam, mixed precision fp16, gradient checkpointing, xformers, EMA off; text encoder off if that is not enough.", Cost: "A third slower."},
			{Fix: "lower_resolution", Title: "Smaller images", Told: "384 instead of 512: 0.56 of the pixels.", Cost: "Less detail learned."},
		},
		Sources: []string{"https://github.com/d8ahazard/sd_dreambooth_extension/blob/main/README.md"},
	},
	{
		ID: "a1111/odd-size", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"split_cross_attention_forward", "cross_attention_attnblock_forward"},
		If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece: attention over an odd size",
		Means:    "The card has {total}. This split attention cuts its work into slices only where the number of latent pixels divides evenly; other sizes take the whole matrix, so that a larger image may fit where this one fails.",
		Not:      "`max_split_size_mb`: no card of this size has such a piece.",
		Cures: []cause.Cure{
			a1111SDP,
			{Fix: "lower_resolution", Title: "Sizes that are multiples of 64", Told: "Width and height, after Hires. fix or upscaling too, in multiples of 64 (best 128): Resize to instead of a factor like 2.55.", Cost: "None."},
			a1111Medvram,
		},
		Sources: []string{a1111Code + "sd_hijack_optimizations.py", a1111Thread + "10887", a1111Thread + "9922", a1111Thread + "7589"}, Solved: 2,
	},
	{
		ID: "a1111/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"einsum('b i d, b j d", "ldm/modules/attention", `ldm\modules\attention`, "sd_hijack_optimizations"},
		If: func(c *ledger.Case) bool { return a1111Plain(c) && wholeCard(c) }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece: attention that writes down all its scores",
		Means:    "The card has {total}. Attention notes here how each latent pixel relates to each other one: the square of the pixels, so twice the sides is 16 times as much. A fast attention never makes that matrix; none is on here, or it did not load.",
		Not:      "`max_split_size_mb` and closing programs: no card has such a piece to spare.",
		Cures:    []cause.Cure{a1111SDP, a1111Smaller, a1111Medvram},
		Sources:  []string{a1111Code + "cmd_args.py", a1111Code + "sd_hijack_optimizations.py", a1111Thread + "7002"},
	},
	{
		ID: "a1111/not-enough", Said: []string{"Not enough memory, use lower resolution"}, If: a1111Plain,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Means:   "The web UI counted beforehand: its split attention, even in its smallest slices, needs more than is free. The message names the largest square that fits now.",
		Cures:   []cause.Cure{a1111SDP, a1111Smaller, a1111Medvram},
		Sources: []string{a1111Code + "sd_hijack_optimizations.py"},
	},
	{
		ID: "a1111/vae", Kinds: onCard, Said: []string{"decode_first_stage", "autoencoder.py", "single_sample_to_image", "first_stage_model.decode"}, If: a1111Plain,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the finished image",
		Means:    "All steps were done; it failed when the VAE turned the latent into pixels[[: {asked} more, with {free} free]]. That takes more than the steps did, grows with the pixels, and doubles with `--no-half-vae`.",
		Not:      "Fewer steps or another sampler: they were over.",
		Cures:    []cause.Cure{a1111Tiled, a1111Medvram, a1111Smaller},
		Sources:  []string{a1111Code + "processing.py", "https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111/issues/63"}, Solved: 2,
	},
	{
		ID: "a1111/hires", Kinds: onCard, Said: []string{"sample_hr_pass", "hires_fix", "sample_hr"}, If: a1111Plain,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the second pass of Hires. fix",
		Means:    "The first pass worked; the enlarged second one failed. At a factor of 2 it has four times the pixels, and attention up to sixteen times the work, all of it for the whole batch at once.",
		Not:      "Fewer hires steps: each needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "A lower factor, or upscale in tiles", Told: "Upscale by 1.5 (0.56 of the pixels of 2), Batch size 1 (Batch count instead). Or Hires. fix off, then img2img with the script Ultimate SD Upscale.", Cost: "One step more."},
			a1111SDP, a1111Tiled,
		},
		Sources: []string{a1111Code + "processing.py", a1111Thread + "11960", a1111Thread + "7002"}, Solved: 2,
	},
	{
		ID: "a1111/face-restorer", Kinds: onCard, Said: []string{"codeformer_model", "gfpgan_model", "face_restoration_utils", "restore_faces"}, If: func(c *ledger.Case) bool { return c.In("a1111") },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the face restorer",
		Means:    "The image was made. CodeFormer or GFPGAN then restores each face at 512 pixels with a model of its own, beside Stable Diffusion and what its last step left on the card.",
		Not:      "Fewer steps, a smaller image for the restorer: faces always have 512 pixels there.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "The restorer on the processor", Told: "A second or two a face.", Steps: a1111Flags("", step.Change{Flag: "--use-cpu", Value: "gfpgan codeformer"}), Cost: "Slower."},
			{Fix: "use_smaller_model", Title: "Leave it out while you draw", Told: "Restore faces off; later in tab Extras with GFPGAN, right after a start. Settings, Face restoration: Move face restoration model from VRAM into RAM after processing.", Cost: "One step more."},
			a1111Medvram,
		},
		Sources: []string{a1111Code + "codeformer_model.py", a1111Code + "face_restoration_utils.py", a1111Code + "shared_options.py", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/upscaler", Kinds: onCard, Said: []string{"upscaler.upscale", "esrgan_model.py", "upscaler_utils.py", "upscale_without_tiling", "tiled_upscale"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the upscaler model",
		Means:    "It failed in ESRGAN or its like, not in Stable Diffusion, whose weights still lie on the card beside it. What counts is the tile in which the upscaler works.",
		Not:      "Another checkpoint or fewer steps: the image was made.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "A smaller tile", Told: "Settings, Upscaling: Tile size for all ESRGAN upscalers 128. 0 means no tiles, the most memory.", Cost: "Some seconds."},
			a1111Medvram,
			{Fix: "lower_resolution", Title: "Enlarge by 2 instead of 4", Told: "Extras: Resize 2; a second time if needed. 4x makes 16 times the pixels.", Cost: "A second pass."},
		},
		Sources: []string{a1111Code + "upscaler_utils.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/training-tab", Kinds: onCard, Said: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"},
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the Train tab",
		Means:    "An embedding or hypernetwork was being trained. That keeps the whole model, its VAE and the gradients on the card at once, whatever was set to save memory for making images.",
		Not:      "`--lowvram`: the Train tab refuses to work with it.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Move VAE and CLIP out while training", Told: "Settings, Training: Move VAE and CLIP to RAM when training if possible; Train tab: Batch size 1, 512 x 512.", Cost: "Previews take longer."},
			a1111SDP,
			{Fix: "use_lora", Title: "A LoRA with kohya's trainer instead", Told: "kohya_ss trains a LoRA of SD 1.5 in 6 to 8 GB, with latents cached and an 8-bit optimizer.", Cost: "Another program to set up."},
		},
		Sources: []string{a1111Code + "textual_inversion/textual_inversion.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/unpickle-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"Error verifying pickled file", "load_with_extra", "check_pt"}, If: func(c *ledger.Case) bool { return c.In("a1111") },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM while it checked a checkpoint, not of graphics memory",
		Means:    "A .ckpt is unpacked once to see that it is harmless, before it is loaded. RAM gave out in that check[[; {asked} is only the last piece]]. \"The file may be malicious\" is printed after any failure of the check, so here it says nothing of the file. On Windows RAM and page file count together.",
		Not:      "`--disable-safe-unpickle`: it gives up the check, and loading needs that memory all the same. `--medvram`: it is about the card.",
		Cures: []cause.Cure{
			letWindowsPage, moreSwapIf,
			{Fix: "use_lower_quant", Title: "A pruned fp16 .safetensors of the model", Told: "2 GB for SD 1.5 instead of 4 to 7; it holds no code, needs no check, and is read once.", Cost: "None for making images."},
			closeForRAM,
		},
		Sources: []string{a1111Code + "safe.py", a1111Code + "sd_models.py"},
	},
	{
		ID: "a1111/loading-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"sd_models.py", "load_model_weights", "read_state_dict", "get_checkpoint_state_dict"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM while loading a checkpoint, not of graphics memory",
		Means:    "A checkpoint is read into RAM as a whole before it goes to the card, and a .ckpt needs room for it twice. [[{asked} is only the piece that was refused last. ]]On Windows RAM and page file count together.",
		Not:      "`--medvram` and `--lowvram`: they keep more in RAM, not less.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "use_lower_quant", Title: "A pruned fp16 .safetensors", Told: "SD 1.5: 2 GB instead of 4 to 7; SDXL 6.5. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "None for making images."},
			{Fix: "use_mmap", Title: "Load straight to the card", Cost: "Card memory while loading.", Steps: a1111Flags("", step.Change{Flag: "--lowram"})},
		},
		Sources: []string{a1111Code + "cmd_args.py", a1111Thread + "7408"}, Solved: 1,
	},
	{
		ID: "a1111/loading-card", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"load_model_weights", "send_model_to_device", "reload_model_weights", "move_model_to"},
		Unsaid: []string{"sd_samplers", "process_images_inner", "CFGDenoiser", "k_diffusion"}, If: a1111Plain,
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory while it put a checkpoint on the card",
		Means:    "SD 1.5 is 2 GB at 16 bit, SDXL 7 with its text encoders. Switching models can need both for a moment, and an SDXL refiner beside its base certainly does.",
		Not:      "A smaller image: no work on it had begun.",
		Cures: []cause.Cure{
			a1111Medvram,
			{Fix: "use_lower_quant", Title: "One model, at 8 bit", Told: "Settings, Stable Diffusion: Maximum number of checkpoints loaded at the same time 1; Optimizations: FP8 weight Enable (1.8 and later); Refiner: None.", Cost: "Little quality."},
			{Fix: "restart_session", Title: "Restart the web UI", Told: "Close its console window and start it again: what a failed load left behind is gone then.", Cost: "Free."},
		},
		Sources: []string{a1111Code + "sd_models.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/controlnet", Kinds: onCard, Said: []string{"sd-webui-controlnet", "cldm.py", "ControlNet"}, If: a1111Plain,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Means: "It failed with ControlNet in use. Each unit is a further model on the card (about 0.7 GB for SD 1.5, 2.5 for SDXL) that runs in every step, and units that are enabled count even where their weight is small.",
		Not:   "Fewer steps: each needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Tick Low VRAM in the unit", Told: "Disable the other units; Settings, ControlNet: Model cache size 1.", Cost: "Slower."},
			a1111Smaller, a1111SDP,
		},
		Sources: []string{"https://github.com/Mikubill/sd-webui-controlnet"},
	},
	{
		ID: "a1111/full-precision", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Phases: []string{"inference"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && fullPrecision(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory, started with --no-half",
		Means:    "`--no-half` keeps the model at 32 bit: twice the weights and twice the work. It is there for cards that make black images at 16 bit (GTX 16xx), and seldom needed in full.",
		Not:      "`max_split_size_mb`: half of what is held would not be there at 16 bit.",
		Cures:    []cause.Cure{{Fix: "half_precision", Title: "Take --no-half out", Cost: "None that can be seen."}, a1111SDP, a1111Smaller},
		Sources:  []string{a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"sd_samplers", "k_diffusion", "CFGDenoiser", "process_images_inner"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.Allocator(c) && !ledger.Roomy(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] while it made an image",
		Means:    "It failed in a sampling step, with the model on the card[[; {mine} of {total} is its own]]. What grows there is the image: pixels times batch size, plus each ControlNet and LoRA.",
		Not:      "Fewer steps: each needs the same memory.",
		Cures:    []cause.Cure{a1111Smaller, a1111Medvram, a1111SDP},
		Sources:  []string{a1111Code + "cmd_args.py", a1111Code + "processing.py"},
	},
}
