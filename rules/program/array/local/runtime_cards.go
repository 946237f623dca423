package local

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// builds are words of TensorRT's builder, deserialises of what loads its engines.
var (
	builds  = []string{"Could not find any implementation for node", "buildSerializedNetwork", "Building the TensorRT Engine", "Building engine", "Engine could not be created from network", "tacticOptimizer", "Skipping tactic", "buildEngineWithConfig", "Device memory is insufficient to use tactic", "due to insufficient memory on requested size"}
	loads   = []string{"safeDeserialize", "deserialize engine", "deserializeCudaEngine", "deserialize_cuda_engine", "engine_from_bytes", "Loading bytes from", "createExecutionContext", "create_execution_context", "Loaded engine size", "Deserialize required", "Deserialization required", "Added linear block of size", "Glob Size is"}
	skips   = []string{"Skipping tactic"}
	unbuilt = []string{"Could not find any implementation for node", "could not find any implementation", "Engine could not be created", "buildSerializedNetwork", "Failed to build", "build failed", "Traceback"}
	tensor  = []string{"[TRT]", "TensorRT", "nvinfer", "defaultAllocator.cpp", "safeRuntime.cpp", "rtSafe", "trtexec", "Requested amount of GPU memory"}

	profile = cause.Cure{Fix: "lower_batch_size", Title: "Build the engine for smaller inputs", Told: "The largest shape it is built for decides, used or not: lower the batch, length, frames or resolution. trtexec: `--maxShapes=INPUT:1x3x512x512` with your own input and sides (up to TensorRT 6: `--batch`). Code: `profile.set_shape(...)` or `builder.max_batch_size`. App: its maximum batch and size.", Cost: "larger inputs are refused"}
)

// RuntimeCards are about libraries that other programs run on.
var RuntimeCards = []cause.Card{
	{
		ID: "other/tensorrt-tactic", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory, fact.PlainHost}, Said: skips, Unsaid: slices.Concat(loads, unbuilt), If: ofTensorRT,
		Headline: "skipped a TensorRT tactic[[ that wanted {asked}]]: only a warning",
		Means:    "While building an engine, TensorRT tries several implementations (tactics) of each layer and skips those that need too much memory. It uses others instead, which are at most a little slower. These lines do not show that the build failed.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Let it run, and read the lines that follow", Told: "A build takes minutes to an hour. It failed only if \"Could not find any implementation\" or \"Engine could not be created\" follows. Then build for smaller inputs (the largest shape of the profile), or in 16 bit.", Cost: "free"},
			{Fix: "lower_mem_fraction", Title: "To stop the warnings: lower the workspace", Told: "trtexec: `--memPoolSize=workspace:4096` (MiB; before 8.4 `--workspace=4096`). Code: `config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 4 << 30)`. App: its workspace option.", Cost: "perhaps a slower engine"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html", "https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec"},
	},
	{
		ID: "other/tensorrt-build", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory, fact.PlainHost}, Said: builds, Unsaid: loads, If: ofTensorRT,
		Headline: "had no GPU memory to build a TensorRT engine",
		Means:    "TensorRT tries several implementations (tactics) of each layer on the card, each with its own workspace[[; {asked} was one request]]. It skips those that do not fit. If none fits for a layer, the build fails (\"Could not find any implementation\"). The largest input shapes of the engine decide the need.",
		Not:      "A smaller batch at run time: the engine is built for its largest one.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: when.Not(calls.AtLeast(8 * units.GiB)), Title: "Empty the card before building", Told: "Close browsers, games and other AI programs. Do not build in a process that already holds the model.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return c.Near("NvMapMemAlloc", "NVMAP_IOC_ALLOC_HANDLE") }, Title: "Jetson: free shared memory", Told: "Stop the desktop (`sudo systemctl stop gdm3`) and use a smaller workspace: trtexec `--memPoolSize=workspace:512`, before 8.4 `--workspace=512`. Swap helps the CPU part only.", Cost: "free"},
			{Fix: "half_precision", Title: "Build in 16 bit", Told: "trtexec: `--fp16` (versions without it: export the network in fp16). App: its half-precision option.", Cost: "hardly any loss"},
			{Fix: "lower_resolution", Title: "If one layer is too large: change the export", Told: "\"implementation for node\" in the log names it. Export with a shorter length or smaller input, or split that part.", Cost: "some work"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html", "https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec"},
	},
	{
		ID: "other/tensorrt-load", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice}, Said: loads, If: ofTensorRT,
		Headline: "had no room on the card to load a TensorRT engine",
		Means:    "Loading needs the engine's weights (about the size of its file)[[, here {asked} in one request,]] and a workspace for each context. The largest input it was built for decides that workspace. Other engines and models of the same program count too.",
		Not:      "A smaller batch at run time: the engine takes what it was built for.",
		Cures: []cause.Cure{
			{If: blocks, Fix: profile.Fix, Title: profile.Title, Told: profile.Told, Cost: profile.Cost},
			{Fix: "kill_stale_process", Title: "Check what uses the card before loading", Told: "If it is full before the start, end what uses it. Otherwise load fewer engines, models and instances (on a server: `instance_group`, its model folder).", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "empty_cache", If: torch, Title: "Free the PyTorch weights that the engine replaces", Kind: "python", Text: "del model   # the PyTorch one\ntorch.cuda.empty_cache()", Cost: "none"},
			profile,
			{Fix: "half_precision", If: when.Not(blocks), Title: "Build the engine in 16 bit", Told: "It halves the weights if they are 32 bit now.", Cost: "hardly any loss"},
			{Fix: "bigger_gpu", Title: "Use a card with more memory", Told: "All engine files loaded together, plus their contexts, must fit.", Cost: "money"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_cuda_engine.html", "https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html"},
	},
	{
		ID: "other/tensorrt", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice}, Said: tensor, If: ofTensorRT,
		Headline: "could not get GPU memory in TensorRT",
		Means:    "The driver refused memory to TensorRT[[: {asked}]]. The lines do not say whether an engine was being built, loaded or run. The largest input that the engine is built for decides how much it needs.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what else uses the card", Told: "Close or end it before the start:", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "half_precision", Title: "Build the engine in 16 bit", Told: "It halves the weights if they are 32 bit now.", Cost: "hardly any loss"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html"},
	},
	ncclCard("other/nccl-echo", []string{"Connection closed by remote peer", "Socket recv failed while polling"}, "Network errors in other ranks only follow from it."), ncclCard("other/nccl", nil, ""),
	arrowCard, BufferCard, FluidCard, FluidAgain,
}

