package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
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

var fewerForks = cause.Cure{Fix: "lower_num_workers", Title: "Fewer processes", Cost: "slower", Told: "`mc.cores = 2` (or 1), BiocParallel: `register(MulticoreParam(2))` or `SerialParam()`; `plan(sequential)` for future."}

// rCallCards are about calls of R that say what they made.
var rCallCards = []cause.Card{
	{
		ID: "r/fork", Kinds: ofRAM, Said: []string{"in mcfork(", "unable to fork, possible reason"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not start another process: RAM is used up",
		Means:    "`mclapply`, BiocParallel and their like copy the whole session by fork: the copies share memory at first, but each may change all of it, and the system has to be able to promise that. With a large session, many cores or a strict limit it refuses. The processes that run already hold their part.",
		Not:      "More cores.",
		Cures: []cause.Cure{
			fewerForks,
			{Fix: "empty_cache", Title: "A small session before the parallel step", Cost: "none", Told: "`rm` what the workers do not need and `gc()`, or save the input (`saveRDS`) and start that step in a fresh R: each copy is as large as the session."},
			{Fix: "raise_memory_limit", Title: "See whether a limit refused", Cost: "free to look", Told: "A batch job's or container's memory counts for all processes together: ask for more. Else swap, and `sysctl vm.overcommit_memory` at 0."},
		},
		Sources: []string{"R/src/library/parallel/src/fork.c", "https://bioconductor.org/packages/BiocParallel", rMemory},
	},
	{
		ID: "r/absurd", Kinds: ofRAM, Said: []string{"cannot allocate memory block of size", "'Calloc' could not allocate memory", "'Realloc' could not re-allocate memory"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "was asked for a size that is none, or far too much, in compiled code",
		Means:    "\"memory block of size 134217728 Tb\" is 2^67 bytes, and 1844674407… of 8 bytes is a negative number read as a positive one: compiled code multiplied counts beyond 2,147,483,647 (`dist` or `hclust` on more than 46,340 rows, for one). A size that is plausible is a plain lack of RAM.",
		Not:      "More RAM or swap, where the size is absurd.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Fewer rows, or a method without all pairs", Cost: "other results in detail", Told: "`dist`/`hclust`: below 46,340 rows, or `fastcluster`, `kmeans`, `RANN::nn2` for neighbours; matrices stay sparse (`Matrix`)."},
			{Fix: "upgrade_version", Title: "A newer version of the package", Cost: "a few minutes", Told: "Such overflows get fixed: `update.packages()`, Bioconductor `BiocManager::install()`. A file that is damaged (`readRDS`, `load`) does the same: read it again."},
			{Fix: "stream_dataset", Title: "A tenth of the data", Cost: "a minute", Told: "It runs: it is the size. It fails alike: one count in the input is wrong (an NA, a negative number)."},
		},
		Sources: []string{"R/src/main/memory.c", "R/src/library/stats/src/distance.c"},
	},
	{
		ID: "r/methylkit", Kinds: ofRAM, Said: []string{"tileMethylCounts", "methylKit", "methRead", "calculateDiffMeth"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of RAM under methylKit[[: {asked} in one vector]]",
		Means:    "methylKit keeps every position of every sample as R tables in RAM, and tiling, uniting and testing make copies beside them; contexts with many positions (CHH) are many times CpG.[[ {asked} was the last piece.]]",
		Not:      "`gc()` alone, or a graphics card.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the data on disk (methylDB)", Cost: "slower, disk", Kind: "text", Text: "`methRead(files, ..., dbtype = \"tabix\", dbdir = \"methylDB\")`, then `tileMethylCounts(obj, save.db = TRUE)`, `unite(..., save.db = TRUE)`"},
			fewerForks,
			{Fix: "lower_batch_size", Title: "Less at a time", Cost: "some rewriting", Told: "`mincov = 10` when reading, one context and chromosome after another; larger tiles (`win.size = 1000, step.size = 1000`)."},
			rLimit,
		},
		Sources: []string{"https://bioconductor.org/packages/methylKit", rMemory},
	},
	{
		ID: "r/seurat", Kinds: ofRAM, Said: []string{"Seurat", "ScaleData(", "FindIntegrationAnchors", "IntegrateData", "SCTransform", "FindTransferAnchors"}, Unsaid: []string{"vector memory exhausted (limit reached?)", "vector memory limit of"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM in a step of Seurat[[: {asked} in one vector]]",
		Means:    "Counts are sparse; scaling and integration make them dense: cells x genes x 8 bytes, so 100,000 cells of 20,000 genes are 15 GiB for each copy, of 2,000 genes 1.5.",
		Not:      "More cores: each worker gets a copy.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Variable features only", Cost: "none as a rule", Kind: "text", Text: "`ScaleData(obj, features = VariableFeatures(obj))`; `SCTransform(obj, conserve.memory = TRUE)`"},
			{Fix: "stream_dataset", Title: "Integrate less at once", Cost: "slightly other anchors", Kind: "text", Text: "`FindIntegrationAnchors(list, reference = c(1, 2), reduction = \"rpca\", dims = 1:30)`; Seurat 5: layers with `IntegrateLayers`, sketches and BPCells matrices on disk"},
			rClean, rLimit,
		},
		Sources: []string{"https://satijalab.org/seurat/articles/integration_large_datasets.html", "https://satijalab.org/seurat/articles/seurat5_bpcells_interaction_vignette", rMemory},
	},
}

