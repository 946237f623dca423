package host

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// askKernel lets the kernel say whether it was memory, and whose.
var askKernel = cause.Cure{
	Fix: "raise_memory_limit", Title: "Let the kernel say whose memory it was", Kind: "shell",
	Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h",
	Ways: []cause.Way{
		{For: "It says \"Memory cgroup\"", Text: "a limit was reached. Twice today's: `docker update --memory`, Slurm `--mem=`, in WSL `memory=` in .wslconfig"},
		{For: "It says \"Out of memory\"", Text: "the whole machine: close what `ps -eo pid,rss,args --sort=-rss | head` shows on top, or add swap (below)"},
		{For: "Nothing there", Text: "it was not memory; inside a container look on the host instead"},
	},
	Cost: "A look is free",
}

// askFree is the same where a limit is no likelier than other programs.
var askFree = func() cause.Cure {
	ask := askKernel
	ask.Fix = "close_other_apps"
	return ask
}()

var swapForPeak = cause.Cure{Fix: "add_swap", Title: "Swap, for a peak that is only a little too high", Kind: "shell", Text: swap16, Cost: "16 GB of disk, slow while it is used"}

const bareKill = "Signal 9, without a word of its own: nearly always RAM, not the graphics card. The kernel ended it because the machine, or the limit of a container or job, was full. "

const otherKills = "A `kill -9`, a time limit or an orchestrator look the same."

// whileTraining: something was trained, or a loop counted its steps with a loss.
func whileTraining(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	return c.Training() || s != nil && strings.Contains(strings.ToLower(s.Text), "loss")
}

// inLoop: a progress bar had counted much of a loop, which is no training.
func inLoop(c *ledger.Case) bool { return !whileTraining(c) && loopFigures(c) != nil }

// loopFigures are how far the loop had come, nil where no bar shows it.
func loopFigures(c *ledger.Case) map[string]string {
	s := c.Signal("many_steps")
	if s == nil || s.Line > c.Failure.EndLine || c.Failure.Line-s.Line > 3 {
		return nil
	}
	bar := s.Text[:max(0, strings.Index(s.Text, " ["))]
	before, all, _ := strings.Cut(bar[strings.LastIndexAny(bar, "| ")+1:], "/")
	n, err := strconv.ParseInt(before, 10, 64)
	m, other := strconv.ParseInt(all, 10, 64)
	if err != nil || other != nil || n < 10 || m <= n {
		return nil
	}
	return map[string]string{"done": ledger.Thousands(n), "all": ledger.Thousands(m), "times": strconv.FormatFloat(float64(m)/float64(n), 'f', 1, 64)}
}