// arrowCard is about a column that grows in one buffer.
var arrowCard = cause.Card{
	ID: "other/arrow", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"ArrowMemoryError"}, If: when.Not(calls.AtLeast(cause.Absurd)),
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get[[ {asked} of]] RAM for a table (Arrow)",
	Means: "Arrow keeps each column in one buffer. A growing buffer is moved into a larger one, and for a moment both exist.[[ The new one is {asked}.]] Large values (images, long texts) in a batch of rows, or all rows at once, make it that large. Each process (`num_proc`) has its own.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Lower the rows per batch", Ways: []cause.Way{
			{For: "Hugging Face datasets", Text: "`writer_batch_size=100` in `map` and `from_generator` (default 1000), or `load_dataset(..., streaming=True)`"},
			{For: "Parquet", Text: "`for b in pq.ParquetFile(path).iter_batches(batch_size=10_000, columns=[...])`"},
			{For: "pandas", Text: "read only `columns=[...]`, and in parts instead of one table"},
		}, Cost: "some rewriting"},
		{Fix: "lower_num_workers", Title: "Use one process", Told: "`num_proc=1`, as each process holds such buffers.", Cost: "slower"},
		calls.PageFile, calls.LookWhy, calls.SwapBridge,
	},
	Sources: []string{"arrow/cpp/src/arrow/memory_pool.cc", "https://huggingface.co/docs/datasets/package_reference/main_classes", "https://arrow.apache.org/docs/python/parquet.html"},
}

func torch(c *ledger.Case) bool { return c.In("pytorch") }

// ofTensorRT: its own words are near, and it is not a language model's engine,
// which TensorRT-LLM says more of.
func ofTensorRT(c *ledger.Case) bool { return c.Near(tensor...) && !c.In("tensorrt-llm") }

// OpenCLWords are OpenCL's names for memory that is not to be had.
var OpenCLWords = []string{"CL_MEM_OBJECT_ALLOCATION_FAILURE", "MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY", "CL_INVALID_BUFFER_SIZE"}

// OpenCLCards are about programs that compute through OpenCL.
var OpenCLCards = []cause.Card{openCLCard("other/opencl-nvidia", []string{"NVIDIA CUDA", "GeForce", "Tesla"}, cause.Cure{
	Fix: "kill_stale_process", If: when.Not(tooWide), Title: "See what else is on the card", Cost: "free", Told: "End earlier runs of this program and other programs that use the GPU. If the card was free, go on below.", Kind: "shell", Text: "nvidia-smi",
}), openCLCard("other/opencl", OpenCLWords, cause.Cure{
	Fix: "close_other_apps", If: when.Not(tooWide), Title: "Free the card", Cost: "free", Told: "End earlier runs of this program and other programs that use the GPU. To see them: `rocm-smi --showpids` (AMD), `intel_gpu_top` (Intel), Task Manager, GPU (Windows). With several devices, choose the right one: `clinfo -l` lists them.",
})}

