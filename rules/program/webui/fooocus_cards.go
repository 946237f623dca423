package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
)

const fooocusArgs = "https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/args_parser.py"

var inFooocus = of("fooocus")

var fooocusLow = cause.Cure{
	Fix: "lowvram_mode", Title: "Start with `--always-low-vram`", Told: "Windows package: the flag at the end of the line in `run.bat`.", Kind: "shell", Text: "python entry_with_update.py --always-low-vram", Cost: "Slower.",
}

var fooocusCards = slices.Concat([]cause.Card{
	roomLeft("fooocus/room-left", inFooocus, fooocusLow, "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"),
	othersHold("fooocus/others-hold", "Fooocus", inFooocus, "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"),
}, addon.FooocusMac, ofCard([]cause.Card{
	{
		ID: "fooocus/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return inFooocus(c) && !c.Kind(inRAM...) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "was refused graphics memory through DirectML",
		Means:    "DirectML (AMD or Intel cards under Windows) does not say how much memory there is: Fooocus takes it for 1024 MB on every card and cannot plan.[[ {place}]]", Figures: addon.DirectPlace,
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Start with `--always-low-vram --vae-in-cpu`", Told: "In the line of `run.bat` that starts it (try `--always-low-vram` alone first):", Kind: "config", Text: `.\python_embeded\python.exe Fooocus\entry_with_update.py --directml --always-low-vram --vae-in-cpu`, Cost: "Slow."},
			{Fix: "lower_resolution", Title: "Restart Fooocus, then one smaller image at a time", Told: "DirectML gives little back while the program runs. Advanced: Image Number 1, a smaller entry of Aspect Ratios.", Cost: "Less detail."},
			{Fix: "close_other_apps", Title: "Close other programs", Told: "Browser and games; its readme asks for 8 GB of VRAM on AMD under Windows.", Cost: "Free."},
		},
		Sources: []string{fooocusThread + "1232", fooocusArgs, "https://github.com/lllyasviel/Fooocus/blob/main/readme.md"}, Solved: 1,
	},
	{
		ID: "fooocus/killed-colab", Kinds: killed, Said: []string{"/content/"}, If: inFooocus, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was ended while it loaded models, most likely because RAM ran out",
		Means:    "Nobody need have pressed ^C: Colab prints it when it ends a program for lack of RAM. A free runtime has about 12.7 GB; Fooocus keeps SDXL (7 GB) and its other models there while they are not on the card.",
		Not:      "`--always-low-vram`: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Keep the models on the card: `--always-high-vram`", Told: "In the cell, as Fooocus's own notebook starts it (a T4 has 15 GB):", Kind: "shell", Text: "python entry_with_update.py --share --always-high-vram", Cost: "VRAM."},
			{Fix: "use_smaller_model", Title: "Turn off the refiner, use one checkpoint", Told: "Advanced, Model: Refiner None; no switch between presets or checkpoints in one session.", Cost: "Slightly less detail."},
			colabRAM,
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/fooocus_colab.ipynb", "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"},
	},
	{
		ID: "fooocus/swap", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM...), killed...), Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "Fooocus keeps SDXL, its refiner and a prompt model in RAM; its own guide asks for 40 GB of swap for crashes like this. On Windows RAM and page file count together.[[ A request for {asked} was refused.]]",
		Not:      "`--always-low-vram`: it keeps more in RAM.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Enlarge the page file, or add swap", Told: "Virtual memory (Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced): System managed size, with 40 GB free on the drive of Fooocus and on C:; restart. Linux: 40 GB of swap.", Cost: "40 GB of disk, better an SSD."},
			closeForRAM,
			{Fix: "use_smaller_model", Title: "Turn off the refiner and LoRAs", Told: "Advanced, Model: Refiner None.", Cost: "Slightly less detail."},
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md", fooocusThread + "177", fooocusThread + "196", fooocusThread + "237", fooocusThread + "3522"}, Solved: 4,
	},
	{
		ID: "fooocus/driver", Kinds: []fact.Kind{fact.CUDAError}, If: inFooocus, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "got the driver's out-of-memory error while it moved a model",
		Means:    "The message has no sizes and is the driver's. Fooocus moves SDXL between RAM and card piece by piece, so RAM may be full as well as the card; on Windows both count against RAM plus page file, and Fooocus asks for 40 GB of it (and 8 GB of RAM).",
		Not:      "A smaller image, fewer steps: it failed on the weights.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Give Windows 40 GB of page file", Told: "Virtual memory (Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced): System managed size, with 40 GB free on the drive of Fooocus and on C:, better an SSD; restart. Linux: 40 GB of swap.", Cost: "Disk space."},
			{Fix: "close_other_apps", Title: "Close what else uses the card and RAM", Told: "Browser tabs, games, a second Fooocus; then start Fooocus first after a restart.", Cost: "Free."},
			fooocusLow,
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md", fooocusArgs},
	},
	{
		ID: "fooocus/upscale", Kinds: onCard, Said: []string{"perform_upscale", "Upscaling image", "in apply_upscale", "upscaler.py"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in Upscale or Variation",
		Means:    "Upscale and Variation work at the size of the input image: 2x of a large image has several times the pixels that SDXL was made for.",
		Not:      "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use Upscale (Fast 2x), or a smaller input image", Told: "Input Image, Upscale or Variation: Upscale (Fast 2x) does not redraw the image; or scale the input to about 1000 pixels first.", Cost: "Fast 2x adds no detail."},
			{Fix: "lowvram_mode", Title: "Start with `--always-offload-from-vram`", Kind: "shell", Text: "python entry_with_update.py --always-offload-from-vram --vae-in-fp16", Cost: "Some speed."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{fooocusArgs},
	},
	{
		ID: "fooocus/moving", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: append([]string{"load_models_gpu", "To load target model", "Begin to load", "patch_model"}, addon.Moving...), If: func(c *ledger.Case) bool {
			return inFooocus(c) && addon.ToMove(c) && ledger.OnCard(c) && !ledger.Roomy(c)
		}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while it moved a model to the card",
		Means:    "It failed while weights went to the card. Fooocus moves SDXL in parts where the card is small, by what is free at that moment[[; {mine} of {total} was its own already]]. Most often another program took memory meanwhile, or models of the image before were still there.",
		Not:      "`--lowvram`, `--medvram`: Fooocus does not have them.",
		Cures: []cause.Cure{
			fooocusLow,
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "A second Fooocus, a game, the browser:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: "use_lower_quant", Title: "Load the weights in 8 bit", Kind: "shell", Text: "python entry_with_update.py --unet-in-fp8-e4m3fn --clip-in-fp8-e4m3fn", Cost: "Slight loss of quality."},
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/model_management.py", fooocusArgs},
	},
	{
		ID: "fooocus/card", Kinds: onCard, If: func(c *ledger.Case) bool { return inFooocus(c) && ledger.OnCard(c) && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "Fooocus moves weights by itself and can run SDXL in 4 GB[[; here {mine} of {total} is its own]]. On 6 GB or more it mostly fails because another program or a second Fooocus holds part of the card, or because ControlNets and Inpaint came on top.",
		Not:      "`--lowvram`, `--medvram`: Fooocus does not have them.",
		Cures:    []cause.Cure{{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}, fooocusLow, {Fix: "lower_resolution", Title: "Lower the resolution, one image at a time", Told: "Advanced: a smaller entry of Aspect Ratios, Image Number 1, no ControlNet or Inpaint.", Cost: "A smaller image."}},
		Sources:  []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"},
	},
}))
