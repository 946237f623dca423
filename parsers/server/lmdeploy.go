package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// LMDeploy reads LMDeploy and MLC LLM.
var LMDeploy = text.Parser{
	Name:     "lmdeploy",
	Explains: map[fact.Kind]int{fact.TurboMind: 3, fact.LMDeployCache: 4, fact.MLCBudget: 5, fact.FasterTransformer: 3},
}.Reading(lmdeployFailures, lmdeployLines, nil)

var lmdeployFailures = []text.Wording{
	text.On("multimodal model inference out of memory when", text.Fails(fact.Failure{Kind: fact.PlainDevice, Framework: "mindie", Backend: "npu", Phase: "warmup"})), text.On("CUDA runtime error: out of memory", turboMind), text.On("No available slot found for the model", text.Fails(fact.Failure{Kind: fact.PlainDevice, Framework: "xinference", Phase: "startup_check"})),
	text.On("load GPU buffers in the Python backend stub", text.When(text.Fails(fact.Failure{Kind: fact.PlainDevice, Framework: "triton-server", Backend: "cuda", Phase: "inference", Stage: "cuda-pool"}), text.Beside("fallingbacktopinnedsystemmemory"))), text.On("Unable to initialize shared memory key", text.FailsWith(fact.Failure{Kind: fact.SharedSegment, Framework: "triton-server", Backend: "cpu"}, 0, 420, text.NewPattern(`torequestedsize\((?<requested_bytes>\d{1,15})bytes\)(?:.{0,300}?nospaceleftondevice)?`))), text.On("Failed to increase the shared memory pool size", text.FailsWith(fact.Failure{Kind: fact.SharedSegment, Framework: "triton-server", Backend: "cpu"}, 0, 420, text.NewPattern(`'to(?<requested_bytes>\d{1,15})bytes(?:.{0,300}?nospaceleftondevice)?`))), text.On("No enough gpu memory for", text.Fails(fact.Failure{Kind: fact.LMDeployCache, Framework: "lmdeploy", Backend: "cuda", Phase: "kv_cache"})),
	text.On("The available single GPU memory is", text.FailsIf(fact.Failure{Kind: fact.MLCBudget, Framework: "mlc-llm", Phase: "startup_check"},
		0, 200, text.NewPattern(`gpumemoryis(?<limit>SIZE),whichislessthanthesumofmodelweightsize\((?<weights>SIZE)\)`+
			`andtemporarybuffersize\((?<compute_buffer>SIZE)\)`))),
}

var lmdeployLines = []text.Wording{
	text.On("lmdeploy chat", commandLine("lmdeploy_command", nil)), text.On("lmdeploy serve", commandLine("lmdeploy_command", nil)),
	text.On("TurbomindEngineConfig(", turboMindConfig), text.On("lmdeploy:v0.", text.SaysVersion("lmdeploy_version", serverRelease)), text.On("LMDeploy: 0.", text.SaysVersion("lmdeploy_version", serverRelease)), text.On("lmdeploy==0.", text.SaysVersion("lmdeploy_version", serverRelease)),
	text.On("PytorchEngineConfig(", turboMindConfig),
	text.On("max_total_token_num", text.States(0, 40, text.NewPattern(`^max_total_token_num'?[=:]?(?<is_max_total_token_num>INT)`))), // LightLLM's
}

// turboMind reads the file that asked: memory_utils.cu allocates weights and
// fixed buffers, allocator.h everything. FasterTransformer, of which TurboMind
// was made, has the same line; people run it as a backend of Triton.
func turboMind(m text.Message) int {
	x := fact.Failure{Kind: fact.TurboMind, Framework: "lmdeploy", Backend: "cuda"}
	if m.Follows("fastertransformer", 200) && !m.Mentions("turbomind", "lmdeploy") {
		x.Kind, x.Framework = fact.FasterTransformer, "triton-server"
		return m.Fail(x, m.End)
	}
	if m.Mentions("in_create_model_instance", "in_create_weight", "in_from_hf") {
		x.Phase = "load"
	}
	if m.Follows("memory_utils", 90) {
		x.Stage = "weights"
	}
	return m.Fail(x, m.End)
}

var (
	turboMindMemory = arguments("", only("tp", "session_len", "max_batch_size", "cache_max_entry_count", "quant_policy",
		"max_prefill_token_num", "model_format", "cache_block_seq_len"))
	turboMindShare = text.States(0, 600, text.NewPattern(`(?:session_len=(?<context>INT),.{0,120}?)?cache_max_entry_count=(?<utilization>NUM)`))
)

func turboMindConfig(m text.Message) int {
	turboMindMemory(m)
	return turboMindShare(m)
}
