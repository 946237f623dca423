package fronts

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/when"
)

// cacheOnHost keeps the KV cache off the card.
var cacheOnHost = does("cpu_offload", "Or keep the cache in system memory", "text", "`offload_kqv=False` in the same call: the cache then needs nothing of the card.", "slower the longer the chat")

// pythonOwn are llama-cpp-python's, in which every setting is an argument.
var pythonOwn = []cause.Card{
	ggml.BatchCard("llama-cpp-python", "`n_batch=512` in the `Llama(...)` call; with the server (`python -m llama_cpp.server`) `--n_batch 512`."),
	{
		ID: "llama-cpp-python/cache", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("kv"), ownScript), Figures: ggml.Numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "did not create its context: the KV cache[[ for {context} tokens]] did not fit",
		Means:    "The weights are in place. The KV cache, {asked}[[ for {context} tokens ({kib} per token)]], was refused on {gpu}; `Failed to create llama_context` is only how the binding reports that. [[A card of {never} GB can never give it. ]]It is reserved whole for `n_ctx` tokens, and `n_ctx=0` means the model's own maximum, often 131,072 and more.",
		Not:      "A smaller `n_batch`: the cache does not depend on it.",
		Cures: []cause.Cure{
			told("lower_context", "A shorter context", "[[{ctxTo} tokens take {ctxThen}.]]", "shorter conversations"),
			told("quantize_kv_cache", "Or an 8-bit cache", "{q8} instead of {asked}.", "slight loss of quality"),
			cacheOnHost,
		},
		Sources: []string{"llama_cpp/llama.py"},
	},
	{
		ID: "llama-cpp-python/last-card", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), ownScript, ggml.Uneven), Figures: ggml.Numbers,
		Cause: cause.DeviceImbalance, Weight: cause.Likely,
		Headline: "did not create its context: {gpu} had no room for its last {asked}",
		Means:    "Weights and cache were dealt out over the cards and are in place; {gpu} then lacked {asked} of working memory[[ ({left} was left)]], so at most that much is missing. By default each card gets a share by its free memory, and cache and working memory come on top of it.",
		Not:      "A smaller quantisation first: so little can be had cheaper.",
		Cures: []cause.Cure{
			told("lower_context", "A shorter context", "", "shorter conversations"),
			does("balance_split", "Or give {gpu} fewer layers", "text", "`tensor_split=[...]` in your `Llama(...)` call: one number for each card, in their order, smaller for the one that failed.", "a few trials"),
			told("lower_ubatch", "Or a smaller batch", "", "slower prompts"),
		},
		Sources: []string{"llama_cpp/llama.py", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama-cpp-python/compute", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), ownScript, when.Not(ggml.Uneven)), Figures: ggml.Numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "did not create its context: the compute buffer did not fit on {gpu}",
		Means:    "Weights and cache were in place; the working memory for one batch, {asked}, was refused on {gpu}[[ ({left} was left)]]. `Failed to create llama_context` is only how the binding reports that. It grows with the batch and, without flash attention, with `n_ctx`.",
		Not:      "A smaller quantisation: this buffer holds no weights.",
		Cures: []cause.Cure{
			told("lower_ubatch", "A smaller batch", "At {ubTo} tokens instead of {ub} it takes about {ubThen}; the context stays.", "slower prompts"),
			told("enable_flash_attention", "Flash attention", "The part that grows with the context is then never made.", "free, where the build has it"),
			told("lower_context", "Or a shorter context", "", "shorter conversations"),
		},
		Sources: []string{"llama_cpp/llama.py"},
	},
}
