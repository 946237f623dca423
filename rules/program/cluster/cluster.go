// Package cluster knows what deploys engines of others: KServe, Ray Serve, NIM,
// GPUStack, OpenLLM; and servers beside them: LiteLLM, exo, Petals, RKLLM, nano-vllm.
package cluster

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/server"
	"github.com/oomdoc/oomdoc/rules/step"
)

type steps = map[string]func(*ledger.Case) []step.Step

func text(words string) func(*ledger.Case) []step.Step { return step.Paste("text", words) }

// KServe runs vLLM or Transformers in pods; its options are the container's args.
var KServe = program.Program{
	Name: "kserve", Shown: "KServe", Work: "text-inference", Edits: "admin", Language: "python",
	Proofs:  []string{"huggingfaceserver/", "kserve/model_server.py", "kserve/protocol/", "serving.kserve.io"},
	Like:    []*program.Program{&server.VLLM},
	Sources: program.Sources{"vllm/engine/arg_utils.py": server.Shared + " --model_name --model_id"},
	Steps: steps{
		"multi_gpu":          step.Paste("config", "args: [\"--tensor-parallel-size=2\"]   # spec.predictor.model.args of the InferenceService\nresources:\n  limits: {nvidia.com/gpu: \"2\"}"),
		"raise_memory_limit": step.Paste("config", "resources:   # spec.predictor.model of the InferenceService\n  requests: {memory: 48Gi}\n  limits: {memory: 48Gi}"),
		"upgrade_version":    text("Use a newer kserve/huggingfaceserver image, or set one with a newer vLLM in the ServingRuntime."),
	},
}

// RayServe is Ray's serving of language models, with vLLM inside.
var RayServe = program.Program{
	Name: "ray-serve", Shown: "Ray Serve", Work: "text-inference", Edits: "code", Language: "python",
	Proofs: []string{"ray/llm/_internal/serve", "ray/serve/llm/", "ray.serve.llm", "LLMServer:", "LLMRouter:", "ServeReplica:", "SERVE_REPLICA::", "ServeController pid", "Exception in Replica(", "ray/serve/_private/"},
	Like:   []*program.Program{&server.VLLM}, Cards: serveCards,
	Steps: steps{
		"upgrade_version": step.Paste("shell", "pip install -U \"ray[serve,llm]\""),
	},
}

// NIM is NVIDIA's container: its engine is set by variables.
var NIM = program.Program{
	Name: "nim", Shown: "NVIDIA NIM", Work: "text-inference", Edits: "admin", Language: "python",
	Proofs:  []string{"/opt/nim/", "nim_llm_sdk", "vllm_nvext", "nimlib.", "NIM_MODEL_PROFILE"},
	Like:    []*program.Program{&server.VLLM},
	Sources: program.Sources{"https://docs.nvidia.com/nim/large-language-models/latest/configuration.html": "NIM_KVCACHE_PERCENT NIM_MAX_MODEL_LEN NIM_MAX_NUM_SEQS NIM_MODEL_PROFILE"},
	Steps: steps{
		"use_lower_quant":   text("Run `list-model-profiles` in the container and choose an FP8 or smaller profile that it calls compatible: `-e NIM_MODEL_PROFILE=ID` (ID: the long number beside it)."),
		"multi_gpu":         text("Run `list-model-profiles` in the container and choose a profile with `tp2` or more: `-e NIM_MODEL_PROFILE=ID` (ID: the long number beside it); give the container that many GPUs."),
		"quantize_kv_cache": text("Run `list-model-profiles` in the container: an FP8 profile has smaller weights, and with TensorRT-LLM often an 8-bit KV cache too. Choose one with `-e NIM_MODEL_PROFILE=ID`."),
		"upgrade_version":   text("Pull a newer tag of the same NIM from nvcr.io."),
	},
}

// GPUStack schedules models onto workers by estimates of its own.
var GPUStack = program.Program{
	Name: "gpustack", Shown: "GPUStack", Work: "text-inference", Edits: "admin", Language: "python",
	Proofs:  []string{"gpustack/worker/", "gpustack/policies/", "gpustack.worker", "gpustack.policies", "gpustack/gpustack"},
	Sources: program.Sources{"gpustack/docs/faq.md": "--gpu-memory-utilization --limit-mm-per-prompt --max-model-len", "llama-box/README.md": "--ctx-size --gpu-layers --cache-type-k", "vllm/engine/arg_utils.py": "--max-num-seqs --enforce-eager --max-num-batched-tokens"},
	Steps: steps{
		"lower_context":     text("Edit Model, Advanced, Backend Parameters: `--ctx-size=` (llama-box) with half of your value (the default is 8192, so `--ctx-size=4096`)."),
		"lower_resolution":  text("Edit Model, Advanced, Backend Parameters: `--limit-mm-per-prompt={\"image\": 1}`."),
		"fewer_gpu_layers":  text("Edit Model, Advanced, Backend Parameters: `--gpu-layers=20`, or fewer than now."),
		"quantize_kv_cache": text("Edit Model, Advanced, Backend Parameters: `--cache-type-k=q8_0` (llama-box)."),
		"multi_gpu":         text("Edit Model, Scheduling, Manual: select two GPUs of one worker."),
		"select_gpu":        text("Edit Model, Scheduling, Manual: select a GPU that the Resources page shows as free."),
		"upgrade_version":   text("Update GPUStack, or choose a newer version of the backend in Edit Model, Advanced."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.LeakedProcess: {{Fix: "select_gpu", Fit: cause.Cures}, {Fix: "kill_stale_process", Fit: cause.Cures}, {Fix: "lower_gpu_memory_utilization", Fit: cause.Helps}},
	},
}

// OpenLLM serves models of a repository, each with settings of its own.
var OpenLLM = program.Program{
	Name: "openllm", Shown: "OpenLLM", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"openllm/", "openllm.", "[openllm]", "openllm-models", "openllm_core/", "openllm_cli"},
	Like:   []*program.Program{&server.VLLM},
	Useless: map[string]func(*ledger.Case) string{"multi_gpu": func(*ledger.Case) string {
		return "OpenLLM takes the number of GPUs from the model's repository."
	}},
	Steps: steps{
		"lower_context":                text("The engine's options are in the model's repository (`openllm repo list` shows where): set `max_model_len` there, beside the model, or serve a smaller tag."),
		"lower_gpu_memory_utilization": text("The engine's options are in the model's repository (`openllm repo list` shows where): set `gpu_memory_utilization` to 0.8 there."),
		"use_lower_quant":              text("`openllm model list` shows the tags: serve one with `4bit` or `awq` in its name."),
		"use_smaller_model":            text("`openllm model list` shows the tags and the memory that each needs: `openllm serve` a smaller one."),
		"upgrade_version":              step.Paste("shell", "pip install -U openllm && openllm repo update"),
	},
}
