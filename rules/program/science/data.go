package science

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// XGBoost is XGBoost.
var XGBoost = program.Program{
	Name: "xgboost", Shown: "XGBoost", Work: "data", Edits: "code", Language: "python",
	Proofs:   []string{"xgboost/core.py", "XGBoostError", "xgboost/sklearn.py", "/workspace/src/common/device_vector", "Memory allocation error on worker"},
	Titles:   map[string]string{"limit_framework_preallocation": "Use QuantileDMatrix", "lower_batch_size": "Use fewer bins and shallower trees", "stream_dataset": "Train from external memory", "cpu_offload": "Train on the CPU"},
	Costs:    map[string]string{"limit_framework_preallocation": "None.", "lower_batch_size": "A little accuracy.", "stream_dataset": "Slower; some rewriting.", "cpu_offload": "Slower."},
	Remedies: cures(cause.InOrder("limit_framework_preallocation", "lower_batch_size", "stream_dataset", "kill_stale_process", "cpu_offload"), cause.InOrder("limit_framework_preallocation", "stream_dataset", "lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"limit_framework_preallocation": step.Paste("python", "dtrain = xgboost.QuantileDMatrix(X, y)   # instead of DMatrix: keeps only the quantised data; X as float32"),
		"lower_batch_size":              step.Paste("python", "params = {\"tree_method\": \"hist\", \"device\": \"cuda\", \"max_bin\": 64, \"max_depth\": 6, \"subsample\": 0.5, \"sampling_method\": \"gradient_based\"}"),
		"stream_dataset":                step.Paste("text", "Feed the data by a `DataIter` and `ExtMemQuantileDMatrix` (XGBoost 3.0): see the tutorial \"Using XGBoost External Memory Version\"."),
		"cpu_offload":                   step.Paste("python", "params[\"device\"] = \"cpu\"   # system memory is larger; before 2.0: tree_method \"hist\" instead of \"gpu_hist\""),
	},
	Cards: slices.Concat(xgboostCards, []cause.Card{boostHost}),
}

// LightGBM is LightGBM.
var LightGBM = program.Program{
	Name: "lightgbm", Shown: "LightGBM", Work: "data", Edits: "code", Language: "python",
	Proofs:   []string{"[LightGBM]", "lightgbm/basic.py", "lightgbm/engine.py", "LightGBMError", "lightgbm/sklearn.py"},
	Titles:   map[string]string{"limit_framework_preallocation": "Limit the histogram cache", "lower_batch_size": "Use fewer bins and leaves", "stream_dataset": "Build the Dataset once, from float32", "cpu_offload": "Train on the CPU"},
	Costs:    map[string]string{"limit_framework_preallocation": "Slower.", "lower_batch_size": "A little accuracy.", "stream_dataset": "Some rewriting.", "cpu_offload": "Slower, seldom by much."},
	Remedies: cures(cause.InOrder("lower_batch_size", "cpu_offload", "stream_dataset", "kill_stale_process"), cause.InOrder("limit_framework_preallocation", "lower_batch_size", "stream_dataset", "raise_memory_limit")),
	Steps: steps{
		"limit_framework_preallocation": step.Paste("python", "params[\"histogram_pool_size\"] = 1024   # MB; this and the data set are about what it needs"),
		"lower_batch_size":              step.Paste("python", "params.update(max_bin=63, num_leaves=31)   # 63 bins are also what LightGBM advises for GPUs"),
		"stream_dataset":                step.Paste("python", "train = lgb.Dataset(X.astype(\"float32\"), y, free_raw_data=True, params=params)\ntrain.save_binary(\"train.bin\")   # next time: lgb.Dataset(\"train.bin\")"),
		"cpu_offload":                   step.Paste("python", "params[\"device_type\"] = \"cpu\""),
	},
	Cards: lightgbmCards,
}

// RAPIDS is cuDF, cuML and what they ask for memory, RMM.
var RAPIDS = program.Program{
	Name: "rapids", Script: "rapids-script", Shown: "RAPIDS", Work: "data", Edits: "code", Language: "python",
	Proofs:   []string{"cudf/core/", "cudf/io/", "libcudf", "<cudf.DataFrame", "RMM_ERROR_OUT_OF_MEMORY", "cudf/_lib", "cuml/", "cuml.internals", "cuml.manifold", "cuml.cluster", "cuml.neighbors", "cuml.ensemble", "umap.pyx", "cuml.UMAP(", "rapids_singlecell/", "cugraph/", "dask_cudf", "pylibcudf", "-packages/cudf/", "dask_cuda", "-packages/rmm/"},
	Titles:   map[string]string{"cpu_offload": "Let RMM spill into system memory", "lower_batch_size": "Work on parts of the table", "stream_dataset": "Read fewer columns, in parts", "raise_memory_limit": "Lift the pool's maximum"},
	Costs:    map[string]string{"cpu_offload": "Slow while it spills.", "lower_batch_size": "Some rewriting.", "stream_dataset": "Some rewriting.", "raise_memory_limit": "Less of the GPU for others."},
	Remedies: cures(cause.InOrder("stream_dataset", "cpu_offload", "lower_batch_size", "kill_stale_process", "multi_gpu"), cause.InOrder("stream_dataset", "raise_memory_limit")),
	Steps: steps{
		"cpu_offload":        step.Paste("python", "import rmm\nrmm.reinitialize(managed_memory=True)   # before the first cuDF or cuML object, on Linux: Windows and WSL hardly spill"),
		"lower_batch_size":   step.Paste("python", "out = []\nfor part in np.array_split(keys, 8):   # keys: what you group or join by\n    out.append(work(df[df[\"key\"].isin(part)]).to_pandas())"),
		"stream_dataset":     step.Paste("python", "df = cudf.read_parquet(\"data.parquet\", columns=[\"id\", \"value\"])   # your own columns; most of the memory is columns that nobody uses"),
		"raise_memory_limit": step.Paste("python", "rmm.reinitialize(pool_allocator=True, initial_pool_size=None, maximum_pool_size=None)   # None: up to the whole card"),
		"multi_gpu":          step.Paste("python", "from dask_cuda import LocalCUDACluster\nfrom dask.distributed import Client\nclient = Client(LocalCUDACluster(device_memory_limit=0.8, rmm_pool_size=0.9))   # dask_cudf instead of cudf"),
	},
	Cards: slices.Concat(cuMLCards, rapidsCards),
}

// FAISS is FAISS on the GPU.
var FAISS = program.Program{
	Name: "faiss", Script: "faiss", Shown: "FAISS", Work: "data", Edits: "code", Language: "python",
	Proofs:   []string{"faiss/gpu/", "StandardGpuResources", "faiss::", "faiss/class_wrappers.py", "swigfaiss", "-packages/faiss/"},
	Titles:   map[string]string{"limit_framework_preallocation": "Reserve less scratch memory", "use_lower_quant": "Compress the vectors", "shard_training": "Shard the index over the GPUs", "half_precision": "Store vectors in 16 bit", "lower_batch_size": "Add and search in smaller batches"},
	Costs:    map[string]string{"limit_framework_preallocation": "A little speed.", "use_lower_quant": "Lower recall.", "shard_training": "Another GPU.", "half_precision": "Almost the same recall.", "lower_batch_size": "A little time."},
	Remedies: cures(cause.InOrder("limit_framework_preallocation", "half_precision", "use_lower_quant", "shard_training", "kill_stale_process"), cause.InOrder("use_lower_quant", "lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"limit_framework_preallocation": step.Paste("python", "res = faiss.StandardGpuResources()   # one per process, shared by all indexes\nres.setTempMemory(256 * 1024 * 1024)   # instead of 1.5 GiB on cards with more than 8 GB; noTempMemory() for none"),
		"half_precision":                step.Paste("python", "co = faiss.GpuClonerOptions()\nco.useFloat16 = True   # half the GPU for a flat or IVF index\nindex = faiss.index_cpu_to_gpu(res, 0, cpu_index, co)"),
		"use_lower_quant":               step.Paste("python", "cpu_index = faiss.index_factory(d, \"IVF4096,PQ64\")   # 64 bytes per vector; d must divide by 64. Train, then copy to the GPU"),
		"shard_training":                step.Paste("python", "co = faiss.GpuMultipleClonerOptions()\nco.shard = True   # without it every GPU gets a whole copy\nindex = faiss.index_cpu_to_all_gpus(cpu_index, co)"),
		"lower_batch_size":              step.Paste("python", "for i in range(0, len(q), 1024):   # searches need scratch in step with the queries\n    D, I = index.search(q[i:i + 1024], k)"),
	},
	Cards: faissCards,
}

// SparkRAPIDS is Spark with NVIDIA's plug-in: its memory error is Java's in
// name only.
var SparkRAPIDS = program.Program{
	Name: "spark-rapids", Shown: "Spark RAPIDS", Work: "data", Edits: "admin", Language: "java",
	Proofs:   []string{"com.nvidia.spark.rapids", "ai.rapids.cudf", "GpuRetryOOM", "GpuSplitAndRetryOOM"},
	Titles:   map[string]string{"lower_parallel": "Fewer tasks on a GPU at a time", "lower_batch_size": "Smaller batches"},
	Costs:    map[string]string{"lower_parallel": "Some throughput.", "lower_batch_size": "Some speed."},
	Remedies: cures(cause.InOrder("lower_parallel", "lower_batch_size", "upgrade_version"), cause.InOrder("raise_memory_limit", "lower_parallel")),
	Steps: steps{
		"lower_parallel":   step.Paste("config", "spark.rapids.sql.concurrentGpuTasks=1\nspark.sql.shuffle.partitions=400"),
		"lower_batch_size": step.Paste("config", "spark.rapids.sql.batchSizeBytes=512m\nspark.sql.files.maxPartitionBytes=128m"),
	},
	Cards: sparkCards,
}

// Numba is numba's CUDA target.
var Numba = program.Program{
	Name: "numba", Script: "numba-script", Shown: "Numba", Work: "science", Edits: "code", Language: "python",
	Proofs:   []string{"numba/cuda/", "numba.cuda", "numba_cuda/"},
	Titles:   map[string]string{"lower_batch_size": "Work on one part at a time", "empty_cache": "Free arrays at once", "half_precision": "Use float32"},
	Costs:    map[string]string{"lower_batch_size": "Copies to and from the GPU.", "half_precision": "Less precision."},
	Remedies: cures(cause.InOrder("lower_batch_size", "empty_cache", "half_precision", "kill_stale_process"), cause.InOrder("lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"lower_batch_size": step.Paste("python", "out = []\nfor part in np.array_split(x, 8):   # x stays in RAM\n    d = cuda.to_device(part)\n    kernel[blocks, threads](d)\n    out.append(d.copy_to_host())"),
		"empty_cache":      step.Paste("python", "del d_x   # each name that refers to the array\ncuda.current_context().deallocations.clear()   # freed lazily otherwise"),
		"half_precision":   step.Paste("python", "d = cuda.to_device(x.astype(np.float32))   # NumPy arrays are float64 by default"),
	},
	Cards: numbaCards,
}

// Dask is dask.distributed.
var Dask = program.Program{
	Name: "dask", Shown: "Dask", Work: "data", Edits: "code", Language: "python",
	Commands: []string{"dask"},
	Sources:  program.Sources{"distributed/cli/dask_worker.py": "--memory-limit --nworkers --nthreads"},
	Proofs:   []string{"distributed.nanny", "/dask/array/", "distributed/client.py", "distributed.worker", "distributed/worker", "KilledWorker"},
	Titles:   map[string]string{"raise_memory_limit": "Fewer workers with more memory each", "stream_dataset": "Smaller partitions"},
	Costs:    map[string]string{"raise_memory_limit": "Fewer tasks at a time.", "stream_dataset": "More tasks."},
	Remedies: map[string][]cause.Remedy{cause.HostMemory: cause.InOrder("raise_memory_limit", "stream_dataset", "lower_num_workers")},
	Steps: steps{
		"stream_dataset":    step.Paste("python", "df = df.repartition(partition_size=\"100MB\")   # and persist() or compute() only small results"),
		"lower_num_workers": step.Paste("shell", "dask worker tcp://SCHEDULER:8786 --nworkers 2 --nthreads 2 --memory-limit 16GB   # SCHEDULER: the address that the scheduler printed"),
	},
	Cards: daskCards,
}

// Modin is pandas over the workers of Ray or Dask.
var Modin = program.Program{
	Name: "modin", Shown: "Modin", Work: "data", Edits: "code", Language: "python",
	Sources:  program.Sources{"modin/modin/config/envvars.py": "MODIN_CPUS MODIN_MEMORY"},
	Proofs:   []string{"modin/core/", "modin/pandas/", "import modin.pandas"},
	Titles:   map[string]string{"lower_num_workers": "Fewer workers"},
	Remedies: cures(cause.InOrder("lower_num_workers", "stream_dataset"), cause.InOrder("lower_num_workers", "stream_dataset", "raise_memory_limit")),
	Steps: steps{
		"lower_num_workers": step.Paste("env", "export MODIN_CPUS=2   # before Python starts; all cores by default"),
		"stream_dataset":    step.Paste("text", "Before the step that failed, keep only the columns that you need (`df[[...]]`). Store numbers as float32 or int32, repeated strings as `category`."),
	},
	Cards: []cause.Card{{
		ID: "modin/workers", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory, fact.RayKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM)",
		Means: "Modin splits the work among one worker per CPU core. A merge gives every worker the whole right-hand table, and other steps make copies too. All workers together did not fit into RAM; with the Ray engine, Ray's object store takes about 30 % of it.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use fewer workers", Own: true, Cost: "Slower"},
			{Fix: "stream_dataset", Title: "Keep fewer columns, and use smaller types", Own: true, Cost: "Some rewriting"},
			{Fix: "cpu_offload", Title: "Use plain pandas for this step", Told: "Convert with `df._to_pandas()`, run the step, and convert back with `modin.pandas.DataFrame(result)`. That makes one copy instead of one per worker.", Cost: "One core"},
		},
		Sources: []string{"modin/modin/config/envvars.py", "https://docs.ray.io/en/latest/ray-core/objects.html"},
	}},
}

