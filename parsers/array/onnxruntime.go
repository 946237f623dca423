package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// ONNXRuntime reads ONNX Runtime.
var ONNXRuntime = text.NewParser("onnxruntime", map[fact.Kind]int{fact.ORTLimit: 4}, []text.Wording{
	text.On("WaitNotificationFn) Failed to alloc", arena), text.On("AllocateRawInternal Failed to alloc", arena), // titles that end in the middle of it
	text.On("for requested buffer of size", readArena),
	text.On("is smaller than requested bytes of", func(m text.Message) int {
		return text.FailsIf(fact.Failure{Kind: fact.ORTLimit, Framework: "onnxruntime", Backend: ortBackend(m), Phase: "inference"}, 60, 60, arenaLimitPattern)(m)
	}),
	text.On("CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED", text.Fails(ortRefused)), text.On("CUDA failure 2: out of memory", text.Unless(text.Fails(ortRefused), ofCNTK)), text.On("CUDNN failure", text.Unless(text.When(text.Fails(ortRefused), text.Behind("cudnn_status_alloc_failed;gpu=", 50)), ofCNTK)), // CNTK had the same macro before
	text.On("8007000E", readDirectML),
	// Triton's 64 MB CUDA pool is full, and it goes on.
	text.On("falling back to pinned system memory", text.Notices("triton_pool_fallback", "Triton's own CUDA pool (64 MB by default) was full for one tensor, and it used pinned system memory instead. A larger pool: --cuda-memory-pool-byte-size 0:536870912.")),
}, []text.Wording{
	text.On("CUDAExecutionProvider", func(m text.Message) int { return m.End }), // a scan keeps the line, by which [ortBackend] knows the card
})

var (
	ofCNTK            = text.Beside("abouttothrowexception", "msr::cntk", "exceptionoccurred:cu")
	ortRefused        = fact.Failure{Kind: fact.ORTDevice, Framework: "onnxruntime", Backend: "cuda"}
	arenaPattern      = text.NewPattern(`ofsize(?<requested_bytes>\d{1,20})`)
	arenaLimitPattern = text.NewPattern(`availablememoryof(?<free_bytes>\d{1,20})issmallerthanrequestedbytesof(?<requested_bytes>\d{1,20})`)
)

// readArena reads "Failed to allocate memory for requested buffer of size N".
// N can be no size at all: it is kept as printed, and rules know what is absurd.
func readArena(m text.Message) int {
	if !m.Precedes("allocaterawinternal", 160) && !m.Precedes("failedtoallocatememory", 30) {
		return m.End
	}
	return arena(m)
}

func arena(m text.Message) int {
	x := fact.Failure{Kind: fact.ORTAlloc, Framework: "onnxruntime", Backend: ortBackend(m), Phase: "inference"}
	if m.Precedes("duringinitialization", 400) {
		x.Phase = "load"
	}
	return m.FailWith(x, m.Find(arenaPattern, 160))
}

// ortBackend: "_nchwc" names are nodes of the CPU provider's layout, and the
// Node.js package runs on the CPU unless told otherwise.
func ortBackend(m text.Message) string {
	switch {
	case m.Mentions("cudaexecutionprovider", "cuda_execution_provider", "device_id=", "tensorrtexecutionprovider"):
		return "cuda"
	case m.Mentions("dmlexecutionprovider"):
		return ""
	case m.Follows("_nchwc", 200), m.Precedes("_nchwc", 300), m.Mentions("onnxruntime-node", "cpuexecutionprovider"):
		return "cpu"
	}
	return ""
}

// direct3DBudget is what D3D12's memory allocator prints of the local memory:
// what Windows grants the program, and what it uses (D3D12MemAlloc.cpp).
var direct3DBudget = text.NewPattern(`"l(?:0|ocal)":\{"budget":\{"budgetbytes":(?<limit_bytes>\d{6,15}),"usagebytes":(?<allocated_bytes>\d{6,15})`)

// readDirectML reads "8007000E Not enough memory resources are available to
// complete this operation" (E_OUTOFMEMORY), whose lines consoles mingle.
func readDirectML(m text.Message) int {
	if !m.Follows("enoughmemory", 60) && !m.Follows("e_outofmemory", 40) && !m.Precedes("hresult", 40) {
		return m.End
	}
	if !m.Mentions("onnx", "directml", "dmlexecution") { // a game, a renderer
		return m.FailWith(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}, m.Find(direct3DBudget, 2400))
	}
	return m.Fail(fact.Failure{Kind: fact.ORTDevice, Framework: "onnxruntime", Phase: map[bool]string{true: "load"}[m.Precedes("duringinitialization", 600)] + map[bool]string{true: "inference"}[m.Precedes("executekernel", 600)]}, m.End)
}
