package science

import (
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var matlabCards = []cause.Card{
	{
		ID: "matlab/variable", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"Maximum variable size allowed on the device is exceeded"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "refused one array that is larger than a gpuArray may be",
		Means: "This is a limit for a single variable (2^31 - 1 elements, or most of the card), not what other programs hold. The size follows from the arguments of that line: a stack of all points, frames or pairs at once, or a zoom that multiplies both sides.",
		Not:   "Ending other programs, or `reset(gpuDevice)`: the array alone is too large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Process smaller chunks", Told: "Print `size` of the arguments in that line; halve the number of items per call (a loop with `gather` after each), and use `single` instead of double.", Cost: "Time"},
			{Fix: "upgrade_version", Title: "If it failed inside a package: update it", Told: "The innermost frame names it; search its issues for this message, and report the sizes of your data.", Cost: "Free"},
			{Fix: "lower_resolution", Title: "Compute a smaller output image", Told: "Half the zoom of the output is a quarter of the pixels.", Cost: "Less detail"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html", "https://www.mathworks.com/help/parallel-computing/gpuarray.html"},
	},
	{
		ID: "matlab/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory on device"},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "found the card full in this call",
		Means: "Numbers are double (8 bytes) unless told otherwise, and a gpuArray stays on the card as long as a variable refers to it; in training, mini-batch x image size counts. Each worker of a parallel pool has its own context. Another program may hold the rest.",
		Not:   "More RAM: a gpuArray has to be on the card.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Check the card, then reset it", Told: "`gpuDevice` shows AvailableMemory; `reset(gpuDevice)` frees all that this MATLAB holds. If it is still low, another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Lower the mini-batch size", Kind: "text", Text: "Half of the present value. Deep Learning Toolbox: `\"MiniBatchSize\"` in `trainingOptions` (128 by default) and `predict`; MatConvNet: `batchSize`, or a higher `numSubBatches`.", Cost: "Slower per epoch"},
			{Fix: "half_precision", Title: "Use single instead of double", Kind: "text", Text: "`gpuArray(single(x))`, if the data are double: half the memory.", Cost: "Less precision"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html"},
	},
	{
		ID: "matlab/array-size", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"exceeds maximum array size preference"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "refused one array of {asked}, above its limit for a single array",
		Means: "{asked} in one array is above the limit in MATLAB's preferences, by default all of the machine's RAM. The line shows the sizes. Two equal long sides mean every row with every row, often by implicit expansion: a column minus a row (`a - b'`) makes a whole matrix.",
		Not:   "Raising the limit: an array beyond RAM makes the machine swap until it hangs.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check the sizes of both operands", Told: "`size(a), size(b)` in the line that failed. If a column meets a row, transpose one. `zeros(n)` makes n x n; `zeros(n, 1)` is a column.", Cost: "Free"},
			{Fix: "stream_dataset", Title: "If intended: use sparse, blocks or `tall`", Told: "`sparse` where most is zero, `pdist2(x, y, \"euclidean\", \"Smallest\", 10)` instead of all distances, a loop over blocks of rows, or `tall` and `matfile` from disk.", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "Use a smaller type", Kind: "text", Text: "`zeros(n, m, \"single\")` needs half, `uint8` an eighth.", Cost: "Digits"},
		},
		Sources: []string{"https://www.mathworks.com/help/matlab/matlab_prog/resolving-out-of-memory-errors.html"},
	},
}

