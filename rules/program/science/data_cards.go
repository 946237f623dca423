package science

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

func inNotebook(c *ledger.Case) bool { return c.Signal("notebook") != nil }

// cardWasFull: a small piece was refused, with less than that free.
func cardWasFull(c *ledger.Case) bool {
	asked := ledger.Requested(c)
	return c.F().Free != nil && asked > 0 && asked < 256<<20 && c.F().Free.Bytes < asked
}

var xgboostCards = []cause.Card{{
	ID: "xgboost/spark", Said: []string{"ml.dmlc.xgboost4j", "XGBoostSpark"}, Kinds: []fact.Kind{fact.RMMAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError},
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of graphics memory in a Spark task",
	Means: "Each XGBoost worker is one Spark task and puts its share of the rows on the card, quantised to bins.[[ {asked} was wanted, {free} was left.]] Other tasks of the same executor use the card too, and RAPIDS takes most of it as a pool at its start.",
	Not:   "`spark.executor.memory` and `spark.executor.memoryOverhead`: they are RAM.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use more workers with fewer rows each", Cost: "as many cards as workers", Told: "Raise `num_workers` of the estimator; each needs its own card. Or fewer bins: `max_bin` 64 (256 by default), `max_depth` 6."},
		{Fix: "balance_split", Title: "Run one task per card", Cost: "fewer tasks at a time", Kind: "text", Text: "`spark.executor.resource.gpu.amount=1` and `spark.task.resource.gpu.amount=1`: a fraction lets several tasks share it."},
		{Fix: "limit_framework_preallocation", Title: "With RAPIDS: shrink its pool", Cost: "none as a rule", Kind: "text", Text: "`spark.rapids.memory.gpu.pool=NONE`, or `spark.rapids.memory.gpu.allocFraction=0.3`."},
	},
	Sources: []string{"xgboost/jvm-packages/xgboost4j-spark-gpu", "https://github.com/dmlc/xgboost/issues/8292"},
}, {
	ID: "xgboost/card-taken", Said: []string{"Memory allocation error on worker", "xgboost/core.py"}, Kinds: []fact.Kind{fact.RMMAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError},
	If:       cardWasFull,
	Headline: "found the card full: {free} was left, and it asked for {asked}",
	Means:    "{asked} is a small request, so the card was nearly full before it. The log does not say with what: another process or notebook, an earlier booster, DMatrix or framework in this one (TensorFlow takes the whole card), several fits at once (`n_jobs`), or XGBoost itself.",
	Not:      "Fewer trees (`n_estimators`): they are trained one after another.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "Check what uses the card before training", Told: "End old notebooks; restart this kernel, or `del bst, dtrain; gc.collect()`; in a grid search `n_jobs=1`.", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
		{Fix: "lower_batch_size", Title: "Use QuantileDMatrix, fewer bins, shallower trees", Told: "XGBoost 1.7 and later (before: `DeviceQuantileDMatrix`); the same `max_bin` in both:", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\nparams.update(max_bin=64, max_depth=6, subsample=0.3, sampling_method=\"gradient_based\")", Cost: "A little accuracy"},
		{Fix: "upgrade_version", Title: "If it began with an upgrade: try another version", Told: "The newest XGBoost, or the version that worked.", Cost: "Free"},
		{Fix: "cpu_offload", Title: "Train on the CPU", Kind: "python", Text: "params.update(device=\"cpu\", tree_method=\"hist\")   # before 2.0: hist in place of gpu_hist", Cost: "Slower"},
	},
	Sources: []string{"xgboost/src/common/device_helpers.cuh", "xgboost/doc/gpu/index.rst"},
}, {
	ID: "xgboost/card", If: when.Not(cardWasFull), Said: []string{"Memory allocation error on worker", "xgboost/core.py"}, Kinds: []fact.Kind{fact.RMMAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory",
	Means: "XGBoost keeps the whole table on the card, quantised to bins, and while it is built also the raw one. Histograms come on top: bins x columns for each node of a level, so depth and columns count.",
	Not:   "Fewer trees (`n_estimators`): they are trained one after another.",
	Cures: []cause.Cure{
		{Fix: "limit_framework_preallocation", Title: "Use QuantileDMatrix, float32 and fewer bins", Told: "In place of `DMatrix` (XGBoost 1.7 and later); keep X in RAM, as a NumPy array:", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\nparams[\"max_bin\"] = 64   # 256 by default", Cost: "A little accuracy"},
		{Fix: "lower_batch_size", Title: "Use shallower trees, sample rows", Told: "Histograms are kept for the nodes of deep trees; with XGBoost 3 or later `max_cached_hist_node=64` bounds them on the card. One-hot columns: keep them as categories.", Kind: "python", Text: "params.update(subsample=0.2, sampling_method=\"gradient_based\", max_depth=6, max_bin=64)", Cost: "A little accuracy"},
		{Fix: "cpu_offload", Title: "Train on the CPU", Kind: "python", Text: "params.update(device=\"cpu\", tree_method=\"hist\")   # before 2.0: hist in place of gpu_hist", Cost: "Slower"},
	},
	Sources: []string{"xgboost/src/common/device_vector.cu", "xgboost/doc/gpu/index.rst", "xgboost/doc/parameter.rst"},
}}

var fewerBins = cause.Cure{Fix: "lower_batch_size", Title: "Use fewer bins and leaves", Kind: "python", Text: "params.update(max_bin=63, num_leaves=31)   # max_bin also where the Dataset is made", Cost: "A little accuracy"}

var lightgbmCards = []cause.Card{
	{
		ID: "lightgbm/opencl", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Memory Object Allocation Failure"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "needs its table in one buffer, larger than OpenCL allows",
		Means: "OpenCL limits the size of one buffer, on NVIDIA cards to a quarter of the memory (4 of 16 GB), and LightGBM's OpenCL trainer wants the table in one. So it fails with much of the card free; rows x columns decide.",
		Not:   "Closing other programs: the limit is for a single buffer.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Use the CUDA trainer", Kind: "python", Text: "params[\"device_type\"] = \"cuda\"   # LightGBM 4 built with CUDA; it has no such bound", Cost: "Another build of LightGBM"},
			fewerBins,
			{Fix: "cpu_offload", Title: "Train on the CPU", Kind: "python", Text: "params[\"device_type\"] = \"cpu\"", Cost: "Slower, seldom by much"},
		},
		Sources: []string{"https://github.com/lightgbm-org/LightGBM/issues/4480", "https://github.com/lightgbm-org/LightGBM/issues/3899"},
	},
	{
		ID: "lightgbm/ram", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"LightGBMError", "[LightGBM]", "lightgbm/basic.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (bad allocation)",
		Means: "`bad allocation` is system memory (RAM), even with the GPU trainer. LightGBM keeps its binned copy beside your table, and caches a histogram for every leaf: leaves x columns x bins. With many columns or leaves that cache is large; with many rows it is the table.",
		Not:   "Fewer trees: they are built one after another.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Limit the histogram cache, use fewer bins", Told: "Add them to your `params`; `max_bin` also in `lgb.Dataset(..., params=params)`, where it takes effect:", Kind: "python", Text: "params.update(histogram_pool_size=1024, max_bin=63, num_leaves=31)   # the first in MB", Cost: "Slower; a little accuracy"},
			{Fix: "stream_dataset", Title: "Keep one copy of the table", Kind: "python", Text: "train = lgb.Dataset(X.astype(\"float32\"), y, params=params, free_raw_data=True).construct()\ndel X   # and the DataFrame that it came from", Cost: "The raw table is gone"},
			{Fix: "close_other_apps", Title: "See what else uses RAM", Told: "Linux: `free -h`. Windows: Task Manager, Performance, Memory; if \"Committed\" is at its limit, enlarge the page file.", Cost: "Free"},
		},
		Sources: []string{"LightGBM/docs/FAQ.rst", "https://github.com/lightgbm-org/LightGBM/issues/705", "https://github.com/lightgbm-org/LightGBM/issues/4612"},
	},
}

