package textgen

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	textgenCode   = "https://github.com/oobabooga/text-generation-webui/blob/main/modules/"
	textgenIssues = "https://github.com/oobabooga/text-generation-webui/issues/"
)

// torchFull are refusals of the card by PyTorch.
var torchFull = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError}

// inTab is a cure on the Model tab, and as a flag for every start.
func inTab(fix, title, tab, cost string, flags func(c *ledger.Case) []step.Change) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: tab, Cost: cost, Steps: func(c *ledger.Case) []step.Step {
		changes := flags(c)
		if step.Typed(c, "server.py") != nil || textgenSince(c) != 0 && textgenSince(c) < 202306 {
			return textgenFlags(c, changes...)
		}
		return []step.Step{{Kind: "text", Text: "To keep it for every start, add this to CMD_FLAGS.txt (in user_data/ since 2025):"}, {Kind: "config", Text: step.Edited(c, nil, changes...)}}
	}}
}

func flag(name string, value func(c *ledger.Case) string) func(c *ledger.Case) []step.Change {
	return func(c *ledger.Case) []step.Change { return []step.Change{{Flag: name, Value: value(c)}} }
}

func fixed(value string) func(c *ledger.Case) string {
	return func(*ledger.Case) string { return value }
}

// contextFlag is the flag for the context by loader; releases since April 2025
// have one name for all and take the older ones too.
func contextFlag(c *ledger.Case) []step.Change {
	name, value := "--max_seq_len", shorterContext(c)
	if loader(c) == "llama.cpp" || loader(c) == "" && c.In("llama.cpp") {
		name = "--n_ctx"
		if try, of := ggml.ContextToTry(c); of > 0 { // the compute buffer comes after the cache
			value = strconv.FormatInt(max(try*85/100/1024*1024, 1024), 10)
		}
	}
	if textgenSince(c) >= 202504 {
		name = "--ctx-size"
	}
	return []step.Change{{Flag: name, Value: value}}
}

// autoGPTQ: its loader's file, whose name holds that of GPTQ-for-LLaMa's.
func autoGPTQ(c *ledger.Case) bool { return c.Near("AutoGPTQ_loader") }

// autoLayers: the webui chose the layers itself, by what was free (2026).
func autoLayers(c *ledger.Case) bool {
	s, ok := c.Setting("gpu_layers")
	return ok && s.Value == "-1"
}

// wiredLimit is a sixth above the limit of macOS, which is two thirds or three
// quarters of the RAM.
func wiredLimit(c *ledger.Case) map[string]string {
	if l := c.F().Limit; l != nil {
		return map[string]string{"wired": strconv.FormatInt(l.Bytes*7/6/units.MiB/512*512, 10)}
	}
	return map[string]string{"wired": "YOUR_MB"}
}

// keepsLength: at 4 bit the cache fits as long as it was meant to be.
func keepsLength(c *ledger.Case) bool {
	try, of := ggml.ContextToTry(c)
	return of*9/32 <= try*9/10
}

// cacheBits are the most bits at which the cache keeps its length: 8.5 or 4.5 of
// 16, scales included.
func cacheBits(c *ledger.Case) string {
	if try, of := ggml.ContextToTry(c); of*17/32 > try*9/10 {
		return "q4_0"
	}
	return "q8_0"
}

var textgenUnload = cause.Cure{
	Fix: "close_other_apps", Title: "Unload other models and programs",
	Told: "Click Unload in the Model tab, or restart the webui. If `nvidia-smi` still shows more than about 1 GB in use, close other models, games or browsers.", Cost: "free",
}

var textgenGGUF = cause.Cure{
	Fix: "use_lower_quant", Title: "Use a GGUF file of the model", If: when.Not(isGGUF),
	Told: "Load a Q4_K_M file with the llama.cpp loader; layers that do not fit on the GPU can stay in RAM. It takes about 0.6 GB for each billion parameters[[ ({gguf} for {name})]].", Cost: "slight loss of quality",
}

