package lookalike

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Limits of the machine that are not memory.
var systemDisguises = []disguise{
	{
		literals: []string{"No space left on device", "Disk quota exceeded", "StorageFull", "PytorchStreamWriter failed writing file", "ephemeral-storage", "DiskPressure", "not enough disk space", "unexpected pos"},
		when:     isDisk,
		is: fact.Lookalike{
			ID: "disk_full", Title: "The disk (or a quota on it) is full; memory is not.",
			Advice: "Run `df -h .` and `df -h /tmp`, then delete old checkpoints, or write them elsewhere; the Hugging Face cache moves with HF_HOME.",
		},
	},
	{
		literals: []string{"Too many open files"},
		is: fact.Lookalike{
			ID: "open_files", Title: "The limit of open files is reached, not memory.",
			Advice: "Raise it with `ulimit -n 65535`, use fewer DataLoader workers, or call torch.multiprocessing.set_sharing_strategy('file_system').",
		},
	},
	{
		literals: []string{"can't start new thread", "fork: retry: Resource temporarily unavailable", "fork: Resource temporarily unavailable", "pthread_create failed", "blas_thread_init: pthread_create"},
		is: fact.Lookalike{
			ID: "process_limit", Title: "The limit of processes and threads is reached (ulimit -u, or the container's pids limit), not memory.",
			Advice: "Raise `ulimit -u` or start the container with `--pids-limit -1`; OMP_NUM_THREADS=1 and fewer workers need fewer threads.",
		},
	},
	{
		literals: []string{"A process in the process pool was terminated abruptly"},
		when:     nothingElseFailed,
		is: fact.Lookalike{
			ID: "worker_vanished", Title: "A worker process ended without a word: killed for memory, perhaps, or crashed; this log does not show which.",
			Advice: "`sudo dmesg -T | grep -i -E 'oom|killed process|segfault'` tells the two apart; with max_workers=1 it needs least memory.",
		},
	},
	{
		literals: []string{"DUE TO TIME LIMIT", "DUE TO PREEMPTION"},
		explains: []fact.Kind{fact.ShellKilled, fact.RankKilled, fact.WorkerKilled},
		is: fact.Lookalike{
			ID: "scheduler_limit", Title: "The scheduler ended the job for its time limit or for another job, not for memory.",
			Advice: "Ask for more time (`#SBATCH --time=`), or save checkpoints and continue from the last.",
		},
	},
	{
		literals: []string{"Memory specification can not be satisfied", "Requested node configuration is not available"},
		is: fact.Lookalike{
			ID: "scheduler_request", Title: "Slurm has no node with the memory that was asked for: the job never started.",
			Advice: "Ask for less with `--mem` or `--mem-per-cpu`, or for another partition: `sinfo -o '%P %m %c'` lists what there is.",
		},
	},
	{
		literals: []string{`"OOMKilled":false`, "OOMKilled: false", "OOMKilled=false"},
		when: func(m text.Message) bool {
			return m.Mentions("137") && !m.Mentions("memorycgroupoutofmemory", "outofmemory:kill")
		},
		explains: []fact.Kind{fact.ShellKilled},
		is: fact.Lookalike{
			ID: "killed_by_hand", Title: "Exit code 137 with OOMKilled false: somebody or something sent signal 9 (docker kill, stop after its time-out, an orchestrator); as a rule not memory.",
			Advice: "Look who stopped it: `docker events --since 1h --filter container=NAME`. To be sure about memory: `dmesg -T | grep -i -E 'oom|killed process'`, for a child of the container can be killed without the flag.",
		},
	},
	{
		literals: []string{"exit code 143", "exited with code 143", "exit status 143", "signal 15 (SIGTERM) received", "was signaled to shutdown with signal 15"},
		when:     func(m text.Message) bool { return len(m.Facts.Failures) == 0 },
		is: fact.Lookalike{
			ID: "terminated", Title: "The program was asked to end (SIGTERM): a shutdown, not a lack of memory.",
			Advice: "Look for what stopped it just before: a deployment, a time limit, a failing health check.",
		},
	},
	{
		literals: []string{"shutdown with signal 4", "signal 4 (SIGILL)", "Illegal instruction"},
		is: fact.Lookalike{
			ID: "illegal_instruction", Title: "The program uses instructions that this CPU does not have (AVX as a rule): not memory.",
			Advice: "Use a build for older CPUs, or another machine: `lscpu | grep -o 'avx[^ ]*' | sort -u` shows what it has.",
		},
	},
	{
		literals: []string{"Segmentation fault", "segfault at", "is killed by signal: Segmentation fault"},
		when:     func(m text.Message) bool { return len(m.Facts.Failures) == 0 },
		is: fact.Lookalike{
			ID: "segfault", Title: "A program used an address that is not its own: a bug or mixed library versions, rarely memory.",
			Advice: "Run it with `python -X faulthandler` to see where, and reinstall the library that is named there.",
		},
	},
}

// isDisk tells a disk from /dev/shm: errno 28 on "</torch_...>", /dev/shm or a
// semaphore is shared memory.
func isDisk(m text.Message) bool {
	s := m.Log.Squeezed()
	near := s[max(m.At-500, 0):min(m.At+160, len(s))]
	if strings.Contains(near, "</torch_") || strings.Contains(near, "/dev/shm") || strings.Contains(near, "semlock") {
		if strings.HasPrefix(s[m.At:], "nospaceleft") && !hasKind(m.Facts, fact.SharedMemory, fact.NCCLShm) {
			m.Fail(fact.Failure{Kind: fact.SharedMemory, Framework: "pytorch", Backend: "cpu"}, m.End)
		}
		return false
	}
	if strings.HasPrefix(s[m.At:], "ephemeral-storage") {
		return m.Precedes("lowonresource:", 20) || m.Follows("exceed", 80)
	}
	if strings.HasPrefix(s[m.At:], "diskpressure") {
		return !m.Follows("diskpressurefalse", 20)
	}
	return !strings.HasPrefix(s[m.At:], "unexpectedpos") || m.Precedes("inline_container", 40)
}

func hasKind(f *fact.Facts, kinds ...fact.Kind) bool {
	for _, x := range f.Failures {
		for _, k := range kinds {
			if x.Kind == k {
				return true
			}
		}
	}
	return false
}

// nothingElseFailed: the log has no failure that would explain it.
func nothingElseFailed(m text.Message) bool { return len(m.Facts.Failures) == 0 }
