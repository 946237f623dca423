package science

import (
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var matlabCards = []cause.Card{
	{
		ID: "matlab/variable", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"Maximum variable size allowed on the device is exceeded"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "refused one array on the card: it has more elements or bytes than a gpuArray may",
		Means:    "It is a limit for a single variable (2^31 - 1 elements, or most of the card), not what other programs hold. The array's size follows from the arguments of that line: a stack of all points, frames or pairs at once, or a zoom that multiplies both sides. A package that sizes its chunks by `TotalMemory` in place of `AvailableMemory` asks for too much.",
		Not:      "Ending other programs, or `reset(gpuDevice)`: the array alone is too large.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "It failed inside a package: its newest version", Told: "The innermost frame names it; look in its issues for this message, and report the sizes of your data.", Cost: "Free"},
			{Fix: "lower_batch_size", Title: "More and smaller chunks", Told: "Print `size` of the arguments in that line; halve the number of items for each call (a loop with `gather` after each), `single` in place of double.", Cost: "Time"},
			{Fix: "lower_resolution", Title: "A smaller image to compute", Told: "The zoom or pixel size of the output: half the zoom is a quarter.", Cost: "Detail"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html", "https://www.mathworks.com/help/parallel-computing/gpuarray.html"},
	},
	{
		ID: "matlab/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory on device"},
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "found the card full in this call",
		Means:    "MATLAB computes in double, eight bytes a number, and a gpuArray stays on the card as long as a variable names it; in training it is mini-batch x image size that counts. Each worker of a parallel pool has a context of its own. Another program may hold the rest.",
		Not:      "More RAM: a gpuArray has to be on the card.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Look, then reset the card", Told: "`gpuDevice` shows AvailableMemory; `reset(gpuDevice)` gives back all that this MATLAB holds. If it is still low then, another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Smaller mini-batch", Kind: "text", Text: "`trainingOptions(\"adam\", \"MiniBatchSize\", 8)`, and the same argument of `predict`.", Cost: "Slower per epoch"},
			{Fix: "half_precision", Title: "single instead of double", Kind: "text", Text: "`gpuArray(single(x))`: half the memory, and faster on most cards.", Cost: "Seven digits"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html"},
	},
	{
		ID: "matlab/array-size", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"exceeds maximum array size preference"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "refused one array of {asked}, more than its limit for a single one",
		Means:    "MATLAB did not even try: {asked} in one array is above the limit in its preferences, all of the machine's RAM unless changed. The line shows the sizes. Two equal long sides are every row with every row, often by implicit expansion: a column minus a row (`a - b'`) makes a whole matrix.",
		Not:      "Raising the limit: an array beyond RAM makes the machine swap until it hangs.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Look at the sizes of both operands", Told: "`size(a), size(b)` in the line that failed. A column beside a row is the fault: transpose one. `zeros(n)` makes n x n; `zeros(n, 1)` is a column.", Cost: "Free"},
			{Fix: "stream_dataset", Title: "It is meant: never the whole at once", Told: "`sparse` where most is zero, `pdist2(x, y, \"euclidean\", \"Smallest\", 10)` in place of all distances, a loop over blocks of rows, or `tall` and `matfile` from disk.", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "If it is meant: a smaller type", Kind: "text", Text: "`zeros(n, m, \"single\")` needs half, `uint8` an eighth.", Cost: "Digits"},
		},
		Sources: []string{"https://www.mathworks.com/help/matlab/matlab_prog/resolving-out-of-memory-errors.html"},
	},
}

var juliaCards = []cause.Card{{
	ID: "cuda.jl/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Effective GPU memory usage", "Out of GPU memory trying to allocate"},
	Cause: cause.BatchTooLarge, Weight: cause.Good,
	Means: "{asked} did not fit. The first percentage is the whole card, all programs together; the pool line is this Julia session. If the pool is much smaller, something else holds the card. Julia frees arrays late: its collector counts RAM alone.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Move one batch at a time", Kind: "text", Text: "`for (x, y) in DataLoader(data; batchsize=16)` with `x = cu(x)` inside the loop.", Cost: "Slower per sample"},
		{Fix: "empty_cache", Title: "Free temporaries at once", Kind: "text", Text: "`CUDA.unsafe_free!(x)` in the loop, or now and then `GC.gc(); CUDA.reclaim()`; write in place (`y .= f.(x)`).", Cost: "A little time"},
		{Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "text", Text: "`nvidia-smi`; a second Julia or notebook keeps its pool until it ends.", Cost: "Free"},
	},
	Sources: []string{"CUDA.jl/src/memory.jl", "https://cuda.juliagpu.org/stable/usage/memory/"},
}}

