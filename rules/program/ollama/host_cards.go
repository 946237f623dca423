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
	pagefile  = says("raise_pagefile", "Let Windows manage the page file", "Settings, System, About, Advanced system settings; Performance: Settings; Advanced; Virtual memory: Change. Choose \"System managed size\" on a disk with space, then restart.", "disk space")
	onWindows = func(c *ledger.Case) bool { return c.Windows() }
)

// hostCards are about system memory, graphics that share it, and pieces that no
// device gives.
var hostCards = []cause.Card{
	{
		ID: "ollama/host-kv", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Host("kv"), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start the model: {asked} of KV cache did not fit in system memory (RAM)",
		Means: "Layers that are not on the GPU keep their KV cache in RAM, and that did not fit.[[ It is made for {tokens} tokens.]] A front end may set a long context. Since 0.15.5 Ollama itself sets 32k tokens with 24 GiB of GPU memory, 256k with 48 GiB.",
		Not:   "Fewer layers on the GPU: that moves more of the cache into RAM.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "If a front end sends its own `num_ctx`, lower it there.", "shorter conversations", context),
			eightBit,
			either(onWindows, pagefile), either(when.Not(onWindows), unload),
		},
		Sources: []string{"ollama/docs/context-length.mdx", threads + "16968"},
	},
	{
		ID: "ollama/host-compute", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Host("compute"), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start the model: {asked} of working memory did not fit in system memory (RAM)",
		Means: "The layers on the CPU need RAM for their work, and that did not fit. It grows with the context[[, which is {tokens} tokens here]]. The request, a front end, the Modelfile or `OLLAMA_CONTEXT_LENGTH` may set that length, or Ollama itself.",
		Not:   "Fewer layers on the GPU: that moves more into RAM.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "If a front end sends its own `num_ctx`, lower it there.", "shorter conversations", context),
			either(when.All(quantises, when.Not(flashOn)), does("quantize_kv_cache", "Turn on flash attention with an 8-bit KV cache", "", "hardly any loss of quality", steps["quantize_kv_cache"])),
			either(when.All(quantises, flashOn), does("quantize_kv_cache", "Use an 8-bit KV cache", "The cache, which is in RAM too, then takes about half.", "hardly any loss of quality", steps["quantize_kv_cache"])),
			either(onWindows, pagefile), either(when.Not(onWindows), unload),
		},
		Sources: []string{"ollama/docs/context-length.mdx", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/host-windows", Kinds: ggml.RefusedKinds, If: when.All(byOllama, onWindows, ggml.Host("weights", "")), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: Windows gave no more system memory (RAM)",
		Means:   "This is RAM for layers that are not on the GPU. Windows counts everything that programs have reserved against RAM plus page file. So it can refuse although Task Manager still shows free RAM; look at Performance, Memory, Committed.",
		Not:     "Fewer layers on the GPU: they need more RAM.",
		Cures:   []cause.Cure{unload, pagefile, as("use_smaller_model", "Use a smaller model", "lower quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", threads + "12634"},
	},
	{
		ID: "ollama/host", Kinds: ggml.RefusedKinds, If: when.All(byOllama, when.Not(onWindows), ggml.Host("weights", ""), when.Not(pinned)), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: too little system memory (RAM)",
		Means: "This is RAM for layers that are not on the GPU. Either RAM and swap are used up, or a memory limit of the service or container is reached.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			unload, as("use_smaller_model", "Use a smaller model", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit, if there is one", "Docker: `docker update --memory 24g --memory-swap 24g ollama`, if it has less now. Service: `systemctl show ollama -p MemoryMax` shows the limit. WSL: set `memory=` under `[wsl2]` in .wslconfig.", "only if the machine has it"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "ollama/piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(byOllama, ggml.Device("weights", ""), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "needs one buffer of {asked}, and this Vulkan driver does not allow one that large",
		Means: "The driver limits each single buffer, usually to 4 GiB, however much GPU memory is free. The large buffer is usually one tensor: the embedding table of Gemma 3n and Gemma 4 is that large. Ollama's retries (\"applying backoff\") fail at the same tensor.",
		Not:   "Closing other programs: the limit is on a single buffer.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
			says("use_lower_quant", "Use a smaller quantisation of the model", "Its embedding table is usually smaller too. The tags are on the model's page at ollama.com/library.", "slight loss of quality"),
			does("fewer_gpu_layers", "Run it on the CPU", "", "slower", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", threads + "16130"},
	},
	{
		ID: "ollama/jetson", Kinds: ggml.FullKinds, If: when.All(byOllama, ggml.Shared, ggml.Tegra), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of memory on the Jetson: its GPU shares the RAM",
		Means: "The {card} has no memory of its own. Model, context, desktop and other programs share its RAM. The memory that is listed as free includes cached files, and the GPU driver does not always get those.",
		Not:   "More swap: a Jetson's GPU cannot use it.",
		Cures: []cause.Cure{
			touch.DropCaches,
			says("use_smaller_model", "Use a smaller model", "With 8 GB of RAM: 3B to 4B at 4 bit (`ollama run llama3.2:3b`). With 16 GB: 8B.", "lower quality"),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers),
		},
		Sources: []string{"ollama/docs/gpu.mdx", threads + "9685"},
	},
	{
		ID: "ollama/unified", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Shared, ggml.Device("weights", ""), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "needs {asked} on an integrated GPU: more than it may use",
		Means: "The {card} has no memory of its own. BIOS and driver decide how much RAM it may use, and less than this was left. Versions 0.11.5 to 0.24 then try again with fewer layers (\"applying backoff\"): if the model answers, only speed is lost.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Let the GPU use more of the RAM", Cost: "disk space, less RAM for programs", Ways: []cause.Way{
				{For: "Windows", Text: "AMD Software, Performance, Tuning: raise Variable Graphics Memory; and set the page file to \"System managed size\""},
				{For: "Linux", Text: "raise the UMA frame buffer size in the BIOS; AMD: or the kernel option `ttm.pages_limit` (in pages of 4 KiB: 15728640 is 60 GiB)"},
			}},
			does("close_other_apps", "See what else uses RAM", "`ollama stop NAME` unloads a model that is listed. Then close large programs.", "free", look),
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
		},
		Sources: []string{threads + "12752", "linux/drivers/gpu/drm/ttm/ttm_pool.c"},
	},
	{
		ID: "ollama/unit-killed", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD}, Unsaid: windowsWords, If: byOllama,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed by Linux: system memory (RAM) ran out",
		Means: "Layers that are not on a GPU fill RAM together with their KV cache, for each loaded model. Since 0.30 each also keeps up to 8 GiB of earlier prompts. `sudo journalctl -k | grep -i constraint` shows what was full: CONSTRAINT_NONE is the whole machine, CONSTRAINT_MEMCG a limit of the service or container.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			unload, as("use_smaller_model", "Use a smaller model", "lower quality"), either(modern, keepLess),
			says("add_swap", "Add swap, or raise the service's limit", "CONSTRAINT_NONE: `sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`. CONSTRAINT_MEMCG: raise `MemoryMax=` with `sudo systemctl edit ollama`.", "disk space; slow once it is used"),
		},
		Sources: []string{"ollama/llm/server.go", threads + "11231"},
	},
	{
		ID: "ollama/processor-graphics", Kinds: ggml.FullKinds, If: when.All(byOllama, ggml.OddCard),
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "ran out of memory on the CPU's integrated GPU, which got part of the model",
		Means: "Ollama split the model over two devices: the dedicated GPU and the CPU's integrated graphics. The integrated one ran out. It is slow, so leave it out.",
		Cures: []cause.Cure{
			does("select_gpu", "Use the dedicated GPU only", "", "free", realCard),
			does("fewer_gpu_layers", "If it still fails: put fewer layers on the GPU", "", "slower", layers),
			as("upgrade_version", "Update Ollama: later versions leave integrated GPUs out", "a download"),
		},
		Sources: []string{"ollama/docs/gpu.mdx", threads + "738"},
	},
	{
		ID: "ollama/absurd", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.AbsurdGraph), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Likely, Headline: "asked for {asked} of working memory, far more than usual",
		Means: "No normal setting needs that much[[ for a context of {tokens} tokens]]. Usually it is a bug in how this version handles the model or its image part. Ollama may then fall back to the CPU (`ollama ps` shows 100% CPU).",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "", "a download", steps["upgrade_version"]),
			either(when.Not(flashOn), does("enable_flash_attention", "Turn on flash attention", "", "free where the model supports it", steps["enable_flash_attention"])),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{threads + "13312", threads + "13303"},
	},
	{
		ID: "ollama/last-bytes", Kinds: ggml.BufferKinds, If: when.All(byOllama, when.Not(ledger.InHost), func(c *ledger.Case) bool { return ledger.Requested(c) > 0 && ledger.Requested(c) < 1<<20 }), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "could not get even {asked}: the GPU is full, or its driver has a problem",
		Means: "That is a tiny amount. Either the GPU is completely full, or the driver cannot give more allocations. The latter happens when an integrated and a dedicated GPU are used together through Vulkan.",
		Cures: []cause.Cure{
			either(onVulkan, does("select_gpu", "Use one GPU only", "Take the number of the dedicated GPU from the log's list of Vulkan devices: 0 or 1.", "free", func(c *ledger.Case) []step.Step { return server(c, "GGML_VK_VISIBLE_DEVICES=0") })),
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
