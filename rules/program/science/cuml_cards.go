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
	fewerRows  = cause.Cure{Fix: "lower_batch_size", Title: "Fit on a sample, transform the rest in parts", Cost: "slightly other results", Told: "Then `transform` (or `predict`) blocks of rows. Reduce the columns first: PCA to 50."}
	rmmManaged = cause.Cure{Fix: "cpu_offload", Title: "Use managed memory, which spills into RAM", Cost: "slow while it spills; Linux", Told: "Before the first cuML or cuDF object:", Kind: "python", Text: "import rmm\nrmm.reinitialize(managed_memory=True)"}
	lookFirst  = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the card", Kind: "shell", Text: "nvidia-smi", Told: "Earlier results in the same notebook (cuDF frames, CuPy arrays), another kernel.", Cost: "a look is free"}
	cumlFloat  = cause.Cure{Fix: "half_precision", Title: "Use float32", Cost: "Seven digits", Told: "`X = X.astype(\"float32\")` before `fit` halves 64-bit data and avoids a copy in cuML; `del` the cuDF frame that it came from."}
)

const cumlDocs = "https://docs.rapids.ai/api/cuml/stable/api/"

// cuMLCards are about one estimator each: what it keeps, and by what it shrinks.
var cuMLCards = []cause.Card{
	{
		ID: "cuml/umap", Kinds: []fact.Kind{fact.RMMAlloc}, Said: cumlUMAP,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in UMAP (cuML)",
		Means: "This is graphics memory, though Python says MemoryError. UMAP keeps the data, the k nearest neighbours of each row and a graph of them; the brute-force search for neighbours needs workspace besides. The message shows neither the size nor what else is on the card.",
		Not:   "More RAM alone: nothing spills unless RMM is told to.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Build the graph in parts (`nn_descent`)", Cost: "slightly other neighbours", Told: "`X`: a NumPy array in RAM. Before 26.02 the name is `nnd_n_clusters` (24.10 and later), before 25.10 with `data_on_host=True` in the call as well.", Kind: "python", Text: "UMAP(n_neighbors=15, build_algo=\"nn_descent\", build_kwds={\"knn_n_clusters\": 8}).fit_transform(X)"},
			fewerRows, rmmManaged, lookFirst,
		},
		Sources: []string{cumlDocs, "cuml/manifold/umap.pyx", "https://docs.rapids.ai/api/libcuml/legacy/structml_1_1graph__build__params_1_1graph__build__params"},
	},
	{
		ID: "cuml/dbscan", Kinds: []fact.Kind{fact.RMMAlloc}, Said: cumlDBSCAN, Unsaid: cumlHDBSCAN,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in DBSCAN (cuML)",
		Means: "This is graphics memory, though Python says MemoryError. DBSCAN compares every row with every other in batches of rows, sized by what the card has. A large `eps` makes nearly every pair a neighbour, and their list can fill the card.",
		Not:   "More RAM alone: nothing spills unless RMM is told to.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `max_mbytes_per_batch`", Cost: "slower", Kind: "python", Text: "DBSCAN(eps=0.5, min_samples=5, max_mbytes_per_batch=1024).fit(X)   # your own eps; MB per batch"},
			{Fix: "fix_shape", Title: "Use a smaller `eps`, or scale the columns", Cost: "other clusters", Told: "Print how many neighbours a row has on a sample of 10,000; hundreds or thousands mean that `eps` is too large."},
			cumlFloat, rmmManaged, lookFirst,
		},
		Sources: []string{cumlDocs, "cuml/cluster/dbscan.pyx"},
	},
	{
		ID: "cuml/estimator", Kinds: []fact.Kind{fact.RMMAlloc}, Said: cumlAny, Unsaid: append([]string{"pool size exceeded", "xgboost/core.py"}, scanpyWords...),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in a cuML call",
		Means: "This is graphics memory, though Python says MemoryError: RMM asked the driver and was refused. cuML keeps the data (a copy, if type or order differ) and the working memory of the algorithm. The message shows neither the size nor what else is on the card.",
		Not:   "More RAM alone: nothing spills unless RMM is told to.",
		Cures: []cause.Cure{
			cumlFloat,
			{Fix: "lower_batch_size", Title: "Process less at once", Cost: "slower, or slightly other results", Ways: []cause.Way{
				{For: "Random forest", Text: "`n_streams=1`, a smaller `max_depth` and `n_bins`"},
				{For: "Neighbours, t-SNE, HDBSCAN", Text: "a sample of the rows first; queries in blocks of 10,000 rows"},
				{For: "Any", Text: "fit on a sample, `transform` or `predict` in blocks"},
			}},
			rmmManaged, lookFirst,
		},
		Sources: []string{cumlDocs, "rmm/docs/user_guide/guide.md"},
	},
	{
		ID: "cuml/single-cell", Kinds: []fact.Kind{fact.RMMAlloc, fact.CuPyAlloc}, Said: scanpyWords,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out of graphics memory in a step of rapids-singlecell",
		Means: "Counts are kept sparse; scaling and regressing out make them dense: cells x genes x 4 bytes, and a copy in between. 500,000 cells of 2,000 genes are 3.7 GiB dense, of 30,000 genes 56 GiB.",
		Not:   "More RAM alone: nothing spills unless RMM is told to.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep only variable genes before that step", Cost: "none as a rule", Kind: "python", Text: "rsc.pp.highly_variable_genes(adata, n_top_genes=2000)\nadata = adata[:, adata.var[\"highly_variable\"]].copy()   # then scale, regress_out, pca"},
			{Fix: "cpu_offload", Title: "Use managed memory", Cost: "slow while it spills", Told: "At the very start:", Kind: "python", Text: "import rmm, cupy as cp\nfrom rmm.allocators.cupy import rmm_cupy_allocator\nrmm.reinitialize(managed_memory=True, pool_allocator=False)\ncp.cuda.set_allocator(rmm_cupy_allocator)"},
			{Fix: "lower_batch_size", Title: "Run that step on the CPU", Cost: "slower", Told: "`rsc.get.anndata_to_CPU(adata)`, then scanpy's function of the same name; PCA takes the sparse matrix as it is, without `scale`."},
			lookFirst,
		},
		Sources: []string{"https://rapids-singlecell.readthedocs.io/en/latest/", "rmm/docs/user_guide/guide.md"},
	},
}
