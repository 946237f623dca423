package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
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
		Fix: "lowvram_mode", Title: "Start with `--medvram` or `--lowvram`", Cost: "Some speed.",
	}
	// a1111FullHalf is first where it holds: it halves weights and activations.
	a1111FullHalf = cause.Cure{
		Fix: "half_precision", Title: "Remove `--no-half`: it doubles the memory", Cost: "Black images on GTX 16xx.", If: fullPrecision,
	}
	// a1111Flagless is --medvram where the attention is on already.
	a1111Flagless = cause.Cure{Fix: a1111Medvram.Fix, Title: a1111Medvram.Title, Cost: a1111Medvram.Cost, If: func(c *ledger.Case) bool { return leanAttention(c) != "" }}
	a1111Tiled    = cause.Cure{
		Fix: "vae_tiling", Title: "Turn on Tiled VAE", Cost: "Some seconds.",
		Told: "Extensions, Install from URL: `https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111`; then tick Tiled VAE, Decoder Tile Size 64.",
	}
	a1111Smaller = cause.Cure{
		Fix: "lower_resolution", Title: "Lower the resolution, upscale afterwards", Cost: "One more step.",
		Told: "Lower width and height (SD 1.5 not above 512 x 512, SDXL 1024 x 1024), Batch size 1, Hires. fix off; then upscale in tab Extras or with Ultimate SD Upscale.",
	}
)

// a1111Flagged is the attention first, in one line with `--medvram`.
func a1111Flagged(title string) cause.Cure {
	return cause.Cure{Fix: "efficient_attention", Title: title, Steps: a1111Low, Cost: "Some speed, by `--medvram`.", If: func(c *ledger.Case) bool { return notMac(c) && leanAttention(c) == "" }}
}

var a1111Cards = slices.Concat([]cause.Card{
	roomLeft("a1111/room-left", a1111Only, a1111Medvram, a1111Thread+"13878", a1111Thread+"10403"),
	othersHold("a1111/others-hold", "the web UI", a1111Only, a1111Code+"memmon.py"),
	{
		ID: "a1111/killed-docker", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...), Said: []string{"webui-docker-"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was ended in its container, most likely because RAM ran out",
		Means:    "The log ends without an error of the web UI's own, as it does when the system ends a program for lack of RAM: the container's, Docker Desktop's virtual machine's or the computer's. A checkpoint is read into RAM as a whole, a .ckpt for a moment twice.",
		Not:      "`--medvram`, `--lowvram`: they keep more in RAM.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give Docker more RAM, or add swap", Cost: "Less RAM for other programs; swap is slow.", Ways: []cause.Way{
				{For: "Windows", Text: "in `C:\\Users\\YOU\\.wslconfig`, section `[wsl2]`: `memory=` most of your RAM (half by default), `swap=32GB`; then `wsl --shutdown`"},
				{For: "Mac", Text: "Docker Desktop, Settings, Resources: Memory limit"},
				{For: "Linux", Text: "`sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`; and no `mem_limit:` in `docker-compose.yml`"},
			}},
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Told: "SD 1.5: 2 GB instead of 4 to 7, SDXL 6.5. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "No visible difference."},
			{Fix: "use_mmap", Title: "Load straight to the card: `--lowram`", Told: "In `docker-compose.yml`, at the end of your service's `CLI_ARGS=`.", Cost: "VRAM while loading."},
		},
		Later:   "`sudo dmesg -T | grep -i -E \"oom|killed\"` on the host names the process and the limit.",
		Sources: []string{a1111Code + "cmd_args.py", "https://github.com/AbdBarho/stable-diffusion-webui-docker/blob/master/docker-compose.yml", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/64", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/347"}, Solved: 1,
	},
	{
		ID: "a1111/killed-colab", Kinds: killed, Said: []string{"/content/"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was ended while it loaded a checkpoint, most likely because RAM ran out",
		Means:    "Nobody need have pressed ^C: Colab prints it when it ends a program for lack of RAM. A free runtime has about 12.7 GB, and a checkpoint is read into RAM as a whole (SDXL 6.5 GB, for a moment twice), beside what is loaded already.",
		Not:      "`--medvram`, `--lowvram`: they keep more in RAM.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Load straight to the card: `--lowram`", Told: "Add it to the options in the cell that starts `launch.py` or `webui.py`: Colab's card has more memory (15 GB) than its RAM.", Kind: "config", Text: "--lowram", Cost: "VRAM while loading."},
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Told: "SD 1.5 is 2 GB then, SDXL 6.5; no .ckpt. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "No visible difference."},
			colabRAM,
		},
		Sources: []string{a1111Code + "cmd_args.py", a1111Code + "sd_models.py"},
	},
	{
		ID: "a1111/killed", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...), If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was ended by the system, most likely because RAM ran out",
		Means:    "The log ends without an error of the web UI's own, as it does when the system ends a program for lack of RAM: of the machine, the virtual machine or the container. A checkpoint is read into RAM as a whole, a .ckpt for a moment twice.",
		Not:      "`--medvram`, `--lowvram`: they keep more in RAM.",
		Cures: []cause.Cure{
			pageAfterSilence,
			boxed,
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Told: "SD 1.5: 2 GB instead of 4 to 7, SDXL 6.5. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "No visible difference."},
			{Fix: "use_mmap", Title: "Load straight to the card: `--lowram`", Cost: "VRAM while loading.", Steps: a1111Flags("", step.Change{Flag: "--lowram"})},
		},
		Later:   "`sudo dmesg -T | grep -i -E \"oom|killed\"` on the host names the process and the limit.",
		Sources: []string{a1111Code + "cmd_args.py", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/64", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/347"}, Solved: 1,
	},
}, ofCard(slices.Concat(a1111Addons, a1111Work)))