var juliaCards = []cause.Card{{
	ID: "cuda.jl/capped", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"(capped at "}, If: func(c *ledger.Case) bool {
		return c.Limit.Has() && c.Mine.Has() && c.Limit.Bytes-c.Mine.Bytes < ledger.Requested(c)+ledger.Roundings
	},
	Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
	Headline: "reached the limit that was set for it: {limit}",
	Means:    "CUDA.jl holds {mine}, and \"capped at\" is a limit that somebody set (`JULIA_CUDA_MEMORY_LIMIT`), not the size of the card. The percentage counts all programs on the card.[[ Without the limit the {total} of the card would be the end.]] Arrays that nothing uses any more count until Julia's collector runs.",
	Not:      "Ending other programs: the limit counts this session alone.",
	Cures: []cause.Cure{
		{Fix: "raise_gpu_memory_utilization", Title: "Raise or remove the limit", Told: "It is in bytes, and read at the first use of the card: set it before Julia starts, below what `nvidia-smi` shows as free. Newer versions call it `JULIA_CUDA_HARD_MEMORY_LIMIT`.", Kind: "shell", Text: "unset JULIA_CUDA_MEMORY_LIMIT   # Windows: set JULIA_CUDA_MEMORY_LIMIT=", Cost: "less for other programs"},
		{Fix: "empty_cache", Title: "Free temporary arrays", Kind: "text", Text: "`CUDA.unsafe_free!(x)` in the loop, or now and then `GC.gc(); CUDA.reclaim()`; write in place (`y .= f.(x)`).", Cost: "a little time"},
		{Fix: "lower_batch_size", Title: "Move smaller batches to the card", Kind: "text", Text: "`for (x, y) in DataLoader(data; batchsize=16)` with `x = cu(x)` inside the loop.", Cost: "slower per sample"},
	},
	Sources: []string{"CUDA.jl/src/pool.jl", "CUDA.jl/docs/src/usage/memory.md"},
}, {
	ID: "cuda.jl/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Effective GPU memory usage", "Out of GPU memory trying to allocate"},
	Cause: cause.BatchTooLarge, Weight: cause.Good,
	Means: "{asked} did not fit. In the message, the first percentage is the whole card, all programs together; the pool line is this Julia session. If the pool is much smaller, something else holds the card. Julia frees arrays late, because its garbage collector does not see how full the card is.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Move one batch at a time to the card", Kind: "text", Text: "`for (x, y) in DataLoader(data; batchsize=16)` with `x = cu(x)` inside the loop.", Cost: "Slower per sample"},
		{Fix: "empty_cache", Title: "Free temporary arrays", Kind: "text", Text: "`CUDA.unsafe_free!(x)` in the loop, or now and then `GC.gc(); CUDA.reclaim()`; write in place (`y .= f.(x)`).", Cost: "A little time"},
		{Fix: "kill_stale_process", Title: "Check what else uses the card", Kind: "text", Text: "`nvidia-smi`; a second Julia or notebook keeps its pool until it ends.", Cost: "Free"},
	},
	Sources: []string{"CUDA.jl/src/memory.jl", "https://cuda.juliagpu.org/stable/usage/memory/"},
}}

// hugeVector: more than one piece of data is, as a rule.
// noVector: more than the largest machines have.
func noVector(c *ledger.Case) bool { return ledger.Requested(c) >= 64<<40 }

func hugeVector(c *ledger.Case) bool { return ledger.Requested(c) >= 32<<30 }

// largeVector is more than most desktops can spare; inScript: Rscript ended, no session.
func largeVector(c *ledger.Case) bool { return ledger.Requested(c) >= 8<<30 }
func inScript(c *ledger.Case) bool    { return c.Near("Execution halted") }

var (
	rSmaller = cause.Cure{Fix: "fix_shape", Title: "Avoid the dense matrix", Told: "Keep sparse `Matrix` objects sparse (no `as.matrix`); nearest neighbours (`RANN::nn2`, `FNN::get.knn`) instead of `dist`; before a merge check `anyDuplicated(x$id)`; or work on blocks of rows.", Cost: "Some rewriting"}
	rClean   = cause.Cure{Fix: "restart_session", If: when.Not(inScript), Title: "Restart R, and load only what this step needs", Told: "Without a restored .RData; end other R sessions. In the session this lists objects by size in MB, for `rm(name)`:", Kind: "text", Text: "`sort(sapply(ls(), function(n) object.size(get(n))) / 2^20)`", Cost: "Free"}
	rMoreRAM = cause.Cure{Fix: "raise_memory_limit", If: when.Any(inScript, largeVector), Title: "Give it more RAM", Told: "It has to hold {asked} beside all that it held, and often a copy. In a batch job or container the limit of that counts (Slurm `--mem=`, `--memory`), not the machine's RAM, and `ulimit -v` should say unlimited.", Cost: "A longer wait, or money"}
	rLimit   = cause.Cure{Fix: "raise_memory_limit", Title: "Check memory limits", Ways: []cause.Way{
		{For: "Container or batch job", Text: "raise its limit; the RAM of the machine does not count"},
		{For: "Linux", Text: "`ulimit -v` in the shell should say unlimited"},
		{For: "Windows", Text: "R before 4.2: `memory.limit(size = 64000)` (MB); later ones: enlarge the page file"},
	}, Cost: "Free to look"}
)

