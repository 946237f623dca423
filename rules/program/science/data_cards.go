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

// boostPredicts: a trained model is used.
func boostPredicts(c *ledger.Case) bool { return c.Near("in inplace_predict", "model.predict(") }

var xgboostCards = []cause.Card{{
	ID: "xgboost/spark", Said: []string{"ml.dmlc.xgboost4j", "XGBoostSpark"}, Kinds: []fact.Kind{fact.RMMAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError},
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory in a Spark task",
	Means: "Each XGBoost worker is one Spark task and loads its part of the rows onto a GPU. Other tasks of the same executor may use that GPU too. The RAPIDS plug-in, if you use it, reserves most of the GPU memory at its start.",
	Not:   "`spark.executor.memory` and `spark.executor.memoryOverhead`: they set RAM, not GPU memory.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use fewer bins, or more workers", Told: "Set `max_bin` to 64 (256 by default) and `max_depth` to 6. Or raise `num_workers`: each worker then gets fewer rows, but needs a GPU.", Cost: "a little accuracy, or more GPUs"},
		{Fix: "limit_framework_preallocation", Title: "With RAPIDS: shrink its memory pool", Kind: "text", Text: "Set `spark.rapids.memory.gpu.pool=NONE`, or `spark.rapids.memory.gpu.allocFraction=0.3`.", Cost: "none"},
		{Fix: "balance_split", Title: "Run one task per GPU", Kind: "text", Text: "Set `spark.executor.resource.gpu.amount=1` and `spark.task.resource.gpu.amount=1`. A fraction lets several tasks share one GPU.", Cost: "fewer tasks at a time"},
	},
	Sources: []string{"xgboost/jvm-packages/xgboost4j-spark-gpu", "https://github.com/dmlc/xgboost/issues/8292"},
}, {
	ID: "xgboost/card-taken", Said: []string{"Memory allocation error on worker", "xgboost/core.py"}, Kinds: []fact.Kind{fact.RMMAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError},
	If:       cardWasFull,
	Headline: "found GPU memory almost full: only {free} was free",
	Means:    "XGBoost asked for only {asked}, so GPU memory was nearly full already. The log does not show by what. Common reasons: another process or notebook, an earlier model or DMatrix in this one, TensorFlow (it takes nearly all GPU memory), several fits at once (`n_jobs`), or XGBoost itself.",
	Not:      "Fewer trees (`n_estimators`): they are trained one after another.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "Check what uses the GPU before training", Told: "End old notebooks and processes. In this notebook: restart the kernel, or run `del bst, dtrain; gc.collect()`. In a grid search set `n_jobs=1`.", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
		{Fix: "lower_batch_size", Title: "Use QuantileDMatrix, fewer bins, shallower trees", Told: "XGBoost 1.7 and later (before: `DeviceQuantileDMatrix`). Use the same `max_bin` in both lines:", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\nparams.update(max_bin=64, max_depth=6, subsample=0.3, sampling_method=\"gradient_based\")", Cost: "A little accuracy"},
		{Fix: "upgrade_version", Title: "If it began with an upgrade: try another version", Told: "Install the newest XGBoost, or the version that worked.", Cost: "Free"},
		{Fix: "cpu_offload", Title: "Train on the CPU", Kind: "python", Text: "params.update(device=\"cpu\", tree_method=\"hist\")   # before 2.0: hist instead of gpu_hist", Cost: "Slower"},
	},
	Sources: []string{"xgboost/src/common/device_helpers.cuh", "xgboost/doc/gpu/index.rst"},
}, {
	ID: "xgboost/card", If: when.Not(cardWasFull), Said: []string{"Memory allocation error on worker", "xgboost/core.py", "in inplace_predict", "model.predict("}, Kinds: []fact.Kind{fact.RMMAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory",
	Means: "XGBoost keeps the whole table on the GPU, sorted into bins; a plain `DMatrix` needs more while it is built. Histograms come on top. They grow with bins x columns and with the depth of the trees.",
	Not:   "Fewer trees (`n_estimators`): they are trained one after another.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: boostPredicts, Title: "Predict in blocks of rows", Told: "Training fitted; the table to predict did not. With X as an array in RAM:", Kind: "python", Text: "n = 1_000_000\ny = np.concatenate([model.predict(X[i:i + n]) for i in range(0, len(X), n)])", Cost: "None"},
		{Fix: "limit_framework_preallocation", If: when.Not(boostPredicts), Title: "Use QuantileDMatrix, float32 and fewer bins", Told: "Use it instead of `DMatrix` (XGBoost 1.7 and later), with X as a NumPy array in RAM. With XGBClassifier or XGBRegressor pass `max_bin=64`.", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\nparams[\"max_bin\"] = 64   # 256 by default", Cost: "A little accuracy"},
		{Fix: "half_precision", If: boostPredicts, Title: "Pass float32 data", Kind: "python", Text: "X = X.astype(\"float32\")   # float64 takes twice as much", Cost: "None: XGBoost computes in float32"},
		{Fix: "lower_batch_size", If: when.Not(boostPredicts), Title: "Use shallower trees, and sample rows", Told: "XGBoost 3 and later: `max_cached_hist_node=64` limits the histograms that deep trees keep. Pass categories as such, not as one-hot columns.", Kind: "python", Text: "params.update(subsample=0.2, sampling_method=\"gradient_based\", max_depth=6, max_bin=64)", Cost: "A little accuracy"},
		{Fix: "cpu_offload", If: when.Not(boostPredicts), Title: "Train on the CPU", Kind: "python", Text: "params.update(device=\"cpu\", tree_method=\"hist\")   # before 2.0: hist instead of gpu_hist", Cost: "Slower"},
		{Fix: "cpu_offload", If: boostPredicts, Title: "Predict on the CPU", Kind: "python", Text: "model.set_params(device=\"cpu\")   # a Booster: set_param", Cost: "Slower"},
	},
	Sources: []string{"xgboost/src/common/device_vector.cu", "xgboost/doc/gpu/index.rst", "xgboost/doc/parameter.rst"},
}}

