package cluster

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/server"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/step"
)

// VLLMAscend is vLLM on Huawei's NPUs.
var VLLMAscend = program.Program{
	Name: "vllm-ascend", Shown: "vLLM on Ascend", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"vllm_ascend/", "vllm-ascend/", "NPURayWorkerWrapper"},
	Like:   []*program.Program{&server.VLLM},
	Sources: program.Sources{
		"vllm-ascend/docs/source/faqs.md": "PYTORCH_NPU_ALLOC_CONF", "torch_npu": "ASCEND_RT_VISIBLE_DEVICES",
	},
	Steps: steps{
		"expandable_segments": step.Paste("env", "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"),
		"select_gpu":          step.Paste("env", "export ASCEND_RT_VISIBLE_DEVICES=1   # the number of a free NPU in npu-smi info"),
		"kill_stale_process":  step.Paste("shell", "npu-smi info   # lists the processes on each NPU; end what is yours with: kill PID"),
		"use_lower_quant":     text("Use a W8A8 checkpoint of the model (made by ModelSlim, on modelscope.cn), and start vLLM with `--quantization ascend`."),
		"upgrade_version":     text("Update vllm and vllm-ascend together: their versions must match, as must CANN and torch-npu."),
		"quantize_kv_cache":   text("On Ascend an 8-bit KV cache needs a checkpoint made for it; lower `--max-model-len` instead."),
	},
}

// VLLMGaudi is vLLM on Intel Gaudi.
var VLLMGaudi = program.Program{
	Name: "vllm-gaudi", Shown: "vLLM on Gaudi", Work: "text-inference", Edits: "flags", Language: "python",
	Commands: []string{"hl-smi"},
	Proofs:   []string{"vllm_gaudi/", "vllm/worker/hpu_", "vllm-gaudi/", "vllm/worker/habana_", "hpu_model_runner.py:", "hpu_worker.py:", "habana_model_runner.py:"},
	Like:     []*program.Program{&server.VLLM},
	Sources: program.Sources{
		"vllm-gaudi/docs/configuration/env_variables.md": "VLLM_GRAPH_RESERVED_MEM VLLM_PROMPT_BS_BUCKET_MAX VLLM_SKIP_WARMUP", "habana": "HABANA_VISIBLE_DEVICES",
		"vllm/config/cache.py": "--kv-cache-dtype --gpu-memory-utilization", "vllm/engine/arg_utils.py": "--quantization --max-num-seqs --max-model-len --tensor-parallel-size",
	},
	Steps: steps{
		"enforce_eager":            text("Give the graphs a smaller share: `export VLLM_GRAPH_RESERVED_MEM=0.02`, or a larger one (0.2) if the capture failed. `--enforce-eager` turns them off."),
		"lower_max_batched_tokens": step.Paste("env", "export VLLM_PROMPT_BS_BUCKET_MAX=1   # prompts are warmed up and read one at a time (the default of newer versions)"),
		"quantize_kv_cache":        text("Start vLLM with `--quantization inc --kv-cache-dtype fp8_inc`; the model has to be calibrated for it once."),
		"kill_stale_process":       step.Paste("shell", "hl-smi   # lists the processes on each card; end what is yours with: kill PID"),
		"select_gpu":               step.Paste("env", "export HABANA_VISIBLE_DEVICES=1"),
		"upgrade_version":          text("Update vllm-gaudi together with the SynapseAI release that it names."),
		"use_lower_quant":          text("Use an FP8 checkpoint, calibrated with Intel Neural Compressor, with `--quantization inc`. AWQ and GPTQ work too, bitsandbytes does not."),
	},
	Cards: stage.GaudiCards,
}

// VLLMTPU is vLLM on Google's TPUs: JAX reports its memory (HBM).
var VLLMTPU = program.Program{
	Name: "tpu-inference", Shown: "vLLM on TPU", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"tpu_inference/", "tpu_commons/", "vllm/v1/worker/tpu_"},
	Like:   []*program.Program{&server.VLLM},
	Steps: steps{
		"kill_stale_process": text("Another process may hold the TPU: `sudo lsof /dev/accel* /dev/vfio/*` lists it; end what is yours, or restart the VM."),
		"select_gpu":         text("Use a slice with more chips, and `--tensor-parallel-size` with their number."),
		"use_lower_quant":    text("Use an FP8 or INT8 (W8A8) version of the model: half of 16 bit. vLLM on TPU has no bitsandbytes."),
		"enforce_eager":      text("On TPUs graphs are always compiled ahead: lower `--max-num-seqs` or `--max-num-batched-tokens` instead."),
		"upgrade_version":    step.Paste("shell", "pip install -U vllm-tpu"),
	},
	Sources: program.Sources{"vllm/engine/arg_utils.py": "--tensor-parallel-size --max-num-batched-tokens --max-num-seqs", "vllm/config/cache.py": "--gpu-memory-utilization"},
	Cards:   stage.TPUCards,
}

