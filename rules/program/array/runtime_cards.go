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
	loads  = []string{"safeDeserialize", "deserialize engine", "deserializeCudaEngine", "deserialize_cuda_engine", "engine_from_bytes", "Loading bytes from", "createExecutionContext", "create_execution_context", "Loaded engine size", "Deserialize required", "Deserialization required", "Added linear block of size", "Glob Size is"}
	tensor = []string{"[TRT]", "TensorRT", "nvinfer", "defaultAllocator.cpp", "safeRuntime.cpp", "rtSafe", "trtexec", "Requested amount of GPU memory"}

	profile = cause.Cure{Fix: "lower_batch_size", Title: "Build the engine for smaller inputs", Told: "The largest shape of its profile counts, used or not: fewer samples, steps or frames, a lower resolution (trtexec: `--maxShapes=INPUT:1x3x512x512` with your own input and sides; in code `profile.set_shape(...)`; an app: its maximum batch and size).", Cost: "larger inputs are refused"}
)

// runtimeCards are about libraries that other programs run on.
var runtimeCards = []cause.Card{
	{
		ID: "other/tensorrt-build", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory, fact.PlainHost}, Said: builds, Unsaid: loads, If: ofTensorRT,
		Headline: "had no room on the card to build a TensorRT engine",
		Means:    "TensorRT tries several implementations (tactics) of each layer on the card, with their working memory[[; {asked} was one request]]. A tactic that does not fit is skipped; if none fits for a layer, the build fails (\"Could not find any implementation\"). The largest shapes that the engine is to take decide the need.",
		Not:      "A smaller batch at run time: the engine is built for its largest one.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: when.Not(calls.AtLeast(8 * units.GiB)), Title: "Empty the card before building", Told: "Not in the same process that holds the model already; on a desktop close browser and games.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "close_other_apps", If: func(c *ledger.Case) bool { return c.Near("NvMapMemAlloc", "NVMAP_IOC_ALLOC_HANDLE") }, Title: "Jetson: free shared memory", Told: "Stop the desktop (`sudo systemctl stop gdm3`), add swap for the CPU part, and use a smaller workspace (trtexec `--memPoolSize=workspace:512`, before 8.4 `--workspace=512`).", Cost: "free"},
			{Fix: "half_precision", Title: "Build in 16 bit", Told: "trtexec: `--fp16` (versions without it take a network exported in fp16); an app: its half-precision option.", Cost: "hardly any loss"},
			{Fix: "lower_resolution", Title: "If one layer is too large: change the export", Told: "The name in \"implementation for node\" says which. Export with a shorter length or smaller input, or split that part.", Cost: "some work"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html", "https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec"},
	},
	{
		ID: "other/tensorrt-load", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice}, Said: loads, If: ofTensorRT,
		Headline: "had no room on the card to load a TensorRT engine",
		Means:    "Loading takes the engine's weights (about the size of its file, \"Glob Size\")[[, here {asked} in one request,]] and working memory for each context (\"linear block\"), fixed by the largest input that it was built for. The log does not show what fills the card: other engines of this program, the PyTorch weights that they replace, or another program.",
		Not:      "A smaller batch at run time: the engine takes what it was built for.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what uses the card before loading", Told: "If it is full before the program starts, end what holds it. Otherwise it is what the program loads first: in your own code free PyTorch weights that the engine replaces (`del model; torch.cuda.empty_cache()`), and do not load parts together that are not needed together.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "half_precision", Title: "Build the engine in 16 bit", Told: "Half the weights, where it is 32 bit now.", Cost: "hardly any loss"},
			{Fix: "bigger_gpu", Title: "Use a card with more memory", Told: "The sizes of the engine files that are loaded together, plus their contexts, must fit.", Cost: "money"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_cuda_engine.html", "https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html"},
	},
	{
		ID: "other/tensorrt", Kinds: []fact.Kind{fact.TRTEngine, fact.DeviceAlloc, fact.PlainDevice}, Said: tensor, If: ofTensorRT,
		Headline: "was refused memory on the card under TensorRT",
		Means:    "The driver refused TensorRT's allocator[[ {asked}]]; the lines do not say whether an engine was being built, loaded or run. The largest input that the engine is for decides its need, and something else may be on the card.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what else uses the card", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			profile,
			{Fix: "half_precision", Title: "Build the engine in 16 bit", Told: "Half the weights, where it is 32 bit now.", Cost: "hardly any loss"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html"},
	},
	{
		ID: "other/nccl", Kinds: []fact.Kind{fact.NCCLAlloc}, If: when.Not(torch),
		Headline: "ran out of graphics memory when NCCL asked for its buffers",
		Means:    "NCCL, which connects the cards, takes some hundred MB of its own on each. [[{asked} of it was refused. ]]Either the program had taken nearly all of a card, another process is on it, or two ranks share one card. Later errors such as \"invalid resource handle\" are a result of it.",
		Not:      "A larger /dev/shm: this is graphics memory.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Leave 1 GB of each card free", Ways: []cause.Way{
				{For: "A server of language models", Text: "0.05 less for its share of the card or of free memory (vLLM `--gpu-memory-utilization`, SGLang `--mem-fraction-static`, TensorRT-LLM `--kv_cache_free_gpu_memory_fraction`)."},
				{For: "Training", Text: "a smaller batch for each card."},
			}, Cost: "fewer requests at a time, or slower"},
			{Fix: "kill_stale_process", Title: "Check that each rank has its own card", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "use_lower_quant", Title: "Use quantised weights", Told: "8 or 4 bit for a model that is served.", Cost: "slight loss of quality"},
			{Fix: "limit_framework_preallocation", Title: "Lower `NCCL_BUFFSIZE`", Told: "4 MiB by default; before the start:", Kind: "env", Text: "export NCCL_BUFFSIZE=1048576", Cost: "slower exchange"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"},
	},
	arrowCard, local.BufferCard, local.FluidCard, local.FluidAgain,
}

