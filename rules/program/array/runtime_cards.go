package array

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/when"
)

// builds are words of TensorRT's builder, deserialises of what loads its engines.
var (
	builds = []string{"Could not find any implementation for node", "buildSerializedNetwork", "Building the TensorRT Engine", "Building engine", "Engine could not be created from network", "tacticOptimizer", "Skipping tactic", "buildEngineWithConfig", "Device memory is insufficient to use tactic", "due to insufficient memory on requested size"}
	loads  = []string{"safeDeserialize", "deserialize engine", "deserializeCudaEngine", "deserialize_cuda_engine", "engine_from_bytes", "Loading bytes from", "createExecutionContext", "create_execution_context", "Loaded engine size"}
	tensor = []string{"[TRT]", "TensorRT", "nvinfer", "defaultAllocator.cpp", "safeRuntime.cpp", "rtSafe", "trtexec", "Requested amount of GPU memory"}

	profile = cause.Cure{Fix: "lower_batch_size", Title: "Build it for smaller inputs", Told: "The largest shape of its profile counts, used or not: fewer samples, steps or frames, a lower resolution (trtexec: `--maxShapes=INPUT:1x3x512x512`, your own input and sides; in code `profile.set_shape(...)`; an app: its maximum batch and size).", Cost: "larger inputs are refused"}
)

// runtimeCards are about libraries that other programs run on.
var runtimeCards = []cause.Card{
	{
		ID: "other/tensorrt-build", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory, fact.PlainHost}, Said: builds, Unsaid: loads, If: ofTensorRT,
		Headline: "had no room on the card to build a TensorRT engine",
		Means:    "TensorRT tries several ways (tactics) to compute each layer, on the card and with their working memory[[; {asked} was one of them]]. One that does not fit is skipped; where none of a layer's fits, it gives up (\"Could not find any implementation\"). So building needs more than running, by the largest shapes that the engine is to take.",
		Not:      "A smaller batch when it runs: the engine is made for its largest one now.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Build with the card empty", Told: "Nothing else on it, and not inside the program that holds the same model already; on a desktop close browser and games.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return c.Near("NvMapMemAlloc", "NVMAP_IOC_ALLOC_HANDLE") }, Title: "A Jetson: free its memory, which card and processor share", Told: "Without the desktop (`sudo systemctl stop gdm3`), swap for the processor's part, a smaller workspace (trtexec `--memPoolSize=workspace:512`, before 8.4 `--workspace=512`).", Cost: "free"},
			{Fix: "half_precision", Title: "In 16 bit", Told: "trtexec: `--fp16` (versions that no longer have it take a network exported in fp16); in an app its half-precision option.", Cost: "hardly any loss"},
			{Fix: "lower_resolution", Title: "One layer alone is too large: change the network", Told: "The name in \"implementation for node\" says which; often an attention or a loop that the export made into one block. Export it with a shorter length, or in parts.", Cost: "some work"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html", "https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec"},
	},
	{
		ID: "other/tensorrt-load", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice}, Said: loads, If: ofTensorRT,
		Headline: "could not load a TensorRT engine: the card had no room for it",
		Means:    "Loading takes the engine's weights (about the size of its file)[[, here {asked} in one piece,]] and, for each context, working memory of a size that was fixed when it was built, by the largest input. What fills the card the log does not show: other engines of this program, the PyTorch weights that they replace, or another program.",
		Not:      "A smaller batch when it runs: the engine takes what it was built for.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what is on the card just before", Told: "Full before the program starts: end what holds it. Else it is what the program loads first: the weights in PyTorch that the engine replaces can go (`del model; torch.cuda.empty_cache()`), and parts that are not needed at the same time need not be loaded together.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "half_precision", Title: "Or build it in 16 bit", Told: "Half the weights, where it is 32 bit now.", Cost: "hardly any loss"},
			{Fix: "bigger_gpu", Title: "Or a card with more memory", Told: "All that has to be there together must fit: sum up the sizes of the engines' files, and their contexts.", Cost: "money"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_cuda_engine.html", "https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html"},
	},
	{
		ID: "other/tensorrt", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice}, Said: tensor, If: ofTensorRT,
		Headline: "was refused memory on the card under TensorRT",
		Means:    "TensorRT's allocator was refused[[ {asked}]] by the driver; the lines do not say whether an engine was being built, loaded or run. In each case what it takes was fixed by the largest input that the engine is for, and something else may be on the card.",
		Not:      "A smaller batch at run time alone: the engine takes what it was built for.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "half_precision", Title: "Or build it in 16 bit", Told: "Half the weights, where it is 32 bit now.", Cost: "hardly any loss"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html"},
	},
	{
		ID: "other/nccl", Kinds: []fact.Kind{fact.NCCLAlloc}, If: when.Not(torch),
		Headline: "ran out of graphics memory when NCCL asked for its buffers",
		Means:    "NCCL, which connects the cards, takes buffers of its own on each: some hundred MB, beside what the program plans for. [[{asked} of them was refused. ]]The program had taken nearly all of a card by then, another one is on it, or two ranks sit on one card. \"invalid resource handle\" and the like after it only follow.",
		Not:      "A larger /dev/shm: it is the card's memory.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Leave 1 GB of each card free", Ways: []cause.Way{
				{For: "A server of language models", Text: "0.05 less for its share of the card or of free memory (vLLM `--gpu-memory-utilization`, SGLang `--mem-fraction-static`, TensorRT-LLM `--kv_cache_free_gpu_memory_fraction`)."},
				{For: "Training", Text: "a smaller batch for each card."},
			}, Cost: "fewer requests at a time, or slower"},
			{Fix: "kill_stale_process", Title: "See that each rank has a card of its own, and nobody else is there", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "use_lower_quant", Title: "Or smaller weights", Told: "8 or 4 bit for a model that is served.", Cost: "slight loss of quality"},
			{Fix: "limit_framework_preallocation", Title: "Or smaller buffers", Told: "4 MiB each by default; before the start:", Kind: "env", Text: "export NCCL_BUFFSIZE=1048576", Cost: "slower exchange"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"},
	},
	arrowCard, local.BufferCard, local.FluidCard,
}

