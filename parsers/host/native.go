package host

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Native reads other programs without a card: Java, Arrow, OpenCV, Dask.
var Native = text.Parser{Name: "native", Explains: map[fact.Kind]int{fact.WorkerBudget: 4}}.Reading(nativeWordings, nil, nil)

var nativeWordings = slices.Concat(
	[]text.Wording{
		text.On("bytes) failed; errno 12", text.FailsIf(nativeFailure, 60, 0, text.NewPattern(`innodb[:\]]{1,2}mmap\((?<requested_bytes>\d{1,20})`))), text.On("InnoDB: Cannot allocate memory for the buffer pool", text.Fails(nativeFailure)),
		// Gluten's ThrowOnOomMemoryTarget.java, and the stats of the task that holds most.
		text.On("Not enough spark off-heap execution memory", text.FailsWith(nativeFailure, 0, 2000, text.NewPattern(`acquired:(?<requested>SIZE),granted:SIZE(?:.{0,300}?memory\.offheap\.size\.in\.bytes=(?<limit>SIZE))?(?:.{0,20}?memory\.task\.offheap\.size\.in\.bytes=(?<gluten_task>SIZE))?(?:.{0,400}?memoryconsumerstats:task\.\d{1,9}:currentusedbytes:(?<gluten_held>SIZE))?`))),
		// Go's malloc.go and mem_linux.go, and the frames that have sizes.
		text.On("runtime: out of memory: cannot allocate", text.FailsWith(nativeFailure, 0, 90, text.NewPattern(`cannotallocate(?<requested_bytes>\d{1,15})-byteblock(?:\((?<process_used_bytes>\d{1,15})inuse)?`))), text.On("fatal error: runtime: out of memory", text.Fails(nativeFailure)), text.On("fatal error: runtime: cannot allocate memory", text.Fails(nativeFailure)),
		text.On("runtime.sysUsedOS(0x", text.Says("go_heap")), text.On("runtime.sysMap(0x", text.Says("go_heap")), text.On("runtime.sysMapOS(0x", text.Says("go_heap")), text.On("runtime.mallocgc(0x", text.Says("go_object")), text.On("runtime.largeAlloc(0x", text.Says("go_object")), text.On("Failed on request of size", text.FailsIf(nativeFailure, 24, 90, text.NewPattern(`requestofsize(?<requested_bytes>\d{1,12})inmemorycontext`))), text.On("Error executing process >", text.Says("nextflow_process")), text.On("Max Memory :", text.States(0, 60, text.NewPattern(`maxmemory:(?<lsf_held>SIZE)`))),
		// PHP's zend_alloc.c, where the system refuses.
		text.On("Out of memory (allocated", text.FailsIf(nativeFailure, 0, 90, text.NewPattern(`\(triedtoallocate(?<requested_bytes>\d{1,16})bytes`))),
		// "ArrowMemoryError: malloc of size 1073741824 failed".
		text.On("ArrowMemoryError", text.FailsIf(nativeFailure, 0, 80, text.NewPattern(`(?:malloc|realloc)ofsize(?<requested_bytes>\d{1,20})failed`))),
		// hs_err's head: the system refused the virtual machine memory, its heap need not be full.
		text.On("error='Not enough space' (errno=12)", javaRefused), text.On("error='Cannot allocate memory' (errno=12)", javaRefused), // the latter before Java 9
		// libmalloc's magazine_malloc.c of macOS: "*** mach_vm_map(size=8388608) failed (error code=3)".
		text.On("mach_vm_map(size=", text.FailsIf(nativeFailure, 0, 80, text.NewPattern(`size=(?<requested_bytes>\d{1,20})(?:,flags:[0-9a-f]{1,8})?\)failed`))),
		text.On("insufficient memory for the Java Runtime Environment", text.FailsWith(nativeFailure, 0, 260, text.NewPattern(`nativememoryallocation\((?:mmap|malloc)\)failedto(?:map|allocate)(?<requested_bytes>\d{1,20})bytes`))),
		// R's "cannot allocate vector of size 3.7 Gb"; powers of 1024.
		text.On("cannot allocate vector of size", text.FailsWith(nativeFailure, 0, 60, text.NewPattern(`ofsize(?<requested>[\d.]{1,12}[kmg]b)`))),
		// R before 4.2 on Windows names its own limit in a warning.
		text.On("Reached total allocation of", text.States(0, 60, text.NewPattern(`allocationof(?<limit_mib>\d{1,9})mb`))),
		// GCC's "cc1plus: out of memory allocating 65536 bytes after a total of ...".
		text.On("out of memory allocating", text.FailsIf(nativeFailure, 0, 80, text.NewPattern(`allocating(?<requested_bytes>\d{1,20})bytesafteratotalof`))),
		// git's wrapper.c: "fatal: Out of memory, malloc failed (tried to allocate 4294967296 bytes)".
		text.On("Out of memory, malloc failed", text.FailsIf(nativeFailure, 0, 80, text.NewPattern(`mallocfailed\(triedtoallocate(?<requested_bytes>\d{1,20})bytes`))),
		// ClickHouse's MemoryTracker.cpp: "(attempt to allocate chunk of 4362064 bytes), current RSS 1.22 GiB, maximum: 4.39 GiB"; 25.x: "(total) memory limit exceeded: would use 2.31 GiB (attempt to allocate chunk of 4.16 MiB), current RSS: 2.5 GiB, userspace page cache 1.00 MiB".
		text.On("Memory limit (total) exceeded", clickHouse), text.On("Memory limit (for query) exceeded", clickHouse), text.On("Memory limit (for user) exceeded", clickHouse), text.On("memory limit exceeded: would use", clickHouse),
		// PostgreSQL's dsm_impl.c: '"/PostgreSQL.1390429275" to 16777216 bytes: No space left on device'.
		text.On("could not resize shared memory segment", text.FailsWith(fact.Failure{Kind: fact.SharedSegment, Framework: "other", Backend: "cpu"}, 0, 160,
			text.NewPattern(`to(?<requested_bytes>\d{1,15})bytes`))),
		text.On("MUMPS INFO(1)=", text.FailsIf(nativeFailure, 0, 60, text.NewPattern(`^mumpsinfo\(1\)=-(?:5|7|8|9|13|19)(?!\d)`))),
		// Event 2004 of Resource-Exhaustion-Detector names three programs, the largest first.
		text.On("consumed the most virtual memory:", text.States(0, 120, text.NewPattern(`memory:[^()]{1,60}\(\d{1,10}\)consumed(?<commit_top>\d{1,16}bytes)`))), text.On("diagnosed a low virtual memory condition", text.Unless(
			text.FailsIf(fact.Failure{Kind: fact.PlainHost, Framework: "windows", Backend: "cpu", Weak: true}, 0, 200, text.NewPattern(`virtualmemory:[^()]{1,60}\(\d{1,10}\)consumed(?<process_used>(?<commit_top>\d{1,16}bytes))`)), func(m text.Message) bool { return len(m.Facts.Failures) > 0 })),
		// Windows' own line follows where its page file was too small.
		text.On("Ran out of memory allocating", text.Unless(text.FailsWith(nativeFailure, 600, 60, text.NewPattern(`availablephysical(?<system_available_bytes>\d{6,14})availablevirtual\d{1,20}usedphysical(?<process_used_bytes>\d{6,14})peak.{0,400}?allocating(?<requested_bytes>\d{1,18})bytes|allocating(?<requested_bytes>\d{1,18})bytes`)), text.Behind("pagingfile", 260))),
		// R on macOS: R_MAX_VSIZE, 16 GB or the RAM by default (memory.c).
		text.On("vector memory limit of", text.FailsIf(nativeFailure, 0, 60, text.NewPattern(`limitof(?<limit>[\d.]{1,9}gb)reached`))),
		// loky's TerminatedWorkerError names signals at its end: a segmentation fault
		// is another thing.
		text.On("raised TerminatedWorkerError", text.Unless(text.Fails(shellKilled), text.Beside("sigsegv", "excessivememoryusage"))), // joblib, cut behind its first line
		text.On("excessive memory usage causing the Operating System to kill", text.Unless(text.Fails(shellKilled), text.Behind("sigsegv", 200))), text.On("memory budget. Restarting", readDask), text.On("was sent SIGKILL", readGunicorn), text.On("was terminated due to signal 9", readGunicorn),
	},
	// Chromium's memory.cc, YDB, Emscripten's abortOnCannotGrowMemory and its heap that grows, SBCL's gencgc.
	text.OnAny(text.FailsWith(nativeFailure, 0, 300, text.NewPattern(`^(?:outofmemory\.size=(?<requested_bytes>\d{1,18})|mkqlmemorylimitexceeded,limit:(?<limit_bytes>\d{1,18})|cannotenlargememoryarrays(?:tosize(?<requested_bytes>\d{1,18})bytes)?(?:.{0,200}?currentvalue(?<limit_bytes>\d{1,15}))?|failedtogrowtheheapfrom(?<process_used_bytes>\d{1,15})bytesto(?<requested_bytes>\d{1,15})bytes|heapexhausted(?:\(.{0,40}?\)|during.{0,24}?)[:.]\d{1,15}bytesavailable,(?<requested_bytes>\d{1,18})requested)`)),
		"Out of memory. size=", "Mkql memory limit exceeded", "Cannot enlarge memory arrays", "Failed to grow the heap from", "Heap exhausted during", "Heap exhausted (no more space"),
	text.OnAny(text.States(0, 90, text.NewPattern(`^(?:dynamic-space-sizebytes=(?<limit_bytes>\d{1,15})|enoughram(?<requested_bytes>\d{8,15})bytes)`)), "Dynamic-space-size bytes =", "enough RAM"),
	// pandas' CSV reader; R on macOS; Intel MKL under CTranslate2 (faster-whisper).
	text.OnAny(text.Fails(nativeFailure), "C error: out of memory", "vector memory exhausted (limit reached?)", "mkl_malloc: failed to allocate memory", "PANIC: unprotected error in call to Lua API (not enough memory)"),
	// MATLAB; CTranslate2 (faster-whisper, whisperX).
	text.OnAny(text.Fails(fact.Failure{Kind: fact.PlainDevice, Framework: "other", Backend: "cuda"}), "Maximum variable size allowed on the device is exceeded", "CUDA failed with error out of memory"),
	// OpenCV's alloc.cpp, 3.4 and later, and before.
	text.OnAny(text.FailsWith(nativeFailure, 0, 90, text.NewPattern(`failedtoallocate(?<requested_bytes>\d{1,20})bytes`)),
		"Insufficient memory) Failed to allocate", "(-4) Failed to allocate", "Insufficient memory (Failed to allocate"),
	// std::bad_alloc of Visual C++, the same behind LightGBM's "[Warning]".
	text.OnAny(text.Fails(fact.Failure{Kind: fact.BadAlloc, Framework: "other", Backend: "cpu"}), ": bad allocation", "] bad allocation"),
)

