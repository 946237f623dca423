package rest

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// First comes before the programs of a case: where the figures themselves say
// that less work is no answer, no library's usual advice is.
var First = program.Program{Cards: slices.Concat(addressCards, spareCards, juliaCards, poolCards, workspaceCards, vulkanCards, []cause.Card{tenstorrent, fewLayers})}

// parted are words of pools that may have room in pieces only.
var parted = []string{"CustomAllocator", "largest contin", "largest free block", "MAX_MEM_ALLOC"}

// there is what the log states as free, of the card or of the computer.
func there(c *ledger.Case) int64 {
	if c.Free.Has() {
		return c.Free.Bytes
	}
	return ledger.SizeOf(c.F().SystemAvailable)
}

// spare: four times the request and 256 MiB were free, and no limit is stated.
func spare(c *ledger.Case) bool {
	asked := ledger.Requested(c)
	return asked > 0 && there(c) > max(4*asked, 256*units.MiB) && c.F().Limit == nil
}

func spareFigures(c *ledger.Case) map[string]string {
	return map[string]string{"there": units.Amount(there(c))}
}

var spareCards = []cause.Card{
	{
		ID: "figures/spare-card", Kinds: []fact.Kind{fact.RMMAlloc, fact.CuPyAlloc, fact.NumbaAlloc, fact.DeviceAlloc, fact.PlainDevice, fact.CUDAError}, Unsaid: parted, If: when.All(onCard, spare, func(c *ledger.Case) bool { return c.Backend != "vulkan" && !c.In("pytorch") }), Figures: spareFigures,
		Cause: cause.Unknown, Weight: cause.Strong,
		Headline: "was refused {asked} although {there} of GPU memory was free",
		Means:    "Far more was free than was asked for, so the amount of data is not the reason. Three things can be: another process or job filled the card for a moment; an earlier driver error shows only now; or a limit of the process (such as its RAM) was reached.",
		Not:      "Less data, a smaller batch or a larger card: {there} was free.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Watch the card while it runs, with one job at a time", Told: "Use `n_jobs=1` in a search and one worker per card, and end what else is on it. Does it fill up for a moment?", Cost: "slower", Kind: "shell", Text: "nvidia-smi -l 1"},
			{Fix: "restart_session", Title: "Find the first error in the log, then restart", Told: "After a driver error every later call in that process may fail. If an earlier line reports one, solve that.", Cost: "free"},
			{Fix: "upgrade_version", Title: "If it always fails at the same place, update", Told: "Update the library first, then the driver. If it stays, report it with both figures.", Cost: "half an hour"},
			{Fix: "raise_memory_limit", Title: "Check the limits of the process", Told: "RAM of the container or job, `ulimit -v`, and the number of mappings (`wc -l /proc/PID/maps` near `sysctl vm.max_map_count`).", Cost: "free to look"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html", "https://www.kernel.org/doc/Documentation/sysctl/vm.txt"},
	},
	{
		ID: "figures/spare-ram", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc, fact.NumpyAlloc, fact.RustAlloc, fact.BadAlloc}, Unsaid: parted, If: when.All(inRAM, spare), Figures: spareFigures,
		Headline: "was refused {asked} although {there} was free",
		Means:    "The machine still had memory, so most likely a limit stopped this process: of its container or job, `ulimit -v`, a 32-bit program's 2 to 4 GB, or strict overcommit. On Windows RAM and page file count together. Otherwise something filled memory for a moment.",
		Not:      "Less data: {there} was free.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Find the limit, and raise it", Cost: "free to look", Ways: []cause.Way{
				{For: "Linux", Text: "`ulimit -v; cat /sys/fs/cgroup/memory.max; sysctl vm.overcommit_memory`, where the program runs. If overcommit_memory is 2: `sudo sysctl vm.overcommit_memory=0`"},
				{For: "Windows", Text: "Task Manager, Performance, Memory: if \"Committed\" is near its limit, enlarge the page file"},
			}},
			{Fix: "upgrade_version", Title: "Use the 64-bit version", Told: "A 32-bit program can use only 2 to 4 GB, whatever is free.", Cost: "some minutes"},
			{Fix: "close_other_apps", Title: "Watch memory while it runs", Told: "If it fills up for a moment, find out who does that: another job, or a part of this one.", Cost: "a look is free"},
		},
		Sources: []string{"https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html", "https://www.kernel.org/doc/Documentation/sysctl/vm.txt"},
	},
}