// arrowCard is about a column that grows in one buffer.
var arrowCard = cause.Card{
	ID: "other/arrow", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"ArrowMemoryError"}, If: when.Not(calls.AtLeast(cause.Absurd)),
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused[[ {asked} of]] RAM for a table (Arrow)",
	Means:    "Arrow keeps each column in one buffer, and one that grows is moved into one twice as large, so that for a moment both are there:[[ {asked} is the new one]]. A few large values (images, long texts) in a batch of rows, or all the rows at once, make them so large. Several processes (`num_proc`) each have their own.",
	Not:      "Anything about a graphics card.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Fewer rows at a time", Ways: []cause.Way{
			{For: "Hugging Face datasets", Text: "`writer_batch_size=100` in `map` and `from_generator` (1000 rows by default), or `load_dataset(..., streaming=True)`, which never holds it all"},
			{For: "Parquet", Text: "`for b in pq.ParquetFile(path).iter_batches(batch_size=10_000, columns=[...])`"},
			{For: "pandas", Text: "`columns=[...]`, and parts in place of one table"},
		}, Cost: "some rewriting"},
		{Fix: "lower_num_workers", Title: "One process", Told: "`num_proc=1`: each of them holds buffers like that.", Cost: "slower"},
		calls.PageFile, calls.LookWhy, calls.SwapBridge,
	},
	Sources: []string{"arrow/cpp/src/arrow/memory_pool.cc", "https://huggingface.co/docs/datasets/package_reference/main_classes", "https://arrow.apache.org/docs/python/parquet.html"},
}

func torch(c *ledger.Case) bool { return c.In("pytorch") }

// ofTensorRT: its own words are near, and it is not a language model's engine,
// which TensorRT-LLM says more of.
func ofTensorRT(c *ledger.Case) bool { return c.Near(tensor...) && !c.In("tensorrt-llm") }

