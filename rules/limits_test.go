package rules_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestLimitByOwner: a limit is raised the way of whoever set it, by an amount
// that follows from the log.
func TestLimitByOwner(t *testing.T) {
	const kill = "Memory cgroup out of memory: Killed process 4711 (mesher) total-vm:9870700kB, anon-rss:8136460kB\n"
	for name, c := range map[string]struct {
		log         string
		says, never []string
	}{
		"scope": {
			kill + "systemd[1]: run-r1f.scope: Failed with result 'oom-kill'; 8.0G memory peak, 0B swap peak.\n",
			[]string{"systemd-run --user --scope -p MemoryMax=16G", "twice today's 8.00 GiB"},
			[]string{"docker update", "num_workers", "16 bit"},
		},
		"service": {
			"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/system.slice/Mesher.service,task_memcg=/system.slice/Mesher.service,task=mesher,pid=4711,uid=0\n" + kill,
			[]string{"systemctl set-property Mesher.service MemoryMax="}, []string{"docker update"},
		},
		"bare cgroup, with swap": {
			"memory: usage 1048576kB, limit 1048576kB, failcnt 90\nmemory+swap: usage 3145728kB, limit 9007199254740988kB, failcnt 0\n" +
				"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n" +
				"[   4711]     0  4711   955928   250000  5226496   524288             0 mesher\n" +
				"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/Trial,task_memcg=/Trial,task=mesher,pid=4711,uid=0\n" +
				"Memory cgroup out of memory: Killed process 4711 (mesher) total-vm:3823712kB, anon-rss:1000000kB, file-rss:0kB\n",
			[]string{"echo 4G | sudo tee /sys/fs/cgroup/memory/Trial/memory.limit_in_bytes", "in RAM and swap"}, []string{"docker update", "num_workers"},
		},
		"nobody named": {kill, []string{"oom_memcg", "NAME.service"}, []string{"CONTAINER: its name"}},
		"deployment": {
			"kubectl describe pod shop-web-7d9c5f6b84-x2l9q\nContainers:\n  web:\n    Container ID:   containerd://aa\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Restart Count:  12\n    Limits:\n      memory:  40Mi\n",
			[]string{"kubectl set resources deployment shop-web -c web --requests=memory=128Mi --limits=memory=128Mi", "restarted 12 times"}, []string{"1Gi", "1 GiB"},
		},
		"HTCondor": {
			"4711.12  ada  5/25 14:51 Error from slot1_3@node7: Docker job has gone over memory limit of 4096 Mb\n",
			[]string{"condor_qedit 4711 RequestMemory 8192\ncondor_release 4711", "request_memory = 8GB"}, []string{"rounded up"},
		},
		"HTCondor, in the job's own log": {
			"012 (4712.003.000) 2026-05-25 14:51:20 Job was held.\n\tError from slot1_3@node7: Job has gone over cgroup memory limit of 4096 megabytes. Peak usage: 4089 megabytes.  Consider resubmitting with a higher request_memory.\n",
			[]string{"condor_qedit 4712 RequestMemory 8192\ncondor_release 4712"}, []string{"more memory than it requested", "CLUSTER"},
		},
		"PBS, by its command": {
			"qsub -q long -l nodes=1:ppn=8,mem=16gb,walltime=9:00:00 run.sh\n    bin/caller -p 8 in.bam\n=>> PBS: job killed: mem 33554432kb exceeded limit 16777216kb\n",
			[]string{"qsub -l nodes=1:ppn=8,mem=40gb,walltime=9:00:00", "`-p 3`"}, []string{"np.load", "GPU"},
		},
		"YARN's NodeManager": {
			"Container [pid=4821,containerID=container_1700000000000_0007_01_000004] is running beyond physical memory limits. Current usage: 4.2 GB of 4 GB physical memory used; 5.9 GB of 8.4 GB virtual memory used. Killing container.\n",
			[]string{"YARN adds up"}, []string{"docker update", "vmem-check-enabled", "address space"},
		},
		"YARN, RAM": {
			"Reason: Container killed by YARN for exceeding memory limits. 10.2 GB of 10 GB physical memory used. Consider boosting spark.yarn.executor.memoryOverhead.\n",
			[]string{"spark.yarn.executor.memoryOverhead=4096"}, []string{"vmem-check-enabled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := answerOf(t, c.log)
			for _, s := range c.says {
				assert.Contains(t, told, s)
			}
			for _, s := range c.never {
				assert.NotContains(t, told, s)
			}
		})
	}
}

// answerOf is what a log's causes and fixes say.
func answerOf(t *testing.T, log string) string {
	t.Helper()
	r := diagnose.Bytes([]byte(log))
	require.NotEmpty(t, r.Incidents)
	var b strings.Builder
	b.WriteString(r.Incidents[0].Causes[0].Why + "\n")
	for _, f := range r.Incidents[0].Fixes[:min(3, len(r.Incidents[0].Fixes))] {
		b.WriteString(f.Title + "\n")
		for _, s := range f.Steps {
			b.WriteString(s.Text + "\n")
		}
	}
	return b.String()
}
