package science

import (
	"fmt"

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
		Means: "This is a limit for a single array (2^31 - 1 elements, or most of the GPU memory), whatever other programs hold. The arguments of that line set the size: all points, frames or pairs at once, or a zoom of both sides.",
		Not:   "Ending other programs, or `reset(gpuDevice)`: this array alone is too large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Process smaller blocks", Told: "Print `size` of the arguments in that line. Halve the number of items per call (a loop with `gather` after each), and use `single` instead of double.", Cost: "Time"},
			{Fix: "upgrade_version", Title: "If it failed inside a package: update it", Told: "The innermost frame names the package. Search its issues for this message, and report the sizes of your data.", Cost: "Free"},
			{Fix: "lower_resolution", Title: "If it makes an image: make it smaller", Told: "Half the zoom needs a quarter of the pixels.", Cost: "Less detail"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html", "https://www.mathworks.com/help/parallel-computing/gpuarray.html"},
	},
	{
		ID: "matlab/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory on device"},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "found GPU memory full in this call",
		Means: "A gpuArray stays in GPU memory as long as a variable refers to it, and numbers are double (8 bytes) by default. In training, mini-batch x image size decides. Each worker of a parallel pool needs its own memory, and another program may hold the rest.",
		Not:   "More RAM: a gpuArray has to be in GPU memory.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Check the GPU, then reset it", Told: "`gpuDevice` shows AvailableMemory. `reset(gpuDevice)` frees all that this MATLAB holds. If it is still low, another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Lower the mini-batch size", Kind: "text", Text: "Halve it: `\"MiniBatchSize\"` in `trainingOptions` (128 by default) and `predict`. MatConvNet: `batchSize`, or a higher `numSubBatches`.", Cost: "Slower per epoch"},
			{Fix: "half_precision", Title: "Use single instead of double", Kind: "text", Text: "`gpuArray(single(x))` needs half the memory, if the data are double.", Cost: "Less precision"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html"},
	},
}

var juliaCards = []cause.Card{{
	ID: "cuda.jl/capped", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"(capped at "}, If: func(c *ledger.Case) bool {
		return c.Limit.Has() && c.Mine.Has() && c.Limit.Bytes-c.Mine.Bytes < ledger.Requested(c)+ledger.Roundings
	},
	Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
	Headline: "reached the limit that was set for it: {limit}",
	Means:    "\"capped at\" is a limit that somebody set (`JULIA_CUDA_MEMORY_LIMIT`), not the size of the GPU.[[ The GPU itself has {total}.]] Unused arrays count until Julia's garbage collector runs.",
	Not:      "Ending other programs: the limit counts this session alone.",
	Cures: []cause.Cure{
		{Fix: "raise_gpu_memory_utilization", Title: "Remove or raise the limit", Told: "Do it before Julia starts. The value is in bytes; stay below what `nvidia-smi` shows as free. Newer versions call it `JULIA_CUDA_HARD_MEMORY_LIMIT`.", Kind: "shell", Text: "unset JULIA_CUDA_MEMORY_LIMIT   # Windows: set JULIA_CUDA_MEMORY_LIMIT=", Cost: "less for other programs"},
		{Fix: "empty_cache", Title: "Free temporary arrays", Kind: "text", Text: "Call `CUDA.unsafe_free!(x)` in the loop, or now and then `GC.gc(); CUDA.reclaim()`. Write in place: `y .= f.(x)`.", Cost: "a little time"},
		{Fix: "lower_batch_size", Title: "Move smaller batches to the GPU", Kind: "text", Text: "Loop with `for (x, y) in CuIterator(loader)`: it uploads one batch and frees the last one. Lower the `batchsize` of your loader, for example to 16.", Cost: "slower per sample"},
	},
	Sources: []string{"CUDA.jl/src/pool.jl", "CUDA.jl/docs/src/usage/memory.md"},
}, {
	ID: "cuda.jl/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Effective GPU memory usage", "Out of GPU memory trying to allocate"},
	Cause: cause.BatchTooLarge, Weight: cause.Good,
	Means: "{asked} did not fit. In the message the first percentage counts all programs on the GPU; the pool line is this Julia session. If the pool is much smaller, something else holds the GPU. Julia frees arrays late: its garbage collector does not see how full the GPU is.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Move one batch at a time to the GPU", Kind: "text", Text: "Loop with `for (x, y) in CuIterator(loader)`: it uploads one batch and frees the last one. Lower the `batchsize` of your loader, for example to 16.", Cost: "Slower per sample"},
		{Fix: "empty_cache", Title: "Free temporary arrays", Kind: "text", Text: "Call `CUDA.unsafe_free!(x)` in the loop, or now and then `GC.gc(); CUDA.reclaim()`. Write in place: `y .= f.(x)`.", Cost: "A little time"},
		{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Kind: "text", Text: "Run `nvidia-smi`. A second Julia session or notebook keeps its memory until it ends.", Cost: "Free"},
	},
	Sources: []string{"CUDA.jl/src/memory.jl", "https://cuda.juliagpu.org/stable/usage/memory/"},
}}