// caughtBefore: a refusal that the program caught and printed stands above the one
// that ended it, whose line names the exception.
func caughtBefore(c *ledger.Case) bool {
	caught := 0
	for _, x := range c.Facts.Failures {
		if x.Kind == fact.RMMAlloc && strings.HasPrefix(strings.TrimSpace(x.Message), "std::bad_alloc") {
			caught = x.Line
		} else if x.Kind == fact.RMMAlloc && caught > 0 && x.Line > caught+1 && strings.Contains(x.Message, "MemoryError: std::bad_alloc") {
			return true
		}
	}
	return false
}

var rapidsCards = []cause.Card{
	{
		ID: "rapids/kept-exception", Kinds: []fact.Kind{fact.RMMAlloc}, If: caughtBefore,
		Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "failed again after a refusal that the program had caught",
		Means: "A first refusal was caught and printed, the program went on, and then this call was refused as well. An exception holds the frames of its traceback, and these hold every table that the failed function had made; while something still refers to it (a variable, a list of errors, a worker's report), all of that stays in the pool.",
		Not:   "Reading fewer columns in the call that failed last: what is kept is of the first.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Keep the message, not the exception", Told: "`big_step` is the call that you retry. Go on behind the block, not in it:", Kind: "python", Text: "import gc\n\ntry:\n    big_step()\nexcept MemoryError as e:\n    message = str(e)   # and nothing else of e\ngc.collect()", Cost: "none"},
			{Fix: "stream_dataset", Title: "Make the first step smaller", Told: "It did not fit in the first place: parts of the rows, fewer columns, smaller types.", Cost: "some rewriting"},
			{Fix: "restart_session", Title: "A Dask worker: restart it after such an error", Told: "`client.restart()`: the scheduler may keep the exception with its traceback.", Cost: "its results are lost"},
		},
		Sources: []string{"https://github.com/NVIDIA/cudf/issues/9232", "https://github.com/rapidsai/dask-cuda/issues/725", "https://docs.python.org/3/reference/compound_stmts.html#the-try-statement"}, Solved: 1,
	},
	{
		ID: "rapids/pool-maximum", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"pool size exceeded"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "reached the maximum of its memory pool (RMM)",
		Means: "RMM's pool reached its maximum. If none was set, the driver refused it more: then the table, or the result of a join, is too large for what the card has free. If one was set (where RMM or the Dask cluster is set up), the card may have more.",
		Not:   "Closing other programs, if a maximum was set: it is fixed when the pool is made.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read fewer columns or rows", Kind: "python", Text: "df = cudf.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"])   # your own columns", Cost: "Some rewriting"},
			{Fix: "cpu_offload", Title: "Use managed memory, which spills into RAM", Kind: "python", Text: "rmm.reinitialize(pool_allocator=True, managed_memory=True, maximum_pool_size=\"64GiB\")   # before the first cuDF object: some of the machine's RAM", Cost: "Slow while it spills"},
			{Fix: "raise_memory_limit", Title: "If a maximum was set: raise it", Kind: "text", Text: "Look for `maximum_pool_size`, `rmm_pool_size` or `rmm_maximum_pool_size` where RMM or the Dask cluster is set up.", Cost: "Less of the card for others"},
		},
		Sources: []string{"rmm/cpp/src/mr/detail/pool_memory_resource_impl.cpp", "https://github.com/rapidsai/rmm/issues/600", "rmm/docs/user_guide/guide.md"}, Solved: 1,
	},
	{
		ID: "rapids/cuspatial", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"cuspatial/core"}, Unsaid: []string{"pool size exceeded"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory on a GeoSeries (cuSpatial)",
		Means: "This is graphics memory, though Python says MemoryError. Each access to `x` and `y` of a GeoSeries gathers all coordinates (16 bytes a point) into a new column. So a query needs several times the points themselves, beside the table they came from. The message has no size.",
		Not:   "More RAM alone, or a pool in RMM: the card stays the same.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Query a part of the points at a time", Told: "`points`: your GeoSeries; the results are small:", Kind: "python", Text: "n = 10_000_000   # points at a time\nhits = [cuspatial.points_in_spatial_window(points.iloc[i:i + n], x0, x1, y0, y1) for i in range(0, len(points), n)]", Cost: "Some time"},
			{Fix: "fix_shape", Title: "For a rectangle: compare columns", Told: "Keep x and y as columns of the table, and compare them there:", Kind: "python", Text: "hits = df[(df.x > x0) & (df.x < x1) & (df.y > y0) & (df.y < y1)]", Cost: "None"},
			{Fix: "cpu_offload", Title: "Use managed memory, which spills into RAM", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)   # before the first cuDF object", Cost: "Slow while it spills"},
			look,
		},
		Sources: []string{"cuspatial/python/cuspatial/cuspatial/core/geoseries.py", "cuspatial/python/cuspatial/cuspatial/core/spatial/filtering.py", "rmm/docs/user_guide/guide.md"},
	},
	{
		ID: "rapids/card", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"cuda_memory_resource", "ErrorMemoryAllocation", "RMM_ERROR_OUT"}, Unsaid: []string{"pool size exceeded", "xgboost/core.py", "cuml.", "cuml/", "rapids_singlecell/"},
		Cause: cause.LeakedProcess, Weight: cause.Fair, Headline: "found the card full (RMM)",
		Means: "RMM, which gives cuDF and cuML their memory, asked the driver and the card was full. A table can take several times its file, and joins, sorts and group-bys make copies; in notebooks earlier frames stay as long as names refer to them. Or another program holds the card: the log does not show which.",
		Not:   "More RAM alone: without managed memory nothing spills into it.",
		Cures: []cause.Cure{
			look,
			{Fix: "cpu_offload", Title: "Use managed memory, which spills into RAM", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)   # before the first cuDF or cuML object", Cost: "Slow while it spills"},
			{Fix: "stream_dataset", Title: "Read fewer columns, use smaller types", Kind: "python", Text: "df = cudf.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"]).astype({\"value\": \"float32\"})", Cost: "Some rewriting"},
		},
		Sources: []string{"rmm/cpp/include/rmm/detail/error.hpp", "rmm/docs/user_guide/guide.md"},
	},
}