var textgenLoadCards = []cause.Card{
	{
		ID: "text-generation-webui/gpu-layers", Kinds: []fact.Kind{fact.GGMLAlloc}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "weights" && !ledger.InHost(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: textgenSizes,
		Headline: "could not load the model: {asked} of weights did not fit on the GPU",
		Means:    "`n-gpu-layers` puts more layers on the GPU than fit. [[{whose} ]]The Python errors below it are only a consequence.[[ With a context of 4096 tokens there is room for {shares}.]]",
		Not:      "A shorter `n_ctx` alone: the weights come first. `load-in-4bit`: it is for the Transformers loader.",
		Cures: []cause.Cure{
			inTab("fewer_gpu_layers", "Put fewer layers on the GPU", "In the Model tab lower `n-gpu-layers` (`gpu-layers` since 2025): [[{fits}]]. Then Load. Raise it by 2 while 0.5 GB or more stays free.", "slower", flag("--n-gpu-layers", guessedLayers)),
			textgenUnload,
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation of the model", Told: "Or use a smaller model that fits completely: that runs faster than a larger one that is half in RAM.", Cost: "slight loss of quality"},
		},
		Sources: []string{textgenCode + "shared.py", textgenIssues + "5415"},
	},
	{
		ID: "text-generation-webui/llama-cache", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("kv"), when.Not(ggml.Uneven)), Figures: ggml.Numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "did not load: the KV cache[[ for {context} tokens]] did not fit beside the weights",
		Means:    "The weights are loaded; the KV cache of {asked} did not fit beside them. llama.cpp reserves it in full for `ctx-size`, even if no chat gets that long.",
		Not:      "`load-in-4bit`: it is for the Transformers loader. A shorter prompt: the cache has its full size from the start.",
		Cures: []cause.Cure{
			inTab("lower_context", "Lower the context: `ctx-size`", "In the Model tab lower `ctx-size` (before 2025 `n_ctx`), then Load.", "longer chats are cut", contextFlag),
			where(keepsLength, inTab("quantize_kv_cache", "Keep the length with an 8-bit or 4-bit cache", "In the Model tab set `cache-type`: q8_0 takes about half, q4_0 a bit more than a quarter.", "hardly any loss at q8_0", flag("--cache-type", cacheBits))),
			where(when.Not(keepsLength), inTab("quantize_kv_cache", "Use a 4-bit cache: three times the length fits", "In the Model tab set `cache-type` to q4_0 (with q8_0 about twice the length fits), and still lower `ctx-size`.", "some quality", flag("--cache-type", fixed("q4_0")))),
			inTab("fewer_gpu_layers", "Put fewer layers on the GPU", "In the Model tab lower `gpu-layers` (before 2025 `n-gpu-layers`). Their part of the cache moves to RAM with them.", "slower", flag("--n-gpu-layers", fewerLayers)),
		},
		Sources: []string{textgenCode + "shared.py", textgenCode + "llama_cpp_server.py"},
	},
	{
		ID: "text-generation-webui/metal", Kinds: []fact.Kind{fact.GGMLMetal}, Figures: wiredLimit,
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Headline: "ran out of the Mac's GPU memory after the model was loaded",
		Means:    "Weights, KV cache and working memory together need more than[[ the {limit} that]] macOS lets the GPU use. The KV cache grows with `ctx-size`, and is reserved in full.",
		Not:      "Fewer layers on the GPU: on a Mac they use the same memory.",
		Cures: []cause.Cure{
			inTab("lower_context", "Lower the context: `ctx-size`", "In the Model tab lower `ctx-size` (before 2025 `n_ctx`), then Load.", "longer chats are cut", roomyContext),
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation of the model", Told: "Take Q4_K_S or Q3_K_M instead of Q4_K_M, or a smaller model. File plus KV cache should stay 2 GB below the limit.", Cost: "some loss of quality"},
			{Fix: "raise_memory_limit", Title: "Raise the GPU memory limit of macOS", Told: "This lasts until the next restart. Leave at least 5 GB of the RAM to macOS.", Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb={wired}", Cost: "less RAM for everything else"},
		},
		Sources: []string{textgenCode + "llama_cpp_server.py", "llama.cpp/ggml/src/ggml-metal/ggml-metal-context.m"},
	},
	{
		ID: "text-generation-webui/working-memory", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLPlan, fact.LlamaCaller}, Said: []string{"failed to allocate compute buffers", "failed to allocate compute pp buffers", "graph_reserve: failed"},
		Cause: cause.ContextTooLong, Weight: cause.Strong, Figures: textgenSizes,
		Headline: "loaded the weights, then had too little memory left to work",
		Means:    "llama.cpp allocates the weights, then the KV cache, then working memory, and the last did not fit. A shorter context makes room for it. \"Failed to create llama_context\" is only a consequence.",
		Not:      "`--load-in-4bit`, `--auto-devices`: they are for the Transformers loader.",
		Cures: []cause.Cure{
			inTab("lower_context", "Shorten the context", "In the Model tab lower `n_ctx` (`ctx-size` since 2025), then Load.", "shorter conversations", contextFlag),
			{Fix: "lower_ubatch", Title: "Lower the prompt batch: `n_batch`", Told: "In the Model tab set `n_batch` to 128. It is `batch-size` since April 2025; since November set `ubatch-size` too.", Cost: "slower prompts"},
			inTab("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower", flag("--n-gpu-layers", fewerLayers)),
		},
		Sources: []string{textgenCode + "shared.py", textgenIssues + "6309"},
	},
	{
		ID: "text-generation-webui/exllama", Kinds: []fact.Kind{fact.ExLlamaSplit}, Figures: exllamaSizes,
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "could not fit weights and KV cache together on the GPU",
		Means:    exllamaMeans + "[[ {huge} Before April 2025 the webui used that length unless you set another.]]",
		Not:      "`cpu-memory`, `auto-devices`, `load-in-4bit`: they are for the Transformers loader. ExLlama runs on GPUs only.",
		Cures: bitsFirst(
			inTab("lower_context", "Shorten the context", "In the Model tab lower `max_seq_len` (`ctx-size` since 2025), then Load.[[ At {less} tokens the cache is {small}.]]", "older parts of a long chat are cut off", contextFlag),
			inTab("quantize_kv_cache", "Use a quantised KV cache", "In the Model tab set `cache_type` (before December 2024: tick `cache_4bit`). q8 takes about half, q4 about a quarter.", "hardly any loss of quality at q8", textgenCacheFlag),
		),
		Sources: []string{exllamaV2 + "model.py", exllamaV3 + "model/model_ls.py", textgenCode + "shared.py", textgenIssues + "6267"},
	},
	{
		ID: "text-generation-webui/split", Kinds: torchFull, Phases: []string{"load"}, If: func(c *ledger.Case) bool {
			return severalSplit(c) && (strings.HasPrefix(loader(c), "exllama") || c.Near("ExLlama_loader", "ExLlamaCache"))
		},
		Cause: cause.DeviceImbalance, Weight: cause.Strong,
		Headline: "filled a GPU while loading: `gpu-split` leaves too little room beside the weights",
		Means:    "`--gpu-split {gpu_split}` counts only the weights. KV cache and buffers come on top, most of them on the first GPU.",
		Not:      "Larger numbers: they put even more weights there.",
		Cures: []cause.Cure{
			inTab("balance_split", "Give the first GPU less: `--gpu-split`", "", "a trial or two", func(c *ledger.Case) []step.Change { return []step.Change{{Flag: "--gpu-split", Value: lessOnFirst(c)}} }),
			{Fix: "lower_context", Title: "Shorten the context", If: newerExLlama, Cost: "older parts of a long chat are cut off"},
			{Fix: "use_lower_quant", Title: "Use a build with fewer bits per weight", If: newerExLlama, Told: exllamaBits.Told, Cost: exllamaBits.Cost},
			{Fix: "use_smaller_model", Title: "Use a smaller model", If: when.Not(newerExLlama), Told: "GPTQ files are usually 4 bit already. 13B takes about 7.5 GB, 33B 17, 65B and 70B 36, plus 2 to 5 for the KV cache.", Cost: "some loss of quality"},
		},
		Sources: []string{textgenCode + "shared.py", textgenIssues + "2752"},
	},
	{
		ID: "text-generation-webui/gptq", Kinds: torchFull, Phases: []string{"load"}, Said: []string{"GPTQ_loader.py", "in load_quantized", "AutoGPTQ_loader"}, Figures: textgenSizes,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not load: the GPTQ weights do not fit on the GPU",
		Means:    "The GPU was full before all weights were on it.[[ {name} takes about {quarter} at 4 bit.]] A conversation needs 1 to 2 GB more. GPTQ files are usually 4 bit already, so there is hardly a smaller one of the same model.",
		Not:      "`--load-in-8bit`, `--load-in-4bit`: they are for 16-bit models. A shorter context alone: the weights come first.",
		Cures: []cause.Cure{
			where(autoGPTQ, inTab("cpu_offload", "Keep some layers off the GPU: `gpu-memory`", "In the Model tab set AutoGPTQ's `gpu-memory` 2 to 3 GB below the size of the GPU; the rest goes to RAM.", "many times slower", flag("--gpu-memory", gpuMemory))),
			where(when.Not(autoGPTQ), inTab("cpu_offload", "Keep some layers off the GPU: `pre_layer`", "`pre_layer` is the number of layers on the GPU. Halve it until it loads.", "many times slower", flag("--pre_layer", fewerLayers))),
			textgenGGUF,
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit a 7B model takes about 4 GB, 13B 7.5, 30B 17. Leave 2 GB of the GPU free."},
		},
		Sources: []string{"https://github.com/oobabooga/text-generation-webui/blob/v1.5/modules/GPTQ_loader.py", textgenIssues + "912", textgenIssues + "1536"},
	},
	exllamaWeights, exllamaOpen,
	tooLarge("text-generation-webui/transformers", []string{"load"}, nil, nil),
	tooLarge("text-generation-webui/moved", nil, moves, movesModule),
	{
		ID: "text-generation-webui/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: textgenSizes,
		Headline: "ran out of the Mac's GPU memory",
		Means:    "A Mac's GPU shares the RAM and may use only part of it. The Transformers loader keeps the model at 16 bit: 2 GB for each billion parameters[[, {full} for {name}]].",
		Not:      "`load-in-4bit`, `load-in-8bit`: in the webui they work on NVIDIA GPUs only.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Use llama.cpp with a GGUF file", Told: "Q4_K_M takes about a third of that and runs on the Mac's GPU. The webui chooses the llama.cpp loader for `.gguf` files by itself.", Cost: "slight loss of quality"},
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "With 16 GB of RAM: 7B or 8B at 4 bit. With 32 GB: up to 30B."},
			{Fix: "close_other_apps", Title: "Close other programs that use memory", Told: "Look in Activity Monitor, Memory; browsers first.", Cost: "free"},
		},
		Sources: []string{textgenCode + "transformers_loader.py", textgenIssues + "4676"},
	},
}

