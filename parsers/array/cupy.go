package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// CuPy reads CuPy, RMM and Numba.
var CuPy = parser("cupy", nil,
	text.On("Out of memory allocating", readCuPy),  // 7 and later: "25,600,000 bytes (allocated so far: ... bytes)"
	text.On("out of memory to allocate", readCuPy), // before: "163840000 bytes (total 1673061376 bytes)"
	text.On("RMM_ERROR_OUT_OF_MEMORY", text.FailsWith(rmmFailure, 0, 90, text.NewPattern(`attemptedtoallocate:(?<requested_bytes>\d{1,16})bytes`))),
	text.On("Maximum pool size exceeded", text.When(text.FailsAlone(rmmFailure), text.Beside("rmm"))), // RMM's own cap
	text.On("Call to cuMemAlloc results in", text.Fails(fact.Failure{Kind: fact.NumbaAlloc, Framework: "other", Backend: "cuda"})),
)

var (
	rmmFailure  = fact.Failure{Kind: fact.RMMAlloc, Framework: "cupy", Backend: "cuda"}
	cupyPattern = text.NewPattern(`(?:allocating|toallocate)(?<requested>INTbytes)(?:\((?:allocatedsofar:|total)(?<allocated>INTbytes)(?:,limitsetto:?(?:(?<limit>INTbytes)|(?<limit_bytes>INT)))?)?`)
	rmmPattern  = text.NewPattern(`failedtoallocate(?<requested>SIZE)`)
	// XGBoost's ThrowOOMError (device_helpers.cuh): bytes, since 2.1 with units.
	xgboostPattern = text.NewPattern(`-freememory:(?:(?<free>SIZE)|(?<free_bytes>\d{1,15}))-requestedmemory:(?:(?<requested>SIZE)|(?<requested_bytes>\d{1,15}))`)
)

// readCuPy reads CuPy's two wordings.
func readCuPy(m text.Message) int {
	if m.Precedes("resource_exhausted:", 22) || m.Follows("bytesafteratotalof", 60) { // XLA, GCC
		return m.End
	}
	if k := m.Find(cupyPattern, 200); k.Text("allocated") == "" && !m.Mentions("cupy", "chainer") { // Redis, Unreal, GDAL
		return m.End
	}
	return text.FailsIf(fact.Failure{Kind: fact.CuPyAlloc, Framework: "cupy", Backend: "cuda"}, 0, 200, cupyPattern)(m)
}

// readDeviceBadAlloc reads "MemoryError: std::bad_alloc: CUDA error at:
// .../rmm/mr/device/cuda_memory_resource.hpp:69: cudaErrorMemoryAllocation".
func readDeviceBadAlloc(m text.Message) int {
	x := rmmFailure
	if !m.Follows("rmm", 260) {
		x.Framework = "other"
	}
	return m.FailWith(x, m.Find(xgboostPattern, 260), m.Find(rmmPattern, 200))
}
