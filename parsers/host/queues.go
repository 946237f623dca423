package host

import (
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Queues reads batch systems beside Slurm, and services that run containers.
var Queues = text.Parser{Name: "queues"}.Reading([]text.Wording{
	text.On("PBS: job killed: mem", readPBS), text.On("PBS: job killed: vmem", readPBS), text.On("PBS: job killed: pmem", readPBS), text.On("PBS: job killed: pvmem", readPBS),
	text.On("Cgroup mem limit exceeded", text.Fails(queueKill)), text.On("Cgroup memsw limit exceeded", text.Fails(queueKill)), // OpenPBS's hook pbs_cgroups
	text.On("Job exceeded a memory resource limit", readPBSMail), text.On("TERM_MEMLIMIT", readLSF), text.On("TERM_SWAP", readLSF), text.On("memory usage exceeded request_memory", text.Fails(queueKill)),
	// HTCondor.
	text.On("Job has gone over memory limit of", readCondor), text.On("Job has gone over cgroup memory limit of", readCondor), text.On("Docker job has gone over memory limit of", readCondor),
	// Grid Engine: execd's "job 7.1 exceeds job hard limit "h_vmem" of queue "all.q@n1" (34370846720.00000 > limit:34359738368.00000)", and qacct; before them the mail of a job.
	text.On("execd enforced h_vmem limit", text.FailsWith(queueKill, 400, 30, text.NewPattern(`maxvmem=(?<vmem_used>[\d.]{1,12}[kmg])`))), text.On("exceeds job hard limit", text.FailsIf(queueKill, 0, 160, text.NewPattern(`"[hs]_(?:vmem|rss)"ofqueue.{0,100}?\((?<vmem_used_bytes>\d{6,19})\.\d{1,9}>limit:(?<limit_bytes>\d{6,19})\.`))), text.On("exit_status  137", text.FailsIf(queueKill, 0, 900, text.NewPattern(`maxvmem(?<vmem_used>[\d.]{1,12}[kmg]).{0,300}?[hs]_(?:vmem|rss)=(?<limit>[\d.]{1,12}[kmg])`))),
	text.On("Memory limit of", text.FailsIf(fact.Failure{Kind: fact.ContainerKill, Framework: "other", Backend: "cpu"}, 0, 90, runPattern)), // Cloud Run: "512 MiB exceeded with 530 MiB used"
}, nil, nil)

var queueKill = fact.Failure{Kind: fact.SlurmKill, Framework: "other", Backend: "cpu"}

var (
	// In kb as a rule; Torque's limits of address space come in bytes.
	pbsPattern      = text.NewPattern(`mem(?<killed_rss_kib>\d{1,16})kb?(?:exceeded|exceeds)limit(?<limit_kib>\d{1,16})kb`)
	pbsBytesPattern = text.NewPattern(`mem(?<vmem_used_bytes>\d{7,19})(?:exceeded|exceeds)limit(?<limit_bytes>\d{7,19})(?!\d|[kmg]b)`)
	// "Max Memory : 23183 MB" and "Total Requested Memory : 20000.00 MB" of the
	// summary that LSF sends.
	lsfPattern = text.NewPattern(`maxmemory:(?<killed_rss>SIZE)(?:.{0,80}?totalrequestedmemory:(?<limit>SIZE))?`)
	runPattern = text.NewPattern(`memorylimitof(?<limit>SIZE)exceededwith(?<process_used>SIZE)used`)

	condorKill = text.NewPattern(`memorylimitof(?<limit_mib>\d{1,9})(?:mb|megabytes(?:.{0,12}?peakusage:(?<killed_rss_mib>\d{1,9})megabytes)?)`)
	// "012 (1587.004.000) 05/25 14:51:20 Job was held." and "1587.4 ada 5/25 14:51 ...".
	condorJob = regexp.MustCompile(`^(?:\d{3} \(|\s*)(\d{1,12})\.\d{1,9}[.\s]`)

	pbsAsked     = regexp.MustCompile(`(#PBS|\bqsub\b).*?\s-l\s*([\w:=,.+-]+)`)
	pbsCores     = regexp.MustCompile(`(?:ppn|ncpus)=(\d{1,4})`)
	pbsProcesses = regexp.MustCompile(`(?:^|\s)(-p|-t|-j|-@|--threads|--cores|--nproc)[ =](\d{1,4})(?:\s|$)`)

	// pbsUsed and pbsGranted stand in the mail that Torque sends, in kb.
	pbsUsed    = text.NewPattern(`resources_used\.vmem=(?<process_used_kib>\d{1,16})kb(?:.{0,80}?resources_used\.mem=(?<pbs_mem_kib>\d{1,16})kb)?`)
	pbsGranted = text.NewPattern(`req_information\.memory\.0=(?<limit_kib>\d{1,16})kb`)
)

// readCondor reads vanilla_proc.cpp: "Job has gone over cgroup memory limit of 2048
// megabytes. Peak usage: 2100 megabytes.", 23 and later "Last measured usage", a
// moment that may lie far below the peak; and a row of "condor_q -held": "1587.4 ada
// 5/25 14:51 Error from slot1: Docker job has gone over memory limit of 16384 Mb".
// The job's number is in the row itself, else in the event's line above.
func readCondor(m text.Message) int {
	at := m.Log.LineIndex(m.At)
	for _, line := range m.Log.Lines[max(at-1, 0) : at+1] {
		if job := condorJob.FindStringSubmatch(line.Text); job != nil {
			m.Say("condor_cluster", job[1])
		}
	}
	return m.FailWith(queueKill, m.Around(condorKill, 0, 140))
}

// readAsked reads what a job's own lines before its end ask for: "qsub -l nodes=1:ppn=16,mem=20gb".
func readAsked(m text.Message) {
	if len(m.Facts.Failures) > 0 {
		return // read for the first
	}
	at, cores := m.Log.LineIndex(m.At), ""
	for _, line := range m.Log.Lines[max(at-80, 0):at] {
		if len(line.Text) > 2<<10 { // nobody typed that
			continue
		}
		if k := pbsAsked.FindStringSubmatch(line.Text); k != nil && strings.Contains(k[2], "mem=") {
			m.Say("queue_asked", k[1]+" "+k[2])
		}
		if k := pbsCores.FindStringSubmatch(line.Text); k != nil {
			cores = k[1]
			m.Say("queue_cores", cores)
		}
		if k := pbsProcesses.FindStringSubmatch(line.Text); k != nil && k[2] == cores {
			m.Say("queue_processes", k[1])
		}
	}
}

// readPBS reads "=>> PBS: job killed: mem 4294967kb exceeded limit 2097152kb".
func readPBS(m text.Message) int {
	readAsked(m)
	k := m.Find(pbsPattern, 120)
	if !k.Ok() {
		k = m.Find(pbsBytesPattern, 120)
	}
	return m.FailWith(queueKill, k)
}

// readPBSMail reads "Job exceeded a memory resource limit (vmem, pvmem, etc.).
// Job was aborted", below which the mail says what was used and granted.
func readPBSMail(m text.Message) int {
	return m.FailWith(queueKill, m.Find(pbsUsed, 600), m.Find(pbsGranted, 900))
}

// readLSF reads "TERM_MEMLIMIT: job killed after reaching LSF memory usage
// limit.", and leaves lists of codes alone.
var readLSF = text.When(text.FailsWith(queueKill, 0, 400, lsfPattern), text.Behind("jobkilled", 40), text.Behind("exit", 60))
