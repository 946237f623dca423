package fronts

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/pool"
	"github.com/oomdoc/oomdoc/rules/when"
)

// cacheOnHost keeps the KV cache off the card.
var cacheOnHost = does("cpu_offload", "Keep the KV cache in RAM", "text", "Set `offload_kqv=False` in the same call.", "slower the longer the chat")

// pythonOwn are llama-cpp-python's, in which every setting is an argument.
var pythonOwn = []cause.Card{
	pool.Batch("llama-cpp-python", "`n_batch=512` in the `Llama(...)` call; with the server (`python -m llama_cpp.server`) `--n_batch 512`."),
	{
		ID: "llama-cpp-python/cache", Kinds: ggml.RefusedKinds, Unsaid: []string{"clip_init: failed"}, If: when.All(ggml.Device("kv"), ownScript), Figures: ggml.Numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "could not create its context: the KV cache[[ for {context} tokens]] did not fit",
		Means:    "The weights fit. The KV cache, {asked}[[ for {context} tokens ({kib} per token)]], did not fit on {gpu}.[[ No GPU with {never} GB or less could hold it.]] It is reserved for all `n_ctx` tokens at the start; `n_ctx=0` means the model's maximum, often 131,072 or more.",
		Not:      "A smaller `n_batch`: the cache does not depend on it.",
		Cures: []cause.Cure{
			told("lower_context", "Lower `n_ctx`", "[[{ctxTo} tokens take {ctxThen}.]]", "shorter conversations"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "It takes {q8} instead of {asked}.", "slight loss of quality"),
			cacheOnHost,
		},
		Sources: []string{"llama_cpp/llama.py"},
	},
	{
		ID: "llama-cpp-python/taken", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights", "kv", "compute", ""), ownScript, ggml.Taken), Figures: ggml.TakenFigures,
		Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "could not load the model: {held} of {gpu} was in use before it began",
		Means: ggml.TakenMeans + " In a notebook or a server it is most often an earlier `Llama` object, which keeps its memory until you close it or its process ends.",
		Cures: []cause.Cure{
			does("restart_session", "Close the earlier model, or restart the kernel", "text", "`llm.close()` and `del llm`, or restart the session (Colab: Runtime, Restart session). Before a second model is loaded, close the first.", "what the session holds"),
			does("kill_stale_process", "See which process holds the GPU", "text", "Run `nvidia-smi` (in a notebook `!nvidia-smi`). End an earlier run of yours by its PID.", "what it had not saved"),
			inPython("fewer_gpu_layers", "Keep both: lower `n_gpu_layers`", "n_gpu_layers=%d", "slower", ggml.LayersToSet),
		},
		Sources: []string{"llama_cpp/llama.py", "llama.cpp/src/llama.cpp"},
	},
	{
		ID: "llama-cpp-python/context", Kinds: []fact.Kind{fact.LlamaCaller}, If: when.All(when.Root(fact.LlamaCaller), ownScript),
		Headline: "loaded the model, but could not create its context",
		Means:    "The weights loaded. Then the KV cache and working memory for `n_ctx` tokens failed, most often because GPU memory or RAM was short. llama.cpp's own lines give the reason, but `verbose=False` hides them. A quantised KV cache without flash attention fails like this too.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower `n_ctx`, and see the reason", Told: "In the call that creates the model: `n_ctx=4096, verbose=True`. If it runs, raise `n_ctx` from there. If not, the lines above the traceback now say what was refused.", Cost: "shorter conversations"},
			does("fewer_gpu_layers", "Lower `n_gpu_layers`", "text", "Try half of the model's layers (a 7B or 8B model has 33): `n_gpu_layers=16`. If it runs with 0, GPU memory was short.", "slower"),
			does("restart_session", "Close an earlier model, restart the kernel", "text", "In a notebook or a server an older `Llama` object keeps its memory: call `llm.close()`, or restart. `nvidia-smi` shows what is in use.", "free"),
		},
		Sources: []string{"llama_cpp/llama.py", "llama_cpp/_internals.py"},
	},
	{
		ID: "llama-cpp-python/last-card", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), ownScript, ggml.Uneven), Figures: ggml.Numbers,
		Cause: cause.DeviceImbalance, Weight: cause.Likely,
		Headline: "could not create its context: no room on {gpu} for a compute buffer of {asked}",
		Means:    "Weights and KV cache were spread over the GPUs and fit. Then {gpu} had no room for the compute buffer[[ ({left} was left)]]. By default each GPU gets layers by its free memory; the KV cache and compute buffer come on top.",
		Cures: []cause.Cure{
			does("balance_split", "Give {gpu} fewer layers: `tensor_split`", "text", "`tensor_split=[...]` in your `Llama(...)` call: one number per GPU, in order, smaller for the one that failed.", "a few trials"),
			told("lower_context", "Lower `n_ctx`", "", "shorter conversations"),
			told("lower_ubatch", "Lower `n_ubatch`", "", "slower prompts"),
		},
		Sources: []string{"llama_cpp/llama.py", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama-cpp-python/compute", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), ownScript, when.Not(ggml.Uneven)), Figures: ggml.Numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "could not create its context: the compute buffer did not fit on {gpu}",
		Means:    "Weights and KV cache fit. The compute buffer for one batch ({asked}) did not[[: {left} was left]]. It grows with the batch and, without flash attention, with `n_ctx`.",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower `n_ubatch`", "At {ubTo} tokens instead of {ub} it takes about {ubThen}.", "slower prompts"),
			told("enable_flash_attention", "Turn on flash attention", "This removes the part that grows with the context.", "free, where the build has it"),
			told("lower_context", "Lower `n_ctx`", "", "shorter conversations"),
		},
		Sources: []string{"llama_cpp/llama.py"},
	},
}