func openCLCard(id string, said []string, free cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory}, Said: said, If: func(c *ledger.Case) bool { return NoneKnown(c) && c.Near(OpenCLWords...) }, Figures: openCLFigures,
		Headline: "could not get GPU memory through OpenCL",
		Means:    "{why}[[ {fault}]]",
		Cures: []cause.Cure{
			free,
			{Fix: "lower_batch_size", Title: "Lower the work size, batch or tile size", Cost: "slower", Told: "Halve the program's setting for intensity, work size, batch, threads or tile size.[[ {bound}]]"},
			{Fix: "upgrade_version", Title: "If it still fails: update driver and program", Cost: "half an hour", Told: "Install the newest GPU driver with OpenCL and the newest version of the program. Restart the machine after a driver crash."},
		},
		Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clCreateBuffer.html", "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html"},
	}
}

// tooWide: the code itself says that one buffer exceeds the device's bound.
func tooWide(c *ledger.Case) bool { return c.Near("CL_INVALID_BUFFER_SIZE") }

// openCLFigures say what the code and its figures decide.
func openCLFigures(c *ledger.Case) map[string]string {
	asked := ledger.Requested(c)
	out := map[string]string{"why": "Either another program uses the card, or all of this program's buffers together do not fit. OpenCL often allocates a buffer only at its first use, so the failing call need not be the one that asked.", "fault": "", "bound": ""}
	switch {
	case tooWide(c):
		out["why"] = "One buffer exceeds the device's limit for a single buffer (`CL_DEVICE_MAX_MEM_ALLOC_SIZE`, often a quarter of its memory), however much is free."
		out["bound"] = "`clinfo` prints the largest buffer (\"Max memory allocation\")."
	case c.Near("CL_OUT_OF_HOST_MEMORY"):
		out["why"] = "CL_OUT_OF_HOST_MEMORY means system memory (RAM): the driver got none for itself. RAM or a limit of the process is used up, or the driver is broken."
	case asked > 0 && asked < ledger.SizeOf(c.F().Total)/20:
		out["why"] = units.Amount(asked) + " is little for a device with " + units.Amount(ledger.SizeOf(c.F().Total)) + ". So it was nearly full already (other programs, or buffers that this one keeps), or the driver failed."
	}
	if c.Near("CL_OUT_OF_RESOURCES") {
		out["fault"] = "CL_OUT_OF_RESOURCES can also be a fault in a kernel, or too many registers or too much local memory."
	}
	return out
}

// ncclCard is about its buffers; echo is what to say of errors that follow.
func ncclCard(id string, said []string, echo string) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.NCCLAlloc}, Said: said, If: when.Not(torch),
		Headline: "ran out of GPU memory when NCCL asked for its buffers",
		Means:    "NCCL connects the GPUs and takes some hundred MB on each. [[{asked} of it was refused. ]]Either this program had taken nearly all of a card, another process is on it, or two ranks share one card.[[ {echo}]]",
		Figures:  func(*ledger.Case) map[string]string { return map[string]string{"echo": echo} },
		Not:      "A larger /dev/shm: this is GPU memory.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", If: func(c *ledger.Case) bool { return servesText(c) || said == nil && !c.Training() }, Title: "Leave 1 GB of each card free", Ways: []cause.Way{
				{For: fix.Generating, Text: "lower the server's memory share by 0.05 (vLLM `--gpu-memory-utilization`, SGLang `--mem-fraction-static`, TensorRT-LLM `--kv_cache_free_gpu_memory_fraction`)."},
				{For: fix.Training, Text: "a smaller batch for each card."},
			}, Cost: "fewer requests at a time, or slower"},
			{Fix: "kill_stale_process", Title: "Check that each rank has a card of its own", Told: "While it starts, look for two ranks or other programs on one card:", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return !servesText(c) && (said != nil || c.Training()) }, Title: "Leave 1 GB of each card free: a smaller batch per card", Told: "Halve the micro-batch and accumulate gradients.", Cost: "slower"},
			{Fix: "use_lower_quant", If: when.Not((*ledger.Case).Training), Title: "To serve a model: use quantized weights", Told: "8 or 4 bit.", Cost: "slight loss of quality"},
			{Fix: "limit_framework_preallocation", Title: "Lower `NCCL_BUFFSIZE`", Told: "The default is 4 MiB. Before the start:", Kind: "env", Text: "export NCCL_BUFFSIZE=1048576", Cost: "slower exchange"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"},
	}
}

func servesText(c *ledger.Case) bool {
	return c.Reader.Work == "text-inference" && !c.Training()
}

// blocks: the log lists the working memory of the contexts.
func blocks(c *ledger.Case) bool { return c.Near("Added linear block of size") }
