package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
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

var fewerForks = cause.Cure{Fix: "lower_num_workers", Title: "Use fewer parallel processes", Cost: "slower", Told: "`mc.cores = 2` (or 1), BiocParallel: `register(MulticoreParam(2))` or `SerialParam()`; `plan(sequential)` for future."}

// rCallCards are about calls of R that say what they made.
var rCallCards = []cause.Card{
	{
		ID: "r/fork", Kinds: ofRAM, Said: []string{"in mcfork(", "unable to fork, possible reason"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not start another process: no memory for `fork`",
		Means: "`mclapply`, BiocParallel and similar copy the whole session by `fork`. The copies share memory at first, but each may change all of it, and the system must be able to promise that. It refuses with a large session, many cores or a strict limit.",
		Cures: []cause.Cure{
			fewerForks,
			{Fix: "empty_cache", Title: "Shrink the session before the parallel step", Cost: "none", Told: "`rm` what the workers do not need and `gc()`, or save the input (`saveRDS`) and run that step in a fresh R: each copy is as large as the session."},
			{Fix: "raise_memory_limit", Title: "Check memory limits", Cost: "free to look", Told: "A batch job's or container's memory counts for all processes together: ask for more. Otherwise add swap, and set `vm.overcommit_memory` to 0 if it is 2."},
		},
		Sources: []string{"R/src/library/parallel/src/fork.c", "https://bioconductor.org/packages/BiocParallel", rMemory},
	},
	{
		ID: "r/absurd", Kinds: ofRAM, Said: []string{"cannot allocate memory block of size", "'Calloc' could not allocate memory", "'Realloc' could not re-allocate memory"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "was asked for too large a block in compiled code",
		Means: "An absurd size (\"134217728 Tb\", 1844674407…) is a number that overflowed: compiled code multiplied counts beyond 2,147,483,647 (`dist` or `hclust` on more than 46,340 rows, for one). A plausible size is a plain lack of RAM.",
		Not:   "More RAM or swap, if the size is absurd.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Use fewer rows, or a method without all pairs", Cost: "other results in detail", Told: "`dist`/`hclust`: below 46,340 rows, or `fastcluster`, `kmeans`, `RANN::nn2` for neighbours; keep matrices sparse (`Matrix`)."},
			{Fix: "upgrade_version", Title: "Update the package", Cost: "a few minutes", Told: "`update.packages()`, Bioconductor `BiocManager::install()`. If it reads a file (`readRDS`, `load`), the file may be damaged: copy or make it again."},
			{Fix: "stream_dataset", Title: "Try a tenth of the data", Cost: "a minute", Told: "If it runs, the data is too large. If it fails too, a count in the input is wrong (an NA, a negative number)."},
		},
		Sources: []string{"R/src/main/memory.c", "R/src/library/stats/src/distance.c"},
	},
	{
		ID: "r/methylkit", Kinds: ofRAM, Said: []string{"tileMethylCounts", "methylKit", "methRead", "calculateDiffMeth"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM under methylKit[[: {asked} in one vector]]",
		Means: "methylKit keeps every position of every sample as R tables in RAM; tiling, uniting and testing make copies, and contexts with many positions (CHH) are many times CpG.[[ A request of {asked} was refused.]]",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the data on disk (methylDB)", Cost: "slower, disk", Kind: "text", Text: "`methRead(files, ..., dbtype = \"tabix\", dbdir = \"methylDB\")`, then `tileMethylCounts(obj, save.db = TRUE)`, `unite(..., save.db = TRUE)`"},
			fewerForks,
			{Fix: "lower_batch_size", Title: "Filter, and process less at once", Cost: "some rewriting", Told: "`mincov = 10` when reading, one context and chromosome after another; larger tiles (`win.size = 1000, step.size = 1000`)."},
			rLimit,
		},
		Sources: []string{"https://bioconductor.org/packages/methylKit", rMemory},
	},
	{
		ID: "r/sctransform", Kinds: ofRAM, Said: []string{"SCTransform("}, Unsaid: []string{"FindIntegrationAnchors", "IntegrateData", "vector memory exhausted (limit reached?)", "vector memory limit of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM in SCTransform[[: {asked} in one vector]]",
		Means: "Counts are sparse; SCTransform writes its residuals as a dense matrix: genes x cells (or spots) x 8 bytes, of all genes unless told otherwise.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Keep residuals of the variable genes only", Cost: "slower", Told: "Add `conserve.memory = TRUE` to your call of `SCTransform`: the residuals of all genes are then never made."},
			{Fix: "lower_batch_size", Title: "Fewer cells or spots: larger bins, or a sketch", Cost: "resolution, or an approximation", Told: "Visium HD: `Load10X_Spatial(dir, bin.size = 16)`, with 8 only after that runs. Otherwise log-normalise, which stays sparse, and sketch (Seurat 5): `NormalizeData`, `FindVariableFeatures`, then `SketchData(obj, ncells = 50000)`."},
		},
		Sources: []string{"seurat/R/preprocessing5.R", "seurat/R/preprocessing.R", "seurat/R/sketching.R", rMemory},
	},
	{
		ID: "r/seurat", Kinds: ofRAM, Said: []string{"Seurat", "ScaleData(", "FindIntegrationAnchors", "IntegrateData", "SCTransform", "FindTransferAnchors"}, Unsaid: []string{"vector memory exhausted (limit reached?)", "vector memory limit of"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM in a step of Seurat[[: {asked} in one vector]]",
		Means: "Counts are sparse; scaling and integration make them dense: cells x genes x 8 bytes. 100,000 cells of 20,000 genes are 15 GiB for each copy, of 2,000 genes 1.5.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Scale only variable features", Cost: "none as a rule", Kind: "text", Text: "`ScaleData(obj, features = VariableFeatures(obj))`; `SCTransform(obj, conserve.memory = TRUE)`"},
			{Fix: "stream_dataset", If: integrates, Title: "Integrate with a reference and `rpca`", Cost: "slightly other anchors", Kind: "text", Text: "`FindIntegrationAnchors(list, reference = c(1, 2), reduction = \"rpca\", dims = 1:30)`; Seurat 5: layers with `IntegrateLayers`, sketches and BPCells matrices on disk"},
			{Fix: "stream_dataset", If: when.Not(integrates), Title: "Work on a sketch, or with counts on disk", Cost: "an approximation", Kind: "text", Text: "Seurat 5: `SketchData(obj, ncells = 50000)`, or a BPCells matrix on disk in place of the counts"},
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
		ID: "matlab/kilosort", Said: []string{"main_kilosort", "template_learning", "run_pursuit", "datashift2", "preprocessDataSub", "learnAndSolve8b", "clusterSingleBatches", "kilosort"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory under Kilosort",
		Means: "Kilosort puts the spike features of a whole group, or a batch of all channels, on the card at once. Both grow with the number of channels and of spikes above the threshold, and the first with the length of the recording. In `template_learning` and `run_pursuit` it is the count of spikes.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use fewer spikes or a shorter range", Cost: "weak units, or several runs", Told: "In the config: `ops.trange = [0 3600]` (an hour, in seconds) shows whether it is the length; a higher threshold (`ops.spkTh`, `ops.Th`), and remove bad channels and artefacts. If a batch fails: a smaller `ops.NT` (a multiple of 32, plus `ops.ntbuff`)."},
			{Fix: "restart_session", Title: "Reset the card before the run", Cost: "all gpuArrays are lost", Told: "`reset(gpuDevice(1))`; if `gpuDevice` then shows AvailableMemory far below the total, another program holds it (`!nvidia-smi`)."},
			{Fix: "cpu_offload", Title: "Run that step in RAM", Cost: "slower", Told: "`gather(...)` the array that grows, in the function of the innermost frame; or use Kilosort 4 (Python), which has `clear_cache`."},
		},
		Sources: []string{"https://github.com/MouseLand/Kilosort/blob/kilosort3/configFiles/configFile384.m", gpuDeviceDoc},
	},
	{
		ID: "matlab/gpu", Kinds: ofCard, Said: []string{"Out of memory on device", "gpuDevice", "Error using gpuArray", "parallel:gpu"},
		Headline: "found the card full in this call[[: {asked} wanted, {free} free]]",
		Means:    "A gpuArray stays on the card as long as a variable refers to it, numbers are double (8 bytes) unless told otherwise, and an operation needs its result beside its operands. In training, mini-batch x image size counts. Each worker of a parallel pool has its own context, and another program may hold the rest.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Check the card, then reset it", Told: "`gpuDevice` shows AvailableMemory; `reset(gpuDevice)` frees all that this MATLAB holds. If it is still low, another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Lower the mini-batch size, or use blocks", Cost: "slower", Ways: []cause.Way{
				{For: "Training, predict", Text: "half of the present mini-batch. Deep Learning Toolbox: `\"MiniBatchSize\"` in `trainingOptions` (128 by default), `predict` and `classify`; MatConvNet: `batchSize`, or a higher `numSubBatches`"},
				{For: "Your own arrays", Text: "blocks of columns in a loop, `gather` each result, `clear` what is no longer needed"},
			}},
			{Fix: "half_precision", Title: "Use single instead of double", Kind: "text", Text: "`gpuArray(single(x))`, if the data are double: half the memory.", Cost: "Less precision"},
		},
		Sources: []string{gpuDeviceDoc},
	},
	{
		ID: "matlab/ram", Kinds: ofRAM, Said: []string{"help memory\" for your options", "HELP MEMORY for your options", "help memory for your options"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (\"Out of memory\")",
		Means: "MATLAB asked the system for an array and was refused; the message has no size. Numbers are double (8 bytes), an operation holds operands and result together, and each part of a cell array or structure takes some 100 bytes more. On Windows RAM and page file together are the limit.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the array", Cost: "free", Told: "`dbstop if error`, run it again, then `whos` and `size` of the operands in that line: a column with a row (`a - b'`), `pdist2` or `zeros(n)` makes n x n. `memory` (Windows) shows what is left."},
			{Fix: "stream_dataset", Title: "Process the data in parts", Cost: "some rewriting", Told: "`matfile`, `datastore` and `tall` read from disk; use `single` or integers, `sparse`, and `clear` between steps."},
			{Fix: "raise_pagefile", Title: "Enlarge the page file (Windows) or swap", Cost: "slow while it is used"},
		},
		Sources: []string{matlabMemory},
	},
}

