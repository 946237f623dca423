package fronts

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// studioUpdate brings a newer MLX engine, which is no package of the reader's.
var studioUpdate = cause.Cure{
	Fix: "upgrade_version", Title: "Update LM Studio and its MLX runtime", Cost: "a download", Kind: "ui",
	Text: "Settings, Runtime: update LM Studio MLX (or choose an earlier one, if this began with an update)",
}

// studioMLXCards are LM Studio's where its MLX engine runs the model.
var studioMLXCards = []cause.Card{
	{
		ID: "lm-studio/mlx-buffer", Kinds: []fact.Kind{fact.MLXBuffer},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "asked for one {asked} buffer; this Mac allows {limit} at most",
		Means:    "Metal limits the size of a single buffer, however much memory is free. LM Studio's MLX engine asked for more at once: most often for the attention of a long prompt, or for large images.",
		Not:      "Closing programs or a higher wired limit: the limit is per buffer.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the prompt, lower Context Length", Told: "Start a new chat, paste a shorter document, or use fewer and smaller images. For attention, half the tokens need a quarter of this buffer.", Cost: "less text at a time"},
			studioUpdate,
			{Fix: "use_lower_quant", Title: "Use the model as GGUF", Told: "In Discover choose a GGUF: LM Studio's llama.cpp engine reads prompts 512 tokens at a time.", Cost: "a download; slower on a Mac"},
		},
		Sources: append([]string{"https://github.com/lmstudio-ai/mlx-engine/pull/362", "mlx-engine/mlx_engine/cache_wrapper.py", "mlx/mlx/backend/metal/allocator.cpp"}, lmSources...),
	},
	{
		ID: "lm-studio/mlx-full", Kinds: []fact.Kind{fact.MetalMemory, fact.MLXAlloc},
		Cause: cause.ContextTooLong, Weight: cause.Good,
		Headline: "needed more memory than macOS lets the GPU use",
		Means:    "Weights, KV cache and working memory together exceed what macOS lets the GPU use, about two thirds to three quarters of the RAM. If it fails at the first token, the model is too large. If it fails after a long prompt or several chats, the KV cache is.",
		Not:      "Swap: memory that the GPU uses cannot be swapped out.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower Context Length, one chat at a time", Kind: "ui", Text: "My Models, gear icon next to the model: a lower Context Length (such as 8192), Max Concurrent Predictions 1; then load it again", Cost: "shorter conversations"},
			studioEject,
			{Fix: "use_lower_quant", Title: "Use a smaller MLX file of the model", Told: "Take 4 bit instead of 8, or the next smaller model: Discover marks which ones fit.", Cost: "some quality"},
			studioUpdate,
		},
		Sources: append([]string{"mlx/mlx/backend/metal/device.cpp"}, lmSources...),
	},
}
