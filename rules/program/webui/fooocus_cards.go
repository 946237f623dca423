package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/when"
)

const fooocusArgs = "https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/args_parser.py"

var inFooocus = of("fooocus")

var fooocusLow = cause.Cure{
	Fix: "lowvram_mode", Title: "Start with `--always-low-vram`", Told: "Windows package: add the flag at the end of the line in `run.bat`.", Kind: "shell", Text: "python entry_with_update.py --always-low-vram", Cost: "Slower.", If: when.Not(fooocusIsLow),
}

// fooocusIsLow: it chooses that by itself on cards of 4 GB or less
// (model_management.py).
func fooocusIsLow(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes <= 4*units.GiB }

var fooocusCards = slices.Concat([]cause.Card{
	roomLeft("fooocus/room-left", inFooocus, fooocusLow, "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"),
	othersHold("fooocus/others-hold", "Fooocus", inFooocus, "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"),
}, addon.FooocusMac, ofCard([]cause.Card{
	{
		ID: "fooocus/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return inFooocus(c) && !c.Kind(inRAM...) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory with DirectML",
		Means:    "DirectML does not tell Fooocus how much GPU memory there is. Fooocus assumes 1024 MB on every card, so it cannot plan.[[ {place}]]", Figures: addon.DirectPlace,
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Start with `--always-low-vram --vae-in-cpu`", Told: "Try `--always-low-vram` alone first. In `run.bat` the line becomes:", Kind: "config", Text: `.\python_embeded\python.exe Fooocus\entry_with_update.py --directml --always-low-vram --vae-in-cpu`, Cost: "Slow."},
			{Fix: "lower_resolution", Title: "Restart Fooocus, then make one smaller image at a time", Told: "DirectML frees little while the program runs. Advanced: Image Number 1, and a smaller size in Aspect Ratios.", Cost: "Less detail."},
			{Fix: "close_other_apps", Title: "Close other programs", Told: "Close browser and games. Fooocus's readme asks for 8 GB of VRAM on AMD under Windows.", Cost: "Free."},
		},
		Sources: []string{fooocusThread + "1232", fooocusArgs, "https://github.com/lllyasviel/Fooocus/blob/main/readme.md"}, Solved: 1,
	},
	{
		ID: "fooocus/killed-colab", Kinds: killed, Said: []string{"/content/"}, If: inFooocus, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed on Colab, most likely because RAM ran out",
		Means:    "Colab ends a program that uses up the RAM; it then often prints ^C, although nobody pressed it. A free runtime has about 12.7 GB of RAM. Fooocus keeps SDXL (7 GB) and its other models there while they are not on the card.",
		Not:      "`--always-low-vram`: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Keep the models on the card: `--always-high-vram`", Told: "Fooocus's own notebook starts it like this (a T4 has 15 GB). In the cell:", Kind: "shell", Text: "python entry_with_update.py --share --always-high-vram", Cost: "VRAM."},
			{Fix: "use_smaller_model", Title: "Turn off the refiner, use one checkpoint", Told: "Advanced, Model: Refiner None. Do not switch presets or checkpoints within one session.", Cost: "Slightly less detail."},
			colabRAM,
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/fooocus_colab.ipynb", "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"},
	},
	{
		ID: "fooocus/swap", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM...), killed...), Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "Fooocus keeps SDXL, its refiner and a prompt model in RAM. For crashes like this its own guide asks for 40 GB of swap (on Windows: page file).",
		Not:      "`--always-low-vram`: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Enlarge the page file, or add swap", Told: "Windows: Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: System managed size, for C: and Fooocus's drive, with 40 GB free; restart. Linux: 40 GB of swap.", Cost: "40 GB of disk, best on an SSD."},
			closeForRAM,
			{Fix: "use_smaller_model", Title: "Turn off the refiner and LoRAs", Told: "Advanced, Model: Refiner None.", Cost: "Slightly less detail."},
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md", fooocusThread + "177", fooocusThread + "196", fooocusThread + "237", fooocusThread + "3522"}, Solved: 4,
	},
	{
		ID: "fooocus/driver", Kinds: []fact.Kind{fact.CUDAError}, If: inFooocus, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "got a CUDA out-of-memory error without sizes",
		Means:    "Either RAM or the card may be full. Fooocus moves SDXL between RAM and card. On Windows GPU memory also counts against RAM plus page file; Fooocus asks for 8 GB of RAM and 40 GB of page file.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Give Windows 40 GB of page file", Told: "Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: System managed size, for C: and Fooocus's drive, with 40 GB free; restart. Linux: 40 GB of swap.", Cost: "Disk space, best on an SSD."},
			{Fix: "close_other_apps", Title: "Close what else uses the card and RAM", Told: "Browser tabs, games, a second Fooocus. Best restart the computer and start Fooocus first.", Cost: "Free."},
			fooocusLow,
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md", fooocusArgs},
	},
	{
		ID: "fooocus/upscale", Kinds: onCard, Said: []string{"perform_upscale", "Upscaling image", "in apply_upscale", "upscaler.py"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in Upscale or Variation",
		Means:    "Upscale and Variation work at the size of the input image. Twice the size of a large image has several times the pixels that SDXL was made for.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use Upscale (Fast 2x), or a smaller input image", Told: "Input Image, Upscale or Variation: choose Upscale (Fast 2x), which does not redraw the image. Or scale the input to about 1000 pixels first.", Cost: "Fast 2x adds no detail."},
			{Fix: "lowvram_mode", Title: "Start with `--always-offload-from-vram`", Kind: "shell", Text: "python entry_with_update.py --always-offload-from-vram --vae-in-fp16", Cost: "Some speed."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{fooocusArgs},
	},
	{
		ID: "fooocus/moving", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: append([]string{"load_models_gpu", "To load target model", "Begin to load", "patch_model"}, addon.Moving...), If: func(c *ledger.Case) bool {
			return inFooocus(c) && addon.ToMove(c) && ledger.OnCard(c) && !ledger.Roomy(c)
		}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while it moved a model to the card",
		Means:    "It failed while model weights went to the card. Fooocus plans that by what is free at that moment. So usually another program took memory in the meantime, or models of the last image were still there.",
		Not:      "`--lowvram`, `--medvram`: Fooocus does not have them.",
		Cures: []cause.Cure{
			fooocusLow,
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "Close a second Fooocus, games, the browser:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: "use_lower_quant", Title: "Load the weights in 8 bit", Kind: "shell", Text: "python entry_with_update.py --unet-in-fp8-e4m3fn --clip-in-fp8-e4m3fn", Cost: "Slight loss of quality."},
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/model_management.py", fooocusArgs},
	},
	{
		ID: "fooocus/card", Kinds: onCard, If: func(c *ledger.Case) bool { return inFooocus(c) && ledger.OnCard(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "Fooocus moves weights to RAM by itself and can run SDXL on a 4 GB card. On 6 GB or more it usually fails because another program uses part of the card, or because ControlNets, Inpaint or a large image came on top.",
		Not:      "`--lowvram`, `--medvram`: Fooocus does not have them.",
		Cures:    []cause.Cure{{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}, fooocusLow, {Fix: "lower_resolution", Title: "Lower the resolution, one image at a time", Told: "Advanced: a smaller size in Aspect Ratios, Image Number 1. No ControlNet or Inpaint.", Cost: "A smaller image."}},
		Sources:  []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"},
	},
}))
