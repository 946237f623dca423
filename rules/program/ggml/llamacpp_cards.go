package ggml

import (
	"strconv"

	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
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
	drafts   = []string{"loading draft model", "common_speculative", "failed to load draft model", "creating draft context"}
)

// plain: llama.cpp itself, typed by the reader, no program around it.
func plain(c *ledger.Case) bool {
	return len(c.Stack) > 0 && c.Stack[0] == "llama.cpp" && !c.Says("lm-studio", "koboldcpp", "node-llama-cpp", "llama-cpp-python")
}

// device holds where a part of the model was refused on a card.
func device(parts ...string) func(*ledger.Case) bool { return when.All(buffer(parts...), onGPU) }

// host holds where it was refused in system memory.
func host(parts ...string) func(*ledger.Case) bool {
	return when.All(buffer(parts...), ledger.InHost)
}

func severalSlots(c *ledger.Case) bool { return count(c, "n_seq_max", 256) > 1 || slots(c) > 1 }

// attentionOff: flash attention is off, so that the context makes the buffer.
func attentionOff(c *ledger.Case) bool {
	s, ok := c.Setting("flash_attn")
	return ok && s.Value == "off"
}

// overPiece: one buffer of 4 GiB or more under oneAPI.
func overPiece(c *ledger.Case) bool {
	return c.Backend == "sycl" && c.Failure.Stage != "kv" && ledger.Requested(c) >= 4*units.GiB-units.MiB
}