// hugeVector: more than one piece of data is, as a rule.
// noVector: more than the largest machines have.
func noVector(c *ledger.Case) bool { return ledger.Requested(c) >= 64<<40 }

func hugeVector(c *ledger.Case) bool { return ledger.Requested(c) >= 32<<30 }

var (
	rSmaller = cause.Cure{Fix: "fix_shape", Title: "Avoid the dense matrix", Told: "Sparse objects of `Matrix` stay sparse without `as.matrix`; nearest neighbours (`RANN::nn2`, `FNN::get.knn`) in place of `dist`; a merge with `anyDuplicated(x$id)` checked first; or blocks of rows.", Cost: "Some rewriting"}
	rClean   = cause.Cure{Fix: "empty_cache", Title: "Start clean, and remove what is not needed", Told: "A fresh session without a restored .RData. This lists your objects by size in MB; then `rm(name); gc()`:", Kind: "text", Text: "`sort(sapply(ls(), function(n) object.size(get(n))) / 2^20)`", Cost: "Free"}
	rLimit   = cause.Cure{Fix: "raise_memory_limit", Title: "See whether a limit refused", Ways: []cause.Way{
		{For: "Container or batch job", Text: "its limit counts, not the machine's RAM: raise that"},
		{For: "Linux", Text: "`ulimit -v` in the shell should say unlimited"},
		{For: "Windows", Text: "a larger page file; `memory.limit()` does nothing since R 4.2"},
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
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "reached the limit that it sets itself on a Mac",
		Means:    "R on macOS bounds what its vectors take together (R_MAX_VSIZE: 16 GB or the RAM, whichever is more, unless set)[[, here {limit}]]. Objects of earlier steps count, and merging or scaling a large matrix often makes it dense: cells x genes x 8 bytes.",
		Not:      "Reinstalling R or the package.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit, within RAM and a little swap", Told: "Then restart R.", Kind: "shell", Text: "echo 'R_MAX_VSIZE=64Gb' >> ~/.Renviron   # 64Gb: your RAM, or up to twice that (the rest is swap)", Cost: "Slow once it swaps"},
			rClean,
			{Fix: "stream_dataset", Title: "Less at a time", Told: "Seurat: `SelectIntegrationFeatures(nfeatures = 2000)`, and `reference =` with `reduction = \"rpca\"` for large sets; scale only variable features; else keep `Matrix` objects sparse.", Cost: "Some rewriting"},
		},
		Sources: []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory.html", "https://satijalab.org/seurat/articles/integration_large_datasets.html"},
	},
	{
		ID: "r/diagonal", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"diag(Z %*%", "%*% t(Z))", "%*% t(X))", "diag(X %*%"}, If: hugeVector,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: squareSide,
		Headline: "wanted one matrix of {asked}, of which only the diagonal is used",
		Means:    "{asked} of numbers of 8 bytes is a square of about {rows} x {rows}: every row of the data with every row. `diag(Z %*% Sigma %*% t(Z))` makes that square only to read its diagonal; it grows with the square of the rows.",
		Not:      "More RAM, a page file, `memory.limit()`, `gc()` or closing programs: {asked} is not found by tidying up.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "The same numbers without the square", Told: "Where the line is in a package: `trace(FUNCTION, edit = TRUE)` opens that function for this session.", Kind: "text", Text: "`rowSums((Z %*% Sigma) * Z)` in place of `diag(Z %*% Sigma %*% t(Z))`", Cost: "None"},
			{Fix: "upgrade_version", Title: "A newer version of the package, or another function", Told: "`packageVersion(\"PACKAGE\")` shows yours. R squared of mixed models also by `MuMIn::r.squaredGLMM(model)` or `performance::r2(model)`, model by model.", Cost: "Perhaps another call"},
			{Fix: "stream_dataset", Title: "Or fewer rows", Told: "A sample of 20,000 rows needs 3 GiB in that line, 60,000 already 27.", Cost: "Less certain numbers"},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/package=piecewiseSEM", "https://cran.r-project.org/package=MuMIn"},
	},
	{
		ID: "r/dada2", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"run_dada", "DADA2:", "dada2::", "learnErrors"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused {asked} while DADA2 denoised a sample",
		Means:    "Samples are denoised one by one (or pooled), and the memory grows with the number of distinct sequences in one: {asked} in a piece means that this one has far too many. Primers or adapters left on, long reads of poor ends, pairs that were merged before, or a sample many times as deep as the others.",
		Not:      "More threads, or anything about a graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer distinct sequences", Told: "Cut primers first (`cutadapt`); truncate where quality falls and filter harder: `--p-trunc-len 250 --p-max-ee 1.0 --p-trim-left 20` (QIIME 2; in R `truncLen`, `maxEE`). All runs that are compared alike.", Cost: "Reads that were bad"},
			{Fix: "stream_dataset", Title: "Find the sample, and take a part of it", Told: "`qiime demux summarize` or the reads' counts; `seqtk sample -s1 in.fq.gz 200000`. Not pooled: `pool = FALSE`.", Cost: "Rare variants of that sample"},
			{Fix: "raise_memory_limit", Title: "A node with more RAM, asked for explicitly", Told: "And `--p-n-threads 4`: each thread needs its own.", Cost: "A longer wait"},
		},
		Sources: []string{"https://benjjneb.github.io/dada2/bigdata.html", "https://docs.qiime2.org/2024.10/plugins/available/dada2/denoise-single/"},
	},
	{
		ID: "r/module", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Unable to load module", "load action", "lazy loading failed"}, If: noVector,
		Cause: cause.SoftwareBug, Weight: cause.Decisive,
		Headline: "read a nonsense size ({asked}) while it loaded a package: the package is broken, not the memory",
		Means:    "No machine has {asked}, and no data were read yet: the package's compiled part was loading. Built for another version of R or Rcpp than the one that runs, it reads something else as a length.",
		Not:      "More RAM, swap, tidying up the session.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Build that package and Rcpp again", Cost: "some minutes", Told: "In a fresh R session, with the package that the message names:", Kind: "text", Text: "`install.packages(\"Rcpp\"); install.packages(\"PACKAGE\", type = \"source\")`; then install again what failed. After an update of R: `update.packages(ask = FALSE, checkBuilt = TRUE)`."},
			{Fix: "restart_session", Title: "One library folder for this R", Cost: "free", Told: "`.libPaths()` shows where packages come from: folders of an older R, or of conda beside the system's, mix versions."},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/doc/manuals/r-release/R-admin.html", "https://cran.r-project.org/web/packages/Rcpp/vignettes/Rcpp-modules.pdf"},
	},
	{
		ID: "r/no-vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"}, If: noVector,
		Cause: cause.SoftwareBug, Weight: cause.Strong,
		Headline: "was asked for {asked}, a size that is none",
		Means:    "No machine has {asked}: a count went wrong, it is no lack of memory. Compiled code that read a damaged or foreign file, was built for another R, or multiplied counts beyond 2,147,483,647 does that.",
		Not:      "More RAM, swap, tidying up: nothing holds that much.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Find the call, and its counts", Cost: "a minute", Told: "`traceback()` right after the error names it; print `dim()` and `length()` of what goes in. A tenth of the input fails alike: one value or the file is at fault (an NA, a negative number, a file of another version)."},
			{Fix: "upgrade_version", Title: "Build the package again", Cost: "some minutes", Told: "`install.packages(\"PACKAGE\", type = \"source\")` (the one that is called), and after an update of R `update.packages(ask = FALSE, checkBuilt = TRUE)`."},
		},
		Sources: []string{"R/src/main/memory.c", "https://cran.r-project.org/doc/manuals/r-release/R-admin.html"},
	},
	{
		ID: "r/huge-vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"}, If: hugeVector,
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "wanted one vector of {asked}",
		Means:    "{asked} in a single piece is seldom the data themselves. As a rule it is a dense matrix of all pairs (`dist`, `outer`, a kernel), a sparse matrix made dense (`as.matrix`), a `model.matrix` with a factor of thousands of levels, or a merge whose keys repeat on both sides. `traceback()` after the error names the call.",
		Not:      "Swap, `gc()` or `memory.limit()`: {asked} is not found by tidying up.",
		Cures:    []cause.Cure{rSmaller, rSmallerTypes, rClean},
		Sources:  []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
	{
		ID: "r/vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused {asked} of RAM for one vector",
		Means:    "R asked the system for one vector of {asked} and was refused. It is the last piece, beside all that the session holds already: R copies an object when it is changed, so an operation often needs two or three times its data. What the session holds is not in the message.",
		Not:      "`gc()` alone: R has already collected before it gives up.",
		Cures:    []cause.Cure{rClean, rSmallerTypes, rLimit},
		Sources:  []string{"R/src/main/memory.c", "https://stat.ethz.ch/R-manual/R-devel/library/base/html/Memory-limits.html"},
	},
}