var fewerBins = cause.Cure{Fix: "lower_batch_size", Title: "Set `max_bin=15`", Told: "Up to 15 bins two columns share a byte, so the table needs half the memory. 63 bins save nothing here. Set it where the Dataset is made:", Kind: "python", Text: "params[\"max_bin\"] = 15\ntrain = lgb.Dataset(X, y, params=params)", Cost: "Some accuracy"}

var lightgbmCards = []cause.Card{
	{
		ID: "lightgbm/opencl", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Memory Object Allocation Failure"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "could not get one large buffer on the GPU (OpenCL)",
		Means: "LightGBM's OpenCL trainer puts the whole table into one buffer. OpenCL limits the size of a buffer, on NVIDIA GPUs to a quarter of the GPU memory. So it can fail with most of the GPU free; rows x columns decide.",
		Not:   "Closing other programs, if the GPU has memory free: the limit is per buffer.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Use the CUDA trainer", Told: "It has no such limit. It needs LightGBM 4 built with CUDA: `pip install lightgbm --no-binary lightgbm --config-settings=cmake.define.USE_CUDA=ON`.", Kind: "python", Text: "params[\"device_type\"] = \"cuda\"", Cost: "Another build of LightGBM"},
			fewerBins,
			{Fix: "cpu_offload", Title: "Train on the CPU", Kind: "python", Text: "params[\"device_type\"] = \"cpu\"", Cost: "Often not much slower"},
		},
		Sources: []string{"https://github.com/lightgbm-org/LightGBM/issues/4480", "https://github.com/lightgbm-org/LightGBM/issues/3899"},
	},
	{
		ID: "lightgbm/frame", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: []string{"_data_from_pandas", "lightgbm/basic.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) while it copied the table[[: {asked}]]",
		Means: "LightGBM makes one NumPy array of the whole DataFrame, before it sorts it into bins. Unless all columns are float32, that array is float64: rows x columns x 8 bytes, beside the DataFrame.",
		Not:   "Fewer bins, leaves or trees: they come after this copy.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Make all columns float32 first", Told: "That halves the copy; often it is then none at all:", Kind: "python", Text: "X = X.astype(\"float32\").to_numpy()\ntrain = lgb.Dataset(X, y, params=params, free_raw_data=True)", Cost: "none: bins are coarser anyway"},
			{Fix: "stream_dataset", Title: "Read the data from a file, or in parts", Told: "With `two_round` it never holds the whole table; `lgb.Sequence` reads from HDF5 or NumPy files in batches.", Kind: "python", Text: "train = lgb.Dataset(\"train.csv\", params={**params, \"two_round\": True, \"header\": True})", Cost: "slower"},
			{Fix: "fix_shape", Title: "Use fewer columns and rows", Told: "Pass only the columns of the model, sparse ones as `scipy.sparse`, and try a sample of the rows first.", Cost: "some rewriting"},
		},
		Sources: []string{"LightGBM/python-package/lightgbm/basic.py", "LightGBM/docs/Parameters.rst"},
	},
	{
		ID: "lightgbm/ram", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"LightGBMError", "[LightGBM]", "lightgbm/basic.py"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM)",
		Means: "`bad allocation` means RAM, even with the GPU trainer. LightGBM keeps its binned copy beside your table, and a histogram for every leaf (leaves x columns x bins). Many columns or leaves make the histograms large; many rows make the table large.",
		Not:   "Fewer trees (`n_estimators`): they are trained one after another.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Limit the histogram cache, use fewer bins", Told: "Add them to your `params`, and pass the same `params` to `lgb.Dataset`:", Kind: "python", Text: "params.update(histogram_pool_size=1024, max_bin=63, num_leaves=31)   # the first in MB", Cost: "Slower; a little accuracy"},
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
		Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "failed a second time, after the program had caught a first failure",
		Means: "The program caught a first out-of-memory error, printed it and went on; then this call failed as well. A caught exception keeps every table of the failed function alive as long as something refers to it, such as a variable or a list of errors. So the memory was probably never freed.",
		Not:   "Reading fewer columns in the last call: the first one still holds the memory.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Keep the message, not the exception", Told: "`big_step` stands for the call that you retry. Retry after the block, not inside it:", Kind: "python", Text: "import gc\n\ntry:\n    big_step()\nexcept MemoryError as e:\n    message = str(e)   # and nothing else of e\ngc.collect()", Cost: "none"},
			{Fix: "stream_dataset", Title: "Make the first step smaller", Told: "It did not fit either. Read fewer rows or columns, and use smaller types.", Cost: "some rewriting"},
			{Fix: "restart_session", Title: "Dask: restart the workers after such an error", Told: "Call `client.restart()`: the scheduler may keep the exception with its traceback.", Cost: "their results are lost"},
		},
		Sources: []string{"https://github.com/NVIDIA/cudf/issues/9232", "https://github.com/rapidsai/dask-cuda/issues/725", "https://docs.python.org/3/reference/compound_stmts.html#the-try-statement"}, Solved: 1,
	},
	{
		ID: "rapids/pool-maximum", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"pool size exceeded"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "reached the maximum of its GPU memory pool (RMM)",
		Means: "If your code or the Dask cluster sets a maximum for the pool, the GPU may have more memory free. If not, the GPU is full: the table, or the result of a join, is too large for it.",
		Not:   "Closing other programs, if a maximum is set: it is fixed when the pool is made.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Look for a maximum, and raise it", Kind: "text", Text: "Search your code for `maximum_pool_size`, `rmm_pool_size` or `rmm_maximum_pool_size`. If you find none, go on to the next fix.", Cost: "Less for other programs"},
			{Fix: "stream_dataset", Title: "Read fewer columns or rows", Kind: "python", Text: "df = cudf.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"])   # your own columns", Cost: "Some rewriting"},
			{Fix: "cpu_offload", Title: "Let RMM spill into system memory (RAM)", Told: "Put this before the first cuDF object. Under WSL it hardly spills.", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)", Cost: "Slow while it spills"},
		},
		Sources: []string{"rmm/cpp/src/mr/detail/pool_memory_resource_impl.cpp", "https://github.com/rapidsai/rmm/issues/600", "rmm/docs/user_guide/guide.md"}, Solved: 1,
	},
	{
		ID: "rapids/cuspatial", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"cuspatial/core"}, Unsaid: []string{"pool size exceeded"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory on a GeoSeries (cuSpatial)",
		Means: "This is GPU memory, although Python says MemoryError. Each access to `x` or `y` of a GeoSeries copies all coordinates (16 bytes a point) into a new column. So one query can need several times the size of the points.",
		Not:   "Adding RAM alone, or a pool in RMM: the GPU stays the same.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Query some of the points at a time", Told: "For `points_in_spatial_window`, with `points` as your GeoSeries:", Kind: "python", Text: "n = 10_000_000   # points at a time\nhits = [cuspatial.points_in_spatial_window(points.iloc[i:i + n], x0, x1, y0, y1) for i in range(0, len(points), n)]", Cost: "Some time"},
			{Fix: "fix_shape", Title: "For a rectangle: compare columns instead", Told: "Keep x and y as columns of the cuDF table:", Kind: "python", Text: "hits = df[(df.x > x0) & (df.x < x1) & (df.y > y0) & (df.y < y1)]", Cost: "None"},
			{Fix: "cpu_offload", Title: "Let RMM spill into system memory (RAM)", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)   # before the first cuDF object", Cost: "Slow while it spills"},
			look,
		},
		Sources: []string{"cuspatial/python/cuspatial/cuspatial/core/geoseries.py", "cuspatial/python/cuspatial/cuspatial/core/spatial/filtering.py", "rmm/docs/user_guide/guide.md"},
	},
	{
		ID: "rapids/card", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"cuda_memory_resource", "ErrorMemoryAllocation", "RMM_ERROR_OUT"}, Unsaid: []string{"pool size exceeded", "xgboost/core.py", "cuml.", "cuml/", "rapids_singlecell/"},
		Cause: cause.LeakedProcess, Weight: cause.Fair, Headline: "found GPU memory full (RMM)",
		Means: "RMM gets GPU memory for cuDF and cuML, and the GPU had no more. A table can take several times the size of its file, and joins, sorts and group-bys make copies. In a notebook earlier frames stay on the GPU. Another program may hold it too: the log does not show that.",
		Not:   "Adding RAM alone: nothing spills into it unless you turn that on.",
		Cures: []cause.Cure{
			look,
			{Fix: "cpu_offload", Title: "Let cuDF and RMM spill into system memory (RAM)", Told: "At the top of the script. cuDF 22.12 and later can also spill by itself: start Python with `CUDF_SPILL=on`.", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)   # before the first cuDF or cuML object", Cost: "Slow while it spills"},
			{Fix: "stream_dataset", Title: "Read fewer columns, use smaller types", Kind: "python", Text: "df = cudf.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"]).astype({\"value\": \"float32\"})   # your own columns", Cost: "Some rewriting"},
		},
		Sources: []string{"rmm/cpp/include/rmm/detail/error.hpp", "rmm/docs/user_guide/guide.md"},
	},
}

