package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var (
	letWindowsPage = notOn("linux", largerPageFile)
	moreSwap       = cause.Cure{
		Fix: "add_swap", Title: "Add swap", Kind: "shell",
		Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile",
		Cost: "Disk space; slow while it is used.",
	}
	smallerOnDisk = cause.Cure{
		Fix: "use_lower_quant", Title: "Smaller files, of the text encoder too",
		Told: "fp8 or GGUF files in Load Diffusion Model and Load CLIP: each takes about its own size of RAM when it is loaded.",
		Cost: "Little quality.",
	}
	keepLess = cause.Cure{
		Fix: "close_other_apps", Title: "Keep less in RAM between runs",
		Told: "Start with `--cache-none`, and close browser and games first.", Cost: "Every run computes all nodes again.",
	}
	// moreSwapIf is swap where the log shows Linux.
	moreSwapIf = cause.Cure{Fix: moreSwap.Fix, Title: moreSwap.Title, Kind: moreSwap.Kind, Text: moreSwap.Text, Cost: moreSwap.Cost, If: func(c *ledger.Case) bool { return c.Reader.OS == "linux" }}
	// boxed is a limit that is not the computer's whole RAM.
	boxed = cause.Cure{
		Fix: "raise_memory_limit", Title: "Give it more RAM, and swap", Cost: "Less for other programs; swap is slow.",
		Ways: []cause.Way{
			{For: "Docker", Text: "raise `mem_limit:` in the compose file (or `--memory`), or take it out"},
			{For: "WSL, Docker Desktop", Text: "`C:\\Users\\YOU\\.wslconfig`, section wsl2: `memory=` most of your RAM, `swap=32GB`; then `wsl --shutdown`. WSL has half of the RAM by default"},
			{For: "Linux itself", Text: "`sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"},
		},
	}
)

var directML = []step.Change{{Flag: "--directml"}, {Flag: "--lowvram"}, {Flag: "--use-split-cross-attention"}}

func comfyDirectML(c *ledger.Case) bool { return c.In("comfyui") && !c.Kind(inRAM...) }

// notOn is a cure of another system than one.
func notOn(system string, k cause.Cure) cause.Cure {
	k.If = func(c *ledger.Case) bool { return c.Reader.OS != system }
	return k
}

func amdCard(c *ledger.Case) bool { return c.Backend == "rocm" && !carvedOut(c) }

// amdScratch is what AMD's convolutions take in a VAE.
func amdScratch(c *ledger.Case) map[string]string {
	if amdCard(c) {
		return map[string]string{"amd": "On AMD the convolutions of MIOpen can take several times the scratch that NVIDIA's take."}
	}
	return map[string]string{"amd": ""}
}

