package host

import (
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

var slurmKill = fact.Failure{Kind: fact.SlurmKill, Framework: "slurm", Backend: "cpu"}

// readSlurm reads slurmstepd, 20.02 ("oom-kill event(s) in step 1.0 cgroup") to
// 23.02 and later ("oom_kill event in StepId=1.0").
var readSlurm = text.Unless(text.When(text.FailsAlone(slurmKill), text.Behind("step", 60), text.Behind("joblimit", 60), text.Before("slurmstepd", 200), text.Before("exceeded", 40)), text.Before("detected0", 12))

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
	x, row := slurmKill, m.Log.LineText(m.At)
	if k := sacctAsked.FindStringSubmatch(row); k != nil && m.Mentions("reqmem") && !strings.Contains(strings.Fields(row)[0], ".") {
		bytes, _ := units.Parse(k[1] + "iB")
		x.Figures.Limit = &fact.Size{Bytes: bytes, Text: k[1], Line: m.Log.Line(m.At)}
	}
	return m.FailWith(x, m.Find(seffPattern, 700))
}

// sacct's ReqMem, "4Gn" for each node up to 20.11 ("Gc" was for each CPU), and seff's sums.
var (
	sacctAsked  = regexp.MustCompile(`\s(\d{1,6}(?:\.\d{1,3})?[MG])n?(?:\s|$)`)
	seffPattern = text.NewPattern(`memoryutilized:(?<killed_rss>SIZE).{0,60}?memoryefficiency:[\d.]{1,7}%of(?<limit>SIZE)`)
)