// hugeVector: more than data usually is.
// noVector: more than the largest machines have.
func noVector(c *ledger.Case) bool { return ledger.Requested(c) >= 64<<40 }

func hugeVector(c *ledger.Case) bool { return ledger.Requested(c) >= 32<<30 }

// largeVector is more than most desktops can spare; inScript: Rscript ended, no session.
func largeVector(c *ledger.Case) bool { return ledger.Requested(c) >= 8<<30 }
func inScript(c *ledger.Case) bool    { return c.Near("Execution halted") }

var (
	rSmaller = cause.Cure{Fix: "fix_shape", Title: "Avoid the dense matrix", Told: "Keep sparse `Matrix` objects sparse (no `as.matrix`). Use nearest neighbours (`RANN::nn2`, `FNN::get.knn`) instead of `dist`. Before a merge check `anyDuplicated(x$id)`. Or work on blocks of rows.", Cost: "Some rewriting"}
	rClean   = cause.Cure{Fix: "restart_session", If: when.Not(inScript), Title: "Restart R, and load only what this step needs", Told: "Do not restore .RData, and end other R sessions. This lists the objects of a session by size in MB; remove large ones with `rm(name)`:", Kind: "text", Text: "`sort(sapply(ls(), function(n) object.size(get(n))) / 2^20)`", Cost: "Free"}
	rMoreRAM = cause.Cure{Fix: "raise_memory_limit", If: when.Any(inScript, largeVector), Title: "Give it more RAM", Told: "It needs {asked} beside all that R holds already, and often a copy. In a batch job or container raise the limit there (Slurm `--mem=`, Docker `--memory`). `ulimit -v` should say unlimited.", Cost: "A longer wait, or money"}
	rLimit   = cause.Cure{Fix: "raise_memory_limit", Title: "Check memory limits", Ways: []cause.Way{{For: "Container or batch job", Text: "raise its limit; the machine's own RAM does not count"}, {For: "Linux", Text: "`ulimit -v` in the shell should say unlimited"}, {For: "Windows", Text: "R before 4.2: `memory.limit(size = 64000)` (MB); later versions: enlarge the page file"}}, Cost: "Free to look"}
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
		Means: "R on macOS limits what its vectors may take together (R_MAX_VSIZE)[[, here {limit}]]. The default is 16 GB or the RAM, whichever is more. Objects of earlier steps count too.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise `R_MAX_VSIZE`", Told: "Run this in a terminal, then restart R. Instead of 64Gb choose your RAM, or up to twice that (the rest is swap):", Kind: "shell", Text: "echo 'R_MAX_VSIZE=64Gb' >> ~/.Renviron", Cost: "Slow once it swaps"},
			rClean,
			{Fix: "stream_dataset", Title: "Keep matrices sparse, process less at once", Told: "Keep `Matrix` objects sparse (no `as.matrix`). Seurat: scale only variable features; integrate large sets with `reference =` and `reduction = \"rpca\"`.", Cost: "Some rewriting"},
		},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory.html", "https://satijalab.org/seurat/articles/integration_large_datasets.html"},
	},
	{
		ID: "r/diagonal", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"diag(Z %*%", "%*% t(Z))", "%*% t(X))", "diag(X %*%"}, If: hugeVector,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: squareSide, Headline: "wanted a matrix of {asked} to use only its diagonal",
		Means: "{asked} is a matrix of about {rows} x {rows} numbers: every row of the data with every row. `diag(Z %*% Sigma %*% t(Z))` makes all of it only to read the diagonal.",
		Not:   "`gc()`, `memory.limit()` or closing programs.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Compute the diagonal with `rowSums`", Told: "If the line is in a package, `trace(FUNCTION, edit = TRUE)` opens that function for this session.", Kind: "text", Text: "Write `rowSums((Z %*% Sigma) * Z)` instead of `diag(Z %*% Sigma %*% t(Z))`.", Cost: "None"},
			{Fix: "upgrade_version", Title: "Update the package, or use another function", Told: "`packageVersion(\"PACKAGE\")` shows yours. R squared of a mixed model: `MuMIn::r.squaredGLMM(model)` or `performance::r2(model)`.", Cost: "Perhaps another call"},
			{Fix: "stream_dataset", Title: "Use fewer rows", Told: "20,000 rows need 3 GiB in that line, 60,000 rows 27 GiB.", Cost: "Less certain numbers"},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/package=piecewiseSEM", "https://cran.r-project.org/package=MuMIn"},
	},
	{
		ID: "r/dada2", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"run_dada", "DADA2:", "dada2::", "learnErrors"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get {asked} of RAM while DADA2 denoised a sample",
		Means: "DADA2 keeps the distinct sequences of a sample in memory (with pooling, of all samples). {asked} points to a sample with very many: primers left on, reads with poor ends, pairs merged before, or one very deep sample.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Trim primers, filter harder", Told: "Cut primers off with `cutadapt`, and truncate where quality falls. QIIME 2: `--p-trim-left`, `--p-trunc-len`, `--p-max-ee 1.0`; R: `trimLeft`, `truncLen`, `maxEE`. Treat all runs that you compare alike.", Cost: "Only bad reads are lost"},
			{Fix: "stream_dataset", Title: "Subsample the deepest sample", Told: "`qiime demux summarize` shows the read counts. Then: `seqtk sample -s1 in.fq.gz 200000`. In R use `pool = FALSE`.", Cost: "Rare variants of that sample"},
			{Fix: "raise_memory_limit", Title: "Request more RAM for the job", Told: "Fewer threads need less as well: `--p-n-threads 4`.", Cost: "A longer wait"},
		},
		Sources: []string{"https://benjjneb.github.io/dada2/bigdata.html", "https://docs.qiime2.org/2024.10/plugins/available/dada2/denoise-single/"},
	},
	{
		ID: "r/module", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Unable to load module", "load action", "lazy loading failed"}, If: noVector,
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "read an impossible size while loading a package",
		Means: "The size in the message is wrong: no machine has that much. The compiled part of a package was loading. It was probably built for another version of R or Rcpp, and reads something else as a size. So the package is broken; memory is not short.",
		Not:   "More RAM or swap: the number itself is wrong.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Reinstall Rcpp and that package from source", Told: "In a fresh R session, with the package that the message names:", Kind: "text", Text: "`install.packages(\"Rcpp\"); install.packages(\"PACKAGE\", type = \"source\")`. After an update of R: `update.packages(ask = FALSE, checkBuilt = TRUE)`.", Cost: "some minutes"},
			{Fix: "restart_session", Title: "Use one library folder for this R", Told: "`.libPaths()` shows where packages come from. Folders of an older R, or of conda beside the system R, mix versions.", Cost: "free"},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/doc/manuals/r-release/R-admin.html", "https://cran.r-project.org/web/packages/Rcpp/vignettes/Rcpp-modules.pdf"},
	},
	{
		ID: "r/no-vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"}, If: noVector,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "was asked for a vector of impossible size",
		Means: "The size in the message is wrong: no machine has that much. It happens when compiled code reads a damaged or foreign file, was built for another R, or multiplies counts beyond 2,147,483,647.",
		Not:   "More RAM or swap: the number itself is wrong.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the call, and check its input", Told: "Run `traceback()` right after the error: it names the call. Print `dim()` and `length()` of its input.", Cost: "a minute"},
			{Fix: "upgrade_version", Title: "Reinstall the package from source", Told: "Use `install.packages(\"PACKAGE\", type = \"source\")` for the package in that call. After an update of R: `update.packages(ask = FALSE, checkBuilt = TRUE)`.", Cost: "some minutes"},
			{Fix: "stream_dataset", Title: "Try a tenth of the input", Told: "If that fails too, one value or the file is wrong: an NA, a negative number, a file of another version.", Cost: "a minute"},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/doc/manuals/r-release/R-admin.html"},
	},
	{
		ID: "r/huge-vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"}, If: hugeVector,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for one vector of {asked}",
		Means:   "That is seldom the data itself. Usually it is a dense matrix of all pairs (`dist`, `outer`), a sparse matrix made dense (`as.matrix`), a `model.matrix` with a factor of thousands of levels, or a merge with repeated keys. `traceback()` after the error names the call.",
		Not:     "`gc()` or `memory.limit()`: hardly any machine has that much.",
		Cures:   []cause.Cure{rSmaller, rSmallerTypes, rClean},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
	{
		ID: "r/32-bit", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"machine has a 4Gb address"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "of 32 bit cannot use more than 2 to 4 GB, whatever the RAM",
		Means: "`memory.limit` answered that this machine has addresses for 4 GB. So R (or Windows) is the 32-bit version, and no setting changes that.",
		Not:   "`memory.limit(size = ...)` or a larger page file: a 32-bit program cannot use more.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Install 64-bit R", Told: "R 4.2 and later are 64-bit only. `R.version$arch` then shows `x86_64`. In RStudio choose it under Tools, Global Options, General, R version. A 32-bit Windows has to be replaced first.", Cost: "half an hour"},
			rClean, rSmallerTypes,
		},
		Sources: []string{"R/src/gnuwin32/extra.c", "https://cran.r-project.org/bin/windows/base/rw-FAQ.html"},
	},
	{
		ID: "r/windows-limit", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Reached total allocation of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "reached its own memory limit on Windows[[, {limit},]] with a vector of {asked}",
		Means: "R before 4.2 has its own limit on Windows (`memory.limit()`, in MB). It is as large as the RAM unless somebody raised it. The vector did not fit beside what the session holds.",
		Not:   "`gc()` alone: R collects garbage before it gives up.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise R's limit, or update R", Told: "Run `memory.limit(size = 16000)` before the step; above the RAM it uses the page file. R 4.2 and later have no such limit. 32-bit R ends at 4 GB: `R.version$arch` should say x86_64.", Cost: "slow beyond the RAM"},
			rClean, rSmallerTypes,
		},
		Sources: []string{"R/src/gnuwin32/extra.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
	{
		ID: "r/vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get {asked} of RAM for one vector",
		Means:   "It did not fit beside what the session holds already. R often copies an object when you change it, so a step can need two or three times its data. The message does not show what the session holds.",
		Not:     "`gc()` alone: R collects garbage before it gives up.",
		Cures:   []cause.Cure{rMoreRAM, rClean, rSmallerTypes, rLimit},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
}

var rSmallerTypes = cause.Cure{Fix: "stream_dataset", Title: "Read fewer columns, avoid copies", Told: "`data.table::fread(file, select = c(\"id\", \"value\"))` reads only what you need, and `:=` changes columns without a copy. Keep sparse matrices sparse. Or work in blocks of rows, or from disk with `arrow` or DuckDB.", Cost: "Some rewriting"}

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
	Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "found GPU memory full: other processes hold nearly all of it",
	Means: "{taken} of the GPU memory is in use, and this process has only {mine} of it. Other processes or containers hold the rest.",
	Not:   "A smaller batch or model: this process holds little.",
	Cures: []cause.Cure{
		look,
		{Fix: "select_gpu", Title: "Use another GPU", Kind: "shell", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "Free, if there is one"},
		{Fix: "close_other_apps", Title: "Give each container its own GPU", Told: "`docker ps` shows which containers run. In a compose file `device_ids` under `deploy.resources.reservations.devices` decides which GPU a service sees.", Cost: "A restart"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc"},
}, {
	ID: "paddle/full", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, If: when.All(fullBefore, when.Not((*ledger.Case).Training)),
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found GPU memory full: it could not get even {asked}",
	Means: "Only {free} was free, so the GPU was full before this request. Another process holds it, or this program fills it with its own work. Several workers of a server each have a copy of the model.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See what holds the GPU, and end it", Told: "Look for earlier Python runs, notebooks and other workers of the same server. `kill PID` ends what is yours.", Kind: "shell", Text: "nvidia-smi", Cost: "A look is free"},
		{Fix: "lower_num_workers", Title: "If it is your own workers: start fewer", Told: "Gunicorn: `-w 1` (or `workers = 1`) with threads. Or give each worker its own GPU, with `CUDA_VISIBLE_DEVICES=1` before the start.", Cost: "Fewer requests at a time"},
		{Fix: "lower_batch_size", Title: "If it is alone on the GPU: halve the batch size", Told: "It is `batch_size` in the script, `batch_size` or `batch_size_per_card` in a YAML. If it only predicts, use smaller images.", Cost: "Slower per sample"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "https://docs.gunicorn.org/en/stable/settings.html"},
}, {
	ID: "paddle/ocr", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"PaddleOCR", "paddleocr", "ppocr", "tools/infer/predict_"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory for OCR",
	Means: "Large scans can go through the text detector at nearly full size, so the need grows with width x height. In training the batch counts. Another process on the GPU has the same effect.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Halve the batch size", Told: "Set `batch_size_per_card` in the training part of the YAML to half. If the evaluation fails, do it in that part too.", Cost: "Slower"},
		{Fix: "lower_resolution", Title: "Limit the image side", Told: "Pass `det_limit_side_len=960, det_limit_type=\"max\"` (3.0 and later: `text_det_limit_side_len`, `text_det_limit_type`). Or scale large scans down first.", Cost: "May miss small print"},
		{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "Pass `rec_batch_num=1` (3.0 and later: `text_recognition_batch_size=1`).", Cost: "Slower"},
		look,
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "PaddleOCR/paddleocr.py"},
}, {
	ID: "paddle/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"},
	Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "ran out of GPU memory",
	Means: "Either another process holds much of the GPU, or one step needs too much: batch x image size or length. `nvidia-smi` before the start shows which.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "It is `batch_size` in the script, `batch_size` or `batch_size_per_card` in a YAML, or an option of the script. Halve it again if needed.", Cost: "Slower per sample"},
		look,
		{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height need about a quarter of the memory for a batch. For text halve the maximum length.", Cost: "Less detail"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc"},
}}

