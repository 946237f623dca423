package host

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Queues reads batch systems beside Slurm, and services that run containers.
var Queues = text.Parser{Name: "queues"}.Reading([]text.Wording{
	text.On("PBS: job killed: mem", readPBS), text.On("PBS: job killed: vmem", readPBS), text.On("PBS: job killed: pmem", readPBS),
	text.On("TERM_MEMLIMIT", readLSF),
	text.On("memory usage exceeded request_memory", text.Fails(queueKill)),
	text.On("Job has gone over memory limit of", text.Fails(queueKill)), // HTCondor
	text.On("Memory limit of", readCloudRun),
}, nil, nil)

var queueKill = fact.Failure{Kind: fact.SlurmKill, Framework: "other", Backend: "cpu"}

var (
	pbsPattern = text.NewPattern(`mem(?<killed_rss_kib>\d{1,16})kb?(?:exceeded|exceeds)limit(?<limit_kib>\d{1,16})kb`)
	runPattern = text.NewPattern(`memorylimitof(?<limit>SIZE)exceededwith(?<process_used>SIZE)used`)
)

// readPBS reads "=>> PBS: job killed: mem 4294967kb exceeded limit 2097152kb".
func readPBS(m text.Message) int { return m.FailWith(queueKill, m.Find(pbsPattern, 120)) }

// readLSF reads "TERM_MEMLIMIT: job killed after reaching LSF memory usage
// limit.", and leaves lists of codes alone.
func readLSF(m text.Message) int {
	if !m.Follows("jobkilled", 40) && !m.Follows("exit", 60) {
		return m.End
	}
	return m.Fail(queueKill, m.End)
}

// readCloudRun reads "Memory limit of 512 MiB exceeded with 530 MiB used".
func readCloudRun(m text.Message) int {
	k := m.Find(runPattern, 90)
	if !k.Ok() {
		return m.End
	}
	return m.FailWith(fact.Failure{Kind: fact.ContainerKill, Framework: "other", Backend: "cpu"}, k)
}
