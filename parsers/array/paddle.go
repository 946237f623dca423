package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Paddle reads PaddlePaddle, MXNet, Caffe, TensorRT, CTranslate2, CUDA.jl, OpenVINO and MindSpore.
var Paddle = parser("paddle", nil,
	text.On("Out of memory error on GPU", text.FailsWith(deviceFailure, 0, 560, paddlePattern)), text.On("EnforceNotMet: enforce allocating", text.FailsIf(deviceFailure, 0, 140, paddleChunk)),
	// MXNet's ":157: cudaMalloc failed: out of memory" and, of 0.7, ":62: Memory allocation failed."
	text.On("pooled_storage_manager.h", text.When(text.FailsAlone(deviceFailure), text.Behind("outofmemory", 120), text.Behind("memoryallocationfailed", 60))),
	// The first row of darknet's table, and its .cfg.
	text.On("x 3 ->", text.States(24, 8, text.NewPattern(`3x3/[12](?<darknet_side>\d{2,4})x\d{2,4}x3->`))), text.On("subdivisions=", text.States(20, 24, text.NewPattern(`batch=(?<darknet_batch>\d{1,4})subdivisions=(?<darknet_parts>\d{1,4})(?!\d)`))),
	text.On("cudaSuccess (2 vs. 0)", text.Fails(deviceFailure)), text.On("CUFFT_SUCCESS (2 vs. 0)", text.Fails(deviceFailure)), text.On("CUDA failure 2: out of memory", text.When(text.Fails(deviceFailure), ofCNTK)), text.On("cuDNN failure", text.When(text.When(text.Fails(deviceFailure), text.Behind("cudnn_status_alloc_failed;gpu=", 50)), ofCNTK)), text.On("Cuda Runtime (out of memory)", readTensorRT), // Caffe, syncedmem.cpp; 8.2 and later
	text.On("Device memory is insufficient to use tactic", func(m text.Message) int {
		if !m.Mentions("[e]", "cudaruntime(outofmemory)", "couldnotfindanyimplementation") {
			m.Lookalike(fact.Lookalike{ID: "tactic_too_large", Title: "TensorRT's builder skips ways of computing that do not fit the card: warnings, and it goes on with others.", Advice: "Nothing is to be done if an engine comes out. If none does, the first error line says why; a smaller largest batch, input or output length of the engine leaves more ways."})
		}
		return m.End
	}),
	text.On("allocate: 2 (out of memory)", readTensorRT), text.On("Out of GPU memory trying to allocate", text.FailsWith(deviceFailure, 0, 320, juliaPattern)), // up to 8.0; CUDA.jl
	text.On("Memory_Allocation_Failure(EL0004)", text.FailsWith(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "npu"}, 0, 900, text.NewPattern(`rtmallocfail,.{0,60}?size:(?<requested_bytes>\d{1,19}),device_id:(?<device>\d{1,3})`))), // Ascend CANN
	// MindSpore's mem_dynamic_allocator.cc, device actors and ascend_memory_adapter.cc; "MOC" was "HBM" at first.
	text.On("is more than total mem size", text.FailsIf(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}, 220, 60, text.NewPattern(`totalusedmemstatistics:(?<allocated_bytes>\d{1,16})plus(?:totalusedbyeventmemstatistics:\d{1,16}andplus)?allocsize:(?<requested_bytes>\d{1,16})ismorethantotalmemsize:(?<limit_bytes>\d{1,16})`))), text.On("memory isn't enough and alloc failed", text.FailsIf(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}, 16, 320, text.NewPattern(`device\(id:(?<device>\d{1,3})\)memoryisn'tenoughandallocfailed(?:,kernelname:.{1,240}?,allocsize:(?<requested_bytes>\d{1,16})b)?`))), text.On("Malloc device memory failed", text.FailsIf(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "npu"}, 0, 320, text.NewPattern(`mallocdevicememoryfailed,(?:size\[(?<requested_bytes>\d{1,16})\],ret\[\d{1,10}\],device(?<device>\d{1,3})(?:available(?:hbm|moc)size:(?<total_bytes>\d{1,16})freesize:(?<free_bytes>\d{1,16}))?|freememorysizeislessthanhalfoftotalmemorysize\.?device(?<device>\d{1,3})device(?:hbm|moc)totalsize:(?<total_bytes>\d{1,16})device(?:hbm|moc)freesize:(?<free_bytes>\d{1,16}))`))),
	text.On("halMemAlloc failed", text.FailsIf(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "npu"}, 0, 320, halPattern)), text.On("(module_name=APP;", text.States(0, 120, text.NewPattern(`current_alloced_size=(?<ascend_app_bytes>\d{1,19})`))), text.On("(module_name=HCCL;", text.States(0, 120, text.NewPattern(`current_alloced_size=(?<ascend_hccl_bytes>\d{1,19})`))),
	text.On("cuda failed with error 2 out of memory", text.Fails(deviceFailure)) /* spconv */, text.On("CUDA failed with error out of memory", readCTranslate2), text.On("CUDAMiner::initEpoch", text.FailsIf(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "cuda", Phase: "load"}, 600, 80, minerPattern)),
	// hashcat's list and device, "1024/4096 MB allocatable"; since 6.0 "3071/4096 MB (1024 MB allocatable)".
	text.On("unique salts", text.States(24, 16, text.NewPattern(`digests,(?<hashcat_salts>\d{1,10})uniquesalts`))), text.On("MB allocatable", text.States(30, 18, text.NewPattern(`(?:(?<hashcat_block_mib>\d{2,6})/(?<hashcat_card_mib>\d{3,6})|/(?<hashcat_card_mib>\d{3,6})mb\((?<hashcat_block_mib>\d{2,6}))mballocatable`))),
	text.On("CL_MEM_OBJECT_ALLOCATION_FAILURE", text.FailsIf(fact.Failure{Kind: fact.DeviceAlloc, Framework: "other"}, 300, 1200, openCLPattern)), text.On("Exceeded max size of memory object allocation", openVINOBuffer), text.On("[GPU] Exceeded max size of memory allocation", openVINOTotal), text.On("[GPU] out of GPU resources", text.Fails(intelFailure)), // OpenVINO's ocl_engine.cpp: one buffer, all together, and what OpenCL refused
)

