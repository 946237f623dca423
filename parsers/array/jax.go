package array

import (
	"cmp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// JAX reads XLA, under JAX and on TPUs.
var JAX = text.NewParser("jax", map[fact.Kind]int{fact.TPUCompile: 4, fact.XLAAlloc: 3}, []text.Wording{
	text.On("Out of memory while trying to allocate", readXLA), text.On("RESOURCE_EXHAUSTED: Out of memory allocating", readXLA), text.On("RESOURCE_EXHAUSTED: Failed to allocate request for", readXLA), text.On("Resource exhausted: Failed to allocate request for", readXLA),
	text.On("RESOURCE_EXHAUSTED: CUDA_ERROR_OUT_OF_MEMORY", readXLA), text.On("in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY", text.Fails(fact.Failure{Kind: fact.XLAAlloc, Framework: "jax", Backend: "cuda"})), text.On("Ran out of memory in memory space", readTPUCompile), text.On("Attempting to reserve", readTPUReserve), text.On("Attempting to allocate", readTPUReserve),
}, []text.Wording{
	text.On("Running predict with shape(feat)", text.States(0, 120, text.NewPattern(`'aatype':\(\d{1,3},(?<is_af_residues>INT)`))), // AlphaFold 2
})

var (
	xlaPattern = text.NewPattern(`(?:allocating|toallocate|requestfor)(?<human>SIZE)(?:\((?<exact>\d{1,20})b(?:ytes)?\))?`)
	xlaOrdinal = text.NewPattern(`deviceordinal(?<device>\d{1,2})`) // pjrt_stream_executor_client.cc
	// The figures of XLA's buffer assignment, printed under the message.
	xlaParameters = text.NewPattern(`parameterallocation:(?<size>SIZE|\d+b)`)
	xlaTemp       = text.NewPattern(`preallocatedtempallocation:(?<size>SIZE)`)
	xlaTotal      = text.NewPattern(`totalallocation:(?<size>SIZE)`)
	xlaOut        = text.NewPattern(`maybe_live_outallocation:(?<size>SIZE)`)
	// The largest buffer: what made it, and its shape.
	xlaLargest = text.NewPattern(`buffer1:size:SIZE(?:.{0,240}?source_line=(?<at>\d{1,6}))?.{0,200}?shape:(?<shape>(?:f|bf|s|u|c|pred)\d{0,3}\[[\d,]{1,60}\])`)
)

// readXLA reads jaxlib's RESOURCE_EXHAUSTED, "allocate 4770354232 bytes." or,
// since 2025, "allocate 18.36GiB."
func readXLA(m text.Message) int {
	x := fact.Failure{Kind: fact.XLAAlloc, Framework: xlaUser(m), Backend: xlaBackend(m)}
	k := m.Find(xlaPattern, 120)
	if x.Figures.Requested = cmp.Or(k.Size("exact"), k.Size("human")); x.Figures.Requested == nil && !m.Precedes("error:", 40) && !m.Follows("cuda_error", 40) {
		return m.End
	}
	x.Figures.Device = m.Find(xlaOrdinal, 160).Count("device")
	// The dump of the buffers may be ten thousand characters long; its stats
	// come first.
	x.Figures.Weights = m.Find(xlaParameters, 900).Size("size")
	x.Figures.ComputeBuffer = m.Find(xlaTemp, 900).Size("size")
	x.Figures.Desired = m.Find(xlaTotal, 900).Size("size")
	square(m)
	largest(m)
	return m.Fail(x, m.Took(k))
}

// largest states what the function returns and its largest buffer.
func largest(m text.Message) {
	m.Fact("xla_out", m.Find(xlaOut, 900).Size("size"))
	if k := m.Find(xlaLargest, 1600); k.Ok() {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "xla_shape", Text: k.Text("shape"), Line: k.Line()})
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "xla_source_line", Count: k.Count("at"), Line: k.Line()})
	}
}

// underJAX: something speaks for JAX. TensorFlow does not run on PJRT.
func underJAX(m text.Message) bool {
	return m.Mentions("jax", "runningpredictwithshape(feat)", `op_name="pmap(`, `op_name="jit(`, "pjrt_stream_executor_client")
}

// xlaUser is TensorFlow only where nothing speaks for JAX, PyTorch where its package
// or its old runtime (XRT) does.
func xlaUser(m text.Message) string {
	if m.Mentions("torch_xla", "runtimeerror:resourceexhausted:from/job:") && !underJAX(m) {
		return "pytorch"
	}
	return user(underJAX(m) || !m.Mentions("tensorflow", "statuscode:resourceexhausted", "tpu_compile_succeeded_assert", "compilationfailure:ranoutofmemory", "/job:worker/replica:"))
}

func xlaBackend(m text.Message) string {
	switch {
	case m.Mentions("hbm", "tpu_", "tpu:"):
		return "tpu"
	case m.Mentions("rocm", "hip_"):
		return "rocm"
	case m.Mentions("cuda", "gpu_0_bfc", "nvidia"):
		return "cuda"
	}
	return ""
}

