package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Kinds of a refusal of RAM, and of the card's memory, without a program's own.
var (
	ofRAM  = []fact.Kind{fact.NativeAlloc, fact.PlainMemory, fact.PlainHost, fact.BadAlloc, fact.ShellKilled}
	ofCard = []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory}
)

const (
	rMemory      = "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"
	matlabMemory = "https://www.mathworks.com/help/matlab/matlab_prog/resolving-out-of-memory-errors.html"
	gpuDeviceDoc = "https://www.mathworks.com/help/parallel-computing/gpudevice.html"
)

var fewerForks = cause.Cure{Fix: "lower_num_workers", Title: "Use fewer parallel processes", Told: "Set `mc.cores = 2` (or 1). BiocParallel: `register(MulticoreParam(2))` or `register(SerialParam())`. future: `plan(sequential)`.", Cost: "slower"}

// rCallCards are about calls of R that say what they made.
var rCallCards = []cause.Card{
	{
		ID: "r/fork", Kinds: ofRAM, Said: []string{"in mcfork(", "unable to fork, possible reason"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not start another process: too little memory for `fork`",
		Means: "`mclapply`, BiocParallel and similar start copies of the whole R session. The copies share memory at first, but the system must promise enough for all of them. It refuses when the session is large, many cores are used or a limit is strict.",
		Cures: []cause.Cure{
			fewerForks,
			{Fix: "empty_cache", Title: "Shrink the session before the parallel step", Told: "Remove (`rm`) what the workers do not need, and run `gc()`. Or save the input with `saveRDS`, and run that step in a fresh R session.", Cost: "none"},
			{Fix: "raise_memory_limit", Title: "Check memory limits", Told: "In a batch job or container all processes count together: request more memory. Otherwise add swap, and set `vm.overcommit_memory` to 0 if it is 2.", Cost: "free to look"},
		},
		Sources: []string{"R/src/library/parallel/src/fork.c", "https://bioconductor.org/packages/BiocParallel", rMemory},
	},
	{
		ID: "r/absurd", Kinds: ofRAM, Said: []string{"cannot allocate memory block of size", "'Calloc' could not allocate memory", "'Realloc' could not re-allocate memory"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "could not get a block of memory in compiled code",
		Means: "Look at the size in the message. An absurd one (\"134217728 Tb\", 1844674407…) is a number that overflowed, for example in `dist` or `hclust` on more than 46,340 rows. A plausible size means that RAM ran out.",
		Not:   "More RAM or swap, if the size is absurd.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Use fewer rows, or a method without all pairs", Told: "Keep `dist` and `hclust` below 46,340 rows. Or use `fastcluster`, `kmeans`, or `RANN::nn2` for neighbours, and keep matrices sparse (`Matrix`).", Cost: "other results in detail"},
			{Fix: "upgrade_version", Title: "Update the package", Told: "Run `update.packages()`, for Bioconductor `BiocManager::install()`. If it fails in `readRDS` or `load`, the file may be damaged: make it again.", Cost: "a few minutes"},
			{Fix: "stream_dataset", Title: "Try a tenth of the data", Told: "If that runs, the data is too large. If it fails too, a count in the input is wrong (an NA, a negative number).", Cost: "a minute"},
		},
		Sources: []string{"R/src/main/memory.c", "R/src/library/stats/src/distance.c"},
	},
	{
		ID: "r/methylkit", Kinds: ofRAM, Said: []string{"tileMethylCounts", "methylKit", "methRead", "calculateDiffMeth"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) under methylKit[[: {asked} in one vector]]",
		Means: "methylKit keeps every position of every sample as R tables in RAM, and tiling, uniting and testing make copies. Contexts such as CHH have many times more positions than CpG.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the data on disk (methylDB)", Kind: "text", Text: "`methRead(files, ..., dbtype = \"tabix\", dbdir = \"methylDB\")`, then `tileMethylCounts(obj, save.db = TRUE)` and `unite(..., save.db = TRUE)`", Cost: "slower, disk"},
			fewerForks,
			{Fix: "lower_batch_size", Title: "Filter, and process less at once", Told: "Read with `mincov = 10`. Process one context and chromosome after another. Use larger tiles: `win.size = 1000, step.size = 1000`.", Cost: "some rewriting"},
			rLimit,
		},
		Sources: []string{"https://bioconductor.org/packages/methylKit", rMemory},
	},
	{
		ID: "r/sctransform", Kinds: ofRAM, Said: []string{"SCTransform("}, Unsaid: []string{"FindIntegrationAnchors", "IntegrateData", "vector memory exhausted (limit reached?)", "vector memory limit of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) in SCTransform[[: {asked} in one vector]]",
		Means: "Counts are sparse, but SCTransform makes a dense matrix of residuals: genes x cells (or spots) x 8 bytes. By default it does so for all genes.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep residuals of the variable genes only", Told: "Add `conserve.memory = TRUE` to your `SCTransform` call. It then never makes the residuals of all genes.", Cost: "slower"},
			{Fix: "lower_batch_size", Title: "Use fewer cells or spots", Told: "Visium HD: `Load10X_Spatial(dir, bin.size = 16)`. Otherwise work on a sketch (Seurat 5), after `NormalizeData` and `FindVariableFeatures`, which stay sparse: `SketchData(obj, ncells = 50000)`.", Cost: "resolution, or an approximation"},
			rLimit,
		},
		Sources: []string{"seurat/R/preprocessing5.R", "seurat/R/preprocessing.R", "seurat/R/sketching.R", rMemory},
	},
	{
		ID: "r/seurat", Kinds: ofRAM, Said: []string{"Seurat", "ScaleData(", "FindIntegrationAnchors", "IntegrateData", "SCTransform", "FindTransferAnchors"}, Unsaid: []string{"vector memory exhausted (limit reached?)", "vector memory limit of"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM) in a step of Seurat[[: {asked} in one vector]]",
		Means: "Counts are sparse, but scaling and integration make them dense: cells x genes x 8 bytes. 100,000 cells of 20,000 genes need 15 GiB per copy, of 2,000 genes 1.5 GiB.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Scale only the variable features", Kind: "text", Text: "`ScaleData(obj, features = VariableFeatures(obj))`, or `SCTransform(obj, conserve.memory = TRUE)`", Cost: "none"},
			{Fix: "stream_dataset", If: integrates, Title: "Integrate with a reference and `rpca`", Kind: "text", Text: "`FindIntegrationAnchors(list, reference = c(1, 2), reduction = \"rpca\", dims = 1:30)`. Seurat 5: `IntegrateLayers` on layers, sketches, and BPCells matrices on disk", Cost: "slightly other anchors"},
			{Fix: "stream_dataset", If: when.Not(integrates), Title: "Work on a sketch, or keep counts on disk", Kind: "text", Text: "Seurat 5: `SketchData(obj, ncells = 50000)`, or a BPCells matrix on disk instead of the counts", Cost: "an approximation"},
			rLimit,
		},
		Sources: []string{"https://satijalab.org/seurat/articles/integration_large_datasets.html", "https://satijalab.org/seurat/articles/seurat5_bpcells_interaction_vignette", rMemory},
	},
}

