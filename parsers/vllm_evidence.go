package parsers

import (
	"slices"
	"strings"
)

// vllmEvidence: frames of vLLM's tracebacks, its progress lines, its names. A
// dummy run calls what serving calls and graph capture calls dummy runs, so
// that the more special frame decides.
var vllmEvidence = evidence{
	program: "vllm",
	words: slices.Concat(
		frames("startup_check", 6, "in request_memory"),
		frames("startup_check", 3, "in init_device"),
		frames("kv_cache", 6, "in raise_if_cache_size_invalid", "check_enough_kv_cache_memory", "in initialize_kv_cache", "_allocate_kv_cache", "in allocate_kv_cache"),
		frames("kv_cache", 5, "worker/cache_engine.py"),
		frames("graph_capture", 7, "in capture_model", "_capture_cudagraphs", "in capture_begin", "in capture_end", "torch/cuda/graphs.py"),
		frames("warmup", 6, "_dummy_sampler_run", "_dummy_pooler_run", "sampling_metadata=dummy_metadata"),
		frames("warmup", 5, "in determine_available_memory", "in determine_num_available_blocks", "in profile_num_available_blocks", "in profile_run", "in _dummy_run", "in kernel_warmup"),
		frames("warmup", 4, "in compile_or_warm_up_model"),
		frames("warmup", 1, "vllm/v1/sample/sampler.py", "logits_sort, logits_idx", "vit_attn_wrappers.py"),
		frames("load", 6, "in create_weights", "in process_weights_after_loading"),
		frames("load", 5, "in load_weights", "vllm/model_executor/model_loader"),
		frames("load", 4, "in load_model"),
		frames("load", 1, "torch/utils/_device.py"),
		frames("inference", 3, "in run_busy_loop", "in _process_engine_step", "in engine_step", "in run_engine_loop"),
		frames("inference", 2, "in execute_model"),
		frames("inference", 0, "EngineDeadError"),
		steps("load", "Starting to load model", "Loading safetensors checkpoint shards"),
		steps("warmup", "Loading weights took"),
		steps("graph_capture", "Capturing the model for CUDA graphs", "Capturing cudagraphs for decoding", "Capturing CUDA graph"),
		steps("inference", "init engine (profile, create kv cache", "Application startup complete", "Avg prompt throughput"),
		marks("vllm/v1/", "vllm/worker/", "vllm/engine/", "vllm/model_executor/", "vllm/entrypoints/", "vllm/executor/",
			"vllm engine", "LLM engine (v", "worker_base.py:", "multiproc_executor.py:", "multiproc_worker_utils.py:", "gpu_model_runner.py:", "current vLLM instance", "vLLM API server version", "RayWorkerVllm", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", outOfMemory, ncclError),
	),
	process: namedLike("EngineCore", "VllmWorker", "Worker ", "Worker_", "APIServer", "ApiServer", "DPEngineCoreActor", "RayWorkerWrapper", "RayWorkerVllm", "NPURayWorkerWrapper", "StageEngineCore"),
	after:   map[string]string{"weights_loaded": "warmup", "kv_left": "graph_capture", "cache_tokens": "graph_capture", "kv_blocks": "graph_capture", "graphs": "warmup"},
}

// vllmBackends are what a start-up log or a traceback shows of the platform,
// the surest first. "CUDA graph" and NCCL are also printed on ROCm.
var vllmBackends = []struct{ word, backend string }{
	{"hipoutofmemory", "rocm"}, {"platformrocm", "rocm"}, {"#rocmblocks", "rocm"}, {"rocm_aiter", "rocm"},
	{"xpuoutofmemory", "xpu"}, {"platformxpu", "xpu"}, {"device_config=xpu", "xpu"}, {"#xpublocks", "xpu"}, {"xpu_worker", "xpu"}, {"xpukernel", "xpu"},
	{"platformcpu", "cpu"}, {"device_config=cpu", "cpu"}, {"platformtpu", "tpu"}, {"device_config=tpu", "tpu"},
	{"platformcuda", "cuda"}, {"device_config=cuda", "cuda"}, {"#cudablocks", "cuda"}, {"cudaoutofmemory", "cuda"},
	{"processgroupnccl", "cuda"}, {"cudagraph", "cuda"}, {"flash_attn", "cuda"},
}

func vllmBackend(l *Log) string {
	for _, b := range vllmBackends {
		if strings.Contains(l.Squeezed(), b.word) {
			return b.backend
		}
	}
	return ""
}