// textgenCacheFlag keeps the cache at fewer bits, by the release's own name.
func textgenCacheFlag(c *ledger.Case) []step.Change {
	if since := textgenSince(c); loader(c) == "exllamav3" || since >= 202412 {
		return []step.Change{{Flag: "--cache_type", Value: "q4"}}
	}
	return []step.Change{{Flag: "--cache_4bit"}}
}

// isGGUF: the model is a GGUF file, which llama.cpp loads.
func isGGUF(c *ledger.Case) bool {
	return loader(c) == "llama.cpp" || strings.Contains(strings.ToLower(c.ModelName()), "gguf")
}

// cacheInBits keeps the cache of the newer ExLlama loaders at fewer bits.
var cacheInBits = cause.Cure{
	Fix: "quantize_kv_cache", Title: "Use a quantised KV cache", If: func(c *ledger.Case) bool { return strings.HasPrefix(loader(c), "exllamav") },
	Told: "In the Model tab set `cache_type` (before December 2024: tick `cache_4bit`). q8 takes about half, q4 about a quarter.", Cost: "hardly any loss of quality at q8",
}

// newerExLlama: the loader is ExLlamaV2 or V3, which reads builds of fewer bits.
func newerExLlama(c *ledger.Case) bool { return loader(c) != "exllama" && loader(c) != "exllama_hf" }