// squareSide is the number of rows of a square matrix of numbers of this size.
func squareSide(c *ledger.Case) map[string]string {
	rows := int64(math.Sqrt(float64(ledger.Requested(c)) / 8))
	return map[string]string{"rows": ledger.Thousands(rows / 1000 * 1000)}
}

var rCards = []cause.Card{
	{
		ID: "r/own-limit", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"vector memory exhausted (limit reached?)", "vector memory limit of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "reached its own memory limit on macOS",
		Means: "R on macOS limits what its vectors take together (R_MAX_VSIZE: by default 16 GB or the RAM, whichever is more)[[, here {limit}]]. Objects of earlier steps count, and merging or scaling a large matrix can make it dense: cells x genes x 8 bytes.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise `R_MAX_VSIZE`", Told: "Then restart R.", Kind: "shell", Text: "echo 'R_MAX_VSIZE=64Gb' >> ~/.Renviron   # 64Gb: your RAM, or up to twice that (the rest is swap)", Cost: "Slow once it swaps"},
			rClean,
			{Fix: "stream_dataset", Title: "Keep matrices sparse, process less at once", Told: "Keep `Matrix` objects sparse. Seurat: `SelectIntegrationFeatures(nfeatures = 2000)`, and `reference =` with `reduction = \"rpca\"` for large sets; scale only variable features.", Cost: "Some rewriting"},
		},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory.html", "https://satijalab.org/seurat/articles/integration_large_datasets.html"},
	},
	{
		ID: "r/diagonal", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"diag(Z %*%", "%*% t(Z))", "%*% t(X))", "diag(X %*%"}, If: hugeVector,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: squareSide, Headline: "wanted a matrix of {asked} to use only its diagonal",
		Means: "{asked} of 8-byte numbers is a square of about {rows} x {rows}: every row of the data with every row. `diag(Z %*% Sigma %*% t(Z))` makes that square only to read its diagonal; it grows with the square of the rows.",
		Not:   "`gc()`, `memory.limit()` or closing programs.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Compute the diagonal with `rowSums`", Told: "Where the line is in a package: `trace(FUNCTION, edit = TRUE)` opens that function for this session.", Kind: "text", Text: "`rowSums((Z %*% Sigma) * Z)` in place of `diag(Z %*% Sigma %*% t(Z))`", Cost: "None"},
			{Fix: "upgrade_version", Title: "Update the package, or use another function", Told: "`packageVersion(\"PACKAGE\")` shows yours. R squared of mixed models also by `MuMIn::r.squaredGLMM(model)` or `performance::r2(model)`, model by model.", Cost: "Perhaps another call"},
			{Fix: "stream_dataset", Title: "Use fewer rows", Told: "A sample of 20,000 rows needs 3 GiB in that line, 60,000 rows 27.", Cost: "Less certain numbers"},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/package=piecewiseSEM", "https://cran.r-project.org/package=MuMIn"},
	},
	{
		ID: "r/dada2", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"run_dada", "DADA2:", "dada2::", "learnErrors"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused {asked} while DADA2 denoised a sample",
		Means: "DADA2 needs memory for the distinct sequences of a sample (with pooling, of all samples). A request of {asked} points to a sample with very many: primers or adapters left on, long reads with poor ends, pairs merged before, or one sample many times as deep as the others.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Trim primers, filter harder", Told: "Cut primers (`cutadapt`); truncate where quality falls and filter harder: `--p-trunc-len`, `--p-max-ee 1.0`, `--p-trim-left` (QIIME 2; in R `truncLen`, `maxEE`). Treat all runs that you compare alike.", Cost: "Reads that were bad"},
			{Fix: "stream_dataset", Title: "Subsample the deepest sample", Told: "`qiime demux summarize` or the read counts show it; `seqtk sample -s1 in.fq.gz 200000`. Without pooling: `pool = FALSE`.", Cost: "Rare variants of that sample"},
			{Fix: "raise_memory_limit", Title: "Request more RAM for the job", Told: "And use fewer threads (`--p-n-threads 4`).", Cost: "A longer wait"},
		},
		Sources: []string{"https://benjjneb.github.io/dada2/bigdata.html", "https://docs.qiime2.org/2024.10/plugins/available/dada2/denoise-single/"},
	},
	{
		ID: "r/module", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Unable to load module", "load action", "lazy loading failed"}, If: noVector,
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "read an impossible size ({asked}) while loading a package",
		Means: "No machine has {asked}. The compiled part of a package was loading: one built for another version of R or Rcpp reads something else as a length. So the package is broken, not short of memory.",
		Not:   "More RAM or swap.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Rebuild that package and Rcpp", Cost: "some minutes", Told: "In a fresh R session, with the package that the message names:", Kind: "text", Text: "`install.packages(\"Rcpp\"); install.packages(\"PACKAGE\", type = \"source\")`; then install again what failed. After an update of R: `update.packages(ask = FALSE, checkBuilt = TRUE)`."},
			{Fix: "restart_session", Title: "Use one library folder for this R", Cost: "free", Told: "`.libPaths()` shows where packages come from: folders of an older R, or of conda beside the system's, mix versions."},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/doc/manuals/r-release/R-admin.html", "https://cran.r-project.org/web/packages/Rcpp/vignettes/Rcpp-modules.pdf"},
	},
	{
		ID: "r/no-vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"}, If: noVector,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "was asked for {asked}, an impossible size",
		Means: "No machine has {asked}: a size is wrong. Compiled code does that when it reads a damaged or foreign file, was built for another R, or multiplies counts beyond 2,147,483,647.",
		Not:   "More RAM or swap.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the call and check its input", Cost: "a minute", Told: "`traceback()` right after the error names it; print `dim()` and `length()` of its input."},
			{Fix: "upgrade_version", Title: "Rebuild the package", Cost: "some minutes", Told: "`install.packages(\"PACKAGE\", type = \"source\")` (the one that is called), and after an update of R `update.packages(ask = FALSE, checkBuilt = TRUE)`."},
			{Fix: "stream_dataset", Title: "Try a tenth of the input", Cost: "a minute", Told: "If it fails too, one value or the file is wrong (an NA, a negative number, a file of another version)."},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/doc/manuals/r-release/R-admin.html"},
	},
	{
		ID: "r/huge-vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"}, If: hugeVector,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "wanted one vector of {asked}",
		Means:   "{asked} in one piece is seldom the data itself. Usually it is a dense matrix of all pairs (`dist`, `outer`, a kernel), a sparse matrix made dense (`as.matrix`), a `model.matrix` with a factor of thousands of levels, or a merge with keys that repeat on both sides. `traceback()` after the error names the call.",
		Not:     "`gc()` or `memory.limit()`.",
		Cures:   []cause.Cure{rSmaller, rSmallerTypes, rClean},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
	{
		ID: "r/32-bit", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"machine has a 4Gb address"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "of 32 bit was refused {asked}: it ends at 4 GB, whatever the RAM",
		Means:   "`memory.limit` answered that this machine has addresses for 4 GB. That is R (or Windows) of 32 bit: it gets 2 to 4 GB in all, and no setting changes that.",
		Not:     "`memory.limit(size = ...)`, a larger page file: a process of 32 bit cannot address more.",
		Cures:   []cause.Cure{{Fix: "upgrade_version", Title: "Use R of 64 bit", Cost: "half an hour", Told: "`R.version$arch` shows `x86_64` there. RStudio: Tools, Global Options, General, R version. Windows of 32 bit has to be replaced first. From R 4.2 on there is 64 bit only."}, rClean, rSmallerTypes},
		Sources: []string{"R/src/gnuwin32/extra.c", "https://cran.r-project.org/bin/windows/base/rw-FAQ.html"},
	},
	{
		ID: "r/windows-limit", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Reached total allocation of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "reached its own limit on Windows[[, {limit},]] with a vector of {asked}",
		Means:   "R before 4.2 has a limit of its own on Windows (`memory.limit()`, in MB), as large as the RAM unless it was raised[[: {limit} here]]. One vector of {asked} did not fit below it beside what the session holds.",
		Not:     "`gc()` alone: R collects garbage before it gives up.",
		Cures:   []cause.Cure{{Fix: "raise_memory_limit", Title: "Raise R's limit, or update R", Cost: "slow beyond the RAM", Told: "`memory.limit(size = 16000)` before the step; above the RAM it takes the page file. R 4.2 and later have no such limit. In 32 bit it ends at 4 GB: `R.version$arch` should say x86_64."}, rClean, rSmallerTypes},
		Sources: []string{"R/src/gnuwin32/extra.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
	{
		ID: "r/vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused {asked} of RAM for one vector",
		Means:   "R asked the system for one vector of {asked} and was refused, beside what the session holds already. R often copies an object when it is changed, so an operation can need two or three times its data. The message does not show what the session holds.",
		Not:     "`gc()` alone: R collects garbage before it gives up.",
		Cures:   []cause.Cure{rMoreRAM, rClean, rSmallerTypes, rLimit},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
}

var rSmallerTypes = cause.Cure{Fix: "stream_dataset", Title: "Read fewer columns, avoid copies", Told: "`data.table::fread(file, select = c(\"id\", \"value\"))` reads only what you need; its `:=` changes columns in place. Keep sparse matrices sparse. Otherwise in blocks of rows, or from disk with `arrow` or DuckDB.", Cost: "Some rewriting"}

// heldByOthers: what the process itself uses is a small part of what is taken.
func heldByOthers(c *ledger.Case) bool {
	f := c.F()
	return f.ProcessUsed != nil && f.Allocated != nil && f.ProcessUsed.Bytes*4 < f.Allocated.Bytes
}

// fullBefore: little was wanted and hardly anything was free.
func fullBefore(c *ledger.Case) bool {
	f := c.F()
	return f.Free != nil && f.Requested != nil && f.Requested.Bytes <= cause.Crumb && f.Free.Bytes <= cause.Crumb && !c.Training()
}

func taken(c *ledger.Case) map[string]string {
	f := c.F()
	return map[string]string{"taken": units.AmountWithin(f.Allocated.Bytes, 0), "mine": units.AmountWithin(f.ProcessUsed.Bytes, 0)}
}

var paddleCards = []cause.Card{paddleGrows, {
	ID: "paddle/others", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, If: heldByOthers, Figures: taken,
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "found the card full: other processes hold nearly all of it",
	Means: "{taken} of the card is in use, and this process has only {mine} of it: other processes or containers hold the rest.",
	Not:   "A smaller batch or model: this process holds little.",
	Cures: []cause.Cure{
		look,
		{Fix: "select_gpu", Title: "Use another card", Kind: "shell", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "Free, if one is there"},
		{Fix: "close_other_apps", Title: "Give each container its own card", Told: "`docker ps` shows which run; in a compose file `device_ids` under `deploy.resources.reservations.devices` decides which card a service sees.", Cost: "A restart"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc"},
}, {
	ID: "paddle/full", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, If: fullBefore,
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the card full: even {asked} was refused",
	Means: "{asked} is very little, and {free} was free: the card was full before this request. Another process holds it, or this program fills it with its own work; where a server starts several workers, each of them has a copy of the model and a context of its own.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See what holds the card, and end or move it", Told: "Earlier Python runs, notebooks, other workers of the same server: `kill PID` for what is yours.", Kind: "shell", Text: "nvidia-smi", Cost: "A look is free"},
		{Fix: "lower_num_workers", Title: "If it is your own workers: start fewer", Told: "Gunicorn `-w 1` (or `workers = 1`) and threads in it, or spread them: a card for each by `CUDA_VISIBLE_DEVICES=1` before the start.", Cost: "Fewer requests at a time"},
		{Fix: "lower_batch_size", Title: "If it is alone on the card: halve the batch size", Told: "`batch_size` in the script, `batch_size` or `batch_size_per_card` in a YAML; when it only predicts, smaller images.", Cost: "Slower per sample"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "https://docs.gunicorn.org/en/stable/settings.html"},
}, {
	ID: "paddle/ocr", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"PaddleOCR", "paddleocr", "ppocr", "tools/infer/predict_"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "needed {asked} more on the card for OCR and found {free}",
	Means: "PaddleOCR passes a large scan to the text detector as a whole unless its side is limited, so the need grows with width x height; in training the batch counts. Another process on the card has the same effect.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Halve the batch size", Told: "`batch_size_per_card` of the training part of the YAML (and of the evaluation part, if it fails there): half of the present value.", Cost: "Slower"},
		{Fix: "lower_resolution", Title: "Limit the image side", Told: "`det_limit_side_len=960, det_limit_type=\"max\"` (3.0: `text_det_limit_side_len`, `text_det_limit_type`); or scale large scans down before.", Cost: "Small print may be missed"},
		{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "`rec_batch_num=1` (`text_recognition_batch_size=1` since 3.0).", Cost: "Slower"},
		look,
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "PaddleOCR/paddleocr.py"},
}, {
	ID: "paddle/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"},
	Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "needed {asked} more on the card and found {free}",
	Means: "{asked} was wanted and {free} was free. Either another process holds much of the card, or one step needs too much: batch x image size or length. `nvidia-smi` before the start shows which.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "`batch_size` in the script, `batch_size` or `batch_size_per_card` in a YAML, or the script's option; half again if need be.", Cost: "Slower per sample"},
		look,
		{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations; or half the maximum length.", Cost: "Less detail"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc"},
}}

