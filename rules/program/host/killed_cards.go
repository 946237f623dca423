package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
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

// justLoaded: the weights had been read, and no step of a training was counted.
func justLoaded(c *ledger.Case) bool {
	return c.Near("Loading checkpoint shards") && c.Signal("many_steps", "few_steps") == nil
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
		ID: "linux/killed-loading", Kinds: []fact.Kind{fact.ShellKilled}, If: when.Any(cause.LoadsModel, justLoaded, activity.ReadsModel),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program while it loaded a model, most likely because RAM ran out",
		Means:    "A model is read into RAM while it loads: as much as its file, twice that if a 16-bit file becomes 32 bit, and once for every process. " + activity.Kill + activity.OtherKills,
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
		Means:    "torchtext reads the whole file of word vectors into RAM: words x dimension x 4 bytes (3 million words of 300 numbers take 3.4 GiB). For a moment it holds them several times. " + activity.Kill + activity.OtherKills,
		Not:      "GPU settings: the vectors are in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load fewer vectors", Told: "Use `torchtext.vocab.Vectors(name, max_vectors=500_000)` in your code, or `build_vocab(..., vectors=...)` with such vectors. The files begin with the most frequent words, so these cover nearly all text.", Cost: "rare words get none"},
			askKernel,
			{Fix: "add_swap", Title: "Add swap for the first load", Steps: swapSteps, Told: "Later runs load the `.pt` file in `.vector_cache`, which takes less RAM.", Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"https://github.com/pytorch/text/blob/main/torchtext/vocab/vectors.py"},
	},
	tensorflowKilled,
}

// restCards speak where nothing tells what the program was doing.
var restCards = []cause.Card{
	{
		ID: "linux/killed-training", Kinds: []fact.Kind{fact.ShellKilled}, If: activity.Training,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the training, most likely because RAM ran out",
		Means:    "In training the data usually fills RAM: a data set that every loader worker gradually copies, batches waiting in queues, or results that the loop collects. " + activity.Kill + activity.OtherKills,
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
		ID: "linux/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"Killed: 9"}, Figures: activity.Figures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely because RAM ran out",
		Means:    activity.Held + activity.Stage + activity.Kill + activity.OtherKills + " If it always stops at the same step, that step creates something large. If the time varies, memory grows, or other programs take the RAM.",
		Not:      "[[Settings of {gpu}: a full GPU raises an error instead.]]",
		Cures: []cause.Cure{
			// In a batch system's job, instead of the kernel's log, which needs root.
			{Fix: "raise_memory_limit", If: ledger.OnCluster, Title: "Ask the batch system for more memory", Told: "A job may use only what its script asks for, or a small default, however much RAM the node has. Slurm: `#SBATCH --mem=64G`, or `--mem=0` for the whole node. This shows what was asked for (ReqMem) and used (MaxRSS):", Steps: slurmAsk, Cost: "perhaps a longer wait"},
			askKernel,
			{Fix: "lower_num_workers", If: inPython, Title: "Use less memory at once", Told: "[[{option} ]]Start half as many processes: each usually has its own copy of the data. Read data in parts: `pd.read_csv(path, usecols=[...], chunksize=100_000)`, `np.load(path, mmap_mode=\"r\")`. If a tenth of the data is too much as well, look at what is loaded first, such as a model.", Cost: "some rewriting or time"},
			{Fix: "lower_num_workers", If: when.Not(inPython), Title: "Find out what decides: the input, or the start", Told: "[[{option} ]]If it runs with a tenth of the input, give it the input in parts, with fewer threads, jobs or processes (a build: `make -j2`). If not, its fixed part is too large: lower its caches and buffers, or raise the limit.", Cost: "time"},
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
