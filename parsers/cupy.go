package parsers

import "strings"

const (
	// CuPyAlloc is CuPy's pool: its "total" or "allocated so far" is the pool
	// of this process, not the card.
	CuPyAlloc Kind = "cupy_alloc"
	// RMMAlloc is RAPIDS' memory manager or thrust: a C++ bad_alloc that means
	// the card.
	RMMAlloc Kind = "rmm_alloc"
	// NumbaAlloc is numba's driver call.
	NumbaAlloc Kind = "numba_alloc"
)

var cupy = Parser{
	Name: "cupy", Keywords: literals(cupyWordings),
	Parse: func(l *Log, hits []Hit, f *Facts) { parseWordings(cupyWordings, l, hits, f) },
}

var cupyWordings = []wording{
	{"Out of memory allocating", readCuPy}, {"out of memory to allocate", readCuPy},
	{"RMM_ERROR_OUT_OF_MEMORY", fails(Failure{Kind: RMMAlloc, Framework: "cupy", Backend: "cuda"})},
	{"Maximum pool size exceeded", readPoolLimit},
	{"Call to cuMemAlloc results in", fails(Failure{Kind: NumbaAlloc, Framework: "other", Backend: "cuda"})},
}

var cupyPattern = pattern(`(?:allocating|toallocate)(?<want>INT)bytes(?:\((?:allocatedsofar:|total)(?<pool>INT)bytes(?:,limitsetto:?(?<limit>INT)(?:bytes)?)?)?`)

// readCuPy reads CuPy 7 and later ("Out of memory allocating 25,600,000 bytes
// (allocated so far: ... bytes)") and before ("out of memory to allocate
// 163840000 bytes (total 1673061376 bytes)").
func readCuPy(m message) int {
	k := m.find(cupyPattern, 200)
	if !k.Ok() || m.precedes("resource_exhausted:", 22) {
		return m.end
	}
	x := Failure{Kind: CuPyAlloc, Framework: "cupy", Backend: "cuda"}
	x.Figures.Requested, x.Figures.Allocated, x.Figures.Limit = commaBytes(k, "want"), commaBytes(k, "pool"), commaBytes(k, "limit")
	return m.fail(x, m.took(k))
}

// commaBytes reads an integer whose commas are thousands separators whatever
// their number.
func commaBytes(k Match, group string) *Size {
	n, ok := wholeNumber(strings.ReplaceAll(k.Lower(group), ",", ""))
	if !ok {
		return nil
	}
	return &Size{Bytes: n, Text: k.Text(group) + " bytes", Line: k.Line()}
}

var rmmPattern = pattern(`failedtoallocate(?<want>SIZE)`)

// readDeviceBadAlloc reads "MemoryError: std::bad_alloc: CUDA error at:
// .../rmm/mr/device/cuda_memory_resource.hpp:69: cudaErrorMemoryAllocation".
func readDeviceBadAlloc(m message) int {
	x := Failure{Kind: RMMAlloc, Framework: "other", Backend: "cuda"}
	if m.follows("rmm", 260) {
		x.Framework = "cupy"
	}
	k := m.find(rmmPattern, 200)
	x.Figures.Requested = k.Size("want")
	return m.fail(x, m.took(k))
}

// readPoolLimit reads RMM's own cap; llama.cpp and others have no such words.
func readPoolLimit(m message) int {
	if !m.mentions("rmm") {
		return m.end
	}
	return m.fail(Failure{Kind: RMMAlloc, Framework: "cupy", Backend: "cuda"}, m.end)
}
