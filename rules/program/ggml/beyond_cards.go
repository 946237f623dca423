package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// belowZero: the size that was asked for is 2^64 less a little.
func belowZero(c *ledger.Case) bool {
	return c.Root(fact.GGMLAlloc) && c.Explained != nil && strings.Contains(c.Explained.Sentence, "2^64 less")
}

// beyondCards are about a cache that is more than its device has, whatever was
// refused afterwards.
var beyondCards = []cause.Card{{
	ID: "llama.cpp/dataset-short", Kinds: refused, Said: []string{"ggml_opt_dataset_init"}, If: belowZero,
	Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a size below zero: the training text is shorter than the context",
	Means: "`ggml_opt_dataset_init` was to hold the pieces of the training text; their number is (tokens - context - 1) / step, and it goes below zero where the text has fewer tokens than the context (`-c`, unset often the model's own length). RAM is not short.",
	Not:   "More RAM, swap or a smaller model.",
	Cures: []cause.Cure{
		does("lower_context", "Train with a shorter context: `-c 256`", "text", "`-c` well below the number of tokens of your text file; a quarter of it, so that there are several pieces.", "shorter passages are learned at a time"),
		does("fix_shape", "Or use a longer training text", "text", "It needs clearly more tokens than the context: about four characters are one token.", "more text"),
		as("upgrade_version", "Update to a newer build", "a download"),
	},
	Sources: []string{"llama.cpp/common/common.cpp", llamaThreads + "27648"},
}, {
	ID: "llama.cpp/below-zero", Kinds: refused, If: belowZero,
	Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a size below zero: a fault in the program, not too little memory",
	Means: "A count or length went below zero before it was multiplied. No memory of any size would do.",
	Not:   "More RAM, swap, fewer layers or a smaller model: what was asked for is no size.",
	Cures: []cause.Cure{
		as("upgrade_version", "Update to a newer build", "a download"),
		does("fix_shape", "Check the numbers given to it", "text", "Start with the smallest input and few options. A length, count or data set that is empty or shorter than another goes below zero; the function names in the backtrace show which.", "a trial"),
	},
	Sources: []string{"ggml/src/ggml.c", "ggml/src/ggml-alloc.c"},
}, {
	ID: "llama.cpp/kv-beyond", Kinds: gpuFull, If: func(c *ledger.Case) bool { _, _, n := beyond(c); return n > 0 && !diffuses(c) }, Figures: numbers,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of memory: the KV cache for {context} tokens is {planned}, the GPU has {has}",
	Means: "The KV cache for {context} tokens takes {planned}; the GPU has {has} for everything. Drivers that reserve memory before it is used (Metal, Vulkan, CUDA on Windows) let that pass at first, and what came next was refused[[: {asked} of working memory]]. Where no length is set, many versions take the model's own maximum.",
	Not:   "Flash attention, a smaller batch or a smaller quantisation alone: the cache stays larger than the GPU.",
	Cures: []cause.Cure{
		told("lower_context", "Shorten the context", "At {ctxTo} tokens the cache takes {planTo}. If it runs with room to spare, raise it.", "shorter conversations"),
		told("enable_flash_attention", "Turn on flash attention too", "It keeps the working memory small at any length; alone it is not enough.", "free, where the device has it"),
		told("quantize_kv_cache", "Use an 8-bit KV cache", "It takes about half at any length.", "slight loss of quality"),
	},
	Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
}}