var faissCards = []cause.Card{
	{
		ID: "faiss/scratch", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"TemporaryMemoryBuffer"},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not reserve its scratch memory on the GPU",
		Means: "This is not the index. Each `StandardGpuResources` reserves scratch memory on first use: 1.5 GiB on GPUs with more than 8 GB. The GPU had less free, because of PyTorch, an index, another process or several such objects.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Reserve less scratch memory", Kind: "python", Text: "res = faiss.StandardGpuResources()   # one per process, shared by all indexes\nres.setTempMemory(256 * 1024 * 1024)", Cost: "A little speed"},
			look,
			{Fix: "empty_cache", Title: "With PyTorch in the same process: free its memory", Kind: "python", Text: "del model, features   # what is not needed while you search\ntorch.cuda.empty_cache()   # FAISS cannot use what PyTorch keeps", Cost: "A little time"},
		},
		Sources: []string{"faiss/faiss/gpu/StandardGpuResources.cpp", "https://github.com/facebookresearch/faiss/issues/1031", "https://github.com/facebookresearch/faiss/issues/2155", "https://github.com/facebookresearch/faiss/issues/779"}, Solved: 1,
	},
	{
		ID: "faiss/index", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"alloc fail type FlatData", "alloc fail type IVFLists", "alloc fail type Quantizer", "allocMemorySpaceV", "alloc fail type Other"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory for the index",
		Means: "A flat index needs vectors x dimension x 4 bytes, and for a moment up to twice that when lists grow or are copied. The size in the line is the one request that failed.",
		Not:   "`setTempMemory`: that is scratch memory, not the index.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Store the vectors in 16 bit", Told: "Halves the GPU memory of flat and IVF-flat indexes:", Kind: "python", Text: "co = faiss.GpuClonerOptions()\nco.useFloat16 = True\nindex = faiss.index_cpu_to_gpu(res, 0, cpu_index, co)", Cost: "Almost the same recall"},
			{Fix: "use_lower_quant", Title: "Compress the vectors (PQ)", Kind: "python", Text: "cpu_index = faiss.index_factory(d, \"IVF4096,PQ64\")   # 64 bytes per vector; 64 must divide d", Cost: "Lower recall"},
			{Fix: "shard_training", Title: "Split the index over several GPUs", Kind: "python", Text: "co = faiss.GpuMultipleClonerOptions()\nco.shard = True   # without it each GPU gets a whole copy\nindex = faiss.index_cpu_to_all_gpus(cpu_index, co)", Cost: "Needs more GPUs"},
		},
		Sources: []string{"faiss/faiss/gpu/StandardGpuResources.cpp", "https://github.com/facebookresearch/faiss/issues/2179", "faiss/faiss/gpu/GpuClonerOptions.h"},
	},
}

