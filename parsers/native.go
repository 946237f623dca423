package parsers

import "strings"

const (
	// NativeAlloc is system memory refused to a library that says so in its own
	// words: pandas, Arrow, OpenCV, the Java VM, R.
	NativeAlloc Kind = "native_alloc"
	// WorkerBudget is a Dask worker above the share that it was given.
	WorkerBudget Kind = "worker_budget"
)

var native = Parser{
	Name: "native", Keywords: literals(nativeWordings),
	Explains: map[Kind]int{WorkerBudget: 4},
	Parse:    func(l *Log, hits []Hit, f *Facts) { parseWordings(nativeWordings, l, hits, f) },
}

var nativeWordings = []wording{
	{"C error: out of memory", fails(nativeFailure)}, // pandas' CSV reader
	{"ArrowMemoryError", readArrow},
	{"Insufficient memory) Failed to allocate", readOpenCV}, {"(-4) Failed to allocate", readOpenCV}, {"Insufficient memory (Failed to allocate", readOpenCV},
	{"insufficient memory for the Java Runtime Environment", readJava},
	{"cannot allocate vector of size", readVector},                                           // R
	{": bad allocation", fails(Failure{Kind: BadAlloc, Framework: "other", Backend: "cpu"})}, // std::bad_alloc of Visual C++
	{"] bad allocation", fails(Failure{Kind: BadAlloc, Framework: "other", Backend: "cpu"})}, // the same behind LightGBM's "[Warning]"
	{"memory budget. Restarting", readDask},
	{"excessive memory usage causing the Operating System to kill", readJoblib},
	{"was sent SIGKILL", readGunicorn}, {"was terminated due to signal 9", readGunicorn},
	{"CUDA failed with error out of memory", fails(Failure{Kind: PlainDevice, Framework: "other", Backend: "cuda"})}, // CTranslate2 (faster-whisper, whisperX)
	{"mkl_malloc: failed to allocate memory", fails(nativeFailure)},                                                  // Intel MKL under CTranslate2 (faster-whisper)
}

var nativeFailure = Failure{Kind: NativeAlloc, Framework: "other", Backend: "cpu"}

var (
	arrowPattern  = pattern(`(?:malloc|realloc)ofsize(?<want>\d{1,20})failed`)
	openCVPattern = pattern(`failedtoallocate(?<want>\d{1,20})bytes`)
	javaPattern   = pattern(`nativememoryallocation\((?:mmap|malloc)\)failedto(?:map|allocate)(?<want>\d{1,20})bytes`)
	daskPattern   = pattern(`workermemorylimit:(?<limit>SIZE)`)
	vectorPattern = pattern(`ofsize(?<want>[\d.]{1,12}[kmg]b)`)
)

// readArrow reads "ArrowMemoryError: malloc of size 1073741824 failed".
func readArrow(m message) int {
	k := m.find(arrowPattern, 80)
	if !k.Ok() {
		return m.end
	}
	return m.refused(k)
}

// readOpenCV reads "(-4:Insufficient memory) Failed to allocate 99532800 bytes"
// (alloc.cpp, 3.4 and later), "(-4) Failed to allocate ..." and "OpenCV Error:
// Insufficient memory (Failed to allocate ..." (before).
func readOpenCV(m message) int { return m.refused(m.find(openCVPattern, 90)) }

// readJava reads hs_err's head: the system refused memory to the virtual
// machine, which is not its heap being full.
func readJava(m message) int {
	return m.refused(m.find(javaPattern, 260))
}

// readDask reads "distributed.nanny - WARNING - Worker exceeded 95% memory
// budget. Restarting" and, of 2022 and later, "Worker tcp://10.0.0.4:34937
// (pid=129) exceeded 95% memory budget. Restarting...". The lines before name
// the limit; GB there are powers of 1000, GiB (2021 and later) of 1024.
func readDask(m message) int {
	x := Failure{Kind: WorkerBudget, Framework: "other", Backend: "cpu"}
	if k := m.l.Find(daskPattern, m.at-3000, m.at); k.Ok() {
		x.Figures.Limit = m.l.decimal(k, "limit")
	}
	return m.fail(x, m.end)
}

// readJoblib reads loky's TerminatedWorkerError, which names signals at its
// end: a segmentation fault is another thing.
func readJoblib(m message) int {
	if m.follows("sigsegv", 200) {
		return m.end
	}
	return fails(shellKilled)(m)
}

// readGunicorn reads "Worker (pid:21) was sent SIGKILL! Perhaps out of memory?"
// (21.0 and later) and "Worker with pid 21 was terminated due to signal 9"
// (20.1). The arbiter itself sends that signal to a worker that did not answer
// in time: murder_workers in arbiter.py.
func readGunicorn(m message) int {
	pid := m.around(gunicornPattern, 40, 20).Lower("pid")
	if pid != "" && strings.Contains(m.l.Squeezed()[:m.at], "workertimeout(pid:"+pid+")") {
		m.lookalike(workerTimeout)
		return m.end
	}
	return fails(shellKilled)(m)
}

var gunicornPattern = pattern(`worker(?:\(pid:|withpid)(?<pid>\d{1,9})\)?was`)

var workerTimeout = Lookalike{
	ID: "worker_timeout", Title: "Gunicorn ended a worker that did not answer in time; its question about memory is a guess.",
	Advice: "Raise `--timeout` (a model takes long to load), or load the model before the workers start: `--preload`.",
}

// readVector reads R's "cannot allocate vector of size 3.7 Gb"; powers of 1024.
func readVector(m message) int { return m.refused(m.find(vectorPattern, 60)) }

// refused adds a refusal of system memory with what was wanted.
func (m message) refused(k Match) int {
	x := nativeFailure
	x.Figures.Requested = k.Size("want")
	if _, isNumber := wholeNumber(k.Lower("want")); isNumber {
		x.Figures.Requested = rawBytes(k, "want")
	}
	return m.fail(x, m.took(k))
}
