package parsers

import "slices"

// What LMDeploy and MLC LLM say.
const (
	// TurboMind is LMDeploy's C++ engine: no figures, but the file that asked.
	TurboMind Kind = "turbomind"
	// LMDeployCache is LMDeploy's PyTorch engine without room for its cache.
	LMDeployCache Kind = "lmdeploy_cache"
	// MLCBudget is MLC LLM's check at start (cpp/serve/config.cc). MB are powers
	// of 1024.
	MLCBudget Kind = "mlc_budget"
)

var lmdeploy = Parser{
	Name:     "lmdeploy",
	Keywords: literals(lmdeployFailures),
	Context:  literals(lmdeployLines),
	Explains: map[Kind]int{TurboMind: 3, LMDeployCache: 4, MLCBudget: 5},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		parseWordings(slices.Concat(lmdeployFailures, lmdeployLines), l, hits, f)
	},
}

var lmdeployFailures = []wording{
	{"CUDA runtime error: out of memory", turboMind},
	{"No enough gpu memory for kv cache", fails(Failure{Kind: LMDeployCache, Framework: "lmdeploy", Backend: "cuda", Phase: "kv_cache"})},
	{"The available single GPU memory is", mlcBudget},
}

var lmdeployLines = []wording{
	{"TurbomindEngineConfig(", turboMindConfig},
	{"PytorchEngineConfig(", turboMindConfig},
}

// turboMind reads the file that asked: memory_utils.cu allocates weights and
// fixed buffers, allocator.h everything.
func turboMind(m message) int {
	x := Failure{Kind: TurboMind, Framework: "lmdeploy", Backend: "cuda"}
	if m.mentions("in_create_model_instance", "in_create_weight", "in_from_hf") {
		x.Phase = "load"
	}
	if m.follows("memory_utils", 90) {
		x.Stage = "weights"
	}
	return m.fail(x, m.end)
}

var lmdeployMemory = []string{"tp", "session_len", "max_batch_size", "cache_max_entry_count", "quant_policy", "max_prefill_token_num", "model_format", "cache_block_seq_len"}

func turboMindConfig(m message) int {
	for _, a := range pythonArguments(m.rest()) {
		if !a.simple() || !slices.Contains(lmdeployMemory, a.name) {
			continue
		}
		m.set(a, true)
	}
	m.factCount("utilization", m.find(turboMindShare, 600).Count("share"))
	return m.end
}

var turboMindShare = pattern(`cache_max_entry_count=(?<share>NUM)`)

var mlcText = pattern(`gpumemoryis(?<limit>SIZE),whichislessthanthesumofmodelweightsize\((?<weights>SIZE)\)andtemporarybuffersize\((?<buffer>SIZE)\)`)

func mlcBudget(m message) int {
	x := m.find(mlcText, 200)
	if !x.Ok() {
		return m.end
	}
	return m.fail(Failure{Kind: MLCBudget, Framework: "mlc-llm", Phase: "startup_check", Figures: Figures{Limit: x.Size("limit"), Weights: x.Size("weights"), ComputeBuffer: x.Size("buffer")}}, m.took(x))
}