var faissCards = []cause.Card{
	{
		ID: "faiss/scratch", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"TemporaryMemoryBuffer"},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "had no room on the card for its scratch memory",
		Means: "This is not the index: a `StandardGpuResources` reserves scratch memory when it is first used, 1.5 GiB on cards with more than 8 GB, and the card had less free. PyTorch, another index or another process holds the rest, or several such objects were made.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Reserve less scratch", Kind: "python", Text: "res = faiss.StandardGpuResources()   # one per process, shared by all indexes\nres.setTempMemory(256 * 1024 * 1024)", Cost: "A little speed"},
			look,
			{Fix: "empty_cache", Title: "With PyTorch in the same process", Kind: "python", Text: "del model, features   # what is not needed while you search\ntorch.cuda.empty_cache()   # FAISS cannot use what PyTorch keeps", Cost: "A little time"},
		},
		Sources: []string{"faiss/faiss/gpu/StandardGpuResources.cpp", "https://github.com/facebookresearch/faiss/issues/1031", "https://github.com/facebookresearch/faiss/issues/2155", "https://github.com/facebookresearch/faiss/issues/779"}, Solved: 1,
	},
	{
		ID: "faiss/index", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"alloc fail type FlatData", "alloc fail type IVFLists", "alloc fail type Quantizer", "allocMemorySpaceV", "alloc fail type Other"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no room on the card for the vectors of the index",
		Means: "The vectors did not fit: count x dimension x 4 bytes for a flat index, and up to twice that for a moment when lists grow or are copied. The size in the line is the request that failed.",
		Not:   "`setTempMemory`: that is scratch, not the index.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Store vectors in 16 bit", Kind: "python", Text: "co = faiss.GpuClonerOptions()\nco.useFloat16 = True\nindex = faiss.index_cpu_to_gpu(res, 0, cpu_index, co)", Cost: "Hardly any recall"},
			{Fix: "use_lower_quant", Title: "Compress the vectors (PQ)", Kind: "python", Text: "cpu_index = faiss.index_factory(d, \"IVF4096,PQ64\")   # 64 bytes per vector; 64 must divide d", Cost: "Some recall"},
			{Fix: "shard_training", Title: "Shard over the cards", Kind: "python", Text: "co = faiss.GpuMultipleClonerOptions()\nco.shard = True\nindex = faiss.index_cpu_to_all_gpus(cpu_index, co)", Cost: "Another card"},
		},
		Sources: []string{"faiss/faiss/gpu/StandardGpuResources.cpp", "https://github.com/facebookresearch/faiss/issues/2179", "faiss/faiss/gpu/GpuClonerOptions.h"},
	},
}