var deviceFailure = fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "cuda"}

var (
	// OpenCV's ocl.cpp; a call that a program quotes, and its table of the device.
	openCLPattern = text.NewPattern(`sz=(?<requested_bytes>\d{1,15}),|clcreatebuffer\(\w{1,40},[\w|]{1,120},(?<requested_bytes>\d{1,15}),(?:.{0,1000}?memory,cache\|(?<total>SIZE)vram)?`)
	// "ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate
	// 512.000000MB memory on GPU 0, 15.5GB memory has been allocated and available
	// memory is only 280.000000MB." 1.x and 2.0 do not say what was allocated; 1.5
	// has "Cannot allocate 512.0MB GPU memory, available memory is 280.0MB". A sum
	// of all in the process, of which the pool is part.
	paddlePattern = text.NewPattern(`errorongpu(?<device>\d{1,2})\.cannotallocate(?<requested>SIZE)(?:gpu)?memory(?:ongpu\d{1,2})?,(?:(?<allocated>SIZE)memoryhasbeenallocated(?:\(actualusingallocatedmemory(?<process_used>SIZE)\))?and)?availablememoryis(?:only)?(?<free>SIZE|0\.0{1,9}b)(?:.{0,260}?flags_fraction_of_gpu_memory_to_useis(?<utilization>0\.\d{1,4})now)?`)
	// ethminer prints the card, then the DAG with its cache, then the refusal.
	minerPattern = text.NewPattern(`memory:(?<total>SIZE).{0,300}?generatingdag\+light:(?<requested>SIZE).{0,200}?outofmemory`)
	// Fluid of 2018: "enforce allocating <= available failed, 10513462067 > 1369702144", its whole share.
	paddleChunk = text.NewPattern(`availablefailed,(?<requested_bytes>\d{1,18})(?:>|\\u003e)(?<free_bytes>\d{1,18})`)
	// CANN's driver: "halMemAlloc failed:size=419430400(bytes), type=0, ..., device_id=1, ErrCode=207001,
	// desc=[driver error:out of memory]". Before it stands what each module holds on that device.
	halPattern      = text.NewPattern(`halmemallocfailed:size=(?<requested_bytes>\d{1,19})\(bytes\),.{0,140}?device_id=(?<device>\d{1,3}),.{0,60}?outofmemory`)
	tensorRTPattern = text.NewPattern(`requestedamountofgpumemory\((?<requested>\d{1,20}bytes)\)`)
	// OutOfGPUMemoryError (src/pool.jl): "Effective GPU memory usage: 99.54% (7.760
	// GiB/7.796 GiB)" is of the whole card, "Memory pool usage: 5.375 GiB (7.000 GiB
	// reserved)" of the process; 1.x and 2.x: "CUDA allocator usage: 5.375 GiB (capped
	// at 6.000 GiB)", by JULIA_CUDA_MEMORY_LIMIT.
	juliaPattern = text.NewPattern(`tryingtoallocate(?<requested>SIZE)(?:effectivegpumemoryusage:[\d.]{1,6}%\(SIZE/(?<total>SIZE)\))?(?:.{0,60}?(?:memorypool|cudaallocator)usage:(?<allocated>SIZE)(?:\((?:(?<reserved>SIZE)reserved|cappedat(?<limit>SIZE))\))?)?`)
	// "Required 9437184 bytes, already occupied : 7516192768 bytes, but available ..."; old: no figures, either bound.
	intelFailure   = fact.Failure{Kind: fact.DeviceAlloc, Framework: "other", Backend: "xpu"}
	openVINOTotal  = text.FailsWith(intelFailure, 0, 200, text.NewPattern(`required(?<requested_bytes>\d{1,20})bytes,alreadyoccupied:(?<allocated_bytes>\d{1,20})bytes,butavailablememorysizeis(?<total_bytes>\d{1,20})bytes`))
	openVINOBuffer = text.FailsWith(fact.Failure{Kind: fact.BufferLimit, Framework: "other", Backend: "xpu"}, 0, 160, text.NewPattern(`requested(?<requested_bytes>\d{1,20})bytes,butmaxallocsizesupportedbydeviceis(?<limit_bytes>\d{1,20})bytes`))
)

