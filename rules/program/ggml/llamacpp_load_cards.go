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
var freeCard = does("close_other_apps", "Close other programs that use the GPU", "text", "Look in `{look}`: usually an earlier run that did not end, another AI program, a game or a browser.", "free")

// llamaLoadCards are about weights, cache and compute buffers.
var llamaLoadCards = []cause.Card{
	{
		ID: "llama.cpp/node-guard", Kinds: []fact.Kind{fact.LlamaGuard}, If: when.All(contextFrom(0), inNode),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "stopped before it ran: this context does not fit into the free GPU memory (VRAM)",
		Means: "node-llama-cpp estimates what a context needs before it creates it. It goes by what is free at that moment, so models and contexts that you have not disposed of count too.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context, or let it choose", "text", "Leave `contextSize` out of `createContext`, or give a range: `contextSize: {min: 2048, max: 8192}`. It then uses as much as fits.", "shorter conversations"),
			where(severalSlots, as("lower_parallel", "Use one sequence: each needs its own KV cache", "requests wait for each other")),
			does("restart_session", "Dispose of models and contexts that you no longer use", "text", "Call `await context.dispose()` and `await model.dispose()` before you create the next.", "free"),
			as("quantize_kv_cache", "Use an 8-bit KV cache", "slight loss of quality"),
		},
		Sources: []string{"node-llama-cpp/src/gguf/insights/utils/resolveContextContextSizeOption.ts", "node-llama-cpp/src/evaluator/LlamaContext/types.ts"},
	},
	{
		ID: "llama.cpp/mmap", Kinds: refused, If: mmapRefused,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not map the model file into memory (mmap)",
		Means: "Mapping a file takes address space, not RAM. So this is usually a limit on address space: `ulimit -v`, a batch system (Slurm, SGE), or a 32-bit program.",
		Not:   "Fewer layers on the GPU: the whole file is mapped first.",
		Cures: []cause.Cure{
			does("raise_memory_limit", "Raise the limit on address space", "shell", "ulimit -v            # shows the limit; \"unlimited\" means that there is none\nulimit -v unlimited  # then start it in the same shell; in a batch job request more memory instead", "free"),
			as("use_smaller_model", "Use a smaller model", "lower quality"),
		},
		Sources: []string{"llama.cpp/src/llama-mmap.cpp"},
	},
	{
		ID: "llama.cpp/host-copied", Kinds: refused, Unsaid: load.Mapped, If: when.All(host("weights"), unmapped),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means:   "Weights that are not on the GPU go to system RAM. Memory mapping (mmap) is off, so all of them ({asked}) must fit into free RAM at once. A mapped file is read as needed.",
		Cures:   []cause.Cure{as("use_mmap", "Turn memory mapping (mmap) back on", "slower if RAM is short"), as("close_other_apps", "Close programs that use RAM", "free"), smallerQuant, smallerInstead},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model-loader.cpp"},
	},
	{
		ID: "llama.cpp/host-windows", Kinds: refused, If: windowsHost,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means:   "This is system RAM, not GPU memory. Windows counts everything that programs have reserved against RAM plus page file. So it can refuse {asked} while Task Manager still shows free RAM.",
		Cures:   []cause.Cure{as("close_other_apps", "Close programs that use RAM", "free"), as("raise_pagefile", "Enlarge the page file", "disk space; slow once it is used"), smallerQuant, smallerInstead},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/host", Kinds: refused, If: when.All(hostWeights, above(1)), Figures: hostNumbers,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "This is system RAM, not GPU memory: {asked} {part} did not fit.[[ {little}]] Either RAM and swap are used up, or a limit of the container or shell is reached.",
		Not:   "Fewer layers on the GPU: that needs more system memory.",
		Cures: []cause.Cure{
			where(when.All(stage("weights"), when.Not(load.MapsFile)), as("use_mmap", "Turn memory mapping (mmap) on, if it is off", "free")),
			as("close_other_apps", "Close programs that use RAM", "free"), as("raise_memory_limit", "Raise the memory limit, if there is one", "only if the machine has it"), smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/host-kv", Kinds: refused, If: when.All(host("kv"), above(1)), Figures: kept.LastPart(numbers),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start: not enough system memory (RAM) for the KV cache[[ of {context} tokens]]",
		Means: "The KV cache stores the conversation, and here it goes to system RAM, not to the GPU.[[ It needs {kib} per token.]] llama.cpp reserves it in full at the start, even if no conversation gets that long.[[ {unset}]][[ {last}]]",
		Not:   "Fewer layers on the GPU: that moves more of the cache into RAM.",
		Cures: []cause.Cure{
			where(kept.LittleCache, as("close_other_apps", "Close programs that use RAM", "free")), where(when.All(kept.LittleCache, (*ledger.Case).Windows), as("raise_pagefile", "Let Windows enlarge the page file", "disk")), where(kept.LittleCache, smallerQuant),
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens take {ctxThen}; if that starts, go up from there:]]", "shorter conversations"),
			told("quantize_kv_cache", "Keep the length with an 8-bit KV cache", "It takes {q8} instead of {asked}:", "slight loss of quality"),
			as("close_other_apps", "Close programs that use RAM", "free"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/bench-split", Kinds: refused, Said: []string{"llama-bench", "t/s |"}, If: when.All(device("weights"), benchCommas), Figures: benchNumbers,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "did not load: llama-bench read the split as several runs",
		Means: "In llama-bench a comma separates values to test one after another. So `-ts {commas}` means several runs, each with all {asked} of weights on one GPU. One split over several GPUs is written with slashes.",
		Cures: []cause.Cure{
			does("balance_split", "Write the split with slashes: `-ts {slashes}`", "text", "Use `-ts {slashes}` instead of `-ts {commas}`. Only llama-bench wants that; `llama-server` and `llama-cli` take the commas.", "free"),
			does("fewer_gpu_layers", "Leave out `-ts`", "text", "It then splits the layers by what is free on each GPU.", "free"),
		},
		Sources: []string{"llama.cpp/tools/llama-bench/llama-bench.cpp", "llama.cpp/tools/llama-bench/README.md"},
	},
	{
		ID: "llama.cpp/experts-unmatched", Kinds: refused, If: when.All(device("weights"), load.ExpertsAsked, above(1)), Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "did not load: the experts went to {gpu} although the command keeps them in RAM",
		Means: "`--cpu-moe` and `--n-cpu-moe` pick the experts by their tensor names. {asked} on one GPU means that they did not match here. Builds up to b8284 (March 2026) do not know the names of joined experts (`ffn_gate_up_exps`).",
		Not:   "A higher `--n-cpu-moe`, a shorter context: the names still do not match.",
		Cures: []cause.Cure{{Fix: "upgrade_version", Title: "Update llama.cpp", Told: "Newer builds know these names (pull request 20416).", Cost: "a download or a build"},
			does("moe_cpu_offload", "Or name the experts yourself", "config", "-ot \"exps=CPU\"   # in place of --cpu-moe, -cmoe, --n-cpu-moe and of other -ot for experts", "somewhat slower; needs the RAM"), as("fewer_gpu_layers", "Or put fewer whole layers on the GPU", "much slower")},
		Sources: []string{"https://github.com/ggml-org/llama.cpp/issues/20431", "https://github.com/ggml-org/llama.cpp/pull/20416", "llama.cpp/common/arg.cpp"}, Solved: 1,
	},
	{
		ID: "llama.cpp/experts", Kinds: refused, If: when.All(device("weights"), above(1), mixtureOfExperts, when.Not(unified)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: this mixture-of-experts (MoE) model did not fit on {gpu}",
		Means: "The weights are larger than what is free[[: {gpu} had {had}]]. Most of an MoE model is experts, and each token uses only a few of them. So experts in RAM cost much less speed than whole layers in RAM.",
		Not:   "A shorter context alone: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			where(when.Not(noExpertsOption), told("moe_cpu_offload", "Keep the experts in system memory (RAM)", "Keep all layers on the GPU and move only experts. If it fails again, raise the number; if GPU memory stays free, lower it.", "somewhat slower; needs the RAM")),
			where(noExpertsOption, as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower")),
			where(noExpertsOption, does("moe_cpu_offload", "Update, and keep only the experts in RAM", "text", "This build is too old for it. Newer ones (since August 2025) take `-ngl 99 --n-cpu-moe 99`, which is much faster than whole layers in RAM.", "a download")),
			where(when.Not(noExpertsOption), as("fewer_gpu_layers", "Put fewer whole layers on the GPU", "much slower")),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/split", Kinds: refused, If: when.All(device("weights"), above(1), severalDevices), Figures: numbers,
		Cause: cause.DeviceImbalance, Weight: cause.Fair, Headline: "did not load: {gpu} could not take its part of the weights",
		Means: "The layers are split over several GPUs, and the part for {gpu} is larger than what was free there[[ ({had})]]. Either the split gives it too much, or all GPUs together are too small. Compare their free memory (`{look}`) with the size of the file.",
		Not:   "A shorter context alone: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			told("balance_split", "Give {gpu} a smaller share, if the others have room", "[[Weights now: {others}.]]", "the others must take the rest"),
			cause.Cure{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPUs", Steps: layersByHand, Cost: "slower"},
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/opencl-piece", Kinds: refused, Said: []string{"Adreno"}, If: device("weights"), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: the Adreno GPU did not give one buffer of {asked}",
		Means: "Adreno drivers limit each single OpenCL buffer, often to 1 GiB, however much memory is free. Or too little RAM was free, which this GPU shares with all apps. `clinfo | grep -i \"max memory alloc\"` and `free -m` show which it is.",
		Not:   "A shorter context: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPU", Told: "[[Each takes about {layer}. ]]If this loads, raise the number step by step.", Steps: llamaLayers, Cost: "the rest runs on the CPU"},
			does("cpu_offload", "Try the CPU alone: `-ngl 0`", "text", "On phones it is often as fast. Compare `eval time` at the end of a run.", "possibly nothing"),
			does("use_lower_quant", "Use a Q4 quantisation of the model", "text", "Q4_0 takes about half of Q8_0, and newer builds' OpenCL backend for Adreno works best with it.", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/docs/backend/OPENCL.md", llamaThreads + "5057"}, Solved: 1,
	},
	{
		ID: "llama.cpp/tensor-setup", Kinds: ofGGML, Said: []string{"failed to initialize tensor"}, If: onGPU, Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "got the GPU memory, but could not set up a tensor in it",
		Means: "llama.cpp reports this as \"unable to allocate\" too. Usually the build, the GPU driver or the model file is at fault; a full GPU is less likely.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update to a newer build and driver", "a download"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "First try `-ngl 0`: if that runs, only the GPU part is at fault.", "slower"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c", "https://github.com/ollama/ollama/issues/11265"},
	},
	{
		ID: "llama.cpp/weights", Kinds: refused, If: when.All(device("weights"), above(1)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load: the model's weights did not fit on {gpu}",
		Means: "{weighed}",
		Not:   "A shorter context or smaller batch: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			where(when.All(severalDevices, when.Not(pieced)), told("balance_split", "Give {gpu} a smaller share, if the others have room", "", "the others must take the rest")),
			aboveCards(does("moe_cpu_offload", "If it is a mixture of experts: keep the experts in RAM", "text", "Use `-ngl 99 --cpu-moe`. Most models this large are such a mixture (MoE). RAM then has to hold nearly the whole file. If GPU memory stays free, use `--n-cpu-moe N` instead: only the experts of the first N layers.", "slower than all on the GPU, faster than whole layers in RAM")),
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPU", Told: "[[About {keep} of {all} fit with KV cache and working memory.]][[ With a context of 8192 tokens it is {keepShort}.]]", Steps: layersByHand, Cost: "the rest runs on the CPU: slower"},
			belowCards(as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality, and it stays fast")),
			belowCards(does("kill_stale_process", "See what else uses the GPU", "text", "Look in `{look}` before you start it. An earlier run that did not end, another model server or a game may hold the memory.", "free")),
		},
		Sources: []string{"llama.cpp/src/llama-model.cpp", "llama.cpp/common/arg.cpp", "llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/state", Kinds: refused, If: buffer("state"),
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Means:   "This is a hybrid model (such as Mamba with attention). It keeps a state of fixed size for each slot, and the GPU had no room for all of them. The context length does not matter; newer builds of llama-server have four slots by default.",
		Cures:   []cause.Cure{where(when.Not(load.OneSlot), as("lower_parallel", "Serve one request at a time", "others wait")), as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower")},
		Sources: []string{"llama.cpp/src/llama-memory-recurrent.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/kv-slots", Kinds: refused, If: when.All(device("kv"), above(1), severalSlots, when.Not(uneven)), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start: the KV cache for {slots} slots did not fit beside the weights",
		Means: "The weights are loaded. The KV cache is reserved in full at the start, for {slots} conversations at the same time[[ ({context} tokens in all, {kib} per token)]].[[ {left} was left after {kept} for driver and working memory, {short} too little.]]",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "Serve one request at a time", Told: "Set the context to that of one slot. The cache is then {slots} times smaller, and each conversation can be as long as now.", Steps: oneSlotSteps, Cost: "others wait"},
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens in all take {ctxThen}:]]", "shorter conversations"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "It takes {q8} instead of {asked}:", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/kv", Kinds: refused, If: when.All(device("kv"), above(1), when.Not(uneven)), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start: the KV cache[[ for {context} tokens]] did not fit beside the weights",
		Means: "The weights are loaded[[; {left} was left on {gpu} after {kept} for driver and working memory, {short} too little]]. The KV cache is reserved in full at the start, even if no conversation gets that long.[[ It needs {kib} per token.]][[ {unset}]]",
		Cures: []cause.Cure{
			where(windowWhole, does("lower_context", "Leave out `--swa-full`", "text", "Many layers of this model look back over a short window only. Without `--swa-full` they store just that window, and the cache shrinks to a fraction.", "an earlier prompt is reused less")),
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens take {ctxThen}; if that starts, go up from there:]]", "shorter conversations"),
			{Fix: "balance_split", If: when.All(books.LargestShare, func(c *ledger.Case) bool { return dialect.Of(c).Settings["balance_split"] != "" }), Title: "Give {gpu} fewer layers, if the others have room: `-ts`", Told: "Its part of the cache is {asked}, that of the others {kvOthers} each, because it has more layers.[[ {shareHow}]]", Cost: "a few trials", Kind: "text", Text: "`-ts` takes a number for each GPU of the list, in its order; a smaller one means fewer layers."},
			{Fix: "quantize_kv_cache", If: when.Not(oldVulkan), Title: "Use an 8-bit KV cache", Told: "{q8told}", Steps: cacheIn8BitSteps, Cost: "slight loss of quality"},
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "Their part of the cache moves to RAM with them[[; about {keep} of {all} fit]].", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/uneven", Kinds: refused, If: when.All(device("kv", "compute"), above(1), uneven, func(c *ledger.Case) bool { return books.Shares(c) != nil }), Figures: numbers,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "ran out of memory on {gpu}: it got too large a share of the model",
		Means: "The weights are split like this: {others}. That left no room on {gpu} for its part of the KV cache or working memory. Each layer brings its part of the cache along.",
		Cures: []cause.Cure{
			told("balance_split", "Give {gpu} fewer layers", "The numbers are proportions, in the order of the GPUs. These move {asked} off {gpu}; try a few if it still fails.", "a few trials"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "[[It takes {q8} instead of {asked}:]]", "slight loss of quality"),
			told("lower_context", "Shorten the context", "[[{ctxTo} tokens take {ctxThen} there:]]", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/whole-texts", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), above(1), wholeTexts, when.Not(diffuses)), Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: it processes {ub} tokens at once",
		Means: "The physical batch is as long as the whole context, where 512 is usual. Embedding and rerank models need that, to read a text in one go. The working memory grows with the batch; without flash attention, with its square.",
		Cures: []cause.Cure{
			{Fix: "lower_ubatch", Title: "Shorten context and batch to your longest text", Told: "All three values must be at least as long as your longest text, often 512 to 2048 tokens. At {ubTo} the buffer takes {ubThen} at most. KoboldCpp: `--embeddingsmaxctx`.", Steps: textSteps, Cost: "longer texts have to be cut"},
			told("enable_flash_attention", "Turn on flash attention too", "The buffer then no longer grows with the square of the batch[[: {rest} of {asked} stays]]:", "free"),
			{Fix: "fewer_gpu_layers", Title: "Run the embedding model on the CPU", Told: "Embedding models are usually small enough. Start that server with `--device none` (KoboldCpp: leave out `--embeddingsgpu`).", Cost: "slower"},
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/tools/server/README.md", "https://github.com/LostRuins/koboldcpp/issues/1590"},
	},
	{
		ID: "llama.cpp/compute-attention", Kinds: refused, If: when.All(device("compute"), scoresFill, when.Not(uneven), when.Not(diffuses)), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of memory for attention over {context} tokens",
		Means: "[[{moment} ]]Weights and KV cache fitted; the working memory (compute buffer) did not. {scores} of its {asked} is the attention matrix, which flash attention would avoid; it is off here, or not supported on this device.[[ {piece}]][[ {oneBuffer}]]",
		Cures: []cause.Cure{
			where(when.Not(when.Any(onSYCL, oldVulkan)), told("enable_flash_attention", "Turn on flash attention", "The buffer shrinks to {rest}.", "free, where the device supports it")),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} the buffer takes {ubThen}; the context keeps its length:", "slower prompts"),
			told("lower_context", "Shorten the context", "[[At {ctxTo} tokens the buffer takes {ctxThen}, and the cache is smaller too:]]", "shorter conversations"),
			where(onSYCL, told("enable_flash_attention", "Turn on flash attention, if this build has it for SYCL", "Where the SYCL backend lacks it, attention runs on the CPU, which is slow.", "perhaps slow")),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/compute-absurd", Kinds: refused, If: when.All(buffer("compute"), absurdGraph, when.Not(diffuses), plain), Figures: numbers,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for a compute buffer of {asked}: out of all proportion",
		Means: "No normal setting needs {asked} of working memory. Usually it is a very long context without flash attention[[ (about {tokens64} tokens with 64 heads)]], or a bug of this build with this model.",
		Not:   "Fewer layers or another quantisation: the buffer stays about as large.",
		Cures: []cause.Cure{
			told("enable_flash_attention", "Turn on flash attention", "The huge attention matrix is then not needed:", "free, where model and build support it"),
			as("lower_context", "Shorten the context", "shorter conversations"),
			as("upgrade_version", "Update to a newer build", "half an hour"),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/compute-batch", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), above(1), LargeBatch, when.Not(diffuses), when.Not(uneven)), Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: the physical batch size is {ub}",
		Means: "Weights and KV cache fitted; the working memory (compute buffer) did not[[: {left} was left, {short} too little]]. It grows with the physical batch size, which is {ub} here instead of the usual 512.",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens it takes about {ubThen}; answers stay as fast:", "prompts are read slower"),
			told("fewer_gpu_layers", "If that is not enough: put fewer layers on the GPU", "", "slower"),
			told("lower_context", "Or shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", llamaThreads + "12817"}, Solved: 1,
	},
	{
		ID: "llama.cpp/compute-now", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: dialect.NewWords, If: when.All(device("compute"), above(units.GiB), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven, attentionOff))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "had too little memory left on {gpu} for the compute buffer of {asked}",
		Means: "[[{moment} ]]Weights and KV cache fitted; the working memory for one batch did not[[ ({left} was left on {gpu})]]. It grows with the batch, and without flash attention with the context too. Builds since September 2025 turn flash attention on by themselves where it works; the line `Flash Attention was auto` tells.",
		Cures: []cause.Cure{
			where(when.Not(batchIsEnough), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} it takes about {ubThen}; the context keeps its length:", "slower prompts"),
			otherGPUs, where(contextWorth, told("lower_context", "Shorten the context", "", "shorter conversations")),
			does("enable_flash_attention", "If that line says `set to disabled`: add `-fa on`", "text", "If it then says that flash attention is not supported, lower the batch or the context.", "free"),
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/common/arg.cpp", llamaThreads + "27872"},
	},
	{
		ID: "llama.cpp/compute-large", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), above(units.GiB), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven, dialect.FlashOn))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "had too little memory left on {gpu} for the compute buffer of {asked}",
		Means: "[[{moment} ]]Weights and KV cache fitted; the working memory for one batch did not[[ ({left} was left on {gpu})]]. A buffer this large usually means a long context without flash attention[[: for a 70B model about {tokens64} tokens, for DeepSeek V3 or R1 {tokens128}]].",
		Cures: []cause.Cure{
			where(when.All(attentionOff, when.Not(oldVulkan)), told("enable_flash_attention", "Turn on flash attention: it is off", "Most of this buffer is then not needed, and the context keeps its length:", "free, where model and build support it")),
			where(when.All(command.ContextUnset, contextFrom(16384)), does("lower_context", "Set a context length: your command sets none", "text", "Add `-c 8192`. Without it many versions use the model's maximum, often 131,072 tokens. This buffer and the KV cache grow with it.", "shorter conversations")),
			where(when.Not(batchIsEnough), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			where(batchIsEnough, told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} it takes about {ubThen}; the context keeps its length:", "slower prompts")),
			{Fix: "enable_flash_attention", If: when.Not(when.Any(oldVulkan, attentionOff, batchIsEnough)), Title: "Turn on flash attention", Told: "Where model and build have it, most of this buffer is then not needed.", Steps: flashThere, Cost: "free"},
			otherGPUs, where(contextWorth, told("lower_context", "Halve the context", "", "shorter conversations")),
			{Fix: "enable_flash_attention", If: when.All(batchIsEnough, when.Not(when.Any(oldVulkan, attentionOff))), Title: "Turn on flash attention", Told: "Where model and build have it, most of this buffer is then not needed.", Steps: flashThere, Cost: "free"},
			where(when.Not(batchIsEnough), told("lower_ubatch", "Lower the physical batch size too", "", "slower prompts")),
		},
		Sources: []string{"llama.cpp/src/llama-graph.cpp", "llama.cpp/src/llama-context.cpp"},
	},
	{
		ID: "llama.cpp/compute", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(device("compute"), when.Not(when.Any(absurdGraph, diffuses, transcribes, uneven))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Good, Headline: "had too little memory left on {gpu} for the compute buffer of {asked}",
		Means: "[[{moment} ]]Weights and KV cache fitted; the working memory, which comes last, did not[[ ({left} was left)]]. So {asked} at most is missing.",
		Cures: []cause.Cure{
			where(when.Not(batchIsEnough), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			told("lower_ubatch", "Lower the physical batch size", "At {ubTo} tokens instead of {ub} it takes about {ubThen}; answers stay as fast:", "prompts are read slower"),
			where(contextWorth, told("lower_context", "Shorten the context", "", "shorter conversations")),
			where(when.All(when.Not(contextWorth), when.Not(dialect.QuantisedCache)), told("quantize_kv_cache", "Use an 8-bit KV cache", "", "slight loss of quality")),
			where(batchIsEnough, told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
		},
		Sources: []string{"llama.cpp/src/llama-context.cpp", "llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/scratch", Kinds: atWork, If: when.All(scratchPool, when.Not(when.Any(longText, weightsOnly))), Figures: numbers,
		Cause: cause.BatchTooLarge, Weight: cause.Fair, Headline: "loaded the model, then ran out of memory on {gpu} while it was working",
		Means: "While it works, llama.cpp needs some more GPU memory that is not reserved at the start, most at a long prompt. The model probably only just fitted, so leave more room on the GPU.[[ {placed}]]",
		Cures: []cause.Cure{
			keepMoreFree,
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "0.5 to 1 GiB free in `{look}` after loading is usually enough.", "slightly slower"),
			told("lower_ubatch", "Lower the physical batch size", "", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/long-text", Kinds: atWork, If: when.All(onGPU, longText, when.Not(when.Any(diffuses, transcribes, weightsOnly))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Good, Headline: "loaded the model, then ran out of memory on {gpu} with a long context or prompt",
		Means: "The context or prompt is long[[ ({context} tokens)]], and the KV cache for it can take much of the GPU. While it works, llama.cpp needs some more memory that is not reserved at the start, and that did not fit.[[ {placed}]][[ {unset}]]",
		Cures: []cause.Cure{
			keepMoreFree,
			{Fix: "enable_flash_attention", If: when.All(attentionOff, largeGraph, when.Not(oldVulkan)), Title: "Turn on flash attention: it is off", Told: "Most of the {graph} of working memory is then not needed, and the context keeps its length.", Cost: "free, where model and build support it"},
			where(promptTooLong, told("lower_ubatch", "Lower the physical batch size", "Each step then needs less working memory, and your prompt of {prompt} tokens still fits:", "slower prompts")),
			where(promptTooLong, told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower")),
			where(when.Not(promptTooLong), told("lower_context", "Shorten the context", "", "shorter conversations")),
			where(when.Not(promptTooLong), told("lower_ubatch", "Lower the physical batch size", "", "slower prompts")),
			where(promptTooLong, told("quantize_kv_cache", "Use an 8-bit KV cache", "It halves the cache. A shorter `-c` would cut off this prompt.", "slight loss of quality")),
			where(when.Not(promptTooLong), told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/cublas", Kinds: atWork, Said: []string{"cublasCreate", "the resource allocation failed", "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED"},
		Cause: cause.ModelTooLarge, Weight: cause.Good,
		Means:   "The GPU is probably full. cuBLAS, NVIDIA's library for matrix multiplication, starts at the first prompt and needs up to some hundred MB there. The model, the KV cache or other programs left too little.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "slightly slower"), as("lower_context", "Shorten the context", "shorter conversations")},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh"},
	},
	pinnedCard,
	{
		ID: "llama.cpp/running", Kinds: atWork, If: when.All(onGPU, when.Not(when.Any(diffuses, transcribes, longText, weightsOnly))), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "ran out of memory on {gpu} while it was working",
		Means: "The model was probably loaded, and then the work on a prompt needed some more memory. Look in `{look}` right after loading. If less than 500 MiB is free, the model only just fits; otherwise another program took memory later.",
		Cures: []cause.Cure{
			keepMoreFree,
			where(when.Not(dialect.MayFit), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			where(dialect.MayFit, told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "Builds since December 2025 choose the layers themselves if you leave out `-ngl`; `--fit-target 2048` then keeps 2 GiB free.", "slightly slower")),
			told("lower_ubatch", "Lower the physical batch size", "", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			where((*ledger.Case).Windows, freeCard),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
}

// otherGPUs moves layers off the card that failed, where there are others.
var otherGPUs = where(func(c *ledger.Case) bool {
	return c.F().Device != nil && c.F().Device.Value > 0 && dialect.Of(c).Kind == "shell"
}, does("balance_split", "Give {gpu} a smaller share: `-ts`", "text", "`-ts` takes one number for each GPU, in the order of the log's list, such as `-ts 3,2`. Give {gpu} a smaller one, if the others have room.", "a few trials"))

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
