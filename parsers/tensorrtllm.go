package parsers

import "slices"

// What TensorRT-LLM's two backends and TensorRT below them say.
const (
	// TRTRuntime is the C++ runtime (cpp/tensorrt_llm/runtime): no figures.
	TRTRuntime Kind = "trt_runtime"
	// TRTExecutor is the PyTorch backend's report of the part that could not be
	// made (tensorrt_llm/_torch/pyexecutor/py_executor_creator.py).
	TRTExecutor Kind = "trt_executor"
	// TRTEngine is TensorRT building or loading an engine.
	TRTEngine Kind = "trt_engine"
	// TRTCacheTooSmall is a paged cache that holds less than one sequence of the
	// engine's length (cpp/tensorrt_llm/batch_manager).
	TRTCacheTooSmall Kind = "trt_cache_too_small"
)

var tensorrtllm = Parser{
	Name:     "tensorrtllm",
	Keywords: literals(trtFailures),
	Context:  slices.Concat(literals(trtLines), stageTexts(trtEvidence.words)),
	Explains: map[Kind]int{TRTRuntime: 3, TRTExecutor: 5, TRTCacheTooSmall: 4, TRTEngine: 3},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		list := slices.Concat(trtFailures, trtLines)
		worded, others := splitHits(hits, len(list))
		parseWordings(list, l, worded, f)
		trtEvidence.look(l, others, f)
	},
}

var trtFailures = []wording{
	{"CUDA runtime error in", trtRuntime},
	{"Executor creation failed due to insufficient GPU memory", trtExecutor},
	{"which might indicate insufficient GPU memory", trtExecutor},
	{"must be large enough to process at least 1 sequence", trtCacheTooSmall},
	{"Error Code 2: OutOfMemory", trtEngine},
	{"Requested amount of GPU memory (", trtEngine},
}

var trtLines = []wording{
	{"Loaded engine size:", trtSize("weights", pattern(`size:(?<size>SIZE)`))},
	{"for execution context memory", trtSize("compute_buffer", pattern(`allocated(?<size>SIZE)forexecutioncontext`))},
	{"for max tokens in paged KV cache", trtSize("kv_buffer", pattern(`allocated(?<size>SIZE)formaxtokensinpagedkvcache`))},
	{"for k/v cache", trtSize("kv_buffer", pattern(`allocate(?<size>SIZE)fork/vcache`))},
	{"[RANK ", trtRank},
	{"when calculating max tokens in paged kv cache:", trtSize("free", pattern(`available:(?<size>SIZE)`))},
}

var trtCacheTokens = pattern(`using(?<tokens>INT)tokensinpagedkvcache`)

// trtCacheTooSmall also takes what the line before says of the cache.
func trtCacheTooSmall(m message) int {
	x := Failure{Kind: TRTCacheTooSmall, Framework: "tensorrt-llm", Phase: "kv_cache"}
	x.Figures.KVTokens = m.l.Find(trtCacheTokens, m.at-600, m.at).Count("tokens")
	return m.fail(x, m.end)
}

var trtRankText = pattern(`\[rank(?<rank>INT)\]`)

// trtRank notes which rank spoke in a line that begins with a progress bar.
func trtRank(m message) int {
	m.factCount("trt_rank", m.find(trtRankText, 12).Count("rank"))
	return m.end
}

var trtEvidence = evidence{
	program: "tensorrt-llm",
	words: slices.Concat(
		frames("load", 6, "load_single_module", "load_weights_impl", "Loading weights concurrently"),
		frames("graph_capture", 6, "_torch/pyexecutor/cuda_graph_runner"),
		frames("warmup", 5, "py_executor_creator.py", "_torch/pyexecutor/model_engine.py"),
		marks("[TRT-LLM]", "tensorrt_llm/", "TensorRT-LLM]", outOfMemory),
	),
	process: namedLike("TRT-LLM"),
}

// The identifier of the call may be wrapped anywhere; where a status is checked
// later, it is the name of the variable ("in error").
var trtCall = pattern(`cudaruntimeerrorin:{0,2}(?<call>[a-z]{4,40})(?:\(.{0,120}?)?:outofmemory`)

// trtRuntime: cudaMalloc and its like for the card, cudaHostAlloc for pinned
// memory of the host.
func trtRuntime(m message) int {
	x := m.find(trtCall, 220)
	switch x.Lower("call") {
	case "":
		return m.end
	case "cudahostalloc", "cudamallochost":
		return m.fail(Failure{Kind: TRTRuntime, Framework: "tensorrt-llm", Backend: "cpu", Phase: "load", Stage: "pinned"}, m.took(x))
	}
	phase := "load"
	if m.precedes("inforwardasyncfunction", 60) || m.precedes("inforwardsyncfunction", 60) {
		phase = "inference" // the executor's loop over requests
	}
	return m.fail(Failure{Kind: TRTRuntime, Framework: "tensorrt-llm", Backend: "cuda", Phase: phase}, m.took(x))
}

var (
	trtComponent = pattern(`couldnotbecreated:(?<component>[a-z() ]{2,60}?)totalgpumemory`)
	trtTotal     = pattern(`totalgpumemory\(gib\):(?<total>NUM)`)
	trtFree      = pattern(`beforecomponentcreationattempt\(gib\):(?<free>NUM)`)
	trtModel     = pattern(`model:(?<before>NUM)/(?<after>NUM)`)
)

// trtPhases say when each component is made.
var trtPhases = map[string]string{"model": "load", "kvcache": "kv_cache", "sampler": "load", "drafter": "load"}

// trtExecutor reads the report of the component. Units stand in the labels.
func trtExecutor(m message) int {
	component, total, free := m.find(trtComponent, 200), m.find(trtTotal, 260), m.find(trtFree, 340)
	made := m.find(trtModel, 500)
	m.fact("model_before", made.SizeIn("before", "gib"))
	m.fact("model_after", made.SizeIn("after", "gib"))
	name := component.Lower("component")
	phase, ok := trtPhases[name]
	if !ok {
		phase = "warmup"
	}
	return m.fail(Failure{
		Kind: TRTExecutor, Framework: "tensorrt-llm", Phase: phase, Stage: name,
		Figures: Figures{Total: total.SizeIn("total", "gib"), Free: free.SizeIn("free", "gib")},
	}, max(m.took(component), m.took(total), m.took(free)))
}

var trtRequested = pattern(`(?:requestedsizewas|requestedamountofgpumemory\()(?<size>INT)bytes`)

// trtEngine reads TensorRT's own loader, which others use too.
func trtEngine(m message) int {
	if m.tacticSkipped() {
		return m.end
	}
	framework := "other"
	if m.mentions("tensorrt-llm", "tensorrt_llm", "trt-llm", "trtllm") {
		framework = "tensorrt-llm"
	}
	x := m.find(trtRequested, 120)
	return m.fail(Failure{Kind: TRTEngine, Framework: framework, Backend: "cuda", Phase: "load", Figures: Figures{Requested: x.SizeIn("size", "bytes")}}, m.took(x))
}

// trtSize makes the reader of an informative line.
func trtSize(name string, p *Pattern) func(message) int {
	return func(m message) int {
		x := m.around(p, 50, 110)
		m.fact(name, x.Size("size"))
		return m.took(x)
	}
}
