package apps

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const esrganCode = "https://github.com/xinntao/Real-ESRGAN/blob/"

// RealESRGAN enlarges pictures; many programs build on it.
var RealESRGAN = program.Program{
	Name: "real-esrgan", Shown: "Real-ESRGAN", Work: "vision", Edits: "flags", Language: "python",
	Proofs:  []string{"inference_realesrgan", "-packages/realesrgan/", "try to set --tile with a smaller number"},
	Sources: program.Sources{"Real-ESRGAN/inference_realesrgan.py": "--tile --fp32 --half --input --outscale --num_process_per_gpu"},
	Titles:  map[string]string{"vae_tiling": "Work in tiles (`--tile`)", "lower_resolution": "Scale the input image down", "half_precision": "Compute at 16 bit"},
	Costs:   map[string]string{"vae_tiling": "Slower."},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:       cause.InOrder("vae_tiling", "lower_resolution", "half_precision", "close_other_apps"),
		cause.OversizedAllocation: cause.InOrder("vae_tiling", "lower_resolution", "half_precision"),
		cause.ModelTooLarge:       cause.InOrder("vae_tiling", "close_other_apps"),
		cause.Unknown:             cause.InOrder("vae_tiling", "lower_resolution", "close_other_apps"),
	},
	Steps: kit.Steps{
		"vae_tiling":       esrganTiles,
		"lower_resolution": step.Paste("text", "Scale the image down first, or crop it. Half the width and height needs a quarter of the memory."),
		"half_precision":   esrganHalf,
	},
	Cards: kit.Cards(cause.Card{
		ID: "real-esrgan/ram", Kinds: kit.OffRAM, If: func(c *ledger.Case) bool { return c.In("real-esrgan") && !kit.Training(c) }, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM) with the enlarged image",
		Means:    "The whole result is put together in RAM at 32 bit: 12 bytes a pixel, and several copies of it. The model enlarges by its own factor first (x4: 16 times the pixels), whatever `--outscale` says.",
		Not:      "`--tile` and a lower `--outscale`: the whole result is in RAM all the same.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Cut the image into pieces, or scale it down", Told: "Enlarge each piece by itself and join them afterwards. Half the width and height needs a quarter of the RAM.", Cost: "Joining them, or detail."},
			{Fix: "use_smaller_model", Title: "Use a model that enlarges by 2", Kind: "config", Text: "-n RealESRGAN_x2plus --outscale 2", Cost: "A smaller result; a quarter of the RAM."},
			kit.ManagePage, kit.AddSwap,
		},
		Sources: []string{esrganCode + "master/realesrgan/utils.py"},
	}, cause.Card{
		ID: "real-esrgan/tile", Kinds: kit.OnCard, If: func(c *ledger.Case) bool { return c.In("real-esrgan") && !kit.Training(c) }, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory[[ ({total})]] while it enlarged an image",
		Means:    "{tiled} Memory grows with the pixels of the input image or tile.[[ {attribute}]]",
		Figures:  esrganFigures,
		Not:      "A lower `--outscale`: the model always enlarges by its own factor; the result is scaled down afterwards.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Work in tiles (`--tile`)", Cost: "Slower.", If: when.Not(esrganTiled)},
			{Fix: "vae_tiling", Title: "Use smaller tiles (`--tile`)", Cost: "Slower.", If: esrganTiled},
			{Fix: "half_precision", Title: "Leave out `--fp32`", Told: "It then computes at 16 bit, with about half the memory.", Cost: "None.", If: func(c *ledger.Case) bool { _, ok := c.Setting("fp32"); return ok }},
			{Fix: "half_precision", Title: "Compute at 16 bit", Cost: "No visible difference; GTX 16xx may make black images.", If: esrganOld},
			{Fix: "lower_resolution", Cost: "Detail."},
			kit.LookAtCard,
		},
		Sources: []string{esrganCode + "master/inference_realesrgan.py", esrganCode + "v0.1.2/inference_realesrgan.py", esrganCode + "master/realesrgan/utils.py"},
	}),
}

