package fact

// TorchSummary is torch.cuda.memory_summary() that counts an OOM: fairseq
// prints one per card with the exception, ComfyUI (2026) after it.
const TorchSummary Kind = "torch_summary"

// TorchRetry is a library that ran out, and goes on with a function on the CPU
// (detectron2 utils/memory.py, mmdet/utils/memory.py).
const TorchRetry Kind = "torch_retry"

// What NCCL says when a card or /dev/shm is full.
const (
	// NCCLAlloc is NCCL finding the card full before it has its own buffers
	// (0.2 to 2 GB outside the framework's pool).
	NCCLAlloc Kind = "nccl_alloc"
	// NCCLShm is a /dev/shm too small for NCCL's segments.
	NCCLShm Kind = "nccl_shm"
)

// What PyTorch's device allocators and the CUDA runtime below them say.
const (
	// TorchAlloc is the caching allocator's message, with as many figures as
	// the era and the paste left (c10/cuda/CUDACachingAllocator.cpp; the ROCm,
	// XPU and NPU allocators are copies).
	TorchAlloc Kind = "torch_alloc"
	// TorchAsync is the cudaMallocAsync backend, ComfyUI's default
	// (c10/cuda/CUDAMallocAsyncAllocator.cpp, 2.0 and later).
	TorchAsync Kind = "torch_async"
	// CUDAError is a raw runtime error 2: kernel launch, context creation or
	// pinned host memory. It never has figures.
	CUDAError Kind = "cuda_error"
	// CUDAHandle is a cuBLAS or cuDNN handle or workspace that could not be
	// made: nearly always a full card, sometimes an earlier bad index.
	CUDAHandle Kind = "cuda_handle"
	// NVMLAssert hides an out-of-memory text on MIG slices, Jetson and some
	// containers (reportProcessMemoryInfo asserts that NVML works).
	NVMLAssert Kind = "nvml_assert"
	// MPSAlloc is aten/src/ATen/mps/MPSAllocator.mm.
	MPSAlloc Kind = "mps_alloc"
	// MPSBuffer is one Metal buffer above maxBufferLength.
	MPSBuffer Kind = "mps_buffer"
	// XPURuntime is level_zero or SYCL under PyTorch's XPU backend.
	XPURuntime Kind = "xpu_runtime"
	// XPUBlock is the 4 GB block limit of IPEX on Arc.
	XPUBlock Kind = "xpu_block"
	// BitsAndBytes is the native library ending the process.
	BitsAndBytes Kind = "bitsandbytes"
)

// What PyTorch and Python say when system memory runs out.
const (
	// CPUAlloc is c10/core/impl/alloc_cpu.cpp: one tensor in system RAM.
	CPUAlloc Kind = "cpu_alloc"
	// CommitLimit is Windows error 1455: RAM plus page file is promised away.
	CommitLimit Kind = "commit_limit"
	// SharedMemory is a full /dev/shm under a DataLoader.
	SharedMemory Kind = "shared_memory"
	// WorkerKilled is a DataLoader worker that got SIGKILL.
	WorkerKilled Kind = "worker_killed"
	// RankKilled is torchrun's "exitcode: -9".
	RankKilled Kind = "rank_killed"
	// MmapFailed is "unable to mmap N bytes from file".
	MmapFailed Kind = "mmap_failed"
)

// What transformers, accelerate and bitsandbytes say before the card is ever
// asked: they compare the model with the memory that is free.
const (
	// DispatchRefused is the quantisers' check that device_map="auto" put
	// nothing on the CPU (transformers quantizers/quantizer_bnb_{4,8}bit.py and
	// accelerate utils/bnb.py, 2023-06 and later).
	DispatchRefused Kind = "dispatch_refused"
	// OffloadNeeded is a model that is larger than all cards and RAM, told as a
	// missing offload_folder (transformers modeling_utils.py 4.23 and later,
	// accelerate big_modeling.py 0.8 and later).
	OffloadNeeded Kind = "offload_needed"
	// BatchGivenUp is find_executable_batch_size at its end (accelerate
	// utils/memory.py 0.8 and later): even one sample ran out of memory.
	BatchGivenUp Kind = "batch_given_up"
)