// llamaPartCards are about parts beside the model, and devices that are none.
var llamaPartCards = []cause.Card{
	{
		ID: "llama.cpp/projector", Kinds: gpuFull, Said: projects, If: when.All(plain, onGPU),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Means: "The text model was in place. What did not fit is the vision projector (mmproj) or its working memory: it goes to the card after the layers were counted, and `--fit` did not count it in many builds.",
		Not: "A smaller quantisation of the projector: it is 1 GB at most, its work on an image is the rest.",
		Cures: []cause.Cure{
			does("cpu_offload", "Keep the projector off the GPU (`--no-mmproj-offload`)", "text", "Add `--no-mmproj-offload` to your command. Text stays as fast; each image takes longer to read.", "images are read slowly"),
			as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower"),
			does("use_smaller_model", "Start without images (`--no-mmproj`)", "text", "With `-hf` the projector is loaded by itself: `--no-mmproj` leaves it out.", "no images"),
		},
		Sources: []string{"llama.cpp/tools/mtmd/clip.cpp", llamaThreads + "19980", "https://github.com/ggml-org/llama.cpp/pull/13093"}, Solved: 1,
	},
	{
		ID: "llama.cpp/draft", Kinds: gpuFull, Said: drafts, If: when.All(plain, onGPU),
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Means: "The main model was in place; the draft model for speculative decoding, or its own KV cache, did not fit. It has layers and a context of its own on the card.",
		Cures: []cause.Cure{
			does("use_smaller_model", "Start without the draft model", "text", "Leave out `-md` (`--model-draft`). If it then starts with room to spare, take a smaller draft.", "slower tokens, same answers"),
			as("fewer_gpu_layers", "Put fewer layers of the main model on the GPU", "slower"),
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-context.cpp"},
	},
	{
		ID: "llama.cpp/software-device", Kinds: gpuFull, If: when.All(softwareDevice, when.Any(buffer("weights", ""), when.Root(fact.GGMLRuntime))),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Means: "This Vulkan device is no card: it is a driver that computes on the processor (llvmpipe). Everything lands in system memory a second time and runs slower than without it.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Run without that device", "nothing is lost"),
			does("select_gpu", "If the computer has a GPU: install its Vulkan driver", "text", "`vulkaninfo --summary` must show the card itself. On Linux install the package with its driver (mesa-vulkan-drivers, or NVIDIA's).", "a package"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"},
	},
	{
		ID: "llama.cpp/processor-graphics", Kinds: gpuFull, If: OddCard,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Means: "The device that failed is the processor's own graphics, which shares the computer's memory. llama.cpp gave it a part of the model beside the real card.",
		Not:     "A smaller model: the real card may have room.",
		Cures:   []cause.Cure{as("select_gpu", "Use the dedicated GPU only", "free"), as("fewer_gpu_layers", "Put fewer layers on the GPU if it still fails", "slower")},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/rpc", Kinds: gpuFull, Said: []string{"RPC[", "ggml-rpc", "ggml_backend_rpc"}, If: plain,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Means: "A part of the model goes to another computer (RPC), and the memory that was refused can be that computer's: its rpc-server offers what was free when it started. Its own log says which device it was.",
		Cures: []cause.Cure{
			does("balance_split", "Give the other computer less (`-ts`)", "text", "Set `-ts` with one number for each device, in the order of `llama-server --list-devices`, smaller for the one that failed.", "the others need room"),
			does("kill_stale_process", "Check the other computer's memory", "text", "On the other computer: `nvidia-smi`, and restart `rpc-server`, which keeps what a crashed client left.", "free"),
		},
		Sources: []string{"llama.cpp/tools/rpc/README.md"},
	},
	{
		ID: "llama.cpp/fit-failed", Kinds: refused, Said: []string{"failed to fit params to free device memory"}, Unsaid: dialect.OldWords, If: when.All(plain, onGPU, when.Any(bare, buffer("weights"))),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: numbers, Headline: "could not fit the model to the card: what was set by hand stood in its way",
		Means: "Builds since December 2025 fit layers and context to the free memory by themselves, but only what the command leaves open. The line above says that it saw too little room and could not act[[: `-ngl {n_gpu_layers}` was set by hand]].[[ {asked} is the piece that was refused, not the gap.]]",
		Not:   "`--fit off`: it only hides that line.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Leave the layers to llama.cpp (`--fit on`)", "text", "Take `-ngl`, `-ts`, `-ot` and `--n-cpu-moe` out of the command; `--fit on` is the default and chooses them. `--fit-target 2048` keeps 2 GiB free instead of 1.", "layers that do not fit run slower"),
			freeCard, as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"), as("lower_context", "Shorten the context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/common/fit.cpp", "llama.cpp/common/arg.cpp", llamaThreads + "19980"},
	},
	{
		ID: "llama.cpp/metal-buffer", Kinds: refused, If: belowMetalLimit, Figures: numbers,
		Cause: cause.SoftwareBug, Weight: cause.Good, Headline: "was refused one Metal buffer of {asked}, far below what may be in use",
		Means:   "macOS would let the graphics hold {limit} here. But Metal gives no single buffer above a maximum of its own, and builds of 2023 put a whole file into one. Else other programs held the memory at that moment: Activity Monitor, tab Memory, tells.",
		Not:     "A higher `iogpu.wired_limit_mb`: the limit was not reached.",
		Cures:   []cause.Cure{as("upgrade_version", "Update to a newer build", "old `.bin` files need a GGUF of the same model"), as("close_other_apps", "Close programs that use memory", "free"), as("use_smaller_model", "Use a smaller model", "lower quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-device.m", llamaThreads + "1870"},
	},
	{
		ID: "llama.cpp/unified", Kinds: gpuFull, If: when.All(unified, when.Not(onMetal), when.Any(buffer("weights", ""), when.Root(fact.GGMLRuntime))), Figures: numbers,
		Cause: cause.HostMemory, Weight: cause.Good, Headline: "was refused memory on graphics that share the computer's",
		Means: "This graphics unit has no memory of its own: it takes the computer's RAM, up to a limit of the driver (often half of it, or what the BIOS set aside).[[ {claimed} was listed as free, so it is not simply too large: the driver gives no piece like that, or programs and the file cache hold the RAM that the list counts as free.]] Larger pieces fail first.",
		Not:   "A shorter context: this failed on the weights, as a rule.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Put fewer layers on the GPU", "little is lost: the memory is the same"),
			does("raise_memory_limit", "Raise the share of RAM for the GPU", "text", "BIOS setup: UMA frame buffer or dedicated graphics memory. On Linux with AMD the kernel options `amdgpu.gttsize` (older) or `ttm.pages_limit` raise the shared part.", "less RAM for programs"),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "18160"},
	},
	{
		ID: "llama.cpp/vulkan-address", Kinds: []fact.Kind{fact.GGMLCannotRun},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Means:   "No memory was refused: one layer's part of the KV cache is larger than what this Vulkan device can address in one piece, so it cannot compute on it.",
		Not:     "Fewer layers on the card: each layer's part stays as large.",
		Cures:   []cause.Cure{as("lower_context", "Shorten the context", "shorter conversations"), as("quantize_kv_cache", "Use an 8-bit KV cache", "slight loss of quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "llama.cpp/vulkan-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(onVulkan, when.Not(stage("weights")), when.Not(contextFrom(32768)), when.Not(diffuses)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Figures:  numbers,
		Headline: "was refused one buffer of {asked}: more than this driver gives in a piece",
		Means:    "Memory is not what is short: the driver gives no single buffer above a limit of its own (often 4 GiB, on some 2), and one working buffer is {asked}. It grows with the physical batch and, without flash attention, with the context.",
		Not:      "Closing programs or fewer layers: the buffer stays in one piece.",
		Cures: []cause.Cure{
			told("enable_flash_attention", "Turn on flash attention", "What grows with the context is then never stored.", "free, where the device has it"),
			told("lower_ubatch", "Lower the physical batch size", "[[At {ubTo} tokens instead of {ub} it takes {ubThen}; the context stays.]]", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "12817", llamaThreads + "18160", llamaThreads + "12728"}, Solved: 1,
	},
	{
		ID: "llama.cpp/vulkan-weights-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(onVulkan, stage("weights"), when.Not(diffuses)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "was refused one piece of the weights: {asked} is more than this driver gives at once",
		Means: "Memory is not what is short: the driver gives no single buffer above a limit of its own (often 4 GiB, on some 2), and one tensor of the model is {asked}: as a rule the embedding of a large vocabulary, in Gemma 3n the one of every layer.",
		Not:   "A shorter context, closing programs: the piece stays as large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep that tensor in RAM (`-ot`)", Cost: "hardly slower: it is only looked up", Told: "Gemma 3n: add `-ot per_layer_token_embd=CPU`; another model's embedding: `-ot token_embd=CPU`."},
			{Fix: "upgrade_version", Title: "Update, or use a CUDA, HIP or SYCL build", Cost: "a download", Told: "HIP for AMD, CUDA for NVIDIA, SYCL for Intel: they have no such limit; newer Vulkan builds and drivers allow larger pieces."},
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation of the model", Cost: "some quality", Told: "At Q4_0 or Q4_K_M the largest tensor is about two thirds of Q6_K's."},
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "14698"},
	},
	{
		ID: "llama.cpp/metal-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: onMetal,
		Cause: cause.OversizedAllocation, Weight: cause.Good,
		Means:   "Metal gives no buffer larger than its maximum, about half to three quarters of the RAM, and this one is larger. Newer builds use several buffers instead of one.",
		Cures:   []cause.Cure{as("upgrade_version", "Update to a newer build", "free"), as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"), as("lower_context", "Shorten the context", "shorter conversations")},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-device.m"},
	},
	{
		ID: "llama.cpp/metal-context", Kinds: []fact.Kind{fact.GGMLMetal}, If: when.All(contextFrom(16384), fewWeights), Figures: metalNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of the Mac's graphics memory at work, with a context of {context} tokens",
		Means: "It loaded, and then a Metal command failed. [[The weights take {weights} of the {limit} that macOS lets the graphics use, ]]so it is not they that fill it: the cache for {context} tokens is, with the working memory for a prompt on top, which without flash attention grows with the context too. Other programs share that memory; Activity Monitor, tab Memory, shows them.",
		Not:   "A smaller quantisation first: the weights are the small part.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "Half the tokens are half the cache.", "shorter conversations"),
			told("enable_flash_attention", "Turn on flash attention too", "Then no matrix of attention is stored.", "free"),
			told("quantize_kv_cache", "Keep the length with an 8-bit KV cache", "About half of it.", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	{
		ID: "llama.cpp/metal-cache", Kinds: []fact.Kind{fact.GGMLMetal}, If: func(c *ledger.Case) bool { return unlimited(c) && cacheNumbers(c)["cache"] != "" }, Figures: cacheNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of the Mac's graphics memory at its first command: {cache} of it is the cache for {cells} tokens",
		Means: "Everything was allocated, and then Metal could not hold it all at once: macOS hands buffers out before they have room. The cache for {cells} tokens is {cache}[[, the working memory {compute}]], the weights come on top, and the graphics get about two thirds of the RAM, three quarters on 64 GB and more.",
		Not:   "`--no-warmup`: it then fails at the first prompt. A smaller `-ub`[[: {compute} at stake]]. Other programs alone: the limit is on this one.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the context", Told: "{shorter} tokens take {short_cache} instead of {cache}; go up from there. A length that you did not set was fitted to what looked free: `--fit-target 4096` keeps more.", Kind: "config", Text: "-c {shorter_plain}", Cost: "shorter conversations"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Told: "About {eight_bit} for the same length; with it flash attention (`-fa on`).", Kind: "config", Text: "-ctk q8_0 -ctv q8_0", Cost: "slight loss of quality"},
			as("raise_memory_limit", "Raise the GPU memory limit of macOS", "less RAM for everything else"),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/metal-command", Kinds: []fact.Kind{fact.GGMLMetal}, If: when.Any(unlimited, fewWeights), Figures: metalRepeats,
		Cause: cause.ModelTooLarge, Weight: cause.Good,
		Means: "It loaded, and then a Metal command ran out of memory: weights, cache and working memory together are more than macOS lets the graphics take, about two thirds of the RAM, three quarters on 64 GB and more.[[ {garbage}]]",
		Not:   "Killing other graphics programs alone: the limit is on this process's share. Another download of the model.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the context", If: dialect.Named, Own: true, Cost: "shorter conversations"},
			{Fix: "lower_context", Title: "Shorten the context, one request at a time", Told: "Half the context (`-c`); if you set none, 8192: unset, many versions take the model's own maximum. In Ollama and the like: `num_ctx` 4096, one model and one request at a time.", Cost: "shorter conversations"},
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
			as("raise_memory_limit", "Raise the GPU memory limit of macOS", "less RAM for everything else"),
			as("close_other_apps", "Quit large programs", "free"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	{
		ID: "llama.cpp/metal-weights", Kinds: []fact.Kind{fact.GGMLMetal},
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Means:   "It loaded, and then a Metal command ran out of memory: the weights alone are near or above the {limit} that macOS lets the graphics take, about two thirds to three quarters of the RAM. Cache and work come on top.",
		Cures:   []cause.Cure{as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"), as("raise_memory_limit", "Raise the GPU memory limit of macOS", "less RAM for everything else"), as("lower_context", "Shorten the context too", "shorter conversations")},
		Sources: []string{"llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	{
		ID: "llama.cpp/sycl-piece", Kinds: gpuFull, If: when.All(overPiece, when.Not(attentionOff), when.Not(scoresFill)),
		Cause: cause.OversizedAllocation, Weight: cause.Likely,
		Means: "Intel's oneAPI runtime gives no single buffer above 4 GiB unless that is relaxed, and this one is {asked}. How much of the card is free does not matter.",
		Cures: []cause.Cure{
			does("fix_shape", "Allow buffers above 4 GiB", "env", "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1", "may be a little slower"),
			as("lower_ubatch", "Lower the physical batch size", "slower prompts"),
			as("lower_context", "Shorten the context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md"},
	},
	{
		ID: "llama.cpp/sycl-full", Kinds: []fact.Kind{fact.GGMLSYCL}, If: deviceFull, Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "was refused memory on the Intel GPU[[: {devices}]]",
		Means: "The driver answered with error 39, out of device memory, and gives no size. Three things end like this: model, cache and working memory are more than a card's share; one buffer is above the 4 GiB that the driver gives in one piece unless told otherwise; or the driver fails with several cards. A start with little on one card tells them apart.",
		Not:   "More system memory: it is the card's that was refused.",
		Cures: []cause.Cure{
			where(LargeBatch, told("lower_ubatch", "Lower the physical batch size (`-ub`)", "It is {ub} tokens here: the working memory grows with it.", "slower prompts")),
			{Fix: "lower_context", Title: "Test with a small context on one GPU", Told: "If it runs, raise `-c` step by step. If one card works and both fail, it is the driver or the split; if even this fails, take fewer layers (`-ngl`) or a smaller file.", Kind: "env", Text: "export ONEAPI_DEVICE_SELECTOR=level_zero:0   # and add to your command: -c 4096 -ub 128", Cost: "a test; shorter conversations"},
			does("fix_shape", "Allow buffers above 4 GiB", "env", "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1", "may be a little slower"),
			does("upgrade_version", "Update the compute runtime, or use the Vulkan build", "text", "The releases of llama.cpp have a Vulkan build for the same card: the same model and options, without oneAPI.", "half an hour"),
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md", llamaThreads + "25286"},
	},
	{
		ID: "llama.cpp/sycl", Kinds: []fact.Kind{fact.GGMLSYCL},
		Cause: cause.SoftwareBug, Weight: cause.Fair,
		Means: "The oneAPI runtime gave up, and it says out of memory for other faults too: copies between devices, its 4 GiB limit for one buffer. The line has no size, so it cannot tell which.",
		Cures: []cause.Cure{
			does("select_gpu", "Use one device only", "env", "export ONEAPI_DEVICE_SELECTOR=level_zero:0", "free"),
			as("lower_ubatch", "Lower the physical batch size", "slower prompts"),
			as("upgrade_version", "Update to a newer build and driver", "free"),
		},
		Sources: []string{"llama.cpp/docs/backend/SYCL.md"},
	},
	PoolCard("llama.cpp"), BatchCard("llama.cpp", "Start it with `-b 512`."),
	{
		ID: "llama.cpp/arena", Kinds: []fact.Kind{fact.GGMLPool, fact.GGMLPlan}, Unsaid: dialect.NewWords, If: when.Not(beyondArena), Figures: poolNumbers,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "ran over a memory pool of fixed size inside itself",
		Means: "[[The pool has {pool}, and {lack} more was needed. ]]That build planned it for another batch, prompt or model. Neither RAM nor the card's memory is short, and no setting of the machine changes it.",
		Not:   "More RAM, swap, fewer layers or a smaller quantisation: the pool keeps its size.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update the program", "old model files may need a new download"),
			where(when.Root(fact.GGMLPool), does("lower_batch_size", "Until then: lower the batch size, shorten the prompt", "text", "`-b 512` (llama-cpp-python: `n_batch=512`), and a prompt well below the context length; such pools were planned for that.", "slower prompts")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml.c"},
	},
}

// serverCards are about the system's memory while a server works.
var serverCards = []cause.Card{{
	ID: "llama.cpp/prompt-cache", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD, fact.ShellKilled}, Said: []string{"prompt_save:", "updating prompt cache"}, Figures: promptNumbers,
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed: system memory ran out while it kept a prompt for later",
	Means: "Its last act was to save a prompt[[ of {tokens} tokens, {state} ({each} per token),]] into the server's prompt cache. It lies in system memory, not on the card, and may grow to 8 GiB unless told otherwise[[: about {fits} such prompts]]. `sudo journalctl -k | grep -i constraint` says what was full: CONSTRAINT_NONE is the whole machine, CONSTRAINT_MEMCG a limit of the service.",
	Not:   "Fewer layers on the card or a smaller `-ub`: that moves work to system memory or saves none there.",
	Cures: []cause.Cure{
		does("lower_context", "Turn off the prompt cache (`--cache-ram 0`)", "text", "Add `--cache-ram 0` to the command of llama-server (in a service: its `ExecStart=` line, with `sudo systemctl edit --full NAME`, then `sudo systemctl restart NAME`). `--cache-ram 2048` keeps 2 GiB; `--ctx-checkpoints 4` bounds copies that lie in RAM too.", "an earlier conversation is read again when it comes back"),
		does("quantize_kv_cache", "Use an 8-bit KV cache", "text", "`-fa on -ctk q8_0 -ctv q8_0` about halves it; a shorter `-c` bounds it.", "slight loss of quality"),
		does("add_swap", "Raise the service's limit, or add swap", "text", "Was it the service's limit: `sudo systemctl edit NAME`, `[Service]`, `MemoryMax=` below the machine's RAM; else swap: `sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`.", "disk space; slow once it is used"),
	},
	Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-task.cpp", llamaThreads + "20509"},
}}

// promptNumbers are those of the prompt that was saved last.
func promptNumbers(c *ledger.Case) map[string]string {
	tokens, state := count(c, "prompt_tokens", mostTokens), int64(0)
	if x, ok := c.Fact("prompt_state"); ok && x.Size != nil {
		state = x.Size.Bytes
	}
	out := map[string]string{"tokens": grouped(tokens), "state": "", "each": "", "fits": ""}
	if tokens > 0 && state > 0 {
		out["state"], out["each"] = units.Amount(state), units.Amount(state/tokens)
		if n := 8 * units.GiB / state; n > 0 && n < 100 {
			out["fits"] = fmt.Sprint(n)
		}
	}
	return out
}

// metalNumbers are those of a Mac's memory.
func metalNumbers(c *ledger.Case) map[string]string {
	out := numbers(c)
	if n := budgetOf(c).Weights; n > 0 {
		out["weights"] = units.Amount(n)
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

// poolNumbers are the size of a pool inside the program, and what it lacks.
func poolNumbers(c *ledger.Case) map[string]string {
	needed, pool := ledger.Requested(c), ledger.SizeOf(c.F().Free)
	if pool == 0 || needed <= pool {
		return nil
	}
	return map[string]string{"pool": units.Amount(pool), "lack": units.Amount(needed - pool)}
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