// paddleGrows is what rises from step to step.
var paddleGrows = cause.Card{
	ID: "paddle/grows", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, Among: []string{cause.RetainedMemory},
	Headline: "ran out of GPU memory: its memory grew with each step",
	Means:    "The log shows more memory from step to step, so something of each step is kept. Usually it is in the script: losses, outputs or metrics that still refer to their graph. It can also be a fault of the framework.",
	Not:      "A smaller batch or another allocator strategy: they only delay the failure.",
	Cures: []cause.Cure{
		{Fix: "detach_accumulated", Title: "Keep numbers, not tensors", Told: "Check what each step adds to lists, meters and sums. Call `optimizer.clear_grad()` in each step, and evaluate under `paddle.no_grad()`.", Kind: "python", Text: "total += float(loss)   # instead of total += loss", Cost: "None"},
		{Fix: "upgrade_version", Title: "Test without the new executor (PIR)", Told: "If memory stays flat then, keep this setting or take another version of PaddlePaddle, and report it.", Kind: "env", Text: "export FLAGS_enable_pir_api=0   # before the start", Cost: "A few minutes"},
		{Fix: "restart_session", Title: "Find where memory stays", Told: "Print `paddle.device.cuda.memory_allocated()` after the forward pass, the backward pass and the optimizer. See where it no longer goes back.", Cost: "Free"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "Paddle/paddle/common/flags.cc"},
}

// serverJava: a server whose heap a variable sets, in a container as a rule.
func serverJava(c *ledger.Case) bool { return c.Says("elasticsearch", "docker") }

var javaCards = []cause.Card{{
	ID: "java/errno-12", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"(errno=12)"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not get {asked} of system memory (RAM)", Figures: javaHeaps,
	Means: "Errno 12 (\"Not enough space\", \"Cannot allocate memory\") means RAM, not disk. The system or the container refused it, usually for the heap. The heap that -Xms and -Xmx allow (by default up to a quarter of the RAM) does not fit beside other programs or under the limit of the container.",
	Not:   "Freeing disk space, or a larger -Xmx.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", If: when.Not(serverJava), Title: "See what is free, and close what is large", Told: "The heap and half a GB beside it must fit into \"available\". If only a little is missing, closing a browser or another Java program is enough.", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head -6", Cost: "Free"},
		{Fix: "lower_mem_fraction", If: when.Not(serverJava), Title: "Lower the heap size (-Xmx)", Told: "Change it in the program's start script or options, which win over variables: at most half of the RAM (`-Xmx4g` on 8 GB). If nothing is set there: `JAVA_TOOL_OPTIONS=-Xmx{half}` before the start, and no larger -Xms. If \"Java heap space\" follows, the program needs more RAM than this machine has.", Cost: "A smaller heap"},
		{Fix: "lower_mem_fraction", If: serverJava, Title: "Lower the heap size (-Xmx, -Xms)", Ways: []cause.Way{{For: "Elasticsearch, OpenSearch", Text: "`ES_JAVA_OPTS=\"-Xms512m -Xmx512m\"` (OPENSEARCH_JAVA_OPTS; Bitnami's image: `ELASTICSEARCH_HEAP_SIZE=512m`)"}, {For: "Any other", Text: "`JAVA_TOOL_OPTIONS=\"-Xms256m -Xmx512m\"` before the start, or -Xms and -Xmx in its own options"}}, Cost: "Less for its caches"},
		{Fix: "close_other_apps", If: serverJava, Title: "Check free memory and limits", Told: "The heap and at least half a GB beside it must be available.", Kind: "shell", Text: "free -h; docker stats --no-stream   # the second: limits of containers", Cost: "Free"},
		{Fix: "raise_memory_limit", Title: "Raise the memory of the container or VM", Told: "`docker run --memory={more}` (Compose: `mem_limit: {more}`; Kubernetes: `resources.limits.memory`). Docker Desktop: Settings, Resources. On a small machine add 2 GB of swap.", Cost: "Less for other programs"},
	},
	Sources: []string{"jdk/src/hotspot/os/linux/os_linux.cpp", "https://www.elastic.co/guide/en/elasticsearch/reference/current/advanced-configuration.html", "https://github.com/bitnami/containers/tree/main/bitnami/elasticsearch"},
}, {
	ID: "java/native-start", Kinds: []fact.Kind{fact.NativeAlloc, fact.PlainHost, fact.PlainMemory}, Said: []string{" -Xms"}, Unsaid: []string{"(errno=12)", " -Xmx"}, If: func(c *ledger.Case) bool {
		return c.Near("insufficient memory for the Java Runtime Environment", "Out of Memory Error (os_")
	},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "did not start: too little memory for the heap that -Xms asks for", Figures: javaSystem,
	Means: "Java takes the whole heap of `-Xms` at once. [[{windows}]][[{linux}]]",
	Not:   "Raising -Xmx: the system has no more to give.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "Lower `-Xms`, and set `-Xmx` as the maximum", Told: "For example `-Xms512m`, and `-Xmx` at half of the RAM. The heap then grows only as far as the program needs it.", Cost: "None"},
		{Fix: "raise_pagefile", If: mayBeWindows, Title: "Windows: enlarge the page file", Kind: "ui", Text: "Press Win+R, run SystemPropertiesAdvanced. Performance: Settings, Advanced, Virtual memory: Change; tick Automatically manage, restart", Cost: "Disk space"},
	},
	Sources: []string{"jdk/src/hotspot/share/utilities/vmError.cpp", "jdk/src/java.base/share/man/java.md"},
}, {
	ID: "java/native", Kinds: []fact.Kind{fact.NativeAlloc, fact.PlainHost, fact.PlainMemory}, Said: []string{"insufficient memory for the Java Runtime Environment", "Out of Memory Error (os_"}, Unsaid: []string{"(errno=12)"},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get memory from the system; its heap limit is not the reason", Figures: javaSystem,
	Means: "[[{windows}]][[{linux}]] Other programs fill it, often other Java programs and builds, or -Xmx or -Xms is close to all RAM of the machine.",
	Not:   "Raising -Xmx: the system has no more to give.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", If: when.Not((*ledger.Case).Windows), Title: "Lower `-Xmx`", Told: "Set `-Xmx` and `-Xms` to at most half of the RAM, or three quarters of the limit of a container.", Cost: "A smaller heap"},
		{Fix: "raise_pagefile", If: mayBeWindows, Title: "Windows: enlarge the page file", Kind: "ui", Text: "Press Win+R, run SystemPropertiesAdvanced. Performance: Settings, Advanced, Virtual memory: Change; tick Automatically manage, restart", Cost: "Disk space"},
		{Fix: "close_other_apps", Title: "See what else uses RAM", Ways: []cause.Way{{For: "Windows", Text: "Task Manager, Performance, Memory: compare \"Committed\" with its limit"}, {For: "Linux", Text: "`free -h`, and `ulimit -v` for a limit of the shell"}}, Cost: "Free"}, {Fix: "lower_mem_fraction", If: (*ledger.Case).Windows, Title: "If you set `-Xmx` or `-Xms`: lower it", Told: "Use at most half of the RAM.", Cost: "A smaller heap"},
	},
	Sources: []string{"jdk/src/hotspot/share/utilities/vmError.cpp", "jdk/src/hotspot/os/windows/os_windows.cpp"},
}}

