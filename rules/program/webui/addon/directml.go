package addon

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// SDNextDirectML is about SD.Next on a card without a PyTorch of its own.
var SDNextDirectML = cause.Card{
	ID: "sdnext/directml", Said: []string{"GPU video memory available", "torch_directml", "privateuseone"}, If: func(c *ledger.Case) bool { return c.In("sdnext") && ledger.Requested(c) > 0 },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "was refused {asked} of graphics memory through DirectML",
	Means: "DirectML (AMD, Intel or older NVIDIA cards under Windows) gives PyTorch no account of the card, and the same image usually takes more memory than with ROCm or CUDA. SD.Next itself calls it end-of-life, superseded by ROCm and ZLUDA.",
	Not:   "`PYTORCH_CUDA_ALLOC_CONF`: it is for CUDA.",
	Cures: []cause.Cure{
		{Fix: "lowvram_mode", Title: "Start with `--lowvram`", Told: "Parts of the model then wait in RAM:", Kind: "config", Text: "webui.bat --use-directml --lowvram", Cost: "Slower."},
		{Fix: "lower_resolution", Title: "Use SD 1.5 at 512 x 512 first", Told: "Batch size 1, no refine or hires pass. If that runs, go up step by step; SDXL's weights alone are 5 GB and more.", Cost: "Less detail."},
		{Fix: "upgrade_version", Title: "Use ROCm or ZLUDA in place of DirectML", Cost: "A new installation.", Ways: []cause.Way{
			{For: "AMD", Text: "start once with `--use-rocm --reinstall`; cards without ROCm on Windows: `--use-zluda --reinstall`"},
			{For: "Intel Arc", Text: "`--use-ipex --reinstall`"}, {For: "On-board graphics", Text: "`--use-openvino --reinstall` (Intel), or the CPU"},
		}},
	},
	Sources: []string{"https://github.com/vladmandic/sdnext/blob/master/CHANGELOG.md", "https://github.com/vladmandic/sdnext/blob/master/modules/cmd_args.py"},
}

// WithoutDirectML is what other than ComfyUI's DirectML a card has.
var WithoutDirectML = cause.Cure{Fix: "upgrade_version", Title: "Use ROCm or ZLUDA in place of DirectML", Cost: "A new installation.", Ways: []cause.Way{
	{For: "RX 7000 and later", Text: "ComfyUI's portable package for AMD (ROCm on Windows)"},
	{For: "Older Radeons", Text: "ComfyUI-ZLUDA, or Linux with ROCm"},
	{For: "Intel Arc, NVIDIA", Text: "PyTorch's XPU or CUDA build, without `--directml`"},
	{For: "On-board graphics (Iris, UHD, Radeon Graphics)", Text: "`--cpu` in place of `--directml`: slow, but all of the RAM"},
}}