// integrates: several data sets are being made one.
func integrates(c *ledger.Case) bool {
	return c.Near("FindIntegrationAnchors", "IntegrateData", "FindTransferAnchors")
}

// matlabCallCards are about MATLAB's own words, and programs that run in it.
var matlabCallCards = []cause.Card{
	{
		ID: "matlab/kilosort", If: ledger.OnCard, Said: []string{"main_kilosort", "template_learning", "run_pursuit", "datashift2", "preprocessDataSub", "learnAndSolve8b", "clusterSingleBatches", "kilosort"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in Kilosort",
		Means: "Kilosort puts a batch of all channels, or the spike features of a whole group, on the GPU at once. Both grow with channels and with spikes above the threshold. In `template_learning` and `run_pursuit` it is the number of spikes.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use smaller batches, fewer spikes or a shorter range", Told: "In the config: if a batch fails, lower `ops.NT` (a multiple of 32, plus `ops.ntbuff`). If spikes are too many, raise `ops.Th` or `ops.spkTh`, and remove bad channels. `ops.trange = [0 3600]` (seconds) tests one hour.", Cost: "weak units, or several runs"},
			{Fix: "restart_session", Title: "Reset the GPU before the run", Told: "Run `reset(gpuDevice(1))`. If `gpuDevice` then shows AvailableMemory far below the total, another program holds it (`!nvidia-smi`).", Cost: "all gpuArrays are lost"},
			{Fix: "cpu_offload", Title: "Run that step in RAM", Told: "Call `gather(...)` on the array that grows, in the function that failed. Or use Kilosort 4 (Python), which has `clear_cache`.", Cost: "slower"},
		},
		Sources: []string{"https://github.com/MouseLand/Kilosort/blob/kilosort3/configFiles/configFile384.m", gpuDeviceDoc},
	},
	{
		ID: "matlab/kilosort-ram", Kinds: ofRAM, If: when.Not(ledger.OnCard), Said: []string{"main_kilosort", "trackAndSort", "learnAndSolve8b", "template_learning", "clusterSingleBatches", "datashift2"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM) in Kilosort",
		Means: "Kilosort keeps the features of all spikes in RAM, so it needs more with each hour, channel and spike. In MATLAB versions the arrays are doubled when they are full, and for a moment old and new exist together. This is RAM, not GPU memory.",
		Not:   "A smaller batch (`ops.NT`): it saves GPU memory.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Sort a shorter part, or fewer spikes", Told: "`ops.trange = [0 7200]` (seconds) sorts two hours. If there are far more spikes than you expect, remove noisy channels from the channel map and raise `ops.Th`.", Cost: "several runs, or weak units"},
			{Fix: "upgrade_version", Title: "Sort it with Kilosort 3 or 4", Told: "If you have an older one: a newer version may need less in this step. Kilosort 4 runs in Python.", Cost: "other results than before"},
			{Fix: "raise_pagefile", Title: "Enlarge the page file (Windows) or swap", Cost: "slow while it is used"},
		},
		Sources: []string{"https://github.com/MouseLand/Kilosort/blob/main/configFiles/configFile384.m", matlabMemory},
	},
	{
		ID: "matlab/gpu", Kinds: ofCard, Said: []string{"Out of memory on device", "gpuDevice", "Error using gpuArray", "parallel:gpu"},
		Headline: "found GPU memory full in this call",
		Means:    "A gpuArray stays in GPU memory as long as a variable refers to it, and numbers are double (8 bytes) by default. In training, mini-batch x image size decides. Each worker of a parallel pool needs its own memory, and another program may hold the rest.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Check the GPU, then reset it", Told: "`gpuDevice` shows AvailableMemory. `reset(gpuDevice)` frees all that this MATLAB holds. If it is still low, another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Lower the mini-batch size, or work in blocks", Ways: []cause.Way{{For: "Training, predict", Text: "halve the mini-batch: `\"MiniBatchSize\"` in `trainingOptions` (128 by default), `predict` and `classify`. MatConvNet: `batchSize`, or a higher `numSubBatches`"}, {For: "Your own arrays", Text: "loop over blocks of columns, `gather` each result, `clear` what you no longer need"}}, Cost: "slower"},
			{Fix: "half_precision", Title: "Use single instead of double", Kind: "text", Text: "`gpuArray(single(x))` needs half the memory, if the data are double.", Cost: "Less precision"},
		},
		Sources: []string{gpuDeviceDoc},
	},
	{
		ID: "matlab/ram", Kinds: ofRAM, Said: []string{"help memory\" for your options", "HELP MEMORY for your options", "help memory for your options"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM)",
		Means: "MATLAB could not get RAM for an array. Numbers are double (8 bytes) by default, and an operation holds operands and result together. Each element of a cell array or structure costs about 100 bytes more. On Windows RAM plus page file is the limit.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the array that is too large", Told: "Run `dbstop if error`, start it again, then look at `whos` and the `size` of the operands in that line. A column with a row (`a - b'`), `pdist2` or `zeros(n)` makes n x n.", Cost: "free"},
			{Fix: "stream_dataset", Title: "Process the data in parts", Told: "Read from disk with `matfile`, `datastore` or `tall`. Use `single`, integers or `sparse`, and `clear` between steps.", Cost: "some rewriting"},
			{Fix: "raise_pagefile", Title: "Enlarge the page file (Windows) or swap", Cost: "slow while it is used"},
		},
		Sources: []string{matlabMemory},
	},
}

