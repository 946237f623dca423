package host

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
	"github.com/oomdoc/oomdoc/rules/when"
)

// askKernel lets the kernel say whether it was memory, and whose.
var askKernel = cause.Cure{
	Fix: "raise_memory_limit", Title: "Check the kernel log: was it a limit or the machine?", Kind: "shell",
	Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h   # for a container: on its host",
	Ways: []cause.Way{
		{For: "It says \"Memory cgroup\"", Text: "a memory limit was reached: double it where the container or job is started"},
		{For: "It says \"Out of memory\"", Text: "the whole machine was full: close what `ps -eo pid,rss,args --sort=-rss | head` shows on top, or add swap"},
	},
	Cost: "A look is free",
}

// askFree is the same where a limit is no likelier than other programs.
var askFree = func() cause.Cure {
	ask := askKernel
	ask.Fix = "close_other_apps"
	return ask
}()

var swapForPeak = cause.Cure{Fix: "add_swap", Title: "Add swap for a short peak", Steps: swapSteps, Cost: "Disk; slow while it is used"}

const bareKill = "Signal 9 (SIGKILL) nearly always comes from the kernel: RAM, or the memory limit of a container or job, was full. "

const otherKills = "A `kill -9`, a time limit or an orchestrator looks the same."

// whileTraining: something was trained, or a loop counted its steps with a loss.
func whileTraining(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	return c.Training() || s != nil && strings.Contains(strings.ToLower(s.Text), "loss")
}

// justLoaded: the weights had been read, and no step of a training was counted.
func justLoaded(c *ledger.Case) bool {
	return c.Near("Loading checkpoint shards") && c.Signal("many_steps", "few_steps") == nil
}

// inLoop: a progress bar had counted much of a loop, which is no training.
func inLoop(c *ledger.Case) bool { return !whileTraining(c) && loopFigures(c) != nil }

// loopDone: a progress bar stood at its end just before the kill, not one of an
// epoch.
func loopDone(c *ledger.Case) bool {
	n, m := bar(c)
	return n > 0 && n == m && !strings.Contains(strings.ToLower(c.Signal("many_steps").Text), "loss") && !strings.Contains(strings.ToLower(c.Signal("many_steps").Text), "epoch")
}

// loopFigures are how far the loop had come, nil where no bar shows it.
func loopFigures(c *ledger.Case) map[string]string {
	n, m := bar(c)
	if n < 10 || m <= n {
		return nil
	}
	return map[string]string{"done": ledger.Thousands(n), "all": ledger.Thousands(m), "times": strconv.FormatFloat(float64(m)/float64(n), 'f', 1, 64), "gpu": platforms.Graphics(c)}
}

// bar is what a progress bar close before the failure had counted, 0 without one.
func bar(c *ledger.Case) (done, all int64) {
	s := c.Signal("many_steps")
	if s == nil || s.Line > c.Failure.EndLine || c.Failure.Line-s.Line > 3 {
		return 0, 0
	}
	counted := s.Text[:max(0, strings.Index(s.Text, " ["))]
	before, after, _ := strings.Cut(counted[strings.LastIndexAny(counted, "| ")+1:], "/")
	done, _ = strconv.ParseInt(before, 10, 64)
	all, _ = strconv.ParseInt(after, 10, 64)
	return done, all
}

