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
		literals: []string{"NVIDIA driver on your system is too old", "CUDA driver version is insufficient for CUDA runtime version"},
		when:     nothingElseFailed,
		id:       "driver_too_old", title: "The graphics driver is older than what this program was built for; no memory was asked for yet.",
		advice: "Update the NVIDIA driver, or install a build for an older CUDA (PyTorch: the wheel whose `cu` number is not above what `nvidia-smi` shows at its top right).",
	},
	{
		literals: []string{"Torch not compiled with CUDA enabled", "not compiled with CUDA support", "Found no NVIDIA driver on your system"},
		when:     nothingElseFailed,
		id:       "torch_without_cuda", title: "This PyTorch is the build for the processor, or finds no driver: the card was never used.",
		advice: "Install the CUDA build in the same environment that runs the program; `python -c \"import torch; print(torch.version.cuda, torch.cuda.is_available())\"` shows what is there.",
	},
	{
		literals: []string{"Cannot copy out of meta tensor"},
		when:     nothingElseFailed,
		id:       "meta_tensor", title: "A part of the model was never loaded: it is still an empty placeholder, as a rule because two library versions do not fit together or a file is missing. Memory is not the point.",
		advice: "Update the program or node together with transformers and accelerate, load with `low_cpu_mem_usage=False`, and do not call `.to()` on a model that was placed by `device_map`.",
	},
	{
		literals: []string{"mat1 and mat2 shapes cannot be multiplied", "size mismatch for ", "The size of tensor a ("},
		when:     nothingElseFailed,
		id:       "shape_mismatch", title: "Two tensors do not fit each other in shape: parts of different models or versions, or a wrong input; not memory.",
		advice: "Check that checkpoint, LoRA, VAE and text encoder belong to the same model; in code of your own print the shapes before that line.",
	},
	{
		literals: []string{"Expected all tensors to be on the same device"},
		when:     nothingElseFailed,
		id:       "mixed_devices", title: "One tensor lies on the card and another in RAM: a mistake of placement, not a lack of memory.",
		advice: "Move the inputs to the model's device (`x.to(model.device)`), or let one place decide (`device_map`, the offload option), not two.",
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
		literals: []string{"no kernel image is available", "CUDA failure 'initialization error'", "no CUDA-capable device", "forward compatibility was attempted"},
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
