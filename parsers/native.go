package parsers

// NativeAlloc is system memory refused to a library that says so in its own
// words: pandas, Arrow, OpenCV, the Java VM, R.
const NativeAlloc Kind = "native_alloc"

var native = Parser{
	Name: "native", Keywords: literals(nativeWordings),
	Parse: func(l *Log, hits []Hit, f *Facts) { parseWordings(nativeWordings, l, hits, f) },
}

var nativeWordings = []wording{
	{"C error: out of memory", fails(nativeFailure)},                                         // pandas' CSV reader
	{"ArrowMemoryError", readArrow},                                                          // pyarrow
	{"Insufficient memory) Failed to allocate", readOpenCV},                                  // OpenCV, all versions
	{"insufficient memory for the Java Runtime Environment", fails(nativeFailure)},           // not its heap: the system refused
	{"cannot allocate vector of size", readVector},                                           // R
	{": bad allocation", fails(Failure{Kind: BadAlloc, Framework: "other", Backend: "cpu"})}, // std::bad_alloc of Visual C++
	{"memory budget. Restarting", fails(nativeFailure)}, {"Nanny killed worker", fails(nativeFailure)},
	{"excessive memory usage causing the Operating System to kill", fails(shellKilled)}, // joblib (loky)
	{"Perhaps out of memory?", fails(shellKilled)},                                      // gunicorn
}

var nativeFailure = Failure{Kind: NativeAlloc, Framework: "other", Backend: "cpu"}

var (
	arrowPattern  = pattern(`(?:malloc|realloc)ofsize(?<want>\d{1,18})failed`)
	openCVPattern = pattern(`failedtoallocate(?<want>\d{1,18})bytes`)
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

// readOpenCV reads "(-4:Insufficient memory) Failed to allocate 99532800 bytes".
func readOpenCV(m message) int { return m.refused(m.find(openCVPattern, 90)) }

// readVector reads R's "cannot allocate vector of size 3.7 Gb"; powers of 1024.
func readVector(m message) int { return m.refused(m.find(vectorPattern, 60)) }

// refused adds a refusal of system memory with what was wanted.
func (m message) refused(k Match) int {
	x := nativeFailure
	x.Figures.Requested = k.Size("want")
	return m.fail(x, m.took(k))
}
