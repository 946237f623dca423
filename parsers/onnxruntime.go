package parsers

import (
	"strconv"
)

const (
	// ORTAlloc is ONNX Runtime's arena. The arena has the same name on CPU and
	// GPU: the message proves no backend.
	ORTAlloc Kind = "ort_alloc"
	// ORTLimit is an arena with a limit (gpu_mem_limit).
	ORTLimit Kind = "ort_limit"
	// ORTDevice is the CUDA or DirectML provider itself.
	ORTDevice Kind = "ort_device"
)

var onnxruntime = Parser{
	Name: "onnxruntime", Keywords: literals(onnxruntimeWordings), Context: []string{"tritonserver", "tritonbackend", "CUDAExecutionProvider"},
	Explains: map[Kind]int{ORTLimit: 4},
	Parse:    parseONNXRuntime,
}

var onnxruntimeWordings = []wording{
	{"WaitNotificationFn) Failed to alloc", readArenaCut}, {"AllocateRawInternal Failed to alloc", readArenaCut},
	{"for requested buffer of size", readArena},
	{"is smaller than requested bytes of", readArenaLimit},
	{"CUDA failure 2: out of memory", fails(Failure{Kind: ORTDevice, Framework: "onnxruntime", Backend: "cuda"})},
	{"8007000E", readDirectML},
	{"falling back to pinned system memory", readTritonFallback},
}

func parseONNXRuntime(l *Log, hits []Hit, f *Facts) {
	failures := hits[:0:0]
	for _, h := range hits {
		if h.Word < len(onnxruntimeWordings) {
			failures = append(failures, h)
			continue
		}
		if h.Word < len(onnxruntimeWordings)+2 {
			f.Programs = append(f.Programs, Program{Name: "triton-server", Line: l.Line(h.At), Weight: 2})
		}
	}
	parseWordings(onnxruntimeWordings, l, failures, f)
}

var (
	arenaPattern      = pattern(`ofsize(?<bytes>\d{1,20})`)
	arenaLimitPattern = pattern(`availablememoryof(?<have>\d{1,20})issmallerthanrequestedbytesof(?<want>\d{1,20})`)
)

// readArena reads "Failed to allocate memory for requested buffer of size N".
// N can be the bit pattern of something that was no size: it is kept as
// printed, and rules know what is absurd.
func readArena(m message) int {
	if !m.precedes("allocaterawinternal", 160) && !m.precedes("failedtoallocatememory", 30) {
		return m.end
	}
	return m.arena(m.find(arenaPattern, 60))
}

// readArenaCut is reached by the function that refuses, for titles that end in
// the middle of its message.
func readArenaCut(m message) int { return m.arena(m.find(arenaPattern, 160)) }

func (m message) arena(k Match) int {
	x := Failure{Kind: ORTAlloc, Framework: "onnxruntime", Backend: ortBackend(m), Phase: "inference"}
	x.Figures.Requested = rawBytes(k, "bytes")
	if m.precedes("duringinitialization", 400) {
		x.Phase = "load"
	}
	return m.fail(x, m.took(k))
}

// noSize is above what rawBytes keeps, so that two of them can be added.
const noSize = 1 << 62

// rawBytes keeps sizes that no machine has.
func rawBytes(k Match, group string) *Size {
	digits := k.digits(group)
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n >= noSize {
		return nil
	}
	return &Size{Bytes: int64(n), Text: digits, Line: k.Line()}
}

// ortBackend: "_nchwc" names are nodes of the CPU provider's layout, and the
// Node.js package runs on the CPU unless told otherwise.
func ortBackend(m message) string {
	switch {
	case m.mentions("cudaexecutionprovider", "cuda_execution_provider", "device_id=", "tensorrtexecutionprovider"):
		return "cuda"
	case m.mentions("dmlexecutionprovider"):
		return ""
	case m.follows("_nchwc", 200), m.precedes("_nchwc", 300), m.mentions("onnxruntime-node", "cpuexecutionprovider"):
		return "cpu"
	}
	return ""
}

func readArenaLimit(m message) int {
	k := m.around(arenaLimitPattern, 60, 60)
	if !k.Ok() {
		return m.end
	}
	x := Failure{Kind: ORTLimit, Framework: "onnxruntime", Backend: ortBackend(m), Phase: "inference"}
	x.Figures.Free, x.Figures.Requested = k.Size("have"), k.Size("want")
	return m.fail(x, m.took(k))
}

// readDirectML reads E_OUTOFMEMORY: "8007000E Not enough memory resources are
// available to complete this operation".
func readDirectML(m message) int {
	if !m.follows("notenoughmemory", 60) && !m.follows("e_outofmemory", 40) && !m.precedes("hresult", 40) {
		return m.end
	}
	return m.fail(Failure{Kind: ORTDevice, Framework: "onnxruntime"}, m.end)
}

// readTritonFallback: Triton's 64 MB CUDA pool is full, and it goes on.
func readTritonFallback(m message) int {
	m.notice(Notice{ID: "triton_pool_fallback", Title: "Triton's own CUDA pool (64 MB by default) was full for one tensor, and it used pinned system memory instead: slower, no failure. A larger pool: --cuda-memory-pool-byte-size 0:536870912."})
	return m.end
}
