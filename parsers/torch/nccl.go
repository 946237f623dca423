package torch

import (
	"cmp"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// NCCL reads NCCL.
var NCCL = text.Parser{Name: "nccl", Explains: map[fact.Kind]int{fact.NCCLShm: 4, fact.NCCLAlloc: 1}}.Reading(ncclWordings, nil,
	func(_ *text.Log, _ []text.Hit, f *fact.Facts) {
		text.Fold(f, fact.NCCLShm, func(all []fact.Failure) fact.Failure {
			return slices.MaxFunc(all, func(a, b fact.Failure) int { return cmp.Compare(text.Requested(a), text.Requested(b)) })
		})
	})

var ncclWordings = slices.Concat(
	text.OnAny(readNCCLAlloc, "Cuda failure 2 'out of memory'", "Cuda failure 'out of memory'", "Failed to CUDA calloc"),
	text.OnAny(readNCCLFallocate, "Call to posix_fallocate failed"),
	text.OnAny(readNCCLShm, "creating shared memory segment /dev/shm/nccl", "failed to extend /dev/shm/nccl", "creating shared memory segment nccl-shm"),
)

var (
	ncclDevicePattern = text.NewPattern(`\d{1,8}:\d{1,8}\[(?<device>\d{1,2})\]`)
	ncclCallocPattern = text.NewPattern(`failedtocudacalloc(?:async)?(?<requested_bytes>\d{1,16})bytes`)
	ncclShmPattern    = text.NewPattern(`(?:to|\(size)(?<requested_bytes>\d{1,14})(?:bytes|\))`)
)

// readNCCLAlloc reads "host:392:494 [2] enqueue.cc:43 NCCL WARN Cuda failure 2
// 'out of memory'".
func readNCCLAlloc(m text.Message) int {
	x := fact.Failure{Kind: fact.NCCLAlloc, Framework: ncclUser(m), Backend: "cuda"}
	from, _ := m.Log.LineSpan(m.At)
	x.Figures.Device = m.Log.Find(ncclDevicePattern, max(from, m.At-60), m.At).Count("device") // lines may have lost their ends
	switch {
	case m.Mentions("ncclinfo"): // the connections are being made
		m.Log.Signal(m.Facts, "nccl_setup", m.At)
	case x.Framework == "other" && m.Mentions("enqueue.cc"):
		x.Phase = "inference" // a collective that was being enqueued
	}
	return m.FailWith(x, m.Find(ncclCallocPattern, 160))
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
	return m.FailWith(fact.Failure{Kind: fact.NCCLShm, Framework: ncclUser(m), Backend: "cpu", Phase: "startup_check"}, m.Find(ncclShmPattern, 110))
}

// readNCCLFallocate reads the line before those two, where a paste ends at it: what
// NCCL reserves with this call is always a segment in /dev/shm.
func readNCCLFallocate(m text.Message) int {
	if !m.Precedes("ncclwarn", 20) || !m.Follows("nospaceleft", 45) {
		return m.At
	}
	return readNCCLShm(m)
}
