package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const wanWrapper = "https://github.com/kijai/ComfyUI-WanVideoWrapper/"

var (
	letWindowsPage = cause.Cure{
		Fix: "raise_pagefile", Title: "Let Windows manage the page file", Kind: "ui",
		Text: "Windows Settings, About, Advanced system settings, Performance, Advanced, Virtual memory: System managed size on a drive with 50 GB free; restart",
		Cost: "Disk space; slow while it is used.",
	}
	moreSwap = cause.Cure{
		Fix: "add_swap", Title: "Add swap", Kind: "shell",
		Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile",
		Cost: "Disk space; slow while it is used.",
	}
	smallerOnDisk = cause.Cure{
		Fix: "use_lower_quant", Title: "Load fp8 or GGUF files, of the text encoder too", Kind: "ui",
		Text: "Load Diffusion Model and Load CLIP: fp8 or GGUF files; each needs about its own size in system memory while it is loaded",
		Cost: "Little quality.",
	}
)

// comfyNodes are cards of custom nodes, and of the computer's own memory.
var comfyNodes = []cause.Card{
	{
		ID: "comfyui/wanvideo-ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath, fact.HostBuffer}, inRAM...), killed...), Said: []string{"WanVideoWrapper", "WanVideo", "block swap"},
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "It is the computer's memory that ran out, not the card's. Block swap keeps the swapped part of the model in RAM, beside the text encoder and whatever other models ComfyUI keeps.",
		Not:     "More blocks to swap: that moves still more into RAM.",
		Cures:   []cause.Cure{{Fix: "cpu_offload", Title: "Swap fewer blocks, without pinning", Kind: "ui", Text: "Node WanVideo BlockSwap: blocks_to_swap as low as the card allows, use_non_blocking off; start ComfyUI with --disable-pinned-memory (late 2025 and later)", Cost: "Some speed."}, smallerOnDisk, letWindowsPage},
		Sources: []string{wanWrapper + "issues/565", wanWrapper + "issues/360", wanWrapper + "issues/1986"}, Solved: 3,
	},
	{
		ID: "comfyui/wanvideo", Kinds: onCard, Said: []string{"WanVideoWrapper"}, Unsaid: []string{"enable_vae_tiling"},
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means:   "WanVideoWrapper loads and moves its model by itself: ComfyUI's own memory options hardly reach it. Its knobs are the node WanVideo BlockSwap for the weights (14B has 40 blocks), and frames and size for the work.",
		Not:     "`--lowvram`: the wrapper does not follow it.",
		Cures:   []cause.Cure{{Fix: "cpu_offload", Title: "Swap more blocks to RAM", Kind: "ui", Text: "Connect the node WanVideo BlockSwap to the model loader, blocks_to_swap 20, then up to 40; Model Loader: load_device offload_device", Cost: "Some speed, and RAM for those blocks."}, {Fix: "lower_resolution", Title: "Make fewer frames or smaller ones", Kind: "ui", Text: "num_frames 49 instead of 81, or 480p; long clips: WanVideo Context Options, 81 frames at a time", Cost: "A shorter or smaller clip."}, {Fix: "upgrade_version", Title: "If it worked before an update", Kind: "text", Text: "Empty Triton's cache (the folder `.triton` in your home and `torchinductor_*` in the temp folder): stale kernels raised memory after updates.", Cost: "It compiles once more."}},
		Sources: []string{wanWrapper + "blob/main/nodes.py", wanWrapper + "issues/653", wanWrapper + "issues/1644", wanWrapper + "issues/898"}, Solved: 2,
	},
	{
		ID: "comfyui/wanvideo-decode", Kinds: onCard, Said: []string{"enable_vae_tiling"},
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means:   "WanVideo's own decode or encode node failed. It works on the whole clip at once unless its tiling is on.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Turn tiling on in that node", Kind: "ui", Text: "WanVideo Decode (or Encode): enable_vae_tiling on, tile_x and tile_y 272, strides 144 and 128", Cost: "Slower; seams may show."}, fewerFrames},
		Sources: []string{wanWrapper + "blob/main/nodes.py"},
	},
	{
		ID: "comfyui/gguf", Kinds: onCard, Said: []string{"ComfyUI-GGUF", "dequantize_blocks", "dequantize_tensor"},
		Cause: cause.ModelTooLarge, Weight: 0.6,
		Means:   "It failed in the GGUF node, which unpacks each layer to 16 bit on the card when it is used. A smaller file saves weights, not that scratch or the work on the image; LoRAs are applied while unpacking and add to it.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Keep more of the card free", Kind: "text", Text: "Start with `--reserve-vram 2` (GB): fewer layers stay on the card, and each has room to be unpacked.", Cost: "Slower."}, {Fix: "use_lower_quant", Title: "One quantisation smaller, and fewer LoRAs", Kind: "ui", Text: "Unet Loader (GGUF): Q4_K_S instead of Q8_0; Unet Loader (GGUF/Advanced): patch_on_device off", Cost: "Some quality."}, fewerPixels},
		Sources: []string{"https://github.com/city96/ComfyUI-GGUF/blob/main/nodes.py"},
	},
	{
		ID: "comfyui/seedvr2", Kinds: onCard, Said: []string{"SeedVR2"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "SeedVR2 upscales a batch of frames at once at the size of the result. Its log names the phase: Encoding and Decoding are cured by tiles, Upscaling by block swap or a smaller batch.",
		Not:     "ComfyUI's `--lowvram`: these nodes keep their own memory plan.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Failed in Encoding or Decoding: use tiles", Kind: "ui", Text: "SeedVR2 VAE loader: encode_tiled and decode_tiled on, tile sizes 1024, then 768 or 512", Cost: "Slower."}, {Fix: "cpu_offload", Title: "Failed in Upscaling: swap blocks", Kind: "ui", Text: "SeedVR2 DiT loader: offload_device cpu, blocks_to_swap 16, then 32 (3B) or 36 (7B), swap_io_components on", Cost: "Slower; needs RAM."}, {Fix: "lower_batch_size", Title: "Fewer frames at once", Kind: "ui", Text: "batch_size 5, then 1 (it counts 4n+1), or a lower resolution", Cost: "Less steady motion at 1."}},
		Sources: []string{"https://github.com/numz/ComfyUI-SeedVR2_VideoUpscaler/blob/main/README.md"},
	},
	{
		ID: "comfyui/ipadapter", Kinds: onCard, Said: []string{"IPAdapter", "CrossAttentionPatch", "PulidFlux", "ApplyInstantID"},
		Cause: cause.BatchTooLarge, Weight: 0.55,
		Means:   "It failed inside an image adapter (IPAdapter, InstantID, PuLID). Its image encoder and its weights stay on the card beside the model, and each reference adds work to every attention layer.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size", Title: "Use fewer references and adapters", Kind: "ui", Text: "One reference image per adapter, no batch; bypass (Ctrl+B) other adapters and ControlNets to see which one tips it over", Cost: "Looser likeness."}, fewerPixels, comfyKeepFree},
		Sources: []string{"https://github.com/cubiq/ComfyUI_IPAdapter_plus"},
	},
	{
		ID: "comfyui/animatediff", Kinds: onCard, Said: []string{"AnimateDiff-Evolved", "animatediff"},
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means:   "AnimateDiff samples all frames of a context as one batch: memory grows with frames times pixels. The length of the clip matters only as far as the context is as long as the clip.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size", Title: "Use a context of 16 frames", Kind: "ui", Text: "Connect Context Options (Looped Uniform or Standard Static), context_length 16, to the AnimateDiff loader", Cost: "None for clips of up to 16 frames."}, fewerPixels},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-AnimateDiff-Evolved"},
	},
	{
		ID: "comfyui/pinned", Kinds: []fact.Kind{fact.HostBuffer},
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "ComfyUI's dynamic loader could not get pinned system memory for weights. The words say CUDA, but it is RAM that was refused: Windows pins about half of it at most.",
		Not:     "A smaller image: the card was not what was full.",
		Cures:   []cause.Cure{{Fix: "use_mmap", Title: "Do without pinned memory", Kind: "text", Text: "Start with `--disable-pinned-memory`; if that fails, with `--disable-dynamic-vram`. In the portable build: at the end of the line in run_nvidia_gpu.bat.", Cost: "Somewhat slower loading."}, {Fix: "upgrade_version", Title: "Update ComfyUI, or go back one version", Kind: "text", Text: "Version 0.30 (August 2026) failed so on many machines where 0.29 did not: update, or go back to 0.29.", Cost: "Some minutes."}, smallerOnDisk},
		Sources: []string{comfyThread + "15255", comfyThread + "14940", comfyCode + "comfy/cli_args.py"}, Solved: 3,
	},
	{
		ID: "comfyui/pagefile", Kinds: []fact.Kind{fact.CommitLimit},
		Cause: cause.HostMemory, Weight: 0.93,
		Means:   "Windows had promised away all of RAM plus page file when ComfyUI loaded a file. The card is not involved: every model passes through system memory first, each at about its size on disk.",
		Not:     "`--lowvram` or a smaller image: both are about the card; `--lowvram` even puts more into RAM.",
		Cures:   []cause.Cure{letWindowsPage, smallerOnDisk, {Fix: "close_other_apps", Title: "Keep no results of old nodes", Kind: "text", Text: "Start with `--cache-none`: nothing is kept in RAM between runs.", Cost: "Every run computes all nodes again."}},
		Sources: []string{comfyThread + "9139", comfyThread + "4108", comfyThread + "7036"}, Solved: 3,
	},
	{
		ID: "comfyui/frames-in-ram", Kinds: inRAM, Said: []string{"VideoHelperSuite", "VHS_", "ImageBatch", "torch.cat", "RIFE", "frame_interpolation"},
		Cause: cause.HostMemory, Weight: 0.8,
		Means:   "ComfyUI keeps frames in RAM as 32-bit floats: 12 bytes a pixel, so 100 frames of 1080p are 2.5 GB, and every node that changes them makes another copy.",
		Not:     "Options about the card: it had no part in this.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size", Title: "Work on the clip in parts", Kind: "ui", Text: "Load Video (VHS): frame_load_cap 100 and skip_first_frames 0, 100, 200 ...; or the Meta Batch Manager; join the parts afterwards", Cost: "Several runs."}, {Fix: "lower_resolution", Title: "Scale frames on load", Kind: "ui", Text: "Load Video (VHS): custom_width and custom_height", Cost: "Smaller frames."}, letWindowsPage},
		Sources: []string{"https://github.com/Kosinkadink/ComfyUI-VideoHelperSuite"},
	},
	{
		ID: "comfyui/killed", Kinds: append([]fact.Kind{fact.SilentDeath}, killed...),
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "The system ended ComfyUI without a message of its own: nearly always RAM, not the card. Models pass through RAM at their size on disk, and ComfyUI keeps unloaded ones there.",
		Not:     "`--lowvram`: it moves more into RAM.",
		Cures:   []cause.Cure{moreSwap, smallerOnDisk, {Fix: "close_other_apps", Title: "Keep less in RAM between runs", Kind: "text", Text: "Start with `--cache-none`; in a container or WSL raise its memory limit as well.", Cost: "Every run computes all nodes again."}},
		Sources: []string{comfyThread + "7036", wanWrapper + "issues/360"}, Solved: 2,
	},
	{
		ID: "comfyui/ram", Kinds: inRAM, If: func(c *ledger.Case) bool { return c.Backend == "cpu" || c.Kind(fact.CPUAlloc) },
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "System memory was refused, not the card's. ComfyUI reads each model into RAM before it moves it, and keeps what it took off the card there.",
		Not:     "A smaller image: that is work on the card.",
		Cures:   []cause.Cure{smallerOnDisk, letWindowsPage, {Fix: "close_other_apps", Title: "Keep less in RAM between runs", Kind: "text", Text: "Start with `--cache-none`, and close browsers.", Cost: "Every run computes all nodes again."}},
		Sources: []string{comfyThread + "4108", comfyThread + "7036"}, Solved: 2,
	},
	{
		ID: "comfyui/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer},
		Cause: cause.BatchTooLarge, Weight: 0.5,
		Means:   "On a Mac model, picture and all other programs share one memory, and Metal gives a program only part of it. Moving weights out frees nothing: there is no other place.",
		Not:     "`--lowvram` and `--cpu-vae`: both move things inside the same memory.",
		Cures:   []cause.Cure{{Fix: "use_lower_quant", Title: "Load a GGUF file", Kind: "ui", Text: "A GGUF (Q4_K_S) with the node Unet Loader (GGUF) and a quantised T5; fp8 files do not run on Metal in most PyTorch versions", Cost: "Little quality."}, fewerPixels, comfyTiles},
		Sources: []string{comfyCode + "comfy/model_management.py", "https://github.com/city96/ComfyUI-GGUF"},
	},
	{
		ID: "comfyui/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"},
		If: func(c *ledger.Case) bool { return !c.Kind(inRAM...) }, Cause: cause.BatchTooLarge, Weight: 0.6,
		Means:   "DirectML refused memory. It never tells PyTorch how much is free, so ComfyUI cannot plan and assumes 1 GB; weights are not moved out in time.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Force the low-memory mode", Kind: "text", Text: "Start with `--directml --novram`, or `--lowvram`; `--use-split-cross-attention` as well.", Cost: "Slower."}, comfyTiles, {Fix: "upgrade_version", Title: "Leave DirectML", Kind: "text", Text: "ROCm builds of PyTorch for Windows (RX 7000 and later), ZLUDA or Linux use the same card with far less memory.", Cost: "A new installation."}},
		Sources: []string{comfyCode + "comfy/model_management.py", comfyCode + "comfy/cli_args.py"},
	},
	{
		ID: "comfyui/amd-vae", Kinds: onCard, Said: []string{"vae.decode(", "VAEDecode", "first_stage_model.decode", "regular VAE decoding", "comfy/sd.py"},
		If: func(c *ledger.Case) bool { return c.Backend == "rocm" && !carvedOut(c) }, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "On AMD cards the VAE is where it mostly fails: the convolutions of MIOpen take several times the scratch that NVIDIA's take, so an image that was sampled well does not get decoded.",
		Not:     "`--reserve-vram`: this scratch does not heed it.",
		Cures:   []cause.Cure{comfyTiles, {Fix: "efficient_attention", Title: "Let MIOpen search less", Kind: "env", Text: "export MIOPEN_FIND_MODE=FAST", Cost: "Some speed."}, {Fix: "half_precision", Title: "Run the VAE at bf16", Kind: "text", Text: "Start with `--bf16-vae`: ROCm runs it at 32 bit by default in many versions.", Cost: "None that can be seen."}},
		Sources: []string{comfyThread + "5341", comfyThread + "5759", comfyThread + "9547", "https://github.com/LykosAI/StabilityMatrix/pull/1469"}, Solved: 3,
	},
}

// comfyBare are the last to speak: a message without figures or frames.
var comfyBare = []cause.Card{
	{
		ID: "comfyui/bare", Kinds: []fact.Kind{fact.TorchAsync, fact.ComfyUnload, fact.ComfyTips}, If: func(c *ledger.Case) bool { return c.F().Requested == nil && c.F().Total == nil },
		Cause: cause.Unknown, Weight: 0.5,
		Means:   "ComfyUI's allocator (cudaMallocAsync) says only that memory was refused, without sizes. What decides is the node that failed, named in red in the workflow and in the frames above the message.",
		Cures:   []cause.Cure{comfyKeepFree, {Fix: "lower_resolution", Title: "Look which node is red", Kind: "text", Text: "VAE Decode: use VAE Decode (Tiled). KSampler: smaller image or batch. A loader or text encoder: an fp8 or GGUF file.", Cost: "Free."}, {Fix: "restart_session", Title: "Get the sizes", Kind: "text", Text: "Start with `--disable-cuda-malloc`: the next failure then says how much was asked for, free and in use.", Cost: "Slightly more fragments."}},
		Sources: []string{comfyCode + "comfy/cli_args.py", comfyCode + "execution.py"},
	},
}
