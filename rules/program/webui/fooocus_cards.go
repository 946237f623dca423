package webui

import (
	"fmt"
	"math"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const fooocusArgs = "https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/args_parser.py"

var inFooocus = of("fooocus")

var fooocusLow = cause.Cure{
	Fix: "lowvram_mode", Title: "Force its low-memory mode", Told: "Windows package: the flag at the end of the line in `run.bat`.", Kind: "shell", Text: "python entry_with_update.py --always-low-vram", Cost: "Slower.",
}

var fooocusCards = slices.Concat([]cause.Card{
	roomLeft("fooocus/room-left", inFooocus, fooocusLow, "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"),
	othersHold("fooocus/others-hold", "Fooocus", inFooocus, "https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"),
	{
		ID: "fooocus/mac", Kinds: []fact.Kind{fact.MPSAlloc}, If: func(c *ledger.Case) bool { return c.Says("fooocus") && c.F().Limit != nil },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "reached PyTorch's limit on this Mac, {limit}",
		Means:    "{limit} is PyTorch's own ceiling, 1.7 times what macOS recommends for graphics[[ ({recommended}, that of a Mac with {ram} GB, which is swapping by now)]]; {asked} more was one too many. A line \"Total time\" is how Fooocus ends a run, so it is probably that, with SDXL: about 7 GB of weights. Its readme calls the guide for Macs unofficial.",
		Figures:  macLimit,
		Not:      "Allocator settings of CUDA, 4 bit (NVIDIA only), fewer steps: the weights fill it.",
		Cures: []cause.Cure{
			{Fix: "raise_watermark", Title: "Lift the ceiling: little is missing", Told: "Save your work first; quit the browser.", Kind: "shell", Text: "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 python entry_with_update.py", Cost: "More swapping; the Mac may become very slow.", If: fewMiB},
			{Fix: "lower_resolution", Title: "A smaller image, one at a time", Told: "Advanced: Aspect Ratios 704x1344 or smaller, Image Number 1, no upscale; Model: Refiner None.", Cost: "Detail."},
			{Fix: "raise_watermark", Title: "Lift the ceiling", Told: "Save your work first; quit the browser.", Kind: "shell", Text: "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 python entry_with_update.py", Cost: "More swapping; the Mac may become very slow.", If: when.Not(fewMiB)},
			{Fix: "use_smaller_model", Title: "A program made for Macs", Told: "Draw Things runs SD 1.5 and quantised SDXL in less. Fooocus itself has SDXL only.", Cost: "Another program."},
		},
		Sources: []string{fooocusThread + "980", "https://github.com/lllyasviel/Fooocus/blob/main/readme.md", "pytorch/aten/src/ATen/mps/MPSAllocator.mm"}, Solved: 1,
	},
}, ofCard([]cause.Card{
	{
		ID: "fooocus/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"},
		If: func(c *ledger.Case) bool { return inFooocus(c) && !c.Kind(inRAM...) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not put SDXL on the card through DirectML",
		Means:    "An AMD (or Intel) card under Windows. \"Total VRAM 1024 MB\" is a placeholder: DirectML does not say how much there is, so Fooocus cannot plan or free in time, and SDXL is about 7 GB with its text encoders.",
		Not:      "A smaller image: it failed on the weights. The 1024 MB say nothing of your card.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Low-memory mode, VAE on the processor", Told: "In the line of `run.bat` that starts it (first `--always-low-vram` alone):", Kind: "config", Text: `.\python_embeded\python.exe Fooocus\entry_with_update.py --directml --always-low-vram --vae-in-cpu`, Cost: "Slow."},
			{Fix: "upgrade_version", Title: "Update Fooocus", Told: "Starting it with `entry_with_update.py` does that; several releases failed like this on AMD and later ones did not. Its readme asks for 8 GB of card memory on AMD under Windows.", Cost: "Free."},
			{Fix: "close_other_apps", Title: "Free the card, and give Windows a page file", Told: "Close browser and games; 40 GB free on the system drive for the page file.", Cost: "Free."},
		},
		Sources: []string{fooocusThread + "1232", fooocusArgs, "https://github.com/lllyasviel/Fooocus/blob/main/readme.md"}, Solved: 1,
	},
	{
		ID: "fooocus/swap", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM...), killed...),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of the computer's own memory, not the card's",
		Means:    "Fooocus keeps SDXL, its refiner and a prompt model in RAM; its own guide asks for 40 GB of swap for nearly every crash like this[[; {asked} is only the piece that was refused last]]. RAM and page file count together.",
		Not:      "`--always-low-vram`: it is about the card and needs still more RAM.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Give the page file room", Told: "Virtual memory (Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced): System managed size, with 40 GB free on the drive of Fooocus and on C:; restart. Linux: 40 GB of swap.", Cost: "Disk space; an SSD, or it crawls."},
			closeForRAM,
			{Fix: "use_smaller_model", Title: "No refiner, no extra LoRAs", Told: "Advanced, Model: Refiner None.", Cost: "Slightly less detail."},
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md", fooocusThread + "177", fooocusThread + "196", fooocusThread + "237", fooocusThread + "3522"}, Solved: 4,
	},
	{
		ID: "fooocus/upscale", Kinds: onCard, Said: []string{"perform_upscale", "Upscaling image", "in apply_upscale", "upscaler.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in Upscale or Variation",
		Means:    "There the input's size counts: 2x of a large image is several times what SDXL was made for.",
		Not:      "Fewer steps or another style.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "The fast upscale, or a smaller input", Told: "Input Image, Upscale or Variation: Upscale (Fast 2x), which only enlarges; or scale the image to about 1000 pixels first.", Cost: "Fast 2x adds no detail."},
			{Fix: "lowvram_mode", Title: "Offload what is not in use", Kind: "shell", Text: "python entry_with_update.py --always-offload-from-vram --vae-in-fp16", Cost: "Some speed."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{fooocusArgs},
	},
	{
		ID: "fooocus/moving", Kinds: onCard, Said: []string{"load_models_gpu", "To load target model", "Begin to load", "patch_model"}, Unsaid: []string{"ksampler", "sample_hacked", "calc_cond_uncond_batch", "perform_upscale", "decode_vae"}, If: func(c *ledger.Case) bool { return inFooocus(c) && ledger.OnCard(c) && !ledger.Roomy(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while it moved a model to the card",
		Means:    "No step had run. Fooocus moves SDXL in parts where the card is small, by what looked free when it began[[; {mine} of {total} was its own already]]. So something took memory in between, or the models of the image before were still there.",
		Not:      "A smaller image: none had been begun. `--lowvram`, `--medvram`: Fooocus has its own names.",
		Cures: []cause.Cure{
			fooocusLow,
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "A second Fooocus, a game, the browser:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			{Fix: "use_lower_quant", Title: "Keep the weights at 8 bit", Kind: "shell", Text: "python entry_with_update.py --unet-in-fp8-e4m3fn --clip-in-fp8-e4m3fn", Cost: "Little quality."},
		},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/model_management.py", fooocusArgs},
	},
	{
		ID: "fooocus/card", Kinds: onCard, If: func(c *ledger.Case) bool { return inFooocus(c) && ledger.OnCard(c) && !ledger.Roomy(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "Fooocus manages the card by itself and is made to run SDXL in 4 GB[[; here {mine} of {total} is its own]]. A failure on 6 GB or more mostly means that another program, or a second Fooocus, holds part of the card, or that ControlNets and Inpaint came on top.",
		Not:      "Flags of other web UIs (`--lowvram`, `--medvram`): Fooocus has its own names.",
		Cures:    []cause.Cure{{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}, fooocusLow, {Fix: "lower_resolution", Title: "Smaller, one at a time", Told: "Advanced: Aspect Ratios 704x1344 or smaller, Image Number 1, no ControlNet or Inpaint.", Cost: "A smaller image."}},
		Sources:  []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"},
	},
}))

// macLimit takes the ceiling apart: macOS recommends two thirds of the memory of
// Macs up to 36 GB.
func macLimit(c *ledger.Case) map[string]string {
	out := map[string]string{"recommended": "", "ram": ""}
	recommended := float64(c.F().Limit.Bytes) / 1.7 / float64(units.GiB)
	for _, ram := range []float64{8, 16, 24, 32} {
		if math.Abs(recommended-ram*2/3) < 0.02 {
			out["recommended"], out["ram"] = fmt.Sprintf("%.2f GiB", recommended), fmt.Sprint(ram)
		}
	}
	return out
}

// fewMiB: the last piece is small, so that the ceiling alone may be it.
func fewMiB(c *ledger.Case) bool { return c.Asked.Has() && c.Asked.Bytes <= 64*units.MiB }
