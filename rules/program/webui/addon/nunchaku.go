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
	Fix: "cpu_offload", Title: "Nunchaku's loader node: cpu_offload enable", Cost: "Somewhat slower, and RAM.",
	Told: "`auto` turns it on by itself only below 14 to 15 GB. If the node has no such input: update ComfyUI-nunchaku and the package nunchaku together.",
	If:   func(c *ledger.Case) bool { return !c.Near("Layer offloading enabled", "enable CPU offload") },
}

// Nunchaku speaks for its loader, whose transformer is in memory of its own: the
// errors are those of its C++ code and have no figures.
var Nunchaku = []cause.Card{
	{
		ID: "comfyui/nunchaku-pinned", Kinds: []fact.Kind{fact.CUDAError}, Phases: []string{"load"}, Said: []string{"Failed to load safetensors using method"}, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused pinned RAM for Nunchaku's model, then graphics memory",
		Means:    "Nunchaku first tries to pin the model's file in RAM. CUDA refused that too, with the same words, and it went on without. On Windows pinned RAM and graphics memory both count against RAM plus page file, so that one shortage there would explain every line; a full card explains only the last.",
		Not:      "A lower resolution, fewer steps: no image had been begun.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Look at the RAM while it loads", Cost: "Free to look.", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance, Memory: if \"Committed\" comes near its limit, let Windows manage the page file (`sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory), then restart."},
				{For: "Linux", Text: "`free -h`; a container, and WSL (`memory=` in .wslconfig), has a limit of its own."},
			}},
			{Fix: "close_other_apps", Title: "Close other programs, restart ComfyUI", Told: "It frees RAM and card. `nvidia-smi` shows what is on the card before ComfyUI starts.", Cost: "Free."},
			nunchakuOffload,
		},
		Sources: []string{nunchaku + "src/Serialization.cpp", nunchaku + "src/Tensor.h", nunchakuNodes + "nodes/models/flux.py"},
	},
	{
		ID: "comfyui/nunchaku-load", Kinds: []fact.Kind{fact.CUDAError, fact.TorchAlloc, fact.TorchAsync}, Phases: []string{"load"}, Said: []string{"Initializing Quantized", "nunchaku/src/", `nunchaku\src\`, `nunchaku-dev\src\`, "Layer offloading enabled", "enable CPU offload"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while Nunchaku loaded its model",
		Means:    "Nunchaku's 4-bit transformer takes 6 to 12 GB (FLUX the least), in memory of its own that ComfyUI does not move. Without offloading all of it goes to the card, beside what is there already.",
		Not:      "A lower resolution: no image had been begun. `--lowvram`: it does not reach this transformer.",
		Cures: []cause.Cure{
			nunchakuOffload,
			{Fix: "restart_session", Title: "Unload other models, close other programs", Told: "Restart ComfyUI and run this workflow first; close what else uses the card.", Cost: "Models load again."},
			{Fix: "use_lower_quant", Title: "Or take a GGUF file of the model", Told: "Q4_K_S or smaller with Unet Loader (GGUF) of ComfyUI-GGUF: ComfyUI keeps in RAM what does not fit on the card.", Cost: "Slower."},
		},
		Sources: []string{nunchaku + "src/Tensor.h", nunchaku + "nunchaku/csrc/flux.h", nunchakuNodes + "nodes/models/flux.py", "https://github.com/city96/ComfyUI-GGUF"},
	},
}