// octaveCards are about Octave.
var octaveCards = []cause.Card{
	{
		ID: "octave/array", Kinds: ofRAM, Said: []string{"Octave's index type"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "was asked for an array larger than memory, or than Octave can index",
		Means: "Octave prints the same message if RAM is refused and if a size exceeds its index type (2^31 elements in old builds). A wrong shape is usual: a column with a row makes a whole matrix.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the sizes in that line", Cost: "free", Told: "`size(a), size(b)`; `zeros(n)` is n x n, `zeros(n, 1)` is a column."},
			{Fix: "stream_dataset", Title: "If intended: use blocks, `single` or `sparse`", Cost: "some rewriting"},
			{Fix: "upgrade_version", Title: "Use an Octave with 64-bit indices", Cost: "half an hour", Told: "Default since 4.4."},
		},
		Sources: []string{"octave/liboctave/util/lo-array-errwarn.cc"},
	},
}

// trainingCard is about an older library that trains on a card.
func trainingCard(id, headline, means string, first, second cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: append([]fact.Kind{fact.RMMAlloc}, ofCard...), Headline: headline, Means: means,
		Not:     "More RAM or swap: the card does not use them.",
		Cures:   []cause.Cure{first, {Fix: "kill_stale_process", Title: "Check what else uses the card", Kind: "shell", Text: "nvidia-smi", Told: "If it is full before the start, end what holds it.", Cost: "a look is free"}, second},
		Sources: sources,
	}
}

