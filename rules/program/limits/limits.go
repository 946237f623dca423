// Package limits knows who sets limits of system memory, and how each of them is
// raised: Slurm, Kubernetes, Docker, systemd, Proxmox, WSL, Dask, YARN.
package limits

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Steps spell the limit the way of whoever set it, at twice the
// value the log shows.
func Steps(c *ledger.Case) []step.Step {
	path := CgroupPath(c)
	container, lxc := lxcContainer(path)
	switch {
	case reader.RefusedByAllocator(c):
		return step.AddressSpace(c)
	case lxc:
		return []step.Step{{Kind: "shell", Text: fmt.Sprintf("pct set %s --memory %s   # on the Proxmox host, in MiB; lxc: lxc.cgroup2.memory.max", container, doubledMiB(c))}}
	case c.In("snakemake", "nextflow", "cromwell"):
		return []step.Step{{Kind: "text", Text: "In the workflow's own configuration, for the rule or process that failed: the job script is written anew each time."}}
	case c.In("slurm"):
		return []step.Step{{Kind: "shell", Text: "#SBATCH --mem=" + doubled(c, "G", "64G") + "   # in the job script; or --mem-per-cpu, or --exclusive for the whole node"}, {Kind: "shell", Text: "sacct -j JOBID -o JobID,State,ReqMem,MaxRSS"}}
	case c.In("kubernetes") || strings.Contains(path, "kubepods"):
		limit := doubled(c, "Gi", "32Gi")
		return []step.Step{{Kind: "config", Text: "resources:\n  requests: {memory: " + limit + "}\n  limits: {memory: " + limit + "}"}, {Kind: "shell", Text: "kubectl top pod POD --containers"}}
	case strings.Contains(path, ".service"):
		unit := path[strings.LastIndexByte(path[:strings.Index(path, ".service")], '/')+1 : strings.Index(path, ".service")]
		return []step.Step{{Kind: "shell", Text: "sudo systemctl set-property " + quote.Shell(unit+".service") + " MemoryMax=" + doubled(c, "G", "32G")}}
	case strings.Contains(path, "init.scope"):
		return []step.Step{{Kind: "config", Text: "# %UserProfile%\\.wslconfig, then: wsl --shutdown\n[wsl2]\nmemory=24GB\nswap=16GB"}}
	case c.Root(fact.WorkerBudget):
		return []step.Step{{Kind: "python", Text: "from dask.distributed import Client, LocalCluster\nclient = Client(LocalCluster(n_workers=2, threads_per_worker=2, memory_limit=\"" + doubled(c, "GiB", "16GiB") + "\"))   # or: dask worker --memory-limit"}}
	case c.Root(fact.YARNKill):
		return []step.Step{{Kind: "shell", Text: "spark-submit --executor-memory 8g --conf spark.executor.memoryOverhead=2g ..."}}
	}
	if ledger.OnCluster(c) {
		return []step.Step{{Kind: "shell", Text: "#SBATCH --mem=" + doubled(c, "G", "64G") + "   # in the job script; PBS: #PBS -l mem=, LSF: #BSUB -M"}}
	}
	if !ledger.Capped(c) && !c.Says("docker") {
		return []step.Step{{Kind: "text", Text: "If a limit is set, double it. It is set where the container, job or virtual machine is started."}}
	}
	limit := doubled(c, "g", "32g")
	steps := []step.Step{{Kind: "shell", Text: "docker run --memory=" + limit + " --memory-swap=" + limit + " IMAGE"}}
	if !ledger.Capped(c) {
		steps = append(steps, step.Step{Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # says whether a limit or the machine was at its end"})
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

// doubled is twice the known limit in whole GiB, or a fallback.
func doubled(c *ledger.Case, suffix, fallback string) string {
	gib := twiceLimit(c)
	switch {
	case gib == 0:
		return fallback
	case c.F().Limit.Bytes < units.GiB/2:
		return strconv.FormatInt(ledger.CeilDiv(2*c.F().Limit.Bytes, units.MiB), 10) + strings.NewReplacer("G", "M", "g", "m").Replace(suffix)
	}
	return strconv.FormatInt(gib, 10) + suffix
}

// twiceLimit is that in GiB, 0 if the log does not state a limit.
func twiceLimit(c *ledger.Case) int64 {
	limit := c.F().Limit
	if limit == nil || limit.Bytes <= 0 || limit.Bytes > units.TiB {
		return 0
	}
	return ledger.CeilDiv(2*limit.Bytes, units.GiB)
}

// Effect: the limit was reached, so that more than it is needed. How
// much more, no log of a kill says.
func Effect(c *ledger.Case) *effect.Effect {
	gib := twiceLimit(c)
	if gib == 0 || !ledger.Capped(c) || c.Root(fact.YARNKill) || strings.Contains(CgroupPath(c), "init.scope") {
		return nil
	}
	f := c.F()
	held := ""
	if rss := f.KilledRSS; rss != nil && rss.Bytes <= f.Limit.Bytes {
		held = fmt.Sprintf(" The process that was killed held %s of it.", units.Amount(rss.Bytes))
	}
	have := gib * units.GiB
	if f.Limit.Bytes < units.GiB/2 {
		have = 2 * f.Limit.Bytes
	}
	return &effect.Effect{NeedBytes: max(f.Limit.Bytes, ledger.SizeOf(f.KilledRSS)) + 1, HaveBytes: have, Fits: true, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("The limit of %s was reached: more than that is needed, and how much more a kill does not say. A lower bound; %s is twice the limit, to see what it comes to.%s", f.Limit, units.Amount(2*f.Limit.Bytes), held)}
}

// CgroupPath is the path of the cgroup whose limit was reached, "" where the log names none.
func CgroupPath(c *ledger.Case) string {
	f, _ := c.Fact("cgroup")
	return strings.ToLower(f.Text)
}