// matlabCallCards are about MATLAB's own words, and programs that run in it.
var matlabCallCards = []cause.Card{
	{
		ID: "matlab/kilosort", Said: []string{"main_kilosort", "template_learning", "run_pursuit", "datashift2", "preprocessDataSub", "learnAndSolve8b", "clusterSingleBatches", "kilosort"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of the card's memory under Kilosort",
		Means:    "Kilosort puts the spikes' features of a whole group, or a batch of all channels, on the card at once; both grow with the length of the recording, the number of channels and how many spikes pass the threshold. `template_learning` and `run_pursuit` come after the batches: there it is the count of spikes.",
		Not:      "`MiniBatchSize` and other options of Deep Learning Toolbox; more RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer spikes, or a shorter stretch", Cost: "weak units, or several runs", Told: "In the config: `ops.trange = [0 3600]` (an hour in seconds) shows whether it is the length; a higher threshold (`ops.spkTh = -8`, `ops.Th = [10 6]`), bad channels and artefacts removed. In the batches: a smaller `ops.NT` (a multiple of 32, plus `ops.ntbuff`)."},
			{Fix: "restart_session", Title: "A fresh card", Cost: "all gpuArrays are lost", Told: "`reset(gpuDevice(1))` before the run; `gpuDevice` shows AvailableMemory: far below the total means that another program holds it (`!nvidia-smi`)."},
			{Fix: "cpu_offload", Title: "That one step in RAM", Cost: "slower", Told: "In the function of the innermost frame `gather(...)` the array that grows; Kilosort 4 (Python) needs less and has `clear_cache`."},
		},
		Sources: []string{"https://github.com/MouseLand/Kilosort/blob/kilosort3/configFiles/configFile384.m", gpuDeviceDoc},
	},
	{
		ID: "matlab/gpu", Kinds: ofCard, Said: []string{"Out of memory on device", "gpuDevice", "Error using gpuArray", "parallel:gpu"},
		Headline: "found the card full in this call[[: {asked} wanted, {free} free]]",
		Means:    "A gpuArray stays on the card as long as a variable names it, numbers are double (8 bytes) unless told otherwise, and an operation needs its result beside its operands; in training mini-batch x image size counts. Each worker of a parallel pool has a context of its own, and another program may hold the rest.",
		Not:      "More RAM: a gpuArray has to be on the card.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Look, then reset the card", Told: "`gpuDevice` shows AvailableMemory; `reset(gpuDevice)` gives back all that this MATLAB holds. Still low: another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Less at once", Cost: "slower", Ways: []cause.Way{
				{For: "Training, predict", Text: "`trainingOptions(\"adam\", \"MiniBatchSize\", 8)` (128 by default), the same argument of `predict` and `classify`"},
				{For: "Your own arrays", Text: "blocks of columns in a loop, `gather` each result, `clear` what is done with"},
			}},
			{Fix: "half_precision", Title: "single instead of double", Kind: "text", Text: "`gpuArray(single(x))`: half the memory, and faster on most cards.", Cost: "Seven digits"},
		},
		Sources: []string{gpuDeviceDoc},
	},
	{
		ID: "matlab/ram", Kinds: ofRAM, Said: []string{"help memory\" for your options", "HELP MEMORY for your options", "help memory for your options"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused RAM (\"Out of memory\")",
		Means:    "MATLAB asked the system for an array and was refused; the message has no size. Numbers are double (8 bytes), an operation holds operands and result together, and a cell or structure has some 100 bytes for each part. On Windows RAM and page file together are the bound.",
		Not:      "A graphics card.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "See which array it was", Cost: "free", Told: "`dbstop if error`, run it again, then `whos` and `size` of the operands in that line: a column beside a row (`a - b'`), `pdist2` or `zeros(n)` makes n x n. `memory` (Windows) shows what is left."},
			{Fix: "stream_dataset", Title: "In parts", Cost: "some rewriting", Told: "`matfile`, `datastore` and `tall` read from disk; `single` or integers; `sparse`; `clear` between steps."},
			{Fix: "raise_pagefile", Title: "A larger page file (Windows) or swap, for a peak", Cost: "slow while it is used"},
		},
		Sources: []string{matlabMemory},
	},
}