func severalSplit(c *ledger.Case) bool {
	s, ok := c.Setting("gpu_split", "gs")
	return ok && len(splitSizes(s.Value)) > 1
}

// textgenCards are text-generation-webui's.
var textgenCards = slices.Concat(textgenHostCards, textgenLoadCards, textgenRunCards, []cause.Card{overCard})

// textgenHostCards are about system memory.
var textgenHostCards = []cause.Card{
	{
		ID: "text-generation-webui/gptq-ram", Kinds: []fact.Kind{fact.CPUAlloc, fact.CommitLimit}, Said: []string{"AutoGPTQ_loader.py", "GPTQ_loader.py", "in load_quantized", "in load_quant", "make_quant", "GPTQ-for-LLaMa", "native-4bit-128g"}, Figures: gptqSizes,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM and page file while loading a GPTQ model",
		Means:    "This is system RAM, not GPU memory. {loaded_how}[[ {windows_counts}]]",
		Not:      "`--pre_layer`, `--gpu-memory`, `--load-in-4bit`: they are about GPU memory.",
		Cures:    hostCures("use_lower_quant", "Use a loader that makes no 16-bit copy", "ExLlama reads the same GPTQ files (loader `ExLlama`, webui from June 2023 on). Or load a GGUF file with llama.cpp, which does not copy it into RAM.", "a download or update"),
		Sources:  []string{"https://github.com/oobabooga/text-generation-webui/blob/v1.5/modules/GPTQ_loader.py", textgenIssues + "429", textgenIssues + "2093"}, Solved: 3,
	},
	{
		ID: "text-generation-webui/ram", Kinds: []fact.Kind{fact.CPUAlloc, fact.CommitLimit}, Figures: textgenSizes,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not GPU memory",
		Means:    "A model passes through system RAM while it loads, usually at 16 bit[[: {full} for {name}]]. A single `.bin` or `.pt` file needs twice its size for a moment. On Windows RAM plus page file counts.",
		Not:      "`--gpu-memory`, `--load-in-4bit`: the weights pass through RAM first.",
		Cures:    hostCures("use_lower_quant", "Use a GGUF or safetensors file", "A GGUF file (Q4_K_M) with llama.cpp is a third of the size and is not copied into RAM. For 16-bit models use `.safetensors`, not `.bin`.", "slight loss of quality"),
		Sources:  []string{textgenCode + "models.py", textgenIssues + "2093", textgenIssues + "1009"}, Solved: 2,
	},
	{
		ID: "text-generation-webui/vanished", Kinds: []fact.Kind{fact.SilentDeath}, Figures: textgenSizes,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ended without an error while loading a model: usually RAM and page file ran out",
		Means:    "The program stopped without an error while loading. On Windows that usually means that RAM and page file were full.[[ {name} is {full} at 16 bit, and older GPTQ loaders build all of that in RAM first.]] Watch \"Committed\" in Task Manager (Performance, Memory) while it loads.",
		Not:      "`--load-in-4bit`, `--gpu-memory`: the weights pass through RAM first.",
		Cures:    hostCures("use_lower_quant", "Use ExLlama or a GGUF file", "Use ExLlama for GPTQ files, or a GGUF file of the model with llama.cpp.", "a download or update"),
		Sources:  []string{textgenIssues + "2506", textgenIssues + "1581", textgenIssues + "2384"}, Solved: 4,
	},
	{
		ID: "text-generation-webui/cpu-only", Kinds: []fact.Kind{fact.ShellKilled, fact.CPUAlloc, fact.ServerKilled}, Said: []string{"libbitsandbytes_cpu.so", "was compiled without GPU support", "CUDA extension not installed"}, Figures: textgenSizes,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM): this installation does not use the GPU",
		Means:    "This installation has no GPU support (the log says so), so it runs on the CPU. The model needs more RAM than there is[[: {full} for {name} at 16 bit, twice that at 32 bit]].",
		Not:      "GPU settings: the GPU is not used at all.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "With an NVIDIA GPU: reinstall with CUDA", Told: "Check that `nvidia-smi` shows the GPU. Then delete `installer_files`, run the start script again and choose NVIDIA.", Cost: "a download of some GB"},
			{Fix: "use_lower_quant", Title: "Without one: use a GGUF file with llama.cpp", Told: "Q4_K_M needs about 0.6 GB of RAM for each billion parameters[[: {gguf} for {name}]].", Cost: "slight loss of quality"},
			as("add_swap", "Add swap", "disk space; slow"),
		},
		Sources: []string{textgenIssues + "2509"},
	},
	{
		ID: "text-generation-webui/killed", Kinds: []fact.Kind{fact.ShellKilled, fact.ServerKilled}, Figures: textgenSizes,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed{moment}: system memory (RAM) ran out",
		Means:    "The system killed it because system RAM was full; this is not about GPU memory. A model passes through RAM while it loads[[: {full} for {name} at 16 bit]]. `sudo dmesg -T | grep -i oom` confirms it. In Docker, WSL or Colab their own memory limit counts.",
		Cures: []cause.Cure{
			textgenGGUF,
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation of the model", If: isGGUF, Told: "Or raise `n-gpu-layers`, if the GPU has room.", Cost: "slight loss of quality"},
			as("add_swap", "Add swap", "disk space; loading takes longer"),
			as("raise_memory_limit", "In Docker or WSL: raise the memory limit", "less for the others"),
		},
		Sources: []string{textgenIssues + "2509"},
	},
}