var clickHouse = text.FailsWith(nativeFailure, 0, 260, text.NewPattern(`(?<clickhouse_counted>SIZE)\(attempttoallocatechunkof(?:(?<requested_bytes>\d{1,16})bytes|(?<requested>SIZE)(?:bytes)?|0\.00b(?:bytes)?)\)(?:,currentrss:?(?<process_used>SIZE))?(?:,userspacepagecache[\d.]{1,9}[kmgt]?i?b)?,maximum:(?<limit>SIZE)`))

// javaRefused reads os_linux.cpp's warn_fail_commit_memory.
var javaRefused = text.FailsIf(nativeFailure, 120, 0, text.NewPattern(`os::commit_memory\(0x[0-9a-f]{1,16},(?<requested_bytes>\d{1,20}),`))

var nativeFailure = fact.Failure{Kind: fact.NativeAlloc, Framework: "other", Backend: "cpu"}

var daskPattern = text.NewPattern(`workermemorylimit:(?<limit>SIZE)`)

// readDask reads "Worker exceeded 95% memory budget. Restarting", 2022 and later
// "Worker tcp://10.0.0.4:34937 (pid=129) exceeded ...". The lines before name the
// limit; GB there are powers of 1000, GiB (2021 and later) of 1024.
func readDask(m text.Message) int {
	x := fact.Failure{Kind: fact.WorkerBudget, Framework: "other", Backend: "cpu"}
	x.Figures.Limit = m.Log.Decimal(m.Around(daskPattern, 3000, 0), "limit")
	return m.Fail(x, m.End)
}

// readGunicorn reads "Worker (pid:21) was sent SIGKILL! Perhaps out of memory?" (21.0 and later)
// and "Worker with pid 21 was terminated due to signal 9" (20.1). The arbiter itself sends that
// signal to a worker that did not answer in time: murder_workers in arbiter.py.
func readGunicorn(m text.Message) int {
	pid := m.Around(gunicornPattern, 40, 20).Lower("pid")
	if pid != "" && m.Precedes("workertimeout(pid:"+pid+")", text.MaxWindow) {
		m.Lookalike(workerTimeout)
		return m.End
	}
	return text.Fails(shellKilled)(m)
}

var gunicornPattern = text.NewPattern(`worker(?:\(pid:|withpid)(?<pid>\d{1,9})\)?was`)

var workerTimeout = fact.Lookalike{
	ID: "worker_timeout", Title: "Gunicorn ended a worker that did not answer in time; its question about memory is a guess.",
	Advice: "Raise `--timeout` (a model takes long to load), or load the model before the workers start: `--preload`.",
}
