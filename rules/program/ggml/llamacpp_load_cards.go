package ggml

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// llamaCards are llama.cpp's, in the words of the program that the reader runs.
var llamaCards = slices.Concat(llamaPartCards, llamaLoadCards)

// llamaLoadCards are about weights, cache and compute buffers.
var llamaLoadCards = []cause.Card{
	{
		ID: "llama.cpp/node-guard", Kinds: []fact.Kind{fact.LlamaGuard}, If: when.All(contextFrom(0), inNode),
		Cause: cause.ContextTooLong, Weight: 0.85,
		Means: "node-llama-cpp computed, before it asked for any memory, that this context does not fit beside the model. It goes by what is free at that moment, so a model or context that was not disposed of counts too.",
		Cures: []cause.Cure{
			does("lower_context", "Let it choose the context, or set a shorter one", "text", "Leave `contextSize` out of `createContext`, or give a range: `contextSize: {min: 2048, max: 8192}`. It then takes what fits.", "shorter conversations"),
			does("restart_session", "Dispose of what is no longer used", "text", "Call `await context.dispose()` and `await model.dispose()` before you create the next.", "free"),
			as("quantize_kv_cache", "Or an 8-bit cache", "slight loss of quality"),
		},
		Sources: []string{"node-llama-cpp/src/gguf/insights/utils/resolveContextContextSizeOption.ts", "node-llama-cpp/src/evaluator/LlamaContext/types.ts"},
	},
	{
		ID: "llama.cpp/mmap", Kinds: refused, If: mmapRefused,
		Cause: cause.HostMemory, Weight: 0.8,
		Means: "The model file could not even be mapped, which takes address space and no memory: a limit on it (`ulimit -v`, a batch system, a 32-bit program) refused, as a rule, not the RAM.",
		Not:   "Fewer layers on the card: the whole file is mapped first.",
		Cures: []cause.Cure{
			does("raise_memory_limit", "Lift the limit on address space", "shell", "ulimit -v unlimited   # in the shell that starts it; in a batch job ask for more memory", "free"),
			as("use_smaller_model", "Or a smaller model", "lower quality"),
		},
		Sources: []string{"llama.cpp/src/llama-mmap.cpp"},
	},
	{
		ID: "llama.cpp/host-copied", Kinds: refused, If: when.All(host("weights"), unmapped),
		Cause: cause.HostMemory, Weight: 0.85,
		Means:   "The part of the weights that stays off the card goes to system memory, and mapping is switched off, so that all of it must be free at once: {asked} was refused. Mapped, the file is read as it is needed.",
		Cures:   []cause.Cure{as("use_mmap", "Let the file be mapped again", "slower if RAM is short"), as("close_other_apps", "Close what uses RAM", "free"), as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality")},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model-loader.cpp"},
	},
	{
		ID: "llama.cpp/host-windows", Kinds: refused, If: windowsHost,
		Cause: cause.HostMemory, Weight: 0.75,
		Means:   "System memory was refused: {asked}. Windows counts what programs have reserved against RAM and page file together, so this fails while Task Manager still shows free RAM.",
		Not:     "A card with more memory: it was not the card that refused.",
		Cures:   []cause.Cure{as("close_other_apps", "Close what uses RAM", "free"), as("raise_pagefile", "Enlarge the page file", "disk space; slow once it is used"), as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/host", Kinds: refused, If: hostWeights,
		Cause: cause.HostMemory, Weight: 0.8,
		Means: "System memory was refused, not the card's: {asked} for the part of the model that stays off the card. Free RAM, a container's limit or its swap is what decides.",
		Not:   "Fewer layers on the card: that needs more system memory.",
		Cures: []cause.Cure{
			as("close_other_apps", "Close what uses RAM", "free"),
			as("raise_memory_limit", "In a container: raise its limit", "only if the machine has it"),
			as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/experts", Kinds: refused, If: when.All(device("weights"), mixtureOfExperts),
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "The weights found no room on the card: {asked} was refused. It is a mixture of experts: the experts are most of it, and only a few work on each token, so they can lie in system memory at a small price.",
		Not:   "A shorter context: no cache was made yet.",
		Cures: []cause.Cure{
			as("moe_cpu_offload", "Keep experts in system memory", "somewhat slower; needs the RAM"),
			as("fewer_gpu_layers", "Or fewer whole layers on the card", "much slower"),
			as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/split", Kinds: refused, If: when.All(device("weights"), severalDevices),
		Cause: cause.DeviceImbalance, Weight: 0.5,
		Means:   "One of several devices could not take its part of the weights, {asked}. Either the split gives it more than it has free, or all of them together are too small; compare the free memory of each in the lines above.",
		Cures:   []cause.Cure{as("balance_split", "Give that card a smaller part", "the others need room"), as("fewer_gpu_layers", "Or fewer layers on all cards", "slower"), as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality")},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/weights", Kinds: refused, If: device("weights"),
		Cause: cause.ModelTooLarge, Weight: 0.8,
		Means: "The card refused the weights in one piece, {asked}, before any context was made. Less than that was free: the card is too small for so many layers, or another program is on it.",
		Not:   "A shorter context or batch: it failed before any was allocated.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Fewer layers on the card", "slower"),
			as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"),
			does("kill_stale_process", "See what is on the card", "text", "`nvidia-smi` (NVIDIA), `rocm-smi` (AMD) or the task manager shows it: an earlier start may still be there.", "free"),
		},
		Sources: []string{"llama.cpp/src/llama-model.cpp", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/state", Kinds: refused, If: buffer("state"),
		Cause: cause.BatchTooLarge, Weight: 0.55,
		Means:   "The recurrent state of a hybrid model was refused. It grows with the number of slots that are served at a time, not with the context; llama-server takes four slots unless told otherwise.",
		Not:     "A shorter context: this state does not grow with it.",
		Cures:   []cause.Cure{as("lower_parallel", "Serve one request at a time", "others wait"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower")},
		Sources: []string{"llama.cpp/src/llama-memory-recurrent.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/kv-slots", Kinds: refused, If: when.All(device("kv"), severalSlots, when.Not(uneven)),
		Cause: cause.ContextTooLong, Weight: 0.82,
		Means:   "The weights fit; the KV cache found no room: {asked}. The server makes it for several requests at a time, so the number of slots counts as much as the context.",
		Cures:   []cause.Cure{as("lower_parallel", "Serve one request at a time", "others wait"), as("lower_context", "A shorter context", "shorter conversations"), as("quantize_kv_cache", "Or an 8-bit cache", "slight loss of quality")},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/kv", Kinds: refused, If: when.All(device("kv"), when.Not(uneven)),
		Cause: cause.ContextTooLong, Weight: 0.85,
		Means:   "The weights fit; the KV cache found no room: {asked} was refused. It grows with the context, and where no length is set that is the model's own maximum.",
		Not:     "A smaller batch: the cache does not depend on it.",
		Cures:   []cause.Cure{as("lower_context", "A shorter context", "shorter conversations"), as("quantize_kv_cache", "Or an 8-bit cache: half of it", "slight loss of quality"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower")},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/compute-attention", Kinds: refused, If: when.All(device("compute"), scoresFill, when.Not(uneven)),
		Cause: cause.ContextTooLong, Weight: 0.8,
		Means: "Weights and cache fit; the compute buffer of {asked} did not. Flash attention is off, and most of that buffer is the matrix of attention over the whole context, which flash attention never builds.",
		Cures: []cause.Cure{
			as("enable_flash_attention", "Turn flash attention on", "free where the device has it"),
			as("lower_ubatch", "A smaller physical batch", "slower prompts"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/compute-batch", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), largeBatch, when.Not(diffuses), when.Not(uneven)),
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "Weights and cache fit; the compute buffer of {asked} did not. It grows with the physical batch, which is set above the usual 512 tokens.",
		Cures:   []cause.Cure{as("lower_ubatch", "A smaller physical batch", "slower prompts"), as("lower_context", "Or a shorter context", "shorter conversations"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower")},
		Sources: []string{"llama.cpp/src/llama-context.cpp", llamaThreads + "12817"}, Solved: 1,
	},
	{
		ID: "llama.cpp/compute", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven))),
		Cause: cause.ContextTooLong, Weight: 0.55,
		Means:   "Weights and KV cache had room; the compute buffer, the last and smallest part, found {asked} no longer. So only about that much is missing, and any of them can give it.",
		Not:     "Another quantisation first: a little context is enough.",
		Cures:   []cause.Cure{as("lower_context", "A shorter context", "shorter conversations"), as("lower_ubatch", "Or a smaller physical batch", "slower prompts"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower")},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/scratch", Kinds: atWork, If: when.All(scratchPool, when.Not(longText)),
		Cause: cause.BatchTooLarge, Weight: 0.5,
		Means: "Everything was loaded; a temporary of the computation found no room on the card. llama.cpp does not reserve that pool before, so a load that just fits fails at a long prompt.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Leave it room: one or two layers less", "slightly slower"),
			as("lower_ubatch", "Or a smaller physical batch", "slower prompts"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/long-text", Kinds: atWork, If: when.All(onGPU, longText, when.Not(when.Any(diffuses, transcribes))),
		Cause: cause.ContextTooLong, Weight: 0.55,
		Means:   "Everything was loaded, and the card ran full while it computed. The context or the prompt is long, so the cache holds much of the card and the temporaries for a long text are large. ggml prints no size here.",
		Cures:   []cause.Cure{as("lower_context", "A shorter context", "shorter conversations"), as("lower_ubatch", "Or a smaller physical batch", "slower prompts"), as("fewer_gpu_layers", "Or fewer layers on the card", "slower")},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/cublas", Kinds: atWork, Said: []string{"cublasCreate", "the resource allocation failed", "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED"},
		Cause: cause.ModelTooLarge, Weight: 0.6,
		Means:   "Everything was loaded and filled the card; cuBLAS, which needs some hundred MB of its own at the first prompt, found nothing left.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Leave it room: a few layers less", "slightly slower"), as("lower_context", "Or a shorter context", "shorter conversations")},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh"},
	},
	{
		ID: "llama.cpp/running", Kinds: atWork, If: when.All(onGPU, when.Not(when.Any(diffuses, transcribes, longText))),
		Cause: cause.ModelTooLarge, Weight: 0.5,
		Means:   "The model was loaded and the card ran full while it computed. ggml prints no size here. Likely the load left next to nothing free, or another program took memory since.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Leave it room: a few layers less", "slightly slower"), as("lower_context", "Or a shorter context", "shorter conversations"), as("close_other_apps", "Close what else uses the card", "free")},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/unnamed", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1)),
		Cause: cause.ModelTooLarge, Weight: 0.5,
		Means:   "The card refused a buffer of {asked}. The lines that would say whether it was weights, cache or working memory are not in the log; the largest is the weights, as a rule.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Fewer layers on the card", "slower"), as("lower_context", "Or a shorter context", "shorter conversations"), as("close_other_apps", "Close what else uses the card", "free")},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
}

func inNode(c *ledger.Case) bool { return c.Says("node-llama-cpp") }