var numbaCards = []cause.Card{{
	ID: "dask/card", Kinds: []fact.Kind{fact.NumbaAlloc}, Said: []string{"dask_cuda", "dask_cudf", "distributed/worker.py", "distributed.worker"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a worker",
	Means: "A task on a worker asked for an array on the GPU, and GPU memory was full. Workers keep their partitions there, and joins and sorts make copies. Workers that share a GPU share its memory. Another process may hold it too: the log does not show that.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Use smaller partitions", Told: "Double their number, and keep only the columns that you need. `df` is your own table:", Kind: "python", Text: "df = df.repartition(npartitions=2 * df.npartitions)", Cost: "More tasks"},
		{Fix: "cpu_offload", Title: "Spill to RAM earlier (`device_memory_limit`)", Told: "This starts one worker per GPU, which spills at half of the GPU memory:", Kind: "python", Text: "from dask_cuda import LocalCUDACluster\ncluster = LocalCUDACluster(device_memory_limit=0.5)", Cost: "Slower while it spills"},
		look,
		{Fix: "upgrade_version", Title: "Update dask-cuda, cuDF and RMM together", Told: "If it began with an update, or spilling no longer happens: install the newest release of all three in one environment.", Cost: "Half an hour"},
	},
	Sources: []string{"numba/cuda/cudadrv/driver.py", "dask-cuda/dask_cuda/local_cuda_cluster.py"},
}, {
	ID: "numba/alloc", Kinds: []fact.Kind{fact.NumbaAlloc}, Unsaid: []string{"cryosparc_", "CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_ADDRESS"},
	Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "could not allocate another array on the GPU",
	Means: "GPU memory was full when Numba asked for this array. Arrays are float64 (8 bytes a number) unless you say otherwise. Numba gives deleted arrays back late, so a loop can hold several generations of them. If the very first array fails, it is too large or another program holds the GPU.",
	Cures: []cause.Cure{
		{Fix: "restart_session", If: inNotebook, Title: "Restart the kernel, then look at the GPU", Told: "Arrays of earlier cells stay on the GPU until the kernel ends. If `nvidia-smi` still shows it full, end what holds it.", Kind: "shell", Text: "nvidia-smi", Cost: "Variables are lost"},
		{Fix: "lower_batch_size", Title: "Use float32, and process the data in parts", Told: "For your own array `x` in RAM:", Kind: "python", Text: "for part in np.array_split(x, 8):\n    d = cuda.to_device(part.astype(np.float32))", Cost: "Copies; fewer digits"},
		{Fix: "empty_cache", Title: "In a loop: reuse the arrays", Kind: "python", Text: "d_x.copy_to_device(x)   # into an array made once, instead of cuda.to_device(x) in every pass\ncuda.current_context().deallocations.clear()   # gives back what was deleted", Cost: "None"},
		look,
	},
	Sources: []string{"numba/cuda/cudadrv/driver.py", "https://numba.readthedocs.io/en/stable/cuda/memory.html"},
}}