// crowdedCards are TensorFlow's where the figures show that others hold the card.
var crowdedCards = []cause.Card{{
	ID: "tensorflow/others", Kinds: []fact.Kind{fact.TFAlloc}, If: heldByOthers, Figures: otherFigures,
	Cause: cause.LeakedProcess, Weight: cause.Decisive,
	Headline: "was refused {asked}: others hold {theirs} of the card",
	Means:    "The driver counted {free} free of {total} when {asked} was refused, and TensorFlow itself held {own}. The other {theirs} belong to somebody else: another process, or another library of the same one (JAX takes three quarters of the card at its start, PyTorch keeps what it had).[[ TensorFlow had been given {limit} at its start, so the card was full before.]]",
	Not:      "A smaller batch, or another allocator of TensorFlow's: {theirs} are not its own.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See who holds it, and end that", Told: "An earlier run or a notebook's kernel: end it. The same process: it is another library in it.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		{Fix: "limit_framework_preallocation", Title: "JAX beside it: let it take only what it uses", Told: "Before the program starts; the second line is for TensorFlow itself.", Kind: "env", Text: "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nexport TF_FORCE_GPU_ALLOW_GROWTH=true", Cost: "a little fragmentation"},
		{Fix: "select_gpu", Title: "Another card, or none", Told: "`CUDA_VISIBLE_DEVICES=1` if there is a second one; a conversion or an export runs without any (`CUDA_VISIBLE_DEVICES=-1`).", Cost: "without a card slower"},
	},
	Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc", "https://docs.jax.dev/en/latest/gpu_memory_allocation.html", tfGuide},
}}

// heldByOthers: a quarter of the card and more is neither free nor TensorFlow's,
// by the driver's count and its own.
func heldByOthers(c *ledger.Case) bool { return 4*theirs(c) > total(c) && total(c) > 0 }

func total(c *ledger.Case) int64 { return bytesOf(c.F().Total) }

func theirs(c *ledger.Case) int64 {
	f := c.F()
	if f.Free == nil || f.Allocated == nil {
		return 0
	}
	return total(c) - f.Free.Bytes - max(f.Allocated.Bytes, bytesOf(f.Limit)) - ledger.DriverContext
}

// beyondCard: more was asked for than the whole card has, by the driver's count.
func beyondCard(c *ledger.Case) bool { return total(c) > 0 && ledger.Requested(c) > total(c) }

func beyondFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"times": ""}
	if t := total(c); t > 0 {
		out["times"] = strconv.FormatInt(max(ledger.Requested(c)/t, 1), 10)
	}
	return out
}

var beyondCards = []cause.Card{{
	ID: "tensorflow/beyond-card", Kinds: []fact.Kind{fact.TFAlloc}, If: beyondCard, Figures: beyondFigures,
	Cause: cause.OversizedAllocation, Weight: cause.Decisive,
	Headline: "wanted {asked} in one piece, of a card of {total}",
	Means:    "{asked} is more than {times} times the whole card, so what else is on it ({free} was free) plays no part. The line comes from the allocator that TensorFlow and JAX share, and names no shape: as a rule two long sides are multiplied, such as batch x length x length (attention without a fused kernel), batch x length x vocabulary (scores for each word), or all pairs of items.",
	Not:      "Ending other programs, memory fractions, another allocator, a card of twice the size.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "One sample at a time, and a cap on the length", Told: "A micro batch of 1 and half the length show which side it is: half as much is the batch, a quarter the length. A server or trainer in front has options for both (micro batch size, maximum length).", Cost: "Slower"},
		{Fix: "fix_shape", Title: "See the shapes without computing", Told: "JAX: `f` and `x` are the function that fails and its input; TensorFlow: `tf.debugging` or `print(x.shape)` before that line.", Kind: "python", Text: "print(jax.eval_shape(f, x))\nprint(jax.jit(f).lower(x).compile().memory_analysis())", Cost: "Free"},
		{Fix: "efficient_attention", Title: "Never write that matrix", Told: "A fused attention (`jax.nn.dot_product_attention(..., implementation=\"cudnn\")`), scores in chunks (`jax.lax.map` over parts of the sequence), `jax.checkpoint` around the blocks.", Cost: "None as a rule"},
	},
	Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc", "https://docs.jax.dev/en/latest/jax.nn.html", "jax/_src/lax/control_flow/loops.py"},
}}

