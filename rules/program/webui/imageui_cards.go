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

// smallCard: too small for SDXL without moving parts of it, tight for SD 1.5.
func smallCard(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes < 7*units.GiB }

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
		Told: "Extensions, Install from URL: `https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111`. Then tick Tiled VAE and set Decoder Tile Size to 64.",
	}
	a1111Smaller = cause.Cure{
		Fix: "lower_resolution", Title: "Lower the resolution, upscale afterwards", Cost: "One more step.",
		Told: "At most 512 x 512 for SD 1.5, 1024 x 1024 for SDXL; Batch size 1, Hires. fix off. Then upscale in the tab Extras or with Ultimate SD Upscale.",
	}
)

// a1111Flagged is the attention first, in one line with `--medvram`.
func a1111Flagged(title string) cause.Cure {
	return cause.Cure{Fix: "efficient_attention", Title: title, Steps: a1111Low, Cost: "Some speed.", If: func(c *ledger.Case) bool { return notMac(c) && leanAttention(c) == "" }}
}

var a1111Cards = slices.Concat([]cause.Card{
	roomLeft("a1111/room-left", a1111Only, a1111Medvram, a1111Thread+"13878", a1111Thread+"10403"),
	othersHold("a1111/others-hold", "the web UI", a1111Only, a1111Code+"memmon.py"),
	{
		ID: "a1111/killed-docker", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...), Said: []string{"webui-docker-"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed in its container, most likely because RAM ran out",
		Means:    "The web UI ended without an error message. That usually means the system killed it for lack of RAM: in the container, in Docker Desktop's virtual machine or on the computer. A checkpoint is read into RAM whole, a .ckpt for a moment twice.",
		Not:      "`--medvram`, `--lowvram`: they keep more in RAM.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give Docker more RAM, or add swap", Cost: "Less RAM for other programs; swap is slow.", Ways: []cause.Way{
				{For: "Windows", Text: "in `C:\\Users\\YOU\\.wslconfig`, section `[wsl2]`, set `memory=` to most of your RAM (default: half) and `swap=32GB`; then run `wsl --shutdown`"},
				{For: "Mac", Text: "Docker Desktop, Settings, Resources: raise Memory limit"},
				{For: "Linux", Text: "`sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`; and no `mem_limit:` in `docker-compose.yml`"},
			}},
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Told: "SD 1.5: 2 GB instead of 4 to 7, SDXL 6.5. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "No visible difference."},
			{Fix: "use_mmap", Title: "Load straight to the card: `--lowram`", Told: "Add it in `docker-compose.yml`, at the end of your service's `CLI_ARGS=`.", Cost: "VRAM while loading."},
		},
		Later:   "`sudo dmesg -T | grep -i -E \"oom|killed\"` on the host names the process and the limit.",
		Sources: []string{a1111Code + "cmd_args.py", "https://github.com/AbdBarho/stable-diffusion-webui-docker/blob/master/docker-compose.yml", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/64", "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/347"}, Solved: 1,
	},
	{
		ID: "a1111/killed-colab", Kinds: killed, Said: []string{"/content/"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed on Colab, most likely because RAM ran out",
		Means:    "Colab ends a program that uses up the RAM; it then often prints ^C, although nobody pressed it. A free runtime has about 12.7 GB of RAM. A checkpoint is read into RAM whole (SDXL 6.5 GB), beside what is loaded already.",
		Not:      "`--medvram`, `--lowvram`: they keep more in RAM.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Load straight to the card: `--lowram`", Told: "Add it to the options in the cell that starts `launch.py` or `webui.py`. Colab's T4 card has more memory (15 GB) than its RAM.", Kind: "config", Text: "--lowram", Cost: "VRAM while loading."},
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors", Told: "SD 1.5 then takes 2 GB, SDXL 6.5. Avoid .ckpt files. Settings, Stable Diffusion: Checkpoints to cache in RAM 0.", Cost: "No visible difference."},
			colabRAM,
		},
		Sources: []string{a1111Code + "cmd_args.py", a1111Code + "sd_models.py"},
	},
	{
		ID: "a1111/killed", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...), If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed by the system, most likely because RAM ran out",
		Means:    "The web UI stopped without an error message of its own. That usually means the system killed it because RAM (on Windows RAM plus page file) was full. A checkpoint is read into RAM whole, a .ckpt for a moment twice.",
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
		Headline: "ran out of GPU memory with DirectML",
		Means:    "DirectML does not tell PyTorch how much GPU memory is free, so the web UI cannot plan. An image usually needs more memory than with ROCm or CUDA.",
		Not:      "`--xformers`, `PYTORCH_CUDA_ALLOC_CONF`: they only work with CUDA.",
		Cures: []cause.Cure{
			{Fix: a1111Tiled.Fix, Title: a1111Tiled.Title, Told: a1111Tiled.Told, Cost: a1111Tiled.Cost, If: a1111Decoding},
			{Fix: "efficient_attention", Title: "Start with `--lowvram` and sub-quadratic attention", Cost: "Some speed.", If: a1111Moving, Steps: a1111Flags("`--medvram` or `--lowvram` is on already; `--lowvram` needs least.", step.Change{Flag: "--lowvram"}, step.Change{Flag: "--medvram", Drop: true}, step.Change{Flag: "--opt-sub-quad-attention"}, step.Change{Flag: "--xformers", Drop: true}, step.Change{Flag: "--opt-sdp-attention", Drop: true})},
			{Fix: "efficient_attention", Title: "Turn on sub-quadratic attention and `--medvram`", Cost: "Some speed.", If: when.Not(a1111Moving), Steps: a1111Flags("With 4 GB or less use `--lowvram` instead of `--medvram`.", step.Change{Flag: "--medvram"}, step.Change{Flag: "--opt-sub-quad-attention"}, step.Change{Flag: "--xformers", Drop: true}, step.Change{Flag: "--opt-sdp-attention", Drop: true})},
			a1111Smaller,
			{Fix: "upgrade_version", Title: "Use ZLUDA or ROCm instead of DirectML", Told: "On AMD: `--use-zluda` in lshqqytiger's fork, or PyTorch's ROCm build for Windows (RX 7000 and newer).", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/lshqqytiger/stable-diffusion-webui-amdgpu", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/first-calculation", Kinds: []fact.Kind{fact.CUDAError, fact.TorchAlloc, fact.TorchAsync}, Said: []string{"first_time_calculation"}, If: a1111Only, Cause: cause.Unknown, Weight: cause.Strong,
		Headline: "ran out of memory in its first tiny test calculation",
		Means:    "`first_time_calculation` runs one tiny layer to start CUDA, which needs very little memory. If even that fails, usually an earlier web UI or another program fills the card. On Windows RAM plus page file can also be full.",
		Not:      "A smaller image or batch: it failed before any image was started.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "End leftover processes, or restart the computer", Told: "Close the web UI's window and end every remaining python process (Windows: Task Manager). Before the next start the card should be nearly empty:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: largerPageFile.Fix, Title: largerPageFile.Title, Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: mostlyWindowsPaths},
			a1111Medvram,
			{Fix: "upgrade_version", Title: "Update the graphics driver", Told: "If this began with a driver update, go back one version. Also start once with extensions off.", Cost: "Half an hour."},
		},
		Later:   "If another error stands above this one, fix that one first.",
		Sources: []string{a1111Code + "devices.py", a1111Code + "initialize.py", a1111Thread + "13873"},
	},
	{
		ID: "a1111/extension-training", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return c.Training() && !c.In("sd-dreambooth-extension") }, Unsaid: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while an extension was training",
		Means:    "An extension was training inside the web UI. Training keeps model, gradients, optimizer state and activations on the card together. The web UI's own model may be there too, especially if you made an image before.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart, and train before making an image", Told: "Close the web UI and check that `nvidia-smi` shows an empty card. Start it again and train at once, with previews off.", Cost: "Free."},
			{Fix: "optimizer_8bit", Title: "Turn on LoRA, 8-bit Adam and gradient checkpointing", Told: "Also set batch size 1, mixed precision fp16, xformers, and EMA off. If that is not enough, turn text encoder training off.", Cost: "A third slower."},
			{Fix: "lower_resolution", Title: "Train at a lower resolution", Told: "512 for SD 1.5, 768 for SDXL. If you are there already, go one step lower.", Cost: "Less detail learned."},
		},
		Sources: []string{"https://github.com/d8ahazard/sd_dreambooth_extension/blob/main/README.md"},
	},
	{
		ID: "a1111/odd-size", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"split_cross_attention_forward", "cross_attention_attnblock_forward"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.NeverFits(c) != "" }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} at once for attention, more than the whole card",
		Means:    "The card has {total}. This attention works in slices only if the image size divides evenly. For other sizes it builds the whole score matrix at once. So a larger image may fit where this one fails.",
		Not:      "`max_split_size_mb`: the request is larger than the card.",
		Cures: []cause.Cure{
			a1111Flagged("Turn on a memory-efficient attention"),
			{Fix: "lower_resolution", Title: "Use sizes that are multiples of 64", Told: "Set width and height to multiples of 64 (128 is even better), also after Hires. fix: use Resize to instead of a factor like 2.55.", Cost: "None."},
			a1111FullHalf, a1111Smaller, a1111Flagless,
		},
		Sources: []string{a1111Code + "sd_hijack_optimizations.py", a1111Thread + "10887", a1111Thread + "9922", a1111Thread + "7589"}, Solved: 2,
	},
	{
		ID: "a1111/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"einsum('b i d, b j d", "ldm/modules/attention", `ldm\modules\attention`, "sd_hijack_optimizations"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && wholeCard(c) }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} at once for attention",
		Means:    "The card has {total}. Plain attention builds a score matrix that grows with the square of the pixels: twice the width and height needs 16 times the memory. A memory-efficient attention does not need it. Most likely none is on, or it did not load.",
		Not:      "`max_split_size_mb`: one request takes more than half of the card.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Flagged("Turn on a memory-efficient attention"), a1111Smaller, a1111Flagless, a1111Tiled},
		Sources:  []string{a1111Code + "cmd_args.py", a1111Code + "sd_hijack_optimizations.py", a1111Thread + "7002"},
	},
	{
		ID: "a1111/spilled", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return a1111Only(c) && !c.Training() && ledger.Overfull(c) }, Unsaid: []string{"load_model_weights", "send_model_to_device"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "used {mine} on a card of {total} before it failed",
		Means:    "What did not fit on the card went to RAM, which is very slow. So this image needs far more memory than the card has. If it failed during the steps, the reason is probably attention without a memory-efficient option; if at 100 %, the VAE.",
		Not:      "Fewer steps: every step needs the same memory. Closing other programs: the web UI itself uses {mine}.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Flagged("Turn on an efficient attention, and `--medvram`"), a1111Smaller, {Fix: a1111Tiled.Fix, Title: "If it failed at 100 %: turn on Tiled VAE", Told: a1111Tiled.Told, Cost: a1111Tiled.Cost}, a1111Flagless},
		Sources:  []string{a1111Code + "sd_hijack_optimizations.py", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/not-enough", Said: []string{"Not enough memory, use lower resolution"}, If: a1111Plain, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "refused to begin: the image is too large for the free GPU memory",
		Means:    "The web UI's split attention checks beforehand what it needs[[: {asked} in one slice, with {free} free]]. Twice the width and height needs 16 times as much, and a batch multiplies it. \"max approx.\" is the largest square image that fits now, Hires. fix included.",
		Not:      "More RAM, a page file: the graphics card is too full.",
		Cures:    []cause.Cure{a1111Flagged("Turn on an attention without a score matrix"), {Fix: "lower_resolution", Title: "Stay below the size in the message", Told: "Stay at or below the size after \"max approx.\", also with Hires. fix. Set Batch size 1. Then upscale in the tab Extras or with Ultimate SD Upscale.", Cost: "One more step."}, {Fix: "restart_session", Title: "Restart, and see what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free.", If: notMac}},
		Sources:  []string{a1111Code + "sd_hijack_optimizations.py"},
	},
	{
		ID: "a1111/vae", Kinds: onCard, Said: []string{"decode_first_stage", "autoencoder.py", "single_sample_to_image", "first_stage_model.decode"}, Unsaid: []string{"encode_first_stage", "get_first_stage_encoding"}, If: a1111Plain, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE, after the steps",
		Means:    "The steps were done; the VAE, which turns the result into an image, failed. Its memory grows with the resolution and can be more than the steps needed. `--no-half-vae` doubles it.",
		Not:      "Fewer steps, another sampler: it failed in the VAE.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Tiled, a1111Medvram, a1111Smaller},
		Sources:  []string{a1111Code + "processing.py", "https://github.com/pkuliyi2015/multidiffusion-upscaler-for-automatic1111/issues/63"}, Solved: 2,
	},
	{
		ID: "a1111/hires", Kinds: onCard, Said: []string{"sample_hr_pass", "hires_fix", "sample_hr"}, If: a1111Plain, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in Hires. fix",
		Means:    "The first pass worked; the second, at the higher resolution, failed. With Upscale by 2 it has four times the pixels, for the whole batch at once.",
		Not:      "Fewer hires steps: every step needs the same memory.",
		Cures: []cause.Cure{
			a1111FullHalf,
			{Fix: "lower_resolution", Title: "Lower Upscale by, or upscale in tiles", Told: "Set Upscale by to 1.5 and Batch size to 1 (raise Batch count instead). Or turn Hires. fix off and use img2img with the script Ultimate SD Upscale.", Cost: "A smaller result, or one more step."},
			a1111Medvram, a1111Tiled,
		},
		Sources: []string{a1111Code + "processing.py", a1111Thread + "11960", a1111Thread + "7002"}, Solved: 2,
	},
	{
		ID: "a1111/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, If: a1111Only, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on this Mac[[ (limit {limit})]]",
		Means:    "On a Mac the model, the image being made and all other programs share one memory. The web UI already uses {mine} of it.",
		Not:      "`--xformers`: it is for NVIDIA cards.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make smaller images, one at a time", Told: "On 8 GB use SD 1.5 at 512 x 512 (SDXL needs 16 GB), Batch size 1, Hires. fix off. Upscale afterwards in Extras. Close other browser tabs.", Cost: "One more step."},
			{Fix: "lowvram_mode", Title: "Add `--medvram --opt-split-attention-v1`", Told: "Put this line into `webui-user.sh` (it keeps what `webui-macos-env.sh` sets by default):", Kind: "config", Text: "export COMMANDLINE_ARGS=\"--skip-torch-cuda-test --upcast-sampling --no-half-vae --use-cpu interrogate --medvram --opt-split-attention-v1\"", Cost: "Slower."},
			{Fix: "use_smaller_model", Title: "Use Draw Things for SDXL and Flux", Told: "It runs quantised versions of them on Macs with 8 to 16 GB.", Cost: "Another program."},
		},
		Sources: []string{"https://github.com/AUTOMATIC1111/stable-diffusion-webui/blob/master/webui-macos-env.sh", a1111Code + "cmd_args.py", "https://github.com/AUTOMATIC1111/stable-diffusion-webui/wiki/Installation-on-Apple-Silicon"},
	},
	{
		ID: "a1111/face-restorer", Kinds: onCard, Said: []string{"codeformer_model", "gfpgan_model", "face_restoration_utils", "restore_faces"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the face restorer",
		Means:    "The face restorer failed. CodeFormer or GFPGAN is one more model on the card, beside Stable Diffusion's.",
		Not:      "Fewer steps: it failed in the restorer.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Run the face restorer on the CPU", Told: "It then takes some seconds for each face.", Steps: a1111Flags("", step.Change{Flag: "--use-cpu", Value: "gfpgan codeformer"}), Cost: "Slower."},
			{Fix: "use_smaller_model", Title: "Turn Restore faces off, restore later in Extras", Told: "Use GFPGAN in the tab Extras, right after a start. In Settings, Face restoration, tick Move face restoration model from VRAM into RAM after processing.", Cost: "One more step."},
			a1111Medvram,
		},
		Sources: []string{a1111Code + "codeformer_model.py", a1111Code + "face_restoration_utils.py", a1111Code + "shared_options.py", a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/upscaler", Kinds: onCard, Said: []string{"upscaler.upscale", "esrgan_model.py", "upscaler_utils.py", "upscale_without_tiling", "tiled_upscale"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the upscaler",
		Means:    "The upscaler (ESRGAN or similar) failed, not Stable Diffusion itself, which may still be on the card. The upscaler's tile size decides how much memory it needs.",
		Not:      "Fewer steps: it failed in the upscaler.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Lower the upscaler's tile size", Told: "Settings, Upscaling: set Tile size for all ESRGAN upscalers to 128 (default 192; 0 means no tiles and needs most).", Cost: "Some seconds."},
			a1111Medvram,
			{Fix: "lower_resolution", Title: "Upscale by 2 instead of 4", Told: "4x makes 16 times the pixels. Repeat it if needed.", Cost: "A second pass."},
		},
		Sources: []string{a1111Code + "upscaler_utils.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/training-tab", Kinds: onCard, Said: []string{"textual_inversion.py", "hypernetwork.py", "train_embedding", "train_hypernetwork"}, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the Train tab",
		Means:    "An embedding or hypernetwork was being trained. That keeps the model, gradients and activations on the card together, and by default the VAE and CLIP too.",
		Not:      "`--lowvram`: the Train tab refuses to work with it.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Move VAE and CLIP to RAM while training", Told: "Settings, Training: tick Move VAE and CLIP to RAM when training if possible. In the Train tab: Batch size 1, at most 512 x 512.", Cost: "Previews take longer."},
			{Fix: "efficient_attention", Title: "Use memory-efficient attention in training too", Told: "Settings, Training: tick Use cross attention optimizations while training. Put `--xformers` or `--opt-sdp-attention` into COMMANDLINE_ARGS.", Cost: "None; faster."},
			{Fix: "use_lora", Title: "Train a LoRA with kohya_ss instead", Told: "It trains a LoRA of SD 1.5 in 6 to 8 GB, with cached latents and an 8-bit optimizer.", Cost: "Another program to set up."},
		},
		Sources: []string{a1111Code + "textual_inversion/textual_inversion.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/unpickle-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"Error verifying pickled file", "load_with_extra", "check_pt"}, If: func(c *ledger.Case) bool { return c.In("a1111") }, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM (not GPU memory) while it checked a checkpoint",
		Means:    "The web UI unpacks a .ckpt once to check that it is safe. That check ran out of RAM (on Windows RAM plus page file). \"The file may be malicious\" appears after any failed check; it does not mean that the file is bad.",
		Not:      "`--disable-safe-unpickle`: loading needs the same memory. `--medvram`: it saves GPU memory, not RAM.",
		Cures: []cause.Cure{
			letWindowsPage, moreSwapIf,
			{Fix: "use_lower_quant", Title: "Use a pruned fp16 .safetensors of the model", Told: "For SD 1.5 it has 2 GB instead of 4 to 7, and needs no such check.", Cost: "No visible difference."},
			closeForRAM,
		},
		Sources: []string{a1111Code + "safe.py", a1111Code + "sd_models.py"},
	},
	{
		ID: "a1111/loading-ram", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"sd_models.py", "load_model_weights", "read_state_dict", "get_checkpoint_state_dict"}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM (not GPU memory) while it loaded a checkpoint",
		Means:    "A checkpoint is read into RAM whole before it goes to the card; a .ckpt needs that twice for a moment. On Windows RAM and page file count together.",
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
		Headline: "ran out of GPU memory while it put a checkpoint on the card",
		Means:    "Loading the model failed, not making an image. SD 1.5 has about 2 GB of weights at 16 bit, SDXL about 7. Switching models, or an SDXL refiner, can need two models at once for a moment.",
		Not:      "A smaller image: loading the model failed.",
		Cures: []cause.Cure{
			a1111Medvram,
			{Fix: "cpu_offload", If: func(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes < 3*units.GiB }, Title: "If that is not enough: run it on the CPU", Told: "In `webui-user.bat` (an image then takes minutes):", Kind: "config", Text: "set COMMANDLINE_ARGS=--use-cpu all --precision full --no-half --skip-torch-cuda-test", Cost: "Very slow."},
			{Fix: "use_lower_quant", Title: "Keep one checkpoint loaded, with FP8 weights", Told: "Settings, Stable Diffusion: Maximum number of checkpoints loaded at the same time: 1. Settings, Optimizations: FP8 weight: Enable (1.8 and later). Refiner: None.", Cost: "Slight loss of quality."},
			{Fix: "restart_session", Title: "Restart the web UI", Told: "Close its console window and start it again. That frees what a failed load left on the card. Close games too.", Cost: "Free."},
		},
		Sources: []string{a1111Code + "sd_models.py", a1111Code + "shared_options.py"},
	},
	{
		ID: "a1111/controlnet", Kinds: onCard, Said: []string{"sd-webui-controlnet", "cldm.py", "ControlNet"}, If: a1111Plain, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] with ControlNet",
		Means:    "ControlNet appears in the log. Each enabled unit is one more model on the card (about 0.7 GB for SD 1.5, 2.5 GB for SDXL) and runs in every step.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Tick Low VRAM in the ControlNet unit", Told: "Disable units that you do not need. Settings, ControlNet: Model cache size 1.", Cost: "Slower."},
			a1111Medvram, a1111Smaller,
		},
		Sources: []string{"https://github.com/Mikubill/sd-webui-controlnet"},
	},
	{
		ID: "a1111/full-precision", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Phases: []string{"inference"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && fullPrecision(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory, started with --no-half",
		Means:    "`--no-half` runs the model at 32 bit, which doubles the memory. Mostly only GTX 16xx cards, which make black images at 16 bit, need it.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{a1111FullHalf, a1111Medvram, a1111Smaller},
		Sources:  []string{a1111Code + "cmd_args.py"},
	},
	{
		ID: "a1111/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"sd_samplers", "k_diffusion", "CFGDenoiser", "process_images_inner"}, If: func(c *ledger.Case) bool { return a1111Plain(c) && ledger.Allocator(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] while it made an image",
		Means:    "The model is loaded; making the image failed. The memory for that grows with resolution x batch size, and ControlNets add to it.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{where(smallCard, a1111Medvram), a1111Smaller, where(when.Not(smallCard), a1111Medvram), {Fix: "lower_batch_size", Title: "Turn off extras: ControlNet, Hires. fix, ADetailer", Told: "If you need ControlNet, keep one unit and tick Low VRAM in it.", Cost: "Less control or detail."}},
		Sources:  []string{a1111Code + "cmd_args.py", a1111Code + "processing.py"},
	},
}
