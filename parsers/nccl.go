package parsers

// What NCCL says when a card or /dev/shm is full.
const (
	// NCCLAlloc is NCCL finding the card full before it has its own buffers
	// (0.2 to 2 GB outside the framework's pool).
	NCCLAlloc Kind = "nccl_alloc"
	// NCCLShm is a /dev/shm too small for NCCL's segments.
	NCCLShm Kind = "nccl_shm"
)

var nccl = Parser{
	Name: "nccl", Keywords: literals(ncclWordings),
	Explains: map[Kind]int{NCCLShm: 4, NCCLAlloc: 1},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		parseWordings(ncclWordings, l, hits, f)
		f.foldKind(NCCLShm)
	},
}

var ncclWordings = []wording{
	{"Cuda failure 2 'out of memory'", readNCCLAlloc}, {"Cuda failure 'out of memory'", readNCCLAlloc}, {"Failed to CUDA calloc", readNCCLAlloc},
	{"creating shared memory segment /dev/shm/nccl", readNCCLShm}, {"failed to extend /dev/shm/nccl", readNCCLShm},
}

var (
	ncclDevicePattern = pattern(`\d{1,8}:\d{1,8}\[(?<device>\d{1,2})\]`)
	ncclCallocPattern = pattern(`failedtocudacalloc(?:async)?(?<bytes>\d{1,16})bytes`)
	ncclShmPattern    = pattern(`(?:to(?<bytes>\d{1,14})bytes|\(size(?<bytes>\d{1,14})\))`)
)

// readNCCLAlloc reads "host:392:494 [2] enqueue.cc:43 NCCL WARN Cuda failure 2
// 'out of memory'".
func readNCCLAlloc(m message) int {
	x := Failure{Kind: NCCLAlloc, Framework: ncclUser(m), Backend: "cuda"}
	from, _ := m.l.LineSpan(m.at)
	if k := m.l.Find(ncclDevicePattern, max(from, m.at-60), m.at); k.Ok() { // lines may have lost their ends
		x.Figures.Device = k.Count("device")
	}
	switch {
	case m.mentions("ncclinfo"): // the connections are being made
		m.f.Signals = append(m.f.Signals, Signal{ID: "nccl_setup", Line: m.l.Line(m.at), Text: m.l.LineText(m.at)})
	case x.Framework == "other" && m.mentions("enqueue.cc"):
		x.Phase = "inference" // a collective in a server's step
	}
	k := m.find(ncclCallocPattern, 160)
	x.Figures.Requested = k.Size("bytes")
	return m.fail(x, m.took(k))
}

// ncclUser is PyTorch where the log shows it: other programs use NCCL too.
func ncclUser(m message) string {
	if m.mentions("torch", "ncclunhandledcudaerror", "processgroupnccl") {
		return "pytorch"
	}
	return "other"
}

// readNCCLShm reads NCCL's two lines about /dev/shm; what users see is only
// "internal error" or "unhandled system error".
func readNCCLShm(m message) int {
	x := Failure{Kind: NCCLShm, Framework: ncclUser(m), Backend: "cpu", Phase: "startup_check"}
	k := m.find(ncclShmPattern, 110)
	x.Figures.Requested = k.Size("bytes")
	return m.fail(x, m.took(k))
}

// foldKind makes one failure out of all of a kind: the one that asked for most.
func (f *Facts) foldKind(kind Kind) {
	best := -1
	for i, x := range f.Failures {
		if x.Kind == kind && (best < 0 || requested(x) > requested(f.Failures[best])) {
			best = i
		}
	}
	kept := f.Failures[:0]
	for i, x := range f.Failures {
		if x.Kind != kind || i == best {
			kept = append(kept, x)
		}
	}
	f.Failures = kept
}

func requested(x Failure) int64 {
	if x.Figures.Requested == nil {
		return 0
	}
	return x.Figures.Requested.Bytes
}