// tensorFlowRestCards hold where none of TensorFlow's does.
var tensorFlowRestCards = []cause.Card{
	{
		ID: "tensorflow/largest-tensor", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(offCPU, mostOfPool), Figures: poolFigures,
		Headline: "wanted {asked} for one tensor: most of its share of the card",
		Means:    "One tensor of {asked} is [[most of the {limit} that TensorFlow may take, of which {used} was in use]]. A step has many tensors, so one such is rarely meant: its shape in the message tells which side is large. The first is the batch as a rule; images, length, classes or all pairs of something are the others.",
		Not:      "Memory growth, and other allocators: no order of pieces makes room for that.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "The first side is the batch: divide it", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data; the tensor shrinks in step.", Cost: "slower"},
			{Fix: "fix_shape", Title: "Another side is what you did not expect", Told: "Print the shapes before that operation: `tile`, `repeat`, broadcasting of (n,1) with (n,), one-hot rows and all pairs multiply sides.", Cost: "free"},
			{Fix: "half_precision", Title: "It is meant: smaller numbers, or in parts", Told: "float16 is half of it; `tf.map_fn` or a loop over parts holds one part at a time.", Cost: "slower"},
		},
		Sources: []string{bfcAllocator},
	},
	{
		ID: "tensorflow/copy", Kinds: []fact.Kind{fact.TFCopy},
		Headline: "had no room on the card for what was copied there",
		Means:    "\"Dst tensor is not initialized\" is a full card in other words: a copy from RAM found no room. Either another process holds the card (TensorFlow of a second notebook takes nearly all of it), or what goes there at once is too large: arrays that `fit` gets whole, or a batch.",
		Not:      "Initialising variables: the words mean memory.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "stream_dataset", Title: "The card was empty: keep arrays in RAM, send batches", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "none for the result"},
			{Fix: "lower_batch_size", Title: "And a smaller batch", Told: "A quarter, to see whether it is that.", Cost: "slower"},
		},
		Sources: []string{tfGuide},
	},
	{
		ID: "tensorflow/eager", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"failed to allocate memory [Op:"}, If: offCPU, Figures: madeFigures,
		Headline: "had no room on the card for the result of one operation[[ (`{node}`)]]",
		Means:    "TensorFlow says no more here: neither how large it was nor what is on the card. It ran outside of a compiled step: making weights (`Mul` and `Add` are parts of an initializer), preparing all the data at once, or a loop of your own. If it fails while the model is made, the card was full before: another process or notebook.",
		Not:      "Memory growth for a card that this program fills by itself.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "lower_batch_size", Title: "It was data: in batches, or on the CPU", Told: "A model called directly on an array (`model(x)`) takes all of it: `model.predict(x, batch_size=8)`. Preparation of arrays: NumPy, or `with tf.device(\"/CPU:0\"):`.", Cost: "slower"},
			{Fix: "use_smaller_model", Title: "It was the model: see its weights", Told: "`model.summary()`: 4 bytes a weight, 16 with Adam in training; a Dense layer behind `Flatten` or a large Embedding is most of it as a rule.", Cost: "perhaps accuracy"},
		},
		Sources: []string{"tensorflow/core/common_runtime/eager/kernel_and_device.cc", tfGuide},
	},
	{
		ID: "tensorflow/xla", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool { return c.Framework == "tensorflow" }, Figures: resultFigures,
		Headline: "had no room for the working memory of a step compiled by XLA[[: {asked}]]",
		Means:    "With `jit_compile` (Keras 3 turns it on by itself where it can) XLA compiles the step and asks for all its working memory in one piece; \"preallocated temp\" in the table below is that. It grows with the batch; without XLA the same step takes memory piece by piece and as a rule needs a little more or less. What else is on the card the message does not say.",
		Not:      "Memory growth: the piece stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch", Told: "`batch_size=` in `fit`, `.batch(...)` with tf.data; again if need be.", Cost: "slower per sample"},
			{Fix: "upgrade_version", Title: "Without XLA, to compare", Told: "`model.compile(..., jit_compile=False)`; in functions of your own take `jit_compile=True` out, and `TF_XLA_FLAGS=--tf_xla_auto_jit=...` from the environment.", Cost: "slower as a rule"},
			{Fix: "mixed_precision", Title: "Compute in 16 bit", Told: "`tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")` before the model is built.", Cost: "fast on RTX and newer cards"},
			runtimeFirst, endHolder,
		},
		Sources: []string{"keras/src/trainers/trainer.py", "https://www.tensorflow.org/xla", "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "tensorflow/oom-rest", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Figures: madeFigures,
		Headline: "filled its share of the card",
		Means:    "One more tensor did not fit[[, of {shape} ({asfloat} if its numbers are 32 bit)]]; the message does not say what there is. It is the last straw, not the whole need: the activations of a step fill the card up to there, and they grow with the batch, in training more than otherwise. Another process on the card would make it fail as well.",
		Not:      "Memory growth: it changes when memory is taken, not how much a run needs.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, again if need be", Told: "What goes into `feed_dict`, `batch_size=` in `fit`, `.batch(...)`, or the script's own option.", Cost: "slower"},
			runtimeFirst, endHolder,
			{Fix: "lower_resolution", Title: "Smaller images, shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "detail"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
}

func otherFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"theirs": "", "own": "", "limit": ""}
	if f := c.F(); heldByOthers(c) {
		out["own"], out["theirs"] = units.Amount(f.Allocated.Bytes), units.Amount(total(c)-f.Free.Bytes-f.Allocated.Bytes)
		if f.Limit != nil && f.Limit.Bytes*2 < total(c) {
			out["limit"] = units.Amount(f.Limit.Bytes)
		}
	}
	return out
}

// openCLWords are OpenCL's names for memory that is not to be had.
var openCLWords = []string{"CL_MEM_OBJECT_ALLOCATION_FAILURE", "MEM_OBJECT_ALLOCATION_FAILURE", "CL_OUT_OF_RESOURCES", "CL_OUT_OF_HOST_MEMORY", "CL_INVALID_BUFFER_SIZE"}

// openCLCard is about programs that compute through OpenCL.
var openCLCard = cause.Card{
	ID: "other/opencl", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory}, Said: openCLWords, If: noneKnown,
	Headline: "was refused memory on the card by OpenCL",
	Means:    "OpenCL makes a buffer in words first and places it when it is used, so the call that fails (a write, a kernel) need not be the one that asked for too much. The code has no size. Three reasons: something else holds the card; one buffer above what the device gives in one piece (often a quarter of its memory, `CL_DEVICE_MAX_MEM_ALLOC_SIZE`); all buffers together. CL_OUT_OF_RESOURCES can also be a fault in a kernel, or too many registers or local memory.",
	Not:      "More RAM, as a rule; CUDA's and PyTorch's settings.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Free the card, and look", Cost: "free", Told: "`clinfo` lists each device with its memory and the largest piece. Close other programs that compute or draw on it (`nvidia-smi` or the system's monitor lists them), restart this one; take the right device where several are listed."},
		{Fix: "lower_batch_size", Title: "Smaller work for each call", Cost: "slower", Told: "The program's option for intensity, work size, batch, threads or tile: half of it, again if need be; your own code: buffers below the largest piece, split in two."},
		{Fix: "upgrade_version", Title: "It failed with little work and an empty card: driver and program", Cost: "half an hour", Told: "The newest driver with OpenCL for this card, and the program's newest version; a restart of the machine after a crash of the driver."},
	},
	Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clCreateBuffer.html", "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html"},
}