// octaveCards are about Octave.
var octaveCards = []cause.Card{
	{
		ID: "octave/array", Kinds: ofRAM, Said: []string{"Octave's index type"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "was asked for an array larger than memory, or than Octave can index",
		Means:    "Octave says the same where RAM is refused and where a size is beyond its index type (2^31 elements in old builds). As a rule a shape is wrong: a column beside a row makes a whole matrix.",
		Not:      "A graphics card.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the sizes in that line", Cost: "free", Told: "`size(a), size(b)`; `zeros(n)` is n x n, `zeros(n, 1)` a column."},
			{Fix: "stream_dataset", Title: "It is meant: in blocks, `single` or `sparse`", Cost: "some rewriting"},
			{Fix: "upgrade_version", Title: "An Octave with 64-bit indices", Cost: "half an hour", Told: "Default since 4.4."},
		},
		Sources: []string{"octave/liboctave/util/lo-array-errwarn.cc"},
	},
}

// trainingCard is about an older library that trains on a card.
func trainingCard(id, headline, means string, first, second cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: append([]fact.Kind{fact.RMMAlloc}, ofCard...), Headline: headline, Means: means,
		Not:     "More RAM or swap: the card does not use them.",
		Cures:   []cause.Cure{first, {Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Told: "Full before the start: end what holds it.", Cost: "a look is free"}, second},
		Sources: sources,
	}
}

var mxnetCards = []cause.Card{trainingCard("mxnet/card", "was refused memory on the card",
	"MXNet's pool asked the driver for one more piece, after it had given back what lay unused. The message names no size. In training the activations of a batch fill it; fails it at the first batch already, something else may be on the card.",
	cause.Cure{Fix: "lower_batch_size", Title: "A smaller batch for each card", Cost: "slower; perhaps another learning rate", Told: "`--batch-size` (GluonCV, Gluon scripts), `--per-batch-size` or `config.batch_size` (InsightFace), `batch_size` of the estimator's trainer (GluonTS); half of it, again if need be."},
	cause.Cure{Fix: "detach_accumulated", Title: "It climbs step by step: let go of arrays", Cost: "none", Told: "MXNet runs ahead of Python: `loss.asscalar()` (or `mx.nd.waitall()` every few steps) in place of summing arrays up. Inputs of many sizes: `MXNET_GPU_MEM_POOL_TYPE=Round` before the start."},
	"mxnet/src/storage/pooled_storage_manager.h", "mxnet/docs/static_site/src/pages/api/faq/env_var.md")}