var rSmallerTypes = cause.Cure{Fix: "stream_dataset", Title: "Fewer copies, fewer columns", Told: "`data.table::fread(file, select = c(\"id\", \"value\"))` reads only what you need; its `:=` changes columns in place. Sparse matrices stay sparse without `as.matrix`. Else in blocks of rows, or with `arrow` or DuckDB from disk.", Cost: "Some rewriting"}

var hashcatCards = []cause.Card{{
	ID: "hashcat/list", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Not enough allocatable device memory"},
	Cause: cause.BatchTooLarge, Weight: cause.Likely,
	Means: "Before it starts hashcat adds up what hashes, rules and word buffers need on this device, and it was more than is free. Hashes and rules are copied whole. On a weak integrated card it is the device's small share of memory.",
	Not:   "A smaller word list: it is read in pieces anyway.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Free the card", Kind: "text", Text: "Close browsers and games, or run it without a desktop; `hashcat -I` shows the memory of each device.", Cost: "Free"},
		{Fix: "lower_batch_size", Title: "Split hashes or rules", Kind: "text", Text: "Two hash files one after another, a shorter `-r` file.", Cost: "More runs"},
		{Fix: "select_gpu", Title: "Leave that device out", Kind: "text", Text: "Add `-d` with the numbers of the devices to use, for instance `-d 1`.", Cost: "That device's speed"},
	},
	Sources: []string{"hashcat/src/backend.c"},
}}

