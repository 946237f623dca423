package ollama

import (
	"cmp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/touch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	pagefile  = says("raise_pagefile", "Let Windows manage the page file", "Settings, System, About, Advanced system settings, Performance: Settings, Advanced, Virtual memory: System managed size, on a disk with room; restart.", "disk space")
	onWindows = func(c *ledger.Case) bool { return c.Windows() }
)

// hostCards are about system memory, graphics that share it, and pieces that no
// device gives.
var hostCards = []cause.Card{
	{
		ID: "ollama/host-kv", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Host("kv")), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start the model: {asked} of KV cache did not fit in system memory (RAM)",
		Means: "The KV cache is split like the layers, and the part that stays in RAM, {asked}, was refused.[[ It is made for {tokens} tokens.]] The length may come from Ollama itself (since 0.15.5: 32k tokens with 24 GiB of GPU memory, 256k with 48 GiB) or from a front end.",
		Not:   "Fewer layers on the GPU: that moves more of the cache into RAM.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "A `num_ctx` that a front end sends overrides this: lower it there.", "shorter conversations", context),
			does("quantize_kv_cache", "Use an 8-bit KV cache: about half of {asked}", "", "hardly any loss of quality; needs flash attention", steps["quantize_kv_cache"]),
			either(onWindows, pagefile), either(when.Not(onWindows), unload),
		},
		Sources: []string{"ollama/docs/context-length.mdx", threads + "16968"},
	},
	{
		ID: "ollama/host-compute", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Host("compute")), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start the model: {asked} of working memory did not fit in system memory (RAM)",
		Means: "What the CPU's layers need to compute a batch, {asked}, was refused in RAM.[[ The context is {tokens} tokens:]] that memory and the KV cache grow with it, and layers that stay off the GPU have both in RAM. The length comes from the request, the Modelfile, a front end, `OLLAMA_CONTEXT_LENGTH` or the version.",
		Not:   "Fewer layers on the GPU: that moves more into RAM.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "A `num_ctx` that a front end sends overrides this: lower it there.", "shorter conversations", context),
			does("quantize_kv_cache", "Turn on flash attention with an 8-bit KV cache", "", "hardly any loss of quality", steps["quantize_kv_cache"]),
			either(onWindows, pagefile), either(when.Not(onWindows), unload),
		},
		Sources: []string{"ollama/docs/context-length.mdx", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/host-windows", Kinds: ggml.RefusedKinds, If: when.All(byOllama, onWindows, ggml.Host("weights", "")), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: Windows refused more system memory (RAM)",
		Means:   "System memory was refused[[: {asked}]], for layers that stay off the GPU. Windows counts what all programs have reserved against RAM and page file together, so this can fail while Task Manager still shows free RAM; Performance, Memory, Committed shows that sum.",
		Not:     "Fewer layers on the GPU: they need more RAM.",
		Cures:   []cause.Cure{unload, pagefile, as("use_smaller_model", "Use a smaller model", "lower quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", threads + "12634"},
	},
	{
		ID: "ollama/host", Kinds: ggml.RefusedKinds, If: when.All(byOllama, when.Not(onWindows), ggml.Host("weights", ""), when.Not(pinned)), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: system memory (RAM) was refused",
		Means: "System memory was refused[[: {asked}]], for layers that stay off the GPU: RAM and swap are used up, or a limit on the service or container is reached.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			unload, as("use_smaller_model", "Use a smaller model", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit, if there is one", "Docker, if it has less now: `docker update --memory 24g --memory-swap 24g ollama`. A service: `systemctl show ollama -p MemoryMax` shows it. WSL: `memory=` below `[wsl2]` in .wslconfig.", "only if the machine has it"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "ollama/piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(byOllama, ggml.Device("weights", "")), Figures: loadFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "was refused one buffer of {asked}: more than this Vulkan driver allows",
		Means: "Free memory is not what is short: this driver allows no single buffer above its own limit (usually 4 GiB), and {asked} was asked for in one. Usually it is a single tensor: Gemma 3n and 4 have an embedding table that large. Ollama's retries with fewer layers (\"applying backoff\") meet the same tensor each time.",
		Not:   "Closing other programs: the limit is on a single buffer.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
			says("use_lower_quant", "Use a smaller quantisation of the model", "If the embedding is 16 bit in this file, it is half or a quarter in one of 8 or 4 bit. The tags are on the model's page at ollama.com/library.", "slight loss of quality"),
			does("fewer_gpu_layers", "Run it on the CPU", "", "slower", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", threads + "16130"},
	},
	{
		ID: "ollama/jetson", Kinds: ggml.FullKinds, If: when.All(byOllama, ggml.Shared, ggml.Tegra), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused memory on the Jetson, whose GPU shares the RAM[[: {asked}]]",
		Means: "The {card} has no memory of its own: model, context, desktop, other programs and the file cache share its RAM. What is listed as free for the GPU includes the file cache, which the driver does not always get.",
		Not:   "GPU settings of a PC, or a larger page file: a Jetson's GPU cannot use swap.",
		Cures: []cause.Cure{
			touch.DropCaches,
			says("use_smaller_model", "Use a smaller model", "On 8 GB: 3B to 4B at 4 bit (`ollama run llama3.2:3b`); on 16 GB 8B.", "lower quality"),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers),
		},
		Sources: []string{"ollama/docs/gpu.mdx", threads + "9685"},
	},
	{
		ID: "ollama/unified", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Shared, ggml.Device("weights", "")), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "asked an integrated GPU for {asked}: more than the driver gives",
		Means: "The {card} has no memory of its own: BIOS and driver decide how much RAM it may use, and {asked} in one piece was more than was left of that. Versions 0.11.5 to 0.24 then try again with fewer layers (\"applying backoff\"): if the model answers, only speed is lost.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Give the graphics driver more memory", Cost: "disk space, less RAM for programs", Ways: []cause.Way{
				{For: "Windows", Text: "virtual memory on System managed size (Settings, System, About, Advanced system settings, Performance); AMD Software, Performance, Tuning: Variable Graphics Memory"},
				{For: "Linux", Text: "BIOS: UMA frame buffer size; AMD: kernel option `ttm.pages_limit` (4-KiB pages: 15728640 is 60 GiB)"},
			}},
			does("close_other_apps", "See what else takes RAM", "`ollama stop NAME` unloads a model that it lists; then close large programs.", "free", look),
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
		},
		Sources: []string{threads + "12752", "linux/drivers/gpu/drm/ttm/ttm_pool.c"},
	},
	{
		ID: "ollama/unit-killed", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD}, If: byOllama,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was ended by Linux: system memory (RAM) ran out",
		Means: "The kernel ended Ollama because RAM was full, or because the service or its container reached a limit of its own. Layers that are not on a GPU lie in RAM with their cache, for every model that is loaded. `LLAMA_ARG_CACHE_RAM` bounds the prompts that each keeps besides, up to 8 GiB (since 0.30). `sudo journalctl -k | grep -i constraint` tells which: CONSTRAINT_NONE is the whole machine, CONSTRAINT_MEMCG a limit.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			unload, as("use_smaller_model", "Use a smaller model", "lower quality"), either(modern, keepLess),
			says("add_swap", "Add swap, or raise the service's limit", "If it was the whole machine, swap: `sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`. A limit of the service: `MemoryMax=` with `sudo systemctl edit ollama`.", "disk space; slow once it is used"),
		},
		Sources: []string{"ollama/llm/server.go", threads + "11231"},
	},
	{
		ID: "ollama/processor-graphics", Kinds: ggml.FullKinds, If: when.All(byOllama, ggml.OddCard),
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "used the integrated GPU beside the dedicated one, and that ran full",
		Means: "The device that failed is the CPU's integrated GPU. Ollama gave it a part of the model beside the dedicated GPU, which may have room.",
		Cures: []cause.Cure{
			does("select_gpu", "Use the dedicated GPU only", "", "free", realCard),
			does("fewer_gpu_layers", "Put fewer layers on the GPU if it still fails", "", "slower", layers),
			as("upgrade_version", "Update Ollama: later versions leave integrated GPUs out", "a download"),
		},
		Sources: []string{"ollama/docs/gpu.mdx", threads + "738"},
	},
	{
		ID: "ollama/absurd", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.AbsurdGraph), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Likely, Headline: "asked for {asked} of working memory, far more than usual",
		Means: "{asked} of working memory[[ for a context of {tokens} tokens]] is out of all proportion. Usually it is a fault in how this version plans the model or its image part. Fewer layers do not make it smaller, so Ollama may fall back to the CPU (`ollama ps` shows 100% CPU).",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "", "a download", steps["upgrade_version"]),
			does("enable_flash_attention", "Turn on flash attention", "", "free where the model has it", steps["enable_flash_attention"]),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{threads + "13312", threads + "13303"},
	},
	{
		ID: "ollama/last-bytes", Kinds: ggml.BufferKinds, If: when.All(byOllama, when.Not(ledger.InHost), func(c *ledger.Case) bool { return ledger.Requested(c) > 0 && ledger.Requested(c) < 1<<20 }), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "was refused {asked}: the GPU is full, or the driver refuses for another reason",
		Means: "{asked} is tiny. A GPU that refuses it is completely full, or the driver has no more allocations to give, which happens where two different GPUs (integrated and dedicated) are used together through Vulkan.",
		Cures: []cause.Cure{
			either(onVulkan, does("select_gpu", "Use one GPU only", "0 or 1: the number of the dedicated GPU in the log's list of Vulkan devices.", "free", func(c *ledger.Case) []step.Step { return server(c, "GGML_VK_VISIBLE_DEVICES=0") })),
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers),
		},
		Sources: []string{threads + "14805", "llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"},
	},
}

// realCard leaves the other device to Ollama.
func realCard(c *ledger.Case) []step.Step {
	names := map[string]string{"rocm": "HIP_VISIBLE_DEVICES", "vulkan": "GGML_VK_VISIBLE_DEVICES"}
	name, other := cmp.Or(names[c.Backend], "CUDA_VISIBLE_DEVICES"), "0"
	if d := c.F().Device; d != nil && d.Value == 0 {
		other = "1"
	}
	return server(c, name+"="+other)
}
