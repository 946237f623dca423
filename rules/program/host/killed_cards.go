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
	Fix: "raise_memory_limit", Title: "Ask the kernel log whether it was a limit or the whole machine", Kind: "shell",
	Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h   # for a container: on its host",
	Ways: []cause.Way{
		{For: "It says \"Memory cgroup\"", Text: "a memory limit was reached: double it where the container or job is started"},
		{For: "It says \"Out of memory\"", Text: "the whole machine was full: close what `ps -eo pid,rss,args --sort=-rss | head` shows at the top, or add swap"},
	},
	Cost: "free",
}

// askFree is the same where a limit is no likelier than other programs.
var askFree = func() cause.Cure {
	ask := askKernel
	ask.Fix = "close_other_apps"
	return ask
}()

var swapForPeak = cause.Cure{Fix: "add_swap", Title: "Add swap for a short peak", Steps: swapSteps, Cost: "disk, and slow when used"}

const bareKill = "\"Killed\" (signal 9) nearly always means that RAM, or the memory limit of a container or job, was full. "

const otherKills = "A `kill -9` or a time limit looks the same."

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
		Means:    "One rank was killed by signal 9, and MPI then ended the others. Usually the named node ran out of RAM, which all its ranks share. Part of each rank's memory (ghost cells, buffers, replicated tables) does not shrink with more ranks. A memory limit of the batch system or a `kill` looks the same.",
		Not:      "More ranks on the same nodes: each brings its own buffers.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run half as many ranks per node, on twice the nodes", Told: "N is half of today's number: Slurm `--ntasks-per-node=N`, Open MPI `mpirun --map-by ppr:N:node`, MPICH or Intel MPI `mpiexec -ppn N`. Hybrid codes can use threads instead (`OMP_NUM_THREADS`).", Cost: "more nodes"},
			{Fix: "raise_memory_limit", Title: "Request all memory of each node", Told: "Slurm: `--mem=0 --exclusive`. Afterwards `sacct -j JOB -o JobID,MaxRSS,MaxRSSNode,State` shows what was used (JOB: its number).", Cost: "a longer wait"},
			{Fix: "lower_batch_size", Title: "Make the problem per rank smaller", Told: "Use a coarser grid, or fewer k-points, bands or particles at once. If one rank writes all output, it gathers everything: use parallel output.", Cost: "time"},
		},
		Sources: []string{"https://www.open-mpi.org/doc/current/man1/mpirun.1.php", "https://slurm.schedmd.com/sbatch.html"},
	},
	printedArray,
	{
		ID: "linux/killed-loading", Kinds: []fact.Kind{fact.ShellKilled}, If: when.Any(cause.LoadsModel, justLoaded),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program while it loaded a model, most likely because RAM ran out",
		Means:    "A model is read into RAM while it loads: as much as its file, twice that if a 16-bit file becomes 32 bit, and once for every process. " + bareKill + otherKills,
		Not:      "Freeing GPU memory: system RAM ran out.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Load the model with less RAM", Ways: []cause.Way{
				{For: "Transformers", Text: "`from_pretrained(..., torch_dtype=torch.bfloat16, device_map=\"auto\")`, with safetensors files"},
				{For: "A .pth or .bin of your own", Text: "`torch.load(path, mmap=True, weights_only=True)` (PyTorch 2.1)"},
				{For: "Several ranks", Text: "each rank reads the whole file: start fewer, or load in rank 0 and broadcast"},
				{For: "Another program", Text: "use a smaller or more strongly quantised file: its size plus 1 to 2 GB has to fit into RAM"},
			}, Cost: "None"},
			swapForPeak, askKernel,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://docs.pytorch.org/docs/stable/generated/torch.load.html", "https://huggingface.co/docs/transformers/big_models"},
	},
	{
		ID: "linux/killed-vectors", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"likely a header", ".vector_cache", "torchtext.vocab"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program while torchtext loaded word vectors, most likely because RAM ran out",
		Means:    "torchtext reads the whole file of word vectors into RAM: words x dimension x 4 bytes (3 million words of 300 numbers take 3.4 GiB). For a moment it holds them several times. " + bareKill + otherKills,
		Not:      "GPU settings: the vectors are in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load fewer vectors", Told: "Use `torchtext.vocab.Vectors(name, max_vectors=500_000)` in your code, or `build_vocab(..., vectors=...)` with such vectors. The files begin with the most frequent words, so these cover nearly all text.", Cost: "rare words get none"},
			askKernel,
			{Fix: "add_swap", Title: "Add swap for the first load", Steps: swapSteps, Told: "Later runs load the `.pt` file in `.vector_cache`, which takes less RAM.", Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"https://github.com/pytorch/text/blob/main/torchtext/vocab/vectors.py"},
	},
	tensorflowKilled,
	{
		ID: "linux/killed-after-loop", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"100%|"}, If: func(c *ledger.Case) bool { return !whileTraining(c) || loopDone(c) }, Unsaid: []string{"Loading checkpoint shards"}, Figures: platforms.GPUFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program right after a loop had finished, most likely because RAM ran out",
		Means:    "The progress bar had reached 100 %. What follows (joining all results, turning a list into one array, writing it out) often needs a second copy of everything. " + bareKill + otherKills,
		Not:      "[[Settings of {gpu}: a full GPU raises an error instead.]]",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "stream_dataset", Title: "Write results out as they come", Told: "Save a file for every 10,000 results (`np.save`, `torch.save`) instead of joining one long list at the end, or fill an array on disk. A run on a tenth of the data shows whether the amount is the reason.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"all.npy\", mode=\"w+\", dtype=np.float32, shape=(n, width))   # n results of width numbers\nout[i] = result   # in the loop; on disk, not in RAM", Cost: "some rewriting"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "numpy/lib/_format_impl.py"},
	},
	{
		ID: "linux/killed-in-loop", Kinds: []fact.Kind{fact.ShellKilled}, If: inLoop, Figures: loopFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program in the middle of a loop, most likely because RAM ran out",
		Means:    "The loop had done {done} of {all} iterations. If each one keeps something (decoded images, rows, objects in a list), all of them need {times} times as much RAM. " + bareKill + otherKills,
		Not:      "[[Settings of {gpu}: a full GPU raises an error instead.]]",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep less from each iteration", Told: "Keep file paths, not decoded images. Write results out every thousand iterations, or fill one array of the final type (`uint8`, `float32`) on disk.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"data.npy\", mode=\"w+\", dtype=np.uint8, shape=shape)   # shape: of the whole\nout[i] = x   # in the loop, instead of appending to a list", Cost: "some rewriting"},
			askFree,
			{Fix: "lower_num_workers", Title: "Use fewer worker processes", Told: "Each holds what it works on, and often its own copy of the data: `num_proc=1`, `n_jobs=1`, `num_workers=0`.", Cost: "time"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://numpy.org/doc/stable/reference/generated/numpy.lib.format.open_memmap.html"},
	},
	{
		ID: "linux/killed-training", Kinds: []fact.Kind{fact.ShellKilled}, If: whileTraining,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the training, most likely because RAM ran out",
		Means:    "In training the data usually fills RAM: a data set that every loader worker gradually copies, batches waiting in queues, or results that the loop collects. " + bareKill + otherKills,
		Not:      "Freeing GPU memory: a full GPU raises an error instead.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use fewer data loader workers, and keep less in RAM", Ways: []cause.Way{
				{For: "It fails in the first epoch", Text: "run once with `num_workers=0` (some scripts: `--workers 0`), then try 2. Read samples in `__getitem__`, do not cache them"},
				{For: "It fails after several epochs", Text: "collect `loss.item()` instead of `loss`, keep no lists of outputs or images, and limit caches that grow"},
			}, Cost: "the GPU may wait for data"},
			askFree, swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "linux/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"Killed: 9"}, Figures: platforms.GPUFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely because RAM ran out",
		Means:    bareKill + otherKills + " If it always stops at the same step, that step creates something large. If the time varies, memory grows, or other programs take the RAM.",
		Not:      "[[Settings of {gpu}: a full GPU raises an error instead.]]",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "lower_num_workers", If: inPython, Title: "Use less memory at once", Told: "Run half as many processes: each usually has its own copy of the data. Read data in parts: `pd.read_csv(path, usecols=[...], chunksize=100_000)`, `np.load(path, mmap_mode=\"r\")`. Use a smaller or quantised model.", Cost: "some rewriting or time"},
			{Fix: "lower_num_workers", If: when.Not(inPython), Title: "Use less memory at once", Told: "Run fewer processes, threads or jobs (in a build `make -j2`), with smaller inputs and caches.", Cost: "time"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://pandas.pydata.org/docs/user_guide/scale.html"},
	},
	{
		ID: "linux/build-killed", Kinds: []fact.Kind{fact.BuildKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed the compiler: the build needed more RAM than there was",
		Means:    "Most likely too many compilers ran at once (`-j`, by default often one per core). Each needs about 1 GB for heavy C++ templates, or 2 to 6 GB for CUDA kernels. The source code is usually fine.",
		Not:      "Cleaning first: it only loses the files that are finished.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Run fewer compile jobs at once", Told: "One job for every 2 GB of RAM in C++, for every 6 GB in CUDA. If you use 2 or fewer already, use one. Finished files are kept: start it again in the same folder.", Ways: []cause.Way{
				{For: "make", Text: "`make -j2`"},
				{For: "CMake", Text: "`cmake --build build --parallel 2`"},
				{For: "ninja", Text: "`ninja -j2`"},
				{For: "pip with CUDA", Text: "`MAX_JOBS=2 pip install --no-build-isolation PACKAGE` (your package)"},
				{For: "cargo", Text: "`cargo build -j 2`"},
				{For: "SCons", Text: "`scons -j2`"},
			}, Cost: "a longer build"},
			{Fix: "add_swap", Title: "Add swap, if a single file needs too much", Steps: swapSteps, Cost: "Disk; slow while it is used"},
			{Fix: "upgrade_version", If: func(c *ledger.Case) bool { return c.Near("pip install", "Building wheel", "setup.py") }, Title: "Install a prebuilt package", Told: "Look for a wheel or package for your Python, CUDA and system version.", Cost: "free"},
		},
		Sources: []string{"gcc/gcc.cc", "ninja/doc/manual.asciidoc", "pytorch/torch/utils/cpp_extension.py", "cmake/Help/manual/cmake.1.rst"},
	},
}