// heldByOthers: what the process itself uses is a small part of what is taken.
func heldByOthers(c *ledger.Case) bool {
	f := c.F()
	return f.ProcessUsed != nil && f.Allocated != nil && f.ProcessUsed.Bytes*4 < f.Allocated.Bytes
}

func taken(c *ledger.Case) map[string]string {
	f := c.F()
	return map[string]string{"taken": units.AmountWithin(f.Allocated.Bytes, 0), "mine": units.AmountWithin(f.ProcessUsed.Bytes, 0)}
}

var paddleCards = []cause.Card{paddleGrows, {
	ID: "paddle/others", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, If: heldByOthers, Figures: taken,
	Cause: cause.LeakedProcess, Weight: cause.Decisive,
	Headline: "found the card full: others hold nearly all of it",
	Means:    "{taken} of the card is taken, and this process has only {mine} of that: the rest is held by other processes or containers.",
	Not:      "A smaller batch or model: what this process holds is little.",
	Cures: []cause.Cure{
		look,
		{Fix: "select_gpu", Title: "Use another card", Kind: "shell", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "Free, if one is there"},
		{Fix: "close_other_apps", Title: "Containers: give each its own card", Told: "`docker ps` shows which run; in a compose file `device_ids` under `deploy.resources.reservations.devices` decides which card a service sees.", Cost: "A restart"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc"},
}, {
	ID: "paddle/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"},
	Cause: cause.BatchTooLarge, Weight: cause.Likely,
	Headline: "needed {asked} more on the card and found {free}",
	Means:    "{asked} was wanted and {free} was free. \"Has been allocated\" counts this process: with what is free it should be nearly the card's size. If it is far below, another process holds the rest. Else it is the work of a step: batch x image size or length. PaddleOCR sends a large scan to the network whole unless its side is bounded.",
	Not:      "PyTorch's settings: Paddle has an allocator of its own.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Smaller batch", Kind: "text", Text: "Training: `batch_size_per_card` or `batch_size` in the YAML. PaddleOCR in use: `rec_batch_num=1` (`text_recognition_batch_size=1` since 3.0).", Cost: "Slower per sample"},
		look,
		{Fix: "lower_resolution", Title: "Limit the image's side", Kind: "text", Text: "PaddleOCR: `det_limit_side_len=960, det_limit_type=\"max\"` (3.0: `text_det_limit_side_len`, `text_det_limit_type`).", Cost: "Small print may be missed"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "PaddleOCR/paddleocr.py"},
}}

