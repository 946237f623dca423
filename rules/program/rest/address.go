package rest

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// addressCards are about a limit on address space that a pasted `ulimit -a` states.
var addressCards = []cause.Card{{
	ID: "rest/address-limit", If: func(c *ledger.Case) bool {
		return reader.RefusedByAllocator(c) && mostAddresses(c) > ledger.Requested(c)
	},
	Figures: func(c *ledger.Case) map[string]string {
		return map[string]string{"most": units.Amount(mostAddresses(c))}
	},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "reached its limit on virtual memory (`ulimit -v`), {most}",
	Means: "`ulimit -a` in the log limits each process to {most} of virtual memory. At that limit the system refuses even a small request, however much RAM is free. Threads, mapped files and libraries count too, so less than {most} was in use as RAM.",
	Not:   "Swap, or a machine with more RAM: the limit stays the same.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Lift the limit on virtual memory", Told: "In the shell that starts the program, or in the job's script. If it says \"cannot modify limit\", the batch system or the administrator sets it: ask for more memory for the job (Grid Engine `-l h_vmem=64G`, Slurm `--mem=64G`), or for a higher limit in /etc/security/limits.conf.", Kind: "shell", Text: "ulimit -v unlimited && ulimit -v", Cost: "free"},
		{Fix: "lower_num_workers", Title: "Use fewer threads", Told: "Each thread reserves address space for its stack and its own heap. Set the program's option for threads or jobs to 1, or `OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 RAYON_NUM_THREADS=1 MALLOC_ARENA_MAX=2` before the command.", Cost: "time"},
		{Fix: "stream_dataset", Title: "Read less at once", Told: "Use the program's option for chunk or batch size, or a part of the input, until the limit is higher.", Cost: "time"},
	},
	Sources: []string{"https://man7.org/linux/man-pages/man2/getrlimit.2.html", "https://man7.org/linux/man-pages/man3/mallopt.3.html"},
}}

// mostAddresses is what the shell allows a process, 0 where nothing says so.
func mostAddresses(c *ledger.Case) int64 {
	x, _ := c.Fact("address_limit")
	return ledger.SizeOf(x.Size)
}
