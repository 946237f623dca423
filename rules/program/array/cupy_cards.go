package array

import (
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

var partsOnCard = cause.Cure{Fix: "lower_batch_size", Title: "Work on one part at a time", Told: "`f`: what you do with the array; an eighth of it is on the card at a time:", Kind: "python", Text: "out = []\nfor part in np.array_split(x, 8):   # x is a NumPy array in RAM\n    out.append(cp.asnumpy(f(cp.asarray(part))))", Cost: "Copies to and from the card"}

var cupyCards = []cause.Card{
	{
		ID: "cupy/limit", Kinds: []fact.Kind{fact.CuPyAlloc}, If: hasLimit,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "reached the limit of its own pool, {limit}",
		Means:    "CuPy's pool stood at its own limit of {limit} when it was asked for {asked} more. CuPy has no such limit by default: somebody set it with `set_limit` or the variable `CUPY_GPU_MEMORY_LIMIT`. The card itself may have more free; `nvidia-smi` tells. A piece of this size is as often a temporary as an array of yours: `a * b + c` makes one for each operation.",
		Not:      "Closing other programs, for the limit is this pool's own; `free_all_blocks()` alone, for CuPy gives back what it does not use before it fails.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise or lift the pool's limit", Told: "Look for where it was set, and change it there; or at the start of the program:", Kind: "python", Text: "cupy.get_default_memory_pool().set_limit(fraction=0.95)   # of the card; size=0: no limit", Cost: "Less of the card for other programs"},
			{Fix: "empty_cache", Title: "Fewer temporaries, and no arrays that are done with", Told: "In place: `a += b`, `cupy.multiply(a, b, out=a)`, or `@cupy.fuse()` over a function of element-wise steps; each can save {asked}. `del` what is no longer needed.", Cost: "None"},
			{Fix: "half_precision", Title: "float32 in place of float64", Told: "Half of everything, if seven digits are enough: `dtype=cupy.float32` where arrays are made.", Cost: "Digits"},
			partsOnCard,
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx"},
	},
	{
		ID: "cupy/others", Kinds: []fact.Kind{fact.CuPyAlloc}, If: func(c *ledger.Case) bool { return noLimit(c) && poolSmall(c) && !calls.AtLeast(2*units.GiB)(c) },
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "was refused {asked}, with hardly anything of its own on the card",
		Means:    "The figure in brackets is what this process's pool has taken: next to nothing. So CuPy is not what fills the card: another process holds it, or another library in this one (PyTorch, TensorFlow and JAX keep what they took).",
		Not:      "Smaller arrays or float32: {asked} is little already.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "empty_cache", Title: "Another library in this process: let it give back", Kind: "python", Text: "torch.cuda.empty_cache()   # PyTorch; JAX: XLA_PYTHON_CLIENT_PREALLOCATE=false before the start", Cost: "a little time"},
			otherCard,
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx"},
	},
	{
		ID: "cupy/driver", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError}, Said: []string{"cupy_backends.", "cupy/cuda/", "cupy.cuda."},
		Headline: "was refused memory by the driver, beside its own pool",
		Means:    "CuPy's pool says so in words of its own (\"Out of memory allocating\"); this is the driver's answer to something beside it: the workspace of an FFT, of a solver or a sort, page-locked memory, or the first context. So what the pool keeps unused is in its way as well. The message has no size.",
		Not:      "`free_all_blocks()` after the failure only: it helps before that call.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Give back what the pool keeps, before that call", Cost: "a little time", Kind: "python", Text: "del a, b   # what is done with\ncp.get_default_memory_pool().free_all_blocks()\ncp.fft.config.get_plan_cache().clear()   # plans keep their workspaces"},
			{Fix: "lower_batch_size", Title: "A part at a time, in float32", Cost: "some rewriting", Told: "An FFT needs its result and a workspace as large again: one axis after another (`cp.fft.fft` along each), blocks of the others; complex64 in place of complex128."},
			runtimeFirst, endHolder,
		},
		Sources: []string{cupyGuide, "cupy/cuda/cufft.pyx", "https://docs.cupy.dev/en/stable/user_guide/fft.html"},
	},
	{
		ID: "cupy/spacy", Kinds: []fact.Kind{fact.CuPyAlloc}, Said: []string{"spacy/training/", "spacy/pipeline/", "thinc/layers/", "thinc/backends/", "spacy/language.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "filled the card under spaCy: {asked} more did not fit",
		Means:    "spaCy's layers (thinc) compute on CuPy. A batch takes what its longest text needs, for all texts are padded to it; one very long document is enough.[[ This process's pool held {mine} already.]]",
		Not:      "`free_all_blocks()`: CuPy frees its unused blocks before it gives up.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Smaller batches, in config.cfg", Cost: "slower", Ways: []cause.Way{
				{For: "Training", Text: "`[training.batcher] size` half of today's (words for `batch_by_padded` and `batch_by_words`), `discard_oversize = true`; `[training] accumulate_gradient = 3` keeps the effect; with a transformer `[components.transformer] max_batch_items = 1024` (4096 by default)."},
				{For: "Using a model", Text: "`nlp.pipe(texts, batch_size=16)`; `[nlp] batch_size` for evaluation."},
			}},
			{Fix: "lower_context", Title: "Cut long documents", Told: "By paragraphs before they go in; a transformer's window: `[components.transformer.model.get_spans] window = 96`.", Cost: "Context across the cuts"},
			endHolder,
		},
		Sources: []string{"https://spacy.io/api/data-formats#config", "spacy/training/batchers.py", "https://spacy.io/api/transformer"},
	},
	{
		ID: "cupy/rmm", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"cuda_memory_resource", "cudaErrorMemoryAllocation"}, Unsaid: []string{"pool size exceeded", "xgboost/core.py", "cuml.", "cuml/", "umap.pyx"},
		Cause: cause.LeakedProcess, Weight: cause.Fair,
		Headline: "or cuDF, through RMM, found the card full",
		Means:    "RMM gives the RAPIDS libraries their memory and asked the driver directly: the card was full. Either another process holds it, such as an earlier notebook or a second worker on the same card, or the table is too large: joins, sorts and group-bys make copies of it. `nvidia-smi` before the start decides.",
		Not:      "More RAM by itself: without managed memory nothing spills into it.",
		Cures: []cause.Cure{
			lookAtCard,
			{Fix: "cpu_offload", Title: "Let it spill into system memory", Told: "Before the first cuDF, cuML or NVTabular object, in each worker:", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)", Cost: "Slow while it spills"},
			{Fix: "stream_dataset", Title: "Smaller parts, fewer columns", Told: "Dask and NVTabular: a smaller `part_size` (`\"128MB\"`); else `columns=[...]` when reading.", Cost: "Some rewriting"},
		},
		Sources: []string{"rmm/docs/user_guide/guide.md", "rmm/cpp/include/rmm/detail/error.hpp"},
	},
	{
		ID: "cupy/chainer", Kinds: []fact.Kind{fact.CuPyAlloc}, If: noLimit, Said: []string{"Minibatch-size", "chainer/", "chainer.training"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "filled the card in a training step (Chainer): {asked} more did not fit",
		Means:    "{asked} is the piece that no longer fitted, not the whole need. In training the activations of all layers stay on the card until the backward pass is through, and they grow with the batch and the size of the images. The figure in brackets counts what this process has taken, not the card's size; `nvidia-smi` shows what others hold.",
		Not:      "`free_all_blocks()`: CuPy frees its unused blocks before it gives up.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch", Told: "`--batchsize` of Chainer's examples, else the size given to the iterator (`SerialIterator(train, 8)`); again if need be.", Cost: "Slower; perhaps another learning rate"},
			{Fix: "lower_resolution", Title: "Smaller images or crops", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
			{Fix: "mixed_precision", Title: "Compute in 16 bit", Told: "Chainer 6 and later: `export CHAINER_DTYPE=mixed16` before the command; nearly half of the activations.", Cost: "Fast on newer cards only"},
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx", "chainer/examples/mnist/train_mnist.py"},
	},
	{
		ID: "cupy/oversized", Kinds: []fact.Kind{fact.CuPyAlloc}, If: func(c *ledger.Case) bool { return noLimit(c) && calls.AtLeast(80*units.GiB)(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "was asked for {asked} in one piece, which fits hardly any card",
		Means:    "One array, or one temporary of an expression, was to be {asked}. As a rule broadcasting made it: an axis more (`a[:, None] - b`), every pair of items, or an outer product that is summed afterwards. Or one side is far longer than meant. The line of your own code above the message is the one.",
		Not:      "A larger card, `free_all_blocks()`, float32 or managed memory: half of {asked} hardly fits one either.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the shapes before that line", Told: "Their product after broadcasting, times 8 bytes (complex128: 16), should come out near {asked}; the side that surprises you is the fault.", Kind: "python", Text: "print(a.shape, b.shape, cp.broadcast(a, b).shape)   # a, b: its operands", Cost: "Free"},
			{Fix: "stream_dataset", Title: "Meant, and summed afterwards: contract it at once", Told: "A sum over an axis of a product needs no product in memory; indices by your own axes:", Kind: "python", Text: "y = cp.einsum(\"ik,kj->ij\", a, b)   # in place of (a[:, :, None] * b[None]).sum(1)", Cost: "Some rewriting"},
			{Fix: "lower_batch_size", Title: "Or in blocks, keeping only the sums", Told: "`work`: what that line does, for some rows of `a`:", Kind: "python", Text: "for i in range(0, len(a), 64):   # 64: as many as fit\n    total += work(a[i:i + 64], b).sum(0)", Cost: "Some rewriting"},
		},
		Sources: []string{cupyGuide, "https://docs.cupy.dev/en/stable/reference/generated/cupy.einsum.html"},
	},
	{
		ID: "cupy/own", Kinds: []fact.Kind{fact.CuPyAlloc}, If: func(c *ledger.Case) bool { return noLimit(c) && poolLarge(c) && !calls.AtLeast(256*units.MiB)(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: poolTaken,
		Headline: "filled the card by itself: even {asked} more did not fit",
		Means:    "This process's own pool held {mine}, so other programs are not the matter, nor is this array: {asked} is only the last straw.[[ {age}]] What fills it is the work of a step, or arrays that are kept from one step to the next; if memory climbs until it fails, it is the second.",
		Not:      "A smaller array in that line; `free_all_blocks()`: CuPy frees its unused blocks before it gives up.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Less in one step", Cost: "slower", Ways: []cause.Way{
				{For: "Training", Text: "half the batch, by the script's own option (Chainer and ESPnet: `--batchsize`, `--batch-size`), and a cap on the longest sample: one long sequence decides."},
				{For: "Arrays", Text: "a part at a time: `for part in np.array_split(x, 8): out.append(cp.asnumpy(f(cp.asarray(part))))`"},
			}},
			{Fix: "detach_accumulated", Title: "It climbs: let go of what is kept", Cost: "none", Told: "Results in lists as NumPy (`cp.asnumpy`) or as numbers (`float(loss)`; in Chainer `loss.data`, as a Variable keeps its whole graph), and `del` large arrays at the end of a step."},
			{Fix: "half_precision", Title: "float32 in place of float64", Told: "`dtype=cp.float32` where arrays are made: half of everything, if they are 64 bit now.", Cost: "Seven digits"},
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx", "chainer/variable.py"},
	},
	{
		ID: "cupy/pool", Kinds: []fact.Kind{fact.CuPyAlloc}, If: noLimit,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "had no room for {asked} more on the card",
		Figures:  poolTaken,
		Means:    "[[{brackets} ]]Expressions make temporaries: `a * b + c` needs room for two results at once, a sort or an FFT for a workspace. So the {asked} are often a temporary as large as your array. `nvidia-smi` shows what other programs hold.",
		Not:      "`free_all_blocks()` alone: CuPy already frees its unused blocks before it gives up.",
		Cures: []cause.Cure{
			partsOnCard,
			{Fix: "half_precision", Title: "Use float32 instead of float64", Kind: "python", Text: "x = cp.asarray(x, dtype=cp.float32)   # NumPy arrays are float64 unless told otherwise", Cost: "Seven digits instead of sixteen"},
			{Fix: "cpu_offload", If: when.Not(reader.OnWindows), Title: "Let it spill into system memory", Kind: "python", Text: "cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)   # before the first array", Cost: "Slow once it spills; Linux only in practice"},
			{Fix: "empty_cache", Title: "Fewer temporaries", Told: "In place: `a += b`, `cp.multiply(a, b, out=a)`; `del` what is done with before the next large step.", Cost: "None"},
		},
		Sources: []string{cupyGuide, "cupy/cuda/memory.pyx"},
	},
}

var onnxCards = []cause.Card{
	{
		ID: "onnxruntime/no-size", Kinds: []fact.Kind{fact.ORTAlloc}, If: calls.AtLeast(cause.Absurd),
		Cause: cause.SoftwareBug, Weight: cause.Decisive,
		Headline: "asked for a buffer whose size is no size: a length went wrong",
		Means:    "No machine has that much. So it is a fault, of the node's code in this version, of the exported model, or of an input shape that it does not expect; not a lack of memory.",
		Not:      "More memory, a smaller batch for its own sake, arena settings.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Another version of ONNX Runtime", Told: "Note the present one first (`pip show onnxruntime-gpu`); the newest, or the one before if it is the newest. Without a card the package is `onnxruntime`.", Kind: "shell", Text: "pip install --upgrade onnxruntime-gpu", Cost: "A few minutes"},
			{Fix: "fix_shape", Title: "Compare input and model", Told: "Give it the shape and type that the model states, above 0 on every side:", Kind: "python", Text: "print([(i.name, i.shape, i.type) for i in session.get_inputs()])", Cost: "Free"},
			{Fix: "cpu_offload", Title: "See whether the provider is at fault", Told: "`providers=[\"CPUExecutionProvider\"]`: if it runs there, report the node named in the log with both versions.", Cost: "Slower"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/api/python/api_summary.html"},
	},
	{
		ID: "onnxruntime/limit", Kinds: []fact.Kind{fact.ORTLimit},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "reached the limit of its arena: {free} left, {asked} wanted",
		Means:    "ONNX Runtime's arena stood at the limit that the program gave it (`gpu_mem_limit`): {free} of it was left and {asked} was wanted. The card itself may have more free. The arena grows in powers of two unless told otherwise, so part of what it took may be unused.",
		Not:      "Closing other programs: the limit is the arena's own.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise gpu_mem_limit", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"gpu_mem_limit\": 8 * 1024**3, \"arena_extend_strategy\": \"kSameAsRequested\"})]", Cost: "Less of the card for other programs"},
			{Fix: "lower_batch_size", Title: "Send fewer samples per run()", Kind: "text", Text: "Cut the first side of the input: run the samples in two or four calls.", Cost: "More calls"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/crumb", Kinds: []fact.Kind{fact.ORTAlloc}, If: func(c *ledger.Case) bool { return calls.Crumb(c) && c.Backend == "" },
		Cause: cause.HostMemory, Weight: cause.Fair,
		Headline: "was refused even {asked}: memory was full before",
		Means:    "{asked} is next to nothing, so this node is not what filled it. The allocator has the same name for RAM and for the card, and the line does not say which; look at both. Each session, and each process or thread with a session of its own, keeps an arena that grows to its largest run and never shrinks.",
		Not:      "A smaller input for this one node.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "One session, few threads", Told: "In an app: its number of threads or of execution workers (2 in place of 8 or more). In your own code one `InferenceSession` for all threads, with `enable_cpu_mem_arena = False` in its options.", Kind: "python", Text: "options = onnxruntime.SessionOptions()\noptions.enable_cpu_mem_arena = False   # RAM goes back after each run\nsession = onnxruntime.InferenceSession(path, options, providers=providers)", Cost: "Some speed"},
			{Fix: "close_other_apps", Title: "See which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory (at its limit: a larger page file), \"Dedicated GPU memory\" under GPU"},
				{For: "Linux", Text: "`free -h; nvidia-smi`"},
			}, Cost: "Free"},
			{Fix: "limit_framework_preallocation", Title: "It is the card: take only what is asked for", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})]", Cost: "None worth mentioning"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html", "https://onnxruntime.ai/docs/get-started/with-c.html"},
	},
	{
		ID: "onnxruntime/node", Kinds: []fact.Kind{fact.ORTAlloc}, If: func(c *ledger.Case) bool { return onCardWork(c) && c.Backend == "" },
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "had no room for a buffer of {asked} in one node",
		Means:    "One node of the network wanted {asked} for its result or its working memory; that follows from the size of the input and the batch. The allocator (BFCArena) has the same name for RAM and for the card, and the line does not say which: `nvidia-smi` while it runs does. The arena grows in powers of two, so up to twice as much may be asked for than is needed.",
		Not:      "A smaller model file: the buffer is for activations, not for weights.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller input", Told: "Half the width and height is a quarter of the buffer, half the length a half to a quarter; if the model's input has a free size (names in its shape, not numbers).", Cost: "Detail"},
			{Fix: "lower_batch_size", Title: "One sample for each run", Kind: "python", Text: "y = [session.run(None, {name: x[i:i + 1]})[0] for i in range(len(x))]   # name, x: as in your call", Cost: "More calls"},
			{Fix: "restart_session", Title: "It ran before: restart it, and see who shares the card", Told: "An arena grows to the largest input that it saw and keeps that until the process ends, and each model has one. `nvidia-smi` lists the others on the card; end or move what is not needed. In your own code the provider options `arena_extend_strategy: kSameAsRequested` and `cudnn_conv_algo_search: HEURISTIC` take less.", Cost: "Loads again; what you end loses its state"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/arena", Kinds: []fact.Kind{fact.ORTAlloc}, If: onCardWork, Said: []string{"CUDAExecutionProvider"},
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "had no room on the card for a buffer of {asked} in one node",
		Means:    "One node wanted a buffer of {asked}, which follows from the size of the input and the batch. Two things add to it: the arena grows in powers of two by default, and the search for the fastest convolution takes large workspaces. What else is on the card the message does not say.",
		Not:      "A smaller model file, if inputs are large: the buffer is for activations.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller input", Kind: "text", Text: "Half the width and height need a quarter of the buffer, if the model's input size is free (its shape shows names, not numbers).", Cost: "Detail"},
			{Fix: "lower_batch_size", Title: "Send fewer samples per run()", Kind: "text", Text: "Run the samples one after another instead of in one batch.", Cost: "More calls"},
			{Fix: "limit_framework_preallocation", Title: "Take only what is asked for", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\", \"cudnn_conv_algo_search\": \"HEURISTIC\"})]", Cost: "Slightly slower convolutions"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/card-full", Kinds: []fact.Kind{fact.ORTDevice}, Said: []string{"CUDA failure 2"},
		Headline: "was refused by the driver: the card is full",
		Means:    "The driver refused with code 2, out of memory. The message says neither what was wanted nor who holds the card. Each session keeps an arena of its own, which grows to its largest run and does not shrink; each worker process has a CUDA context besides. Another program may hold the rest.",
		Not:      "Restarting the same number of processes: each takes its share again.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Told: "Full before the start: end what holds it (an earlier python, another model).", Cost: "a look is free"},
			{Fix: "lower_resolution", Title: "It grows with the input: smaller images, shorter inputs, one at a time", Told: "The arena keeps what its largest input needed.", Cost: "Detail"},
			{Fix: "lower_num_workers", Title: "One session for all threads", Kind: "text", Text: "Make one `InferenceSession` and share it: `run()` may be called from several threads. Each further process with a session costs its own copy of the weights.", Cost: "None as a rule"},
			{Fix: "limit_framework_preallocation", Title: "Take only what is asked for", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\", \"cudnn_conv_use_max_workspace\": \"0\"})]", Cost: "Slightly slower convolutions"},
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
		out["brackets"] = "The figure in brackets, " + units.Amount(a.Bytes) + ", is no card's: a counter that went wrong or only adds up; it says nothing about how full the card is."
	case c.Contains("allocated so far") && a != nil:
		out["brackets"] = "This process's pool had " + units.Amount(a.Bytes) + " of the card already; the message does not say how large the card is."
	}
	if c.Contains("bytes (total ") {
		out["age"] = "A message of CuPy 6 or older, as Chainer's programs use it."
	}
	return out
}