// paddleGrows is what rises from step to step.
var paddleGrows = cause.Card{
	ID: "paddle/grows", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"}, Among: []string{cause.RetainedMemory},
	Headline: "ran out of graphics memory: what it holds grew with each step",
	Means:    "What is allocated rises from step to step in the log, although the steps are alike, so something of each is kept: in the script (losses, outputs, metrics that still hang on their graph), or in the framework itself. The same script with the older executor, or in another version, decides between the two: if it stays flat there, it is the framework.",
	Not:      "A smaller batch, another allocator strategy, or `empty_cache()`: they only put it off, for what is held is in use.",
	Cures: []cause.Cure{
		{Fix: "detach_accumulated", Title: "Keep numbers, not tensors", Told: "Look through what a step adds to lists, meters and sums; `optimizer.clear_grad()` in each step, evaluation under `paddle.no_grad()`.", Kind: "python", Text: "total += float(loss)   # in place of total += loss", Cost: "None"},
		{Fix: "upgrade_version", Title: "See whether it is the new executor (PIR)", Told: "Flat with this: stay with it, or take another version of PaddlePaddle, and report it.", Kind: "env", Text: "export FLAGS_enable_pir_api=0   # before the start; 1 or unset: the new one", Cost: "A few minutes"},
		{Fix: "restart_session", Title: "Find the step's part", Told: "Print `paddle.device.cuda.memory_allocated()` after forward, backward and the optimizer: what no longer goes back is it.", Cost: "Free"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "Paddle/paddle/common/flags.cc"},
}

var openCVCards = []cause.Card{{
	ID: "opencv/opencl", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"core/src/ocl.cpp"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "was refused [[{asked} ]]by the OpenCL device",
	Means:    "OpenCV gave this step to the OpenCL device (a graphics card, often the one in the processor), and that could not make the buffer[[ of {asked}]]. For an image that is far more than a photograph has: a warp, a resize or a panorama with a wrong factor, focal length or rotation stretches it. The plane and fisheye projections do that towards 90 degrees.",
	Not:      "Ending other programs, if the image is that large; settings of PyTorch.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Look at the size before it is made", Told: "A warper tells it without making it (`warper.warpRoi((w, h), K, R)`); one image ten times the others is badly registered: leave it out.", Kind: "python", Text: "print(img.shape, img.dtype)   # before the call that failed", Cost: "Free"},
		{Fix: "lower_resolution", Title: "A smaller image, or another projection", Told: "Panoramas: `--warp spherical` or `cylindrical` in place of plane, `--work_megapix` and `--compose_megapix` lower (OpenCV's sample; -1 is the full size). Memory goes with the pixels.", Cost: "Detail"},
		{Fix: "cpu_offload", Title: "Stay off the OpenCL device", Told: "`cv2.ocl.setUseOpenCL(False)` at the start of the script: then it is RAM that it needs.", Cost: "Slower"},
	},
	Sources: []string{"opencv/modules/core/src/ocl.cpp", "opencv/samples/python/stitching_detailed.py"},
}}

var darknetCards = []cause.Card{{
	ID: "darknet/subdivisions", Kinds: []fact.Kind{fact.CUDAError, fact.PlainDevice}, Said: []string{"darknet:", "darknet detector"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Means: "The images on the card at once are batch divided by subdivisions, and their activations did not fit. With `random=1` the network is enlarged now and then, so a training that ran for a while can still fail.",
	Not:   "Lowering batch below 64 alone: it harms training; subdivisions does not.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Double subdivisions", Kind: "config", Text: "[net]\nbatch=64\nsubdivisions=64   # 32 if it was 16", Cost: "Slower; the same result"},
		{Fix: "lower_resolution", Title: "A smaller network", Kind: "config", Text: "[net]\nwidth=416\nheight=416   # multiples of 32, and random=0 in each [yolo] section", Cost: "Small objects"},
		look,
	},
	Sources: []string{"darknet/README.md", "darknet/src/detector.c"},
}}

