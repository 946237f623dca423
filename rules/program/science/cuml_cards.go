package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// Estimators of cuML by what their frames say.
var (
	cumlUMAP    = []string{"umap.pyx", "cuml.manifold.umap", "cuml/manifold/umap", "cuml.UMAP("}
	cumlDBSCAN  = []string{"dbscan.pyx", "cuml.cluster.dbscan", "cuml/cluster/dbscan"}
	cumlHDBSCAN = []string{"hdbscan.pyx", "cuml.cluster.hdbscan"}
	cumlAny     = []string{"cuml.internals", "cuml/internals", "cuml.", "cuml/"}
	scanpyWords = []string{"rapids_singlecell/"}
)

var (
	fewerRows  = cause.Cure{Fix: "lower_batch_size", Title: "Fit on a sample, then transform the rest", Told: "Call `fit` on a random sample of the rows, then `transform` on the others in blocks. Reduce wide data first, for example by PCA to 50 columns.", Cost: "slightly different results"}
	rmmManaged = cause.Cure{Fix: "cpu_offload", Title: "Let RMM spill into system memory (RAM)", Told: "Put this before the first cuML or cuDF object. Under WSL it hardly spills.", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)", Cost: "slow while it spills; Linux"}
	lookFirst  = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Told: "Often it is earlier results in the same notebook (cuDF frames, CuPy arrays) or another kernel.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"}
	cumlFloat  = cause.Cure{Fix: "half_precision", Title: "Pass float32 data", Told: "Run `X = X.astype(\"float32\")` before `fit`: float64 data then need half the GPU memory. `del` the frame that X came from.", Cost: "less precision"}
)

const cumlDocs = "https://docs.rapids.ai/api/cuml/stable/api/"

// cuMLCards are about one estimator each: what it keeps, and by what it shrinks.
var cuMLCards = []cause.Card{
	{
		ID: "rapids/umap", Kinds: []fact.Kind{fact.RMMAlloc}, Said: cumlUMAP,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in UMAP (cuML)",
		Means: "This is GPU memory, although Python says MemoryError. UMAP keeps the data, the nearest neighbours of each row and a graph of them on the GPU. The message shows neither the size nor what else is on the GPU.",
		Not:   "Adding RAM alone: cuML does not spill into it unless you turn that on.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Build the neighbour graph in batches", Told: "Pass `X` as a NumPy array, so that it stays in RAM. cuML 24.10 to 25.12 calls the option `nnd_n_clusters`; before 25.10 also pass `data_on_host=True` to `fit_transform`.", Kind: "python", Text: "UMAP(n_neighbors=15, build_algo=\"nn_descent\", build_kwds={\"knn_n_clusters\": 8}).fit_transform(X)", Cost: "slightly different neighbours"},
			fewerRows,
			rmmManaged,
			lookFirst,
		},
		Sources: []string{cumlDocs, "cuml/manifold/umap.pyx", "https://docs.rapids.ai/api/libcuml/legacy/structml_1_1graph__build__params_1_1graph__build__params"},
	},
	{
		ID: "rapids/dbscan", Kinds: []fact.Kind{fact.RMMAlloc}, Said: cumlDBSCAN, Unsaid: cumlHDBSCAN,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in DBSCAN (cuML)",
		Means: "This is GPU memory, although Python says MemoryError. DBSCAN compares every row with every other, in batches of rows. A large `eps` makes many pairs neighbours, and their list can fill the GPU.",
		Not:   "Adding RAM alone: cuML does not spill into it unless you turn that on.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `max_mbytes_per_batch`", Told: "Keep your own `eps` and `min_samples`:", Kind: "python", Text: "DBSCAN(eps=0.5, min_samples=5, max_mbytes_per_batch=1024).fit(X)   # MB per batch", Cost: "slower"},
			{Fix: "fix_shape", Title: "Use a smaller `eps`, or scale the columns", Told: "Count the neighbours per row on a sample of 10,000 rows. Hundreds or thousands mean that `eps` is too large.", Cost: "different clusters"},
			cumlFloat,
			rmmManaged,
			lookFirst,
		},
		Sources: []string{cumlDocs, "cuml/cluster/dbscan.pyx"},
	},
	{
		ID: "rapids/estimator", Kinds: []fact.Kind{fact.RMMAlloc}, Said: cumlAny, Unsaid: append([]string{"pool size exceeded", "xgboost/core.py"}, scanpyWords...),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a cuML call",
		Means: "This is GPU memory, although Python says MemoryError. cuML keeps the data on the GPU (a copy, if type or memory order differ) and the working memory of the algorithm. The message shows neither the size nor what else is on the GPU.",
		Not:   "Adding RAM alone: cuML does not spill into it unless you turn that on.",
		Cures: []cause.Cure{
			cumlFloat,
			{Fix: "lower_batch_size", Title: "Process fewer rows at a time", Ways: []cause.Way{{For: "Random forest", Text: "`n_streams=1`, and a smaller `max_depth` and `n_bins`"}, {For: "Neighbours", Text: "query in blocks of 10,000 rows"}, {For: "Others", Text: "fit on a random sample; `transform` or `predict` in blocks, where the estimator has them"}}, Cost: "slower, or slightly different results"},
			rmmManaged,
			lookFirst,
		},
		Sources: []string{cumlDocs, "rmm/docs/user_guide/guide.md"},
	},
	{
		ID: "rapids/single-cell", Kinds: []fact.Kind{fact.RMMAlloc, fact.CuPyAlloc}, Said: scanpyWords,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out of GPU memory in a step of rapids-singlecell",
		Means: "This is GPU memory, although Python may say MemoryError. Usually the sparse counts became dense: scaling and regressing out do that. 500,000 cells of 2,000 genes need 3.7 GiB dense, of 30,000 genes 56 GiB, and copies come on top.",
		Not:   "Adding RAM alone: nothing spills into it unless you turn that on.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep only the variable genes before that step", Kind: "python", Text: "rsc.pp.highly_variable_genes(adata, n_top_genes=2000)\nadata = adata[:, adata.var[\"highly_variable\"]].copy()   # then scale, regress_out, pca", Cost: "none"},
			{Fix: "cpu_offload", Title: "Let RMM spill into system memory (RAM)", Told: "At the very start of the script or notebook:", Kind: "python", Text: "import rmm, cupy as cp\nfrom rmm.allocators.cupy import rmm_cupy_allocator\nrmm.reinitialize(managed_memory=True, pool_allocator=False)\ncp.cuda.set_allocator(rmm_cupy_allocator)", Cost: "slow while it spills"},
			{Fix: "lower_batch_size", Title: "Run that step on the CPU", Told: "Call `rsc.get.anndata_to_CPU(adata)`, then the function of the same name in scanpy. PCA also takes the sparse matrix directly, without `scale`.", Cost: "slower"},
			lookFirst,
		},
		Sources: []string{"https://rapids-singlecell.readthedocs.io/en/latest/", "rmm/docs/user_guide/guide.md"},
	},
}