var killedCards = []cause.Card{
	{
		ID: "linux/mpi-killed", Kinds: []fact.Kind{fact.ShellKilled, fact.RankKilled}, Said: []string{"exited on signal 9", "KILL SIGNAL: 9", "EXIT STRING: Killed (signal 9)", "BAD TERMINATION OF ONE"}, Unsaid: []string{"worker process"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed one rank of an MPI job, most likely for its node's RAM",
		Means:    "Signal 9 for one rank ends them all. As a rule the node that is named was full: its ranks share its RAM, and what each holds (ghost cells, buffers for all others, replicated tables) does not shrink with their number. The rank that is named need not be the one that grew. A limit of the batch system or a `kill` look the same.",
		Not:      "More ranks on the same nodes: each brings its own buffers.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Fewer ranks on a node, threads in their place", Told: "Half of them, over twice the nodes: `mpirun --map-by ppr:8:node`, Slurm `--ntasks-per-node=8`; hybrid codes with `OMP_NUM_THREADS`.", Cost: "More nodes"},
			{Fix: "raise_memory_limit", Title: "Ask for the node's memory, and see what was used", Told: "Slurm `--mem=0 --exclusive`, then `sacct -j JOB -o JobID,MaxRSS,MaxRSSNode,State`; the node's kernel log says \"Out of memory\" if it was that.", Cost: "A longer wait"},
			{Fix: "lower_batch_size", Title: "A smaller part for each rank", Told: "A coarser grid, fewer k-points, bands or particles at once; output written by one rank gathers everything there: write in parallel.", Cost: "Time"},
		},
		Sources: []string{"https://www.open-mpi.org/doc/current/man1/mpirun.1.php", "https://slurm.schedmd.com/sbatch.html"},
	},
	{
		ID: "linux/killed-loading", Kinds: []fact.Kind{fact.ShellKilled}, If: cause.LoadsModel,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program while it loaded a model, most likely for RAM",
		Means:    bareKill + "It was loading a model: weights pass through RAM before they reach a card, at the size of their file, in 32 bit at twice the size of a 16-bit file, and with several processes once for each. " + otherKills,
		Not:      "Freeing the graphics card, or a smaller batch: it never came that far.",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "use_mmap", Title: "Load it in less RAM", Ways: []cause.Way{
				{For: "Transformers", Text: "`from_pretrained(..., torch_dtype=torch.bfloat16, device_map=\"auto\")` with safetensors files: RAM then holds little more than one file of the model at a time"},
				{For: "A .pth or .bin of your own", Text: "`torch.load(path, mmap=True, weights_only=True)` (PyTorch 2.1)"},
				{For: "Several ranks", Text: "each reads the whole file: fewer at once, or load in rank 0 and broadcast"},
			}, Cost: "None for quality"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://docs.pytorch.org/docs/stable/generated/torch.load.html", "https://huggingface.co/docs/transformers/big_models"},
	},
	{
		ID: "linux/killed-vectors", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"likely a header", ".vector_cache", "torchtext.vocab"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely for RAM, while torchtext loaded word vectors",
		Means:    bareKill + "torchtext reads the whole file of word vectors: words x dimension x 4 bytes (3 million words of 300 numbers are 3.4 GiB), and for a moment that more than once: the file's lines, the tensor, and the copy that it then saves in `.vector_cache`. " + otherKills,
		Not:      "A smaller batch, or the graphics card: the vectors are in RAM, and no training had begun.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load fewer vectors", Told: "Where they are loaded: `torchtext.vocab.Vectors(name, max_vectors=500_000)`, or `build_vocab(..., vectors=...)` with such vectors. The files are sorted by how often a word occurs, so that these cover nearly all text; or take a set of fewer dimensions (GloVe has 50, 100, 200).", Cost: "Rare words have none"},
			askKernel,
			{Fix: "add_swap", Title: "Swap, for the first time only", Kind: "shell", Text: swap16, Told: "Once it has been read, `.vector_cache` holds a `.pt` file that loads without the detour.", Cost: "16 GB of disk, slow"},
		},
		Sources: []string{"https://github.com/pytorch/text/blob/main/torchtext/vocab/vectors.py"},
	},
	{
		ID: "linux/killed-in-loop", Kinds: []fact.Kind{fact.ShellKilled}, If: inLoop, Figures: loopFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program in the middle of a loop, most likely for RAM",
		Means:    bareKill + "A loop had gone through {done} of {all}: if what each turn keeps (decoded images, rows, objects in a list) fills RAM, the whole takes {times} times as much. " + otherKills,
		Not:      "Settings of the graphics card. Swap, if memory climbs evenly: the end is far.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep less of each turn", Told: "Paths in place of decoded images; numbers in one array of their final type (`uint8`, `float32`), made before and filled in place, on the disk if it is large; results written out every thousand turns.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"data.npy\", mode=\"w+\", dtype=np.uint8, shape=shape)   # shape: of the whole\nout[i] = x   # in the loop, in place of a list's append", Cost: "Some rewriting"},
			askFree,
			{Fix: "lower_num_workers", Title: "Several processes at once: fewer", Told: "Each holds what it works on, and often a copy of the data: `num_proc=1`, `n_jobs=1`, `num_workers=0`.", Cost: "Time"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://numpy.org/doc/stable/reference/generated/numpy.lib.format.open_memmap.html"},
	},
	{
		ID: "linux/killed-training", Kinds: []fact.Kind{fact.ShellKilled}, If: whileTraining,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the training, most likely for RAM",
		Means:    bareKill + "In training that is the data as a rule: the data set as Python objects, copied little by little into every loader worker, batches that wait in their queues, and what the loop itself collects. " + otherKills,
		Not:      "A smaller batch on the card, or 16 bit there: a card that is full says so.",
		Cures: []cause.Cure{
			askFree,
			{Fix: "lower_num_workers", Title: "Fewer workers, and nothing large in the data set", Ways: []cause.Way{
				{For: "It dies within an epoch", Text: "`num_workers=0` once, to see what one process needs; then 2. Read samples in `__getitem__`, hold paths and labels as NumPy arrays"},
				{For: "It dies after several", Text: "something is kept: `loss.item()` in place of `loss`, no list of outputs or images, `persistent_workers=False`"},
				{For: "At validation or saving", Text: "collect numbers there, not tensors; write checkpoints of one rank only"},
			}, Cost: "The card may wait for data"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "linux/killed-after-loop", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"100%|"}, Unsaid: []string{"Loading checkpoint shards"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely for RAM, after a loop that had run through",
		Means:    bareKill + "A progress bar had reached 100 % before: what follows such a loop, joining all its results, turning a list into one array, writing it out, needs a second copy of everything for a moment. " + otherKills,
		Not:      "Running it again as it is: it dies at the same place, after the same time.",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "stream_dataset", Title: "If results pile up in a list: write them as they come", Told: "In the loop, in place of a list that is joined at the end: a file for every 10,000 results (`np.save`, `torch.save`), or rows of one file made beforehand:", Kind: "python", Text: "out = np.lib.format.open_memmap(\"all.npy\", mode=\"w+\", dtype=np.float32, shape=(n, width))   # n results of width numbers\nout[i] = result   # in the loop; on disk, not in RAM", Cost: "Some rewriting"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "numpy/lib/_format_impl.py"},
	},
	{
		ID: "linux/killed", Kinds: []fact.Kind{fact.ShellKilled}, Unsaid: []string{"Killed: 9"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "killed the program, most likely for RAM",
		Means:    bareKill + otherKills + " When it dies tells much: always at the same step, that step loads or makes something large; after a varying time, something grows, or other programs take the room.",
		Not:      "Settings of the graphics card: a full card is an error of the program, not a kill.",
		Cures: []cause.Cure{
			askKernel,
			{Fix: "lower_num_workers", Title: "Hold less at once", Ways: []cause.Way{
				{For: "Tables", Text: "`pd.read_csv(path, usecols=[...], dtype=...)`, or `chunksize=100_000`; Parquet reads single columns"},
				{For: "Arrays", Text: "`np.load(path, mmap_mode=\"r\")`, float32 in place of float64"},
				{For: "Several processes", Text: "half as many: each is a copy of what it loads"},
				{For: "A model", Text: "in 16 bit, from safetensors or memory-mapped"},
			}, Cost: "Some rewriting or time"},
			swapForPeak,
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://pandas.pydata.org/docs/user_guide/scale.html"},
	},
	{
		ID: "linux/build-killed", Kinds: []fact.Kind{fact.BuildKilled},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed a compiler: too many ran at once for the RAM",
		Means:    "The kernel ended one of the compilers, for RAM. A build starts as many as there are cores (ninja even two more), and each takes what its file needs: about 1 GB for heavy C++ templates, 2 to 6 GB for CUDA kernels. Nothing is wrong with the sources.",
		Not:      "A graphics card or another compiler version: nothing of a build runs on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Fewer at once", Told: "One for every 2 GB of RAM in C++, every 6 GB in CUDA. Finished files are kept: start again in the same folder.", Ways: []cause.Way{
				{For: "make", Text: "`make -j2`"},
				{For: "CMake", Text: "`cmake --build build --parallel 2`"},
				{For: "ninja", Text: "`ninja -j2`"},
				{For: "pip with CUDA", Text: "`MAX_JOBS=2 pip install --no-build-isolation PACKAGE` (the package that you install)"},
				{For: "cargo", Text: "`cargo build -j 2`"},
			}, Cost: "A longer build"},
			{Fix: "add_swap", Title: "Swap, if one file alone is too large", Kind: "shell", Text: swap16, Cost: "16 GB of disk, slow"},
			{Fix: "upgrade_version", Title: "Do not build", Told: "Look for a finished wheel or package for your versions of Python, CUDA and system; in a container or WSL raise its memory first.", Cost: "None"},
		},
		Sources: []string{"gcc/gcc.cc", "ninja/doc/manual.asciidoc", "pytorch/torch/utils/cpp_extension.py", "cmake/Help/manual/cmake.1.rst"},
	},
}
