package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// HandleWords are those of ggml's CUDA backend where it makes a cuBLAS handle.
var HandleWords = []string{"cublas_handle", "cublasCreate_v2(&cublas_handles", "hipblasCreate(&cublas_handles"}

// HandleMeans says what it was.
const HandleMeans = "cuBLAS multiplies the matrices of a prompt. It sets up its handle at the first use, after model and context were placed, and needs some tens of MiB: most likely they already fill the GPU, alone or beside another program. The message has no sizes."

// restCards hold where none above does: what is known is the part of the model
// that was refused, or only where. Whatever the cause, they say what to try.
var restCards = []cause.Card{
	{
		ID: "llama.cpp/cublas-handle", Kinds: []fact.Kind{fact.CUDAHandle}, Said: HandleWords,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "filled the GPU: cuBLAS found no memory for its handle",
		Means: HandleMeans,
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", "https://github.com/ollama/ollama/issues/5395"},
	},
	{
		ID: "llama.cpp/mem-buffer", Kinds: ofGGML, Said: []string{"ctx->mem_buffer != NULL", "ctx->mem_buffer"}, If: hostSide, Figures: numbers, Headline: "was refused system memory (RAM) for the model",
		Means: "`mem_buffer` is the block of RAM that ggml takes for the tensors of a model or for the work on it, and it was refused[[: {asked}]]. The model with its work is larger than the RAM that is left (on Windows: RAM and page file together), or a limit stands in the way. It is not GPU memory.",
		Not:   "GPU settings: system memory was refused.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use a model file that fits", Told: "The file and 1 to 2 GB for context and work have to fit into the free RAM. A 7B model at 4 bit is about 4 GB; with 2 to 4 GB of RAM use 1B to 3B.", Cost: "lower quality"},
			ramWindows, ramLinux, moreSwap,
			as("lower_context", "Shorten the context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml.c", llamaThreads + "1813"}, Solved: 1,
	},
	{
		ID: "llama.cpp/state-cache", Kinds: ofGGML, Said: []string{"rs cache"}, Figures: numbers, Headline: "had no room for the state of its recurrent layers",
		Means: "This is a hybrid model (Mamba or linear attention beside attention). Its \"rs cache\" keeps one state of fixed size for each conversation that may run at the same time, however long it is. It comes after the weights, which left too little[[: {asked} was refused]].",
		Cures: []cause.Cure{
			told("lower_parallel", "Serve one request at a time", "Each slot less is one state less; llama-server has 4 by default in many versions.", "others wait"),
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "They take their states along to RAM.", "slower"),
			told("lower_context", "Shorten the context", "It leaves more room for the states.", "shorter conversations"),
			told("upgrade_version", "If it began with an update: try another version", "The newest one, or the one before.", "a download"),
		},
		Sources: []string{"llama.cpp/src/llama-memory-recurrent.cpp", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2321"},
	},
	{
		ID: "llama.cpp/compute-ram", Kinds: ofGGML, If: when.All(host("compute"), when.Not(diffuses)), Figures: numbers, Headline: "was refused {asked} of RAM for the work on a batch",
		Means: "Weights and cache were in place; the working memory for one batch of the prompt was refused, in RAM: {asked}. It grows with the physical batch size and, without flash attention, with the context as well.",
		Not:   "Fewer layers on the GPU: that needs more RAM.",
		Cures: []cause.Cure{
			told("enable_flash_attention", "Turn on flash attention", "The part that grows with the context is then not stored.", "free, where the device has it"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			told("lower_ubatch", "Lower the physical batch size", "", "slower prompts"),
			ramWindows, ramLinux,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c", "llama.cpp/src/llama-context.cpp"},
	},
	{
		ID: "llama.cpp/in-one-buffer", Kinds: refused, Said: []string{"clCreateBuffer", "CL_INVALID_BUFFER_SIZE"}, Figures: numbers, Headline: "asked for a buffer larger than the device allows",
		Means: "The OpenCL buffer is above the largest that this device allows, often a quarter of its memory, however much is free. The old OpenCL backend of llama.cpp (CLBlast, 2023) puts whole layers and the work of a batch into single buffers.",
		Not:   "Closing other programs: the limit is on a single buffer.",
		Cures: []cause.Cure{
			told("lower_ubatch", "Lower the batch size", "In builds of that time `-b 128`.", "slower prompts"),
			as("fewer_gpu_layers", "Put fewer layers on the GPU", "slower"),
			told("upgrade_version", "Use a CUDA, HIP, SYCL or Vulkan build", "CUDA, HIP, SYCL or Vulkan; CLBlast was taken out in 2024.", "a download"),
		},
		Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clCreateBuffer.html", "llama.cpp/ggml/src/ggml-opencl/ggml-opencl.cpp"},
	},
	{
		ID: "llama.cpp/pictures", Kinds: ofGGML, If: when.All(diffuses, onGPU), Figures: numbers, Headline: "ran out of GPU memory",
		Means: "[[{asked} was refused. ]]The log does not show clearly for what: loading the weights, which does not depend on the image, or a sampling step or the VAE decoding, which grow with it.",
		Cures: []cause.Cure{
			as("vae_tiling", "If the steps were done: turn on VAE tiling", "faint seams at most"),
			as("lower_resolution", "If it failed in a step: lower the resolution", "upscale afterwards"),
			as("cpu_offload", "If nothing was computed yet: keep weights in RAM", "slower"),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
			as("close_other_apps", "Close other programs that use that memory", "free"),
		},
		Sources: []string{"stable-diffusion.cpp/docs/performance.md"},
	},
	{
		ID: "llama.cpp/weights-refused", Kinds: ofGGML, If: when.All(onGPU, loading), Figures: numbers, Headline: "ran out of GPU memory while it loaded the model",
		Means: "[[{asked} was refused. ]]Either the weights and what comes with them are more than the GPU has, or something is on it already, often a model that was loaded before.",
		Cures: []cause.Cure{
			where(LayersKnown, told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower")),
			freeCard,
			where(when.Not(LayersKnown), told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower")),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
			told("lower_context", "Shorten the context, if the weights alone fit", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-backend.cpp", "llama.cpp/src/llama-model.cpp"},
	},
	{
		ID: "llama.cpp/cache-refused", Kinds: ofGGML, If: when.All(onGPU, when.In("kv_cache")), Figures: numbers,
		Headline: "had no room for its cache",
		Means:    "The weights were in place; the cache for the context comes next[[, and {asked} of it was refused]]. It grows with the context, and with how many conversations may run at the same time.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			told("lower_parallel", "Serve fewer requests at a time", "", "others wait"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/request-refused", Kinds: ofGGML, If: when.All(onGPU, when.In("inference")), Figures: numbers,
		Headline: "ran out of GPU memory at a request",
		Means:    "The model was loaded; then the work on a prompt or answer needed more[[: {asked}]]. That working memory grows with prompt and batch size, and the GPU had too little left beside weights and cache.",
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower"),
			told("lower_ubatch", "Lower the physical batch size", "", "slower prompts"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/refused-at-work", Kinds: ofGGML, If: onGPU, Figures: numbers,
		Headline: "ran out of GPU memory",
		Means:    "[[{asked} was refused. ]]The message does not say for what. If the model was loaded before, it is the work on a request, which grows with prompt and batch size; if not, it is the model itself. Either way what is on the GPU already leaves too little.",
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
}

// ofGGML are the refusals that ggml itself reports.
var ofGGML = []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime, fact.GGMLPool, fact.GGMLPlan, fact.GGMLMetal, fact.GGMLSYCL, fact.GGMLCannotRun, fact.LlamaGuard, fact.LlamaCaller}

// hostSide: RAM, or nothing that says a card's memory.
func hostSide(c *ledger.Case) bool {
	return (ledger.InHost(c) || c.Backend == "cpu" || c.Backend == "") && !diffuses(c)
}

var (
	ramWindows = cause.Cure{Fix: "raise_pagefile", If: reader.OnWindows, Title: "Close programs that use RAM, enlarge the page file", Told: "Windows refuses when \"Committed\" in Task Manager (Performance, Memory) is at its limit. Advanced system settings, Performance, Settings, Advanced, Virtual memory: system managed, on a drive with space; restart.", Cost: "disk space and a restart"}
	ramLinux   = cause.Cure{Fix: "close_other_apps", If: when.Not(reader.OnWindows), Title: "Close programs that use RAM", Told: "On Linux this shows them. Much \"available\" there means a limit instead (`ulimit -v`, a container's).", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head", Cost: "free"}
	moreSwap   = cause.Cure{Fix: "add_swap", If: when.Not(reader.OnWindows), Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "8 GB of disk; very slow"}
)
