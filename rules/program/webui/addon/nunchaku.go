package addon

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	nunchaku      = "https://github.com/nunchaku-tech/nunchaku/blob/main/"
	nunchakuNodes = "https://github.com/nunchaku-tech/ComfyUI-nunchaku/blob/main/"
)

// nunchakuOffload is an input since March 2025.
var nunchakuOffload = cause.Cure{
	Fix: "cpu_offload", Title: "Set cpu_offload to enable in Nunchaku's loader node", Cost: "Somewhat slower, and RAM.",
	Told: "`auto` offloads only on cards below 14 to 15 GB. If the node has no such input, update ComfyUI-nunchaku and the package nunchaku together.",
	If:   func(c *ledger.Case) bool { return !c.Near("Layer offloading enabled", "enable CPU offload") },
}

// Nunchaku speaks for its loader, whose transformer is in memory of its own: the
// errors are those of its C++ code and have no figures.
var Nunchaku = []cause.Card{
	{
		ID: "comfyui/nunchaku-pinned", Kinds: []fact.Kind{fact.CUDAError}, Phases: []string{"load"}, Said: []string{"Failed to load safetensors using method"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get pinned RAM for Nunchaku's model, then no GPU memory",
		Means:    "Nunchaku first tries to pin the model file in RAM; that failed too. On Windows pinned RAM and GPU memory both count against RAM plus page file. So too little of those would explain both errors; a full card explains only the last.",
		Not:      "A lower resolution, fewer steps: it failed before the image was started.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Watch the RAM while it loads", Cost: "Free to look.", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance, Memory: if \"Committed x / y\" gets close to y, enlarge the page file (`sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory), then restart"},
				{For: "Linux", Text: "`free -h`; containers and WSL (`memory=` in .wslconfig) can have lower limits"},
			}},
			{Fix: "close_other_apps", Title: "Close other programs, restart ComfyUI", Told: "This frees RAM and GPU memory. Before ComfyUI starts, `nvidia-smi` shows what is on the card.", Cost: "Free."},
			nunchakuOffload,
		},
		Sources: []string{nunchaku + "src/Serialization.cpp", nunchaku + "src/Tensor.h", nunchakuNodes + "nodes/models/flux.py"},
	},
	{
		ID: "comfyui/nunchaku-load", Kinds: []fact.Kind{fact.CUDAError, fact.TorchAlloc, fact.TorchAsync}, Phases: []string{"load"}, Said: []string{"Initializing Quantized", "nunchaku/src/", `nunchaku\src\`, `nunchaku-dev\src\`, "Layer offloading enabled", "enable CPU offload"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while Nunchaku loaded its model",
		Means:    "Nunchaku's 4-bit model takes 6 to 12 GB (FLUX the least), and ComfyUI cannot move it to RAM. Without offloading all of it goes to the card, beside what is there already.",
		Not:      "A lower resolution: it failed before the image was started. `--lowvram`: Nunchaku ignores it.",
		Cures: []cause.Cure{
			nunchakuOffload,
			{Fix: "restart_session", Title: "Unload other models, close other programs", Told: "Restart ComfyUI and run this workflow first. Close games and other programs that use the card.", Cost: "Models load again."},
			{Fix: "use_lower_quant", Title: "Or use a GGUF file of the model", Told: "Install ComfyUI-GGUF and load Q4_K_S or smaller with Unet Loader (GGUF). ComfyUI then keeps in RAM what does not fit on the card.", Cost: "Slower."},
		},
		Sources: []string{nunchaku + "src/Tensor.h", nunchaku + "nunchaku/csrc/flux.h", nunchakuNodes + "nodes/models/flux.py", "https://github.com/city96/ComfyUI-GGUF"},
	},
}
