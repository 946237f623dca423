package webui

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	letWindowsPage = notOn("linux", largerPageFile)
	moreSwap       = cause.Cure{
		Fix: "add_swap", Title: "Add swap", Kind: "shell",
		Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile",
		Cost: "Disk space; slow while in use.",
	}
	smallerOnDisk = cause.Cure{
		Fix: "use_lower_quant", Title: "Load fp8 or GGUF files, of the text encoder too",
		Told: "Pick them in Load Diffusion Model and Load CLIP. Each file takes about its own size of RAM while it loads.",
		Cost: "Slight loss of quality.",
	}
	keepLess = cause.Cure{
		Fix: "close_other_apps", Title: "Start with `--cache-none`, close other programs",
		Told: "ComfyUI then keeps no node results in RAM (option since April 2025).", Cost: "Every run computes all nodes again.",
	}
	// fewerInRAM is for arrays of NumPy, which are images there.
	fewerInRAM = cause.Cure{Fix: "lower_batch_size", Title: "Process fewer frames or images at a time", Told: "In Load Video (VHS) set frame_load_cap 50 and skip_first_frames 0, then 50, 100 and so on; join the parts. Or load smaller frames (custom_width, custom_height).", Cost: "Several runs.", If: func(c *ledger.Case) bool { return c.Kind(fact.NumpyAlloc) }}
	// moreSwapIf is swap where the log shows Linux.
	moreSwapIf = cause.Cure{Fix: moreSwap.Fix, Title: moreSwap.Title, Kind: moreSwap.Kind, Text: moreSwap.Text, Cost: moreSwap.Cost, If: func(c *ledger.Case) bool { return c.Reader.OS == "linux" }}
	// boxed is a limit that is not the computer's whole RAM.
	boxed = cause.Cure{
		Fix: "raise_memory_limit", Title: "Raise the memory limit, or add swap", Cost: "Less RAM for other programs; swap is slow.",
		Ways: []cause.Way{
			{For: "Docker", Text: "raise `mem_limit:` in the compose file (or `--memory`), or take it out"},
			{For: "WSL, Docker Desktop", Text: "`C:\\Users\\YOU\\.wslconfig`, section wsl2: `memory=` most of your RAM, `swap=32GB`; then `wsl --shutdown`. By default WSL gets half of the RAM"},
			{For: "Linux", Text: "`sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"},
		}, If: func(c *ledger.Case) bool { return !c.Root(fact.SilentDeath) },
	}
	// colabRAM is for Colab, which has no swap and ends a cell with ^C.
	colabRAM = cause.Cure{Fix: "raise_memory_limit", Title: "Choose a runtime with more RAM", Told: "Runtime, Change runtime type: High-RAM (paid). Or use Kaggle (about 30 GB, free). The RAM bar at the top right shows it filling up.", Cost: "Money, or another service."}
	// pageAfterSilence is for Windows, where a start script closes without an error.
	pageAfterSilence = cause.Cure{Fix: largerPageFile.Fix, Title: largerPageFile.Title, Told: largerPageFile.Told, Cost: largerPageFile.Cost, If: func(c *ledger.Case) bool { return c.Root(fact.SilentDeath) }}
)

var noPinning = cause.Cure{Fix: "use_mmap", Title: "Turn pinned memory off: `--disable-pinned-memory`", Cost: "Somewhat slower loading.", Steps: comfyStart("If that fails: `--disable-dynamic-vram`.", step.Change{Flag: "--disable-pinned-memory"})}

var lowDirectML = cause.Cure{Fix: "lowvram_mode", Title: "Start with `--lowvram`", Cost: "Slower.", Steps: comfyStart("It keeps most of the weights in RAM.", step.Change{Flag: "--directml"}, step.Change{Flag: "--lowvram"}, step.Change{Flag: "--use-split-cross-attention"})}

// notImages is a cure where no array of NumPy, which is images, was refused.
func notImages(k cause.Cure) cause.Cure {
	k.If = func(c *ledger.Case) bool { return !c.Kind(fact.NumpyAlloc) }
	return k
}

// notOn is a cure of another system than one.
func notOn(system string, k cause.Cure) cause.Cure {
	k.If = func(c *ledger.Case) bool { return c.Reader.OS != system }
	return k
}

func amdCard(c *ledger.Case) bool { return c.Backend == "rocm" && !carvedOut(c) }

