package fact

// What LMDeploy and MLC LLM say.
const (
	// TurboMind is LMDeploy's C++ engine: no figures, but the file that asked.
	TurboMind Kind = "turbomind"
	// FasterTransformer is its allocator, refused by CUDA.
	FasterTransformer Kind = "fastertransformer"
	// LMDeployCache is LMDeploy's PyTorch engine without room for its cache.
	LMDeployCache Kind = "lmdeploy_cache"
	// MLCBudget is MLC LLM's check at start (cpp/serve/config.cc). MB are powers
	// of 1024.
	MLCBudget Kind = "mlc_budget"
)

// What Ray says. Its GB are powers of 1024, and all of it is system memory.
const (
	// RayKilled: Ray's monitor killed a worker because the node ran low.
	RayKilled Kind = "ray_killed"
	// RayStore: the object store in shared memory is full.
	RayStore Kind = "ray_store"
)

// What SGLang's scheduler and memory pools say (python/sglang/srt). Its GB are
// powers of 1024.
const (
	// SGLangStatic: the static share leaves nothing for the KV pool
	// (model_runner.py to early 2026, model_runner_kv_cache_mixin.py since).
	SGLangStatic Kind = "sglang_static"
	// SGLangState is the same for the states of hybrid models (2026).
	SGLangState Kind = "sglang_state"
	// SGLangTokens: the token pool has no room for the next step.
	SGLangTokens Kind = "sglang_tokens"
	// SGLangSlots: no free request slot.
	SGLangSlots Kind = "sglang_slots"
	// FlashInferWorkspace: FlashInfer's fixed workspace is too small for a batch
	// (AlignedAllocator); the card is not full.
	FlashInferWorkspace Kind = "flashinfer_workspace"
	// SGLangUnbalanced: one card has less free memory than the others.
	SGLangUnbalanced Kind = "sglang_unbalanced"
	// SGLangLeak: the pool's own books do not add up.
	SGLangLeak Kind = "sglang_leak"
	// MemorySaver: torch_memory_saver could not take back what it had paused.
	MemorySaver Kind = "memory_saver"
)

// What TensorRT-LLM's two backends and TensorRT below them say.
const (
	// TRTRuntime is the C++ runtime (cpp/tensorrt_llm/runtime): no figures.
	TRTRuntime Kind = "trt_runtime"
	// TRTExecutor is the PyTorch backend's report of the part that could not be
	// made (tensorrt_llm/_torch/pyexecutor/py_executor_creator.py).
	TRTExecutor Kind = "trt_executor"
	// TRTEngine is TensorRT building or loading an engine.
	TRTEngine Kind = "trt_engine"
	// TRTCacheTooSmall is a paged cache that holds less than one sequence of the
	// engine's length (cpp/tensorrt_llm/batch_manager).
	TRTCacheTooSmall Kind = "trt_cache_too_small"
)

// What Hugging Face's Text Generation Inference says.
const (
	// TGIWarmup: the warm-up batch did not fit (flash_causal_lm.py). In 2023-09
	// and in the newest builds any exception of the warm-up says so.
	TGIWarmup Kind = "tgi_warmup"
	// TGIKilled: a shard ended by signal 9.
	TGIKilled Kind = "tgi_killed"
)

// What vLLM's own checks say. Units are powers of 1024 also where it prints
// "GB"; a blank before the unit is not reliable.
const (
	// VLLMNoCache: nothing of the share is left for the KV cache
	// (vllm/worker/worker.py to 0.10, vllm/v1/core/kv_cache_utils.py since 0.8),
	// and its sister of --max-model-len auto (0.12 and later).
	VLLMNoCache Kind = "vllm_no_cache"
	// VLLMTokens: the cache holds fewer tokens than max_model_len (V0, 0.2.6 to
	// 0.10; Aphrodite).
	VLLMTokens Kind = "vllm_tokens"
	// VLLMCacheTooSmall: one request of max_model_len needs more cache than
	// there is (V1, 0.7 and later; with the longest length that fits since 0.8.4).
	VLLMCacheTooSmall Kind = "vllm_cache_too_small"
	// VLLMFreeTooLow: less is free at start than the share asks for
	// (vllm/v1/worker/gpu_worker.py since 0.9.1, utils.py in 2026).
	VLLMFreeTooLow Kind = "vllm_free_too_low"
	// VLLMProfileMoved: free memory grew while vLLM measured itself.
	VLLMProfileMoved Kind = "vllm_profile_moved"
	// VLLMWarmup: the sampler or pooler ran out with max_num_seqs dummies
	// (vllm/v1/worker/gpu_model_runner.py since 0.8).
	VLLMWarmup Kind = "vllm_warmup"
	// VLLMLoad: the weights did not fit (gpu_model_runner.py since 0.13,
	// vllm/model_executor/layers/linear.py in 0.11).
	VLLMLoad Kind = "vllm_load"
	// VLLMMamba: fewer state blocks than max_num_seqs on hybrid models
	// (vllm/config/compilation.py, 2026).
	VLLMMamba Kind = "vllm_mamba"
	// VLLMSwapTooLarge: swap_space is over 70 % of RAM (vllm/config.py, cache.py).
	VLLMSwapTooLarge Kind = "vllm_swap_too_large"
	// VLLMSwapFull: vLLM's own swap pool is full (vllm/core/scheduler.py, V0).
	VLLMSwapFull Kind = "vllm_swap_full"
	// VLLMKilled: the engine process ended by signal 9.
	VLLMKilled Kind = "vllm_killed"
)
