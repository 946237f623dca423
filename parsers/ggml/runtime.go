package ggml

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// runtime makes the reader of the block that ggml prints on any CUDA error.
// PyTorch has the same words: see rawCUDA.
func runtime(backend, phase string) func(*ggmlReader, text.Message) {
	is := fact.Failure{Kind: fact.GGMLRuntime, Backend: backend, Phase: phase}
	return refusing{is: is, level: levelRuntime, figures: runtimeBlock, ahead: 260, look: runtimeError}.read
}

func runtimeError(g *ggmlReader, m text.Message, _ text.Match, x *statement) bool {
	if m.Follows("hipmalloc(", 360) {
		x.Backend = "rocm"
	}
	if m.Follows("functionstreamat", 120) || m.Follows("device_event_new", 120) { // it sets up a queue
		x.Phase = ""
	}
	if m.Follows("memgetinfo(", 360) || m.Follows("device_get_memory", 120) { // it only looks at the card
		x.Phase = "startup_check"
	}
	x.Figures.Requested = g.l.Find(poolRefused, m.At-260, m.At).Size("size")
	return Speaks(g.s, m.At)
}

// notInBlock: koboldcpp prints "ggml-cuda.cu:5871: out of memory" alone.
func notInBlock(_ *ggmlReader, m text.Message, _ text.Match, _ *statement) bool {
	return !m.Precedes("cudaerror2at", 120)
}

// Speaks tells ggml's "CUDA error: out of memory" from PyTorch's.
func Speaks(s string, at int) bool {
	after, before := s[at:min(at+320, len(s))], s[max(at-200, 0):at]
	switch {
	case containsAny(after, "currentdevice:", "ggml"):
		return true
	case strings.HasSuffix(before, "runtimeerror:"), containsAny(after, "torch", "cudakernelerrors"):
		return false
	}
	return containsAny(before, "ggml", "llama_", "llama.cpp", "encode_image_with_clip", "ollama", "whilerunningthemodel")
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// ofArena: an arena of the program is too small, nothing of the system's. Needed
// and available are both counted from the arena's start.
func ofArena(_ *ggmlReader, _ text.Message, _ text.Match, x *statement) bool {
	x.Figures.Limit = x.Figures.Free
	return true
}

// plan: "ggml-alloc.c:99: not enough space in the buffer" and the assertion that
// follows say again what the line with the figures says.
func plan(g *ggmlReader, m text.Message, _ text.Match, x *statement) bool {
	last := g.last()
	again := m.Follows("(needed", 160) || last != nil && (last.Kind == fact.GGMLPlan || strings.HasPrefix(g.s[m.End:], `"`))
	if again && x.Figures.Requested == nil {
		return false
	}
	if g.find(ofTensor, m.At, 0, 140).Ok() {
		x.Phase = "load"
	}
	return true
}

// syclPool: the pool of the run time, not a buffer of the model's.
func syclPool(_ *ggmlReader, m text.Message, _ text.Match, x *statement) bool {
	if !m.Precedes("buffer_type", 50) {
		x.Stage, x.Phase = "compute", "inference"
	}
	return true
}

// atWork: the codes are the oneAPI runtime's, and PyTorch has them too.
func atWork(g *ggmlReader, m text.Message, _ text.Match, _ *statement) bool {
	return m.Mentions("ggml") || m.Mentions("sycl0:") || g.program != ""
}

// openCL reads "ggml_opencl: clCreateBuffer(...) error -61 at ggml-opencl.cpp:1339"
// and CLBlast's "OpenCL error: clEnqueueNDRangeKernel: -4", which an assertion
// follows. -4 is memory of the card refused, -6 that of the host, -61 a buffer
// above the largest that the device gives; other codes are other troubles.
func openCL(g *ggmlReader, m text.Message, k text.Match, x *statement) bool {
	said := g.s[x.At:m.At]
	switch code := k.Lower("code"); {
	case code == "4" && strings.Contains(said, "createbuffer"):
		x.Stage = "compute"
	case code == "4":
		x.Phase = "inference" // a kernel or a copy
	case code == "61":
		x.Kind = fact.GGMLLimit
	case code == "6" && !strings.Contains(said, "queue"): // there the driver refused the device
		x.Backend, x.Memory = "cpu", "CPU"
	default:
		return false
	}
	return true
}

// lmStudioGuard: LM Studio's GB are powers of 1000.
func lmStudioGuard(g *ggmlReader, m text.Message, k text.Match, x *statement) bool {
	if strings.HasPrefix(g.s[m.At:], "dueto") && !m.Precedes("modelloading", 60) {
		return false
	}
	x.Figures.SystemRequired = g.l.Decimal(k, "need")
	if k.Lower("nan") != "" {
		text.Says("guard_nan")(m)
	}
	return true
}

func nodeGuard(_ *ggmlReader, m text.Message, k text.Match, x *statement) bool {
	x.Figures.Context = k.Count("context")
	m.Count("n_seq_max", k.Count("n_seq_max"))
	if k.Lower("where") == "ram" {
		x.Backend, x.Memory = "cpu", "CPU"
	}
	return true
}

func (g *ggmlReader) caller(m text.Message) {
	from, to := g.l.LineSpan(m.At)
	g.callers = append(g.callers, fact.Failure{At: from, End: max(min(to, from+400), m.At+8)})
	g.mention(g.find(quotedModel, m.At, 0, 380), 3, m)
}