var mxnetCards = []cause.Card{trainingCard("mxnet/card", "was refused memory on the card",
	"MXNet's pool frees what is unused before it gives up, and the driver still refused. The message has no size. In training, activations of a batch usually fill the card; if the first batch fails, something else may be on it.",
	cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size per card", Cost: "slower; perhaps another learning rate", Told: "Half of the present value, again if need be: `batch_size` in the script, or its option (`--batch-size`; InsightFace `--per-batch-size`). If it is small already: smaller images (`data_shape`, a `Resize` in the transforms)."},
	cause.Cure{Fix: "detach_accumulated", Title: "If memory climbs: synchronise each step", Cost: "none", Told: "MXNet runs ahead of Python: use `loss.asscalar()` (or `mx.nd.waitall()` every few steps) instead of summing arrays. Inputs of many sizes: `MXNET_GPU_MEM_POOL_TYPE=Round` before the start."},
	"mxnet/src/storage/pooled_storage_manager.h", "mxnet/docs/static_site/src/pages/api/faq/env_var.md")}

var caffeCards = []cause.Card{caffeApplied, trainingCard("caffe/card", "was refused memory on the card",
	"Caffe allocates the blobs of the whole net: training and test net together, each with its own batch size. \"error == cudaSuccess (2 vs. 0)\" is the driver's refusal, without a size.",
	cause.Cure{Fix: "lower_batch_size", Title: "Lower `batch_size` in both data layers", Cost: "none with iter_size", Told: "In train_val.prototxt, also the one with `phase: TEST`; `iter_size: 4` in solver.prototxt with a quarter of the batch gives the same gradient. Using a net: lower the first `dim` of the input (deploy.prototxt), or `net.blobs['data'].reshape(1, ...)`."},
	cause.Cure{Fix: "lower_resolution", Title: "Use smaller inputs", Cost: "detail", Told: "`crop_size`, or the last two `dim` of the input; Faster R-CNN: `scales` and `max_size` of its configuration; OpenPose: `--net_resolution 320x176`."},
	"caffe/src/caffe/syncedmem.cpp", "caffe/src/caffe/proto/caffe.proto")}

