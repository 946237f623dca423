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
	Means: "The context is too long for this GPU. Some drivers (Metal, Vulkan, CUDA on Windows) let the KV cache pass although it does not fit, so the next allocation fails. Where no length is set, many versions use the model's maximum.",
	Not:   "Flash attention, a smaller batch or a smaller quantisation alone: the KV cache stays larger than the GPU.",
	Cures: []cause.Cure{
		told("lower_context", "Shorten the context", "At {ctxTo} tokens the cache takes {planTo}; if that runs with room to spare, raise it:", "shorter conversations"),
		told("enable_flash_attention", "Turn on flash attention too", "It keeps the working memory small at any length:", "free, where the device has it"),
		told("quantize_kv_cache", "Use an 8-bit KV cache", "It halves the cache, so twice the context fits:", "slight loss of quality"),
	},
	Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
}}
