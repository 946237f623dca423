package ggml

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/command"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/program/ggml/images"
	"github.com/oomdoc/oomdoc/rules/program/ggml/kept"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/program/ggml/negative"
	"github.com/oomdoc/oomdoc/rules/program/ggml/pool"
	"github.com/oomdoc/oomdoc/rules/program/ggml/touch"
	"github.com/oomdoc/oomdoc/rules/when"
)

// llamaCards are llama.cpp's, in the words of the program that the reader runs.
var llamaCards = slices.Concat([]cause.Card{touch.Card, touch.Opening, touch.HostBuffers, images.Absurd, vulkanPiece}, negative.Cards, beyondCards, takenCards, kept.Cards, killedCards, besideCards, llamaPartCards, pool.Cards(otherProgram), llamaLoadCards, unnamedCards, restCards)

// freeCard names what shows who uses a card of this kind.
var freeCard = does("close_other_apps", "Close other programs that use the GPU", "text", "`{look}` or the system's monitor shows them: games, browsers, an earlier run, other AI programs.", "free")

// llamaLoadCards are about weights, cache and compute buffers.
var llamaLoadCards = []cause.Card{
	{
		ID: "llama.cpp/node-guard", Kinds: []fact.Kind{fact.LlamaGuard}, If: when.All(contextFrom(0), inNode),
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Means: "node-llama-cpp computed, before it asked for any memory, that this context does not fit beside the model. It goes by what is free at that moment: a model or context that was not disposed of counts too.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context, or let it choose", "text", "Leave `contextSize` out of `createContext`, or give a range: `contextSize: {min: 2048, max: 8192}`. It then takes what fits.", "shorter conversations"),
			where(severalSlots, as("lower_parallel", "Use one sequence: each has a cache of its own", "requests wait for each other")),
			does("restart_session", "Dispose of models and contexts no longer used", "text", "Call `await context.dispose()` and `await model.dispose()` before you create the next.", "free"),
			as("quantize_kv_cache", "Use an 8-bit KV cache", "slight loss of quality"),
		},
		Sources: []string{"node-llama-cpp/src/gguf/insights/utils/resolveContextContextSizeOption.ts", "node-llama-cpp/src/evaluator/LlamaContext/types.ts"},
	},
	{
		ID: "llama.cpp/mmap", Kinds: refused, If: mmapRefused,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "The model file could not be mapped. Mapping takes address space, not RAM, so usually a limit on address space refused it: `ulimit -v`, a batch system, a 32-bit program.",
		Not:   "Fewer layers on the GPU: the whole file is mapped first.",
		Cures: []cause.Cure{
			does("raise_memory_limit", "Raise the limit on address space", "shell", "ulimit -v unlimited   # in the shell that starts it; in a batch job ask for more memory", "free"),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"llama.cpp/src/llama-mmap.cpp"},
	},
	{
		ID: "llama.cpp/host-copied", Kinds: refused, If: when.All(host("weights"), unmapped),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means:   "The weights that stay off the GPU go to system memory (RAM). Memory mapping is off, so all of them need free RAM at once: {asked} was refused. A mapped file is read as it is needed.",
		Cures:   []cause.Cure{as("use_mmap", "Turn memory mapping (mmap) back on", "slower if RAM is short"), as("close_other_apps", "Close programs that use RAM", "free"), smallerQuant, smallerInstead},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model-loader.cpp"},
	},
	{
		ID: "llama.cpp/host-windows", Kinds: refused, If: windowsHost,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means:   "System memory was refused, not GPU memory: {asked}. Windows counts what programs have reserved against RAM and page file together, so this can fail while Task Manager still shows free RAM.",
		Cures:   []cause.Cure{as("close_other_apps", "Close programs that use RAM", "free"), as("raise_pagefile", "Enlarge the page file", "disk space; slow once it is used"), smallerQuant, smallerInstead},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/host", Kinds: refused, If: when.All(hostWeights, above(1)), Figures: hostNumbers,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means:   "System memory (RAM) was refused, not GPU memory: {asked} {part}.[[ {little}]] Either RAM and swap are used up, or a limit of the container or shell is reached.",
		Not:     "Fewer layers on the GPU: that needs more system memory.",
		Cures:   []cause.Cure{as("close_other_apps", "Close programs that use RAM", "free"), as("raise_memory_limit", "Raise the memory limit, if there is one", "only if the machine has it"), smallerQuant, smallerInstead},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/host-kv", Kinds: refused, If: host("kv"), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start: system memory has no room for the KV cache[[ of {context} tokens]]",
		Means: "The weights are in place or mapped. The KV cache, {asked}[[ for {context} tokens ({kib} per token)]], was refused by system memory (RAM), not by the GPU. It is reserved whole at the start.[[ {unset}]]",
		Not:   "Fewer layers on the GPU: that moves more of the cache into RAM.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens take {ctxThen}; if it starts, go up from there.]]", "shorter conversations"),
			told("quantize_kv_cache", "Keep the length with an 8-bit KV cache", "{q8} instead of {asked}.", "slight loss of quality"),
			as("close_other_apps", "Close programs that use RAM", "free"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/bench-split", Kinds: refused, Said: []string{"llama-bench", "t/s |"}, If: when.All(device("weights"), benchCommas), Figures: benchNumbers,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "did not load: llama-bench read the split as several runs",
		Means: "{asked} of weights was asked of {gpu} alone. In llama-bench a comma separates values to test one after another, so `-ts {commas}` is several runs with one number each. One split over the GPUs is written with slashes.",
		Cures: []cause.Cure{
			does("balance_split", "Write the split with slashes", "text", "`-ts {slashes}` instead of `-ts {commas}`.", "free"),
			does("fewer_gpu_layers", "Leave out `-ts`", "text", "Without `-ts` the layers are split by what is free on each GPU. `llama-server` and `llama-cli` take the commas.", "free"),
		},
		Sources: []string{"llama.cpp/tools/llama-bench/llama-bench.cpp", "llama.cpp/tools/llama-bench/README.md"},
	},
	{
		ID: "llama.cpp/experts-unmatched", Kinds: refused, If: when.All(device("weights"), load.ExpertsAsked, above(1)), Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "did not load: experts went to {gpu} although the command keeps them in RAM",
		Means: "`--cpu-moe` and `--n-cpu-moe` keep by name what is to stay in RAM, and {asked} on one GPU is more than the rest of a model: in this file the names of the experts do not match. Builds up to b8284 (March 2026) do not know experts whose gate and up are joined (`ffn_gate_up_exps`).",
		Not:   "Another `--cpu-moe`, a shorter context: neither changes what matches.",
		Cures: []cause.Cure{{Fix: "upgrade_version", Title: "Update llama.cpp", Told: "Newer builds match those names as well (pull request 20416).", Cost: "a download or a build"},
			does("moe_cpu_offload", "Or name the experts yourself", "config", "-ot \"exps=CPU\"   # in place of --cpu-moe, -cmoe, --n-cpu-moe and of other -ot for experts", "somewhat slower; needs the RAM"), as("fewer_gpu_layers", "Or put fewer whole layers on the GPU", "much slower")},
		Sources: []string{"https://github.com/ggml-org/llama.cpp/issues/20431", "https://github.com/ggml-org/llama.cpp/pull/20416", "llama.cpp/common/arg.cpp"}, Solved: 1,
	},
	{
		ID: "llama.cpp/experts", Kinds: refused, If: when.All(device("weights"), mixtureOfExperts, when.Not(unified)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: the weights of this mixture of experts did not fit on {gpu}",
		Means: "A piece of the weights, {asked}, was refused[[: {gpu} had {had} free]]. Most of the model is experts, and only a few of them work on each token: kept in RAM they cost less speed than whole layers there.",
		Not:   "A shorter context alone: the weights were refused before any cache.",
		Cures: []cause.Cure{
			where(when.Not(noExpertsOption), told("moe_cpu_offload", "Keep the experts in system memory (RAM)", "Keep all layers on the GPU and move only experts, as far as RAM is free. Refused again: raise the number; room to spare: lower it.", "somewhat slower; needs the RAM")),
			where(noExpertsOption, as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower")),
			where(noExpertsOption, does("moe_cpu_offload", "Update, and keep only the experts in RAM", "text", "Builds since August 2025 have `--n-cpu-moe 99`, which with `-ngl 99` is much faster than whole layers in RAM; this build is older.", "a download")),
			where(when.Not(noExpertsOption), as("fewer_gpu_layers", "Put fewer whole layers on the GPU", "much slower")),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/split", Kinds: refused, If: when.All(device("weights"), severalDevices), Figures: numbers,
		Cause: cause.DeviceImbalance, Weight: cause.Fair, Headline: "did not load: {gpu} could not take its part of the weights",
		Means: "The layers are split over the GPUs, and {gpu} was to take {asked} in one piece[[, with {had} free]]. Either the split gives it too much, or all GPUs together are too small: compare the free memory of each (`{look}`) with the size of the file.",
		Not:   "A shorter context alone: the weights were refused before any cache.",
		Cures: []cause.Cure{
			told("balance_split", "Give {gpu} a smaller share, if the others have room", "[[Shares of weights now: {others}.]]", "the others must take the rest"),
			cause.Cure{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPUs", Steps: layersByHand, Cost: "slower"},
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/opencl-piece", Kinds: refused, Said: []string{"Adreno"}, If: device("weights"), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: the Adreno GPU refused one buffer of {asked}",
		Means: "Adreno drivers limit a single OpenCL buffer, often to 1 GiB, however much memory is free[[, and the weights of {layers} layers were asked for in one]]; or too little was free, since the GPU shares RAM with the apps. `clinfo | grep -i \"max memory alloc\"` and `free -m` show which.",
		Not:   "A shorter context: the weights were refused before any cache.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPU", Told: "[[Each takes about {layer}. ]]If it loads, raise the number step by step.", Steps: llamaLayers, Cost: "the rest runs on the CPU"},
			does("cpu_offload", "Compare with the CPU alone: `-ngl 0`", "text", "The same command with `-ngl 0`: on phones it is often as fast. Compare `eval time` at the end.", "possibly nothing"),
			does("use_lower_quant", "Use a Q4 quantisation of the model", "text", "Q4_0 or Q4_K_M takes about half of a Q8_0. Newer builds have an OpenCL backend made for Adreno, which works best with Q4_0.", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/docs/backend/OPENCL.md", llamaThreads + "5057"}, Solved: 1,
	},
	{
		ID: "llama.cpp/tensor-setup", Kinds: ofGGML, Said: []string{"failed to initialize tensor"}, If: onGPU, Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "could not set up a tensor on the GPU",
		Means: "The weights' buffer was made; then one tensor in it could not be set up, and llama.cpp words that as \"unable to allocate\". Most often it is the build, the driver or a file that this build cannot place; a full GPU is possible too.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update to a newer build and driver", "a download"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "With none (`-ngl 0`) it tells whether the GPU part is at fault.", "slower"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c", "https://github.com/ollama/ollama/issues/11265"},
	},
	{
		ID: "llama.cpp/weights", Kinds: refused, If: when.All(device("weights"), above(1)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: the model's weights did not fit on {gpu}",
		Means: "{weighed}",
		Not:   "A shorter context or smaller batch alone: the weights were refused before either counted.",
		Cures: []cause.Cure{
			aboveCards(does("moe_cpu_offload", "If it is a mixture of experts: keep the experts in RAM", "text", "`-ngl 99 --cpu-moe` puts the experts of all layers into RAM (`--n-cpu-moe N`: of the first N). RAM then has to hold nearly the whole file. Most models this large are such a mixture.", "slower than all on the GPU, faster than whole layers in RAM")),
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPU", Told: "[[About {keep} of {all} fit with KV cache and working memory.]][[ With a context of 8192 tokens it is {keepShort}.]]", Steps: layersByHand, Cost: "the rest runs on the CPU: slower"},
			belowCards(as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality, and it stays fast")),
			belowCards(does("kill_stale_process", "See what else uses the GPU", "text", "Run `{look}` before the start: an earlier run that did not end, another model server or a game may hold what is missing.", "free")),
		},
		Sources: []string{"llama.cpp/src/llama-model.cpp", "llama.cpp/common/arg.cpp", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/state", Kinds: refused, If: buffer("state"),
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means:   "The recurrent state of a hybrid model was refused. It grows with the number of slots that are served at a time, not with the context; newer builds of llama-server use four slots unless told otherwise.",
		Cures:   []cause.Cure{as("lower_parallel", "Serve one request at a time", "others wait"), as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower")},
		Sources: []string{"llama.cpp/src/llama-memory-recurrent.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/kv-slots", Kinds: refused, If: when.All(device("kv"), severalSlots, when.Not(uneven)), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start: the KV cache for {slots} slots did not fit beside the weights",
		Means: "The weights are in place. The cache, {asked}[[ for {context} tokens in all ({kib} per token)]], is made for {slots} requests at a time and was refused[[: {left} was left, {short} too little]].",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "Serve one request at a time", Told: "With the context of one slot only: the cache is then {slots} times smaller, and one conversation keeps its length.", Steps: oneSlotSteps, Cost: "others wait"},
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens in all take {ctxThen}.]]", "shorter conversations"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "{q8} instead of {asked}.", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/kv", Kinds: refused, If: when.All(device("kv"), above(1), when.Not(uneven)), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start: the KV cache[[ for {context} tokens]] did not fit beside the weights",
		Means: "The weights are in place[[; {left} was left on {gpu}, {short} too little]].[[ The cache is made for {context} tokens ({kib} per token).]] [[{unset} ]]The cache is reserved whole at the start, even if no conversation gets that long.",
		Cures: []cause.Cure{
			where(windowWhole, does("lower_context", "Leave out `--swa-full`", "text", "The layers of this model that look back over a short window then keep that window only, not all tokens: the cache shrinks to a fraction. If it still fails, shorten `-c` too.", "an earlier prompt is reused less")),
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens take {ctxThen}; if it starts, go up from there.]]", "shorter conversations"),
			{Fix: "balance_split", If: when.All(books.LargestShare, func(c *ledger.Case) bool { return dialect.Of(c).Settings["balance_split"] != "" }), Title: "Give {gpu} fewer layers, if the others have room: `-ts`", Told: "It was to hold {asked} of the cache, the others {kvOthers} each: it has more layers.[[ {shareHow}]]", Cost: "a few trials", Kind: "text", Text: "`-ts` takes a number for each GPU of the list, in its order; a smaller one means fewer layers."},
			{Fix: "quantize_kv_cache", If: when.Not(oldVulkan), Title: "Use an 8-bit KV cache", Told: "{q8told}", Steps: cacheIn8BitSteps, Cost: "slight loss of quality"},
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "Each layer takes its part of the cache along[[; about {keep} of {all} fit]].", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/uneven", Kinds: refused, If: when.All(device("kv", "compute"), uneven, func(c *ledger.Case) bool { return books.Shares(c) != nil }), Figures: numbers,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "ran out on {gpu}: the split over the GPUs leaves it too little room",
		Means: "Weights: {others}. On {gpu} there was no room left for its part of KV cache or working memory, {asked}. The split is by layers, and each layer brings its part of the cache along.",
		Cures: []cause.Cure{
			told("balance_split", "Give {gpu} fewer layers", "The numbers are shares in the order of the devices: the weights that each holds now, with {asked} moved off {gpu}.", "a few trials"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "[[{q8} instead of {asked}.]]", "slight loss of quality"),
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens take {ctxThen} there.]]", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/whole-texts", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), wholeTexts, when.Not(diffuses)), Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory for a batch as long as the context: {ub} tokens",
		Means: "Weights and cache were in place; the compute buffer of {asked} was refused on {gpu}. It is made for {ub} tokens at once, all of the context, where 512 is usual. Embedding and rerank models are run like that, to read a text whole. Without flash attention the buffer grows with the square of that length.",
		Cures: []cause.Cure{
			{Fix: "lower_ubatch", Title: "Shorten context and batch to your longest text", Told: "Texts for embeddings mostly have 512 to 2048 tokens. At {ubTo} tokens the buffer takes {ubThen} at most. All three have to be as long as the longest text, or it is refused (KoboldCpp: `--embeddingsmaxctx`).", Steps: textSteps, Cost: "longer texts have to be cut"},
			told("enable_flash_attention", "Turn on flash attention too", "The buffer then no longer grows with the square[[: {rest} of {asked} stays]].", "free"),
			{Fix: "fewer_gpu_layers", Title: "Run the embedding model on the CPU", Told: "Such models are usually small: `--device none` for its server (KoboldCpp: leave out `--embeddingsgpu`).", Cost: "slower"},
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/tools/server/README.md", "https://github.com/LostRuins/koboldcpp/issues/1590"},
	},
	{
		ID: "llama.cpp/compute-attention", Kinds: refused, If: when.All(device("compute"), scoresFill, when.Not(uneven), when.Not(diffuses)), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of memory for attention over {context} tokens",
		Means: "[[{moment} ]]Weights and cache were in place; the compute buffer of {asked} was refused. {scores} of it is the attention matrix over the whole context, which flash attention does not store: that is off here, or this build has none for the device.[[ {piece}]][[ {oneBuffer}]]",
		Cures: []cause.Cure{
			where(when.Not(when.Any(onSYCL, oldVulkan)), told("enable_flash_attention", "Turn on flash attention", "The buffer shrinks to {rest}.", "free, where the device has it")),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} the buffer takes {ubThen}; the context keeps its length.", "slower prompts"),
			told("lower_context", "Shorten the context", "[[At {ctxTo} tokens: {ctxThen}, and a smaller cache.]]", "shorter conversations"),
			where(onSYCL, told("enable_flash_attention", "Turn on flash attention, if this build has it for SYCL", "The matrix is then not stored. Where the backend lacks it, attention runs on the CPU, which is slow.", "perhaps slow")),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/compute-absurd", Kinds: refused, If: when.All(buffer("compute"), absurdGraph, when.Not(diffuses), plain), Figures: numbers,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for a compute buffer of {asked}: out of all proportion",
		Means: "A working buffer of {asked} is not normal. It is attention over a very long context without flash attention[[ (about {tokens64} tokens with 64 heads)]], or a fault of this build with this model.",
		Not:   "Fewer layers or another quantisation: the buffer stays about as large.",
		Cures: []cause.Cure{
			told("enable_flash_attention", "Turn on flash attention", "The attention matrix is then not stored.", "free, where model and build have it"),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} it takes {ubThen}. Shorten the context as well.", "slower prompts"),
			as("upgrade_version", "Update to a newer build", "half an hour"),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/compute-batch", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), LargeBatch, when.Not(diffuses), when.Not(uneven)), Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory for a physical batch of {ub} tokens",
		Means: "Weights and cache were in place; the compute buffer of {asked} was refused on {gpu}. It grows with the physical batch, which is {ub} here instead of the usual 512[[; {left} was left, {short} too little]].",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens it takes about {ubThen}; answers stay as fast.", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", llamaThreads + "12817"}, Solved: 1,
	},
	{
		ID: "llama.cpp/compute-now", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: dialect.NewWords, If: when.All(device("compute"), above(units.GiB), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven, attentionOff))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of memory for a compute buffer of {asked} on {gpu}",
		Means: "[[{moment} ]]Weights and cache were in place; what was refused is the working memory for one physical batch[[; {left} was left on {gpu}]]. Builds of this time turn flash attention on by themselves where model and device have it; the line `Flash Attention was auto` says whether. Where it is on, this buffer grows mostly with the batch, where it is off with the context too.",
		Cures: []cause.Cure{
			where(when.Not(batchIsEnough), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} it takes about {ubThen}; the context keeps its length.", "slower prompts"),
			otherGPUs, where(contextWorth, told("lower_context", "Shorten the context", "It leaves room in the cache, and in this buffer where flash attention is off.", "shorter conversations")),
			does("enable_flash_attention", "If the line says `set to disabled`: `-fa on`", "text", "If the start then says that it is not supported, the batch and the context are what is left.", "free"),
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/common/arg.cpp", llamaThreads + "27872"},
	},
	{
		ID: "llama.cpp/compute-large", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), above(units.GiB), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven, dialect.FlashOn))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of memory for a compute buffer of {asked} on {gpu}",
		Means: "[[{moment} ]]Weights and cache were in place; what was refused is the working memory for one physical batch[[; {left} was left on {gpu}]]. One this large is usually attention without flash attention, which grows with context and batch[[: with 64 heads (a 70B model) it is a context of about {tokens64} tokens, with 128 (DeepSeek V3, R1) {tokens128}]].",
		Cures: []cause.Cure{
			where(when.All(attentionOff, when.Not(oldVulkan)), told("enable_flash_attention", "Turn on flash attention: it is off", "Most of this buffer is then not made, and the context keeps its length.", "free, where model and build have it")),
			where(when.All(command.ContextUnset, contextFrom(16384)), does("lower_context", "Set a context length: your command sets none", "text", "Add `-c 8192`. Unset, it is the model's own maximum in many versions, often 131,072 tokens, and this buffer and the cache grow with it.", "shorter conversations")),
			where(when.Not(batchIsEnough), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			where(batchIsEnough, told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} it takes about {ubThen}; the context keeps its length.", "slower prompts")),
			{Fix: "enable_flash_attention", If: when.Not(when.Any(oldVulkan, attentionOff, batchIsEnough)), Title: "Turn on flash attention", Told: "Where model and build have it, most of this buffer is then not needed.", Steps: flashThere, Cost: "free"},
			otherGPUs, where(contextWorth, told("lower_context", "Halve the context", "Without flash attention that halves this buffer, and the cache with it.", "shorter conversations")),
			{Fix: "enable_flash_attention", If: when.All(batchIsEnough, when.Not(when.Any(oldVulkan, attentionOff))), Title: "Turn on flash attention", Told: "Where model and build have it, most of this buffer is then not needed.", Steps: flashThere, Cost: "free"},
			where(when.Not(batchIsEnough), told("lower_ubatch", "Lower the physical batch size too", "", "slower prompts")),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/src/llama-context.cpp"},
	},
	{
		ID: "llama.cpp/compute", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Good, Headline: "ran out of memory for the compute buffer of {asked} on {gpu}",
		Means: "[[{moment} ]]Weights and cache were in place; the compute buffer, the last part, was refused: {asked}[[, with {left} left]]. At most that much is missing there.",
		Cures: []cause.Cure{
			where(when.Not(batchIsEnough), told("fewer_gpu_layers", "Put one or two fewer layers on the GPU", "", "slightly slower")),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} the buffer takes about {ubThen}; answers stay as fast.", "slower prompts"),
			where(contextWorth, told("lower_context", "Shorten the context", "The cache shrinks with it.", "shorter conversations")),
			where(when.All(when.Not(contextWorth), when.Not(dialect.QuantisedCache)), told("quantize_kv_cache", "Use an 8-bit KV cache", "", "slight loss of quality")),
			where(batchIsEnough, told("fewer_gpu_layers", "Put one or two fewer layers on the GPU", "", "slightly slower")),
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/scratch", Kinds: atWork, If: when.All(scratchPool, when.Not(when.Any(longText, weightsOnly))), Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Fair, Headline: "loaded, then ran out of memory on {gpu} while it computed",
		Means: "The model was loaded; a temporary buffer of the computation did not fit. Such buffers are not reserved at the start, so a load that just fits can fail later, usually at a long prompt. ggml prints no size here.[[ {placed}]]",
		Cures: []cause.Cure{
			keepMoreFree,
			told("fewer_gpu_layers", "Put one or two fewer layers on the GPU", "0.5 to 1 GiB free in `{look}` after loading is usually enough.", "slightly slower"),
			told("lower_ubatch", "Lower the physical batch size", "The temporaries grow with it.", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/long-text", Kinds: atWork, If: when.All(onGPU, longText, when.Not(when.Any(diffuses, transcribes, weightsOnly))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Good, Headline: "loaded, then ran out of memory on {gpu} with a long context or prompt",
		Means: "The model was loaded, and the GPU ran full while it computed. Context or prompt is long[[ ({context} tokens)]]: the KV cache takes a large part, and temporary buffers, which are not reserved at the start, come on top. ggml prints no size here.[[ {placed}]][[ {unset}]]",
		Cures: []cause.Cure{
			keepMoreFree,
			{Fix: "enable_flash_attention", If: when.All(attentionOff, largeGraph, when.Not(oldVulkan)), Title: "Turn on flash attention: it is off", Told: "Most of the {graph} of working memory is then not needed, and the context keeps its length.", Cost: "free, where model and build have it"},
			where(promptTooLong, told("lower_ubatch", "Lower the physical batch size", "The temporaries of a prompt grow with it; this prompt of {prompt} tokens still fits into the context.", "slower prompts")),
			where(promptTooLong, told("fewer_gpu_layers", "Put fewer layers on the GPU", "They take their part of the KV cache along.", "slower")),
			where(when.Not(promptTooLong), told("lower_context", "Shorten the context", "", "shorter conversations")),
			where(when.Not(promptTooLong), told("lower_ubatch", "Lower the physical batch size", "The temporaries grow with it.", "slower prompts")),
			where(promptTooLong, told("quantize_kv_cache", "Use an 8-bit KV cache", "It takes half; a shorter `-c` would cut this prompt.", "slight loss of quality")),
			where(when.Not(promptTooLong), told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/cublas", Kinds: atWork, Said: []string{"cublasCreate", "the resource allocation failed", "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED"},
		Cause: cause.ModelTooLarge, Weight: cause.Good,
		Means:   "cuBLAS needs some hundred MB of its own on the GPU when the first prompt runs, and could not get them: model and KV cache, or other programs, left too little.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "slightly slower"), as("lower_context", "Shorten the context", "shorter conversations")},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh"},
	},
	pinnedCard,
	{
		ID: "llama.cpp/running", Kinds: atWork, If: when.All(onGPU, when.Not(when.Any(diffuses, transcribes, longText, weightsOnly))), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "ran out of memory on {gpu} while it computed",
		Means: "As a rule the model is loaded by then, and what failed is a temporary buffer of the computation. `{look}` right after loading tells: with less than 500 MiB free it is this program's own load, otherwise another program took memory since.",
		Cures: []cause.Cure{
			keepMoreFree,
			where(when.Not(dialect.MayFit), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			where(dialect.MayFit, told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "A build since December 2025 that is started without `-ngl` chooses them itself: `--fit-target 2048` then keeps 2 GiB free.", "slightly slower")),
			told("lower_ubatch", "Lower the physical batch size", "Temporary buffers grow with the tokens of a step.", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			where((*ledger.Case).Windows, freeCard),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
}

// otherGPUs moves layers off the card that failed, where there are others.
var otherGPUs = where(func(c *ledger.Case) bool {
	return c.F().Device != nil && c.F().Device.Value > 0 && dialect.Of(c).Kind == "shell"
}, does("balance_split", "Give {gpu} a smaller share: `-ts`", "text", "`-ts` takes a number for each GPU, in the order of the log's list (`-ts 3,2` for two): a smaller one for {gpu}, if the others have room.", "a few trials"))

// largeGraph: the compute buffer that was made takes a GiB and more.
func largeGraph(c *ledger.Case) bool { return ledger.SizeOf(c.F().ComputeBuffer) >= units.GiB }

func inNode(c *ledger.Case) bool { return c.Says("node-llama-cpp") }

// benchCommas: a split with commas.
func benchCommas(c *ledger.Case) bool {
	s, ok := c.Setting("tensor_split")
	return ok && strings.Contains(s.Value, ",") && strings.Trim(s.Value, "0123456789.,") == "" && len(s.Value) < 120
}

// benchNumbers are those of the other cards, and the split as llama-bench
// wants it.
func benchNumbers(c *ledger.Case) map[string]string {
	out := numbers(c)
	if s, ok := c.Setting("tensor_split"); ok {
		out["commas"], out["slashes"] = s.Value, strings.ReplaceAll(s.Value, ",", "/")
	}
	return out
}

// oldVulkan: builds up to January 2025 have no flash attention on most Vulkan
// devices: it then runs on the processor, and an 8-bit cache needs it.
func oldVulkan(c *ledger.Case) bool {
	return onVulkan(c) && dialect.Said(c, []string{"llm_load_tensors", "llm_load_print_meta", "llama_new_context_with_model"})
}

const largestCard = load.LargestCard

// aboveCards and belowCards bind a cure to what was asked for in one piece.
func aboveCards(cure cause.Cure) cause.Cure {
	cure.If = func(c *ledger.Case) bool { return c.Asked.Bytes > largestCard }
	return cure
}

func belowCards(cure cause.Cure) cause.Cure {
	cure.If = func(c *ledger.Case) bool { return c.Asked.Bytes <= largestCard }
	return cure
}
