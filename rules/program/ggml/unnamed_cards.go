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
		Means: "`ErrorOutOfHostMemory` is Vulkan's error for system RAM; a full GPU is `ErrorOutOfDeviceMemory`. If much RAM stays free, the GPU driver or the build is at fault.",
		Not:   "A shorter context or smaller batch, if it failed while loading.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close programs that use RAM, and watch it while the model loads", Told: "RAM must hold the layers that are not on the GPU; with an integrated GPU the whole model. Watch Task Manager or `free -h`. Leave out `--no-mmap` and `--mlock`.", Cost: "free"},
			does("upgrade_version", "If RAM stays free: try another build and driver", "text", "Take the newest llama.cpp and graphics driver, or the build that last worked. If it loads with `-ngl 0`, Vulkan or its driver is at fault.", "a download"),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
		},
		Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/VkResult.html", "llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "llama.cpp/common/arg.cpp"},
	},
	{
		ID: "llama.cpp/vulkan-buffer", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onVulkan, when.Not(diffuses), above(units.GiB+units.MiB)), Figures: numbers,
		Cause: cause.OversizedAllocation, Weight: cause.Fair, Headline: "could not get one Vulkan buffer of {asked}",
		Means: "In builds since March 2025 a buffer this large is usually the working memory of a batch; in older ones it may be weights or KV cache. Either the GPU was full, or the driver allows no single buffer that large (often 4 GiB, on some 2 GiB). The next line then says `exceeds … limit`.",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower the physical batch size", "It is 512 unless you set `-ub`. A quarter of it needs about a quarter of the memory.", "slower prompts"),
			told("enable_flash_attention", "Turn on flash attention", "The buffer then no longer grows with the context:", "free, where the device supports it"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", llamaThreads + "12817", llamaThreads + "18160"}, Solved: 1,
	},
	{
		ID: "llama.cpp/request-too-long", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, longerThanBefore), Figures: ladderNumbers,
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "ran out of GPU memory at a request of {tried} tokens; {worked} had worked",
		Means: "The model itself fits: shorter requests worked. Each token needs some more memory (KV cache, working memory), and {tried} tokens were too many for this GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the length of a request", Told: "Send at most {worked} tokens at a time, and split longer texts.", Cost: "long texts in several parts"},
			{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache, if the program has it", Told: "llama.cpp: `-fa on -ctk q8_0 -ctv q8_0` about halves the cache.", Cost: "slight loss of quality"},
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/after-context", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: []string{"graph splits", "graph nodes"}, Unsaid: []string{"draft", "mmproj", "clip_"}, If: when.All(bare, onGPU, above(512*units.MiB)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Headline: "loaded its language model; then {asked} more did not fit on {gpu}",
		Means: "The line \"graph splits\" comes after the language model is fully loaded. So this is usually a second model beside it: for images, speech, embeddings or drafts.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers of the first model on the GPU", Told: "Lower `-ngl` (KoboldCpp: GPU Layers) until {asked} more is free. With several GPUs, give this one a smaller number in `-ts` (KoboldCpp: Tensor Split).", Cost: "slower text"},
			{Fix: "use_lower_quant", Title: "Use a smaller second model", Told: "Take a quantised file of it (KoboldCpp, image model: `--sdquant`), or start without it.", Cost: "slight loss of quality"},
			freeCard,
		},
		Sources: []string{"https://github.com/LostRuins/koboldcpp/blob/concedo/koboldcpp.py", "llama.cpp/ggml/src/ggml-alloc.c"},
	},
	{
		ID: "llama.cpp/unnamed-small", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1), below(512*units.MiB)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "could not get {asked} on {gpu}, which is probably nearly full",
		Means: "So small an amount is usually refused only when the GPU is nearly full: with this model, or with other programs. `{look}` shows how full it is. The log does not say which part of the model it was.",
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"},
	},
	{
		ID: "llama.cpp/unnamed-round", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), roundPiece), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Fair, Headline: "could not get {asked} on {gpu}, probably for the KV cache",
		Means: "The log ends before the line that says what it was for. A whole multiple of 64 MiB is usually the KV cache, which grows with the context. Where no length is set, many versions use the model's maximum, often 131,072 tokens and more.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "Half the tokens need half of {asked}:", "shorter conversations"),
			told("quantize_kv_cache", "Use an 8-bit KV cache", "It takes {q8} instead of {asked}:", "slight loss of quality"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "Their part of the cache moves to RAM with them.", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/unnamed", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(bare, onGPU, when.Not(diffuses), above(1)), Figures: numbers,
		Cause: cause.ModelTooLarge, Weight: cause.Fair, Headline: "could not get {asked} in one piece on {gpu}",
		Means: "The log ends before the line that says what it was for; at that size it is usually the model's weights. [[A GPU of {never} GB can never hold it. ]][[{claimed} was listed as free: either the driver gives no piece that large, or something took memory since. ]]`{look}` shows how large the GPU is and what else uses it.",
		Cures: []cause.Cure{
			where(otherProgram, told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU")),
			where(when.Not(otherProgram), does("fewer_gpu_layers", "Put fewer layers on the GPU", "text", "llama.cpp: start with `-ngl 20`, or half of what you have now (KoboldCpp: GPU Layers; Ollama: `num_gpu`). If it fails, halve it again; if room stays, raise it.", "slower: the rest runs on the CPU")),
			where(above(64*units.GiB), as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality")),
			{Fix: "lower_ubatch", If: below(64 * units.GiB), Title: "If the next line says gallocr, reserve or compute: lower the batch", Told: "`-ub 128` (KoboldCpp: Batch Size 128) needs about a quarter of the default 512[[: {quarter}]].", Cost: "slower prompts"},
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