// comfyHost are cards on the computer's own memory, and on a Mac's.
var comfyHost = []cause.Card{
	{
		ID: "comfyui/pinned", Kinds: []fact.Kind{fact.HostBuffer},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get pinned RAM for its weights",
		Means:    "ComfyUI's dynamic loader could not pin system memory for weights. The words say CUDA, but it is RAM that was refused: Windows pins about half of it at most, however much is free.",
		Not:      "A smaller image: the card was not what was full.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Do without pinned memory", Cost: "Somewhat slower loading.", Steps: comfyStart("If that fails: `--disable-dynamic-vram`.", step.Change{Flag: "--disable-pinned-memory"})},
			{Fix: "upgrade_version", Title: "Update ComfyUI, or go back one version", Told: "Version 0.30 (August 2026) failed so on many machines where 0.29 did not.", Cost: "Some minutes."},
			smallerOnDisk,
		},
		Sources: []string{comfyThread + "15255", comfyThread + "14940", comfyCode + "comfy/cli_args.py"}, Solved: 3,
	},
	{
		ID: "comfyui/pagefile", Kinds: []fact.Kind{fact.CommitLimit},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not load a model: Windows had no RAM or page file left to promise",
		Means:    "Windows error 1455. When ComfyUI opened the file, all of RAM plus page file had been promised away; memory that looks free in Task Manager does not count. The card is not involved: every model passes through system memory at about its size on disk.",
		Not:      "`--lowvram` or a smaller image: both are about the card, and `--lowvram` puts more into RAM.",
		Cures:    []cause.Cure{letWindowsPage, {Fix: "close_other_apps", Title: "Start with less promised", Told: "Close browser, games and a second ComfyUI; `--cache-none` keeps nothing in RAM between runs. Task Manager, Performance, Memory: \"Committed x / y\" shows what is left.", Cost: "Every run computes all nodes again."}, smallerOnDisk},
		Sources:  []string{comfyThread + "9139", comfyThread + "4108", comfyThread + "7036"}, Solved: 3,
	},
	{
		ID: "comfyui/frames-in-ram", Kinds: inRAM, Said: []string{"VideoHelperSuite", "VHS_", "ImageBatch", "torch.cat", "RIFE", "frame_interpolation", "Frame-Interpolation", "nodes_upscale_model", "tiled_scale", "ImageUpscaleWithModel", "SaveImage", "save_images"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM: the frames of the clip fill it",
		Means:    "ComfyUI keeps frames in RAM as 32-bit floats, 12 bytes a pixel: 100 frames of 1080p are 2.3 GiB, and every node that changes them makes another copy; enlarged by 4 they are 16 times that. [[Here {asked} was refused at once. ]]The card has no part in it.",
		Not:      "`--lowvram`, VAE tiles and other options about the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Work on the clip in parts", Told: "Load Video (VHS): frame_load_cap 100 and skip_first_frames 0, 100, 200 and so on; or connect the Meta Batch Manager to it and to Video Combine. Join the parts afterwards.", Cost: "Several runs."},
			{Fix: "lower_resolution", Title: "Scale frames on load", Told: "Load Video (VHS): custom_width and custom_height. Half of both is a quarter of the RAM.", Cost: "Smaller frames."},
			letWindowsPage, moreSwapIf,
		},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-VideoHelperSuite"},
	},
	{
		ID: "comfyui/killed", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed by the system: RAM ran out, not the card",
		Means:    "Nothing of ComfyUI's own stands at the end: the kernel ended it (signal 9, exit code 137). That is RAM, of the machine, the virtual machine or the container. Models pass through RAM at their size on disk, and ComfyUI keeps there what it takes off the card, so it often strikes when the next model is loaded.",
		Not:      "`--lowvram`, VAE tiles, a smaller image: they are about the card, and the first moves more into RAM.",
		Cures:    []cause.Cure{boxed, smallerOnDisk, keepLess},
		Later:    "`sudo dmesg -T | grep -i -E \"oom|killed\"` on the host names the process and the limit.",
		Sources:  []string{comfyThread + "7036", wanWrapper + "issues/360"}, Solved: 2,
	},
	{
		ID: "comfyui/ram", Kinds: inRAM, If: func(c *ledger.Case) bool { return c.Backend == "cpu" || c.Kind(fact.CPUAlloc) },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of the computer's own memory, not the card's",
		Means:    "[[{asked} of system memory was refused: the last piece, not the need. ]]ComfyUI reads each model into RAM at about its size on disk before it moves it, and keeps there what it took off the card.",
		Not:      "A smaller image or `--lowvram`: one is work on the card, the other moves more into RAM.",
		Cures:    []cause.Cure{letWindowsPage, moreSwapIf, smallerOnDisk, keepLess},
		Sources:  []string{comfyThread + "4108", comfyThread + "7036"}, Solved: 2,
	},
	{
		ID: "comfyui/mac-vae", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding"},
		Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the finished image or clip on this Mac",
		Means:    "Sampling was done; the VAE failed, which turns the latent into pixels, all images or frames of the batch at once.[[ {asked} more was refused.]] On a Mac models, work and all other programs share one memory.",
		Not:      "`--lowvram` and `--cpu-vae`: both move things inside the same memory. A smaller file of the model: sampling was done.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Decode in tiles, or few frames at a time", Told: "VAE Decode (Tiled) in place of VAE Decode: tile_size 256, overlap 64. A node that decodes by itself: its tiling option, or fewer frames a clip (half of them take half).", Cost: "Some seconds; shorter clips."},
			fewerPixels,
			{Fix: "restart_session", Title: "Give memory back first", Told: "Manager: Unload Models, or restart ComfyUI; quit the browser's other tabs and large programs.", Cost: "Models load again."},
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer},
		Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Means: "On a Mac model, image and all other programs share one memory, and PyTorch lets a program have only part of it. Moving weights out frees nothing: there is no other place.",
		Not:   "`--lowvram` and `--cpu-vae`: both move things inside the same memory.",
		Cures: []cause.Cure{
			fewerPixels,
			{Fix: "use_lower_quant", Title: "A GGUF file", Told: "Q4_K_S with Unet Loader (GGUF) and a quantised T5; fp8 files do not run on Metal in most PyTorch versions.", Cost: "Little quality."},
			{Fix: "raise_watermark", Title: "Lift PyTorch's limit, where little is missing", Kind: "shell", Text: "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 python main.py", Cost: "The Mac may swap and freeze; save your work first."},
		},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/city96/ComfyUI-GGUF"},
	},
}