var caffeCards = []cause.Card{trainingCard("caffe/card", "was refused memory on the card",
	"Caffe allocates the blobs of the whole net when it first runs: training and test net side by side, each by its own batch size. \"error == cudaSuccess (2 vs. 0)\" is the driver's refusal, without a size.",
	cause.Cure{Fix: "lower_batch_size", Title: "A smaller `batch_size` in both data layers", Cost: "none with iter_size", Told: "In train_val.prototxt, also the one with `phase: TEST`; `iter_size: 4` in solver.prototxt with a quarter of the batch gives the same gradient. Using a net: the first `dim` of the input (deploy.prototxt) or `net.blobs['data'].reshape(1, ...)`."},
	cause.Cure{Fix: "lower_resolution", Title: "Smaller inputs", Cost: "detail", Told: "`crop_size`, or the last two `dim` of the input; Faster R-CNN: `scales` and `max_size` of its configuration; OpenPose: `--net_resolution 320x176`."},
	"caffe/src/caffe/syncedmem.cpp", "caffe/src/caffe/proto/caffe.proto")}

// boostHost: XGBoost was refused the computer's RAM.
var boostHost = cause.Card{
	ID: "xgboost/ram", Kinds: []fact.Kind{fact.BadAlloc}, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) },
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused RAM (std::bad_alloc)",
	Means:    "It is the computer's RAM, not the card's. XGBoost keeps its own copy beside your table (a DMatrix: 8 bytes for each value that is there), and histograms of leaves x columns x bins. One-hot columns, many classes (a set of trees for each) and deep trees make them large.",
	Not:      "Fewer rounds: trees are made one after another.",
	Cures: []cause.Cure{
		{Fix: "half_precision", Title: "Bins from the start, and one copy", Cost: "a little accuracy", Told: "XGBoost 1.7 and later:", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\ndel X   # and the DataFrame that it came from\nparams.update(tree_method=\"hist\", max_bin=64, max_depth=6)"},
		{Fix: "fix_shape", Title: "Fewer columns", Cost: "none as a rule", Told: "Sparse input (`scipy.sparse`) in place of one-hot tables, or `enable_categorical=True` with columns of type category."},
		{Fix: "stream_dataset", Title: "From disk", Cost: "slower", Told: "A `DataIter` with `ExtMemQuantileDMatrix` (XGBoost 3.0 and later)."},
	},
	Sources: []string{"https://xgboost.readthedocs.io/en/stable/tutorials/external_memory.html", "https://xgboost.readthedocs.io/en/stable/python/python_api.html"},
}

// catboostRAM is CatBoost's refusal of RAM.
var catboostRAM = cause.Card{
	ID: "catboost/ram", Kinds: []fact.Kind{fact.BadAlloc}, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) },
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused RAM (bad allocation)",
	Means:    "It is the computer's RAM. CatBoost keeps the pool beside your table, for each thread its own statistics, and for categorical columns counters and their combinations, which are what grows; so do many classes and deep trees.",
	Not:      "Fewer iterations: trees are made one after another.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Simpler statistics, shallower trees", Cost: "a little accuracy", Told: "`max_ctr_complexity=1, depth=6, border_count=64, boosting_type=\"Plain\", thread_count=4`, and `used_ram_limit=\"12gb\"` (it bounds the counters) among the parameters."},
		{Fix: "half_precision", Title: "One copy of the table, small types", Cost: "none", Told: "float32, columns of IDs left out, texts not as categories; `Pool(X, y, cat_features=...)`, then `del X`."},
		{Fix: "stream_dataset", Title: "Read it from a file", Cost: "some rewriting", Told: "`Pool(\"train.tsv\", column_description=\"train.cd\")`: no table in Python beside it."},
	},
	Sources: []string{"https://catboost.ai/docs/en/references/training-parameters/performance", "https://catboost.ai/docs/en/concepts/python-reference_pool"},
}

