package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/text"
)

// asked are the ways in which vLLM names what workers were told to do: "Exception in
// worker VllmWorkerProcess while processing method load_model", "Error executing
// method 'load_model'", and V1's call.
func asked(methods ...string) (words []string) {
	for _, m := range methods {
		words = append(words, "method "+m, "method '"+m, `collective_rpc("`+m)
	}
	return words
}

// vllmEvidence: a dummy run calls what serving calls and graph capture calls dummy
// runs, so that the more special frame decides.
var vllmEvidence = text.Evidence{
	Program: "vllm",
	Words: slices.Concat(
		text.Frames("startup_check", 6, "in request_memory"),
		text.Frames("startup_check", 3, "in init_device"), text.Frames("startup_check", 1, asked("init_device")...),
		text.Frames("kv_cache", 6, "in raise_if_cache_size_invalid", "check_enough_kv_cache_memory", "in initialize_kv_cache", "_allocate_kv_cache", "in allocate_kv_cache"),
		text.Frames("kv_cache", 5, "worker/cache_engine.py"), text.Frames("kv_cache", 3, asked("initialize_cache", "initialize_from_config")...),
		text.Frames("graph_capture", 7, "in capture_model", "model_runner.capture_model(", "_capture_cudagraphs", "in capture_begin", "in capture_end", "torch/cuda/graphs.py"),
		text.Frames("warmup", 6, "_dummy_sampler_run", "_dummy_pooler_run", "sampling_metadata=dummy_metadata"),
		text.Frames("warmup", 5, "in determine_available_memory", "in determine_num_available_blocks", "in profile_num_available_blocks", "in profile_run", "in _dummy_run"),
		text.Frames("warmup", 6, "kernel_warmup(", "in kernel_warmup", "model_executor/warmup/"),
		text.Frames("warmup", 4, "in compile_or_warm_up_model"), text.Frames("warmup", 4, asked("compile_or_warm_up_model", "determine_num_available_blocks", "determine_available_memory")...),
		text.Frames("warmup", 1, "vllm/v1/sample/sampler.py", "logits_sort, logits_idx", "vit_attn_wrappers.py"),
		text.Frames("load", 6, "in create_weights", "in process_weights_after_loading"),
		text.Frames("load", 5, "in load_weights", "vllm/model_executor/model_loader", "make_layers(", "in make_layers", "maybe_offload_to_cpu(layer_fn("),
		text.Frames("load", 4, "in load_model"), text.Frames("load", 3, asked("load_model")...),
		text.Frames("load", 1, "torch/utils/_device.py"),
		text.Frames("inference", 3, "_get_prompt_logprobs", "in run_busy_loop", "in _process_engine_step", "in engine_step", "in run_engine_loop", "self.run_engine_loop()", "self.engine_step()", "engine_core.run_busy_loop()", "self._process_engine_step()"),
		text.Frames("inference", 2, asked("execute_model", "start_worker_execution_loop")...),
		text.Frames("inference", 2, "in execute_model", "_log_task_completion", "_raise_exception_on_finish"),
		text.Frames("inference", 0, "EngineDeadError"),
		text.Steps("load", "Starting to load model", "Loading safetensors checkpoint shards"),
		text.Steps("warmup", "Loading weights took"),
		text.Steps("graph_capture", "Capturing the model for CUDA graphs", "Capturing cudagraphs for decoding", "Capturing CUDA graph"),
		text.Steps("inference", "init engine (profile, create kv cache", "Application startup complete", "Avg prompt throughput", "Added request", "Received request", "200 OK", "500 Internal Server Error"),
		text.Marks("-packages/vllm/", "vllm.engine.", "vllm.v1.", "max_num_batched_tokens=", "vllm/v1/", "vllm/worker/", "vllm/engine/", "vllm/model_executor/", "vllm/entrypoints/", "vllm/executor/", "-m vllm.entrypoints", "vllm/vllm-openai:", "/vllm:latest", "$ vllm serve",
			"vllm engine", "LLM engine (v", "worker_base.py:", "multiproc_executor.py:", "multiproc_worker_utils.py:", "gpu_model_runner.py:", "current vLLM instance", "Resolved architecture: ", "vLLM API server version", "vLLM Build Flags:", "RayWorkerVllm", "or use '--enforce-eager' in the CLI", "has no vLLM implementation, falling back", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", text.OutOfMemory, text.NcclError),
	),
	Process: text.NamedLike("EngineCore", "VllmWorker", "Worker ", "Worker_", "APIServer", "ApiServer", "DPEngineCoreActor", "RayWorkerWrapper", "RayWorkerVllm", "NPURayWorkerWrapper", "StageEngineCore"),
	After:   map[string]string{"weights_loaded": "warmup", "kv_left": "graph_capture", "cache_tokens": "graph_capture", "kv_blocks": "graph_capture", "graphs": "warmup"},
}

// vllmBackends are what a start-up log or a traceback shows of the platform,
// the surest first. "CUDA graph" and NCCL are also printed on ROCm.
var vllmBackends = []struct{ word, backend string }{
	{"freememoryondevicecuda:", "cuda"}, {"freememoryondevicexpu:", "xpu"}, {"hipoutofmemory", "rocm"}, {"platformrocm", "rocm"}, {"rocmblocks:", "rocm"}, {"rocm_aiter", "rocm"},
	{"xpuoutofmemory", "xpu"}, {"platformxpu", "xpu"}, {"device_config=xpu", "xpu"}, {"xpublocks:", "xpu"}, {"xpu_worker", "xpu"}, {"xpukernel", "xpu"},
	{"platformcpu", "cpu"}, {"device_config=cpu", "cpu"}, {"platformtpu", "tpu"}, {"device_config=tpu", "tpu"},
	{"platformcuda", "cuda"}, {"device_config=cuda", "cuda"}, {"cudablocks:", "cuda"}, {"cudaoutofmemory", "cuda"},
	{"processgroupnccl", "cuda"}, {"cudagraph", "cuda"}, {"flash_attn", "cuda"},
}

func vllmBackend(l *text.Log) string {
	for _, b := range vllmBackends {
		if l.Mentions(b.word) {
			return b.backend
		}
	}
	return ""
}
