package server

import (
	"maps"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/step"
)

type steps = map[string]func(*ledger.Case) []step.Step

// Shared are the arguments of vLLM that its forks have under the same names.
const Shared = "--cpu-offload-gb --enforce-eager --gpu-memory-utilization --kv-cache-dtype --max-model-len --max-num-batched-tokens --max-num-seqs --quantization --tensor-parallel-size"

// startedAs is vLLM started by another command, with the same arguments.
func startedAs(command string, own steps) steps {
	s := vllm.Server
	s.Start, s.Old, s.Before, s.Command, s.Offline = command, command, nil, "", ""
	out := steps{
		"lower_context":                s.Sets(launch.Whole("max_model_len", fittingLength)),
		"raise_gpu_memory_utilization": s.Sets(launch.Hundredths("gpu_memory_utilization", raisedUtilization)),
		"lower_gpu_memory_utilization": vllmShare.relative(s.Sets(launch.Hundredths("gpu_memory_utilization", vllmShare.lowered))),
		"quantize_kv_cache":            s.Sets(launch.To("kv_cache_dtype", "fp8")),
		"enforce_eager":                s.Sets(launch.To("enforce_eager", "True")),
		"lower_max_num_seqs":           s.Sets(launch.Whole("max_num_seqs", fewerSequences)),
		"lower_max_batched_tokens":     s.Sets(launch.Divided("max_num_batched_tokens", 4096, launch.Half)),
		"multi_gpu":                    s.Sets(launch.Doubled("tensor_parallel_size")),
		"cpu_offload":                  s.Sets(launch.To("cpu_offload_gb", "8")),
	}
	maps.Copy(out, own)
	return out
}

func text(words string) func(*ledger.Case) []step.Step { return step.Paste("text", words) }

// Aphrodite is a fork of vLLM for one user or few.
var Aphrodite = program.Program{
	Name: "aphrodite", Shown: "Aphrodite", Work: "text-inference", Edits: "flags", Language: "python",
	Units:  []string{"aphrodite"},
	Proofs: []string{"aphrodite/engine/", "aphrodite/v1/", "aphrodite/worker/", "aphrodite/endpoints/", "aphrodite/modeling/", "Aphrodite Engine"},
	Like:   []*program.Program{&VLLM}, Cards: engine.AphroditeCards,
	Sources: program.Sources{"aphrodite/engine/arg_utils.py": Shared},
	Steps: startedAs("aphrodite run", steps{
		"use_lower_quant": text("Take a GGUF, EXL3, AWQ or GPTQ checkpoint of the model with fewer bits; Aphrodite loads all of them."),
		"upgrade_version": step.Paste("shell", "pip install -U aphrodite-engine"),
	}),
}

// Dynamo is NVIDIA's router in front of vLLM, SGLang or TensorRT-LLM workers.
var Dynamo = program.Program{
	Name: "dynamo", Shown: "NVIDIA Dynamo", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs:  []string{"dynamo/vllm/", "dynamo/sglang/", "dynamo/trtllm/", "dynamo_runtime::", "dynamo_llm::", "python -m dynamo.", "python3 -m dynamo."},
	Like:    []*program.Program{&VLLM},
	Sources: program.Sources{"vllm/engine/arg_utils.py": Shared + " --model"},
	Steps: startedAs("python -m dynamo.vllm --model", steps{
		"upgrade_version": step.Paste("shell", "pip install -U \"ai-dynamo[vllm]\""),
	}),
}
