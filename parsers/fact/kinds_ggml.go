package fact

// What llama.cpp, ggml and the programs built on them say.
const (
	// GGMLAlloc is a buffer that was refused: weights, KV cache, compute or
	// output buffer, in device or system memory. [Failure.Stage] says which,
	// [Failure.Memory] where.
	GGMLAlloc Kind = "ggml_alloc"
	// GGMLLimit is one buffer above what the device gives in one piece, however
	// much is free (Vulkan's maxMemoryAllocationSize, Metal's maxBufferLength).
	GGMLLimit Kind = "ggml_limit"
	// GGMLRuntime is the scratch pool or a CUDA call that ran out while tokens
	// were computed. It never has a size.
	GGMLRuntime Kind = "ggml_runtime"
	// GGMLPool is an arena of fixed size inside the program, not system memory.
	GGMLPool Kind = "ggml_pool"
	// GGMLPlan is a graph buffer that the program planned too small.
	GGMLPlan Kind = "ggml_plan"
	// GGMLMetal is a Metal command buffer that ran out of memory.
	GGMLMetal Kind = "ggml_metal"
	// GGMLSYCL is the oneAPI runtime under ggml giving up.
	GGMLSYCL Kind = "ggml_sycl"
	// GGMLCannotRun is Vulkan's abort on a KV tensor larger than it can address;
	// it has no word about memory (ggml-backend.cpp).
	GGMLCannotRun Kind = "ggml_cannot_run"
	// LlamaGuard is a front end that refused by its own estimate, before any
	// allocation (LM Studio's guardrail, node-llama-cpp).
	LlamaGuard Kind = "llama_guard"
	// LlamaCaller only reports that a load or a context failed.
	LlamaCaller Kind = "llama_caller"
)

// What Ollama says: client texts, and the logfmt lines of its server. What
// its runner prints is llama.cpp's and ggml's.
const (
	// OllamaSystem is the check before loading: the part of the model that is
	// not planned for a card does not fit RAM and swap (0.2.2 and later).
	OllamaSystem Kind = "ollama_system"
	// OllamaLayout is the planner of 0.7.1 to 0.24 giving up.
	OllamaLayout Kind = "ollama_layout"
	// OllamaGuess is the text of 0.1.4 to 0.1.17 for any crash of the runner.
	OllamaGuess Kind = "ollama_guess"
	// OllamaKilled is a runner that got SIGKILL: as a rule the kernel's doing.
	OllamaKilled Kind = "ollama_killed"
	// OllamaDriver is driver code 2, cudaErrorMemoryAllocation: not even a
	// context could be made (0.1.48 to 0.11).
	OllamaDriver Kind = "ollama_driver"
	// OllamaRunner only reports how the runner ended.
	OllamaRunner Kind = "ollama_runner"
)
