// Package images knows what llama.cpp's tools ask for to read an image.
package images

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
)

// tools are programs that read one image from the command line.
var tools = []string{"qwen2vl-cli", "llava-cli", "minicpmv-cli", "gemma3-cli", "mtmd-cli"}

// outOfProportion: it is no part of the model that was refused on a card, but far
// more than any batch of text needs.
func outOfProportion(c *ledger.Case) bool {
	return load.AbsurdGraph(c) && !ledger.InHost(c) && c.Failure.Stage != "weights" && c.Failure.Stage != "kv"
}

// Absurd is about an image that is too large for attention without flash attention.
var Absurd = cause.Card{
	ID: "llama.cpp/image-absurd", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit}, Said: tools, If: outOfProportion,
	Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for {asked} of working memory, most likely for the image",
	Means: "The image is probably too large. Models that take any image size (Qwen-VL) cut it into small patches. Without flash attention in the vision part, memory grows with the square of their number, and a photo of many megapixels needs this much.",
	Not:   "A smaller quantisation, fewer layers, a shorter context: the image still needs as much.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Scale the image down", Kind: "text", Text: "Use 1024 pixels or less on the longer side. Half the width and height needs about a sixteenth of the memory.", Cost: "fine print gets lost"},
		{Fix: "upgrade_version", Title: "Update llama.cpp, and use `llama-mtmd-cli`", Kind: "text", Text: "Builds since November 2025 use flash attention in the vision part where the GPU supports it. Their `--image-max-tokens 1024` limits any image.", Cost: "a download"},
		{Fix: "cpu_offload", Title: "Keep the vision part off the GPU: `--no-mmproj-offload`", Kind: "text", Text: "RAM must then hold as much, so scale the image down as well. Builds since April 2025 have the option.", Cost: "the image takes longer"},
	},
	Sources: []string{"llama.cpp/tools/mtmd/clip.cpp", "https://github.com/ggml-org/llama.cpp/pull/16921", "https://github.com/ggml-org/llama.cpp/issues/12586"},
}