// caffeApplied is about a net that is used on a picture.
var caffeApplied = cause.Card{
	ID: "caffe/applied", Kinds: ofCard, Said: []string{"demo.py", "estimate_pose", "classify.py", "net.forward(", "deploy.prototxt"}, Unsaid: []string{"solver.cpp", "solver.prototxt", "caffe train", "train_net.py", "train_val.prototxt", "net.blobs['data'].reshape("},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no room on the card for a net and this picture",
	Means: "A fully convolutional net makes its blobs as large as the picture that it gets: twice the width and height is four times the memory, for every layer. The driver's refusal (\"2 vs. 0\") has no size, and the weights are small beside that.",
	Not:   "Settings of the training (`batch_size` in train_val.prototxt, `iter_size`): nothing is trained here.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Scale the picture down before", Cost: "detail", Kind: "shell", Text: "python -c \"from PIL import Image; im = Image.open('image.png'); im.resize((im.width // 2, im.height // 2)).save('small.png')\"   # your own picture", Told: "Or by the script's option for scale or size; several scales one after another, not at once."},
		{Fix: "kill_stale_process", Title: "Check what else uses the card", Cost: "a look is free", Kind: "shell", Text: "nvidia-smi", Told: "If it is full before the start, end what holds it."},
		{Fix: "cpu_offload", Title: "Or run it on the CPU", Cost: "slower by far", Told: "`caffe.set_mode_cpu()` in place of `caffe.set_mode_gpu()` in the script, or its own option for that."},
	},
	Sources: []string{"caffe/src/caffe/syncedmem.cpp", "caffe/python/caffe/_caffe.cpp", "https://github.com/eldar/deepcut-cnn/issues/19"},
}

