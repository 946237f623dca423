package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// beyondCards are about a cache that is more than its device has, whatever was
// refused afterwards.
var beyondCards = []cause.Card{{
	ID: "llama.cpp/kv-beyond", Kinds: gpuFull, If: func(c *ledger.Case) bool { _, _, n := beyond(c); return n > 0 && !diffuses(c) }, Figures: numbers,
	Cause: cause.ContextTooLong, Weight: 0.9,
	Headline: "ran out of memory: the KV cache for {context} tokens is {planned}, the GPU has {has}",
	Means:    "The cache for {context} tokens takes {planned}; the GPU gives {has} for everything. Drivers that reserve memory before it is used (Metal, Vulkan, CUDA on Windows) let it pass at first, and what came next was refused[[: {asked} of working memory]]. Where no length is set, many versions take the model's own maximum.",
	Not:      "Flash attention or a smaller batch alone, fewer layers, a smaller quantisation: the cache stays beyond the GPU.",
	Cures: []cause.Cure{
		told("lower_context", "A shorter context", "At {ctxTo} tokens the cache takes {planTo}. If it runs with room to spare, raise it.", "shorter conversations"),
		told("enable_flash_attention", "With it, flash attention", "It makes the working memory small at any length; by itself it is not enough.", "free, where the device has it"),
		told("quantize_kv_cache", "For a longer one, an 8-bit cache", "Half of the cache at any length.", "slight loss of quality"),
	},
	Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
}, {
	ID: "llama.cpp/unnamed-speech", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: []string{"transcribe.exe", "transcriber", "transcribe failed", "diarize", "DiarizeAnd"}, If: when.All(bare, onGPU, above(1)), Figures: numbers,
	Headline: "refused a speech program {asked} in one piece on {gpu}",
	Means:    "A program on ggml that turns speech into text asked for {asked} and was refused. The log shows neither how large the card is nor what else is on it: a small card or a processor's own graphics, other programs, or a run of the same program before it that has not ended (tests that run at once) are all possible. `{look}` or the system's monitor tells.",
	Not:      "Shorter recordings, as a rule: such models read a recording in pieces, and a piece of {asked} follows the model.",
	Cures: []cause.Cure{
		does("close_other_apps", "See who is on the card, and run one at a time", "text", "`{look}` or the system's monitor while nothing runs, then during it. Tests that start the program: one after the other.", "free"),
		does("use_smaller_model", "A smaller or quantised speech model", "text", "Of Whisper, for example, `small` or `medium` instead of `large`, or a file with q5 or q8 in its name.", "slightly more errors"),
		does("cpu_offload", "Or the processor", "text", "With the program's own option for CPU or for another device (whisper.cpp: `--no-gpu`; Vulkan: `GGML_VK_VISIBLE_DEVICES=1` chooses the second card).", "slower"),
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "whisper.cpp/examples/cli/cli.cpp"},
}}