// readCTranslate2 reads "RuntimeError: CUDA failed with error out of memory"
// (CUDA_CHECK in cuda/utils.h of CTranslate2, under faster-whisper, WhisperX
// and Argos): the model's constructor loads, everything else computes.
func readCTranslate2(m text.Message) int {
	x := deviceFailure
	switch {
	case m.Precedes("in__init__", 200), m.Precedes("loadmodel,", 20), m.Precedes(",ininit", 60), m.Precedes("whispermodel(", 300), m.Precedes("inload_model", 300):
		x.Phase = "load"
	case m.Precedes("transcribe", 600), m.Precedes("generate", 300), m.Precedes("translate", 300):
		x.Phase = "inference"
	}
	return text.Fails(x)(m)
}

// readTensorRT reads "[E] Error Code 1: Cuda Runtime (out of memory)" with the
// warning below it, "Requested amount of GPU memory (1180463648 bytes)". The builder
// skips tactics that do not fit: if an engine comes out, nothing failed.
func readTensorRT(m text.Message) int {
	if TacticSkipped(m) {
		return m.End
	}
	return m.FailWith(deviceFailure, m.Find(tensorRTPattern, 200))
}

// TacticSkipped notes that the builder went on and got its engine.
func TacticSkipped(m text.Message) bool {
	follows := func(text string) bool { return m.Log.MentionsFrom(text, m.At) }
	if !follows("skippingtactic") || !follows("enginebuiltin") && !follows("&&&&passed") {
		return false
	}
	m.Notice(fact.Notice{ID: "tactic_skipped", Title: "TensorRT skipped ways of computing that did not fit, and built the engine with others."})
	return true
}