// hostCures are for RAM and page file, on Windows or elsewhere.
func hostCures(fix, title, told, cost string) []cause.Cure {
	windows := when.Any(reader.OnWindows, when.Root(fact.SilentDeath))
	return []cause.Cure{
		{Fix: "raise_pagefile", Title: "Enlarge the Windows page file", If: windows, Cost: "disk space, and a restart"},
		{Fix: "add_swap", Title: "Add swap", If: when.Not(windows), Cost: "disk space"},
		{Fix: "close_other_apps", Title: "Free RAM", Told: "Close browsers, games, other AI programs and WSL (`wsl --shutdown`). Sort Task Manager's Details by Commit size.", If: windows, Cost: "free"},
		{Fix: fix, Title: title, Told: told, Cost: cost},
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "A 7B model needs about half the memory of a 13B model."},
	}
}

// textgenRunCards are about generating.
var textgenRunCards = []cause.Card{
	cublasCard,
	{
		ID: "text-generation-webui/training", Kinds: torchFull, Said: []string{"modules/training.py", `modules\training.py`, "trainer.train()"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while training a LoRA",
		Means:    "Training needs the base model, the LoRA's gradients and optimizer state, and the activations of a micro batch on the GPU. The activations grow with Micro Batch Size times Cutoff Length.",
		Not:      "A smaller Batch Size alone: only Micro Batch Size is processed at once.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower Micro Batch Size and Cutoff Length", Told: "In the Training tab halve Micro Batch Size until it is 1, then halve Cutoff Length (such as 256). LoRA Rank 8 to 32 is usually enough.", Cost: "slower"},
			inTab("load_in_4bit", "Load the base model in 4 bit: `load-in-4bit`", "In the Model tab, with the Transformers loader, tick `load-in-4bit`, then Load and train.", "slight loss of quality", flag("--load-in-4bit", fixed(""))),
			{Fix: "restart_session", Title: "Restart the webui, and train before chatting", Told: "An earlier chat or model may still take GPU memory. Load the base model and start training at once.", Cost: "free"},
			{Fix: "use_smaller_model", Title: "Use a smaller base model", Told: "A 7B model in 4 bit trains with 8 to 10 GB."},
		},
		Sources: []string{textgenCode + "training.py"},
	},
	{
		ID: "text-generation-webui/contrastive", Kinds: torchFull, Said: []string{"self.contrastive_search(", "self._contrastive_search(", "in contrastive_search", "in _contrastive_search"}, Figures: textgenSizes,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "loaded the model, then ran out of GPU memory because contrastive search is on",
		Means:    "The preset sets `penalty_alpha` above 0. Contrastive search then works on `top_k` candidates for each token, with a copy of the KV cache for each.[[ The prompt had {prompt} tokens.]]",
		Not:      "[[`gpu-memory` ({gpu_memory}) just below what is used: it moves nothing.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Turn contrastive search off: `penalty_alpha` 0", Told: "Set it in the Parameters tab, or choose another preset. To keep contrastive search, set `top_k` to 2 or 3.", Cost: "other answers"},
			textgenGGUF,
			where(manyOthers, textgenUnload),
		},
		Sources: []string{textgenCode + "shared.py", "https://github.com/huggingface/transformers/blob/v4.28.0/src/transformers/generation/utils.py", textgenIssues + "1466"},
	},
	{
		ID: "text-generation-webui/no-token", Kinds: torchFull, Phases: []string{"inference"}, Said: []string{", 0 tokens, context "}, If: ledger.FillsCard, Figures: textgenSizes,
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Headline: "loaded the model, then had too little GPU memory left for the first token",
		Means:    "This program already held {mine} of {total}. `context` in that line is the length of the prompt. If it is below a few hundred, the model itself is too large; with a thousand or more, a shorter prompt may be enough.",
		Cures: []cause.Cure{
			textgenGGUF,
			inTab("load_in_4bit", "Load it in 4 bit: `load-in-4bit`", "In the Model tab, with the Transformers loader, tick `load-in-4bit`, then Load. It does not work for GPTQ, AWQ or EXL2 files.", "slight loss of quality", flag("--load-in-4bit", fixed(""))),
			{Fix: "lower_context", Title: "With a long prompt: shorten the chat", Told: "In the Parameters tab set \"Truncate the prompt up to this length\" to {to}, or start a new chat.", Cost: "it forgets older parts"},
		},
		Sources: []string{textgenCode + "shared.py", textgenIssues + "1041"},
	},
	noFlash("text-generation-webui/no-flash", cause.Cure{Fix: "lower_context", Title: "Shorten the prompt", Told: "In the Parameters tab set \"Truncate the prompt up to this length\" to {to}, or start a new chat.", Cost: "it forgets older parts"}, cacheInBits),
	onPrompt("text-generation-webui/prompt", []string{"inference"}, nil),
	onPrompt("text-generation-webui/prompt-frames", nil, []string{"in gentask", "in generate_with_callback", "in generate_with_streaming", "in generate_reply", "text_generation.py"}),
	{
		ID: "text-generation-webui/llama-run", Kinds: []fact.Kind{fact.GGMLRuntime}, Headline: "ran out of GPU memory in llama.cpp",
		Means: "When it fails tells you why. While loading: too many layers are on the GPU. On the first or a long prompt: the layers leave too little room for the work. Only later: another program may have taken memory.",
		Not:   "`load-in-4bit`: it is for the Transformers loader.",
		Cures: []cause.Cure{
			where(autoLayers, inTab("fewer_gpu_layers", "Leave more of the GPU free: `fit-target`", "`gpu-layers` is on automatic (-1), which leaves 512 MiB free by default. Raise `fit-target`, or set `gpu-layers` below the N in the log's line `offloaded N/M layers`.", "slightly slower", flag("--fit-target", fixed("2048")))),
			where(when.Not(autoLayers), inTab("fewer_gpu_layers", "Put fewer layers on the GPU", "In the Model tab set `n-gpu-layers` (`gpu-layers` since 2025) to three quarters of the N in the log's line `offloaded N/M layers to GPU`. Raise it again while 0.5 GB stays free.", "slower", flag("--n-gpu-layers", fewerLayers))),
			inTab("lower_context", "If it fails on prompts: shorten the context", "In the Model tab lower `n_ctx` (`ctx-size` since 2025), and set `n_batch` to 128.", "shorter conversations", contextFlag),
			textgenUnload,
		},
		Sources: []string{textgenCode + "shared.py", textgenIssues + "4890"},
	},
}

