package makers

import (
	"fmt"
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
)

// halved puts the half of what the command asks for in the place of a step on
// --height and --width.
func halved(otherwise string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if own := cures.Halved(c); own != "" {
			height, width := cures.Sides(c)
			return []step.Step{{Kind: "text", Text: fmt.Sprintf("%s: a quarter of the pixels of %d x %d.", own, width, height)}}
		}
		return []step.Step{{Kind: "text", Text: otherwise}}
	}
}

const (
	mflux     = "https://github.com/mflux-community/mflux/blob/main/"
	mfluxAsks = "https://github.com/mflux-community/mflux/issues/212"
)

// onMetal are refusals of MLX.
var onMetal = []fact.Kind{fact.MetalMemory, fact.MLXAlloc, fact.MLXBuffer}

// MFLUX makes pictures with MLX.
var MFLUX = program.Program{
	Name: "mflux", Shown: "mflux", Work: "image-generation", Edits: "flags", Language: "python", Systems: []string{"mac"},
	Proofs:  []string{"mflux-generate", "-packages/mflux/", "mflux/models/", "mflux-upscale", "mflux-train"},
	Sources: program.Sources{mflux + "src/mflux/cli/parser/parsers.py": "--height --width --low-ram --quantize --mlx-cache-limit-gb", mflux + "README.md": "--upgrade", mflux + "src/mflux/models/seedvr2/README.md": "mflux-upscale-seedvr2"},
	Steps: steps{
		"lower_resolution": halved("`--height 768 --width 768` (default 1024 each; for edits the size of the picture)."),
		"use_lower_quant":  step.Paste("text", "Add `--quantize 4` (3, 5, 6 and 8 work too)."),
		"lowvram_mode":     step.Paste("text", "Add `--low-ram`."),
		"upgrade_version":  step.Paste("text", "`uv tool install --upgrade mflux`, or `pip install -U mflux` if you installed it with pip."),
	},
	Titles:   map[string]string{"lowvram_mode": "Free each part after use (`--low-ram`)", "use_lower_quant": "Load the weights in 4 bit", "lower_resolution": "Make a smaller picture"},
	Costs:    map[string]string{"lowvram_mode": "slower", "use_lower_quant": "some quality", "lower_resolution": "detail"},
	Remedies: order("lower_resolution", "lowvram_mode", "use_lower_quant", "close_other_apps"),
	Cards: []cause.Card{
		{
			ID: "mflux/size", Kinds: onMetal, If: func(c *ledger.Case) bool { return pixels(c) > 2048*2048 }, Figures: asks,
			Cause: cause.BatchTooLarge, Weight: cause.Decisive,
			Headline: "ran out of GPU memory at {width} x {height} pixels",
			Means:    "{width} x {height} is {times} times the default of 1024 x 1024 pixels, and memory for attention and the VAE grows with them. On a Mac with 32 GB about 2048 x 2048 is the most, mflux's author says.",
			Not:      "Fewer steps: they save time, not memory.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Ask for at most 2048 on the long side", Told: "Keep your other options. If it still fails, use {steps}. Input image and mask are scaled to that size.", Kind: "config", Text: "{fitting}", Cost: "detail"},
				{Fix: "vae_tiling", Title: "Enlarge the result afterwards", Told: "Run `mflux-upscale-seedvr2 --image-path image.png --resolution 2x` (mflux 0.14 and later), with `--low-ram`.", Cost: "a second run"},
				{Fix: "upgrade_version", Title: "Update mflux, and set `--low-ram`", Told: "From version 0.14 on, `--low-ram` also decodes in tiles.", Own: true, Cost: "slower"},
			},
			Sources: []string{mfluxAsks, mflux + "CHANGELOG.md", mflux + "src/mflux/cli/defaults/defaults.py"}, Solved: 1,
		},
		{
			ID: "mflux/run", Kinds: onMetal, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "needed more memory than macOS gives the GPU",
			Means:    "macOS lets the GPU use two thirds to three quarters of the RAM. In 16 bit the weights take 34 GB for FLUX.1, 31 GB for Z-Image and 58 GB for Qwen Image, with text encoders. 8 bit halves that, 4 bit leaves about a quarter.",
			Not:      "Fewer steps: they save time, not memory.",
			Cures: []cause.Cure{
				{Fix: "lowvram_mode", Title: "Use `--low-ram` and 4 bit", Told: "Add `--low-ram --quantize 4`. From version 0.14 on, `--low-ram` also decodes in tiles.", Cost: "slower; some quality"},
				{Fix: "lower_resolution"},
				{Fix: "close_other_apps", Title: "Quit other programs", Told: "Check Activity Monitor, Memory: browsers and other models share the RAM with the GPU.", Cost: "free"},
			},
			Sources: []string{mfluxAsks, mflux + "CHANGELOG.md", mflux + "src/mflux/models/flux/README.md", mflux + "src/mflux/models/z_image/README.md", mflux + "src/mflux/models/qwen/README.md"},
		},
	},
}

// pixels are those that the command asks for.
func pixels(c *ledger.Case) int {
	height, width := cures.Sides(c)
	return height * width
}

// asks are the size that the command asks for, and one that a Mac of 32 GB can make.
func asks(c *ledger.Case) map[string]string {
	height, width := cures.Sides(c)
	share := 2048 / float64(max(height, width, 1))
	side := func(n int) int { return int(float64(n)*share) / 16 * 16 }
	return map[string]string{
		"height": strconv.Itoa(height), "width": strconv.Itoa(width), "times": strconv.Itoa(int(math.Round(float64(height*width) / (1 << 20)))),
		"fitting": fmt.Sprintf("--height %d --width %d", side(height), side(width)), "steps": fmt.Sprintf("`--height %d --width %d`", side(height)/32*16, side(width)/32*16),
	}
}
