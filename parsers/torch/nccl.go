package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// NCCL reads NCCL.
var NCCL = text.Parser{
	Name: "nccl", Keywords: text.Literals(ncclWordings),
	Explains: map[fact.Kind]int{fact.NCCLShm: 4, fact.NCCLAlloc: 1},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		text.ParseWordings(ncclWordings, l, hits, f)
		foldKind(f, fact.NCCLShm)
	},
}

var ncclWordings = []text.Wording{
	text.On("Cuda failure 2 'out of memory'", readNCCLAlloc), text.On("Cuda failure 'out of memory'", readNCCLAlloc), text.On("Failed to CUDA calloc", readNCCLAlloc),
	text.On("creating shared memory segment /dev/shm/nccl", readNCCLShm), text.On("failed to extend /dev/shm/nccl", readNCCLShm),
}

var (
	ncclDevicePattern = text.NewPattern(`\d{1,8}:\d{1,8}\[(?<device>\d{1,2})\]`)
	ncclCallocPattern = text.NewPattern(`failedtocudacalloc(?:async)?(?<bytes>\d{1,16})bytes`)
	ncclShmPattern    = text.NewPattern(`(?:to(?<bytes>\d{1,14})bytes|\(size(?<bytes>\d{1,14})\))`)
)

// readNCCLAlloc reads "host:392:494 [2] enqueue.cc:43 NCCL WARN Cuda failure 2
// 'out of memory'".
func readNCCLAlloc(m text.Message) int {
	x := fact.Failure{Kind: fact.NCCLAlloc, Framework: ncclUser(m), Backend: "cuda"}
	from, _ := m.Log.LineSpan(m.At)
	if k := m.Log.Find(ncclDevicePattern, max(from, m.At-60), m.At); k.Ok() { // lines may have lost their ends
		x.Figures.Device = k.Count("device")
	}
	switch {
	case m.Mentions("ncclinfo"): // the connections are being made
		m.Facts.Signals = append(m.Facts.Signals, fact.Signal{ID: "nccl_setup", Line: m.Log.Line(m.At), Text: m.Log.LineText(m.At)})
	case x.Framework == "other" && m.Mentions("enqueue.cc"):
		x.Phase = "inference" // a collective in a server's step
	}
	k := m.Find(ncclCallocPattern, 160)
	x.Figures.Requested = k.Size("bytes")
	return m.Fail(x, m.Took(k))
}

// ncclUser is PyTorch where the log shows it: other programs use NCCL too.
func ncclUser(m text.Message) string {
	if m.Mentions("torch", "ncclunhandledcudaerror", "processgroupnccl") {
		return "pytorch"
	}
	return "other"
}

// readNCCLShm reads NCCL's two lines about /dev/shm; what users see is only
// "internal error" or "unhandled system error".
func readNCCLShm(m text.Message) int {
	x := fact.Failure{Kind: fact.NCCLShm, Framework: ncclUser(m), Backend: "cpu", Phase: "startup_check"}
	k := m.Find(ncclShmPattern, 110)
	x.Figures.Requested = k.Size("bytes")
	return m.Fail(x, m.Took(k))
}

// foldKind makes one failure out of all of a kind: the one that asked for most.
func foldKind(f *fact.Facts, kind fact.Kind) {
	best := -1
	for i, x := range f.Failures {
		if x.Kind == kind && (best < 0 || text.Requested(x) > text.Requested(f.Failures[best])) {
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