var daskCards = []cause.Card{{
	ID: "dask/worker-budget", Kinds: []fact.Kind{fact.WorkerBudget},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "restarted a worker that had used nearly all of its RAM limit",
	Means: "Each worker may use a part of the RAM: by default all RAM, divided among the workers. Its nanny restarts it at 95 % of that, even if other workers have room. Dask spills finished results to disk earlier, so a running task is probably too large. A task that loses its worker four times ends as KilledWorker.",
	Not:   "More workers on the same machine: each then gets less memory.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Use fewer workers and threads, with more memory each", Told: "On a cluster: `dask worker --nworkers 2 --nthreads 1`. On one machine:", Kind: "python", Text: "from dask.distributed import Client\nclient = Client(n_workers=2, threads_per_worker=1)   # half of RAM for each", Cost: "Fewer tasks at a time"},
		{Fix: "stream_dataset", Title: "Use smaller partitions", Told: "Read with `dd.read_csv(..., blocksize=\"64MB\")`, or make the chunks of an array smaller. For a table that you have already:", Kind: "python", Text: "df = df.repartition(partition_size=\"100MB\")", Cost: "More tasks"},
		{Fix: "fix_shape", Title: "Find the large task", Told: "The dashboard (port 8787) shows memory per worker. Typical: `compute()` of a whole table, a merge on few keys, one huge file that cannot be split.", Cost: "Free"},
	},
	Sources: []string{"distributed/worker_memory.py", "https://distributed.dask.org/en/stable/worker-memory.html"},
}, {
	ID: "dask/one-chunk", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: []string{"in concatenate3", "in concatenate_axes", "dask/array/core.py"},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM while joining the chunks of an array[[: {asked}]]",
	Means: "Dask joined chunks into one NumPy array, and {asked} did not fit beside the chunks themselves. Either one task needed a whole axis (a rechunk, a decomposition), or `compute()` collected everything in one process. The traceback can show a line of your script for an error on a worker.",
	Not:   "More threads per worker: they share its memory.",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Use smaller chunks along the other axis", Told: "With your own array `x`:", Kind: "python", Text: "x = x.rechunk({0: 1000, 1: -1})   # 1000 rows, whole columns\nprint(x.chunks)", Cost: "More tasks"},
		{Fix: "half_precision", Title: "Write the result in chunks, or use float32", Told: "Use `x.to_zarr(\"result.zarr\")` instead of `compute()` for a large result. `x = x.astype(\"float32\")` halves float64 data.", Cost: "Less precision"},
		{Fix: "raise_memory_limit", Title: "Give that process more RAM", Told: "Use fewer workers per node, each with one thread and a larger `--memory-limit`. In a batch job request more memory.", Cost: "Fewer tasks at a time"},
	},
	Sources: []string{"dask/array/core.py", "https://docs.dask.org/en/stable/array-chunks.html"},
}}

