package fact

const (
	// CuPyAlloc is CuPy's pool: its "total" or "allocated so far" is the pool
	// of this process, not the card.
	CuPyAlloc Kind = "cupy_alloc"
	// RMMAlloc is RAPIDS' memory manager or thrust: a C++ bad_alloc that means
	// the card.
	RMMAlloc Kind = "rmm_alloc"
	// NumbaAlloc is numba's driver call.
	NumbaAlloc Kind = "numba_alloc"
)

const (
	// XLAAlloc is XLA's allocator at run time: the request is often the whole
	// scratch arena of a program, not one tensor.
	XLAAlloc Kind = "xla_alloc"
	// TPUCompile is XLA's compiler: a program that can't fit the chip's HBM.
	TPUCompile Kind = "tpu_compile"
	// TPUReserve is the TPU runtime, with what is free.
	TPUReserve Kind = "tpu_reserve"
)

const (
	// MetalMemory is a Metal command buffer that failed with error 8.
	MetalMemory Kind = "metal_memory"
	// MLXBuffer is MLX refusing one buffer above Metal's maximum.
	MLXBuffer Kind = "mlx_buffer"
	// MLXAlloc is MLX's allocator refused by the system.
	MLXAlloc Kind = "mlx_alloc"
)

// What Python, numpy, C++ and Rust say when system memory runs out.
const (
	// NumpyAlloc is numpy's _ArrayMemoryError, with shape and type.
	NumpyAlloc Kind = "numpy_alloc"
	// PythonMemory is a bare MemoryError, or errno 12 at a fork.
	PythonMemory Kind = "python_memory"
	// BadAlloc is C++'s std::bad_alloc: never a size.
	BadAlloc Kind = "bad_alloc"
	// RustAlloc is the abort of Rust's allocator.
	RustAlloc Kind = "rust_alloc"
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

const (
	// DeviceAlloc is memory of the card refused to a framework that has no parser
	// of its own: PaddlePaddle, MXNet, Caffe, TensorRT, CTranslate2, CUDA.jl, OpenCL.
	DeviceAlloc Kind = "device_alloc"
	// BufferLimit is one buffer above what an OpenCL device gives in one piece.
	BufferLimit Kind = "buffer_limit"
)

const (
	// RustDriver is cudarc under candle, mistral.rs and burn: never figures.
	RustDriver Kind = "rust_driver"
	// BurnPool is a limit of burn's memory pools; the card may be free.
	BurnPool Kind = "burn_pool"
	// WGPUBuffer is wgpu's create_buffer.
	WGPUBuffer Kind = "wgpu_buffer"
	// TinygradAlloc is tinygrad's CUDA runtime.
	TinygradAlloc Kind = "tinygrad_alloc"
)

const (
	// TFAlloc is TensorFlow's BFC allocator or an op's "OOM when allocating
	// tensor": the pool of this process is full.
	TFAlloc Kind = "tf_alloc"
	// TFStart is TensorFlow failing to take its pool from the driver at the
	// start: something else holds the card.
	TFStart Kind = "tf_start"
	// TFContext is a card so full that not even a context can be made.
	TFContext Kind = "tf_context"
	// TFCopy is "Dst tensor is not initialized": a full card in disguise.
	TFCopy Kind = "tf_copy"
	// TFHandle is a cuBLAS or cuDNN handle that TensorFlow could not make.
	TFHandle Kind = "tf_handle"
)