var javaCards = []cause.Card{{
	ID: "java/errno-12", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"(errno=12)"},
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "did not start: the system has no {asked} for its heap",
	Means:    "\"Not enough space\" with errno 12 is RAM, not a disk: the system, or the container, refused the {asked} that the heap takes at the start (-Xms). Servers take it whole, and by default a quarter to half of the RAM that they see; beside other programs, or under a container's limit, that can be more than there is.",
	Not:      "Freeing disk space, another Java version, a larger -Xmx.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "A smaller heap", Ways: []cause.Way{
			{For: "Elasticsearch, OpenSearch", Text: "`ES_JAVA_OPTS=\"-Xms512m -Xmx512m\"` (OPENSEARCH_JAVA_OPTS; Bitnami's image: `ELASTICSEARCH_HEAP_SIZE=512m`)"},
			{For: "Any other", Text: "`JAVA_TOOL_OPTIONS=\"-Xms256m -Xmx512m\"` before the start, or -Xms and -Xmx in its own options"},
		}, Cost: "Less for its caches"},
		{Fix: "close_other_apps", Title: "See what there is", Kind: "shell", Text: "free -h; docker stats --no-stream   # the second: limits of containers", Told: "What is available must be more than the heap, by half a GB at least.", Cost: "Free"},
		{Fix: "raise_memory_limit", Title: "Give the container, or Docker's VM, more", Told: "`docker run --memory=2g` (Compose: `mem_limit: 2g`); Docker Desktop: Settings, Resources. On the machine itself 2 GB of swap carry a start.", Cost: "Less for other programs"},
	},
	Sources: []string{"jdk/src/hotspot/os/linux/os_linux.cpp", "https://www.elastic.co/guide/en/elasticsearch/reference/current/advanced-configuration.html", "https://github.com/bitnami/containers/tree/main/bitnami/elasticsearch"},
}, {
	ID: "java/native", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"insufficient memory for the Java Runtime Environment"}, Unsaid: []string{"(errno=12)"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused memory by the system; its heap is not full",
	Means:    "The system refused memory to the Java machine itself[[: {asked}]]. On Windows RAM and page file together are promised away (\"Committed\"), even with RAM free; on Linux RAM, or the limit of a container or shell, is reached. A large -Xmx or -Xms that the machine does not have is the usual reason.",
	Not:      "Raising -Xmx: that is the heap, and the system has none to give.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "Give Java less", Told: "`-Xmx` and `-Xms` at most half of the RAM, or three quarters of a container's limit; a game: `-Xmx4G` in the launcher's JVM arguments.", Cost: "A smaller heap"},
		{Fix: "raise_pagefile", Title: "On Windows: let the page file grow", Kind: "ui", Text: "Windows: Advanced system settings, Performance, Advanced, Virtual memory: automatically manage; restart", Cost: "Disk space"},
		{Fix: "close_other_apps", Title: "See what else holds memory", Kind: "text", Text: "Windows: Task Manager, Performance, Memory, \"Committed\" against its limit. Linux: `free -h`, and `ulimit -v` for a limit of the shell.", Cost: "Free"},
	},
	Sources: []string{"jdk/src/hotspot/share/utilities/vmError.cpp", "jdk/src/hotspot/os/windows/os_windows.cpp"},
}}

// buildCards are those of builds that name no tool.
var buildCards = []cause.Card{
	{
		ID: "build/compilers", Kinds: []fact.Kind{fact.BuildKilled}, Said: []string{"Building wheel", "nvcc", "cicc", "cudafe", "setup.py", "pip install", "Failed building wheel", ".cu.o", "Building CUDA object"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Means: "A compiler was killed for the computer's own memory: one runs for every processor core, and CUDA or template-heavy files need 2 to 8 GB each. The card plays no part, and the code is not at fault.",
		Not:   "Another CUDA version or reinstalling the compiler: the kernel ended it.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "shell", Text: "MAX_JOBS=2 NVCC_THREADS=1 pip install flash-attn --no-build-isolation   # your own package; else make -j2, ninja -j2", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Take a finished wheel", Kind: "text", Text: "Many projects publish wheels for each Python, PyTorch and CUDA version on their releases page; `pip install` the address of one.", Cost: "None"},
			{Fix: "add_swap", Title: "Add swap for the build", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow"},
		},
		Sources: []string{"flash-attention/setup.py", "flash-attention/README.md"},
	},
	{
		ID: "build/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"still running", "Building CUDA object", "Building CXX object", "ninja: build stopped"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "The build was ended by signal 9 while it compiled: too many compilers at once for the memory, as a rule. Each needs 2 to 8 GB with CUDA code. In a container or on a CI machine the limit is theirs, not the host's.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "text", Text: "`cmake --build build --parallel 1`, `make -j1`, `ninja -j1`; in front of `pip install`: `MAX_JOBS=1 CMAKE_BUILD_PARALLEL_LEVEL=1`", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Take a finished wheel", Kind: "text", Text: "Look for a wheel for your Python, PyTorch and CUDA versions on the project's releases page.", Cost: "None"},
		},
		Sources: []string{"flash-attention/setup.py", "cmake/Source/cmcmd.cxx"},
	},
}
