package lookalike

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// forbidden is EPERM in the words of glibc, OpenBLAS, libuv and Ruby; no limit on
// numbers, which is EAGAIN.
var forbidden = text.NewPattern(`^(?:(?:blas_thread_init:)?pthread_createfailed(?:forthread\d{1,4}of\d{1,4})?:?\(?|pthread_create:|can'tcreatethread:)(?:eperm|operationnotpermitted)`)

func denied(m text.Message) bool { return m.Find(forbidden, 80).Ok() }

// guards are what "when" names.
var guards = map[string]text.Guard{
	"alone": nothingElseFailed, "disk": isDisk, "denied": denied, "refused": not(denied),
	"heap": not(text.Behind("nativethread", 80)), "rts": text.Behind("+rts-m", 80),
	"no_oom": not(text.Before("outofmemory", 400)), "no_sized_oom": not(text.Before("outofmemory.size=", 400)),
	"hsa": func(m text.Message) bool {
		return m.Mentions("rocminfo", "hsa_init", "/dev/kfd", "rocr") || nothingElseFailed(m)
	},
}

// isDisk tells a disk from /dev/shm: errno 28 on "</torch_...>", /dev/shm or a
// semaphore is shared memory.
func isDisk(m text.Message) bool {
	for _, shared := range [...]string{"</torch_", "'/psm_", "/dev/shm", "semlock", "ncclwarncalltoposix_fallocate", "sharedmemorysegment", "triton_python_backend_shm"} {
		if m.Precedes(shared, 500) || m.Follows(shared, 160) {
			known := func(x fact.Failure) bool {
				return x.Kind == fact.SharedMemory || x.Kind == fact.NCCLShm || x.Kind == fact.SharedSegment
			}
			if m.Follows("nospaceleft", 11) && !slices.ContainsFunc(m.Facts.Failures, known) {
				m.Fail(map[bool]fact.Failure{true: {Kind: fact.SharedMemory, Framework: "pytorch", Backend: "cpu"}, false: {Kind: fact.SharedSegment, Framework: "other", Backend: "cpu"}}[m.Mentions("torch", "dataloader", "semlock", "/psm_")], m.End)
			}
			return false
		}
	}
	switch {
	case m.Follows("ephemeral-storage", 17):
		return m.Precedes("lowonresource:", 20) || m.Follows("exceed", 80)
	case m.Follows("diskpressure", 12):
		return !m.Follows("diskpressurefalse", 20) && !m.Precedes("hasno", 5)
	case m.Follows("unexpectedpos", 13):
		return m.Precedes("inline_container", 40)
	}
	return true
}
