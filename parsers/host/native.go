package host

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Native reads other programs without a card: Java, Arrow, OpenCV, Dask.
var Native = text.Parser{
	Name: "native", Keywords: text.Literals(nativeWordings),
	Explains: map[fact.Kind]int{fact.WorkerBudget: 4},
	Parse:    func(l *text.Log, hits []text.Hit, f *fact.Facts) { text.ParseWordings(nativeWordings, l, hits, f) },
}

var nativeWordings = []text.Wording{
	text.On("C error: out of memory", text.Fails(nativeFailure)), // pandas' CSV reader
	text.On("ArrowMemoryError", readArrow),
	text.On("Insufficient memory) Failed to allocate", readOpenCV), text.On("(-4) Failed to allocate", readOpenCV), text.On("Insufficient memory (Failed to allocate", readOpenCV),
	text.On("insufficient memory for the Java Runtime Environment", readJava),
	text.On("cannot allocate vector of size", readVector),                                                          // R
	text.On(": bad allocation", text.Fails(fact.Failure{Kind: fact.BadAlloc, Framework: "other", Backend: "cpu"})), // std::bad_alloc of Visual C++
	text.On("] bad allocation", text.Fails(fact.Failure{Kind: fact.BadAlloc, Framework: "other", Backend: "cpu"})), // the same behind LightGBM's "[Warning]"
	text.On("memory budget. Restarting", readDask),
	text.On("excessive memory usage causing the Operating System to kill", readJoblib),
	text.On("was sent SIGKILL", readGunicorn), text.On("was terminated due to signal 9", readGunicorn),
	text.On("CUDA failed with error out of memory", text.Fails(fact.Failure{Kind: fact.PlainDevice, Framework: "other", Backend: "cuda"})), // CTranslate2 (faster-whisper, whisperX)
	text.On("mkl_malloc: failed to allocate memory", text.Fails(nativeFailure)),                                                            // Intel MKL under CTranslate2 (faster-whisper)
}

var nativeFailure = fact.Failure{Kind: fact.NativeAlloc, Framework: "other", Backend: "cpu"}

var (
	arrowPattern  = text.NewPattern(`(?:malloc|realloc)ofsize(?<want>\d{1,20})failed`)
	openCVPattern = text.NewPattern(`failedtoallocate(?<want>\d{1,20})bytes`)
	javaPattern   = text.NewPattern(`nativememoryallocation\((?:mmap|malloc)\)failedto(?:map|allocate)(?<want>\d{1,20})bytes`)
	daskPattern   = text.NewPattern(`workermemorylimit:(?<limit>SIZE)`)
	vectorPattern = text.NewPattern(`ofsize(?<want>[\d.]{1,12}[kmg]b)`)
)

// readArrow reads "ArrowMemoryError: malloc of size 1073741824 failed".
func readArrow(m text.Message) int {
	k := m.Find(arrowPattern, 80)
	if !k.Ok() {
		return m.End
	}
	return refused(m, k)
}

// readOpenCV reads "(-4:Insufficient memory) Failed to allocate 99532800 bytes"
// (alloc.cpp, 3.4 and later), "(-4) Failed to allocate ..." and "OpenCV Error:
// Insufficient memory (Failed to allocate ..." (before).
func readOpenCV(m text.Message) int { return refused(m, m.Find(openCVPattern, 90)) }

// readJava reads hs_err's head: the system refused memory to the virtual
// machine, which is not its heap being full.
func readJava(m text.Message) int {
	return refused(m, m.Find(javaPattern, 260))
}

// readDask reads "distributed.nanny - WARNING - Worker exceeded 95% memory
// budget. Restarting" and, of 2022 and later, "Worker tcp://10.0.0.4:34937
// (pid=129) exceeded 95% memory budget. Restarting...". The lines before name
// the limit; GB there are powers of 1000, GiB (2021 and later) of 1024.
func readDask(m text.Message) int {
	x := fact.Failure{Kind: fact.WorkerBudget, Framework: "other", Backend: "cpu"}
	if k := m.Log.Find(daskPattern, m.At-3000, m.At); k.Ok() {
		x.Figures.Limit = m.Log.Decimal(k, "limit")
	}
	return m.Fail(x, m.End)
}

// readJoblib reads loky's TerminatedWorkerError, which names signals at its
// end: a segmentation fault is another thing.
func readJoblib(m text.Message) int {
	if m.Follows("sigsegv", 200) {
		return m.End
	}
	return text.Fails(shellKilled)(m)
}

// readGunicorn reads "Worker (pid:21) was sent SIGKILL! Perhaps out of memory?"
// (21.0 and later) and "Worker with pid 21 was terminated due to signal 9"
// (20.1). The arbiter itself sends that signal to a worker that did not answer
// in time: murder_workers in arbiter.py.
func readGunicorn(m text.Message) int {
	pid := m.Around(gunicornPattern, 40, 20).Lower("pid")
	if pid != "" && strings.Contains(m.Log.Squeezed()[:m.At], "workertimeout(pid:"+pid+")") {
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

// readVector reads R's "cannot allocate vector of size 3.7 Gb"; powers of 1024.
func readVector(m text.Message) int { return refused(m, m.Find(vectorPattern, 60)) }

// refused adds a refusal of system memory with what was wanted.
func refused(m text.Message, k text.Match) int {
	x := nativeFailure
	x.Figures.Requested = k.Size("want")
	if _, isNumber := text.WholeNumber(k.Lower("want")); isNumber {
		x.Figures.Requested = text.RawBytes(k, "want")
	}
	return m.Fail(x, m.Took(k))
}
