package parsers

import "strings"

const (
	// DeviceAlloc is memory of the card refused to a framework that has no parser
	// of its own: PaddlePaddle, MXNet, Caffe, TensorRT, CTranslate2, CUDA.jl, OpenCL.
	DeviceAlloc Kind = "device_alloc"
	// BufferLimit is one buffer above what an OpenCL device gives in one piece.
	BufferLimit Kind = "buffer_limit"
)

var paddle = Parser{
	Name: "paddle", Keywords: literals(paddleWordings),
	Parse: func(l *Log, hits []Hit, f *Facts) { parseWordings(paddleWordings, l, hits, f) },
}

var paddleWordings = []wording{
	{"Out of memory error on GPU", readPaddle},
	{"EnforceNotMet: enforce allocating", readPaddleChunk},
	{"pooled_storage_manager.h", readMXNet},
	{"cudaSuccess (2 vs. 0)", fails(deviceFailure)},                                                              // Caffe, syncedmem.cpp
	{"Cuda Runtime (out of memory)", readTensorRT},                                                               // 8.2 and later
	{"allocate: 2 (out of memory)", readTensorRT},                                                                // up to 8.0
	{"Out of GPU memory trying to allocate", readCUDAJulia},                                                      // CUDA.jl
	{"Memory_Allocation_Failure(EL0004)", fails(Failure{Kind: DeviceAlloc, Framework: "other", Backend: "npu"})}, // Ascend CANN
	{"CUDA failed with error out of memory", readCTranslate2},
	{"cuda failed with error 2 out of memory", fails(deviceFailure)}, // tensorview under spconv
	{"CL_MEM_OBJECT_ALLOCATION_FAILURE", fails(Failure{Kind: DeviceAlloc, Framework: "other"})},
	{"Exceeded max size of memory object allocation", readOpenVINO},
}

var deviceFailure = Failure{Kind: DeviceAlloc, Framework: "other", Backend: "cuda"}

var (
	paddlePattern   = pattern(`errorongpu(?<device>\d{1,2})\.cannotallocate(?<want>SIZE)(?:gpu)?memory(?:ongpu\d{1,2})?,(?:(?<allocated>SIZE)memoryhasbeenallocatedand)?availablememoryis(?:only)?(?<free>SIZE|0\.0{1,9}b)`)
	tensorRTPattern = pattern(`requestedamountofgpumemory\((?<want>\d{1,20}bytes)\)`)
	juliaPattern    = pattern(`tryingtoallocate(?<want>SIZE)(?:effectivegpumemoryusage:[\d.]{1,6}%\(SIZE/(?<total>SIZE)\))?(?:.{0,60}?memorypoolusage:(?<used>SIZE)\((?<reserved>SIZE)reserved\))?`)
	openVINOPattern = pattern(`requested(?<want>\d{1,20})bytes,butmaxallocsizesupportedbydeviceis(?<limit>\d{1,20})bytes`)
)

// readCTranslate2 reads "RuntimeError: CUDA failed with error out of memory"
// (CUDA_CHECK in cuda/utils.h of CTranslate2, under faster-whisper, WhisperX
// and Argos): the model's constructor loads, everything else computes.
func readCTranslate2(m message) int {
	x := deviceFailure
	switch {
	case m.precedes("in__init__", 200), m.precedes("whispermodel(", 300), m.precedes("inload_model", 300):
		x.Phase = "load"
	case m.precedes("transcribe", 600), m.precedes("generate", 300), m.precedes("translate", 300):
		x.Phase = "inference"
	}
	return fails(x)(m)
}

// readPaddle reads "ResourceExhaustedError: Out of memory error on GPU 0.
// Cannot allocate 512.000000MB memory on GPU 0, 15.5GB memory has been
// allocated and available memory is only 280.000000MB." 1.x and 2.0 do not say
// what was allocated; 1.5 has "Cannot allocate 512.0MB GPU memory, available
// memory is 280.0MB". A sum of all in the process, of which the pool is part.
func readPaddle(m message) int {
	k := m.find(paddlePattern, 300)
	x := deviceFailure
	x.Figures.Device, x.Figures.Requested = k.Count("device"), k.Size("want")
	x.Figures.Allocated, x.Figures.Free = k.Size("allocated"), k.Size("free")
	return m.fail(x, m.took(k))
}

var paddleChunk = pattern(`availablefailed,(?<want>\d{1,18})(?:>|\\u003e)(?<free>\d{1,18})`)

// readPaddleChunk reads Fluid of 2018, which takes its whole share of the card
// in one piece: "enforce allocating <= available failed, 10513462067 >
// 1369702144".
func readPaddleChunk(m message) int {
	k := m.find(paddleChunk, 140)
	if !k.Ok() {
		return m.end
	}
	x := deviceFailure
	x.Figures.Requested, x.Figures.Free = k.Size("want"), k.Size("free")
	return m.fail(x, m.took(k))
}

// readMXNet reads "src/storage/./pooled_storage_manager.h:157: cudaMalloc
// failed: out of memory" and, of 0.7, ":62: Memory allocation failed."
func readMXNet(m message) int {
	if !m.follows("outofmemory", 120) && !m.follows("memoryallocationfailed", 60) {
		return m.end
	}
	return m.fail(deviceFailure, m.end)
}

// readTensorRT reads "[E] Error Code 1: Cuda Runtime (out of memory)" with the
// warning below it, "Requested amount of GPU memory (1180463648 bytes) could
// not be allocated". The builder tries many tactics and skips those that do not
// fit: if an engine comes out, nothing failed.
func readTensorRT(m message) int {
	if m.tacticSkipped() {
		return m.end
	}
	k := m.find(tensorRTPattern, 200)
	x := deviceFailure
	x.Figures.Requested = k.Size("want")
	return m.fail(x, m.took(k))
}

// tacticSkipped notes that the builder went on and got its engine.
func (m message) tacticSkipped() bool {
	rest := m.l.Squeezed()[m.at:]
	if !strings.Contains(rest, "skippingtactic") || !strings.Contains(rest, "enginebuiltin") && !strings.Contains(rest, "&&&&passed") {
		return false
	}
	m.notice(Notice{ID: "tactic_skipped", Title: "TensorRT skipped ways of computing that did not fit, and built the engine with others."})
	return true
}

// readCUDAJulia reads CUDA.jl's OutOfGPUMemoryError (src/pool.jl): "Effective
// GPU memory usage: 99.54% (7.760 GiB/7.796 GiB)" is of the whole card, "Memory
// pool usage: 5.375 GiB (7.000 GiB reserved)" of the process.
func readCUDAJulia(m message) int {
	k := m.find(juliaPattern, 320)
	x := deviceFailure
	x.Figures.Requested, x.Figures.Total = k.Size("want"), k.Size("total")
	x.Figures.Allocated, x.Figures.Reserved = k.Size("used"), k.Size("reserved")
	return m.fail(x, m.took(k))
}

// readOpenVINO reads "[GPU] Exceeded max size of memory object allocation:
// requested 7516192768 bytes, but max alloc size supported by device is
// 4294959104 bytes" (intel_gpu plug-in, 2024 and later).
func readOpenVINO(m message) int {
	k := m.find(openVINOPattern, 160)
	x := Failure{Kind: BufferLimit, Framework: "other"}
	x.Figures.Requested, x.Figures.Limit = rawBytes(k, "want"), k.Size("limit")
	return m.fail(x, m.took(k))
}
