package step

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// HostLimit spells the limit the way of whoever set it, at twice the
// value the log shows.
func HostLimit(c *ledger.Case) []Step {
	path := ledger.CgroupPath(c)
	container, lxc := lxcContainer(path)
	switch {
	case reader.RefusedByAllocator(c):
		return AddressSpace(c)
	case lxc:
		return []Step{{Kind: "shell", Text: fmt.Sprintf("pct set %s --memory %s   # on the Proxmox host, in MiB; lxc: lxc.cgroup2.memory.max", container, doubledMiB(c))}}
	case c.In("slurm"):
		return []Step{{Kind: "shell", Text: "#SBATCH --mem=" + doubled(c, "G", "64G") + "   # in the job script; or --mem-per-cpu, or --exclusive for the whole node"}, {Kind: "shell", Text: "sacct -j JOBID -o JobID,State,ReqMem,MaxRSS"}}
	case c.In("kubernetes") || strings.Contains(path, "kubepods"):
		limit := doubled(c, "Gi", "32Gi")
		return []Step{{Kind: "config", Text: "resources:\n  requests: {memory: " + limit + "}\n  limits: {memory: " + limit + "}"}, {Kind: "shell", Text: "kubectl top pod POD --containers"}}
	case strings.Contains(path, ".service"):
		unit := path[strings.LastIndexByte(path[:strings.Index(path, ".service")], '/')+1 : strings.Index(path, ".service")]
		return []Step{{Kind: "shell", Text: "sudo systemctl set-property " + quote.Shell(unit+".service") + " MemoryMax=" + doubled(c, "G", "32G")}}
	case strings.Contains(path, "init.scope"):
		return []Step{{Kind: "config", Text: "# %UserProfile%\\.wslconfig, then: wsl --shutdown\n[wsl2]\nmemory=24GB\nswap=16GB"}}
	case c.Root(fact.WorkerBudget):
		return []Step{{Kind: "python", Text: "from dask.distributed import Client, LocalCluster\nclient = Client(LocalCluster(n_workers=2, threads_per_worker=2, memory_limit=\"" + doubled(c, "GiB", "16GiB") + "\"))   # or: dask worker --memory-limit"}}
	case c.Root(fact.YARNKill):
		return []Step{{Kind: "shell", Text: "spark-submit --executor-memory 8g --conf spark.executor.memoryOverhead=2g ..."}}
	}
	if ledger.OnCluster(c) {
		return []Step{{Kind: "shell", Text: "#SBATCH --mem=" + doubled(c, "G", "64G") + "   # in the job script; PBS: #PBS -l mem=, LSF: #BSUB -M"}}
	}
	limit := doubled(c, "g", "32g")
	steps := []Step{{Kind: "shell", Text: "docker run --memory=" + limit + " --memory-swap=" + limit + " IMAGE"}}
	if !ledger.Capped(c) {
		steps = append(steps, Step{Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # says whether a limit or the machine was at its end"})
	}
	return steps
}

// lxcContainer is the number of a container of Proxmox: its cgroup is /lxc/101.
func lxcContainer(path string) (string, bool) {
	_, rest, ok := strings.Cut(path, "/lxc/")
	id, _, _ := strings.Cut(rest, "/")
	_, number := ledger.Whole(id)
	return id, ok && number
}

func doubledMiB(c *ledger.Case) string {
	if limit := c.F().Limit; limit != nil && limit.Bytes > 0 && limit.Bytes < units.TiB {
		return strconv.FormatInt(ledger.CeilDiv(2*limit.Bytes, units.MiB), 10)
	}
	return "16384"
}

// AddressSpace look for what refused, and lift it.
func AddressSpace(*ledger.Case) []Step {
	return []Step{
		{Kind: "shell", Text: "ulimit -v unlimited   # in the shell that starts the program; `ulimit -v` alone shows the limit, in KiB"},
		{Kind: "shell", Text: "sysctl vm.overcommit_memory   # 2 refuses too, with memory free: sudo sysctl vm.overcommit_memory=0"},
	}
}

// doubled is twice the known limit in whole GiB, or a fallback.
func doubled(c *ledger.Case, suffix, fallback string) string {
	gib := TwiceLimit(c)
	switch {
	case gib == 0:
		return fallback
	case c.F().Limit.Bytes < units.GiB/2:
		return strconv.FormatInt(ledger.CeilDiv(2*c.F().Limit.Bytes, units.MiB), 10) + strings.NewReplacer("G", "M", "g", "m").Replace(suffix)
	}
	return strconv.FormatInt(gib, 10) + suffix
}

// TwiceLimit is that in GiB, 0 if the log does not state a limit.
func TwiceLimit(c *ledger.Case) int64 {
	limit := c.F().Limit
	if limit == nil || limit.Bytes <= 0 || limit.Bytes > units.TiB {
		return 0
	}
	return ledger.CeilDiv(2*limit.Bytes, units.GiB)
}

// Stream reads data piece by piece.
func Stream(c *ledger.Case) []Step {
	if ledger.GrowsList(c) {
		return []Step{{Kind: "python", Text: `for row in read():   # a generator: use each row and let go of it
    use(row)
# or keep the newest only: rows = collections.deque(maxlen=1000)
# or, for numbers: an array.array or NumPy array takes 4 or 8 bytes each, a list 36`}}
	}
	return []Step{{Kind: "python", Text: `from datasets import load_dataset

data = load_dataset("json", data_files="train.jsonl", split="train", streaming=True)
# arrays: numpy.load("data.npy", mmap_mode="r")`}}
}
