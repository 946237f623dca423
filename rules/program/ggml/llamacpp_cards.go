package ggml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/program/ggml/touch"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// as is a cure as the program spells it, with the value computed.
func as(fix, title, cost string) cause.Cure { return cause.Cure{Fix: fix, Title: title, Cost: cost} }

// does is a cure with a step of its own.
func does(fix, title, kind, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: kind, Text: text, Cost: cost}
}

const llamaThreads = "https://github.com/ggml-org/llama.cpp/issues/"

var (
	refused = []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit}
	atWork  = []fact.Kind{fact.GGMLRuntime}
	gpuFull = []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime}
	onGPU   = when.Not(ledger.InHost)
	// projects: the vision projector was being loaded or run.
	projects = []string{"clip_model_loader", "clip_init", "clip_image", "encode_image_with_clip", "mtmd_init_from_file", "alloc_compute_meta", "failed to load multimodal model", "load_hparams: projector", "mtmd_helper_eval"}
	// readsImage: the projector was at work on one (tools/mtmd, server "processing image").
	readsImage = []string{"processing image...", "encoding image", "image slice encoded", "mtmd_helper_eval", "encode_image_with_clip"}
	// loras: an adapter was being loaded (llama-adapter.cpp).
	loras  = []string{"llama_adapter_lora_init", "llama_lora_adapter_init", "buffer for lora adapter"}
	drafts = []string{"loading draft model", "common_speculative", "failed to load draft model", "creating draft context"}
)

// plain: llama.cpp itself, typed by the reader, no program around it.
func plain(c *ledger.Case) bool {
	return len(c.Stack) > 0 && c.Stack[0] == "llama.cpp" && !c.Says("lm-studio", "koboldcpp", "node-llama-cpp", "llama-cpp-python")
}

// otherProgram: a program on ggml is known whose update is its own.
func otherProgram(c *ledger.Case) bool {
	return c.Says("lm-studio", "koboldcpp", "node-llama-cpp", "llama-cpp-python") || noText(c)
}

// device holds where a part of the model was refused on a card.
func device(parts ...string) func(*ledger.Case) bool { return when.All(buffer(parts...), onGPU) }

var (
	// ipexWords: Intel's copy of llama.cpp, which has releases of its own.
	ipexWords = []string{"llama-cpp-bigdl", "ipex-llm"}
)

// host holds where it was refused in system memory.
func host(parts ...string) func(*ledger.Case) bool { return when.All(buffer(parts...), ledger.InHost) }

func severalSlots(c *ledger.Case) bool { return count(c, "n_seq_max", 256) > 1 || slots(c) > 1 }

// attentionOff: flash attention is off, so that the context makes the buffer.
func attentionOff(c *ledger.Case) bool {
	s, ok := c.Setting("flash_attn")
	return ok && slices.Contains([]string{"off", "false", "0"}, strings.ToLower(s.Value))
}