// amdScratch is what AMD's convolutions take in a VAE.
func amdScratch(c *ledger.Case) map[string]string {
	if amdCard(c) {
		return map[string]string{"amd": "On AMD cards the VAE can need several times the memory it needs on NVIDIA."}
	}
	return map[string]string{"amd": ""}
}

// comfyDriver are cards on a refusal of the driver's.
var comfyDriver = addon.Driver(ram.Unloads,
	cause.Cure{Fix: "use_mmap", Title: "Turn pinned memory off: `--disable-pinned-memory`", Cost: "Somewhat slower.", Steps: comfyStart("In ComfyUI since November 2025.", step.Change{Flag: "--disable-pinned-memory"})},
	cause.Cure{Fix: "raise_pagefile", Title: "Look at RAM, enlarge the page file", Ways: roomSystems, Cost: "Free to look."},
	comfyKeepFree)

// comfyHost are cards on the computer's own memory, and on a Mac's.
var comfyHost = []cause.Card{
	{
		ID: "comfyui/pinned", Kinds: []fact.Kind{fact.HostBuffer}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not reserve (pin) system memory (RAM) for model weights",
		Means:    "ComfyUI wanted locked (\"pinned\") RAM for weights and did not get it. RAM is what ran short, not GPU memory, whatever the message mentions. On Windows only about half of the RAM can be pinned, however much is free.",
		Not:      "A smaller image: RAM ran short, not VRAM.",
		Cures: []cause.Cure{
			noPinning,
			{Fix: "upgrade_version", Title: "Update ComfyUI, or go back one version", Told: "Version 0.30 (August 2026) failed like this on many computers where 0.29 worked.", Cost: "Some minutes."},
			smallerOnDisk,
		},
		Sources: []string{comfyThread + "15255", comfyThread + "14940", comfyCode + "comfy/cli_args.py"}, Solved: 3,
	},
	{
		ID: "comfyui/pagefile", Kinds: []fact.Kind{fact.CommitLimit}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not load a file: RAM plus page file are full (error 1455)",
		Means:    "Windows error 1455: RAM plus page file (the commit limit) are used up, even if Task Manager shows free RAM. GPU memory is not the problem. Every model goes through system memory at about its size on disk.",
		Not:      "`--lowvram`: it keeps more in RAM. A smaller image: the model file stays the same size.",
		Cures:    []cause.Cure{letWindowsPage, {Fix: "close_other_apps", Title: "Close other programs first", Told: "Browser, games, a second ComfyUI. Then restart ComfyUI. Task Manager, Performance, Memory: \"Committed x / y\" shows what is left.", Cost: "Free."}, smallerOnDisk},
		Sources:  []string{comfyThread + "9139", comfyThread + "4108", comfyThread + "7036"}, Solved: 3,
	},
	{
		ID: "comfyui/huge-piece", Kinds: []fact.Kind{fact.CPUAlloc, fact.NumpyAlloc}, If: func(c *ledger.Case) bool { return ledger.Requested(c) > 24*units.GiB }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} of system memory (RAM) at once",
		Means:    "This is probably one batch of images, not a model. In RAM an image takes 12 bytes a pixel, so {asked} is a very long or very large batch (repeated, joined or upscaled frames, masks). Or a node has a number with a digit too many, or a bug.",
		Not:      "Closing programs: one request of {asked} is too much. `--lowvram`: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the numbers in the node that failed", Told: "It has a red frame in the workflow. Check amount, batch_size, frames and the upscale factor (2x instead of 4x needs a quarter). Try 10 frames first.", Cost: "Several runs."},
			{Fix: "lower_resolution", Title: "Process a video in parts", Told: "In Load Video (VHS) set frame_load_cap 100 and skip_first_frames 0, then 100, 200 and so on, with smaller frames. Join the results.", Cost: "Several runs."},
			{Fix: "upgrade_version", Title: "If it worked before an update: go back one version", Told: "Of ComfyUI, or of that node (in the Manager you can switch its version). Report the bug with your workflow.", Cost: "Some minutes."},
		},
		Sources: []string{comfyCode + "comfy_extras/nodes_images.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/frames-in-ram", Kinds: inRAM, Said: []string{"VideoHelperSuite", "VHS_", "ImageBatch", "torch.cat", "RIFE", "frame_interpolation", "Frame-Interpolation", "nodes_upscale_model", "tiled_scale", "ImageUpscaleWithModel", "SaveImage", "save_images"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM) for images or frames",
		Means:    "ComfyUI keeps images in RAM at 12 bytes a pixel: 100 frames of 1080p take 2.3 GiB. Each node that changes them makes another copy, and 4x upscaling makes them 16 times as large.",
		Not:      "`--lowvram`, VAE tiles: they save GPU memory, not RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Process fewer frames at a time", Told: "In Load Video (VHS) set frame_load_cap 100 and skip_first_frames 0, then 100, 200 and so on; join the parts. Or connect Meta Batch Manager to Load Video and Video Combine. Images: fewer in one batch.", Cost: "Several runs."},
			{Fix: "lower_resolution", Title: "Load smaller frames, upscale less", Told: "In Load Video (VHS) set custom_width and custom_height. Half of both needs a quarter of the RAM; so does 2x instead of 4x upscaling.", Cost: "Smaller frames."},
			letWindowsPage, moreSwapIf,
		},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-VideoHelperSuite"},
	},
	{
		ID: "comfyui/killed-colab", Kinds: killed, Said: []string{"/content/"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed on Colab, most likely because RAM ran out",
		Means:    "Colab ends a program that uses up the RAM; it then often prints ^C, although nobody pressed it. A free runtime has about 12.7 GB of RAM. Each model goes through RAM at its size on disk (Flux fp8 12 GB, T5 fp16 9.8 GB).",
		Not:      "`--lowvram`: it keeps more in RAM.",
		Cures:    []cause.Cure{smallerOnDisk, {Fix: "use_mmap", Title: "Start with `--gpu-only` or `--highvram`", Told: "Add it to the line `python main.py` in the cell. Models then stay on the card (15 GB on a T4), not in RAM. This works only if all of them fit there.", Kind: "config", Text: "--highvram", Cost: "VRAM."}, colabRAM},
		Sources:  []string{comfyCode + "comfy/cli_args.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/killed-dynamic", Kinds: killed, Said: []string{"prepared for dynamic VRAM loading", addon.SaysDynamic}, If: of("comfyui"), Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed by the system, most likely because RAM ran out", Figures: addon.Ended,
		Means:   "{ended} ComfyUI's dynamic VRAM loader keeps the weights of all models of the workflow in RAM. Part of that is pinned and cannot go to swap.",
		Cures:   []cause.Cure{noPinning, moreSwapIf, smallerOnDisk, keepLess},
		Sources: []string{comfyThread + "15255", comfyThread + "15276", comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/killed", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...), Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed by the system, most likely because RAM ran out", Figures: addon.Ended,
		Means:   "{ended} Each model goes through RAM at its size on disk, and ComfyUI keeps unloaded models there. So this often happens when the next model loads.",
		Not:     "`--lowvram`: it keeps more in RAM. VAE tiles: they save GPU memory.",
		Cures:   []cause.Cure{pageAfterSilence, boxed, smallerOnDisk, keepLess},
		Sources: []string{comfyThread + "7036", wanWrapper + "issues/360"}, Solved: 2,
	},
	{
		ID: "comfyui/ram", Kinds: inRAM, If: func(c *ledger.Case) bool { return c.Backend == "cpu" || c.Kind(fact.CPUAlloc) }, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "System memory ran out, not GPU memory. ComfyUI reads each model into RAM at about its size on disk and keeps unloaded models there. Images and frames are in RAM too, at 12 bytes a pixel.",
		Not:      "`--lowvram`: it keeps more in RAM.",
		Cures:    []cause.Cure{fewerInRAM, letWindowsPage, moreSwapIf, notImages(smallerOnDisk), keepLess},
		Sources:  []string{comfyThread + "4108", comfyThread + "7036"}, Solved: 2,
	},
	{
		ID: "comfyui/mac-vae", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding"}, Unsaid: []string{"vae.encode("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the VAE on this Mac",
		Means:    "The VAE failed, which turns the latent into the image or frames. On a Mac, models, working memory and all other programs share one memory.",
		Not:      "`--lowvram`: on a Mac RAM and VRAM are the same memory.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Use VAE Decode (Tiled)", Told: "Replace VAE Decode with it: tile_size 256 (older versions: 320), overlap 64. If another node decodes: turn on its tiling, or use fewer frames.", Cost: "Some seconds."},
			fewerPixels,
			{Fix: "restart_session", Title: "Unload models, close other programs", Told: "Click Unload Models (beside Manager), or restart ComfyUI. Close browser tabs and large programs.", Cost: "Models load again."},
		},
		Sources: []string{comfyCode + "comfy/sd.py", comfyCode + "nodes.py"},
	},
	{
		ID: "comfyui/mac-attention", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, Said: []string{"in attention_pytorch", "scaled_dot_product_attention("}, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "asked for {asked} for attention on this Mac",
		Means:    "PyTorch's attention failed. On a Mac it can write out a score matrix that grows with the square of the pixels, and of the frames. Metal also limits the size of one buffer, however much memory is free.",
		Not:      "`--lowvram`: on a Mac RAM and VRAM are the same memory. `--use-pytorch-cross-attention`: that is already in use.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Fewer frames, or a smaller image", Told: "Video: half of `length` first. Images: batch_size 1, and half the width and height, which needs a sixteenth here. Upscale afterwards in tiles.", Cost: "A smaller result."},
			{Fix: "efficient_attention", Title: "Use split attention, which works in slices", Steps: comfyStart("", step.Change{Flag: "--use-split-cross-attention"}), Cost: "Slower."},
			macFile(nil),
		},
		Sources: []string{comfyCode + "comfy/ldm/modules/attention.py", comfyCode + "comfy/cli_args.py", "https://github.com/Comfy-Org/ComfyUI_frontend/blob/main/src/constants/serverConfig.ts"},
	},
	{
		ID: "comfyui/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "ran out of memory on this Mac[[ (limit {limit})]]",
		Means:    "On a Mac the model, the image being made and all other programs share one memory. PyTorch lets a program use only part of it.",
		Not:      "`--lowvram`: on a Mac RAM and VRAM are the same memory.",
		Cures: []cause.Cure{
			macFile(macHeavy), fewerPixels, macFile(when.Not(macHeavy)),
			{Fix: "close_other_apps", Title: "Unload models, close other programs", Told: "Restart ComfyUI and run this workflow first. Quit other browser tabs and large programs (see Activity Monitor, Memory).", Cost: "Free."},
			{Fix: "raise_watermark", Title: "Lift PyTorch's limit, if little is missing", Kind: "shell", Text: "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 python main.py", Cost: "The Mac may swap and freeze; save your work first.", If: when.Not(addon.Desktop)},
		},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/city96/ComfyUI-GGUF"},
	},
}

