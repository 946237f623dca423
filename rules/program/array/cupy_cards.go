package array

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

const cupyGuide = "cupy/docs/source/user_guide/memory.rst"

func noLimit(c *ledger.Case) bool { return !hasLimit(c) }

var partsOnCard = cause.Cure{Fix: "lower_batch_size", Title: "Process one part at a time", Told: "This keeps an eighth of the array on the card at a time. `f` is your own function:", Kind: "python", Text: "out = []\nfor part in np.array_split(x, 8):   # x is a NumPy array in RAM\n    out.append(cp.asnumpy(f(cp.asarray(part))))", Cost: "Copies to and from the card"}

var cupyCards = []cause.Card{
	{
		ID: "cupy/limit", Kinds: []fact.Kind{fact.CuPyAlloc}, If: hasLimit,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "reached its memory limit of {limit}",
		Means: "CuPy's memory pool had a limit of {limit} when {asked} more was asked for. CuPy sets no limit by default: `set_limit` or the variable `CUPY_GPU_MEMORY_LIMIT` set this one. The card itself may have more free; `nvidia-smi` shows it.",
		Not:   "Closing other programs: the limit is this pool's own.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise or remove the pool's limit", Told: "Change it where it was set, or put this at the start of the program:", Kind: "python", Text: "cupy.get_default_memory_pool().set_limit(fraction=0.95)   # of the card; size=0: no limit", Cost: "Less of the card for other programs"},
			{Fix: "empty_cache", Title: "Avoid temporary arrays", Told: "Work in place: `a += b` or `cupy.multiply(a, b, out=a)`. Put `@cupy.fuse()` on functions of element-wise steps. `del` arrays you no longer need.", Cost: "None"},
			{Fix: "half_precision", Title: "Use float32 instead of float64", Told: "Half the memory, if seven digits are enough: pass `dtype=cupy.float32` where arrays are made.", Cost: "Digits"},
			partsOnCard,
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx"},
	},
	{
		ID: "cupy/others", Kinds: []fact.Kind{fact.CuPyAlloc}, If: func(c *ledger.Case) bool { return noLimit(c) && poolSmall(c) && !calls.AtLeast(2*units.GiB)(c) },
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not get {asked}, though it holds almost nothing itself",
		Means: "The number in brackets shows that CuPy's pool in this process is nearly empty. So something else fills the card: another process, or another library in this one. PyTorch, TensorFlow and JAX keep what they took.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "empty_cache", Title: "Free the memory of other libraries in this process", Told: "Before the CuPy call:", Kind: "python", Text: "torch.cuda.empty_cache()   # PyTorch; JAX: XLA_PYTHON_CLIENT_PREALLOCATE=false before the start", Cost: "a little time"},
			otherCard,
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx"},
	},
	{
		ID: "cupy/driver", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError}, Said: []string{"cupy_backends.", "cupy/cuda/", "cupy.cuda."},
		Headline: "could not get GPU memory from the CUDA driver",
		Means:    "This is the driver's error, not that of CuPy's pool (\"Out of memory allocating\"). It comes from memory beside the pool: the workspace of an FFT, a solver or a sort, page-locked memory, or the CUDA context. Free blocks that the pool keeps are not available to it. The message has no size.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Free the unused pool before that call", Cost: "a little time", Kind: "python", Text: "del a, b   # what is no longer needed\ncp.get_default_memory_pool().free_all_blocks()\ncp.fft.config.get_plan_cache().clear()   # plans keep their workspaces"},
			{Fix: "lower_batch_size", Title: "Process parts, in single precision", Cost: "some rewriting", Told: "An FFT needs its result and about as much workspace. Transform one axis after another (`cp.fft.fft` along each), in blocks. Use complex64 instead of complex128."},
			runtimeFirst, endHolder,
		},
		Sources: []string{cupyGuide, "cupy/cuda/cufft.pyx", "https://docs.cupy.dev/en/stable/user_guide/fft.html"},
	},
	{
		ID: "cupy/spacy", Kinds: []fact.Kind{fact.CuPyAlloc}, Said: []string{"spacy/training/", "spacy/pipeline/", "thinc/layers/", "thinc/backends/", "spacy/language.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory: {asked} more did not fit",
		Means: "spaCy computes on the GPU with CuPy. The batch and its longest text decide how much it needs; one very long document can be enough.[[ CuPy's pool held {mine} already.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size in config.cfg", Cost: "slower", Ways: []cause.Way{
				{For: "Training", Text: "halve `[training.batcher] size` and set `discard_oversize = true`. With a transformer, set `[components.transformer] max_batch_items = 1024` (4096 by default)."},
				{For: "Using a model", Text: "`nlp.pipe(texts, batch_size=16)`, or half of yours; `[nlp] batch_size` for evaluation."},
			}},
			{Fix: "lower_context", Title: "Split long documents", Told: "Split them by paragraph before they go in. For a transformer, set `[components.transformer.model.get_spans] window = 96`.", Cost: "Context across the cuts"},
			endHolder,
		},
		Sources: []string{"https://spacy.io/api/data-formats#config", "spacy/training/batchers.py", "https://spacy.io/api/transformer"},
	},
	{
		ID: "cupy/rmm", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"cuda_memory_resource", "cudaErrorMemoryAllocation"}, Unsaid: []string{"pool size exceeded", "xgboost/core.py", "cuml.", "cuml/", "umap.pyx"},
		Cause: cause.LeakedProcess, Weight: cause.Fair, Headline: "or a RAPIDS library ran out of GPU memory (RMM)",
		Means: "RMM provides the memory of the RAPIDS libraries, such as cuDF. It asked the driver, and the card was full. Either another process holds it (an earlier notebook, a second worker), or the table is too large: joins, sorts and group-bys make copies. `nvidia-smi` before the start shows which.",
		Not:   "More RAM alone: without managed memory nothing spills into it.",
		Cures: []cause.Cure{
			lookAtCard,
			{Fix: "cpu_offload", Title: "Use managed memory, which spills into RAM", Told: "In each worker, before the first cuDF, cuML or NVTabular object:", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)", Cost: "Slow while it spills"},
			{Fix: "stream_dataset", Title: "Use smaller partitions and fewer columns", Told: "Dask and NVTabular: `part_size=\"128MB\"`. Read only the columns you need (`usecols=[...]` for CSV, `columns=[...]` for Parquet), or a large CSV in parts (`byte_range=` in `cudf.read_csv`).", Cost: "Some rewriting"},
		},
		Sources: []string{"rmm/docs/user_guide/guide.md", "rmm/cpp/include/rmm/detail/error.hpp"},
	},
	{
		ID: "cupy/chainer", Kinds: []fact.Kind{fact.CuPyAlloc}, If: noLimit, Said: []string{"Minibatch-size", "chainer/", "chainer.training"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory (Chainer): {asked} more did not fit",
		Means: "All layers' activations stay on the card until the backward pass. They grow with the batch and the sample size. If epochs ran before, one step does fit; then freed blocks of other sizes or kept results have added up.[[ {pool}]]", Figures: chainerPool,
		Cures: []cause.Cure{
			{Fix: "upgrade_version", If: pythonTwo, Title: "Leave Python 2.7, and update CuPy and Chainer", Told: "Python 2.7 is limited to CuPy 6 and Chainer 6, which get no fixes. CuPy 7 and Chainer 7 need Python 3.5. Until then, call `cupy.get_default_memory_pool().free_all_blocks()` after each epoch.", Cost: "Half a day"},
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "Use the script's option (`-b`, `--batchsize` or `--batch-size`), or the number given to the iterator (`SerialIterator(train, 8)`).", Cost: "Slower; perhaps another learning rate"},
			{Fix: "empty_cache", If: when.All((*ledger.Case).Training, when.Not(pythonTwo)), Title: "If epochs ran before: empty the pool after each", Kind: "python", Text: "cupy.get_default_memory_pool().free_all_blocks()   # after each epoch", Told: "Also keep the number of the loss, not the variable: `float(loss.array)`.", Cost: "A little time"},
			{Fix: "lower_resolution", Title: "Use smaller samples", Told: "Half the width and height of an image is a quarter of the activations. Shorter sequences save at least in proportion.", Cost: "Detail"},
			{Fix: "mixed_precision", If: when.Not(pythonTwo), Title: "Turn on mixed precision", Told: "Chainer 6 and later: set `CHAINER_DTYPE` to `mixed16` (`export` on Linux, `set` on Windows). It nearly halves the activations.", Cost: "Fast on newer cards only"},
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx", "chainer/examples/mnist/train_mnist.py"},
	},
	{
		ID: "cupy/oversized", Kinds: []fact.Kind{fact.CuPyAlloc}, If: func(c *ledger.Case) bool { return noLimit(c) && calls.AtLeast(80*units.GiB)(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "was asked for one array of {asked}",
		Means: "One array, or a temporary array in an expression, would be {asked}. Usually broadcasting makes it: an extra axis (`a[:, None] - b`), all pairs of items, or an outer product that is summed afterwards. Or one side is far longer than meant. Look at the line of your own code above the message.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the shapes before that line", Told: "Multiply the sides after broadcasting by 8 bytes (complex128: 16). That should come near {asked}; the side that surprises you is wrong.", Kind: "python", Text: "print(a.shape, b.shape, cp.broadcast(a, b).shape)   # a, b: its operands", Cost: "Free"},
			{Fix: "stream_dataset", Title: "If summed afterwards: use `einsum`", Told: "It sums a product without storing it. Use your own axes as indices:", Kind: "python", Text: "y = cp.einsum(\"ik,kj->ij\", a, b)   # in place of (a[:, :, None] * b[None]).sum(1)", Cost: "Some rewriting"},
			{Fix: "lower_batch_size", Title: "Compute in blocks of rows", Told: "`work` is what that line does, for some rows of `a`:", Kind: "python", Text: "out = []\nfor i in range(0, len(a), 64):   # 64: as many as fit\n    out.append(work(a[i:i + 64], b))\ny = cp.concatenate(out)", Cost: "Some rewriting"},
		},
		Sources: []string{cupyGuide, "https://docs.cupy.dev/en/stable/reference/generated/cupy.einsum.html"},
	},
	{
		ID: "cupy/own", Kinds: []fact.Kind{fact.CuPyAlloc}, If: func(c *ledger.Case) bool {
			return noLimit(c) && poolLarge(c) && ledger.Requested(c)*6 <= c.F().Allocated.Bytes
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: poolTaken, Headline: "ran out of GPU memory: it holds {mine}, and {asked} more did not fit",
		Means: "CuPy's own pool in this process filled the card; {asked} is only the request that no longer fitted.[[ {age}]] Either one step needs too much, or arrays are kept from step to step: then memory climbs until it fails.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, or process parts", Cost: "slower", Ways: []cause.Way{
				{For: "Training", Text: "halve the batch with the program's option (Chainer and ESPnet: `--batchsize` or `--batch-size`), and limit the longest sample."},
				{For: "Arrays", Text: "a part at a time: `for part in np.array_split(x, 8): out.append(cp.asnumpy(f(cp.asarray(part))))`"},
			}},
			{Fix: "detach_accumulated", Title: "If memory climbs: release results", Cost: "none", Told: "Keep results as NumPy (`cp.asnumpy`) or numbers (`float(loss)`). In Chainer use `loss.data`: a Variable keeps its whole graph. `del` large arrays at the end of a step."},
			{Fix: "half_precision", Title: "Use float32 instead of float64", Told: "Pass `dtype=cp.float32` where arrays are made. It halves arrays that are 64 bit now.", Cost: "Seven digits"},
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx", "chainer/variable.py"},
	},
	{
		ID: "cupy/pool", Kinds: []fact.Kind{fact.CuPyAlloc}, If: noLimit,
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "had no GPU memory for {asked} more",
		Figures: poolTaken,
		Means:   "[[{brackets} ]]The {asked} may be a temporary array: `a * b + c` needs room for two results at once, and a sort or FFT needs a workspace. `nvidia-smi` shows what other programs hold.",
		Cures: []cause.Cure{
			partsOnCard,
			{Fix: "half_precision", Title: "Use float32 instead of float64", Kind: "python", Text: "x = cp.asarray(x, dtype=cp.float32)   # NumPy arrays are float64 unless told otherwise", Cost: "Seven digits instead of sixteen"},
			{Fix: "cpu_offload", If: when.Not(reader.OnWindows), Title: "Use managed memory, which spills into RAM", Kind: "python", Text: "cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)   # before the first array", Cost: "Slow once it spills; Linux only in practice"},
			{Fix: "empty_cache", Title: "Avoid temporary arrays", Told: "Work in place: `a += b` or `cp.multiply(a, b, out=a)`. `del` arrays you no longer need before the next large step.", Cost: "None"},
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx"},
	},
}

var onnxCards = []cause.Card{
	{
		ID: "onnxruntime/no-size", Kinds: []fact.Kind{fact.ORTAlloc}, If: calls.AtLeast(cause.Absurd),
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a buffer of an impossible size",
		Means: "No machine has that much memory, so a size was computed wrongly. The reason is a bug in this version, the exported model, or an input shape that the model does not expect.",
		Not:   "More memory or arena settings: the size itself is wrong.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Try another version of ONNX Runtime", Told: "Note your version first (`pip show onnxruntime-gpu`). Install the newest, or the one before if you have the newest. Without a GPU the package is `onnxruntime`.", Kind: "shell", Text: "pip install --upgrade onnxruntime-gpu", Cost: "A few minutes"},
			{Fix: "fix_shape", Title: "Compare the input with the model's input", Told: "Match the shape and type that the model states; every side must be above 0:", Kind: "python", Text: "print([(i.name, i.shape, i.type) for i in session.get_inputs()])", Cost: "Free"},
			{Fix: "cpu_offload", Title: "Test it on the CPU", Told: "`providers=[\"CPUExecutionProvider\"]`. If that works, report the node named in the log with both versions.", Cost: "Slower"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/api/python/api_summary.html"},
	},
	{
		ID: "onnxruntime/limit", Kinds: []fact.Kind{fact.ORTLimit},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "reached its memory limit: {free} left, {asked} wanted",
		Means: "ONNX Runtime reached the limit that the program set for it (`gpu_mem_limit`): {free} was left and {asked} was wanted. The card itself may have more free. By default its memory pool (arena) grows in powers of two, so part of it may be unused.",
		Not:   "Closing other programs: the limit is the arena's own.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise gpu_mem_limit", Told: "Here 8 GiB; choose less than the card has:", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"gpu_mem_limit\": 8 * 1024**3, \"arena_extend_strategy\": \"kSameAsRequested\"})]", Cost: "Less of the card for other programs"},
			{Fix: "lower_batch_size", Title: "Lower the batch size per `run()`", Kind: "text", Text: "Split the batch (the first side of the input) into two or four calls.", Cost: "More calls"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/crumb", Kinds: []fact.Kind{fact.ORTAlloc}, If: func(c *ledger.Case) bool { return calls.Crumb(c) && c.Backend == "" },
		Cause: cause.HostMemory, Weight: cause.Fair, Headline: "could not get even {asked}: memory was nearly full",
		Means: "{asked} is very little, so this node did not fill the memory. The line does not say whether RAM or GPU memory is full, so check both. Each session keeps a memory pool (arena) that grows to its largest run and does not shrink.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use one session and fewer threads", Told: "In an app: lower its number of threads or execution workers. In your own code: use one `InferenceSession` for all threads, with `enable_cpu_mem_arena = False`.", Kind: "python", Text: "options = onnxruntime.SessionOptions()\noptions.enable_cpu_mem_arena = False   # RAM goes back after each run\nsession = onnxruntime.InferenceSession(path, options, providers=providers)", Cost: "Some speed"},
			{Fix: "close_other_apps", Title: "Check whether RAM or the card is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: Memory shows \"Committed\" (at its limit: enlarge the page file), GPU shows \"Dedicated GPU memory\""},
				{For: "Linux", Text: "`free -h; nvidia-smi`"},
			}, Cost: "Free"},
			{Fix: "limit_framework_preallocation", Title: "If it is the card: a smaller model, or smaller arenas", Told: "Use a smaller variant of the model, or run this one on the CPU (`providers=[\"CPUExecutionProvider\"]`). In your own code, set the provider option `arena_extend_strategy` to `kSameAsRequested`.", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\", \"cudnn_conv_use_max_workspace\": \"0\"})]", Cost: "Some speed"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html", "https://onnxruntime.ai/docs/get-started/with-c.html"},
	},
	{
		ID: "onnxruntime/node", Kinds: []fact.Kind{fact.ORTAlloc}, Unsaid: []string{"providers/cuda/"}, If: func(c *ledger.Case) bool { return onCardWork(c) && c.Backend == "" },
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "could not allocate {asked} for one layer (node)",
		Means: "One layer of the network wanted {asked} for its result or its workspace. Input size and batch decide how much. The line does not say whether RAM or GPU memory was full; watch `nvidia-smi` and RAM while it runs. By default the memory pool (arena) grows in powers of two, so it may ask for more than the layer needs.",
		Cures: []cause.Cure{
			calls.ShorterInput, calls.SmallerInput,
			{Fix: "lower_batch_size", Title: "Run one sample at a time", Kind: "python", Text: "y = [session.run(None, {name: x[i:i + 1]})[0] for i in range(len(x))]   # name, x: as in your call", Cost: "More calls"},
			{Fix: "restart_session", Title: "If it ran before: restart it", Told: "An arena keeps what its largest input needed until the process ends, and each model has its own. In your own code, the provider options `arena_extend_strategy: kSameAsRequested` and `cudnn_conv_algo_search: HEURISTIC` take less.", Cost: "Loads again"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/arena", Kinds: []fact.Kind{fact.ORTAlloc}, If: onCardWork, Said: []string{"CUDAExecutionProvider", "providers/cuda/"},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "could not allocate {asked} of GPU memory for one layer (node)",
		Means: "Input size and batch decide how much one layer needs. Two defaults add to it: the memory pool (arena) grows in powers of two, and the search for the fastest convolution takes large workspaces. The message does not say what else is on the card.",
		Cures: []cause.Cure{
			fewerThreads, calls.ShorterInput, calls.SmallerInput,
			{Fix: "lower_batch_size", Title: "Lower the batch size per `run()`", Kind: "text", Text: "Run the samples one after another instead of in one batch.", Cost: "More calls"},
			{Fix: "limit_framework_preallocation", Title: "Set `kSameAsRequested` and `HEURISTIC`", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\", \"cudnn_conv_algo_search\": \"HEURISTIC\"})]", Cost: "Slightly slower convolutions"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/card-full", Kinds: []fact.Kind{fact.ORTDevice}, Said: []string{"CUDA failure 2", "CUBLAS failure 3"},
		Headline: "could not get GPU memory from the CUDA driver",
		Means:    "The message does not say what fills the card. Each ONNX Runtime session keeps a memory pool (arena) that grows to its largest run and does not shrink. Another program may hold the rest.[[ {built}]]", Figures: builtElsewhere,
		Cures: []cause.Cure{
			restartApp,
			{Fix: "kill_stale_process", Title: "Check what else uses the card", If: codesONNX, Kind: "shell", Text: "nvidia-smi", Told: "If it is full before the start, end what holds it (an earlier Python, another model).", Cost: "a look is free"},
			fewerThreads,
			{Fix: "lower_resolution", Title: "Use smaller inputs, one at a time", Told: "The arena keeps what its largest input needed, so restart after a too large one.", Cost: "Detail"},
			{Fix: "use_smaller_model", Title: "Choose lighter models", If: when.Not(codesONNX), Told: "Choose a lighter model, or run one model less at a time (the enhancer in a second run).", Cost: "Some quality"},
			{Fix: "lower_num_workers", Title: "Share one session among threads", If: codesONNX, Kind: "text", Text: "Make one `InferenceSession` and share it; several threads may call `run()`. Each further process with a session holds its own copy of the weights.", Cost: "None as a rule"},
			{Fix: "limit_framework_preallocation", Title: "Set `kSameAsRequested`", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\", \"cudnn_conv_use_max_workspace\": \"0\"})]", Cost: "Slightly slower convolutions"},
		},
		Sources: []string{"https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
}

// onCardWork: a size that is work, and no absurd number.
func onCardWork(c *ledger.Case) bool {
	r := ledger.Requested(c)
	return r >= cause.Crumb && r < cause.Unusual && c.Backend != "cpu"
}

// Pools that say something of who fills the card. A count beyond any card is a
// counter that only grows, or another's.
const (
	hardlyTaken = 64 * units.MiB
	largePool   = 2 * units.GiB
	mostOfCards = 512 * units.GiB
)

func poolSmall(c *ledger.Case) bool {
	a := c.F().Allocated
	return a != nil && a.Bytes < hardlyTaken && c.Contains("allocated so far")
}

func poolLarge(c *ledger.Case) bool {
	a := c.F().Allocated
	return a != nil && a.Bytes >= largePool && a.Bytes < mostOfCards
}

// poolTaken explains the figure in brackets where the message has one.
func poolTaken(c *ledger.Case) map[string]string {
	out := map[string]string{"brackets": "", "age": ""}
	switch a := c.F().Allocated; {
	case a != nil && a.Bytes >= mostOfCards:
		out["brackets"] = "The figure in brackets, " + units.Amount(a.Bytes) + ", is more than any card has: that counter is wrong."
	case c.Contains("allocated so far") && a != nil:
		out["brackets"] = "This process's pool had " + units.Amount(a.Bytes) + " already. The message does not give the card's size."
	}
	if c.Contains("bytes (total ") {
		out["age"] = "A message of CuPy 6 or older, as Chainer's programs use it."
	}
	return out
}

// pythonTwo: the traceback leads through an installation of Python 2.7.
func pythonTwo(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(x fact.Code) bool { return strings.Contains(x.File, "python2.7") })
}

// chainerPool is what the pool held. The wording of CuPy before 7 counts the
// request in (cupy/cuda/memory.pyx: total = size + self.total_bytes()).
func chainerPool(c *ledger.Case) map[string]string {
	held := c.F().Allocated
	switch {
	case held == nil:
		return map[string]string{"pool": ""}
	case c.Contains("out of memory to allocate") && held.Bytes > ledger.Requested(c):
		return map[string]string{"pool": "This process's pool held " + units.Amount(held.Bytes-ledger.Requested(c)) + "; the total in the message counts the request in, and is not the card's size."}
	}
	return map[string]string{"pool": "This process's pool held " + units.Amount(held.Bytes) + "."}
}
