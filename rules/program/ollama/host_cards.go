package ollama

import (
	"cmp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
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
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "did not start the model: {asked} of context did not fit in system memory",
		Means: "The cache for the context is divided like the layers, and the part that stays in RAM, {asked}, was refused.[[ It is made for {tokens} tokens.]] Nobody may have asked for so long a context: since 0.15.5 a card of 24 GiB gets 32k tokens by itself, 48 GiB 256k, and front ends send their own.",
		Not:   "Fewer layers on the card: that moves more of the cache into RAM.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "A `num_ctx` that a front end sends wins over this: lower it there.", "shorter conversations", context),
			does("quantize_kv_cache", "Use an 8-bit KV cache: about half of {asked}", "", "hardly any loss; needs flash attention", steps["quantize_kv_cache"]),
			either(onWindows, pagefile), either(when.Not(onWindows), unload),
		},
		Sources: []string{"ollama/docs/context-length.mdx", threads + "16968"},
	},
	{
		ID: "ollama/host-windows", Kinds: ggml.RefusedKinds, If: when.All(byOllama, onWindows, ggml.Host("weights", "")), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: Windows had no more memory to promise",
		Means:   "It is system memory that refused[[ {asked}]], for the layers that stay off the card. Windows counts what all programs have reserved against RAM and page file together, so this fails while Task Manager still shows free RAM; Performance, Memory, Committed shows that sum.",
		Not:     "A larger graphics card setting or fewer layers on the card: they need more RAM.",
		Cures:   []cause.Cure{unload, pagefile, as("use_smaller_model", "Use a smaller model", "lower quality")},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", threads + "12634"},
	},
	{
		ID: "ollama/host", Kinds: ggml.RefusedKinds, If: when.All(byOllama, when.Not(onWindows), ggml.Host("weights", ""), when.Not(pinned)), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "did not load the model: system memory (RAM) was refused",
		Means: "It is system memory that refused[[ {asked}]], for the layers that stay off the card: RAM and swap are used up, or a limit on the service or container is reached. The card is not what is short.",
		Not:   "Fewer layers on the card: they would need more RAM.",
		Cures: []cause.Cure{
			unload, as("use_smaller_model", "Use a smaller model", "lower quality"),
			says("raise_memory_limit", "Raise the memory limit, if there is one", "`docker update --memory 24g --memory-swap 24g ollama`; a service: `systemctl show ollama -p MemoryMax`; WSL: `memory=` below `[wsl2]` in .wslconfig.", "only if the machine has it"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp"},
	},
	{
		ID: "ollama/piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(byOllama, ggml.Device("weights", "")), Figures: loadFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "met a limit of the Vulkan driver: no single buffer of {asked}",
		Means: "Free memory is not what is short: this driver gives no single buffer above its limit (4 GiB as a rule), and one tensor of the model is {asked}. Gemma 3n and 4 have such a table of embeddings. Ollama's retries with fewer layers (\"applying backoff\") meet the same tensor each time.",
		Not:   "A shorter context, closing programs: the tensor keeps its size.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
			says("use_lower_quant", "Use a smaller quantisation of the model", "The table is 16 bit in some files; one where it is 8 or 4 bit is a half or a quarter, below the limit. Their tags are on the model's page at ollama.com/library.", "slight loss of quality"),
			does("fewer_gpu_layers", "Run it on the CPU", "", "slower", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", threads + "16130"},
	},
	{
		ID: "ollama/unified", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Shared, ggml.Device("weights", "")), Figures: loadFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "asked integrated graphics for {asked}: more than the driver gives",
		Means: "The {card} has no memory of its own: what it may take of the computer's RAM is set in the BIOS and by the driver, and {asked} in one piece was more than that, however much RAM is free. Versions 0.11.5 to 0.24 then try again with fewer layers (\"applying backoff\"): if the model answers, only speed is lost.",
		Not:   "Killing programs that use little: the limit is the driver's.",
		Cures: []cause.Cure{
			{Fix: "raise_pagefile", Title: "Give the graphics driver more memory", Cost: "disk space, less RAM for programs", Ways: []cause.Way{
				{For: "Windows", Text: "Virtual memory on System managed size (Settings, System, About, Advanced system settings, Performance), for Windows backs graphics memory with it; AMD Software, Performance, Tuning: Variable Graphics Memory"},
				{For: "Linux", Text: "BIOS: UMA frame buffer size; AMD: kernel option `ttm.pages_limit` (4-KiB pages: 15728640 is 60 GiB)"},
			}},
			does("close_other_apps", "See what else takes RAM", "`ollama stop NAME` unloads a model that it lists; close what is large.", "free", look),
			does("upgrade_version", "Update Ollama and the graphics driver", "", "a download", steps["upgrade_version"]),
		},
		Sources: []string{threads + "12752", "linux/drivers/gpu/drm/ttm/ttm_pool.c"},
	},
	{
		ID: "ollama/unit-killed", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD}, If: byOllama,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was ended by Linux: system memory (RAM) ran out",
		Means: "The kernel ended Ollama's service because RAM was full, or because the service or its container reached a limit of its own. What does not fit on a graphics card lies in RAM, with its cache and working memory, for every model that is loaded. `sudo journalctl -k | grep -i constraint` tells which: CONSTRAINT_NONE is the whole machine, CONSTRAINT_MEMCG a limit.",
		Not:   "Fewer layers on the card: they would need more RAM.",
		Cures: []cause.Cure{
			unload, as("use_smaller_model", "Use a smaller model", "lower quality"),
			says("add_swap", "Add swap, or raise the service's limit", "If it was the whole machine, swap: `sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`. A limit of the service: `MemoryMax=` with `sudo systemctl edit ollama`.", "disk space; slow once it is used"),
		},
		Sources: []string{"ollama/llm/server.go", threads + "11231"},
	},
	{
		ID: "ollama/processor-graphics", Kinds: ggml.FullKinds, If: when.All(byOllama, ggml.OddCard),
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Headline: "used the processor's own graphics beside the card, and that ran full",
		Means: "The device that failed is the processor's own graphics, which has little memory of its own. Ollama gave it a part of the model beside the real card, which may have room.",
		Not:   "A smaller model: the real card may have room.",
		Cures: []cause.Cure{
			does("select_gpu", "Use the dedicated GPU only", "", "free", realCard),
			does("fewer_gpu_layers", "Put fewer layers on the GPU if it still fails", "", "slower", layers),
			as("upgrade_version", "Update Ollama", "a download"),
		},
		Sources: []string{"ollama/docs/gpu.mdx", threads + "738"},
	},
	{
		ID: "ollama/absurd", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.AbsurdGraph), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Likely, Headline: "asked for {asked} of working memory, which this context does not need",
		Means: "{asked} of working memory[[ for a context of {tokens} tokens]] is out of all proportion. It is a fault in how this version plans the model, or its image part, which some versions count in full; fewer layers do not make it smaller, so that Ollama may end on the processor (`ollama ps` says 100% CPU).",
		Not:   "A smaller quantisation: the weights are not what is large.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "", "a download", steps["upgrade_version"]),
			does("enable_flash_attention", "Turn on flash attention", "", "free where the model has it", steps["enable_flash_attention"]),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{threads + "13312", threads + "13303"},
	},
	{
		ID: "ollama/last-bytes", Kinds: ggml.BufferKinds, If: when.All(byOllama, when.Not(ledger.InHost), func(c *ledger.Case) bool { return ledger.Requested(c) > 0 && ledger.Requested(c) < 1<<20 }), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "was refused {asked}: the device is full to the last byte, or refuses for another reason",
		Means: "{asked} is nothing: a device that refuses it is full to the last byte, or the driver has no more allocations to give, which two different devices used together through Vulkan (integrated and real graphics) run into. The size says nothing of the model.",
		Cures: []cause.Cure{
			does("select_gpu", "Use one device only", "0 or 1: the number of the real card in the log's list of Vulkan devices.", "free", func(c *ledger.Case) []step.Step { return server(c, "GGML_VK_VISIBLE_DEVICES=0") }),
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