// paddleGrows is what rises from step to step.
var paddleGrows = cause.Card{
	ID: "paddle/grows", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, Among: []string{cause.RetainedMemory},
	Headline: "ran out of graphics memory: what it holds grew with each step",
	Means:    "What is allocated rises from step to step, so something of each step is kept: in the script (losses, outputs or metrics that still refer to their graph), or in the framework. Run the same script with the older executor or another version: if memory stays flat there, it is the framework.",
	Not:      "A smaller batch or another allocator strategy: they only delay the failure.",
	Cures: []cause.Cure{
		{Fix: "detach_accumulated", Title: "Keep numbers, not tensors", Told: "Look through what a step adds to lists, meters and sums; `optimizer.clear_grad()` in each step, evaluation under `paddle.no_grad()`.", Kind: "python", Text: "total += float(loss)   # in place of total += loss", Cost: "None"},
		{Fix: "upgrade_version", Title: "Test without the new executor (PIR)", Told: "If memory stays flat, keep this setting or take another version of PaddlePaddle, and report it.", Kind: "env", Text: "export FLAGS_enable_pir_api=0   # before the start; 1 or unset: the new one", Cost: "A few minutes"},
		{Fix: "restart_session", Title: "Find where memory stays", Told: "Print `paddle.device.cuda.memory_allocated()` after forward, backward and the optimizer, and see after which it no longer goes back.", Cost: "Free"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "Paddle/paddle/common/flags.cc"},
}

var darknetCards = []cause.Card{{
	ID: "darknet/subdivisions", Kinds: []fact.Kind{fact.CUDAError, fact.PlainDevice}, Said: []string{"darknet:", "darknet detector"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Means: "The images on the card at once are batch divided by subdivisions, and their activations did not fit. With `random=1` the network is enlarged now and then, so training can fail after running for a while.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Double subdivisions", Kind: "config", Text: "[net]\nbatch=64\nsubdivisions=64   # twice the present value", Cost: "Slower; the same result"},
		{Fix: "lower_resolution", Title: "Lower the network size", Kind: "config", Text: "[net]\nwidth=416\nheight=416   # below the present size, multiples of 32; random=0 in each [yolo] section", Cost: "Small objects"},
		look,
	},
	Sources: []string{"darknet/README.md", "darknet/src/detector.c"},
}}