// arrowCard is about a column that grows in one buffer.
var arrowCard = cause.Card{
	ID: "other/arrow", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"ArrowMemoryError"}, If: when.Not(calls.AtLeast(cause.Absurd)),
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused[[ {asked} of]] RAM for a table (Arrow)",
	Means: "Arrow keeps each column in one buffer; a buffer that grows is moved into a larger one, and for a moment both are there.[[ The new one is {asked}.]] Large values (images, long texts) in a batch of rows, or all rows at once, make it that large. Each process (`num_proc`) has its own.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Lower the rows per batch", Ways: []cause.Way{
			{For: "Hugging Face datasets", Text: "`writer_batch_size=100` in `map` and `from_generator` (1000 rows by default), or `load_dataset(..., streaming=True)`, which does not hold it all"},
			{For: "Parquet", Text: "`for b in pq.ParquetFile(path).iter_batches(batch_size=10_000, columns=[...])`"},
			{For: "pandas", Text: "`columns=[...]`, and parts instead of one table"},
		}, Cost: "some rewriting"},
		{Fix: "lower_num_workers", Title: "Use one process", Told: "`num_proc=1`: each process holds such buffers.", Cost: "slower"},
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
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "was refused {asked}: others hold {theirs} of the card",
	Means: "The driver counted {free} free of {total} when {asked} was refused, and TensorFlow held {own}. The other {theirs} belong to another process, or to another library in this one (JAX takes three quarters of the card at its start, PyTorch keeps what it had).[[ TensorFlow got only {limit} at its start, so the card was full before.]]",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End what else holds the card", Told: "End an earlier run or another notebook's kernel. If the list shows only this process, another library in it holds the memory.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		{Fix: "limit_framework_preallocation", Title: "With JAX in the process: turn off preallocation", Told: "Before the program starts; the second line is for TensorFlow itself.", Kind: "env", Text: "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nexport TF_FORCE_GPU_ALLOW_GROWTH=true", Cost: "a little fragmentation"},
		{Fix: "select_gpu", Title: "Use another card, or the CPU", Told: "`CUDA_VISIBLE_DEVICES=1` if there is a second one; a conversion or an export runs without any (`CUDA_VISIBLE_DEVICES=-1`).", Cost: "slower without a card"},
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

