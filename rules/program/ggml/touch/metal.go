package touch

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// OldMetalCache is how builds of 2023 say how large the KV cache is on a Mac
// (ggml-metal.m, ggml_metal_add_buffer); 'data' are the weights.
var OldMetalCache = []string{"ggml_metal_add_buffer: allocated 'kv"}

// MetalBuffers is about such a build, where nothing else tells what fills the GPU.
var MetalBuffers = cause.Card{
	ID: "llama.cpp/metal-buffers", Kinds: []fact.Kind{fact.GGMLMetal}, Said: OldMetalCache, Figures: metalShares,
	Among: []string{cause.ContextTooLong, cause.ModelTooLarge, cause.BatchTooLarge}, Headline: "needs more than macOS lets the GPU use: weights and KV cache together are too large",
	Means: "The model loaded; then the GPU had too little memory to run it[[: its buffers were {mine}, and macOS allows {limit}]]. [[{alone}]][[{which}]]",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Shorten the context", Cost: "shorter conversations"},
		{Fix: "use_lower_quant", Title: "Use a smaller quantisation of the model", Cost: "slight loss of quality"},
		{Fix: "upgrade_version", Title: "Update the program", Told: "Builds since 2024 have an 8-bit KV cache (`-fa -ctk q8_0 -ctv q8_0`) and say what did not fit.", Cost: "a download"},
	},
	Sources: []string{"llama.cpp/ggml-metal.m", "https://github.com/ise-uiuc/magicoder/issues/19"},
}

// metalShares say whether the weights alone are too much.
func metalShares(c *ledger.Case) map[string]string {
	weights, limit := ledger.SizeOf(c.F().Weights), ledger.SizeOf(c.F().Limit)
	if weights > limit && limit > 0 {
		return map[string]string{"which": "", "alone": "The weights alone are " + units.Amount(weights) + ": no context is short enough for that, so use a smaller file."}
	}
	return map[string]string{"alone": "", "which": "See the lines `ggml_metal_add_buffer`: 'data' are the weights, 'kv' is the KV cache, which grows with the context. If 'kv' is large, shorten the context; otherwise use a smaller file."}
}
