package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// forking are frames and words of a process that starts another one as a copy
// of itself: CPython's multiprocessing (forking.py in 2.7, popen_fork.py since
// 3.4), os.fork, and shells. startsProgram are those of subprocess.
var (
	forking       = []string{"os.fork()", "popen_fork.py", "multiprocessing/forking.py", "fork: Cannot allocate memory", "fork: retry"}
	startsProgram = []string{"_fork_exec", "_execute_child", "_posixsubprocess.fork_exec", "subprocess.py"}
	overcommits   = cause.Cure{If: when.Not(reader.OnWindows), Fix: "raise_memory_limit", Title: "Let the kernel promise the copy", Kind: "shell", Text: "sysctl vm.overcommit_memory; free -h\nsudo sysctl vm.overcommit_memory=1", Cost: "A real shortage then ends in a kill, not in a refusal"}
)

// forkCards are cards of a refused fork: the kernel counts the whole parent for
// the child, though hardly a page is copied (linux/mm/util.c,
// __vm_enough_memory; kernel/fork.c, dup_mmap).
var forkCards = []cause.Card{
	{
		ID: "other/fork", Kinds: []fact.Kind{fact.PythonMemory}, Said: forking,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not start another process: there was no memory for a copy of this one",
		Means:    "`fork` failed, the start of a worker process. The child begins as a copy of its parent, and the kernel wants room for all that the parent may write to, though hardly a page is copied. So the larger the parent at that moment, and the more workers there are, the sooner it is refused; RAM may look free.",
		Not:      "A smaller batch on a graphics card, or catching the error: the worker is missing.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Fewer workers, started before the data", Told: "`num_workers=0` (or `Pool(1)`) shows whether it is that; then 1 or 2. Start the pool or the loader's first epoch before large arrays are loaded, and hold data memory-mapped. In Python 3 `multiprocessing.set_start_method(\"forkserver\")` at the very start copies a small process in place of this one.", Cost: "Data may be slower"},
			overcommits,
			calls.SwapBridge,
		},
		Later:   "It fails after hours, not at the start: the parent or its workers grow; watch `ps -eo pid,rss,args --sort=-rss | head`.",
		Sources: []string{"cpython/Lib/multiprocessing/popen_fork.py", "cpython/Lib/multiprocessing/context.py", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html", "https://man7.org/linux/man-pages/man2/fork.2.html"},
	},
	{
		ID: "other/start-program", Kinds: []fact.Kind{fact.PythonMemory}, Said: startsProgram,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not start another program: there was no memory for a copy of this one",
		Means:    "The script started a program (`subprocess`, `os.system`), and the system refused the `fork` that comes first: the kernel wants room for all that the parent may write to, though it is dropped at once. It is the size of this script that counts, not the program's.",
		Not:      "Looking into the program that was to be started: it never ran.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Start it while the script is small", Told: "Before large arrays are loaded, or from a helper process that is started first and does nothing else. Python 3.10 and later use `vfork` on Linux, which needs no such room: `python --version`.", Cost: "Some rewriting"},
			overcommits,
			calls.SwapBridge,
		},
		Sources: []string{"cpython/Modules/_posixsubprocess.c", "https://docs.python.org/3/whatsnew/3.10.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
}