// Scanpy is scanpy and anndata.
var Scanpy = program.Program{
	Name: "scanpy", Work: "science", Edits: "code", Language: "python",
	Proofs:   []string{"scanpy/", "anndata/"},
	Titles:   map[string]string{"fix_shape": "Keep the matrix sparse", "stream_dataset": "Open the file backed by disk"},
	Costs:    map[string]string{"fix_shape": "None.", "stream_dataset": "Slower access; some functions need it in memory."},
	Remedies: cures(cause.InOrder("fix_shape", "lower_batch_size"), cause.InOrder("fix_shape", "stream_dataset", "half_precision", "raise_memory_limit")),
	Steps: steps{
		"fix_shape":      step.Paste("python", "sc.pp.highly_variable_genes(adata, n_top_genes=3000)\nadata = adata[:, adata.var.highly_variable].copy()   # before sc.pp.scale, which makes the matrix dense\nsc.pp.pca(adata, zero_center=False)   # keeps it sparse"),
		"stream_dataset": step.Paste("python", "adata = sc.read_h5ad(\"data.h5ad\", backed=\"r\")"),
		"half_precision": step.Paste("python", "adata.X = adata.X.astype(\"float32\")"),
	},
	Cards: []cause.Card{{
		ID: "scanpy/read", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: []string{"in read_h5ad", "anndata/_io/", "in to_memory", "sc.read_h5ad("},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) while reading the matrix[[: {asked}]]",
		Means: "The file's matrix goes to RAM as a whole. A sparse one takes 8 to 12 bytes for each value that is not zero; layers and `raw` come on top.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Open it backed by disk, and load a part", Kind: "python", Text: "adata = sc.read_h5ad(\"data.h5ad\", backed=\"r\")\npart = adata[adata.obs[\"sample\"] == \"A\"].to_memory()   # your own choice of cells", Cost: "slower access; some functions need it in memory"},
			{Fix: "raise_memory_limit", Title: "Use a machine with more RAM", Told: "Two to three times the size of the matrix, for copies. In a batch job request it (`--mem`).", Cost: "money or a queue"},
		},
		Sources: []string{"anndata/src/anndata/_io/h5ad.py"},
	}, {
		ID: "scanpy/dense", Kinds: []fact.Kind{fact.NumpyAlloc, fact.PythonMemory}, Said: []string{"in toarray", "scanpy/preprocessing/", "sc.pp.scale(", "sc.pp.regress_out("},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of system memory (RAM): a sparse matrix became dense[[: {asked}]]",
		Means: "Scaling and regressing out write all zeros: cells x genes x 4 or 8 bytes. 100,000 cells of 30,000 genes take 11 to 22 GiB, of 2,000 genes 0.7 to 1.5 GiB.",
		Not:   "A smaller batch size: there is none here.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep only the variable genes before that step", Kind: "python", Text: "sc.pp.highly_variable_genes(adata, n_top_genes=3000)\nadata = adata[:, adata.var.highly_variable].copy()   # then scale, regress_out", Cost: "none"},
			{Fix: "stream_dataset", Title: "Or skip scaling: PCA on the sparse matrix", Kind: "python", Text: "sc.pp.pca(adata, zero_center=False)   # scanpy 1.10 and later center it without making it dense", Cost: "slightly other components"},
			{Fix: "half_precision", Title: "Or use float32", Kind: "python", Text: "adata.X = adata.X.astype(\"float32\")", Cost: "none"},
		},
		Sources: []string{"scanpy/src/scanpy/preprocessing/_scale.py"},
	}},
}
