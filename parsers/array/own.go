package array

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Own reads programs with a wording of their own for a full card: microscopy,
// renderers, simulators, statistics.
var Own = parser("own", nil, unquoted(slices.Concat(text.OnAny(text.Fails(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}), // Unreal Engine, hashcat, COLMAP, Bevy
	"Out of video memory trying to allocate", "Not enough allocatable device memory", "Not enough GPU memory to match", "Caught rendering error: Out of Memory"), text.OnAny(numbered(fact.DeviceAlloc),
	"Cuda failure: 2", "CUDA error 2", "CUDA error: 2", "CUDA error = 2", "CUDA error (2", "CUDA error code 2", "CUDA error code: 2", "CUDA_ERROR 2", "CUDA driver error 2", "cudaMalloc returned 2", "cudaMalloc failed with error 2", "cuda execution failed with error 2", "cudaMalloc failed: 2", "cuMemAlloc failed: 2", "HIP error: 2", "HIP error 2"), []text.Wording{
	text.On("CudaCustomAllocator out of memory", readRELION), text.On("HipCustomAllocator out of memory", readRELION),
	// What RELION prints below its error, where that is cut off.
	text.On("You ran out of memory on the GPU(s)", text.Unless(text.FailsAlone(deviceFailure), text.Beside("customallocatoroutofmemory", "outofmemoryin"))),
	// RELION's "ERROR: out of memory in .../acc_projector_impl.h at line 74
	// (error-code 2)" and Cycles' "Out of memory in cuMemAlloc(...".
	text.On("out of memory in", text.When(text.FailsAlone(deviceFailure), text.Behind("(error-code2)", 220), text.Behind("outofmemoryincu", 20))), text.On("could not create a memory object", text.Unless(readOneDNN, text.Before("status:2,", 24), text.Before("status:3,", 24))), text.On("could not create a primitive", text.When(readOneDNN, text.Before("status:1,", 24))),
	text.On("System is out of GPU memory", readCycles), text.On("CUDA.OutOfGPUMemoryError(", text.Unless(text.Fails(deviceFailure), text.Beside("outofgpumemorytryingto"))), text.On("System is out of GPU and shared host memory", readCycles),
	text.On("PxgCudaDeviceMemoryAllocator fail to allocate memory", text.FailsWith(deviceFailure, 0, 100, physxPattern)),
	// What LightGBM's OpenCL trainer dies of.
	text.On("Memory Object Allocation Failure", text.When(text.FailsAlone(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}), text.Before("what():", 12), text.Before("opencl_error", 60), text.Before("clerrorcode-4:", 16))), text.On("Out of memory on device. To view more detail", text.Fails(deviceFailure)), // MATLAB
	// "Requested 100000x100000 (74.5GB) array exceeds maximum array size preference (32.0GB)".
	text.On("array exceeds maximum array size preference", readMATLAB), text.On("array exceeded the preset maximum array size", readMATLAB),
	text.On("OpenEncodeSessionEx failed: out of memory", text.Fails(deviceFailure)), // FFmpeg's NVENC
	// dxvk_memory.cpp: the size, and what the driver says of heap 0; "budget" was "available" at first.
	text.On("DxvkMemoryAllocator: Memory allocation failed", text.FailsWith(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "vulkan"}, 0, 400, text.NewPattern(
		`size:(?<requested_bytes>\d{1,15})(?:.{0,200}?heap0:\d{1,7}mballocated,\d{1,7}mbused,(?:(?<dxvk_driver_mib>\d{1,7})mballocated\(driver\),(?<dxvk_budget_mib>\d{1,7})mb(?:budget|available)\(driver\),)?(?<total_mib>\d{1,7})mbtotal)?`))),
	text.On("Cuda Error in", numbered(fact.TRTEngine)), // TensorRT up to 7
	// Tenstorrent's bank_manager.cpp; what is in use and free is that of one bank.
	text.On("Not enough space to allocate", text.FailsIf(fact.Failure{Kind: fact.PlainDevice, Framework: "other"}, 0, 420, text.NewPattern(`toallocate(?<requested_bytes>\d{1,15})b(?:dram|l1|l1_small|trace)bufferacross(?<tt_banks>INT)banks(?:,whereeachbankneedstostore(?<tt_each_bytes>\d{1,12})b(?:,butbanksizeis(?:only)?(?<tt_bank_bytes>\d{1,12})b(?:\(allocated:\d{1,12}b,free:(?<tt_free_bytes>\d{1,12})b,largestfreeblock:(?<tt_largest_bytes>\d{1,12})b)?)?)?`))),
	text.On("Workspace can't be allocated", text.FailsWith(fact.Failure{Kind: fact.DeviceAlloc, Framework: "pytorch", Backend: "cuda", Phase: "inference"}, 240, 0, // DeepSpeed's inference_context.h
		text.NewPattern(`requested:(?<requested_bytes>\d{6,14})free:(?<free_bytes>\d{1,14})total:(?<total_bytes>\d{6,14})`))),
	// Of Boltz, whose input is lost then; trainers that print the same go on with the
	// next batch.
	text.On("ran out of memory, skipping batch", text.When(
		text.FailsAlone(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "cuda", Phase: "inference"}), text.Beside("boltz", "numberoffailedexamples"))),
})...)...)