// esrganOld: the class that enlarges stood in the script itself until v0.2.0
// (August 2021); --half came in that month and went when 16 bit became usual.
func esrganOld(c *ledger.Case) bool {
	for _, x := range c.Facts.Code {
		if strings.HasSuffix(x.File, "inference_realesrgan.py") && (x.Function == "post_process" || x.Function == "process" || x.Function == "tile_process") {
			return true
		}
	}
	return false
}

func esrganTiled(c *ledger.Case) bool {
	s, ok := c.Setting("tile", "t")
	return ok && s.Value != "0"
}

// esrganFigures tell whether it worked in tiles.
func esrganFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"tiled": "Real-ESRGAN processes the whole image at once unless you use `--tile`.", "attribute": ""}
	if esrganTiled(c) {
		out["tiled"] = "`--tile` is on already, but one tile did not fit."
	}
	if c.Near("has no attribute 'output'") {
		out["attribute"] = "The AttributeError is only a consequence: the script went on and found no result."
	}
	return out
}

// esrganTiles is the reader's own command with tiles; short options are not
// known to every version, so that a plain one has long ones.
func esrganTiles(c *ledger.Case) []step.Step {
	size := "256"
	if s, ok := c.Setting("tile", "t"); ok && s.Value != "0" {
		size = strconv.Itoa(step.Divided(s.Value, 2))
	}
	script := "inference_realesrgan.py"
	own := step.Typed(c, script)
	if own == nil && kit.Framed(c, "inference_realesrgan_video") {
		return []step.Step{{Kind: "text", Text: "Add `--tile " + size + "` to your command (then half of it), and `--num_process_per_gpu 1`."}}
	}
	if own == nil {
		return []step.Step{{Kind: "shell", Text: "python " + script + " --input inputs --tile " + size + "   # your own options stay; then half of it"}}
	}
	return []step.Step{{Kind: "shell", Text: "python " + script + " " + step.Edited(c, own, step.Change{Flag: "--tile", Value: size})}}
}

// esrganHalf: 16 bit is an option of the script of August 2021 to early 2022.
func esrganHalf(c *ledger.Case) []step.Step {
	if esrganOld(c) {
		return []step.Step{{Kind: "text", Text: "Add `--half`, if `python inference_realesrgan.py -h` lists it. Newer versions use 16 bit by default: `git pull`, then `python setup.py develop`."}}
	}
	return []step.Step{{Kind: "text", Text: "Remove `--fp32` if it is in your command; it then computes at 16 bit."}}
}

const uvrCode = "https://github.com/Anjok07/ultimatevocalremovergui/blob/master/"

// uvrSettings are what lowers its work on the card, by the process method that
// its error log begins with.
var uvrSettings = cause.Cure{
	Fix: "lower_resolution", Title: "Lower the segment size or batch size", Cost: "Slower.",
	Ways: []cause.Way{
		{For: "Demucs", Text: "{demucs}"},
		{For: "MDX-Net", Text: "{mdx}"},
		{For: "VR Architecture", Text: "{vr}"},
	},
}

var uvrOffCard = cause.Cure{
	Fix: "cpu_offload", Title: "Run it on the CPU", Told: "Untick GPU Conversion in the main window.", Cost: "Several minutes a song instead of one.",
}