var numbaCards = []cause.Card{{
	ID: "dask/card", Kinds: []fact.Kind{fact.NumbaAlloc}, Said: []string{"dask_cuda", "dask_cudf", "distributed/worker.py", "distributed.worker"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in a worker",
	Means: "A task on a worker asked the driver for an array on the card, and the card was full. Each worker keeps its partitions there, and joins and sorts make copies. Several workers on one card share its memory. Or another process holds it: the log does not show which.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use smaller partitions", Told: "Twice as many, and only the columns that the task needs:", Kind: "python", Text: "df = df.repartition(npartitions=2 * df.npartitions)   # df: your own", Cost: "More tasks"},
		{Fix: "cpu_offload", Title: "Spill to RAM earlier (`device_memory_limit`)", Told: "One worker per card, with half of the card as its limit:", Kind: "python", Text: "from dask_cuda import LocalCUDACluster\ncluster = LocalCUDACluster(device_memory_limit=\"8GB\")   # half of your card", Cost: "Slower while it spills"},
		look,
		{Fix: "upgrade_version", Title: "Update dask-cuda, cuDF and RMM together", Told: "If it began with an update, or spilling no longer happens: the newest release of all three, in one environment.", Cost: "Half an hour"},
	},
	Sources: []string{"numba/cuda/cudadrv/driver.py", "dask-cuda/dask_cuda/local_cuda_cluster.py"},
}, {
	ID: "numba/alloc", Kinds: []fact.Kind{fact.NumbaAlloc}, Unsaid: []string{"cryosparc_", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_ADDRESS"},
	Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "could not allocate another array on the card",
	Means: "Numba asked the driver for an array and the card was full. Arrays keep NumPy's type (float64: 8 bytes a number), and freed ones are given back in batches, so a loop can hold several generations. If the first array fails, something else is on the card.",
	Cures: []cause.Cure{
		{Fix: "restart_session", If: inNotebook, Title: "Restart the kernel, then look at the card", Told: "Arrays of earlier cells stay on the card until the kernel ends. If `nvidia-smi` still shows it full, end what holds it.", Kind: "shell", Text: "nvidia-smi", Cost: "Variables are lost"},
		{Fix: "empty_cache", Title: "Reuse arrays in the loop", Kind: "python", Text: "d_x.copy_to_device(x)   # into an array made once, instead of cuda.to_device(x) in every pass\ncuda.current_context().deallocations.clear()   # gives back what was deleted", Cost: "None"},
		{Fix: "lower_batch_size", Title: "Process parts, in float32", Kind: "python", Text: "for part in np.array_split(x, 8):\n    d = cuda.to_device(part.astype(np.float32))", Cost: "Copies; fewer digits"},
		look,
	},
	Sources: []string{"numba/cuda/cudadrv/driver.py", "https://numba.readthedocs.io/en/stable/cuda/memory.html"},
}}