// oneInBatch: the first side of three or more, the batch as a rule, is 1.
func oneInBatch(c *ledger.Case) bool {
	s := calls.Sides(c)
	return inPool(c) && len(s) >= 3 && s[0] == 1
}

// beyondCard: more was asked for than the whole card has, by the driver's count.
func beyondCard(c *ledger.Case) bool { return total(c) > 0 && ledger.Requested(c) > total(c) }

var beyondCards = []cause.Card{{
	ID: "tensorflow/arguments", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"The byte size of input/output arguments"},
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of graphics memory: the inputs and outputs of one compiled function exceed XLA's limit",
	Means: "XLA, which TensorFlow, JAX and Reactant use, adds up the arrays that go into a compiled function and those that come out (\"The byte size of input/output arguments … exceeds the base limit\"). They alone exceed its limit, a share of the card, before any temporaries. Each output is a new array beside its input unless the input is donated.",
	Not:   "Memory growth: the arrays themselves exceed the limit.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use smaller arrays, or process them in parts", Told: "Half the size or batch as a test, and 32 bit instead of 64. If the number in that line surprises you, print the shapes: one array is larger than meant.", Cost: "More calls"},
		{Fix: "fix_shape", Title: "Let outputs reuse the inputs' memory", Told: "JAX, for arrays that you no longer need after the call:", Kind: "python", Text: "f = jax.jit(f, donate_argnums=0)   # the first argument is overwritten by an output of the same shape", Cost: "The input is gone afterwards"},
		{Fix: "shard_training", Title: "Shard the arrays over several cards", Told: "JAX: a mesh and `jax.device_put(x, sharding)`; in other programs the option for sharding or data parallelism.", Cost: "More cards"},
	},
	Sources: []string{"xla/service/gpu/gpu_hlo_schedule.cc", "https://docs.jax.dev/en/latest/buffer_donation.html"},
}, {
	ID: "tensorflow/beyond-card", Kinds: []fact.Kind{fact.TFAlloc}, If: beyondCard,
	Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "wanted {asked} in one piece, more than the card of {total}",
	Means: "{asked} exceeds the whole card, so it does not matter what else is on it ({free} was free). The line comes from the allocator that TensorFlow and JAX share, and names no shape. Usually two long sides are multiplied: batch x length x length (attention without a fused kernel), batch x length x vocabulary (logits), or all pairs of items.",
	Not:   "Ending other programs, memory fractions: the request exceeds the card.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Batch size 1, shorter length", Told: "Test a batch of 1 and half the length: half the size means the batch, a quarter the length. A server or trainer has options for both.", Cost: "Slower"},
		{Fix: "fix_shape", Title: "Print the shapes", Told: "JAX: `f` and `x` are the function that fails and its input. TensorFlow: `print(x.shape)` before that line.", Kind: "python", Text: "print(jax.eval_shape(f, x))\nprint(jax.jit(f).lower(x).compile().memory_analysis())", Cost: "Free"},
		{Fix: "efficient_attention", Title: "Use fused attention, or chunks", Told: "JAX: `jax.nn.dot_product_attention(..., implementation=\"cudnn\")`, logits in chunks (`jax.lax.map` over parts of the sequence), `jax.checkpoint` around the blocks.", Cost: "None as a rule"},
	},
	Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc", "https://docs.jax.dev/en/latest/jax.nn.html", "jax/_src/lax/control_flow/loops.py"},
}}

