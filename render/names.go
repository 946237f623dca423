package render

import (
	"strconv"

	"github.com/oomdoc/oomdoc/diagnose"
)

var backendNames = map[string]string{
	"cuda": "CUDA", "rocm": "ROCm", "mps": "MPS", "xpu": "XPU", "vulkan": "Vulkan", "metal": "Metal", "sycl": "SYCL", "npu": "NPU", "tpu": "TPU",
}

func backendName(id string) string {
	if name, ok := backendNames[id]; ok {
		return name
	}
	return id
}

// phases say when it happened.
var phases = map[string]string{
	"load": "while loading the model", "inference": "while running the model", "training": "during training", "kv_cache": "while reserving the KV cache",
	"warmup": "during the warm-up", "graph_capture": "while capturing CUDA graphs", "startup_check": "in the check at its start",
}

// when is the phase with a blank before it, "" where it is unknown.
func when(in *diagnose.Incident) string {
	if p, ok := phases[in.Phase]; ok {
		return " " + p
	}
	return ""
}

// device is what was asked: "GPU 0", "the Mac's GPU", "the system"; "" where
// the log does not say.
func device(in *diagnose.Incident) string {
	switch in.Backend {
	case "cpu":
		return "the system"
	case "mps", "metal":
		return "the Mac's GPU"
	case "tpu":
		return "the TPU"
	case "npu":
		return "the NPU"
	}
	if d := in.Figures.Device; d != nil {
		return "GPU " + strconv.FormatFloat(d.Value, 'f', -1, 64)
	}
	if in.Backend == "" && in.Figures.Total == nil {
		return ""
	}
	return "the GPU"
}

// Probabilities from which a word holds.
const (
	nearlyCertain = 0.9
	likely        = 0.7
	perhaps       = 0.42
)

// chance puts a probability into words.
func chance(p float64) string {
	switch {
	case p >= nearlyCertain:
		return "nearly certain"
	case p >= likely:
		return "likely"
	case p >= perhaps:
		return "perhaps"
	}
	return "not certain"
}

// shortNames are the fixes that are heard of everywhere, as people call them.
var shortNames = map[string]string{
	"expandable_segments": "`expandable_segments`", "max_split_size": "`max_split_size_mb`", "kill_stale_process": "ending other programs", "close_other_apps": "closing other programs",
	"raise_watermark": "the MPS watermark", "lower_batch_size": "a smaller batch", "load_in_4bit": "4 bit", "load_in_8bit": "8 bit", "raise_gpu_memory_utilization": "a larger share of the GPU's memory",
	"empty_cache": "`empty_cache()`", "half_precision": "16 bit", "lower_context": "a shorter context", "use_lower_quant": "a smaller quantisation", "quantize_kv_cache": "a smaller KV cache type",
	"cpu_offload": "offloading to the processor", "inference_mode": "`inference_mode`", "gradient_checkpointing": "gradient checkpointing", "add_swap": "swap", "raise_pagefile": "a larger page file",
	"lower_gpu_memory_utilization": "a smaller share of the GPU's memory", "lower_mem_fraction": "a smaller share of the GPU's memory", "fewer_gpu_layers": "fewer GPU layers", "enable_flash_attention": "flash attention", "bigger_gpu": "a GPU with more memory",
	"lower_resolution": "a lower resolution", "use_smaller_model": "a smaller model", "lower_ubatch": "a smaller micro-batch", "multi_gpu": "more GPUs", "use_lora": "adapters (LoRA)", "optimizer_8bit": "an 8-bit optimizer", "mixed_precision": "mixed precision",
}

// shortName is how people call a tip.
func shortName(u diagnose.Useless) string {
	if name, ok := shortNames[u.ID]; ok {
		return name
	}
	return lowerFirst(u.Title)
}
