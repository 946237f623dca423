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
		Headline: "wanted one piece of {asked} for a prompt; this Mac gives {limit} at most in one",
		Means:    "The model is loaded and a prompt was being read. Metal has a largest size for one buffer, {limit} on this Mac, whatever is free, and LM Studio's MLX engine wanted {asked} at once: the attention of a long prompt, or of images, read in too large a piece.",
		Not:      "A smaller quantisation, closing programs, a higher wired limit: the bound is for one buffer, and it holds no weights.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "A shorter prompt", Told: "A new chat, a shorter document, fewer or smaller images; half of the tokens make such a piece a quarter. A lower Context Length in the load settings keeps it there.", Cost: "less text at a time"},
			studioUpdate,
			{Fix: "use_lower_quant", Title: "Or the same model as GGUF", Told: "LM Studio's llama.cpp engine reads prompts in pieces of 512 tokens: choose a GGUF in Discover.", Cost: "a download; slower on a Mac"},
		},
		Sources: append([]string{"https://github.com/lmstudio-ai/mlx-engine/pull/362", "mlx-engine/mlx_engine/cache_wrapper.py", "mlx/mlx/backend/metal/allocator.cpp"}, lmSources...),
	},
	{
		ID: "lm-studio/mlx-full", Kinds: []fact.Kind{fact.MetalMemory, fact.MLXAlloc},
		Cause: cause.ContextTooLong, Weight: cause.Good,
		Headline: "needed more than macOS lends the GPU",
		Means:    "Weights, cache of the conversation and working memory together passed what macOS lends the GPU, two thirds to three quarters of the RAM. At the first token the model is too large; after a long prompt or several chats it is the cache.",
		Not:      "Swap: what the GPU works on has to stay in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "A shorter Context Length, one chat at a time", Kind: "ui", Text: "My Models, gear beside the model: Context Length 8192, Max Concurrent Predictions 1; then load it again", Cost: "shorter conversations"},
			studioEject,
			{Fix: "use_lower_quant", Title: "Or a smaller MLX file of the model", Told: "4 bit in place of 8, or the next smaller model: Discover marks what fits.", Cost: "some quality"},
			studioUpdate,
		},
		Sources: append([]string{"mlx/mlx/backend/metal/device.cpp"}, lmSources...),
	},
}
