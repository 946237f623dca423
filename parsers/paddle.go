package parsers

// DeviceAlloc is memory of the card refused to a framework that has no parser
// of its own: PaddlePaddle, MXNet, Caffe, TensorRT, CUDA.jl, OpenCL.
const DeviceAlloc Kind = "device_alloc"

var paddle = Parser{
	Name: "paddle", Keywords: literals(paddleWordings),
	Parse: func(l *Log, hits []Hit, f *Facts) { parseWordings(paddleWordings, l, hits, f) },
}

var paddleWordings = []wording{
	{"Out of memory error on GPU", readPaddle},
	{"pooled_storage_manager.h", readMXNet},
	{"cudaSuccess (2 vs. 0)", fails(deviceFailure)},         // Caffe
	{"Cuda Runtime (out of memory)", fails(deviceFailure)},  // TensorRT 8 and later
	{"Out of GPU memory trying to allocate", readCUDAJulia}, // CUDA.jl
	{"CL_MEM_OBJECT_ALLOCATION_FAILURE", fails(Failure{Kind: DeviceAlloc, Framework: "other"})},
	{"Exceeded max size of memory object allocation", readOpenVINO},
}

var deviceFailure = Failure{Kind: DeviceAlloc, Framework: "other", Backend: "cuda"}

var (
	paddlePattern   = pattern(`errorongpu(?<device>\d{1,2})\.cannotallocate(?<want>SIZE)memoryongpu\d{1,2}(?:,(?<allocated>SIZE)memoryhasbeenallocated)?(?:and|,)?(?:availablememoryisonly(?<free>SIZE|0\.0{1,9}b))?`)
	juliaPattern    = pattern(`tryingtoallocate(?<want>SIZE)(?:.{0,60}?usage:[\d.]{1,6}%\((?<used>SIZE)/(?<total>SIZE)\))?`)
	openVINOPattern = pattern(`requested(?<want>\d{1,18})bytes,butmaxallocsizesupportedbydeviceis(?<limit>\d{1,18})bytes`)
)

// readPaddle reads "ResourceExhaustedError: Out of memory error on GPU 0.
// Cannot allocate 512.000000MB memory on GPU 0, 15.5GB memory has been
// allocated and available memory is only 280.000000MB."
func readPaddle(m message) int {
	k := m.find(paddlePattern, 300)
	x := deviceFailure
	x.Figures.Device, x.Figures.Requested = k.Count("device"), k.Size("want")
	x.Figures.Allocated, x.Figures.Free = k.Size("allocated"), k.Size("free")
	return m.fail(x, m.took(k))
}

// readMXNet reads "src/storage/./pooled_storage_manager.h:157: cudaMalloc
// failed: out of memory".
func readMXNet(m message) int {
	if !m.follows("outofmemory", 120) {
		return m.end
	}
	return m.fail(deviceFailure, m.end)
}

// readCUDAJulia also reads "Effective GPU memory usage: 99.54% (7.760
// GiB/7.796 GiB)".
func readCUDAJulia(m message) int {
	k := m.find(juliaPattern, 220)
	x := deviceFailure
	x.Figures.Requested, x.Figures.Allocated, x.Figures.Total = k.Size("want"), k.Size("used"), k.Size("total")
	return m.fail(x, m.took(k))
}

// readOpenVINO reads OpenCL's limit of one buffer.
func readOpenVINO(m message) int {
	k := m.find(openVINOPattern, 160)
	x := Failure{Kind: MLXBuffer, Framework: "other"}
	x.Figures.Requested, x.Figures.Limit = k.Size("want"), k.Size("limit")
	return m.fail(x, m.took(k))
}