// a1111Decoding: it failed in the VAE, after the steps.
func a1111Decoding(c *ledger.Case) bool {
	return c.Near("decode_first_stage", "single_sample_to_image") || passes(c, "autoencoder.py", "decode")
}

// a1111Moving: modules/lowvram.py wraps the parts of the model only under
// --medvram and --lowvram (setup_for_low_vram, all versions).
func a1111Moving(c *ledger.Case) bool {
	_, on := c.Setting("medvram", "medvram_sdxl")
	return on || passes(c, "lowvram.py", "")
}

// passes: the traceback goes through a file, and a function if one is named.
func passes(c *ledger.Case, file, function string) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return strings.HasSuffix(f.File, file) && (function == "" || f.Function == function)
	})
}

var a1111Work = []cause.Card{
	{
		ID: "a1111/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return a1111Only(c) && !c.Kind(inRAM...) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "was refused memory through DirectML",
		Means:    "DirectML (AMD, Intel or older NVIDIA cards under Windows) does not tell PyTorch what is free, so the web UI cannot plan, and an image usually needs more memory than with ROCm or CUDA.[[ A request for {asked} was refused.]]",
		Not:      "`--xformers`, `PYTORCH_CUDA_ALLOC_CONF`: they are for CUDA.",
		Cures: []cause.Cure{
			{Fix: a1111Tiled.Fix, Title: a1111Tiled.Title, Told: a1111Tiled.Told, Cost: a1111Tiled.Cost, If: a1111Decoding},
			{Fix: "efficient_attention", Title: "Turn on sub-quadratic attention; `--lowvram` if it was `--medvram`", Cost: "Some speed.", If: a1111Moving, Steps: a1111Flags("One of the two is on already.", step.Change{Flag: "--lowvram"}, step.Change{Flag: "--medvram", Drop: true}, step.Change{Flag: "--opt-sub-quad-attention"}, step.Change{Flag: "--xformers", Drop: true}, step.Change{Flag: "--opt-sdp-attention", Drop: true})},
			{Fix: "efficient_attention", Title: "Turn on sub-quadratic attention and `--medvram`", Cost: "Some speed.", If: when.Not(a1111Moving), Steps: a1111Flags("With 4 GB or less `--lowvram` in place of `--medvram`.", step.Change{Flag: "--medvram"}, step.Change{Flag: "--opt-sub-quad-attention"}, step.Change{Flag: "--xformers", Drop: true}, step.Change{Flag: "--opt-sdp-attention", Drop: true})},
			a1111Smaller,
			{Fix: "upgrade_version", Title: "Use ZLUDA or ROCm in place of DirectML", Told: "ZLUDA: `--use-zluda` in lshqqytiger's fork; or PyTorch's ROCm wheels for Windows on RX 7000 and later.", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/lshqqytiger/stable-diffusion-webui-amdgpu", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/first-calculation", Kinds: []fact.Kind{fact.CUDAError, fact.TorchAlloc, fact.TorchAsync}, Said: []string{"first_time_calculation"}, If: a1111Only, Cause: cause.Unknown, Weight: cause.Strong,
		Headline: "was refused memory in its first trial calculation, which needs very little",
		Means:    "`first_time_calculation` runs a tiny layer once to start CUDA, beside the loading of the checkpoint. If even this is refused, most often an earlier web UI or another program holds the card, or Windows has no RAM plus page file left to back it.",
		Not:      "A smaller image or batch: no image had been started.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "End left-over processes, or restart the computer", Told: "Close the web UI's window and end each python process that is left (Windows: Task Manager). Before the next start the card should be nearly empty:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: largerPageFile.Fix, Title: largerPageFile.Title, Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: mostlyWindowsPaths},
			a1111Medvram,
			{Fix: "upgrade_version", Title: "Update the graphics driver", Told: "Or go back one version if this began with an update; then start once with extensions off.", Cost: "Half an hour."},
		},
		Later:   "If another error stands above this one, fix that one first.",
		Sources: []string{a1111Code + "devices.py", a1111Code + "initialize.py", a1111Thread + "13873"},
	},
	{
		ID: "a1111/extension-training", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return c.Training() && !c.In("sd-dreambooth-extension") }, Unsaid: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while an extension was training",
		Means:    "An extension was training inside the web UI. Model, gradients, optimizer state and activations are on the card together; the web UI's own model may be there too, above all if an image was made before.",
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart, and train before making an image", Told: "Close the web UI, check that `nvidia-smi` shows an empty card, start it and train at once, with previews off.", Cost: "Free."},
			{Fix: "optimizer_8bit", Title: "Turn on LoRA, 8-bit Adam and gradient checkpointing", Told: "Also batch size 1, mixed precision fp16, xformers, EMA off; text encoder off if that is not enough.", Cost: "A third slower."},
			{Fix: "lower_resolution", Title: "Train at a lower resolution", Told: "Three quarters of the present one is 0.56 of the pixels.", Cost: "Less detail learned."},
		},
		Sources: []string{"https://github.com/d8ahazard/sd_dreambooth_extension/blob/main/README.md"},
	},
	{
		ID: "a1111/odd-size", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"split_cross_attention_forward", "cross_attention_attnblock_forward"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece for attention",
		Means:    "The card has {total}. This split attention uses slices only where the number of latent pixels divides evenly; other sizes take the whole score matrix, so a larger image may fit where this one fails.",
		Not:      "`max_split_size_mb`: the request is larger than the card.",
		Cures: []cause.Cure{
			a1111Flagged("Turn on a memory-efficient attention"),
			{Fix: "lower_resolution", Title: "Use sizes that are multiples of 64", Told: "Width and height, also after Hires. fix or upscaling, in multiples of 64 (best 128): Resize to in place of a factor like 2.55.", Cost: "None."},
			a1111FullHalf, a1111Smaller, a1111Flagless,
		},
		Sources: []string{a1111Code + "sd_hijack_optimizations.py", a1111Thread + "10887", a1111Thread + "9922", a1111Thread + "7589"}, Solved: 2,
	},
	{
		ID: "a1111/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"einsum('b i d, b j d", "ldm/modules/attention", `ldm\modules\attention`, "sd_hijack_optimizations"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && wholeCard(c) }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece for the score matrix of attention",
		Means:    "The card has {total}. Plain attention writes out a matrix that grows with the square of the pixels: twice the width and height is 16 times as much. A memory-efficient attention needs no such matrix; most likely none is on, or it did not load.",
		Not:      "`max_split_size_mb`: one request takes more than half of the card.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Flagged("Turn on a memory-efficient attention"), a1111Smaller, a1111Flagless, a1111Tiled},
		Sources:  []string{a1111Code + "cmd_args.py", a1111Code + "sd_hijack_optimizations.py", a1111Thread + "7002"},
	},
	{
		ID: "a1111/spilled", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return a1111Only(c) && !c.Training() && ledger.Overfull(c) }, Unsaid: []string{"load_model_weights", "send_model_to_device"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "held {mine} on a card of {total}, then was refused {asked}",
		Means:    "Windows moved what did not fit to RAM, which is very slow, until that was full too. So the image is far too large for this card as it is made now: in the steps the reason is attention (it writes out a score matrix if no option for it is on), at 100 % the VAE.",
		Not:      "Fewer steps: each needs the same. Closing other programs: {mine} is the web UI's own.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Flagged("Turn on an efficient attention, and `--medvram`"), a1111Smaller, {Fix: a1111Tiled.Fix, Title: "If it failed at 100 %: turn on Tiled VAE", Told: a1111Tiled.Told, Cost: a1111Tiled.Cost}, a1111Flagless},
		Sources:  []string{a1111Code + "sd_hijack_optimizations.py", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/not-enough", Said: []string{"Not enough memory, use lower resolution"}, If: a1111Plain, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "refused to begin: its attention does not fit on the card, even in 64 slices",
		Means:    "The web UI's split attention computes beforehand what it needs[[: {asked} in one slice, with {free} of graphics memory free]]. That grows with the fourth power of the side, and with the images at a time. \"max approx.\" is the largest square image that fits now, Hires. fix included.",
		Not:      "More RAM, a page file: it counted the card.",
		Cures:    []cause.Cure{a1111Flagged("Turn on an attention without a score matrix"), {Fix: "lower_resolution", Title: "Stay below the size that the message names", Told: "Width x height, after Hires. fix or upscaling too, below the square of \"max approx.\"; Batch size 1; then upscale in tab Extras or with Ultimate SD Upscale.", Cost: "One more step."}, {Fix: "restart_session", Title: "Restart, and look what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free.", If: notMac}},
		Sources:  []string{a1111Code + "sd_hijack_optimizations.py"},
	},
	{
		ID: "a1111/vae", Kinds: onCard, Said: []string{"decode_first_stage", "autoencoder.py", "single_sample_to_image", "first_stage_model.decode"}, Unsaid: []string{"encode_first_stage", "get_first_stage_encoding"}, If: a1111Plain, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the image",
		Means:    "It failed in the VAE, which turns the latent into pixels after the steps[[: it asked for {asked} more, with {free} free]]. Its memory grows with the pixels, can be more than the steps took, and doubles with `--no-half-vae`.",
		Not:      "Fewer steps, another sampler: it failed in the VAE.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Tiled, a1111Medvram, a1111Smaller},
		Sources:  []string{a1111Code + "processing.py", "https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111/issues/63"}, Solved: 2,
	},
	{
		ID: "a1111/hires", Kinds: onCard, Said: []string{"sample_hr_pass", "hires_fix", "sample_hr"}, If: a1111Plain, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the second pass of Hires. fix",
		Means:    "The first pass worked; the second, at the higher resolution, failed. At a factor of 2 it has four times the pixels, for the whole batch at once.",
		Not:      "Fewer hires steps: each needs the same memory.",
		Cures: []cause.Cure{
			a1111FullHalf,
			{Fix: "lower_resolution", Title: "Lower the hires factor, or upscale in tiles", Told: "A lower factor (1.5 has 0.56 of the pixels of 2) and Batch size 1 (raise Batch count instead). Or Hires. fix off, then img2img with the script Ultimate SD Upscale.", Cost: "A smaller result, or one more step."},
			a1111Medvram, a1111Tiled,
		},
		Sources: []string{a1111Code + "processing.py", a1111Thread + "11960", a1111Thread + "7002"}, Solved: 2,
	},
	{
		ID: "a1111/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, If: a1111Only, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of the memory that a Mac gives to graphics[[, {limit}]]",
		Means:    "Model, activations and all other programs share one memory. The web UI holds {mine} of it[[, and {asked} more was refused]].",
		Not:      "`--xformers`: it is for NVIDIA cards.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make the image smaller, one at a time", Told: "512 x 512 with SD 1.5 on 8 GB (SDXL needs 16), Batch size 1, Hires. fix off; upscale afterwards in Extras. Close the browser's other tabs.", Cost: "One more step."},
			{Fix: "lowvram_mode", Title: "Add `--medvram --opt-split-attention-v1`", Told: "In `webui-user.sh`, in one line with what `webui-macos-env.sh` sets by default:", Kind: "config", Text: "export COMMANDLINE_ARGS=\"--skip-torch-cuda-test --upcast-sampling --no-half-vae --use-cpu interrogate --medvram --opt-split-attention-v1\"", Cost: "Slower."},
			{Fix: "use_smaller_model", Title: "Use Draw Things for SDXL and Flux", Told: "It runs them quantised on Macs of 8 to 16 GB.", Cost: "Another program."},
		},
		Sources: []string{"https://github.com/AUTOMATIC1111/stable-diffusion-webui/blob/master/webui-macos-env.sh", a1111Code + "cmd_args.py", "https://github.com/AUTOMATIC1111/stable-diffusion-webui/wiki/Installation-on-Apple-Silicon"},
	},
	{
		ID: "a1111/face-restorer", Kinds: onCard, Said: []string{"codeformer_model", "gfpgan_model", "face_restoration_utils", "restore_faces"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the face restorer",
		Means:    "The face restorer failed: CodeFormer or GFPGAN restores each face at 512 pixels with a model of its own, beside Stable Diffusion's on the card.",
		Not:      "Fewer steps: it failed in the restorer.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Run the face restorer on the CPU", Told: "A second or two for each face.", Steps: a1111Flags("", step.Change{Flag: "--use-cpu", Value: "gfpgan codeformer"}), Cost: "Slower."},
			{Fix: "use_smaller_model", Title: "Turn Restore faces off, restore later in Extras", Told: "In tab Extras with GFPGAN, right after a start. Settings, Face restoration: Move face restoration model from VRAM into RAM after processing.", Cost: "One more step."},
			a1111Medvram,
		},
		Sources: []string{a1111Code + "codeformer_model.py", a1111Code + "face_restoration_utils.py", a1111Code + "shared_options.py", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/upscaler", Kinds: onCard, Said: []string{"upscaler.upscale", "esrgan_model.py", "upscaler_utils.py", "upscale_without_tiling", "tiled_upscale"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the upscaler model",
		Means:    "It failed in the upscaler (ESRGAN or similar), not in Stable Diffusion, whose weights may still be on the card. The size of the upscaler's tiles decides how much it needs.",
		Not:      "Fewer steps: it failed in the upscaler.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Lower the upscaler's tile size", Told: "Settings, Upscaling: Tile size for all ESRGAN upscalers 128 (192 by default; 0 means no tiles and takes most).", Cost: "Some seconds."},
			a1111Medvram,
			{Fix: "lower_resolution", Title: "Upscale by 2 instead of 4", Told: "4x makes 16 times the pixels. Repeat it if needed.", Cost: "A second pass."},
		},
		Sources: []string{a1111Code + "upscaler_utils.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/training-tab", Kinds: onCard, Said: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"}, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the Train tab",
		Means:    "An embedding or hypernetwork was being trained. That keeps the model, gradients and activations on the card together, by default the VAE and CLIP too.",
		Not:      "`--lowvram`: the Train tab refuses to work with it.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Move VAE and CLIP out while training", Told: "Settings, Training: Move VAE and CLIP to RAM when training if possible; Train tab: Batch size 1, at most 512 x 512.", Cost: "Previews take longer."},
			{Fix: "efficient_attention", Title: "Use the efficient attention for training too", Told: "Settings, Training: tick Use cross attention optimizations while training (off by default), with `--xformers` or `--opt-sdp-attention` in COMMANDLINE_ARGS.", Cost: "None; faster."},
			{Fix: "use_lora", Title: "Train a LoRA with kohya's trainer instead", Told: "kohya_ss trains a LoRA of SD 1.5 in 6 to 8 GB, with latents cached and an 8-bit optimizer.", Cost: "Another program to set up."},
		},
		Sources: []string{a1111Code + "textual_inversion/textual_inversion.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/unpickle-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"Error verifying pickled file", "load_with_extra", "check_pt"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM while it checked a checkpoint, not of graphics memory",
		Means:    "A .ckpt is unpacked once to check that it is harmless, before it is loaded. That check ran out of RAM[[: {asked} was refused]]. \"The file may be malicious\" is printed after any failure of the check, so it says nothing about the file. On Windows RAM and page file count together.",
		Not:      "`--disable-safe-unpickle`: loading needs that memory all the same. `--medvram`: it saves VRAM, not RAM.",
		Cures: []cause.Cure{
			letWindowsPage, moreSwapIf,
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors of the model", Told: "2 GB for SD 1.5 instead of 4 to 7; it needs no such check.", Cost: "No visible difference."},
			closeForRAM,
		},
		Sources: []string{a1111Code + "safe.py", a1111Code + "sd_models.py"},
	},
	{
		ID: "a1111/loading-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"sd_models.py", "load_model_weights", "read_state_dict", "get_checkpoint_state_dict"}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM while loading a checkpoint, not of graphics memory",
		Means:    "A checkpoint is read into RAM as a whole before it goes to the card, and a .ckpt needs that twice for a moment. [[A request for {asked} was refused. ]]On Windows RAM and page file count together.",
		Not:      "`--medvram`, `--lowvram`: they keep more in RAM.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Told: "SD 1.5: 2 GB instead of 4 to 7; SDXL 6.5. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "No visible difference."},
			{Fix: "use_mmap", Title: "Load straight to the card: `--lowram`", Cost: "VRAM while loading.", Steps: a1111Flags("", step.Change{Flag: "--lowram"})},
		},
		Sources: []string{a1111Code + "cmd_args.py", a1111Thread + "7408"}, Solved: 1,
	},
	{
		ID: "a1111/loading-card", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"load_model_weights", "send_model_to_device", "reload_model_weights", "move_model_to", "loading stable diffusion model:", "sd_model.to(shared.device)", "Stable diffusion model failed to load"},
		Unsaid: []string{"sd_samplers", "process_images_inner", "CFGDenoiser", "k_diffusion"}, If: a1111Plain,
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory while it put a checkpoint on the card",
		Means:    "SD 1.5 has about 2 GB of weights at 16 bit, SDXL 7 with its text encoders. Switching models can need both for a moment, and so can an SDXL refiner beside its base.",
		Not:      "A smaller image: it failed on the weights.",
		Cures: []cause.Cure{
			a1111Medvram,
			{Fix: "cpu_offload", If: func(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes < 3*units.GiB }, Title: "If that is not enough: run it on the CPU", Told: "In `webui-user.bat` (minutes for an image):", Kind: "config", Text: "set COMMANDLINE_ARGS=--use-cpu all --precision full --no-half --skip-torch-cuda-test", Cost: "Very slow."},
			{Fix: "use_lower_quant", Title: "Keep one checkpoint loaded, with FP8 weights", Told: "Settings, Stable Diffusion: Maximum number of checkpoints loaded at the same time 1; Optimizations: FP8 weight Enable (1.8 and later); Refiner: None.", Cost: "Slight loss of quality."},
			{Fix: "restart_session", Title: "Restart the web UI", Told: "Close its console window and start it again: that frees what a failed load left on the card. Close browser and games as well.", Cost: "Free."},
		},
		Sources: []string{a1111Code + "sd_models.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/controlnet", Kinds: onCard, Said: []string{"sd-webui-controlnet", "cldm.py", "ControlNet"}, If: a1111Plain, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Means: "ControlNet was in use. Each enabled unit is one more model on the card (about 0.7 GB for SD 1.5, 2.5 GB for SDXL) that runs in every step, even where its weight is small.",
		Not:   "Fewer steps: each needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Tick Low VRAM in the ControlNet unit", Told: "Disable units that you do not need; Settings, ControlNet: Model cache size 1.", Cost: "Slower."},
			a1111Medvram, a1111Smaller,
		},
		Sources: []string{"https://github.com/Mikubill/sd-webui-controlnet"},
	},
	{
		ID: "a1111/full-precision", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Phases: []string{"inference"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && fullPrecision(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory, started with --no-half",
		Means:    "`--no-half` keeps the model at 32 bit, which doubles weights and activations. Only cards that make black images at 16 bit (GTX 16xx) need it.",
		Not:      "Fewer steps: each needs the same.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Medvram, a1111Smaller},
		Sources:  []string{a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"sd_samplers", "k_diffusion", "CFGDenoiser", "process_images_inner"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.Allocator(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] while it made an image",
		Means:    "It failed while an image was made, with the model on the card[[; {mine} of {total} is the web UI's own]]. Activations grow with pixels times batch size; ControlNets add to them.",
		Not:      "Fewer steps: each needs the same memory.",
		Cures:    []cause.Cure{a1111Smaller, a1111Medvram, {Fix: "lower_batch_size", Title: "ControlNet: Low VRAM, one unit", Told: "Tick Low VRAM in each unit that is enabled; disable the others, Hires. fix and ADetailer.", Cost: "Slower."}},
		Sources:  []string{a1111Code + "cmd_args.py", a1111Code + "processing.py"},
	},
}
