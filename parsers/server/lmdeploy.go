package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// LMDeploy reads LMDeploy and MLC LLM.
var LMDeploy = text.Parser{
	Name:     "lmdeploy",
	Keywords: text.Literals(lmdeployFailures),
	Context:  text.Literals(lmdeployLines),
	Explains: map[fact.Kind]int{fact.TurboMind: 3, fact.LMDeployCache: 4, fact.MLCBudget: 5},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		text.ParseWordings(slices.Concat(lmdeployFailures, lmdeployLines), l, hits, f)
	},
}

var lmdeployFailures = []text.Wording{
	text.On("CUDA runtime error: out of memory", turboMind),
	text.On("No enough gpu memory for kv cache", text.Fails(fact.Failure{Kind: fact.LMDeployCache, Framework: "lmdeploy", Backend: "cuda", Phase: "kv_cache"})),
	text.On("The available single GPU memory is", mlcBudget),
}

var lmdeployLines = []text.Wording{
	text.On("TurbomindEngineConfig(", turboMindConfig),
	text.On("PytorchEngineConfig(", turboMindConfig),
}

// turboMind reads the file that asked: memory_utils.cu allocates weights and
// fixed buffers, allocator.h everything.
func turboMind(m text.Message) int {
	x := fact.Failure{Kind: fact.TurboMind, Framework: "lmdeploy", Backend: "cuda"}
	if m.Mentions("in_create_model_instance", "in_create_weight", "in_from_hf") {
		x.Phase = "load"
	}
	if m.Follows("memory_utils", 90) {
		x.Stage = "weights"
	}
	return m.Fail(x, m.End)
}

var lmdeployMemory = []string{"tp", "session_len", "max_batch_size", "cache_max_entry_count", "quant_policy", "max_prefill_token_num", "model_format", "cache_block_seq_len"}

func turboMindConfig(m text.Message) int {
	for _, a := range text.PythonArguments(rest(m)) {
		if !a.Simple() || !slices.Contains(lmdeployMemory, a.Name) {
			continue
		}
		set(m, a, true)
	}
	factCount(m, "utilization", m.Find(turboMindShare, 600).Count("share"))
	return m.End
}

var turboMindShare = text.NewPattern(`cache_max_entry_count=(?<share>NUM)`)

var mlcText = text.NewPattern(`gpumemoryis(?<limit>SIZE),whichislessthanthesumofmodelweightsize\((?<weights>SIZE)\)andtemporarybuffersize\((?<buffer>SIZE)\)`)

func mlcBudget(m text.Message) int {
	x := m.Find(mlcText, 200)
	if !x.Ok() {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.MLCBudget, Framework: "mlc-llm", Phase: "startup_check", Figures: fact.Figures{Limit: x.Size("limit"), Weights: x.Size("weights"), ComputeBuffer: x.Size("buffer")}}, m.Took(x))
}
