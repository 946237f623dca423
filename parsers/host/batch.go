package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

var slurmKill = fact.Failure{Kind: fact.SlurmKill, Framework: "slurm", Backend: "cpu"}

// readSlurm reads slurmstepd, 20.02 ("oom-kill event(s) in step 1.0 cgroup") to
// 23.02 and later ("oom_kill event in StepId=1.0").
func readSlurm(m text.Message) int {
	slurm := m.Follows("step", 60) || m.Follows("joblimit", 60) || m.Precedes("slurmstepd", 200) || m.Precedes("exceeded", 40)
	if !slurm || m.Precedes("detected0", 12) {
		return m.End
	}
	return m.Fail(slurmKill, m.End)
}

// readSlurmLimit reads the old polling plug-in: "slurmstepd: error: Job 7
// exceeded memory limit (4200000 > 4096000), being killed"; figures in KiB.
var readSlurmLimit = text.FailsIf(slurmKill, 80, 60, text.NewPattern(
	`(?:job|step)[^(]{0,40}memorylimit\((?<killed_rss_kib>\d{1,16})>(?<limit_kib>\d{1,16})\)`))

var slurmState = text.NewPattern(`^out_of_me(?:\+|mory(?!_))`)

// readSacct reads a job's state in sacct's table, which cuts it to OUT_OF_ME+.
func readSacct(m text.Message) int {
	s := m.Log.Squeezed()
	inWord := m.At > 0 && (text.Letter(s[m.At-1]) || s[m.At-1] == '_')
	if !m.Find(slurmState, 16).Ok() || m.Precedes("error", 8) || m.Precedes("cuda_", 6) || m.Precedes("status_", 8) ||
		!m.Mentions("jobid", "sacct", "slurm") && (inWord || !m.Mentions("maxrss")) {
		return m.End
	}
	return m.Fail(slurmKill, m.End)
}