// onPrompt is about a prompt that was too much, by the phase or by the frames of
// the webui's own generating.
func onPrompt(id string, phases, said []string) cause.Card {
	return cause.Card{
		ID: id, Kinds: torchFull, Phases: phases, Said: said, Unsaid: []string{"modules/training.py", `modules\training.py`, "in load_model"}, Figures: textgenSizes,
		Headline: "loaded the model, then ran out of GPU memory on a prompt",
		Means:    "KV cache and working memory grow with every token of the prompt, including chat history and character.[[ This prompt had {prompt} tokens.]][[ {brief}]] If even the first short prompt fails, the model itself is too large for this GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_context", If: when.Not(briefPrompt), Title: "Shorten the prompt", Told: "In the Parameters tab set \"Truncate the prompt up to this length\" (before June 2023 \"Maximum prompt size in tokens\") to {to} and `max_new_tokens` to 200. Or start a new chat.", Cost: "it forgets older parts"},
			cacheInBits, textgenGGUF,
			where(briefPrompt, inTab("load_in_4bit", "Load it in 4 bit: `load-in-4bit`", "In the Model tab, with the Transformers loader, tick `load-in-4bit`, then Load. It does not work for GPTQ, AWQ or EXL2 files.", "slight loss of quality", flag("--load-in-4bit", fixed("")))),
			where(gptqForLLaMa, inTab("cpu_offload", "Keep some layers off the GPU: `pre_layer`", "`pre_layer` is the number of layers on the GPU. Halve it until it runs.", "many times slower", flag("--pre_layer", fewerLayers))),
			where(when.Not(gptqForLLaMa), inTab("cpu_offload", "Keep part of the weights off the GPU: `gpu-memory`", "With the Transformers loader set `gpu-memory` 2 to 3 GB below the size of the GPU (releases before v3.0, April 2025).", "slower", func(c *ledger.Case) []step.Change {
				return []step.Change{{Flag: "--auto-devices"}, {Flag: "--gpu-memory", Value: gpuMemory(c)}}
			})),
		},
		Sources: []string{textgenCode + "shared.py", textgenIssues + "1041"},
	}
}