var sparkCards = []cause.Card{{
	ID: "spark-rapids/pool", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"ai.rapids.cudf", "com.nvidia.spark.rapids"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory (RAPIDS plug-in), not of Java heap",
	Means: "Despite the Java OutOfMemoryError, the plug-in's GPU memory pool was full. Several tasks share a GPU, each with its own batches.",
	Not:   "`--executor-memory` or -Xmx: they set the Java heap, not GPU memory.",
	Cures: []cause.Cure{
		{Fix: "lower_parallel", Title: "Run one task per GPU at a time", Kind: "config", Text: "spark.rapids.sql.concurrentGpuTasks=1", Cost: "Some throughput"},
		{Fix: "lower_batch_size", Title: "Use smaller batches, more partitions", Kind: "config", Text: "spark.rapids.sql.batchSizeBytes=512m\nspark.sql.files.maxPartitionBytes=128m\nspark.sql.shuffle.partitions=400", Cost: "Some speed"},
		{Fix: "upgrade_version", Title: "Update the plug-in", Kind: "text", Text: "Newer releases split a batch that does not fit, and try again. Take the jar that matches your Spark version.", Cost: "An hour"},
	},
	Sources: []string{"https://github.com/NVIDIA/cudf-spark/issues/1274", "https://github.com/NVIDIA/cudf-spark/issues/1365"},
}}