// boostHost: XGBoost was refused the computer's RAM.
var boostHost = cause.Card{
	ID: "xgboost/ram", Kinds: []fact.Kind{fact.BadAlloc, fact.PlainHost, fact.PlainMemory}, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) },
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM[[: {asked}]]",
	Means: "This is system memory (RAM). XGBoost keeps its own copy beside your table (a DMatrix: 8 bytes for each value present), and histograms of leaves x columns x bins. One-hot columns, many classes (a set of trees for each) and deep trees make them large.",
	Not:   "Fewer rounds: trees are made one after another.",
	Cures: []cause.Cure{
		{Fix: "half_precision", Title: "Use QuantileDMatrix, keep one copy", Cost: "a little accuracy", Told: "XGBoost 1.7 and later:", Kind: "python", Text: "dtrain = xgboost.QuantileDMatrix(X.astype(\"float32\"), y, max_bin=64)\ndel X   # and the DataFrame that it came from\nparams.update(tree_method=\"hist\", max_bin=64, max_depth=6)"},
		{Fix: "fix_shape", Title: "Use sparse or categorical columns", Cost: "none as a rule", Told: "`scipy.sparse` instead of one-hot tables, or `enable_categorical=True` with columns of type category."},
		{Fix: "stream_dataset", Title: "Train from external memory", Cost: "slower", Told: "A `DataIter` with `ExtMemQuantileDMatrix` (XGBoost 3.0 and later)."},
	},
	Sources: []string{"https://xgboost.readthedocs.io/en/stable/tutorials/external_memory.html", "https://xgboost.readthedocs.io/en/stable/python/python_api.html"},
}

// catboostRAM is CatBoost's refusal of RAM.
var catboostRAM = cause.Card{
	ID: "catboost/ram", Kinds: []fact.Kind{fact.BadAlloc}, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) },
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (bad allocation)",
	Means: "This is system memory (RAM). CatBoost keeps the pool beside your table, statistics for each thread, and for categorical columns counters and their combinations, which often need most; so do many classes and deep trees.",
	Not:   "Fewer iterations: trees are made one after another.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `max_ctr_complexity` and `depth`", Cost: "a little accuracy", Told: "`max_ctr_complexity=1, depth=6, border_count=64, boosting_type=\"Plain\", thread_count=4`, and `used_ram_limit=\"12gb\"` (it bounds the counters) among the parameters."},
		{Fix: "half_precision", Title: "Keep one copy of the table, small types", Cost: "none", Told: "float32; drop ID columns, and do not pass free text as categories; `Pool(X, y, cat_features=...)`, then `del X`."},
		{Fix: "stream_dataset", Title: "Read the pool from a file", Cost: "some rewriting", Told: "`Pool(\"train.tsv\", column_description=\"train.cd\")`: no table in Python beside it."},
	},
	Sources: []string{"https://catboost.ai/docs/en/references/training-parameters/performance", "https://catboost.ai/docs/en/concepts/python-reference_pool"},
}