var daskCards = []cause.Card{{
	ID: "dask/worker-budget", Kinds: []fact.Kind{fact.WorkerBudget},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "restarted a worker that had used 95 % of its share of RAM",
	Means: "Each worker has a share of RAM (RAM divided by the workers by default), and its nanny restarts it at 95 % of that, even if others have room. Dask spills results to disk from 60 % on, so running tasks are probably what is large: big partitions, or one task that joins everything. A task that loses its worker four times ends as KilledWorker.",
	Not:   "More workers on the same machine: each gets a smaller share.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Use fewer workers and threads, more memory each", Told: "Threads of a worker share its memory, each with a partition of its own. On one machine; on a cluster `--nworkers 2 --nthreads 1` of `dask worker`:", Kind: "python", Text: "from dask.distributed import Client\nclient = Client(n_workers=2, threads_per_worker=1)   # half of RAM for each", Cost: "Fewer tasks at a time"},
		{Fix: "stream_dataset", Title: "Use smaller partitions", Told: "`dd.read_csv(..., blocksize=\"64MB\")`, smaller chunks of an array; for a table that is there:", Kind: "python", Text: "df = df.repartition(partition_size=\"100MB\")", Cost: "More tasks"},
		{Fix: "fix_shape", Title: "Find the large task", Told: "The dashboard (port 8787) shows memory by worker. Typical: `compute()` of a whole table, a merge on few keys, one huge file that cannot be split.", Cost: "Free"},
	},
	Sources: []string{"distributed/worker_memory.py", "https://distributed.dask.org/en/stable/worker-memory.html"},
}, {
	ID: "dask/one-chunk", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: []string{"in concatenate3", "in concatenate_axes", "dask/array/core.py"},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while joining the chunks of an array[[: {asked}]]",
	Means: "Dask joined chunks into one NumPy array, and {asked} did not fit beside the chunks, so the peak is about twice that. Either a task on a worker needed a whole axis (a decomposition, a rechunk, a contraction), or `compute()` brought everything into one process. The traceback can show a line of the client for an error on a worker.",
	Not:   "More threads in a worker: they share its memory.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Use smaller chunks along the other axis", Told: "Or a smaller batch for an incremental method. Use your own names; the number is the rows of one chunk:", Kind: "python", Text: "x = x.rechunk({0: 1000, 1: -1})   # 1000 rows, whole columns\nprint(x.chunks)", Cost: "More tasks"},
		{Fix: "raise_memory_limit", Title: "Give that process more RAM", Told: "Fewer workers on a node, each with a larger `--memory-limit` and one thread; in a batch job ask for more memory.", Cost: "Fewer tasks at a time"},
		{Fix: "half_precision", Title: "Use float32, or write the result in chunks", Told: "`x = x.astype(\"float32\")` halves float64 before the chunks are joined; `to_zarr` writes a large result in chunks, where `compute()` would join it.", Cost: "Seven digits"},
	},
	Sources: []string{"dask/array/core.py", "https://docs.dask.org/en/stable/array-chunks.html"},
}}

var sparkCards = []cause.Card{{
	ID: "spark-rapids/pool", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"ai.rapids.cudf", "com.nvidia.spark.rapids"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory (RAPIDS plug-in), not of Java heap",
	Means: "Despite the Java OutOfMemoryError, the plug-in's pool on the card was full. Several tasks share a card, each with its own batches.",
	Not:   "`--executor-memory` or -Xmx: they set the heap, not the card.",
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Run one task per card at a time", Kind: "config", Text: "spark.rapids.sql.concurrentGpuTasks=1", Cost: "Some throughput"},
		{Fix: "lower_batch_size", Title: "Use smaller batches, more partitions", Kind: "config", Text: "spark.rapids.sql.batchSizeBytes=512m\nspark.sql.files.maxPartitionBytes=128m\nspark.sql.shuffle.partitions=400", Cost: "Some speed"},
		{Fix: "upgrade_version", Title: "Update the plug-in", Kind: "text", Text: "Newer releases split a batch that does not fit and try again; take the jar that matches your Spark.", Cost: "An hour"},
	},
	Sources: []string{"https://github.com/NVIDIA/cudf-spark/issues/1274", "https://github.com/NVIDIA/cudf-spark/issues/1365"},
}}