// llamaPartCards are about parts beside the model, and devices that are none.
var llamaPartCards = []cause.Card{
	{
		ID: "llama.cpp/software-device", Kinds: gpuFull, If: when.All(softwareDevice, when.Any(buffer("weights", ""), when.Root(fact.GGMLRuntime))),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "used a software GPU: Vulkan found no real one here",
		Means: "This Vulkan device is not a GPU but a driver that runs on the CPU (llvmpipe or SwiftShader). It takes system memory (RAM), and it is slower than llama.cpp's own CPU code.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "No GPU in the computer: run on the CPU", "nothing is lost"),
			does("select_gpu", "With a GPU: install its Vulkan driver", "text", "On Linux install `mesa-vulkan-drivers` (AMD, Intel) or NVIDIA's driver. `vulkaninfo --summary` must then list the GPU. In a container, pass the GPU through (`--device /dev/dri`; NVIDIA: `--gpus all -e NVIDIA_DRIVER_CAPABILITIES=all`).", "a package"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"},
	},
	{
		ID: "llama.cpp/processor-graphics", Kinds: gpuFull, If: OddCard,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "ran out of memory on the CPU's integrated graphics, which got part of the model",
		Means:   "llama.cpp split the model over two devices: the dedicated GPU and the CPU's integrated graphics. The integrated graphics ran out. It is slow and shares the system RAM, so leave it out.",
		Cures:   []cause.Cure{as("select_gpu", "Use the dedicated GPU only", "free"), as("fewer_gpu_layers", "If the dedicated GPU is then too small: fewer layers on it", "slower")},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/rpc-worker", Kinds: gpuFull, Said: []string{"Starting RPC server", "Accepted client connection"}, If: above(1),
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "ran out of GPU memory in the RPC worker",
		Means: "This computer works for another one (`llama-server --rpc`), which decides how much of the model comes here. It sent more than this GPU could hold, so change the command on that computer.",
		Cures: []cause.Cure{
			does("balance_split", "Give this worker less: `-ts` on the other computer", "text", "`-ts` takes one number for each device, in the order that `llama-server --list-devices` shows with `--rpc`. Give this worker a smaller one, such as `-ts 3,1`.", "the others need room"),
			does("fewer_gpu_layers", "Put fewer layers on the GPUs: `-ngl`", "text", "On the other computer: halve it, then raise it while it still loads.", "slower"),
			does("lower_context", "Shorten the context there: `-c`", "text", "Half the context is half the KV cache on each device.", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/tools/rpc/README.md", llamaThreads + "7293"},
	},
	{
		ID: "llama.cpp/rpc", Kinds: gpuFull, Said: []string{"RPC[", "ggml-rpc", "ggml_backend_rpc"}, If: plain,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Means: "Part of this model goes to another computer (`--rpc`). The memory that ran out may be that computer's: the log of `rpc-server` there shows it.",
		Cures: []cause.Cure{
			does("balance_split", "Give the other computer less: `-ts`", "text", "`-ts` takes one number for each device, in the order that `llama-server --list-devices` shows with `--rpc`. Give the device that failed a smaller one, such as `-ts 3,1`.", "the others need room"),
			does("kill_stale_process", "Check the other computer's memory", "text", "Run `nvidia-smi` there. If the GPU is full although nothing should run, restart `rpc-server`.", "free"),
		},
		Sources: []string{"llama.cpp/tools/rpc/README.md"},
	},
	{
		ID: "llama.cpp/fit-failed", Kinds: refused, Said: []string{"failed to fit params to free device memory"}, Unsaid: dialect.OldWords, If: when.All(plain, onGPU, when.Any(bare, buffer("weights"))),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: numbers, Headline: "could not fit the model to the free GPU memory by itself",
		Means: "Builds since December 2025 choose layers and context to fit the free GPU memory. They give up (`failed to fit params`) where the command sets `-ngl`, `-ts`, `-ot`, `--cpu-moe` or `--n-cpu-moe`[[ (here `-ngl {n_gpu_layers}`)]], and never shorten a context that `-c` sets.",
		Not:   "`--fit off`: it only hides the warning.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Leave the layers to llama.cpp: `--fit on`", "text", "Remove `-ngl`, `-ts`, `-ot`, `--cpu-moe` and `--n-cpu-moe` from the command. `--fit on` is the default and chooses them for you. If it still fails, add `--fit-target 2048`: it keeps 2 GiB free instead of 1.", "layers that do not fit run slower"),
			freeCard, smallerQuant, smallerInstead, as("lower_context", "Shorten the context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/common/fit.cpp", "llama.cpp/common/arg.cpp", llamaThreads + "19980"},
	},
	{
		ID: "llama.cpp/metal-buffer", Kinds: refused, If: belowMetalLimit, Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Good, Headline: "could not get one Metal buffer of {asked} on this Mac",
		Means:   "That is well below the {limit} that macOS lets the GPU use. So either the buffer is larger than Metal allows in one piece (builds of 2023 put the whole model file into one), or other programs hold the rest.",
		Cures:   []cause.Cure{as("upgrade_version", "Update to a newer build", "old `.bin` files need a GGUF of the same model"), as("close_other_apps", "Close programs that use memory", "free"), as("use_smaller_model", "Use a smaller model", "lower quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-device.m", llamaThreads + "1870"},
	},
	unifiedCard("unified-piece", cause.ModelTooLarge, when.All(bare, func(c *ledger.Case) bool { return claimed(c) != "" })),
	unifiedCard("unified", cause.HostMemory, when.All()),
	{
		ID: "llama.cpp/vulkan-address", Kinds: []fact.Kind{fact.GGMLCannotRun},
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "stopped: this GPU cannot work with a KV cache that large",
		Means:   "The GPU memory is not full. A device can use only so much memory in one piece, and one layer's part of the KV cache is usually what exceeds that here.",
		Not:     "Fewer layers on the GPU: each layer's part of the cache stays as large.",
		Cures:   []cause.Cure{as("lower_context", "Shorten the context", "shorter conversations"), as("quantize_kv_cache", "Use an 8-bit KV cache", "slight loss of quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/vulkan-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(onVulkan, above(1), when.Not(stage("weights")), when.Not(scoresFill), when.Not(diffuses)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Figures:  numbers,
		Headline: "needs one buffer of {asked}, and this Vulkan driver does not allow one that large",
		Means:    "The driver limits each single buffer, often to 4 GiB, on some to 2 GiB, however much GPU memory is free. The large buffer is usually the working memory for a batch. It grows with the physical batch size and, without flash attention, with the context.",
		Not:      "Closing other programs: the limit is on a single buffer.",
		Cures: []cause.Cure{
			told("enable_flash_attention", "Turn on flash attention", "The buffer then no longer grows with the context:", "free, where the device has it"),
			told("lower_ubatch", "Lower the physical batch size", "[[At {ubTo} tokens instead of {ub} the buffer takes {ubThen}; the context keeps its length:]]", "slower prompts"),
			where(load.ContextInPiece, told("lower_context", "Shorten the context", "", "shorter conversations")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "12817", llamaThreads + "18160", llamaThreads + "12728"}, Solved: 1,
	},
	{
		ID: "llama.cpp/vulkan-weights-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(onVulkan, above(1), stage("weights"), when.Not(diffuses)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "did not load: one buffer of {asked} is larger than this Vulkan driver allows",
		Means: "The driver limits each single buffer, often to 4 GiB, on some to 2 GiB, however much GPU memory is free. A buffer of weights above that is usually one huge tensor: the embedding of a large vocabulary, in Gemma 3n the per-layer embedding.",
		Not:   "A shorter context, or closing other programs: the tensor stays as large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep that tensor in RAM: `-ot`", Cost: "hardly slower", Told: "For Gemma 3n add `-ot per_layer_token_embd=CPU`; for another model `-ot token_embd=CPU`."},
			{Fix: "upgrade_version", Title: "Update, or use a CUDA or HIP build", Cost: "a download", Told: "CUDA builds (NVIDIA) and HIP builds (AMD) have no such limit. Newer Vulkan builds and drivers allow larger buffers."},
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation of the model", Cost: "some loss of quality", Told: "On Hugging Face, click a GGUF file to see its tensors. Take one in which the largest is below the limit."},
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "14698"},
	},
	{
		ID: "llama.cpp/metal-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: onMetal,
		Cause: cause.OversizedAllocation, Weight: cause.Good, Headline: "asked for one buffer of {asked}: more than Metal allows in one piece",
		Means:   "Metal allows a single buffer only up to a maximum, and this one is larger. Newer builds split the model over several buffers.",
		Not:     "A shorter context, if the log says `buffer 'data'`: that is the model file.",
		Cures:   []cause.Cure{as("upgrade_version", "Update to a newer build", "free"), smallerQuant, smallerInstead, where(func(c *ledger.Case) bool { return !c.Contains("buffer 'data'") }, as("lower_context", "Shorten the context", "shorter conversations"))},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-device.m"},
	},
	{
		ID: "llama.cpp/metal-context", Kinds: []fact.Kind{fact.GGMLMetal}, If: when.All(contextFrom(16384), fewWeights), Figures: metalNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of the Mac's GPU memory, with a context of {context} tokens",
		Means: "The model loaded; then the GPU had too little memory to run it. [[{placed} {unset}]][[{partly}]] Other programs share this memory (Activity Monitor, Memory).",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			told("enable_flash_attention", "Turn on flash attention too", "It keeps the working memory of long prompts small:", "free"),
			told("quantize_kv_cache", "Keep the length with an 8-bit KV cache", "", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	{
		ID: "llama.cpp/metal-cache", Kinds: []fact.Kind{fact.GGMLMetal}, If: func(c *ledger.Case) bool { return unlimited(c) && cacheNumbers(c)["cache"] != "" }, Figures: cacheNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of the Mac's GPU memory: {cache} of it is the KV cache for {cells} tokens",
		Means: "macOS hands out buffers before there is room for all of them, so it failed only at the first work. The weights[[ and {compute} of working memory]] come on top of the cache. By default the GPU may use about two thirds to three quarters of the RAM.",
		Not:   "`--no-warmup`: it then fails at the first prompt.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the context", Told: "{shorter} tokens take {short_cache} instead of {cache}. If that runs, go up from there.", Kind: "config", Text: "-c {shorter_plain}", Cost: "shorter conversations"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Told: "About {eight_bit} for the same length.", Kind: "config", Text: "-fa on -ctk q8_0 -ctv q8_0", Cost: "slight loss of quality"},
			where(limitHasRoom, as("raise_memory_limit", "Raise the GPU memory limit of macOS", "less RAM for everything else")),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/metal-stopped", Kinds: []fact.Kind{fact.GGMLMetal}, Said: stops, If: when.Any(unlimited, fewWeights),
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "ran out of the Mac's GPU memory while it was working, and stopped",
		Means: metalFull + " This build stops at the first Metal command that fails.",
		Cures: metalCures, Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	{
		ID: "llama.cpp/metal-command", Kinds: []fact.Kind{fact.GGMLMetal}, If: when.Any(unlimited, fewWeights), Figures: metalRepeats,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of the Mac's GPU memory while it was working",
		Means: metalFull + "[[ {garbage}]]", Cures: metalCures,
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	touch.MetalBuffers,
	{
		ID: "llama.cpp/metal-weights", Kinds: []fact.Kind{fact.GGMLMetal}, Unsaid: touch.OldMetalCache,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Headline: "ran out of the Mac's GPU memory, most of which the weights take",
		Means: "The model loaded; then the GPU had too little memory to run it. macOS lets the GPU use {limit}[[, and its buffers were {mine} by then]]. Most of that is weights.",
		Cures: []cause.Cure{
			where(contextIsEnough, as("lower_context", "Shorten the context", "shorter conversations")),
			where(when.All(contextIsEnough, when.Not(dialect.QuantisedCache)), as("quantize_kv_cache", "Use an 8-bit KV cache", "slight loss of quality")),
			smallerQuant, smallerInstead,
			where(limitHasRoom, as("raise_memory_limit", "Raise the GPU memory limit of macOS", "less RAM for everything else")),
			where(when.All(when.Not(contextIsEnough), contextWorth), as("lower_context", "Shorten the context too", "shorter conversations")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	syclPiece("sycl-limit", cause.Decisive, roomForPiece),
	syclPiece("sycl-piece", cause.Likely, when.All(overPiece, when.Not(attentionOff), when.Not(scoresFill))),
	{
		ID: "llama.cpp/sycl-dnn", Kinds: []fact.Kind{fact.GGMLSYCL}, Said: []string{"could not create a memory object"},
		Cause: cause.SoftwareBug, Weight: cause.Fair, Headline: "stopped on the Intel GPU: oneDNN could not create a memory object",
		Means: "SYCL builds use the oneDNN library for matrix multiplication, and it failed on the GPU. The message gives no size. Either the GPU is full, or the build, driver and oneAPI runtime do not work together with this model.",
		Cures: []cause.Cure{
			does("upgrade_version", "Try it without oneDNN", "env", "export GGML_SYCL_DISABLE_DNN=1   # if it runs now, update llama.cpp, the GPU driver and oneAPI", "prompts may be read slower"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "If that helps, the GPU was full.", "slower"),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md", "https://github.com/uxlfoundation/oneDNN/blob/main/include/oneapi/dnnl/dnnl.hpp"},
	},
	{
		ID: "llama.cpp/sycl-full", Kinds: []fact.Kind{fact.GGMLSYCL}, If: deviceFull, Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "ran out of memory on the Intel GPU[[: {devices}]]",
		Means: "The driver reports \"out of device memory\" without a size, and three things cause that. The model may be too large for the GPU; one buffer may be above the driver's 4 GiB limit; or the driver fails with several GPUs. A small test tells them apart.",
		Cures: []cause.Cure{
			where(LargeBatch, told("lower_ubatch", "Lower the physical batch size: `-ub`", "The working memory grows with it, and it is {ub} here instead of the usual 512:", "slower prompts")),
			{Fix: "lower_context", Title: "Test on one GPU with a small context", Told: "If it runs, raise `-c` step by step. If it still fails, use fewer layers (`-ngl`) or a smaller file. If only several GPUs fail, it is the driver or the split.", Kind: "env", Text: "export ONEAPI_DEVICE_SELECTOR=level_zero:0   # and add to your command: -c 4096 -ub 128", Cost: "a test; shorter conversations"},
			does("fix_shape", "Before May 2026: allow buffers above 4 GiB", "env", "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1", "may be a little slower"),
			does("upgrade_version", "Update Intel's compute runtime, or use the Vulkan build", "text", "The Vulkan build from llama.cpp's releases runs on the same GPU with the same model and options, without oneAPI.", "half an hour"),
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md", llamaThreads + "25286"},
	},
	{
		ID: "llama.cpp/ipex", Kinds: []fact.Kind{fact.GGMLSYCL}, Said: ipexWords,
		Cause: cause.SoftwareBug, Weight: cause.Fair, Headline: "stopped on the Intel GPU with an out-of-memory error of the oneAPI runtime",
		Means: "This is IPEX-LLM's copy of llama.cpp. The GPU may be full. But Intel's oneAPI runtime reports the same error for other faults too: several devices at once, or one buffer above 4 GiB. The message has no size that would tell.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", If: when.Not(load.OneDevice), Title: "Use one device only", Told: "The number is that of the GPU in the log's device list. In Docker: `-e ONEAPI_DEVICE_SELECTOR=level_zero:0`.", Kind: "env", Text: "export ONEAPI_DEVICE_SELECTOR=level_zero:0", Cost: "free"},
			{Fix: "lower_context", Title: "Test with a small model and a short context", Told: "llama.cpp: `-c 2048 -ub 128`; Ollama: `num_ctx` 2048. If that runs, memory was short: go up step by step.", Cost: "a test"},
			{Fix: "upgrade_version", Title: "Update IPEX-LLM and the GPU driver", Told: "Or switch to llama.cpp's own SYCL or Vulkan build, which runs on the same GPU.", Cost: "a download"},
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md", "https://github.com/mattcurf/ollama-intel-gpu/issues/17"},
	},
	{
		ID: "llama.cpp/sycl", Kinds: []fact.Kind{fact.GGMLSYCL},
		Cause: cause.SoftwareBug, Weight: cause.Fair, Headline: "stopped on the Intel GPU with an out-of-memory error of the oneAPI runtime",
		Means: "The GPU may be full. But Intel's oneAPI runtime reports the same error for other faults too: copies between devices, or one buffer above 4 GiB. The message has no size that would tell.",
		Cures: []cause.Cure{
			where(when.Not(load.OneDevice), does("select_gpu", "Use one device only", "env", "export ONEAPI_DEVICE_SELECTOR=level_zero:0", "free")),
			as("lower_ubatch", "Lower the physical batch size", "slower prompts"),
			as("upgrade_version", "Update to a newer build and driver", "free"),
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md"},
	},
}

// unifiedCard is about graphics without memory of their own. Where more was
// listed as free than one piece, memory as such is not what is short.
func unifiedCard(name, why string, also func(*ledger.Case) bool) cause.Card {
	return cause.Card{
		ID: "llama.cpp/" + name, Kinds: gpuFull, If: when.All(also, unified, when.Not(onMetal), when.Not(hostError), when.Not(when.Root(fact.GGMLLimit)), when.Any(buffer("weights", ""), when.Root(fact.GGMLRuntime))), Figures: sharedNumbers,
		Cause: why, Weight: cause.Strong, Headline: "ran out of memory on a GPU that shares the system RAM[[: {pieceAsked}]]",
		Means: "This GPU[[ ({sharer})]] has no memory of its own. It may use RAM only up to a limit of the driver, often half of it, or what the BIOS sets aside.[[ {beyondShare}]][[ {claimed} was listed as free. So either the driver gives no piece that large, or other programs hold that RAM.]][[ {inPieces}]]",
		Cures: []cause.Cure{
			where(Tegra, touch.DropCaches),
			where(when.All(overShare, amdShares), touch.RaiseShare),
			as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower"),
			smallerQuant, smallerInstead,
			where(func(c *ledger.Case) bool { return claimed(c) != "" && c.Backend == "rocm" }, does("upgrade_version", "Use the Vulkan build of llama.cpp", "text", "It loads the weights in pieces of about 1 GiB; the HIP build wants all of them in one. The options are the same.", "a download")),
			where(when.All(when.Not(overShare), amdShares, func(c *ledger.Case) bool { return claimed(c) == "" }), touch.RaiseShare),
			where(when.Not(when.Any(amdShares, Tegra)), does("cpu_offload", "Compare with the CPU alone: `-ngl 0`", "text", "This GPU reads the same RAM as the CPU. Without it answers are often no slower, only long prompts are.", "free to try")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "18160"},
	}
}

// halvable: the context is not known to be short already.
func halvable(c *ledger.Case) bool { return contextOf(c) == 0 || contextOf(c) >= 2048 }

// metalFull and metalCures: what a Metal command that failed for memory means.
const metalFull = "The model loaded; then weights, KV cache, working memory and other programs needed more than macOS lets the GPU use. By default that is about two thirds to three quarters of the RAM."

var metalCures = []cause.Cure{
	{Fix: "lower_context", Title: "Shorten the context", If: when.All(dialect.Named, halvable), Own: true, Cost: "shorter conversations"},
	{Fix: "lower_context", Title: "Shorten the context, one request at a time", If: halvable, Told: "llama.cpp: half of `-c` (the log shows it as `n_ctx`). Ollama: half of `num_ctx`, and `OLLAMA_NUM_PARALLEL=1`.", Cost: "shorter conversations"},
	smallerQuant, smallerInstead,
	as("raise_memory_limit", "Raise the GPU memory limit of macOS", "less RAM for everything else"),
	as("close_other_apps", "Quit programs that use much memory", "free"),
}

// metalNumbers are those of a Mac's memory.
func metalNumbers(c *ledger.Case) map[string]string {
	out := numbers(c)
	out["partly"] = ""
	if out["placed"] == "" {
		if n := budgetOf(c).Weights; n > 0 {
			out["partly"] = "The weights take " + units.Amount(n) + " of the " + units.Amount(ledger.SizeOf(c.F().Limit)) + " that macOS lets the GPU use. "
		}
		out["partly"] += "The rest is most likely the KV cache for " + out["context"] + " tokens and the working memory."
	}
	return out
}

// cacheNumbers are a KV cache that the log shows, and what a shorter one takes;
// nothing where it is small beside the weights.
func cacheNumbers(c *ledger.Case) map[string]string {
	out := map[string]string{"cache": "", "cells": "", "compute": "", "shorter": "", "shorter_plain": "", "short_cache": "", "eight_bit": ""}
	f := c.F()
	kv, n := ledger.SizeOf(f.KVBuffer), f.KVTokens
	if n == nil || n.Value < 8192 || kv < 2*units.GiB || kv*2 < budgetOf(c).Weights {
		return out
	}
	shorter := 8192
	for float64(shorter) > n.Value/2 {
		shorter /= 2
	}
	out["cache"], out["cells"] = units.Amount(kv), grouped(int64(n.Value))
	out["shorter"], out["shorter_plain"] = grouped(int64(shorter)), strconv.Itoa(shorter)
	out["short_cache"], out["eight_bit"] = units.Amount(kv*int64(shorter)/int64(n.Value)), units.Amount(kv*17/32)
	if work := ledger.SizeOf(f.ComputeBuffer); work > 0 {
		out["compute"] = units.Amount(work)
	}
	return out
}

// hostWeights: system memory was refused for what only it can give; caches are
// judged by the context.
var (
	hostWeights = when.All(hostRefused, when.Any(stage("weights"), bare, when.All(stage("compute"), below(units.GiB))))
	windowsHost = when.All(hostWeights, reader.OnWindows)
	longText    = when.Any(longPrompt, contextFrom(16384))
)

// uneven: the split over the cards is the likelier reason.
func uneven(c *ledger.Case) bool { return unevenSplit(c).Weight >= cause.Good }
