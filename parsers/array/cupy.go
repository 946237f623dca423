package array

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// CuPy reads CuPy, RMM and Numba.
var CuPy = text.Parser{
	Name: "cupy", Keywords: text.Literals(cupyWordings),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) { text.ParseWordings(cupyWordings, l, hits, f) },
}

var cupyWordings = []text.Wording{
	text.On("Out of memory allocating", readCuPy), text.On("out of memory to allocate", readCuPy),
	text.On("RMM_ERROR_OUT_OF_MEMORY", text.Fails(fact.Failure{Kind: fact.RMMAlloc, Framework: "cupy", Backend: "cuda"})),
	text.On("Maximum pool size exceeded", readPoolLimit),
	text.On("Call to cuMemAlloc results in", text.Fails(fact.Failure{Kind: fact.NumbaAlloc, Framework: "other", Backend: "cuda"})),
}

var cupyPattern = text.NewPattern(`(?:allocating|toallocate)(?<want>INT)bytes(?:\((?:allocatedsofar:|total)(?<pool>INT)bytes(?:,limitsetto:?(?<limit>INT)(?:bytes)?)?)?`)

// readCuPy reads CuPy 7 and later ("Out of memory allocating 25,600,000 bytes
// (allocated so far: ... bytes)") and before ("out of memory to allocate
// 163840000 bytes (total 1673061376 bytes)").
func readCuPy(m text.Message) int {
	k := m.Find(cupyPattern, 200)
	if !k.Ok() || m.Precedes("resource_exhausted:", 22) {
		return m.End
	}
	x := fact.Failure{Kind: fact.CuPyAlloc, Framework: "cupy", Backend: "cuda"}
	x.Figures.Requested, x.Figures.Allocated, x.Figures.Limit = commaBytes(k, "want"), commaBytes(k, "pool"), commaBytes(k, "limit")
	return m.Fail(x, m.Took(k))
}

// commaBytes reads an integer whose commas are thousands separators whatever
// their number.
func commaBytes(k text.Match, group string) *fact.Size {
	n, ok := text.WholeNumber(strings.ReplaceAll(k.Lower(group), ",", ""))
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: n, Text: k.Text(group) + " bytes", Line: k.Line()}
}

var rmmPattern = text.NewPattern(`failedtoallocate(?<want>SIZE)`)

// readDeviceBadAlloc reads "MemoryError: std::bad_alloc: CUDA error at:
// .../rmm/mr/device/cuda_memory_resource.hpp:69: cudaErrorMemoryAllocation".
func readDeviceBadAlloc(m text.Message) int {
	x := fact.Failure{Kind: fact.RMMAlloc, Framework: "other", Backend: "cuda"}
	if m.Follows("rmm", 260) {
		x.Framework = "cupy"
	}
	k := m.Find(rmmPattern, 200)
	x.Figures.Requested = k.Size("want")
	return m.Fail(x, m.Took(k))
}

// readPoolLimit reads RMM's own cap; llama.cpp and others have no such words.
func readPoolLimit(m text.Message) int {
	if !m.Mentions("rmm") {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.RMMAlloc, Framework: "cupy", Backend: "cuda"}, m.End)
}
