package lookalike

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Errors of cards and drivers that are not a lack of memory.
var deviceDisguises = []disguise{
	{
		literals: []string{"out of resource: shared memory", "out of resources: shared memory", "out of resource: threads", "out of resource: tensor memory", "OutOfResources: out of resource", "uses too much shared data"},
		id:       "triton_shared_memory", title: "A GPU kernel wants more on-chip memory per block than this chip has. That is scratch space of some 100 KB, not the card's memory.",
		advice: "Use smaller block sizes or a lower num_stages for that kernel, a version that knows this GPU, or another kernel or attention backend. Free VRAM makes no difference.",
	},
	{
		literals: []string{"an illegal memory access was encountered", "CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress", "misaligned address", "cudaErrorIllegalAddress"},
		id:       "illegal_memory_access", title: "A kernel read or wrote an address that is not its own: a bug, not a lack of memory.",
		advice: "Run it once with CUDA_LAUNCH_BLOCKING=1 to see which operation it is, then try another version of the library that owns it.",
	},
	{
		literals: []string{"device-side assert triggered", "srcIndex < srcSelectDimSize", "indexSelectLargeIndex", "indexSelectSmallIndex", "cudaErrorAssert"},
		explains: []fact.Kind{fact.CUDAHandle, fact.TFHandle},
		id:       "device_side_assert", title: "An index is out of range on the GPU: a token id, a label or a position is larger than the table it is looked up in.",
		advice: "Run the same input on the CPU: the message then names the line. Compare the largest id with the vocabulary or the number of classes.",
	},
	{
		literals: []string{"too many resources requested for launch"},
		id:       "launch_resources", title: "A kernel needs more registers or threads per block than this GPU has: not its memory.",
		advice: "Install a build that was compiled for this card, or switch that kernel or extension off.",
	},
	{
		literals: []string{"CubeCountTooLarge", "invalid configuration argument"},
		id:       "launch_dimensions", title: "A kernel was started with more blocks than the interface allows: not memory.",
		advice: "Use a newer version, another backend, or a smaller input in that dimension.",
	},
	{
		literals: []string{"no kernel image is available", "driver version is insufficient", "CUDA failure 'initialization error'", "found no NVIDIA driver", "no CUDA-capable device", "forward compatibility was attempted"},
		id:       "gpu_setup", title: "The program found no card that it could use (a machine without one, its driver, the CUDA build or the container): none of a card's memory was asked for.",
		advice: "Compare `nvidia-smi` with the CUDA version of the program; update the driver or install the matching build, and start containers with `--gpus all`.",
	},
	{
		literals: []string{"not enough space: expected"},
		id:       "ort_shape_changed", title: "ONNX Runtime planned a buffer for another shape than came: not a lack of memory.",
		advice: "Mark the changing dimension as dynamic when exporting, or always pass the shape the session saw first.",
	},
	{
		literals: []string{"HSA_STATUS_ERROR_OUT_OF_RESOURCES"},
		when: func(m text.Message) bool {
			return m.Mentions("rocminfo", "hsa_init", "/dev/kfd", "rocr") || nothingElseFailed(m)
		},
		id: "hsa_out_of_resources", title: "The ROCm runtime could not open or use the device; as a rule permissions or the driver, not memory.",
		advice: "Add the user to the groups render and video, check `ls -l /dev/kfd /dev/dri` and `dmesg | grep -i -E 'amdgpu|kfd'`.",
	},
	{
		literals: []string{"Memory access fault by GPU node"},
		when:     func(m text.Message) bool { return !m.Precedes("outofmemory", 400) }, // the fault follows what was refused
		id:       "rocm_page_fault", title: "A kernel touched memory that is not mapped on an AMD GPU: a bug of program, driver or ROCm version.",
		advice: "Try the ROCm version that the program names for this card; on unsupported cards check HSA_OVERRIDE_GFX_VERSION.",
	},
	{
		literals: []string{"NVRM: Xid", "fallen off the bus", "RmInitAdapter failed"},
		id:       "nvidia_xid", title: "The NVIDIA driver reports a fault of a program or of the hardware. No Xid number means out of memory.",
		advice: "Look the number up: 13 and 31 are a program's bug (pid= names it), 48, 63, 64, 94 and 95 ECC memory, 79 a card that fell off the bus (power, seating), 119 and 120 firmware.",
	},
	{
		literals: []string{"Watchdog caught collective operation timeout"},
		id:       "nccl_timeout", title: "Ranks waited for one that never came. The cause is in the log of the missing rank, and may be out-of-memory there.",
		advice: "Read the logs of all ranks and look for the first that stopped; on its machine run `dmesg -T | grep -i -E 'oom|killed process'`.",
	},
	{
		literals: []string{"No available shared memory broadcast block", "No available block found in 60 second"},
		id:       "vllm_worker_silent", title: "A worker has not answered for a minute: it is busy or dead. Shared memory is only the mailbox, it is not full.",
		advice: "Look at the workers' own lines above it, and at `nvidia-smi`: busy (compiling, loading) is fine; if one died, its log says why.",
	},
}
