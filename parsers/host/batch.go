package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// readSlurm reads slurmstepd, 20.02 ("oom-kill event(s) in step 1.0 cgroup") to
// 23.02 and later ("oom_kill event in StepId=1.0").
func readSlurm(m text.Message) int {
	if !m.Follows("step", 60) && !m.Follows("joblimit", 60) && !m.Precedes("slurmstepd", 200) && !m.Precedes("exceeded", 40) {
		return m.End
	}
	if m.Precedes("detected0", 12) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.SlurmKill, Framework: "slurm", Backend: "cpu"}, m.End)
}

var slurmLimitPattern = text.NewPattern(`(?:job|step)(?<id>[^(]{0,40})memorylimit\((?<used>\d{1,16})>(?<limit>\d{1,16})\)`)

// readSlurmLimit reads the old polling plug-in: "slurmstepd: error: Job 7
// exceeded memory limit (4200000 > 4096000), being killed"; figures in KiB.
func readSlurmLimit(m text.Message) int {
	k := m.Around(slurmLimitPattern, 80, 60)
	if !k.Ok() {
		return m.End
	}
	x := fact.Failure{Kind: fact.SlurmKill, Framework: "slurm", Backend: "cpu"}
	x.Figures.KilledRSS, x.Figures.Limit = k.SizeIn("used", "kb"), k.SizeIn("limit", "kb")
	return m.Fail(x, m.Took(k))
}

// readSrun reads "srun: error: node7: tasks 1-3: Out Of Memory".
func readSrun(m text.Message) int {
	if !m.Precedes("srun:error:", 120) && !m.Precedes("task", 24) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.SlurmKill, Framework: "slurm", Backend: "cpu"}, m.End)
}

// readSacct reads a job's state in sacct's table, which cuts it to OUT_OF_ME+.
func readSacct(m text.Message) int {
	if !m.Follows("out_of_me+", 12) && !m.Follows("out_of_memory", 14) || m.Follows("out_of_memory_", 16) || m.Precedes("error", 8) || m.Precedes("cuda_", 6) || m.Precedes("status_", 8) {
		return m.End
	}
	if s := m.Log.Squeezed(); m.At > 0 && (text.Letter(s[m.At-1]) || s[m.At-1] == '_') && !m.Mentions("jobid", "sacct", "slurm") {
		return m.End
	}
	if !m.Mentions("jobid", "sacct", "slurm", "maxrss") {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.SlurmKill, Framework: "slurm", Backend: "cpu"}, m.End)
}