// UVR is Ultimate Vocal Remover, a program with windows, bundled with its own
// Python and PyTorch.
var UVR = program.Program{
	Name: "uvr", Shown: "Ultimate Vocal Remover", Work: "audio", Edits: "flags", Language: "python",
	Proofs: []string{"UVR.py", "Ultimate Vocal Remover", "Full Application Settings:", "is_gpu_conversion:"},
	Titles: map[string]string{"lower_resolution": "Lower the segment size or batch size", "cpu_offload": "Run it on the CPU"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: cause.InOrder("lower_resolution", "cpu_offload", "close_other_apps"),
		cause.ModelTooLarge: cause.InOrder("close_other_apps", "cpu_offload", "lower_resolution"),
		cause.HostMemory:    cause.InOrder("raise_pagefile", "close_other_apps", "lower_resolution"),
		cause.Unknown:       cause.InOrder("lower_resolution", "cpu_offload", "close_other_apps"),
	},
	Steps: kit.Steps{
		"lower_resolution": step.Paste("ui", "MDX-Net: Segment Size 128; Demucs: Segments 10; VR Architecture: Batch Size 1"),
		"cpu_offload":      step.Paste("ui", "GPU Conversion: off"),
	},
	Cards: []cause.Card{
		{
			ID: "uvr/room-left", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(inUVR, ledger.Roomy), Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "could not get {asked} although {free} of the card was free",
			Means:    "The card was not full. On Windows GPU memory also counts against RAM plus page file; when those are full, it fails like this. Otherwise another program used the card for a moment, or the driver has a bug. UVR's line that the card might not be supported comes with every such error.",
			Cures: []cause.Cure{
				{Fix: "raise_pagefile", Title: "Restart Windows, then enlarge the page file", Told: "If it works after the restart, RAM was probably full. Then press Win+R, run `sysdm.cpl`: Advanced, Performance: Settings, Advanced, Virtual memory: System managed size, or 16384 to 32768 MB on an SSD.", Cost: "Disk space."},
				uvrOffCard,
				{Fix: "upgrade_version", Title: "Update the graphics driver", Told: "Update UVR too, which brings its own PyTorch.", Cost: "Some minutes."},
			},
			Sources: []string{uvrCode + "gui_data/error_handling.py"},
		},
		{
			ID: "uvr/ram", Kinds: kit.OffRAM, If: inUVR, Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of system memory (RAM)",
			Means:    "RAM ran out, not GPU memory. UVR keeps the whole song in RAM, once for each stem; an ensemble keeps several results.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Cut the file, and separate one stem only", Told: "Cut it into parts of at most 10 minutes. Tick Vocals Only or Instrumental Only; use no ensemble.", Cost: "Joining the parts."},
				kit.ManagePage, kit.AddSwap,
				{Fix: "close_other_apps", Title: "Close other programs", Told: "Restart UVR; close browser and games.", Cost: "Free."},
			},
			Sources: []string{uvrCode + "gui_data/error_handling.py"},
		},
		{
			ID: "uvr/card", Kinds: ortKinds, Said: []string{"Process: Demucs", "Process: MDX-Net", "Process: VR Arc", "UVR.py", "Ultimate Vocal Remover", "Full Application Settings:", "is_gpu_conversion:", "mdx_segment_size: 32", "mdx_segment_size: 64", "mdx_segment_size: 128"}, Figures: uvrProcess, If: func(c *ledger.Case) bool { return inUVR(c) && !ledger.Roomy(c) && !c.Root(kit.InRAM...) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]",
			Means:    "UVR works on a song in segments. Segment size and batch size decide how much GPU memory it needs.",
			Cures:    []cause.Cure{uvrSettings, {Fix: "close_other_apps", Title: "Free the card", Told: "Restart UVR; close browser, games and other AI programs.", Cost: "Free."}, uvrOffCard},
			Sources:  []string{uvrCode + "UVR.py", uvrCode + "gui_data/constants.py", uvrCode + "gui_data/error_handling.py"},
		},
	},
}

func inUVR(c *ledger.Case) bool { return c.In("uvr") }

// mdxSizes are the settings of MDX-Net below those of the error log.
func mdxSizes(c *ledger.Case) string {
	switch {
	case c.Near("mdx_segment_size: 32"):
		return "the Segment Size is the smallest already; set Batch Size to 1"
	case c.Near("mdx_segment_size: 64"):
		return "set Segment Size to 32 instead of 64; Batch Size 1"
	case c.Near("mdx_segment_size: 128"):
		return "set Segment Size to 64 instead of 128, then 32; Batch Size 1"
	}
	return "set Segment Size to 128 (default 256), then 64; Batch Size 1"
}

// uvrProcess are the settings of the method that its error log names, or of all.
func uvrProcess(c *ledger.Case) map[string]string {
	out := map[string]string{"demucs": "set Segments to 10 instead of Default, then 5", "mdx": mdxSizes(c), "vr": "set Batch Size to 1 instead of Default; no TTA, no High-End Process"}
	for word, own := range map[string]string{"Process: Demucs": "demucs", "Process: MDX-Net": "mdx", "Process: VR Arc": "vr"} {
		if !c.Near(word) {
			continue
		}
		for other := range out {
			if other != own {
				out[other] = ""
			}
		}
		break
	}
	return out
}
