package parsers

import "strings"

// stageWord is text that shows how far a program had come. Phase "" only shows
// that the program took part.
type stageWord struct {
	word, phase string
	frame       bool
	inner       int
}

func evidenceWords(list []stageWord) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.word
	}
	return out
}

// vllmStages: frames of vLLM's tracebacks, then its progress lines. A dummy run
// calls what serving calls, graph capture calls dummy runs, so that the more
// special frame decides.
var vllmStages = []stageWord{
	{"in request_memory", "startup_check", true, 6}, {"in init_device", "startup_check", true, 3},
	{"in raise_if_cache_size_invalid", "kv_cache", true, 6}, {"check_enough_kv_cache_memory", "kv_cache", true, 6},
	{"in initialize_kv_cache", "kv_cache", true, 6}, {"_allocate_kv_cache", "kv_cache", true, 6}, {"in allocate_kv_cache", "kv_cache", true, 6}, {"cache_engine.py", "kv_cache", true, 5},
	{"in capture_model", "graph_capture", true, 7}, {"_capture_cudagraphs", "graph_capture", true, 7}, {"in capture_end", "graph_capture", true, 7}, {"torch/cuda/graphs.py", "graph_capture", true, 7}, {"in capture_begin", "graph_capture", true, 7},
	{"_dummy_sampler_run", "warmup", true, 6}, {"_dummy_pooler_run", "warmup", true, 6}, {"sampling_metadata=dummy_metadata", "warmup", true, 6},
	{"in determine_available_memory", "warmup", true, 5}, {"in determine_num_available_blocks", "warmup", true, 5}, {"in profile_num_available_blocks", "warmup", true, 5},
	{"in profile_run", "warmup", true, 5}, {"in _dummy_run", "warmup", true, 5}, {"in compile_or_warm_up_model", "warmup", true, 4}, {"in kernel_warmup", "warmup", true, 5},
	{"vllm/v1/sample/sampler.py", "warmup", true, 1}, {"logits_sort, logits_idx", "warmup", true, 1}, {"vit_attn_wrappers.py", "warmup", true, 1},
	{"in create_weights", "load", true, 6}, {"in process_weights_after_loading", "load", true, 6}, {"in load_weights", "load", true, 5}, {"vllm/model_executor/model_loader", "load", true, 5},
	{"in load_model", "load", true, 4}, {"torch/utils/_device.py", "load", true, 1},
	{"in execute_model", "inference", true, 2}, {"in run_busy_loop", "inference", true, 3}, {"in _process_engine_step", "inference", true, 3}, {"in engine_step", "inference", true, 3}, {"in run_engine_loop", "inference", true, 3},
	{"EngineDeadError", "inference", true, 0},

	{"Starting to load model", "load", false, 0}, {"Loading safetensors checkpoint shards", "load", false, 0},
	{"Loading weights took", "warmup", false, 0},
	{"Capturing the model for CUDA graphs", "graph_capture", false, 0}, {"Capturing cudagraphs for decoding", "graph_capture", false, 0}, {"Capturing CUDA graph", "graph_capture", false, 0},
	{"init engine (profile, create kv cache", "inference", false, 0}, {"Application startup complete", "inference", false, 0}, {"Avg prompt throughput", "inference", false, 0},

	{"vllm/v1/", "", false, 0}, {"vllm/worker/", "", false, 0}, {"vllm/engine/", "", false, 0}, {"vllm/model_executor/", "", false, 0}, {"vllm/entrypoints/", "", false, 0}, {"vllm/executor/", "", false, 0},
	{"vllm engine", "", false, 0}, {"current vLLM instance", "", false, 0}, {"vLLM API server version", "", false, 0}, {"LLM engine (v", "", false, 0}, {"RayWorkerVllm", "", false, 0}, {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "", false, 0},
	{"out of memory", "", false, 0},
}

// vllmLineStages are the phases that begin after one of [vllmLines].
var vllmLineStages = map[string]string{
	"weights": "warmup", "kv_available": "graph_capture", "cache_tokens": "graph_capture", "kv_blocks": "graph_capture", "graphs": "warmup",
}

// vllmProgram says whether vLLM ran the failing code, and how far it had come.
// Words that other programs' tracebacks have too count only if it did.
func (f *Facts) vllmProgram(l *Log, hits []Hit) {
	proof := 0
	for _, x := range f.Failures {
		if x.Framework == "vllm" {
			proof = x.Line
		}
	}
	for _, h := range hits {
		if proof == 0 && vllmProves(l, h) {
			proof = l.Line(h.At)
		}
	}
	for _, x := range f.Facts {
		if _, ok := vllmLineStages[x.Name]; ok && proof == 0 {
			proof = x.Line
		}
	}
	if proof == 0 {
		return
	}
	f.Programs = append(f.Programs, Program{Name: "vllm", Line: proof, Weight: 2})
	for _, h := range hits {
		if s := vllmStages[h.Word]; s.phase != "" {
			f.Stages = append(f.Stages, Stage{Phase: s.phase, Line: l.Line(h.At), Frame: s.frame, Inner: s.inner})
		}
	}
	for _, x := range f.Facts {
		if phase, ok := vllmLineStages[x.Name]; ok {
			f.Stages = append(f.Stages, Stage{Phase: phase, Line: x.Line})
		}
	}
}

// vllmProves: a path or name of vLLM's own, or a failure in a process that
// bears a name of vLLM's.
func vllmProves(l *Log, h Hit) bool {
	s := vllmStages[h.Word]
	if s.word == "out of memory" {
		return vllmProcess(l.Source(h.At))
	}
	return s.phase == "" || strings.Contains(s.word, "vllm")
}

// vllmProcess knows the processes that vLLM names in its prefixes.
func vllmProcess(source string) bool {
	for _, p := range [...]string{"EngineCore", "VllmWorker", "Worker ", "Worker_", "APIServer", "ApiServer", "DPEngineCoreActor", "RayWorkerWrapper", "RayWorkerVllm", "StageEngineCore"} {
		if strings.HasPrefix(source, p) {
			return true
		}
	}
	return false
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