// octaveCards are about Octave.
var octaveCards = []cause.Card{
	{
		ID: "octave/array", Kinds: ofRAM, Said: []string{"Octave's index type"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "could not make an array: it is too large for memory or for Octave",
		Means: "Octave prints this if RAM runs out, or if the size exceeds its index type (2^31 elements in old builds). The usual reason is a wrong shape: a column with a row makes a whole matrix.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the sizes in that line", Told: "Use `size(a), size(b)`. `zeros(n)` is n x n, `zeros(n, 1)` is a column.", Cost: "free"},
			{Fix: "stream_dataset", Title: "If you want it that large: use blocks or `sparse`", Told: "Loop over blocks of rows. `single` needs half of the memory of double, and `sparse` stores only what is not zero.", Cost: "some rewriting"},
			{Fix: "upgrade_version", Title: "Use an Octave with 64-bit indices", Told: "They are the default since Octave 4.4.", Cost: "half an hour"},
		},
		Sources: []string{"octave/liboctave/util/lo-array-errwarn.cc"},
	},
}

// boostHost: XGBoost was refused the computer's RAM.
var boostHost = cause.Card{
	ID: "xgboost/ram", Kinds: []fact.Kind{fact.BadAlloc, fact.PlainHost, fact.PlainMemory}, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) },
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM)",
	Means: "XGBoost keeps its own copy of the data in RAM beside your table (a DMatrix: 8 bytes for each value present). Histograms come on top: leaves x columns x bins. One-hot columns, many classes and deep trees make them large.",
	Not:   "Fewer rounds: trees are trained one after another.",
	Cures: []cause.Cure{
		{Fix: "half_precision", Title: "Use QuantileDMatrix, and keep one copy", Told: "XGBoost 1.7 and later:", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\ndel X   # and the DataFrame that it came from\nparams.update(tree_method=\"hist\", max_bin=64, max_depth=6)", Cost: "a little accuracy"},
		{Fix: "fix_shape", Title: "Use sparse or categorical columns", Told: "Pass a `scipy.sparse` matrix instead of one-hot tables. Or set `enable_categorical=True`, with columns of type category.", Cost: "none"},
		{Fix: "stream_dataset", Title: "Train from external memory", Told: "Feed the data through a `DataIter` into `ExtMemQuantileDMatrix` (XGBoost 3.0 and later).", Cost: "slower"},
	},
	Sources: []string{"https://xgboost.readthedocs.io/en/stable/tutorials/external_memory.html", "https://xgboost.readthedocs.io/en/stable/python/python_api.html"},
}

