package ggml

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// beyondCards are about a cache that is more than its device has, whatever was
// refused afterwards.
var beyondCards = []cause.Card{{
	ID: "llama.cpp/kv-beyond", Kinds: gpuFull, If: func(c *ledger.Case) bool { _, _, n := beyond(c); return n > 0 && !diffuses(c) }, Figures: numbers,
	Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of memory: the KV cache for {context} tokens is {planned}, the GPU has {has}",
	Means: "The cache for {context} tokens takes {planned}; the GPU gives {has} for everything. Drivers that reserve memory before it is used (Metal, Vulkan, CUDA on Windows) let it pass at first, and what came next was refused[[: {asked} of working memory]]. Where no length is set, many versions take the model's own maximum.",
	Not:   "Flash attention or a smaller batch alone, fewer layers, a smaller quantisation: the cache stays beyond the GPU.",
	Cures: []cause.Cure{
		told("lower_context", "Shorten the context", "At {ctxTo} tokens the cache takes {planTo}. If it runs with room to spare, raise it.", "shorter conversations"),
		told("enable_flash_attention", "Turn on flash attention too", "It makes the working memory small at any length; by itself it is not enough.", "free, where the device has it"),
		told("quantize_kv_cache", "Use an 8-bit KV cache", "Half of the cache at any length.", "slight loss of quality"),
	},
	Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
}}
