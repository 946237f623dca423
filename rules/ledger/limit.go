package ledger

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Capped reports that a limit of a container, job or service was reached, not
// the end of the machine's memory.
func Capped(c *Case) bool {
	_, cgroup := c.Fact("cgroup")
	return cgroup && c.Kind(fact.KernelKill) || c.Kind(fact.SlurmKill, fact.ContainerKill, fact.YARNKill, fact.WorkerBudget)
}

// OnCluster: the log shows a batch system or a cluster's file system, where who
// reads has neither root nor Docker.
func OnCluster(c *Case) bool {
	_, shown := c.Fact("cluster")
	return shown || c.In("slurm", "pbs", "lsf", "htcondor")
}

// BiggestOther is the process that held most when the kernel killed another,
// where it held enough to matter.
func BiggestOther(c *Case) (fact.Process, bool) {
	victim, ok := c.Fact("victim")
	rss := c.F().KilledRSS
	if !ok || victim.Count == nil || rss == nil {
		return fact.Process{}, false
	}
	var most fact.Process
	for _, p := range c.Facts.Tasks {
		if p.PID != int(victim.Count.Value) && p.Bytes > most.Bytes {
			most = p
		}
	}
	return most, most.Bytes >= 256*units.MiB && most.Bytes*4 >= rss.Bytes
}

// OtherHoldsMore: what the kernel killed is not what took most of the memory.
func OtherHoldsMore(c *Case) bool {
	p, ok := BiggestOther(c)
	victim, _ := c.Fact("victim")
	return ok && !Capped(c) && p.Name != victim.Text && p.Bytes > c.F().KilledRSS.Bytes/2
}