// serverJava: a server whose heap a variable sets, in a container as a rule.
func serverJava(c *ledger.Case) bool { return c.Says("elasticsearch", "docker") }

var javaCards = []cause.Card{{
	ID: "java/errno-12", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"(errno=12)"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused {asked} of system memory",
	Means: "Errno 12 (\"Not enough space\", \"Cannot allocate memory\") means RAM, not disk: the system or the container refused {asked} to Java, usually a part of its heap. The heap that -Xms and -Xmx allow, a quarter of the RAM unless set, does not fit beside the other programs or under the container's limit.",
	Not:   "Freeing disk space, or a larger -Xmx.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", If: when.Not(serverJava), Title: "See what is free, and close what is large", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head -6", Told: "The whole heap and half a GB beside it must fit into \"available\"; if little is missing, closing a browser or another Java is enough.", Cost: "Free"},
		{Fix: "lower_mem_fraction", If: when.Not(serverJava), Title: "Lower the heap size (-Xmx) to what fits", Told: "In the program's own start script or options, which win over variables: at most half of the RAM (`-Xmx4g` on 8 GB). If none is set there: `JAVA_TOOL_OPTIONS=-Xmx4g` before the start. \"Java heap space\" afterwards means that it needs more than this machine has.", Cost: "A smaller heap"},
		{Fix: "lower_mem_fraction", If: serverJava, Title: "Lower the heap size (-Xmx, -Xms)", Ways: []cause.Way{
			{For: "Elasticsearch, OpenSearch", Text: "`ES_JAVA_OPTS=\"-Xms512m -Xmx512m\"` (OPENSEARCH_JAVA_OPTS; Bitnami's image: `ELASTICSEARCH_HEAP_SIZE=512m`)"},
			{For: "Any other", Text: "`JAVA_TOOL_OPTIONS=\"-Xms256m -Xmx512m\"` before the start, or -Xms and -Xmx in its own options"},
		}, Cost: "Less for its caches"},
		{Fix: "close_other_apps", If: serverJava, Title: "Check free memory and limits", Kind: "shell", Text: "free -h; docker stats --no-stream   # the second: limits of containers", Told: "At least half a GB more than the heap must be available.", Cost: "Free"},
		{Fix: "raise_memory_limit", Title: "Raise the memory of the container or VM", Told: "`docker run --memory=2g` (Compose: `mem_limit: 2g`; Kubernetes: `resources.limits.memory`); Docker Desktop: Settings, Resources. On a small machine add 2 GB of swap.", Cost: "Less for other programs"},
	},
	Sources: []string{"jdk/src/hotspot/os/linux/os_linux.cpp", "https://www.elastic.co/guide/en/elasticsearch/reference/current/advanced-configuration.html", "https://github.com/bitnami/containers/tree/main/bitnami/elasticsearch"},
}, {
	ID: "java/native-start", Kinds: []fact.Kind{fact.NativeAlloc, fact.PlainHost, fact.PlainMemory}, Said: []string{" -Xms"}, Unsaid: []string{"(errno=12)", " -Xmx"}, If: func(c *ledger.Case) bool {
		return c.Near("insufficient memory for the Java Runtime Environment", "Out of Memory Error (os_")
	},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "did not start: the system has no room for the heap that -Xms asks for", Figures: javaSystem,
	Means: "Java takes the heap of `-Xms` at once[[, {asked} here]]. [[{windows}]][[{linux}]]",
	Not:   "Raising -Xmx: the system has no more to give.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "Lower `-Xms`, and set `-Xmx` for the most", Told: "Such as `-Xms512m`, and `-Xmx` at half of the RAM: the heap then grows only as far as it is used.", Cost: "None as a rule"},
		{Fix: "raise_pagefile", If: mayBeWindows, Title: "Windows: enlarge the page file", Kind: "ui", Text: "Advanced system settings, Performance, Advanced, Virtual memory: automatically manage; restart", Cost: "Disk space"},
	},
	Sources: []string{"jdk/src/hotspot/share/utilities/vmError.cpp", "jdk/src/java.base/share/man/java.md"},
}, {
	ID: "java/native", Kinds: []fact.Kind{fact.NativeAlloc, fact.PlainHost, fact.PlainMemory}, Said: []string{"insufficient memory for the Java Runtime Environment", "Out of Memory Error (os_"}, Unsaid: []string{"(errno=12)"},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused memory by the system, not by its heap limit", Figures: javaSystem,
	Means: "[[{windows}]][[{linux}]] Other processes fill it, above all other Java programs and builds, or -Xmx or -Xms is near what the machine has.",
	Not:   "Raising -Xmx: the system has no more to give.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", If: when.Not((*ledger.Case).Windows), Title: "Lower `-Xmx`", Told: "`-Xmx` and `-Xms` at most half of the RAM, or three quarters of a container's limit.", Cost: "A smaller heap"},
		{Fix: "raise_pagefile", If: mayBeWindows, Title: "Windows: enlarge the page file", Kind: "ui", Text: "Advanced system settings, Performance, Advanced, Virtual memory: automatically manage; restart", Cost: "Disk space"},
		{Fix: "close_other_apps", Title: "See what else uses RAM", Ways: []cause.Way{{For: "Windows", Text: "Task Manager, Performance, Memory, \"Committed\" against its limit"}, {For: "Linux", Text: "`free -h`, and `ulimit -v` for a limit of the shell"}}, Cost: "Free"}, {Fix: "lower_mem_fraction", If: (*ledger.Case).Windows, Title: "If you set `-Xmx` or `-Xms`: lower it", Told: "At most half of the RAM.", Cost: "A smaller heap"},
	},
	Sources: []string{"jdk/src/hotspot/share/utilities/vmError.cpp", "jdk/src/hotspot/os/windows/os_windows.cpp"},
}}