// A buffer whose last two sides are equal and long is queries by keys.
var xlaSquare = text.NewPattern(`shape:(?<shape>(?:f|bf|s|u|pred)\d{0,2}\[(?:\d{1,6},){0,4}(?<side>\d{4,6}),\k<side>\])`)

func square(m text.Message) {
	if k := m.Find(xlaSquare, 4000); k.Ok() {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "xla_square", Text: k.Text("shape"), Line: k.Line()})
	}
}

// "G" and "M" there are powers of 1024. What of the total is the program's own, the
// batch decides; arguments are weights and inputs.
var (
	tpuPattern   = text.NewPattern(`memoryspace(?<space>[a-z]{3,6})\.used(?<used>NUM)(?<usedunit>[kmgt])of(?<limit>NUM)(?<limitunit>[kmgt])`)
	tpuProgram   = text.NewPattern(`totalhbmusage>=.{0,60}?program(?<program>NUM)(?<unit>[kmgt])`)
	tpuLargest   = text.NewPattern(`largestprogramallocationsinhbm:1\.size:(?<size>NUM)(?<unit>[kmgt])(?:.{0,600}?)shape:(?<shape>(?:f|bf|s|u|c|pred)\d{0,3}\[[\d,]{1,60}\])`)
	tpuArguments = text.NewPattern(`arguments(?<arguments>NUM)(?<unit>[bkmgt])(?:\([\d.]{1,6}%utilization\)output(?<output>NUM)(?<outputunit>[kmgt]))?`)
)

// readTPUCompile reads "Ran out of memory in memory space hbm. Used 63.80G of
// 30.75G hbm." Other spaces (vmem, smem, sflag) are memory on the chip.
func readTPUCompile(m text.Message) int {
	k := m.Find(tpuPattern, 140)
	if space := k.Lower("space"); space != "" && space != "hbm" {
		m.Lookalike(tpuOnChip)
		return m.Took(k)
	}
	x := fact.Failure{Kind: fact.TPUCompile, Framework: xlaUser(m), Backend: "tpu"}
	x.Figures.Desired = k.SizeIn("used", k.Lower("usedunit"))
	x.Figures.Total = k.SizeIn("limit", k.Lower("limitunit"))
	x.Figures.Limit = x.Figures.Total
	if x.Framework == "tensorflow" && m.Mentions("train") {
		x.Phase = "training" // its TPU jobs are
	}
	square(m)
	program, arguments := m.Find(tpuProgram, 600), m.Find(tpuArguments, 600)
	m.Fact("tpu_program", program.SizeIn("program", program.Lower("unit")))
	m.Fact("tpu_arguments", arguments.SizeIn("arguments", arguments.Lower("unit")))
	if k := m.Find(tpuLargest, 2000); k.Ok() {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "xla_shape", Text: k.Text("shape"), Size: k.SizeIn("size", k.Lower("unit")), Line: k.Line()})
	}
	return m.Fail(x, m.Took(k))
}

var tpuOnChip = fact.Lookalike{
	ID: "tpu_on_chip_memory", Title: "A TPU kernel wants too much on-chip memory (vmem or smem), not HBM.",
	Advice: "Lower the block sizes of that kernel, or switch the custom kernel off; the chip's HBM is not involved.",
}

var tpuReservePattern = text.NewPattern(`attemptingto(?:reserve|allocate)(?<want>NUM)(?<wantunit>[kmgt])(?:at|\.|,)(?:.{0,120}?thereare(?<free>NUM)(?<freeunit>[kmgt])free)?`)

// readTPUReserve reads "Attempting to reserve 3.95G at the bottom of memory.
// That was not possible. There are 1.92G free, ...".
func readTPUReserve(m text.Message) int {
	k := m.Find(tpuReservePattern, 320)
	if !k.Ok() || k.Lower("free") == "" && !m.Follows("thatwasnotpossible", 80) {
		return m.End
	}
	x := fact.Failure{Kind: fact.TPUReserve, Framework: xlaUser(m), Backend: "tpu"}
	x.Figures.Requested = k.SizeIn("want", k.Lower("wantunit"))
	x.Figures.Free = k.SizeIn("free", k.Lower("freeunit"))
	held, arguments := m.Find(tpuHeld, 420), m.Find(tpuArguments, 1000)
	x.Figures.Total, x.Figures.Allocated = held.SizeIn("total", held.Lower("unit")), held.SizeIn("used", held.Lower("usedunit"))
	m.Fact("tpu_output", arguments.SizeIn("output", arguments.Lower("outputunit")))
	m.Fact("tpu_arguments", arguments.SizeIn("arguments", arguments.Lower("unit")))
	return m.Fail(x, m.Took(k))
}

// The table below it: what the chip has, and what is held.
var tpuHeld = text.NewPattern(`hbmcapacity(?<total>NUM)(?<unit>[kmgt]):.{0,120}?currentlyallocated:(?<used>NUM)(?<usedunit>[kmgt])`)