// VLLMOmni runs several engines, each with a share of its own.
var VLLMOmni = program.Program{
	Name: "vllm-omni", Shown: "vLLM-Omni", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs:  []string{"vllm_omni/", "vllm-omni/", "[AsyncOrchestrator] Stage-", " --omni", "Model runner: Model loaded successfully", "Model runner: Initialization complete"},
	Like:    []*program.Program{&server.VLLM},
	Sources: program.Sources{"vllm-omni/docs/configuration/stage_configs.md": "--stage-configs-path", "vllm_omni/entrypoints/cli/serve.py": "--deploy-config --enable-cpu-offload --enable-layerwise-offload --stage-overrides"},
	Steps: steps{
		"lower_gpu_memory_utilization": func(c *ledger.Case) []step.Step {
			last := int64(30)
			if f := c.F(); f.Free != nil && ledger.SizeOf(f.Total) > 0 { // what is left for the stage that failed
				last = max(min(last, f.Free.Bytes*100/f.Total.Bytes), 1)
			}
			return []step.Step{{Kind: "config", Text: fmt.Sprintf("stage_args:   # your stage config YAML, given with --stage-configs-path (later: --deploy-config, --stage-overrides)\n  - stage_id: 0\n    engine_args:\n      gpu_memory_utilization: 0.6   # all stages on one GPU: at most 0.95 together\n  - stage_id: 1\n    engine_args:\n      gpu_memory_utilization: 0.%02d", last)}}
		},
		"raise_gpu_memory_utilization": step.Paste("config", "stage_args:   # your stage config YAML, given with --stage-configs-path (later: --deploy-config, --stage-overrides)\n  - stage_id: 0   # the stage that failed\n    engine_args:\n      gpu_memory_utilization: 0.7   # and less for the others on this GPU"),
		"lower_context":                step.Paste("config", "stage_args:   # your stage config YAML, given with --stage-configs-path (later: --deploy-config, --stage-overrides)\n  - stage_id: 0\n    engine_args:\n      max_model_len: 8192"),
		"lower_max_num_seqs":           step.Paste("config", "stage_args:   # your stage config YAML, given with --stage-configs-path (later: --deploy-config, --stage-overrides)\n  - stage_id: 0\n    engine_args:\n      max_num_seqs: 4"),
		"lower_max_batched_tokens":     step.Paste("config", "stage_args:   # your stage config YAML, given with --stage-configs-path (later: --deploy-config, --stage-overrides)\n  - stage_id: 0\n    engine_args:\n      max_num_batched_tokens: 4096"),
		"multi_gpu":                    step.Paste("config", "stage_args:   # your stage config YAML, given with --stage-configs-path (later: --deploy-config, --stage-overrides)\n  - stage_id: 1\n    runtime:\n      devices: \"1\"   # a stage on its own GPU"),
		"upgrade_version":              step.Paste("shell", "pip install -U vllm-omni"),
	},
	Cards: stage.OmniCards,
}

// IPEXLLM is Intel's own version of transformers, vLLM and Ollama for Arc.
var IPEXLLM = program.Program{
	Name: "ipex-llm", Shown: "IPEX-LLM", Work: "text-inference", Edits: "code", Language: "python",
	Proofs: []string{"ipex_llm/", "ipex-llm/", "bigdl/llm/"},
	Like:   []*program.Program{&server.VLLM},
	Steps: steps{
		"load_in_4bit":       step.Paste("python", "from ipex_llm.transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(path, load_in_4bit=True, optimize_model=True).to(\"xpu\")"),
		"cpu_offload":        step.Paste("python", "model = AutoModelForCausalLM.from_pretrained(path, load_in_4bit=True, cpu_embedding=True)   # the embedding stays in system RAM"),
		"kill_stale_process": step.Paste("shell", "xpu-smi ps   # lists the processes on each card; end what is yours with: kill PID"),
		"upgrade_version":    text("Current PyTorch, vLLM and llama.cpp support Intel GPUs themselves: try one of them."),
	},
}