func mayBeWindows(c *ledger.Case) bool { return c.Reader.OS == "windows" || c.Reader.OS == "" }

// javaSystem says what was used up, on the system of the log.
func javaSystem(c *ledger.Case) map[string]string {
	out := map[string]string{"windows": "", "linux": ""}
	if mayBeWindows(c) {
		out["windows"] = "On Windows RAM and page file together are used up (\"Committed\"), even with RAM free."
	}
	if c.Reader.OS != "windows" {
		out["linux"] = " On Linux RAM, or the limit of a container or shell, is reached."
	}
	return out
}

// buildCards are those of builds that name no tool.
var buildCards = []cause.Card{
	{
		ID: "build/compilers", Kinds: []fact.Kind{fact.BuildKilled}, Said: []string{"Building wheel", "setup.py", "pip install", "Failed building wheel", "torch/utils/cpp_extension.py", "bdist_wheel"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Means: "A compiler was killed for lack of RAM: extensions of PyTorch compile with one job for every processor core (ninja), and CUDA or template-heavy files need 2 to 8 GB each. The code is not at fault.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "shell", Text: "MAX_JOBS=2 NVCC_THREADS=1 pip install flash-attn --no-build-isolation   # your own package; else make -j2, ninja -j2", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Install a prebuilt wheel", Kind: "text", Text: "Many projects publish wheels for each Python, PyTorch and CUDA version on their releases page; `pip install` the address of one.", Cost: "None"},
			{Fix: "add_swap", Title: "Add swap for the build", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow"},
		},
		Sources: []string{"flash-attention/setup.py", "flash-attention/README.md"},
	},
	{
		ID: "build/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"still running", "Building CUDA object", "Building CXX object", "ninja: build stopped"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "The build was ended by signal 9 while it compiled, usually because too many compilers ran at once for the memory. Each can need 2 to 8 GB with CUDA code. In a container or on a CI machine, its limit counts.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "text", Text: "`cmake --build build --parallel 1`, `make -j1`, `ninja -j1`; in front of `pip install`: `MAX_JOBS=1 CMAKE_BUILD_PARALLEL_LEVEL=1`", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Install a prebuilt wheel", Kind: "text", Text: "Look for a wheel for your Python, PyTorch and CUDA versions on the project's releases page.", Cost: "None"},
		},
		Sources: []string{"flash-attention/setup.py", "cmake/Source/cmcmd.cxx"},
	},
}