var killedCards = []cause.Card{
	{
		ID: "linux/mpi-killed", Kinds: []fact.Kind{fact.ShellKilled, fact.RankKilled}, Said: []string{"exited on signal 9", "KILL SIGNAL: 9", "EXIT STRING: Killed (signal 9)", "BAD TERMINATION OF ONE"}, Unsaid: []string{"worker process"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed one rank of an MPI job, most likely because its node ran out of RAM",
		Means:    "One rank got signal 9, and MPI then ended the others. Usually the node that is named ran out of RAM: its ranks share it, and part of what each one holds (ghost cells, communication buffers, replicated tables) does not shrink when ranks are added. The rank that is named need not be the one that grew. A memory limit of the batch system or a `kill` looks the same.",
		Not:      "More ranks on the same nodes: each brings its own buffers.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run half as many ranks per node", Told: "The same ranks on twice the nodes, with N for half of today's number: `mpirun --map-by ppr:N:node` (Open MPI), `mpiexec -ppn N` (MPICH, Intel MPI), Slurm `--ntasks-per-node=N`. Hybrid codes use threads instead: `OMP_NUM_THREADS`.", Cost: "More nodes"},
			{Fix: "raise_memory_limit", Title: "Request all memory of the node", Told: "Slurm: `--mem=0 --exclusive`. Afterwards `sacct -j JOB -o JobID,MaxRSS,MaxRSSNode,State` (JOB: its number) shows what was used.", Cost: "A longer wait"},
			{Fix: "lower_batch_size", Title: "Reduce the problem size per rank", Told: "A coarser grid, or fewer k-points, bands or particles at once. If one rank writes all output, it gathers everything: write in parallel.", Cost: "Time"},
		},
		Sources: []string{"https://www.open-mpi.org/doc/current/man1/mpirun.1.php", "https://slurm.schedmd.com/sbatch.html"},
	},
	printedArray,
	{
		ID: "linux/killed-loading", Kinds: []fact.Kind{fact.ShellKilled}, If: when.Any(cause.LoadsModel, justLoaded),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program when it loaded a model, most likely for RAM",
		Means:    "Weights usually pass through RAM while a model loads: as much as their file, twice that if a 16-bit file is loaded in 32 bit, and once for every process. " + bareKill + otherKills,
		Not:      "Freeing graphics memory: the kill is about RAM.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Load the model with less RAM", Ways: []cause.Way{
				{For: "Transformers", Text: "`from_pretrained(..., torch_dtype=torch.bfloat16, device_map=\"auto\")` with safetensors files: RAM then holds little more than one file of the model at a time"},
				{For: "A .pth or .bin of your own", Text: "`torch.load(path, mmap=True, weights_only=True)` (PyTorch 2.1)"},
				{For: "Several ranks", Text: "each reads the whole file: start fewer, or load in rank 0 and broadcast"},
				{For: "Another program", Text: "a smaller or more quantised file: its size and 1 to 2 GB more have to fit into RAM"},
			}, Cost: "None for quality"},
			swapForPeak, askKernel,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://docs.pytorch.org/docs/stable/generated/torch.load.html", "https://huggingface.co/docs/transformers/big_models"},
	},
	{
		ID: "linux/killed-vectors", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"likely a header", ".vector_cache", "torchtext.vocab"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely for RAM, while torchtext loaded word vectors",
		Means:    "torchtext reads the whole file of word vectors: words x dimension x 4 bytes (3 million words of 300 numbers are 3.4 GiB), and more than once for a moment: the file's lines, the tensor, and the copy that it saves in `.vector_cache`. " + bareKill + otherKills,
		Not:      "Graphics card settings: the vectors are in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load fewer vectors", Told: "Where your code loads them: `torchtext.vocab.Vectors(name, max_vectors=500_000)`, or `build_vocab(..., vectors=...)` with such vectors. The files begin with the most frequent words, so these cover nearly all text.", Cost: "Rare words have none"},
			askKernel,
			{Fix: "add_swap", Title: "Add swap for the first load", Steps: swapSteps, Told: "Later runs load the `.pt` file in `.vector_cache`, which takes less RAM.", Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"https://github.com/pytorch/text/blob/main/torchtext/vocab/vectors.py"},
	},
	tensorflowKilled,
	{
		ID: "linux/killed-after-loop", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"100%|"}, If: func(c *ledger.Case) bool { return !whileTraining(c) || loopDone(c) }, Unsaid: []string{"Loading checkpoint shards"}, Figures: platforms.GPUFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely for RAM, after a loop that had run through",
		Means:    "A progress bar had reached 100 %. What usually follows (joining all results, turning a list into one array, writing it out) needs a second copy of everything for a moment. " + bareKill + otherKills,
		Not:      "[[Settings of {gpu}: a full card raises an error instead.]]",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "stream_dataset", Title: "Write results out as they come", Told: "Not as a list that is joined at the end: a file for every 10,000 results (`np.save`, `torch.save`), or rows of one preallocated file. To see first whether it is the amount, run it on a tenth of the data.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"all.npy\", mode=\"w+\", dtype=np.float32, shape=(n, width))   # n results of width numbers\nout[i] = result   # in the loop; on disk, not in RAM", Cost: "Some rewriting"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "numpy/lib/_format_impl.py"},
	},
	{
		ID: "linux/killed-in-loop", Kinds: []fact.Kind{fact.ShellKilled}, If: inLoop, Figures: loopFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program in the middle of a loop, most likely for RAM",
		Means:    "A loop had done {done} of {all} iterations; if each one keeps something (decoded images, rows, objects in a list), the whole loop needs {times} times as much RAM. " + bareKill + otherKills,
		Not:      "[[Settings of {gpu}: a full card raises an error instead.]]",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep less from each iteration", Told: "Keep file paths, not decoded images. Fill one preallocated array of the final type (`uint8`, `float32`), on disk if it is large. Write results out every thousand iterations.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"data.npy\", mode=\"w+\", dtype=np.uint8, shape=shape)   # shape: of the whole\nout[i] = x   # in the loop, instead of appending to a list", Cost: "Some rewriting"},
			askFree,
			{Fix: "lower_num_workers", Title: "Use fewer worker processes", Told: "Each holds what it works on, and often its own copy of the data: `num_proc=1`, `n_jobs=1`, `num_workers=0`.", Cost: "Time"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://numpy.org/doc/stable/reference/generated/numpy.lib.format.open_memmap.html"},
	},
	{
		ID: "linux/killed-training", Kinds: []fact.Kind{fact.ShellKilled}, If: whileTraining,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the training, most likely for RAM",
		Means:    "In training it is usually the data that fills RAM: a data set held as Python objects and copied bit by bit into every loader worker, batches waiting in queues, or results that the loop collects. " + bareKill + otherKills,
		Not:      "Freeing graphics memory: a full card raises an error instead.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use fewer data loader workers, and keep less in RAM", Ways: []cause.Way{
				{For: "It fails in the first epoch", Text: "run once with `num_workers=0` (some scripts: `--workers 0`) to see what one process needs, then use 2. Read samples in `__getitem__`, do not cache them"},
				{For: "It fails after several epochs", Text: "memory climbs: collect `loss.item()`, not `loss`, keep no lists of outputs or images, and bound buffers and caches that grow"},
			}, Cost: "The card may wait for data"},
			askFree, swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "linux/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"Killed: 9"}, Figures: platforms.GPUFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely for RAM",
		Means:    bareKill + otherKills + " If it always stops at the same step, that step loads or makes something large. If the time varies, something grows, or other programs take the RAM.",
		Not:      "[[Settings of {gpu}: a full card raises an error instead.]]",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "lower_num_workers", If: inPython, Title: "Use less memory at once", Told: "Run half as many processes: each usually holds its own copy of the data. Read data in pieces (`pd.read_csv(path, usecols=[...], chunksize=100_000)`, `np.load(path, mmap_mode=\"r\")`); use shorter videos, fewer or smaller images, or a quantised model.", Cost: "Some rewriting or time"},
			{Fix: "lower_num_workers", If: when.Not(inPython), Title: "Use less memory at once", Told: "Fewer processes, threads or jobs (a build: `make -j2`), smaller inputs, smaller caches.", Cost: "Time"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://pandas.pydata.org/docs/user_guide/scale.html"},
	},
	{
		ID: "linux/build-killed", Kinds: []fact.Kind{fact.BuildKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed a compiler: the build needed more RAM than it had",
		Means:    "The kernel ended a compiler because RAM ran out. As many run side by side as the build was told or allows itself (`-j`, often one per core), and each takes what its file needs: about 1 GB for heavy C++ templates, 2 to 6 GB for CUDA kernels. The sources are usually fine.",
		Not:      "Cleaning first: it only loses the files that are finished.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Run fewer compile jobs", Told: "One for every 2 GB of RAM in C++, every 6 GB in CUDA; already 2 or fewer: one. Finished files are kept: start again in the same folder.", Ways: []cause.Way{
				{For: "make", Text: "`make -j2`"},
				{For: "CMake", Text: "`cmake --build build --parallel 2`"},
				{For: "ninja", Text: "`ninja -j2`"},
				{For: "pip with CUDA", Text: "`MAX_JOBS=2 pip install --no-build-isolation PACKAGE` (the package that you install)"},
				{For: "cargo", Text: "`cargo build -j 2`"},
			}, Cost: "A longer build"},
			{Fix: "add_swap", Title: "Add swap, if a single file needs too much", Steps: swapSteps, Cost: "Disk; slow while it is used"},
			{Fix: "upgrade_version", If: func(c *ledger.Case) bool { return c.Near("pip install", "Building wheel", "setup.py") }, Title: "Install a prebuilt package", Told: "Look for a wheel or package for your versions of Python, CUDA and system.", Cost: "None"},
		},
		Sources: []string{"gcc/gcc.cc", "ninja/doc/manual.asciidoc", "pytorch/torch/utils/cpp_extension.py", "cmake/Help/manual/cmake.1.rst"},
	},
}
