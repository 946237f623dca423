package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/array"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TensorRTLLM reads TensorRT-LLM, and TensorRT below it.
var TensorRTLLM = text.Parser{
	Name:     "tensorrtllm",
	Context:  text.StageTexts(trtEvidence.Words),
	Explains: map[fact.Kind]int{fact.TRTRuntime: 3, fact.TRTExecutor: 5, fact.TRTCacheTooSmall: 4, fact.TRTEngine: 3},
}.Reading(trtFailures, trtLines, trtEvidence.Look)

var trtFailures = []text.Wording{
	text.On("CUDA runtime error in", trtRuntime),
	text.On("Executor creation failed due to insufficient GPU memory", trtExecutor),
	text.On("which might indicate insufficient GPU memory", trtExecutor),
	// The line before says how much cache there is.
	text.On("must be large enough to process at least 1 sequence", text.FailsWith(
		fact.Failure{Kind: fact.TRTCacheTooSmall, Framework: "tensorrt-llm", Phase: "kv_cache"},
		600, 220, text.NewPattern(`(?:allocate(?<kv_available>SIZE)fork/vcache.{0,80})?using(?<kv_tokens>INT)(?:total)?tokensinpagedkvcache(?:.{0,400}?tokensperblock\((?<trt_block>INT)\)\*maxblocksperseq\((?<trt_blocks>INT)\))?`))),
	text.On("Error Code 2: OutOfMemory", trtEngine),
	text.On("Requested amount of GPU memory (", trtEngine),
	text.On("Could not find any implementation for node", text.When(trtEngine, text.Beside("exceptionautotuning", "duetoinsufficientmemory"))),
}

var trtLines = []text.Wording{
	text.On("Loaded engine size:", text.States(50, 110, text.NewPattern(`size:(?<weights>SIZE)`))),
	text.On("for execution context memory", text.States(50, 110, text.NewPattern(`allocated(?<compute_buffer>SIZE)forexecutioncontext`))),
	text.On("for max tokens in paged KV cache", text.States(50, 110, text.NewPattern(`allocated(?<kv_buffer>SIZE)formaxtokensinpagedkvcache`))),
	text.On("for k/v cache", text.States(50, 110, text.NewPattern(`allocate(?<kv_buffer>SIZE)fork/vcache`))),
	text.On("[RANK ", text.States(0, 12, text.NewPattern(`\[rankINT\]`))), // also behind a progress bar
	text.On("when calculating max tokens in paged kv cache:", text.States(50, 110, text.NewPattern(`(?:total:(?<total>SIZE),)?available:(?<free>SIZE)`))),
}

var trtEvidence = text.Evidence{
	Program: "tensorrt-llm",
	Words: slices.Concat(
		text.Frames("load", 6, "load_single_module", "load_weights_impl", "Loading weights concurrently"),
		text.Frames("graph_capture", 6, "_torch/pyexecutor/cuda_graph_runner"),
		text.Frames("warmup", 5, "py_executor_creator.py", "_torch/pyexecutor/model_engine.py"),
		text.Marks("[TRT-LLM]", "tensorrt_llm/", "TensorRT-LLM]", text.OutOfMemory),
	),
	Process: text.NamedLike("TRT-LLM"),
}

// The identifier of the call may be wrapped anywhere; where a status is checked
// later, it is the name of the variable ("in error").
var trtCall = text.NewPattern(`cudaruntimeerrorin:{0,2}(?<call>[a-z]{4,40})(?:\(.{0,120}?)?:outofmemory`)

// trtRuntime: cudaMalloc and its like for the card, cudaHostAlloc for pinned
// memory of the host.
func trtRuntime(m text.Message) int {
	x := m.Find(trtCall, 220)
	switch x.Lower("call") {
	case "":
		return m.End
	case "cudahostalloc", "cudamallochost":
		return m.Fail(fact.Failure{Kind: fact.TRTRuntime, Framework: "tensorrt-llm", Backend: "cpu", Phase: "load", Stage: "pinned"}, m.Took(x))
	}
	phase := "load"
	if m.Precedes("inforwardasyncfunction", 60) || m.Precedes("inforwardsyncfunction", 60) {
		phase = "inference" // the executor's loop over requests
	}
	return m.Fail(fact.Failure{Kind: fact.TRTRuntime, Framework: "tensorrt-llm", Backend: "cuda", Phase: phase}, m.Took(x))
}

var (
	trtComponent = text.NewPattern(`couldnotbecreated:(?<component>[a-z() ]{2,60}?)totalgpumemory`)
	trtTotal     = text.NewPattern(`totalgpumemory\(gib\):(?<total_gib>NUM)`)
	trtFree      = text.NewPattern(`beforecomponentcreationattempt\(gib\):(?<free_gib>NUM)`)
)

// trtPhases say when each component is made.
var trtPhases = map[string]string{"model": "load", "kvcache": "kv_cache", "sampler": "load", "drafter": "load"}

// trtExecutor reads the report of the component. Units stand in the labels.
func trtExecutor(m text.Message) int {
	name := m.Find(trtComponent, 200).Lower("component")
	phase, ok := trtPhases[name]
	if !ok {
		phase = "warmup"
	}
	return m.FailWith(fact.Failure{Kind: fact.TRTExecutor, Framework: "tensorrt-llm", Phase: phase, Stage: name}, m.Find(trtTotal, 260), m.Find(trtFree, 340))
}

var trtRequested = text.NewPattern(`(?:requestedsizewas|requestedamountofgpumemory\()(?<requested_bytes>INT)bytes`)

// trtEngine reads TensorRT's own loader, which others use too.
func trtEngine(m text.Message) int {
	if array.TacticSkipped(m) {
		return m.End
	}
	framework := "other"
	if m.Mentions("tensorrt-llm", "tensorrt_llm", "trt-llm", "trtllm", "trt_engines", "enginebuildingfailed,pleasechecktheerrorlog") {
		framework = "tensorrt-llm"
	}
	phase := ""
	if m.Mentions("engine", "deserializ", "loading") {
		phase = "load"
	}
	return m.FailWith(fact.Failure{Kind: fact.TRTEngine, Framework: framework, Backend: "cuda", Phase: phase}, m.Find(trtRequested, 120))
}