// comfyBare are the last to speak: a message without figures or frames.
var comfyBare = []cause.Card{
	{
		ID: "comfyui/died-unloading", Kinds: []fact.Kind{fact.ComfyUnload, fact.ComfyTips}, Said: []string{"Fatal Python error: Aborted"}, If: func(c *ledger.Case) bool { return c.F().Requested == nil },
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of graphics memory, then died while it moved its models out",
		Means:    "The card was full, ComfyUI began to unload all models, and Python was aborted (`Fatal Python error`) where weights go back to RAM. So models of earlier work were still held; the abort itself is a crash in the driver or the loader, or RAM that is full as well.",
		Not:      "Queueing the same work again without a restart: the process is gone, with everything in its queue.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Unload between models", Told: "Several models in a row: after each Manager, Unload Models and Free Node Cache, or by its API as here; best all images of one model, then the next.", Kind: "shell", Text: "curl -X POST http://127.0.0.1:8188/free -H \"Content-Type: application/json\" -d '{\"unload_models\": true, \"free_memory\": true}'", Cost: "Models load again."},
			comfyKeepFree,
			{Fix: "upgrade_version", Title: "Update ComfyUI and the driver", Told: "An abort in place of an error is a fault of theirs.", Cost: "Some minutes."},
		},
		Sources: []string{comfyCode + "comfy/model_patcher.py", comfyCode + "server.py"},
	},
	{
		ID: "comfyui/conv3d", Kinds: onCard, Said: []string{"F.conv3d("}, Unsaid: []string{"KSampler", "common_ksampler", "sample_custom", "comfy/samplers.py", "vae.encode(", "enable_vae_tiling"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in a convolution over frames: the VAE of a video model, as a rule",
		Means:    "The frame that failed is a 3D convolution (width, height and frames at once), which video models have in their VAE; the network that samples has hardly any. So the steps are most likely done and the frames were being decoded; at the very start it would be the encoding of an image. It grows with width x height x frames. The lines above the paste would name the node.",
		Not:      "A GGUF or fp8 file of the video model, fewer steps, `--lowvram` alone: they make the sampling smaller, not this. Allocator settings.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Decode in tiles", Ways: []cause.Way{
				{For: "ComfyUI's own nodes", Text: "VAE Decode (Tiled) in place of VAE Decode: tile_size 256, overlap 64, temporal_size 16, temporal_overlap 4"},
				{For: "A wrapper's decode node (Hunyuan, Wan)", Text: "enable_vae_tiling on, with smaller tiles (spatial 128 to 256, temporal 16)"},
			}, Cost: "slower, faint seams with small overlaps"},
			{Fix: "lower_resolution", Title: "Fewer frames, or smaller ones", Told: "Half the frames are about half of this peak. To keep what was sampled put Save Latent before the decoder, and decode in a second run.", Cost: "a shorter or smaller video"},
			{Fix: "lowvram_mode", Title: "More of the card free for it", Told: "`--reserve-vram 2` at the start; as a last resort `--cpu-vae`, which needs much RAM and minutes.", Cost: "slower"},
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/cli_args.py", "https://github.com/kijai/ComfyUI-HunyuanVideoWrapper"},
	},
	{
		ID: "comfyui/bare", Kinds: []fact.Kind{fact.TorchAsync, fact.ComfyUnload, fact.ComfyTips}, If: func(c *ledger.Case) bool { return c.F().Requested == nil && !c.Root(inRAM...) },
		Cause: cause.Unknown, Weight: cause.Fair,
		Headline: "ran out of graphics memory; which node it was decides",
		Figures: func(c *ledger.Case) map[string]string {
			if c.Kind(fact.TorchAsync) {
				return map[string]string{"silent": "Its allocator (cudaMallocAsync) refuses without saying how much was asked for or free."}
			}
			return map[string]string{"silent": "The lines here do not say how much was asked for or free."}
		},
		Means: "{silent} ComfyUI moves weights out by itself before it works, so mostly one node's work is too large: a big image, many frames, the VAE. The node is red in the workflow, and in the frames above the message.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Go by the red node", Ways: []cause.Way{
				{For: "KSampler and the like", Text: "half the width and height, batch_size 1; video: `length` (frames) first"},
				{For: "VAE Decode", Text: "VAE Decode (Tiled) instead, tile_size 256, with a video VAE temporal_size 16"},
				{For: "A loader, or CLIP Text Encode", Text: "an fp8 or GGUF file of that model; text encoders also take `device` cpu"},
			}, Cost: "Detail, or some seconds."},
			comfyKeepFree,
			{Fix: "restart_session", Title: "Get the sizes", If: func(c *ledger.Case) bool { return c.Kind(fact.TorchAsync) }, Told: "Start with `--disable-cuda-malloc`: the next failure then says what was asked for, free and in use.", Cost: "A few more fragments."},
		},
		Later:   "The first run works and the second does not: something is kept. Manager, Unload Models between them tells.",
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyCode + "execution.py"},
	},
}