// macHeavy: the weights take more than half of what the Mac allows.
func macHeavy(c *ledger.Case) bool {
	w, l := ledger.Sized(c, "weights"), c.F().Limit
	return l != nil && 2*w > l.Bytes
}

func macFile(holds func(*ledger.Case) bool) cause.Cure {
	return cause.Cure{Fix: "use_lower_quant", If: holds, Title: "Load a GGUF file of the model", Told: "Flux, Wan and similar: install ComfyUI-GGUF, load a Q4_K_S file with Unet Loader (GGUF), and a GGUF of T5. Most PyTorch versions cannot run fp8 files on a Mac.", Cost: "Slight loss of quality."}
}

// comfyBare are the last to speak: a message without figures or frames.
var comfyBare = []cause.Card{
	{
		ID: "comfyui/died-unloading", Kinds: []fact.Kind{fact.ComfyUnload, fact.ComfyTips}, Said: []string{"Fatal Python error: Aborted"}, If: func(c *ledger.Case) bool { return c.F().Requested == nil }, Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of GPU memory, then crashed while it unloaded its models",
		Means:    "ComfyUI ran out of GPU memory and began to unload its models; then Python crashed (`Fatal Python error`). That can be a bug in the driver or the loader, or RAM is full as well. The log does not show which.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart, and unload between models", Told: "If your queue uses several models, run all images of one model first. Then click Free model and node cache (beside Manager), or use the API:", Kind: "shell", Text: "curl -X POST http://127.0.0.1:8188/free -H \"Content-Type: application/json\" -d '{\"unload_models\": true, \"free_memory\": true}'", Cost: "Models load again."},
			comfyKeepFree,
			{Fix: "upgrade_version", Title: "Update ComfyUI and the driver", Told: "A crash instead of an error message is often a bug in one of them.", Cost: "Some minutes."},
		},
		Sources: []string{comfyCode + "comfy/model_patcher.py", comfyCode + "server.py"},
	},
	{
		ID: "comfyui/conv3d", Kinds: onCard, If: addon.InVolume, Unsaid: []string{"KSampler", "common_ksampler", "sample_custom", "comfy/samplers.py", "vae.encode(", "enable_vae_tiling"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a 3D convolution, most likely a video VAE",
		Means:    "It failed in a 3D convolution. In video models these are mostly in the VAE, which decodes the finished frames or encodes an input clip. Memory grows with width x height x frames. Lines above your paste may name the node.",
		Not:      "Fewer steps: the VAE needs the same.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Decode in tiles", Ways: []cause.Way{
				{For: "ComfyUI's own nodes", Text: "replace VAE Decode with VAE Decode (Tiled): tile_size 256, overlap 64, temporal_size 16, temporal_overlap 4"},
				{For: "A wrapper's decode node (Hunyuan, Wan)", Text: "turn enable_vae_tiling on, with smaller tiles (spatial 128 to 256, temporal 16)"},
			}, Cost: "Slower; faint seams with small overlaps."},
			{Fix: "lower_resolution", Title: "Fewer frames, or a lower resolution", Told: "Half the frames need about half the memory. To keep the sampled result, put Save Latent before the decoder and decode in a second run.", Cost: "A shorter or smaller video."},
			{Fix: "lowvram_mode", Title: "Keep more VRAM free: `--reserve-vram 2`", Told: "Start ComfyUI with it. Last resort: `--cpu-vae`, which needs a lot of RAM and takes minutes.", Cost: "Slower."},
		},
		Sources: []string{comfyCode + "nodes.py", comfyCode + "comfy/cli_args.py", "https://github.com/kijai/ComfyUI-HunyuanVideoWrapper"},
	},
	{
		ID: "comfyui/uncounted", Kinds: []fact.Kind{fact.TorchAsync}, If: when.All(uncounted, ledger.Crowded, when.Not(ledger.Roomy)), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "The message does not say who holds the rest of {total}. This allocator (cudaMallocAsync) keeps freed memory in a pool that it does not count, and other programs may hold part of it. So start with the node that failed.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a lower resolution or fewer frames in the node that failed", Told: "It has a red frame in the workflow. Set half the width and height, batch_size 1, and tiles if it has them. Video: fewer frames first.", Cost: "A smaller result."},
			comfyUnload, lookAround,
		},
		Sources: []string{"https://github.com/pytorch/pytorch/blob/main/c10/cuda/CUDAMallocAsyncAllocator.cpp", comfyCode + "execution.py"},
	},
	{
		ID: "comfyui/no-node", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool {
			return len(ledger.Trace(c)) == 0 && c.Asked.Has() && c.Mine.Has() && !ledger.Roomy(c) && !ledger.Crowded(c) && ledger.NeverFits(c) == ""
		}, Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "ran out of GPU memory[[; {unnamed}]]", Figures: addon.Unsaid,
		Means:   "ComfyUI itself uses {mine}[[ of the {total}]]. It moves weights to RAM when it needs room, so usually the work of one node is too large: a large image, many frames, the VAE. That node has a red frame in the workflow.",
		Cures:   []cause.Cure{redNode, comfyKeepFree, smallerFile},
		Sources: []string{comfyCode + "execution.py", comfyCode + "comfy/model_management.py"},
	},
	{
		ID: "comfyui/bare", Kinds: []fact.Kind{fact.TorchAsync, fact.ComfyUnload, fact.ComfyTips}, If: func(c *ledger.Case) bool { return c.F().Requested == nil && !c.Root(inRAM...) }, Among: []string{cause.Unknown, cause.BatchTooLarge},
		Headline: "ran out of GPU memory[[; {unnamed}]]",
		Figures:  addon.Unsaid,
		Means:    "{silent} ComfyUI moves weights to RAM by itself, so usually the work of one node is too large: a large image, many frames, the VAE. That node has a red frame in the workflow.",
		Cures: []cause.Cure{
			redNode,
			comfyKeepFree,
			{Fix: "restart_session", Title: "Make the next error show sizes", If: func(c *ledger.Case) bool { return c.Kind(fact.TorchAsync) }, Told: "Start with `--disable-cuda-malloc`. The next error then says how much was requested, free and in use.", Cost: "Slightly more fragmentation."},
		},
		Later:   "If the first run works and the second fails, click Unload Models (beside Manager) between them.",
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyCode + "execution.py"},
	},
}

// redNode: the page marks the node that failed, a report names it.
var redNode = cause.Cure{
	Fix: "lower_resolution", Title: "{find}, and give it less to do", Told: "It has a red frame in the workflow.[[ {report}]]", Ways: []cause.Way{
		{For: "KSampler and the like", Text: "half the width and height, batch_size 1; video: fewer frames (`length`) first"},
		{For: "VAE Decode", Text: "replace it with VAE Decode (Tiled): tile_size 256, for video also temporal_size 16"},
		{For: "A loader, or CLIP Text Encode", Text: "load an fp8 or GGUF file of that model; for text encoders you can also set `device` to cpu"},
	}, Cost: "Less detail, or some seconds.",
}
