package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// hostError: Vulkan said that system memory ran out, without a size.
func hostError(c *ledger.Case) bool {
	return c.Contains("erroroutofhostmemory") && ledger.Requested(c) == 0 && !diffuses(c)
}

// unnamedCards are about buffers of which the log does not say what they were for.
var unnamedCards = []cause.Card{
	{
		ID: "llama.cpp/vulkan-host", Kinds: ofGGML, If: hostError,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "stopped: Vulkan reports that system memory (RAM) ran out, not GPU memory",
		Means: "`ErrorOutOfHostMemory` is Vulkan's error for system memory; a full GPU is `ErrorOutOfDeviceMemory`. On an integrated GPU the model lies in the same RAM. If much RAM is free, it is the driver or a change in the build.",
		Not:   "A shorter context or smaller batch alone, if it failed while loading.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close what uses RAM, and watch it while it loads", Told: "Free RAM has to hold what is not on the GPU; with an integrated GPU the whole file. Task Manager or `free -h` shows it. `--no-mmap` and `--mlock` take more: leave them out.", Cost: "free"},
			does("upgrade_version", "If RAM stays free: try another build and driver", "text", "The newest llama.cpp and graphics driver, or the build that last worked. If it loads with no layers on the GPU, it is Vulkan or its driver.", "a download"),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
		},
		Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/VkResult.html", "llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/vulkan-buffer", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onVulkan, when.Not(diffuses), above(units.GiB+units.MiB)), Figures: numbers,
		Cause: cause.OversizedAllocation, Weight: cause.Fair, Headline: "was refused one Vulkan buffer of {asked}",
		Means: "Builds since March 2025 put weights and cache on a Vulkan device in pieces of about 1 GiB, so one buffer of {asked} is usually the working memory of a batch; in older ones it may be weights or cache. It grows with the physical batch size and, without flash attention, with the context. Either the GPU was full, or the driver allows no single buffer that large (often 4 GiB, on some 2): the next line then says `exceeds … limit`.",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower the physical batch size", "It is 512 unless set: a quarter of it takes about a quarter of {asked}. If you set more (`-ub`, `-b`), go back to 512 first.", "slower prompts"),
			told("enable_flash_attention", "Turn on flash attention", "Where the device has it, the part that grows with the context is then not stored.", "free"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "12817", llamaThreads + "18160"}, Solved: 1,
	},
	{
		ID: "llama.cpp/request-too-long", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, longerThanBefore), Figures: ladderNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory at a request of {tried} tokens; {worked} had worked",
		Means: "The model had served shorter requests, so what grew is what each token needs (KV cache, activations). {worked} tokens fitted, {tried} did not; {asked} is the piece that was refused, not all that is missing.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the length of a request", Told: "Send {worked} tokens or fewer at a time, and longer texts in pieces.", Cost: "long texts in several parts"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache, if the program has it", Told: "llama.cpp: `-ctk q8_0 -ctv q8_0` with flash attention halves the cache.", Cost: "slight loss of quality"},
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/after-context", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: []string{"graph splits", "graph nodes"}, Unsaid: []string{"draft", "mmproj", "clip_"}, If: when.All(bare, onGPU, above(512*units.MiB)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Headline: "loaded its language model; then {asked} more did not fit on {gpu}",
		Means: "The context and its working memory were made (\"graph splits\"), so the language model was loaded. A piece of {asked} after that is usually another model beside it: for images, speech, embeddings or drafts.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers of the first model on the GPU", Told: "So many that {asked} more is free (`-ngl`; KoboldCpp: `--gpulayers`); with several GPUs a smaller number for that one in `-ts` (`--tensor_split`).", Cost: "slower text"},
			{Fix: "use_lower_quant", Title: "Use a smaller second model", Told: "A quantised file of it (KoboldCpp: `--sdquant` for the image model), or start without it.", Cost: "slight loss of quality"},
			freeCard,
		},
		Sources: []string{"https://github.com/LostRuins/koboldcpp/blob/concedo/koboldcpp.py", "llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/unnamed-small", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1), below(512*units.MiB)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "was refused {asked} on {gpu}, which is nearly full",
		Means: "A piece that small is usually refused only when the GPU is nearly full: with what this program had loaded before, or with other programs. The log does not say which part of the model it was; `{look}` or the system's monitor shows who uses the GPU.",
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"},
	},
	{
		ID: "llama.cpp/unnamed-round", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), roundPiece), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Fair, Headline: "was refused {asked} in one piece on {gpu}, probably a KV cache",
		Means: "The log ends before the line that says for what. Weights and working memory come in odd amounts; a whole multiple of 64 MiB is usually a KV cache. Where no context length is set, many versions take the model's own maximum, often 131,072 tokens and more.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "Half the tokens take half of {asked}, if it is the cache.", "shorter conversations"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "{q8} instead of {asked}.", "slight loss of quality"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "Each layer takes its part of the cache along.", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/unnamed", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "was refused {asked} in one piece on {gpu}",
		Means: "The log ends before the line that says for what: weights, cache or the working memory of a batch. [[A GPU of {never} GB can never hold it. ]]At that size weights are the likeliest. [[{claimed} was listed as free: either the driver gives no piece that large, or something took memory since. ]]`{look}` shows how large the GPU is and what else uses it.",
		Cures: []cause.Cure{
			where(otherProgram, told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU")),
			where(when.Not(otherProgram), does("fewer_gpu_layers", "Put fewer layers on the GPU", "text", "llama.cpp: `-ngl 20`, or half of the present value; KoboldCpp: GPU Layers; Ollama: `num_gpu`. Halve it again if it is refused, raise it while room stays.", "slower: the rest runs on the CPU")),
			where(above(64*units.GiB), as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality")),
			{Fix: "lower_ubatch", If: below(64 * units.GiB), Title: "If the next line says gallocr, reserve or compute: lower the batch", Told: "`-ub 128` (KoboldCpp: Batch Size 128) makes the working memory about a quarter[[, {quarter}]].", Cost: "slower prompts"},
			does("lower_context", "If it says kv cache: halve the context", "text", "`-c` (KoboldCpp: Context Size; Ollama: `num_ctx`).", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "https://github.com/LostRuins/koboldcpp/issues/714"}, Solved: 1,
	},
}

// longerThanBefore: shorter requests had been served.
func longerThanBefore(c *ledger.Case) bool {
	l, ok := ledger.LadderOf(c)
	return ok && strings.HasPrefix(l.Of, "tokens")
}

// ladderNumbers are the sizes of requests that worked and that failed.
func ladderNumbers(c *ledger.Case) map[string]string {
	out := numbers(c)
	out["worked"], out["tried"] = "", ""
	if l, ok := ledger.LadderOf(c); ok {
		out["worked"], out["tried"] = ledger.Thousands(l.Worked), ledger.Thousands(l.Tried)
	}
	return out
}
