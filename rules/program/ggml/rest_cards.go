package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// HandleWords are those of ggml's CUDA backend where it makes a cuBLAS handle.
var HandleWords = []string{"cublas_handle", "cublasCreate_v2(&cublas_handles", "hipblasCreate(&cublas_handles"}

// HandleMeans says what it was.
const HandleMeans = "cuBLAS is NVIDIA's library for matrix multiplication. It starts at its first use, after model and context were loaded, and needs only some tens of MiB. So the GPU is most likely full already: with this model, or with another program beside it."

// restCards hold where none above does: what is known is the part of the model
// that was refused, or only where. Whatever the cause, they say what to try.
var restCards = []cause.Card{
	{
		ID: "llama.cpp/cublas-handle", Kinds: []fact.Kind{fact.CUDAHandle}, Said: HandleWords,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "left too little GPU memory for cuBLAS to start", Figures: numbers,
		Means: HandleMeans,
		Cures: []cause.Cure{
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", "https://github.com/ollama/ollama/issues/5395"},
	},
	{
		ID: "llama.cpp/mem-buffer", Kinds: ofGGML, Said: []string{"ctx->mem_buffer != NULL", "ctx->mem_buffer"}, If: hostSide, Figures: numbers, Headline: "did not get enough system memory (RAM) for the model",
		Means: "`mem_buffer` is the block of RAM for the model or the work on it, and the system refused it[[ ({asked})]]. The model needs more RAM than is left (on Windows: RAM and page file together), or a memory limit is set. It is not about GPU memory.",
		Not:   "GPU settings: this is system RAM.",
		Cures: []cause.Cure{
			where(func(c *ledger.Case) bool { return c.Signal(fact.InContainer) != nil }, cause.Cure{Fix: "raise_memory_limit", Title: "Give the container more memory", Told: "Docker Desktop: Settings, Resources, Memory. On Linux: `mem_limit` in the compose file, if one is set. Allow the model's file and 2 GB, or twice the file if the model was loaded once before: the server then loads it again. This shows the limit:", Kind: "shell", Text: "docker stats --no-stream", Cost: "less for other programs"}),
			{Fix: "use_smaller_model", Title: "Use a smaller model file", Told: "The file plus 1 to 2 GB must fit into free RAM. A 7B model at 4 bit is about 4 GB; with 4 GB of RAM use a 1B to 3B model.", Cost: "lower quality"},
			ramWindows, ramLinux, moreSwap, as("lower_context", "Shorten the context", "shorter conversations"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml.c", llamaThreads + "1813"}, Solved: 1,
	},
	{
		ID: "llama.cpp/state-cache", Kinds: ofGGML, Said: []string{"rs cache"}, Figures: numbers, Headline: "had too little memory left for the state of the model's recurrent layers",
		Means: "This model has recurrent layers (such as Mamba or linear attention). Their \"rs cache\" holds one state of fixed size for each conversation at the same time. It is allocated after the weights, which left too little room.",
		Cures: []cause.Cure{
			where(when.Not(load.OneSlot), told("lower_parallel", "Serve one request at a time", "Each slot needs its own state, and many versions of llama-server have 4 slots by default:", "others wait")),
			told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slower"),
			smallerQuant, smallerInstead,
			told("lower_context", "Shorten the context", "The state stays as large, but the KV cache beside it shrinks.", "shorter conversations"),
			told("upgrade_version", "If it began with an update: try another version", "Take the newest one, or go back to the one before.", "a download"),
		},
		Sources: []string{"llama.cpp/src/llama-memory-recurrent.cpp", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2321"},
	},
	{
		ID: "llama.cpp/compute-ram", Kinds: ofGGML, If: when.All(host("compute"), above(1), when.Not(diffuses)), Figures: numbers, Headline: "did not get {asked} of system memory (RAM) for its work",
		Means: "Weights and KV cache fitted; the working memory for one batch of the prompt did not. This is RAM, not GPU memory. It grows with the physical batch size and, without flash attention, with the context too.",
		Not:   "Fewer layers on the GPU: that needs more RAM.",
		Cures: []cause.Cure{
			told("enable_flash_attention", "Turn on flash attention", "It then no longer grows with the context:", "free, where the device supports it"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			told("lower_ubatch", "Lower the physical batch size", "", "slower prompts"),
			ramWindows, ramLinux,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-alloc.c", "llama.cpp/src/llama-context.cpp"},
	},
	{
		ID: "llama.cpp/in-one-buffer", Kinds: refused, Said: []string{"clCreateBuffer", "CL_INVALID_BUFFER_SIZE"}, Figures: numbers, Headline: "could not create a buffer on the OpenCL device",
		Means: "Either the device is full, or the buffer is larger than it allows (error -61). OpenCL devices limit each single buffer, often to a quarter of their memory. The old OpenCL backend of llama.cpp (CLBlast, 2023) exceeds that easily.",
		Not:   "Closing other programs, if the error is -61.",
		Cures: []cause.Cure{
			does("lower_ubatch", "Lower the batch size: `-b 128`", "text", "Builds of that time read 512 tokens at once by default.", "slower prompts"),
			told("upgrade_version", "Or use a newer build with CUDA, HIP, SYCL or Vulkan", "The CLBlast backend was removed in 2024. Old `.bin` models need a GGUF file of the same model.", "a download"),
			as("fewer_gpu_layers", "Or put fewer layers on the GPU", "slower"),
		},
		Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clCreateBuffer.html", "llama.cpp/ggml/src/ggml-opencl/ggml-opencl.cpp"},
	},
	{
		ID: "llama.cpp/pictures", Kinds: ofGGML, If: when.All(diffuses, onGPU), Figures: numbers, Headline: "ran out of GPU memory",
		Means: "The log does not show clearly at which point. Loading the weights needs the same memory for any image; the sampling steps and the final VAE decoding need more for a larger image.",
		Cures: []cause.Cure{
			as("vae_tiling", "If it failed after the last step: turn on VAE tiling", "faint seams at most"),
			as("lower_resolution", "If it failed during the steps: lower the resolution", "upscale afterwards"),
			as("cpu_offload", "If it failed before the first step: keep weights in RAM", "slower"),
			as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality"),
			as("close_other_apps", "Close other programs that use the GPU", "free"),
		},
		Sources: []string{"stable-diffusion.cpp/docs/performance.md"},
	},
	{
		ID: "llama.cpp/weights-refused", Kinds: ofGGML, If: when.All(onGPU, loading), Figures: numbers, Headline: "ran out of GPU memory while it loaded the model",
		Means: "Either the model is too large for this GPU, or something else already uses part of it, often a model that was loaded before.",
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
		Headline: "had too little GPU memory left for the KV cache",
		Means:    "The weights were loaded; the KV cache comes next and did not fit. It grows with the context length and, in many versions, with the number of slots.",
		Cures: []cause.Cure{
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			told("lower_parallel", "Serve fewer requests at a time", "", "others wait"),
			told("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower"),
		},
		Sources: []string{"llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "llama.cpp/request-refused", Kinds: ofGGML, If: when.All(onGPU, when.In("inference")), Figures: numbers,
		Headline: "loaded the model, then ran out of GPU memory at a request",
		Means:    "Each prompt or answer needs some working memory beside weights and KV cache, and the GPU had too little left for it. It grows with the prompt and the batch size.",
		Cures: []cause.Cure{
			where(when.Not(onMetal), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			where(onMetal, told("lower_context", "Shorten the context", "", "shorter conversations")),
			told("lower_ubatch", "Lower the physical batch size", "", "slower prompts"),
			where(when.Not(onMetal), told("lower_context", "Shorten the context", "", "shorter conversations")),
			where(onMetal, as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality")),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu"},
	},
	{
		ID: "llama.cpp/refused-at-work", Kinds: ofGGML, If: onGPU, Figures: numbers,
		Headline: "ran out of GPU memory",
		Means:    "The message does not say what the memory was for. If the model was already loaded, it was the work on a request; if not, it was the model itself. Either way too little of the GPU was left.",
		Cures: []cause.Cure{
			where(when.Not(onMetal), told("fewer_gpu_layers", "Put slightly fewer layers on the GPU", "", "slightly slower")),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
			freeCard, where(onMetal, as("use_lower_quant", "Use a smaller quantisation of the model", "slight loss of quality")),
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
	ramWindows = cause.Cure{Fix: "raise_pagefile", If: reader.OnWindows, Title: "Close programs that use RAM, enlarge the page file", Told: "Task Manager, Performance, Memory shows \"Committed\": Windows refuses memory when that reaches its limit. Page file: Advanced system settings, Performance, Settings, Advanced, Virtual memory; choose \"System managed\" on a drive with space, and restart.", Cost: "disk space and a restart"}
	ramLinux   = cause.Cure{Fix: "close_other_apps", If: when.Not(reader.OnWindows), Title: "Close programs that use RAM", Told: "On Linux this lists them. If much is \"available\" there, a limit is the cause instead (`ulimit -v`, a container).", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head", Cost: "free"}
	moreSwap   = cause.Cure{Fix: "add_swap", If: when.Not(reader.OnWindows), Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "8 GB of disk; very slow"}
)
