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
	Keywords: text.Literals(trtFailures),
	Context:  slices.Concat(text.Literals(trtLines), text.StageTexts(trtEvidence.Words)),
	Explains: map[fact.Kind]int{fact.TRTRuntime: 3, fact.TRTExecutor: 5, fact.TRTCacheTooSmall: 4, fact.TRTEngine: 3},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		list := slices.Concat(trtFailures, trtLines)
		worded, others := text.SplitHits(hits, len(list))
		text.ParseWordings(list, l, worded, f)
		trtEvidence.Look(l, others, f)
	},
}

var trtFailures = []text.Wording{
	text.On("CUDA runtime error in", trtRuntime),
	text.On("Executor creation failed due to insufficient GPU memory", trtExecutor),
	text.On("which might indicate insufficient GPU memory", trtExecutor),
	text.On("must be large enough to process at least 1 sequence", trtCacheTooSmall),
	text.On("Error Code 2: OutOfMemory", trtEngine),
	text.On("Requested amount of GPU memory (", trtEngine),
}

var trtLines = []text.Wording{
	text.On("Loaded engine size:", trtSize("weights", text.NewPattern(`size:(?<size>SIZE)`))),
	text.On("for execution context memory", trtSize("compute_buffer", text.NewPattern(`allocated(?<size>SIZE)forexecutioncontext`))),
	text.On("for max tokens in paged KV cache", trtSize("kv_buffer", text.NewPattern(`allocated(?<size>SIZE)formaxtokensinpagedkvcache`))),
	text.On("for k/v cache", trtSize("kv_buffer", text.NewPattern(`allocate(?<size>SIZE)fork/vcache`))),
	text.On("[RANK ", trtRank),
	text.On("when calculating max tokens in paged kv cache:", trtSize("free", text.NewPattern(`available:(?<size>SIZE)`))),
}

var trtCacheTokens = text.NewPattern(`using(?<tokens>INT)tokensinpagedkvcache`)

// trtCacheTooSmall also takes what the line before says of the cache.
func trtCacheTooSmall(m text.Message) int {
	x := fact.Failure{Kind: fact.TRTCacheTooSmall, Framework: "tensorrt-llm", Phase: "kv_cache"}
	x.Figures.KVTokens = m.Log.Find(trtCacheTokens, m.At-600, m.At).Count("tokens")
	return m.Fail(x, m.End)
}

var trtRankText = text.NewPattern(`\[rank(?<rank>INT)\]`)

// trtRank notes which rank spoke in a line that begins with a progress bar.
func trtRank(m text.Message) int {
	factCount(m, "trt_rank", m.Find(trtRankText, 12).Count("rank"))
	return m.End
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
	trtTotal     = text.NewPattern(`totalgpumemory\(gib\):(?<total>NUM)`)
	trtFree      = text.NewPattern(`beforecomponentcreationattempt\(gib\):(?<free>NUM)`)
	trtModel     = text.NewPattern(`model:(?<before>NUM)/(?<after>NUM)`)
)

// trtPhases say when each component is made.
var trtPhases = map[string]string{"model": "load", "kvcache": "kv_cache", "sampler": "load", "drafter": "load"}

// trtExecutor reads the report of the component. Units stand in the labels.
func trtExecutor(m text.Message) int {
	component, total, free := m.Find(trtComponent, 200), m.Find(trtTotal, 260), m.Find(trtFree, 340)
	made := m.Find(trtModel, 500)
	m.Fact("model_before", made.SizeIn("before", "gib"))
	m.Fact("model_after", made.SizeIn("after", "gib"))
	name := component.Lower("component")
	phase, ok := trtPhases[name]
	if !ok {
		phase = "warmup"
	}
	return m.Fail(fact.Failure{
		Kind: fact.TRTExecutor, Framework: "tensorrt-llm", Phase: phase, Stage: name,
		Figures: fact.Figures{Total: total.SizeIn("total", "gib"), Free: free.SizeIn("free", "gib")},
	}, max(m.Took(component), m.Took(total), m.Took(free)))
}

var trtRequested = text.NewPattern(`(?:requestedsizewas|requestedamountofgpumemory\()(?<size>INT)bytes`)

// trtEngine reads TensorRT's own loader, which others use too.
func trtEngine(m text.Message) int {
	if array.TacticSkipped(m) {
		return m.End
	}
	framework := "other"
	if m.Mentions("tensorrt-llm", "tensorrt_llm", "trt-llm", "trtllm") {
		framework = "tensorrt-llm"
	}
	x := m.Find(trtRequested, 120)
	return m.Fail(fact.Failure{Kind: fact.TRTEngine, Framework: framework, Backend: "cuda", Phase: "load", Figures: fact.Figures{Requested: x.SizeIn("size", "bytes")}}, m.Took(x))
}

// trtSize makes the reader of an informative line.
func trtSize(name string, p *text.Pattern) func(text.Message) int {
	return func(m text.Message) int {
		x := m.Around(p, 50, 110)
		m.Fact(name, x.Size("size"))
		return m.Took(x)
	}
}