// juliaRAM is Julia's own exception.
var juliaRAM = cause.Card{
	ID: "julia/ram", Kinds: ofRAM, Said: []string{"OutOfMemoryError()"},
	Headline: "was refused an array in RAM (OutOfMemoryError)",
	Means:    "Julia asked the system for one array and was refused: it is more than RAM and swap or page file give, or than a limit of the process. Typical: a wrong shape, every pair of items, all the data at once, or a vector that grows (`push!`, `resize!`). The first frame of your own code names the line.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Print the sizes before that line", Cost: "free", Told: "`@show size(a) size(b)`; a column with a row broadcasts to a matrix (`a .- b'`), `zeros(n, n)` is n^2 x 8 bytes."},
		{Fix: "stream_dataset", Title: "If intended: use blocks, or map from disk", Cost: "some rewriting", Told: "`using Mmap; x = mmap(open(\"x.bin\"), Matrix{Float32}, (rows, columns))`; `SparseArrays`; views (`@views`) in place of copies, `Float32`."},
		{Fix: "raise_memory_limit", Title: "Check memory limits", Cost: "free to look", Told: "A batch job's or container's memory, `ulimit -v`. If many small objects fill RAM: `--heap-size-hint=8G` on Julia's command line (1.9 and later)."},
	},
	Sources: []string{"https://docs.julialang.org/en/v1/manual/performance-tips/", "https://docs.julialang.org/en/v1/manual/command-line-interface/"},
}

// detectionCards are about TensorFlow's Object Detection API.
var detectionCards = []cause.Card{{
	ID: "tf-object-detection/one-image", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"FirstStageFeatureExtractor/"}, Unsaid: []string{"by allocator cpu", "by allocator mklcpu"}, If: func(c *ledger.Case) bool { s := calls.Sides(c); return len(s) == 4 && s[0] == 1 },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory with a batch of one image[[: {asked} more did not fit]]",
	Means: "The tensor's first side is 1: `batch_size` is 1 already, so one image at the size that image_resizer makes fills the card, with all that its backward pass needs. The second stage comes on top: it runs on 64 (training) to 300 proposals at once.",
	Not:   "`batch_size`, and memory growth, which changes when memory is taken, not how much.",
	Cures: []cause.Cure{smallerImages, lighterNetwork, besideIt}, Sources: detectionSources,
}, {
	ID: "tf-object-detection/step", Kinds: []fact.Kind{fact.TFAlloc}, Unsaid: []string{"by allocator cpu", "by allocator mklcpu"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in a step[[: {asked} more did not fit]]",
	Means: "The batch of pipeline.config, at the size that its image_resizer makes, fills the card. Faster and Mask R-CNN keep the aspect ratio, so a batch above 1 is padded to its largest image; their second stage runs on all proposals at once (64 or 300 of an image by default). Evaluation in the same process takes more.",
	Not:   "Memory growth: it changes when memory is taken, not how much.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `batch_size` in pipeline.config", Cost: "slower; a lower learning rate", Kind: "config", Text: "train_config {\n  batch_size: 2   # half of the present value, down to 1; if it is 1: a smaller image_resizer\n}"},
		smallerImages, lighterNetwork, besideIt,
	},
	Sources: detectionSources,
}}

var (
	detectionSources = []string{"models/research/object_detection/protos/pipeline.proto", "models/research/object_detection/protos/image_resizer.proto", "models/research/object_detection/protos/faster_rcnn.proto"}
	smallerImages    = cause.Cure{Fix: "lower_resolution", Title: "Lower the image_resizer size", Cost: "small objects are missed", Kind: "config", Text: "image_resizer {\n  keep_aspect_ratio_resizer { min_dimension: 400 max_dimension: 700 }   # two thirds of 600 and 1024; SSD: fixed_shape_resizer { height: 300 width: 300 }\n}"}
	lighterNetwork   = cause.Cure{Fix: "use_smaller_model", Title: "Use a lighter network, fewer proposals", Cost: "perhaps accuracy", Told: "MobileNet, Inception v2 or ResNet-50 instead of NASNet, Inception ResNet or ResNet-101; in `faster_rcnn` `first_stage_max_proposals: 100` and `second_stage_batch_size: 32`; masks only if you need them."}
	besideIt         = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the card", Cost: "a look is free", Told: "If an evaluation runs beside the training on the same card, start it with `CUDA_VISIBLE_DEVICES=-1`.", Kind: "shell", Text: "nvidia-smi"}
)