// juliaRAM is Julia's own exception.
var juliaRAM = cause.Card{
	ID: "julia/ram", Kinds: ofRAM, Said: []string{"OutOfMemoryError()"},
	Headline: "was refused an array in RAM (OutOfMemoryError)",
	Means:    "Julia asked the system for one array and was refused; Linux refuses at once only what is beyond RAM and swap, or a limit. So a single array is very large: a shape that is not what you think, every pair of items, all the data at once, or a vector that grows (`push!`, `resize!`) and doubles. The first frame of your own names the line.",
	Not:      "`GC.gc()`: Julia has collected before; a graphics card.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Print the sizes before that line", Cost: "free", Told: "`@show size(a) size(b)`; a column with a row broadcasts to a matrix (`a .- b'`), `zeros(n, n)` is n^2 x 8 bytes, `prod(size) * sizeof(eltype)` tells."},
		{Fix: "stream_dataset", Title: "It is meant: in blocks, or from disk", Cost: "some rewriting", Told: "`using Mmap; x = mmap(open(\"x.bin\"), Matrix{Float32}, (rows, columns))`; `SparseArrays`; views (`@views`) in place of copies, `Float32`."},
		{Fix: "raise_memory_limit", Title: "See whether a limit refused", Cost: "free to look", Told: "A batch job's memory, a container's, `ulimit -v`; or `--heap-size-hint=8G` on Julia's command line, where it is the collector that comes too late (1.9 and later)."},
	},
	Sources: []string{"https://docs.julialang.org/en/v1/manual/performance-tips/", "https://docs.julialang.org/en/v1/manual/command-line-interface/"},
}

// detectionCards are about TensorFlow's Object Detection API.
var detectionCards = []cause.Card{{
	ID: "tf-object-detection/step", Kinds: []fact.Kind{fact.TFAlloc}, Unsaid: []string{"by allocator cpu", "by allocator mklcpu"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "filled the card in a step[[: {asked} more did not fit]]",
	Means:    "The batch of pipeline.config, at the size that its image_resizer makes, is what fills the card; Faster and Mask R-CNN keep the aspect ratio, so that a batch above 1 is padded to its largest image. Evaluation in the same process (`train_and_evaluate`) takes its own part.[[ {asked} is only the last straw.]]",
	Not:      "Memory growth: it changes when memory is taken, not how much.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "A smaller batch_size in pipeline.config", Cost: "slower; a lower learning rate", Kind: "config", Text: "train_config {\n  batch_size: 4   # 1 for Faster R-CNN and Mask R-CNN on 8 to 12 GB\n}"},
		{Fix: "lower_resolution", Title: "Smaller images", Cost: "small objects are missed", Kind: "config", Text: "image_resizer {\n  keep_aspect_ratio_resizer { min_dimension: 400 max_dimension: 700 }   # SSD: fixed_shape_resizer { height: 300 width: 300 }\n}"},
		{Fix: "use_smaller_model", Title: "A lighter network, fewer proposals", Cost: "perhaps accuracy", Told: "MobileNet in place of ResNet or Inception; `first_stage_max_proposals: 100`; masks only where they are needed."},
		{Fix: "kill_stale_process", Title: "See what else is on the card", Cost: "a look is free", Told: "An evaluation started beside the training takes the same card: `CUDA_VISIBLE_DEVICES=-1` for it.", Kind: "shell", Text: "nvidia-smi"},
	},
	Sources: []string{"models/research/object_detection/protos/pipeline.proto", "models/research/object_detection/protos/image_resizer.proto", "models/research/object_detection/protos/faster_rcnn.proto"},
}}
