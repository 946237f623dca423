package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// unnamedCards are about buffers of which the log does not say what they were for.
var unnamedCards = []cause.Card{
	{
		ID: "llama.cpp/vulkan-buffer", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onVulkan, when.Not(diffuses), above(units.GiB+units.MiB)), Figures: numbers,
		Cause: cause.OversizedAllocation, Weight: cause.Fair, Headline: "was refused one Vulkan buffer of {asked}",
		Means: "Builds since February 2025 put weights and cache on a Vulkan device in pieces of about 1 GiB, so one buffer of {asked} is the working memory of a batch, as a rule; in older ones it may be weights or cache. It grows with the physical batch and, without flash attention, with the context. Either the card was full, or the driver gives no piece so large (often 4 GiB, on some 2): the next line says `exceeds … limit` then.",
		Not:   "A smaller quantisation, if it is the working memory: that holds no weights.",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower the physical batch size", "It is 512 unless set: a quarter of it takes about a quarter of {asked}. If you set more (`-ub`, `-b`), go back to 512 first.", "slower prompts"),
			told("enable_flash_attention", "Turn on flash attention", "Then the part that grows with the context falls away, where the device has it.", "free"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "12817", llamaThreads + "18160"}, Solved: 1,
	},
	{
		ID: "llama.cpp/request-too-long", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, longerThanBefore), Figures: ladderNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of graphics memory at a request of {tried} tokens; {worked} had worked",
		Means: "The model was in place and had served shorter requests: what grew is what each token of a request keeps and needs (K, V, activations), in every layer. {worked} tokens fitted, {tried} did not; {asked} is only the next piece of it.",
		Not:   "A smaller quantisation or fewer layers on the card first: the weights are not what grew. A leak, as long as shorter requests still work afterwards.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the length of a request", Told: "{worked} tokens or less at a time; try half way to {tried} if you need more. Longer texts in pieces.", Cost: "long texts in several parts"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache, if the program has it", Told: "llama.cpp and its kin: `-ctk q8_0 -ctv q8_0` with flash attention; about half of what the cache takes.", Cost: "slight loss of quality"},
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/after-context", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: []string{"graph splits", "graph nodes"}, Unsaid: []string{"draft", "mmproj", "clip_"}, If: when.All(bare, onGPU, above(512*units.MiB)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Headline: "had its model in place; then {asked} more did not fit on {gpu}",
		Means: "The context and its working memory were made (\"graph splits\"), so the language model was loaded. A piece of {asked} after that is another model as a rule: for images, speech, embeddings or a draft, which KoboldCpp and others load beside it, and the layers of the first fill {gpu}.",
		Not:   "The crash or the service's restart after it: they only follow. A smaller batch or RAM limits.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers of the first model on the GPU", Told: "Fewer layers there (`-ngl`; KoboldCpp: `--gpulayers`), {asked} at least; with several cards a smaller first number in `--tensor-split` (llama.cpp: `-ts`).", Cost: "slower text, or a fuller second card"},
			{Fix: "use_lower_quant", Title: "Use a smaller second model", Told: "A quantised file of it (KoboldCpp: `--sdquant` for the image model); or start without it, to see that it is this.", Cost: "slight loss of quality"},
			freeCard,
		},
		Sources: []string{"https://github.com/LostRuins/koboldcpp/blob/concedo/koboldcpp.py", "llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/unnamed-small", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1), below(512*units.MiB)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "filled {gpu} to the last {asked}",
		Means: "So little is refused only when nearly everything is taken: by what it had loaded before, or by other programs. The log does not say which part of the model this was, nor how much the card has; `{look}` or the system's monitor shows both.",
		Not:   "A much smaller model: about {asked} may be all that is missing.",
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put a few layers less on the GPU", "", "slightly slower"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"},
	},
	{
		ID: "llama.cpp/unnamed-round", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), roundPiece), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Fair, Headline: "was refused {asked} in one piece on {gpu}: by its roundness a KV cache",
		Means: "The log ends before the line that says for what. Weights and working memory come in odd amounts; a whole multiple of 64 MiB is a KV cache, as a rule: tokens x layers x width. Where no context length is set, many versions take the model's own maximum, often 131,072 tokens and more.",
		Not:   "A smaller batch: the cache does not depend on it.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "The cache is linear in it: half the tokens, half of {asked}.", "shorter conversations"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "{q8} instead of {asked}.", "slight loss of quality"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "Each takes its part of the cache along.", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/unnamed", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "was refused {asked} in one piece on {gpu}",
		Means: "The log ends before the line that says for what: weights, cache or the working memory of a batch. [[A card of {never} GB can never give it. ]]Weights are the likeliest at that size. How large the card is and what else is on it does not show either: `{look}` tells.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Reduce what the next line of your log names", Cost: "each costs some speed or length", Ways: []cause.Way{
				{For: "gallocr, reserve or compute, or you cannot tell", Text: "`-ub 128` (KoboldCpp: BLAS Batch Size 128) makes the working memory about a quarter[[, {quarter}]]."},
				{For: "error loading model, unable to allocate", Text: "halve the layers on the card (`-ngl`; KoboldCpp: GPU Layers), then raise them until it fails."},
				{For: "kv cache", Text: "half the context (`-c`; KoboldCpp: Context Size) is half of it."},
			}},
			as("use_lower_quant", "If it was the weights: use a smaller quantisation", "slight loss of quality"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "https://github.com/LostRuins/koboldcpp/issues/714"}, Solved: 1,
	},
}

// longerThanBefore: shorter requests had been served.
func longerThanBefore(c *ledger.Case) bool {
	l, ok := ledger.LadderOf(c)
	return ok && strings.HasPrefix(l.Of, "tokens")
}

// ladderNumbers are the sizes of requests that worked and that failed.
func ladderNumbers(c *ledger.Case) map[string]string {
	out := numbers(c)
	out["worked"], out["tried"] = "", ""
	if l, ok := ledger.LadderOf(c); ok {
		out["worked"], out["tried"] = ledger.Thousands(l.Worked), ledger.Thousands(l.Tried)
	}
	return out
}
