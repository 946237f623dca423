package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
)

// forking are frames and words of a process that starts another one as a copy
// of itself: CPython's multiprocessing (forking.py in 2.7, popen_fork.py since
// 3.4), os.fork, and shells. startsProgram are those of subprocess.
var (
	forking       = []string{"os.fork()", "popen_fork.py", "multiprocessing/forking.py", "fork: Cannot allocate memory", "fork: retry"}
	startsProgram = []string{"_fork_exec", "_execute_child", "_posixsubprocess.fork_exec", "subprocess.py"}
	overcommits   = cause.Cure{If: calls.OnLinux, Fix: "raise_memory_limit", Title: "Set `vm.overcommit_memory=1`", Kind: "shell", Text: "sysctl vm.overcommit_memory; free -h\nsudo sysctl vm.overcommit_memory=1", Cost: "A real shortage then ends in a kill"}
)

// forkCard is about a process that was to become two.
func forkCard(id string, said []string, fewer cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.PythonMemory}, Said: said, If: func(c *ledger.Case) bool { return c.Near(forking...) },
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not start another process: no memory for `fork`",
		Means:   "`fork` starts a process as a copy of this one, and it failed. Linux counts all memory that the parent may write to, though hardly any of it is really copied. So a large parent can be refused even if RAM looks free.",
		Cures:   []cause.Cure{fewer, calls.SwapBridge, overcommits},
		Figures: forkLater, Later: "{later}",
		Sources: []string{"cpython/Lib/multiprocessing/popen_fork.py", "cpython/Lib/multiprocessing/context.py", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html", "https://man7.org/linux/man-pages/man2/fork.2.html"},
	}
}

// spawning are frames of a process that starts another one anew and sends it its
// arguments pickled, and of the one that reads them: on Windows always, on macOS
// by default since Python 3.8.
var spawning = []string{"popen_spawn_win32.py", "popen_spawn_posix.py", "multiprocessing/spawn.py"}

// spawnCard is about a process that was sent what the first one holds.
func spawnCard(id string, said []string, fewer cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.PythonMemory}, Said: said, If: func(c *ledger.Case) bool { return c.Near(spawning...) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM while it sent its data to a worker process (MemoryError)",
		Means: "Each worker is a new Python process. Your program sends it the data set with everything it keeps in memory, or the function's arguments (pickled). So each worker holds a copy, and one more exists while it is sent.",
		Not:   "A smaller batch: no batch had been made.",
		Cures: []cause.Cure{
			fewer,
			{Fix: "stream_dataset", Title: "Keep only file names in the data set", Told: "Store paths in `__init__` and read the files in `__getitem__`. Open large arrays there with `np.load(path, mmap_mode=\"r\")`.", Cost: "Some rewriting"},
			calls.PageFile, calls.SwapBridge,
		},
		Sources: []string{"cpython/Lib/multiprocessing/popen_spawn_win32.py", "cpython/Lib/multiprocessing/spawn.py", "https://docs.python.org/3/library/multiprocessing.html"},
	}
}

// forkLater says what grows, where anything ran before.
func forkLater(c *ledger.Case) map[string]string {
	if c.Signal("many_steps") == nil {
		return map[string]string{"later": ""}
	}
	return map[string]string{"later": "It ran before, so the parent or its workers grow. Watch `ps -eo pid,rss,args --sort=-rss | head`."}
}

// ForkCards are cards of a refused fork: the kernel counts the whole parent for
// the child, though hardly a page is copied (linux/mm/util.c,
// __vm_enough_memory; kernel/fork.c, dup_mmap).
var ForkCards = []cause.Card{
	forkCard("other/fork-loader", []string{"torch/utils/data/dataloader.py", "in _MultiProcessingDataLoaderIter", "torch/multiprocessing"}, cause.Cure{
		Fix: "lower_num_workers", Title: "Use fewer data loader workers", Told: "Set `num_workers=0`, or the script's own option for workers. If it starts, try 1.", Cost: "Slower data loading"}),
	forkCard("other/fork", forking, cause.Cure{
		Fix: "lower_num_workers", Title: "Use fewer workers, and start them early", Told: "Test with `Pool(1)`, or `num_workers=0` in a DataLoader. Start the workers before you load large arrays, and memory-map the data. `multiprocessing.set_start_method(\"forkserver\")` at the very start forks from a small process.", Cost: "Less in parallel"}),
	spawnCard("other/spawn-loader", []string{"torch/utils/data/dataloader.py", "in _MultiProcessingDataLoaderIter", "torch/multiprocessing"}, cause.Cure{
		Fix: "lower_num_workers", Title: "Load the data without workers: `num_workers=0`", Told: "Or use the script's own option for workers. If it starts, try 1 or 2.", Cost: "Slower data loading"}),
	spawnCard("other/spawn", spawning, cause.Cure{
		Fix: "lower_num_workers", Title: "Start fewer workers", Told: "DataLoader: `num_workers=0`. Otherwise `Pool(1)`, or the program's own option for processes. If it runs, try 2.", Cost: "Less in parallel"}),
	{
		ID: "other/start-program", Kinds: []fact.Kind{fact.PythonMemory}, Said: startsProgram,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not start another program: no memory for `fork`",
		Means: "The script tried to start a program (`subprocess`, `os.system`), and the system refused the `fork` that comes first. Linux counts all memory that the script may write to. So the size of this script matters, not that of the program.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Start the program before loading data", Told: "Or start it from a small helper process. Python 3.10 and later on Linux usually use `vfork`, which needs no such room; check `python --version`.", Cost: "Some rewriting"},
			overcommits,
			calls.SwapBridge,
		},
		Sources: []string{"cpython/Modules/_posixsubprocess.c", "https://docs.python.org/3/whatsnew/3.10.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
}
