package lookalike

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Limits of the machine that are not memory.
var systemDisguises = []disguise{
	{
		literals: []string{"No space left on device", "Disk quota exceeded", "StorageFull", "PytorchStreamWriter failed writing file", "ephemeral-storage", "DiskPressure", "not enough disk space", "unexpected pos"},
		when:     isDisk,
		id:       "disk_full", title: "The disk (or a quota on it) is full; memory is not.",
		advice: "Run `df -h .` and `df -h /tmp` (and `df -i .`: the number of files has a limit, too), then delete old checkpoints, or write them elsewhere; the Hugging Face cache moves with HF_HOME.",
	},
	{
		literals: []string{"received 0 items of ancdata", "Too many open files"},
		id:       "open_files", title: "The limit of open files is reached, not memory.",
		advice: "Raise it with `ulimit -n 65535`, use fewer DataLoader workers, or call torch.multiprocessing.set_sharing_strategy('file_system').",
	},
	{
		literals: []string{"unable to open shared memory object"},
		when:     nothingElseFailed,
		id:       "open_files", title: "A worker could not share a tensor with its parent: as a rule the limit of open files, seldom a full /dev/shm.",
		advice: "Raise the limit with `ulimit -n 65535`, use fewer DataLoader workers, or call torch.multiprocessing.set_sharing_strategy('file_system'); `df -h /dev/shm` shows whether shared memory is full.",
	},
	{
		literals: []string{"pthread_create failed (EPERM)"},
		explains: []fact.Kind{fact.NativeAlloc},
		id:       "thread_denied", title: "The system forbade a new thread (EPERM); it is not memory, whatever the program says after it. In a container: an old Docker that does not know a call of the image's newer C library (clone3).",
		advice: "Update Docker to 20.10.10 or newer, with its runc and libseccomp; until then an older base image, or `--security-opt seccomp=unconfined` for a trial.",
	},
	{
		literals: []string{"long vectors not supported yet"},
		when:     nothingElseFailed,
		id:       "long_vector", title: "An R function cannot handle a vector of more than 2,147,483,647 elements; memory is not what is short.",
		advice: "Keep the matrix sparse (`Matrix`), work on fewer rows at a time, or take a newer version of the package: many have replaced that step.",
	},
	{
		literals: []string{"can't start new thread", "fork: retry: Resource temporarily unavailable", "fork: Resource temporarily unavailable", "pthread_create failed", "blas_thread_init: pthread_create", "unable to create native thread", "unable to create new native thread",
			"Thread creation failed: Resource temporarily unavailable", "what(): Resource temporarily unavailable", "failed to create new OS thread", "failed to spawn thread", "unable to allocate necessary resources for OMP thread", "std::system_error: Resource temporarily unavailable"},
		id: "process_limit", title: "No new thread or process: a limit of their number is reached (ulimit -u, or the container's pids limit), or far too many were asked for. It is not the amount of memory, and what fails behind it follows from it.",
		advice: "Fewer first: `export OMP_NUM_THREADS=4 OPENBLAS_NUM_THREADS=1` (each thread that calls such a library starts a team of its own: cores times callers) and fewer workers. `ps -eLf | wc -l` counts what runs, leftovers too; then raise `ulimit -u` (nproc in /etc/security/limits.conf), a container's `--pids-limit -1`, a service's `TasksMax`. Many left of both: the stack of each thread does not fit (`ulimit -s 8192`, `ulimit -v unlimited`).",
	},
	{
		literals: []string{"A process in the process pool was terminated abruptly"},
		when:     nothingElseFailed,
		id:       "worker_vanished", title: "A worker process ended without a word: killed for memory, perhaps, or crashed; this log does not show which.",
		advice: "`sudo dmesg -T | grep -i -E 'oom|killed process|segfault'` tells the two apart; with max_workers=1 it needs least memory.",
	},
	{
		literals: []string{"DUE TO TIME LIMIT", "DUE TO PREEMPTION", "job killed: walltime", "TERM_RUNLIMIT"},
		explains: []fact.Kind{fact.ShellKilled, fact.RankKilled, fact.WorkerKilled},
		id:       "scheduler_limit", title: "The scheduler ended the job for its time limit or for another job, not for memory.",
		advice: "Ask for more time (`#SBATCH --time=`, `#PBS -l walltime=`, `#BSUB -W`), or save checkpoints and continue from the last.",
	},
	{
		literals: []string{"Memory specification can not be satisfied", "Requested node configuration is not available"},
		id:       "scheduler_request", title: "Slurm has no node with the memory that was asked for: the job never started.",
		advice: "Ask for less with `--mem` or `--mem-per-cpu`, or for another partition: `sinfo -o '%P %m %c'` lists what there is.",
	},
	{
		literals: []string{`"OOMKilled":false`, "OOMKilled: false", "OOMKilled=false"},
		when: func(m text.Message) bool {
			return m.Mentions("137") && !m.Mentions("memorycgroupoutofmemory", "outofmemory:kill")
		},
		explains: []fact.Kind{fact.ShellKilled},
		id:       "killed_by_hand", title: "Exit code 137 with OOMKilled false: signal 9, but not for the container's own limit. Either somebody stopped it (docker kill, a time-out, an orchestrator), or the machine, or the virtual machine of Docker Desktop, ran out of memory: that does not set the flag.",
		advice: "On the machine (or in Docker's VM) `dmesg -T | grep -i -E 'oom|killed process'` tells: a line there means give Docker more memory (Settings, Resources) or bound the program. No line: `docker events --since 1h --filter container=NAME` shows who stopped it.",
	},
	{
		literals: []string{"exit code 143", "exited with code 143", "exit status 143", "signal 15 (SIGTERM) received", "was signaled to shutdown with signal 15"},
		when:     nothingElseFailed,
		id:       "terminated", title: "The program was asked to end (SIGTERM): a shutdown, not a lack of memory.",
		advice: "Look for what stopped it just before: a deployment, a time limit, a failing health check.",
	},
	{
		literals: []string{"shutdown with signal 4", "signal 4 (SIGILL)", "Illegal instruction"},
		id:       "illegal_instruction", title: "The program uses instructions that this CPU does not have (AVX as a rule): not memory.",
		advice: "Use a build for older CPUs, or another machine: `lscpu | grep -o 'avx[^ ]*' | sort -u` shows what it has.",
	},
	{
		literals: []string{"Segmentation fault", "segfault at", "is killed by signal: Segmentation fault"},
		when:     nothingElseFailed,
		id:       "segfault", title: "A program used an address that is not its own: a bug or mixed library versions, rarely memory.",
		advice: "Run it with `python -X faulthandler` to see where, and reinstall the library that is named there.",
	},
}

// isDisk tells a disk from /dev/shm: errno 28 on "</torch_...>", /dev/shm or a
// semaphore is shared memory.
func isDisk(m text.Message) bool {
	for _, shared := range [...]string{"</torch_", "/dev/shm", "semlock", "sharedmemorysegment"} {
		if m.Precedes(shared, 500) || m.Follows(shared, 160) {
			known := func(x fact.Failure) bool {
				return x.Kind == fact.SharedMemory || x.Kind == fact.NCCLShm || x.Kind == fact.SharedSegment
			}
			if m.Follows("nospaceleft", 11) && !slices.ContainsFunc(m.Facts.Failures, known) {
				m.Fail(fact.Failure{Kind: fact.SharedMemory, Framework: "pytorch", Backend: "cpu"}, m.End)
			}
			return false
		}
	}
	switch {
	case m.Follows("ephemeral-storage", 17):
		return m.Precedes("lowonresource:", 20) || m.Follows("exceed", 80)
	case m.Follows("diskpressure", 12):
		return !m.Follows("diskpressurefalse", 20)
	case m.Follows("unexpectedpos", 13):
		return m.Precedes("inline_container", 40)
	}
	return true
}