// catboostRAM is CatBoost's refusal of RAM.
var catboostRAM = cause.Card{
	ID: "catboost/ram", Kinds: []fact.Kind{fact.BadAlloc}, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) },
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM)",
	Means: "`bad allocation` means RAM. CatBoost keeps its pool beside your table, and statistics for each thread. Counters of categorical columns and their combinations often need the most; many classes and deep trees add to it.",
	Not:   "Fewer iterations: trees are trained one after another.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `max_ctr_complexity` and `depth`", Told: "Pass `max_ctr_complexity=1, depth=6, border_count=64, boosting_type=\"Plain\", thread_count=4`. `used_ram_limit=\"12gb\"` limits the counters.", Cost: "a little accuracy"},
		{Fix: "half_precision", Title: "Keep one copy of the table, small types", Told: "Use float32 and drop ID columns. Do not pass free text as a category. Make `Pool(X, y, cat_features=...)`, then `del X`.", Cost: "none"},
		{Fix: "stream_dataset", Title: "Read the pool from a file", Told: "`Pool(\"train.tsv\", column_description=\"train.cd\")` needs no table in Python beside it.", Cost: "some rewriting"},
	},
	Sources: []string{"https://catboost.ai/docs/en/references/training-parameters/performance", "https://catboost.ai/docs/en/concepts/python-reference_pool"},
}

// juliaRAM is Julia's own exception.
var juliaRAM = cause.Card{
	ID: "julia/ram", Kinds: ofRAM, Said: []string{"OutOfMemoryError()"},
	Headline: "ran out of system memory (RAM) for an array",
	Means:    "One array did not fit into RAM and swap (or page file), or under a limit of the process. Typical reasons: a wrong shape, every pair of items, all the data at once, or a vector that grows (`push!`). The first frame of your own code names the line.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Print the sizes before that line", Told: "Use `@show size(a) size(b)`. A column with a row makes a matrix (`a .- b'`), and `zeros(n, n)` takes n^2 x 8 bytes.", Cost: "free"},
		{Fix: "stream_dataset", Title: "If it has to be that large: use blocks, or map it from disk", Told: "Map a file with the standard library Mmap instead of reading it. Use `Float32` or `SparseArrays`, and views (`@views`) instead of copies.", Cost: "some rewriting"},
		{Fix: "raise_memory_limit", Title: "Check memory limits", Told: "A batch job or container has its own limit; `ulimit -v` shows one of the shell. If many small objects fill RAM, start Julia with `--heap-size-hint=8G` (1.9 and later).", Cost: "free to look"},
	},
	Sources: []string{"https://docs.julialang.org/en/v1/manual/performance-tips/", "https://docs.julialang.org/en/v1/manual/command-line-interface/"},
}
