// Package host knows who hands out system memory: the kernel, containers, batch
// systems, Windows.
package host

import (
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/compilers"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
	"github.com/oomdoc/oomdoc/rules/program/host/lowmem"
	"github.com/oomdoc/oomdoc/rules/program/host/systemd"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Host is what is peculiar to the operating system and to what hands out
// its memory: the kernel, containers, batch systems, Windows.
var Host = program.Program{
	Sources: program.Sources{"docker/cli/command/container/opts.go": "--memory --memory-swap"},
	Clues: map[string][]cause.Clue{
		cause.HostMemory: {
			cause.Clue{Look: kernelKilled}.Of(fact.KernelKill),
			cause.Where(when.Not(unexplained), cause.Said(cause.Decisive, "The notebook service says that the session used up its RAM.", fact.ShellKilled, fact.RankKilled)),
			cause.Where(unexplained, cause.Said(cause.Strong, "A process got signal 9: usually the kernel's out-of-memory killer, because RAM ran out. It can also have been ended by hand or by a time limit.", fact.ShellKilled, fact.RankKilled)),
			cause.Said(cause.Decisive, "Kubernetes evicted the pod because the node ran low on memory: the node's shortage, not the pod's own limit.", fact.Evicted),
			cause.Said(cause.Decisive, "systemd-oomd ended a whole group of programs because they waited for memory too long; it acts before memory is gone, so some may have been free.", fact.OOMD),
			cause.Said(cause.Stated, "The job's memory limit was reached, and processes of it were ended. It is system memory, on GPU nodes too.", fact.SlurmKill),
			cause.Said(cause.Stated, "The container reached its own memory limit and was killed.", fact.ContainerKill),
			cause.Said(cause.Decisive, "A Dask worker was ended at 95 % of the share of memory that it was given; the machine may have had more.", fact.WorkerBudget),
			cause.Said(cause.Decisive, "YARN ended the container above its memory limit.", fact.YARNKill),
			cause.Said(cause.Stated, "A compiler was killed: the build needed more RAM than it had.", fact.BuildKilled),
			cause.Said(cause.Likely, "iOS or macOS ended the program at its memory limit.", fact.AppleKill),
			cause.Said(cause.Stated, "NCCL could not make its segments in /dev/shm: shared memory is too small.", fact.NCCLShm),
		},
		cause.ModelTooLarge: {cause.Said(cause.Hint, "On Apple devices the GPU uses system memory (RAM): the model may be too big for the device.", fact.AppleKill)},
		cause.LeakedProcess: {{Look: tableShowsAnother}},
		cause.Unknown:       {cause.Where(unexplained, cause.Said(cause.Weak, "Signal 9 can also come from kill -9, an orchestrator or a time limit.", fact.ShellKilled))},
	},
	Remedies: map[string][]cause.Remedy{cause.HostMemory: remedies},
	Steps:    map[string]func(*ledger.Case) []step.Step{"raise_memory_limit": limits.Steps, "close_other_apps": stepsCloseBiggest},
	Effects:  map[string]func(*ledger.Case) *effect.Effect{"raise_memory_limit": limits.Effect},
	Checks:   map[string]string{"raise_memory_limit": "`systemd-cgtop -m`, `docker stats`, `kubectl top pod` or `sacct -o MaxRSS` stay below the new limit."},
	Useless: map[string]func(*ledger.Case) string{
		"expandable_segments": cardIsNotIt,
		"kill_stale_process":  func(*ledger.Case) string { return "" },
		"bigger_gpu":          cardIsNotIt,
		"add_swap":            idleSwap,
	},
}

// remedies are the cause's own; of loader workers only to those who may have some.
var remedies = func() []cause.Remedy {
	out := slices.Clone(cause.HostRemedies)
	for i, m := range out {
		if m.Fix == "lower_num_workers" {
			out[i].If = when.All(m.If, when.Any(writes, ledger.RunsModels))
		} else if slices.Contains([]string{"use_smaller_model", "use_lower_quant", "use_mmap"}, m.Fix) {
			out[i].If = when.All(m.If, when.Not(when.Any(loaderKilled, writesMemory, when.All(capped, when.Not(cause.LoadsModel)))))
		} else if m.Fix == "close_other_apps" && m.Fit == cause.MayHelp {
			out[i].If = when.All(m.If, when.Not(when.Any(when.Root(fact.BuildKilled), writesMemory)))
		} else if m.Fix == "add_swap" {
			out[i].If = when.All(m.If, when.Not(when.All(inGuest, writesMemory)))
		}
	}
	return out
}()

// idleSwap says why swap does not help; nothing in a batch job, whose reader would
// not think of it.
func idleSwap(c *ledger.Case) string {
	switch {
	case c.In("sge", "snakemake", "cromwell"):
		return "It does not raise what a job may use, and the nodes of a cluster are its administrator's."
	case ledger.OnCluster(c):
		return ""
	case c.In("docker") && c.F().Limit == nil && ledger.Capped(c): // or the whole machine was full
		return "If the container has a limit of its own: swap on the machine does not raise it."
	}
	swap := fix.FixesByID()["add_swap"]
	return swap.Refuted(c)
}

// othersJobs: what else runs on a node of a cluster is other people's.
func othersJobs(c *ledger.Case) string {
	if c.In("sge") {
		return "What else runs on the node belongs to other people."
	}
	usual := fix.FixesByID()["close_other_apps"]
	return usual.Refuted(c)
}

// noModel: nothing shows that a job of Grid Engine runs a model.
func noModel(c *ledger.Case) string {
	if c.In("sge") && !ledger.RunsModels(c) {
		return "Nothing shows that the job runs a model."
	}
	usual := fix.FixesByID()["use_smaller_model"]
	return usual.Refuted(c)
}

func cardIsNotIt(c *ledger.Case) string {
	if !c.Root(ledger.HostKinds...) || !ledger.RunsModels(c) {
		return ""
	}
	return "It adds GPU memory, and system memory (RAM) ran out."
}

// kernelKilled names the victim, what it held, and whether the machine or a
// limit was at its end.
func kernelKilled(c *ledger.Case) cause.Finding {
	why := "The kernel's out-of-memory killer ended "
	if v, ok := c.Fact("victim"); ok && v.Count != nil {
		why += fmt.Sprintf("process %s (%s)", v.Count.Text, v.Text)
	} else {
		why += "a process"
	}
	if rss := c.F().KilledRSS; rss != nil {
		why += fmt.Sprintf(", which held %s", units.Amount(rss.Bytes))
	}
	if !ledger.Capped(c) {
		return cause.Seen(cause.Stated, why+": the machine's memory was used up.", c.Failure.Line)
	}
	why += ": the memory cgroup of a container, job or service reached its limit"
	if limit := c.F().Limit; limit != nil {
		why += fmt.Sprintf(" of %s", units.Amount(limit.Bytes))
	}
	return cause.Seen(cause.Stated, why+", whatever the machine had left.", c.Failure.Line)
}

// stepsCloseBiggest ends the process that the kernel's table shows, where it is
// not of the same program as the one that died.
func stepsCloseBiggest(c *ledger.Case) []step.Step {
	p, ok := ledger.BiggestOther(c)
	if victim, _ := c.Fact("victim"); !ok || p.Name == victim.Text {
		return fix.FixesByID()["close_other_apps"].Steps(c)
	}
	return []step.Step{
		{Kind: "shell", Text: fmt.Sprintf("ps -o pid,user,rss,etime,args -p %d   # held %s when memory ran out", p.PID, units.Amount(p.Bytes))},
		{Kind: "shell", Text: fmt.Sprintf("kill %d   # if it is yours and not needed", p.PID)},
	}
}

// unexplained: signal 9 without a word from the kernel. Among programs that load
// models it is the out-of-memory killer by far most often. Colab and Kaggle say
// that it was memory.
func unexplained(c *ledger.Case) bool { return c.Failure.Weak }

// tableShowsAnother: a table in the log lists a compute process with a real
// share of the card that failed.
func tableShowsAnother(c *ledger.Case) cause.Finding {
	if !ledger.OnCard(c) || c.F().Limit != nil || ledger.Roomy(c) {
		return cause.Nothing()
	}
	for _, p := range c.Facts.Processes {
		d := c.F().Device
		ours := p.PID == c.OurPID || c.Mine.Has() && ledger.Near(p.Bytes, c.Mine.Bytes, units.GiB)
		elsewhere := d != nil && p.Device >= 0 && int(d.Value) != p.Device && len(c.Facts.Devices) > 1
		if p.Bytes >= units.GiB && !ours && !elsewhere {
			return cause.Seen(cause.Good, fmt.Sprintf("The table lists process %d (%s) with %s on the card.", p.PID, p.Name, p.Text), p.Line, c.Failure.Line)
		}
	}
	return cause.Nothing()
}

// Those who end programs or refuse them memory.
var (
	LinuxOOMKiller = program.Program{Name: "linux-oom-killer", Edits: "admin", Systems: []string{"linux"}, Shown: "Linux", Rank: 50, Like: []*program.Program{&Host}, Cards: slices.Concat(lowmem.Cards, workerCards, compilers.OfLinux(), systemd.Cards, endedCards, kernelCards, killedCards, activity.Cards(askKernel, askFree, swapForPeak), restCards)}
	Kubernetes     = program.Program{Name: "kubernetes", Edits: "admin", Systems: []string{"linux"}, Shown: "Kubernetes", Rank: 30, Like: []*program.Program{&Host}, Cards: kubernetesCards}
	Slurm          = program.Program{Name: "slurm", Edits: "admin", Systems: []string{"linux"}, Shown: "Slurm", Rank: 84, Like: []*program.Program{&Host}, Cards: slurmCards}
	Windows        = program.Program{Name: "windows", Edits: "admin", Systems: []string{"windows"}, Shown: "Windows", Rank: 20, Like: []*program.Program{&Host}}
)