func mayBeWindows(c *ledger.Case) bool { return c.Reader.OS == "windows" || c.Reader.OS == "" }

// javaSystem says what was used up, on the system of the log.
// javaHeaps are a heap of half of what was refused, and a limit that holds all
// of it: 1 and 2 GiB where that is little.
func javaHeaps(c *ledger.Case) map[string]string {
	half, more := "1g", int64(2)
	if asked := ledger.Requested(c); asked >= units.GiB {
		half, more = fmt.Sprintf("%dm", asked/2>>20), asked>>30+2
	}
	return map[string]string{"half": half, "more": fmt.Sprintf("%dg", more)}
}

func javaSystem(c *ledger.Case) map[string]string {
	out := map[string]string{"windows": "", "linux": ""}
	if mayBeWindows(c) {
		out["windows"] = "On Windows RAM and page file together are used up (\"Committed\" in Task Manager), even if some RAM is free."
	}
	if c.Reader.OS != "windows" {
		out["linux"] = " On Linux the RAM is full, or a limit of the container or shell is reached."
	}
	return out
}

// ofPackage: a package for Python may be what is built, and there may be wheels.
func ofPackage(c *ledger.Case) bool { return !c.Near("CMakeFiles/") || c.Near("wheel", "setup.py") }

// buildCards are those of builds that name no tool.
var buildCards = []cause.Card{
	{
		ID: "build/compilers", Kinds: []fact.Kind{fact.BuildKilled}, Said: []string{"Building wheel", "setup.py", "pip install", "Failed building wheel", "torch/utils/cpp_extension.py", "bdist_wheel"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Means: "A compiler was killed because RAM ran out; the code is not at fault. PyTorch extensions compile with one job per processor core, and CUDA or template-heavy files need 2 to 8 GB each.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Told: "Put the variables in front of your own install command. CMake builds: `CMAKE_BUILD_PARALLEL_LEVEL=2`; make or ninja: `-j2`.", Kind: "shell", Text: "MAX_JOBS=2 NVCC_THREADS=1 pip install flash-attn --no-build-isolation", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Install a prebuilt wheel", Kind: "text", Text: "Many projects publish wheels on their releases page, for each version of Python, PyTorch and CUDA. Give `pip install` the address of the one that fits.", Cost: "None"},
			{Fix: "add_swap", Title: "Add swap for the build", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow"},
		},
		Sources: []string{"flash-attention/setup.py", "flash-attention/README.md"},
	},
	{
		ID: "build/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"still running", "Building CUDA object", "Building CXX object", "ninja: build stopped"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "The system killed the build while it compiled (signal 9), usually because too many compilers ran at once. CUDA files can need 2 to 8 GB each. In a container or on a CI machine the limit there counts.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "text", Text: "`cmake --build build --parallel 1`, `make -j1` or `ninja -j1`. In front of `pip install`: `MAX_JOBS=1 CMAKE_BUILD_PARALLEL_LEVEL=1`", Cost: "The build takes longer"},
			{Fix: "raise_memory_limit", If: when.Not(ofPackage), Title: "Give the build more memory, or let it need less", Told: "WSL: raise `memory=` and `swap=` under `[wsl2]` in .wslconfig. Docker or CI: a higher limit. Debug information (`-g`, for CUDA `-G`) takes more: configure with `-DCMAKE_BUILD_TYPE=Release`.", Cost: "None"},
			{Fix: "upgrade_version", If: ofPackage, Title: "Install a prebuilt wheel", Kind: "text", Text: "Look on the project's releases page for a wheel that fits your versions of Python, PyTorch and CUDA.", Cost: "None"},
			{Fix: "add_swap", Title: "Add swap for the build", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow"},
		},
		Sources: []string{"flash-attention/setup.py", "cmake/Source/cmcmd.cxx"},
	},
}