// tensorFlowRestCards hold where none of TensorFlow's does.
var tensorFlowRestCards = []cause.Card{
	{
		ID: "tensorflow/largest-tensor", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(offCPU, mostOfPool), Figures: poolFigures,
		Headline: "wanted {asked} for one tensor: most of its share of the card",
		Means:    "One tensor of {asked} is [[most of the {limit} that TensorFlow may take, of which {used} was in use]]. Its shape in the message shows which side is large: {first}; others are image or volume size, channels, length, classes or all pairs of something.",
		Not:      "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Lower the batch size", Told: "If the first side of the shape is the batch, the tensor shrinks with it: `batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data, or the script's own option.", Cost: "slower"},
			{Fix: "lower_resolution", Title: "Use a smaller input, or patches of it", Told: "Resample or crop the image or volume (half of each side is a quarter of an image, an eighth of a volume), or run the model on patches and join the results; shorter sequences likewise.", Cost: "detail"},
			{Fix: "cpu_offload", If: when.Not((*ledger.Case).Training), Title: "Prediction only: run it on the CPU", Told: "RAM is usually larger than the card. Before the start:", Steps: environ("CUDA_VISIBLE_DEVICES", "-1"), Cost: "slower"},
			{Fix: "fix_shape", Title: "If another side is unexpected: find its source", Told: "Print the shapes before that operation: `tile`, `repeat`, broadcasting of (n,1) with (n,), one-hot rows and all pairs multiply sides.", Cost: "free"},
		},
		Sources: []string{bfcAllocator},
	},
	{
		ID: "tensorflow/copy", Kinds: []fact.Kind{fact.TFCopy},
		Headline: "had no room on the card for what was copied there",
		Means:    "\"Dst tensor is not initialized\" means a full card: a copy from RAM to the card found no room. Either another process holds the card (TensorFlow in a second notebook takes nearly all of it), or what is copied at once is too large: arrays that `fit` gets whole, or a batch.",
		Not:      "Initialising variables: the message is about memory.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "stream_dataset", Title: "If the card was empty: send batches", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "none for the result"},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "To a quarter, as a test.", Cost: "slower"},
		},
		Sources: []string{tfGuide},
	},
	{
		ID: "tensorflow/eager", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"failed to allocate memory [Op:"}, If: offCPU, Figures: madeFigures,
		Headline: "had no room on the card for the result of one operation[[ (`{node}`)]]",
		Means:    "The message shows neither the size nor what is on the card. The operation ran outside a compiled step: it made weights (`Mul` and `Add` are parts of an initializer), prepared data, or ran in your own loop. If it fails while the model is built, the card was probably full before: another process or notebook.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "lower_batch_size", Title: "If it was data: use batches or the CPU", Told: "`model(x)` takes all of x at once: use `model.predict(x, batch_size=8)`. Prepare arrays with NumPy, or under `with tf.device(\"/CPU:0\"):`.", Cost: "slower"},
			{Fix: "use_smaller_model", Title: "If it was the model: check its weights", Told: "`model.summary()`: 4 bytes a weight, 16 with Adam in training; a Dense layer behind `Flatten` or a large Embedding is usually most of it.", Cost: "perhaps accuracy"},
		},
		Sources: []string{"tensorflow/core/common_runtime/eager/kernel_and_device.cc", tfGuide},
	},
	{
		ID: "tensorflow/xla", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool { return c.Framework == "tensorflow" }, Figures: resultFigures,
		Headline: "had no room for the temporaries of a step compiled by XLA[[: {asked}]]",
		Means:    "With `jit_compile` (Keras 3 turns it on where it can) XLA compiles the step and asks for all its temporaries in one piece, which grows with the batch. The message does not say what else is on the card.",
		Not:      "Memory growth: the request stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "`batch_size=` in `fit`, `.batch(...)` with tf.data.", Cost: "slower per sample"},
			{Fix: "upgrade_version", Title: "Turn XLA off", Told: "`model.compile(..., jit_compile=False)`; remove `jit_compile=True` from your own functions and `TF_XLA_FLAGS=--tf_xla_auto_jit=...` from the environment.", Cost: "often slower"},
			{Fix: "mixed_precision", Title: "Turn on mixed precision", Told: "`tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")` before the model is built.", Cost: "fast on RTX and newer cards"},
			runtimeFirst, endHolder,
		},
		Sources: []string{"keras/src/trainers/trainer.py", "https://www.tensorflow.org/xla", "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "tensorflow/oom-rest", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Figures: restFigures,
		Headline: "filled its share of the card",
		Means:    "One more tensor did not fit[[, of {shape} ({asfloat} if its numbers are 32 bit)]]. The activations of a step fill TensorFlow's share of the card and grow with the batch, more in training than otherwise.[[ {batch} samples went through at once, {each} of each in this tensor alone: if that is not the batch that you set, look at what the generator hands over.]][[ {others}]]",
		Not:      "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(manySamples), Title: "Halve the batch size", Told: "What goes into `feed_dict`, `batch_size=` in `fit`, `.batch(...)`, or the script's own option.", Cost: "slower"},
			{Fix: "fix_shape", If: manySamples, Title: "Print the shape that reaches the model", Told: "In the generator, before `yield`; in a tf.data pipeline `ds.element_spec`. {batch} must be the batch size, not the number of all samples or a last batch that was joined. Validation data has a batch of its own.", Kind: "python", Text: "print(X.shape)   # X: what the generator hands over", Cost: "free"},
			{Fix: "lower_batch_size", If: manySamples, Title: "Use a batch of {fitting} or less", Told: "A sixteenth of today's and less: halving it is not enough where one tensor takes {asked}. `batch_size=` in `fit`, `.batch(...)`, or the generator's own number.", Cost: "slower per sample"},
			runtimeFirst, holderOfRest,
			{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "detail"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
}

// manySamples: the first side of the tensor is larger than batches that people set
// for samples of that size.
func manySamples(c *ledger.Case) bool {
	s := calls.Sides(c)
	return len(s) == 4 && s[0] >= 128 && s[0] <= 4096 && ledger.Requested(c) >= 2*units.GiB && !kernelShape(s)
}

// holderOfRest looks for others where the tensor itself is no surprise.
var holderOfRest = func() cause.Cure {
	cure := endHolder
	cure.If = when.Not(manySamples)
	return cure
}()

func restFigures(c *ledger.Case) map[string]string {
	out := madeFigures(c)
	out["batch"], out["each"], out["fitting"], out["others"] = "", "", "", "Another process on the card can have the same effect."
	if manySamples(c) {
		n := calls.Sides(c)[0]
		out["batch"], out["each"], out["fitting"], out["others"] = strconv.FormatInt(n, 10), units.Amount(ledger.Requested(c)/n), strconv.FormatInt(n/16, 10), ""
	}
	return out
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
	ID: "other/opencl", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory}, Said: openCLWords, If: noneKnown, Figures: openCLFigures,
	Headline: "was refused memory on the card by OpenCL",
	Means:    "An OpenCL buffer is often placed only when it is first used, so the call that fails need not be the one that asked for too much. {size} Three reasons: something else holds the card; one buffer exceeds what the device allows for one (`CL_DEVICE_MAX_MEM_ALLOC_SIZE`, often a quarter of its memory); or all buffers together do not fit. CL_OUT_OF_RESOURCES can also be a fault in a kernel, or too many registers or too much local memory.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Free the card", Cost: "free", Told: "`clinfo` lists each device with its memory and its largest buffer. Close other programs that use it, restart this one, and choose the right device if there are several."},
		{Fix: "lower_batch_size", Title: "Lower the work size, batch or tile size", Cost: "slower", Told: "The program's option for intensity, work size, batch, threads or tile: half of its present value. Your own code: keep buffers below the largest size."},
		{Fix: "upgrade_version", Title: "If it still fails: update driver and program", Cost: "half an hour", Told: "The newest driver with OpenCL for this card, and the newest version of the program; restart the machine after a driver crash."},
	},
	Sources: []string{"https://registry.khronos.org/OpenCL/sdk/3.0/docs/man/html/clCreateBuffer.html", "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html"},
}

func openCLFigures(c *ledger.Case) map[string]string {
	asked, out := ledger.Requested(c), map[string]string{"size": "The code has no size."}
	if asked > 0 && asked < total(c)/20 {
		out["size"] = units.Amount(asked) + " is little for a device with " + units.Amount(total(c)) + ", so it was nearly full before (other programs, or buffers that this one keeps), or the driver failed."
	} else if asked > 0 {
		out["size"] = units.Amount(asked) + " was asked for."
	}
	return out
}