var (
	relionPattern = text.NewPattern(`requestedspace:(?<want>\d{1,20})b(?:.{0,20}largestcontinuousfreespace:\d{1,20}b.{0,6}totalfreespace:(?<left>\d{1,20})b)?`)
	physxPattern  = text.NewPattern(`memory(?<requested>\d{1,16}bytes)`)
	readMATLAB    = text.FailsWith(fact.Failure{Kind: fact.NativeAlloc, Framework: "other", Backend: "cpu"}, 60, 90, text.NewPattern(`\((?<requested>SIZE)\)arrayexceed(?:smaximumarraysizepreference(?:\((?<limit>SIZE)\))?|ed)`))
)

// numberPattern is a CUDA error by number that ends its line or a clause of it.
var numberPattern = text.NewPattern(`^(?:cudaerrorin[a-z0-9_:~]{2,40}|(?:cuda|cu|hip)[a-z_]{4,24})[:=(]{0,2}2(?:$|[^\w.]|\.?$|\.[a-z]|at|abort|core|file|in|line|on|terminate|when|while)`)

// numbered reads who prints the number alone: 2 is out of memory in CUDA's runtime,
// its driver and HIP (driver_types.h, cuda.h, hip_runtime_api.h).
func numbered(kind fact.Kind) func(text.Message) int {
	return func(m text.Message) int {
		if _, to := m.Log.LineSpan(m.At); !m.Log.Find(numberPattern, m.At, to).Ok() || m.Follows("outofmemory", 300) {
			return m.End
		}
		return m.Fail(fact.Failure{Kind: kind, Framework: "other", Backend: map[bool]string{true: "rocm", false: "cuda"}[m.Log.Squeezed()[m.At] == 'h']}, m.End)
	}
}

// readRELION reads the three figures on the lines below. The pool is what
// RELION took of the card for what varies from particle to particle.
func readRELION(m text.Message) int {
	x := deviceFailure
	k := m.Find(relionPattern, 260)
	x.Figures.Requested, x.Figures.Free = text.RawBytes(k, "want"), text.RawBytes(k, "left")
	if x.Figures.Requested == nil && k.Text("want") != "" {
		signal(m, "no_size", k.Line(), k.Text("want"))
	}
	return m.Fail(x, m.Took(k))
}

// readOneDNN reads dnnl.hpp, which drops the status but in TensorFlow, where 1 is out
// of memory, 2 and 3 are arguments ("Status: 1, message: could not create ...").
func readOneDNN(m text.Message) int {
	x := fact.Failure{Kind: fact.NativeAlloc, Framework: "other", Backend: "cpu"}
	if m.Mentions("ggml-sycl") {
		x = fact.Failure{Kind: fact.GGMLSYCL, Framework: "llama.cpp", Backend: "sycl"}
	} else if m.Mentions("sycl", "xpu") {
		x.Kind, x.Backend = fact.DeviceAlloc, "xpu"
	}
	return text.Fails(x)(m)
}

// readCycles: the words also stand in manuals and threads.
func readCycles(m text.Message) int {
	from, _ := m.Log.LineSpan(m.At)
	if m.At-from > 12 && !m.Precedes("|", 2) && !m.Precedes("error:", 8) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}, m.End)
}

// unquoted reads wordings where they are no text of a program's source.
func unquoted(list ...text.Wording) []text.Wording {
	return text.Each(list, func(w text.Wording) text.Wording {
		return text.On(w.Literal, text.Unless(w.Read, text.Before("\"", 1), text.Before("`", 1)))
	})
}
