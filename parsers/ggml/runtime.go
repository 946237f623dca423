package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// runtime reads the block that ggml prints on any CUDA error. PyTorch has the
// same words: see rawCUDA.
func (g *ggmlReader) runtime(at int) {
	if !Speaks(g.s, at) {
		return
	}
	x := statement{kind: fact.GGMLRuntime, level: levelRuntime, at: at, end: min(at+len("cudaerror:outofmemory"), len(g.s)), backend: "cuda", phase: "inference"}
	if strings.HasPrefix(g.s[at:], "rocm") || strings.HasPrefix(g.s[at:], "hip") || strings.Contains(g.around(at, 0, 360), "hipmalloc(") {
		x.backend = "rocm"
	}
	if strings.HasPrefix(g.s[at:], "musa") {
		x.backend = "" // the report has no name for it
	}
	if m := g.find(runtimeBlock, at, 0, 260); m.Ok() {
		_, x.end = m.Span()
		x.device = m.Count("device")
	}
	if strings.HasPrefix(g.s[at:], "cudaerror2at") || strings.HasPrefix(g.s[at:], "cublaserror3at") {
		x.phase = "" // the builds of 2023 print it while loading too
	}
	if m := g.l.Find(poolRefused, at-260, at); m.Ok() {
		x.requested = m.Size("size")
	}
	g.say(x)
}

// bareRuntime is koboldcpp's "ggml-cuda.cu:5871: out of memory".
func (g *ggmlReader) bareRuntime(at int) {
	m := g.find(bareCUDA, at, 0, 40)
	if !m.Ok() || strings.Contains(g.around(at, 120, 0), "cudaerror2at") {
		return
	}
	_, end := m.Span()
	g.say(statement{kind: fact.GGMLRuntime, level: levelRuntime, at: at, end: end, backend: "cuda"})
}

// Speaks tells ggml's "CUDA error: out of memory" from PyTorch's.
func Speaks(s string, at int) bool {
	after, before := s[at:min(at+320, len(s))], s[max(at-200, 0):at]
	if strings.Contains(after, "currentdevice:") || strings.Contains(after, "ggml") {
		return true
	}
	if strings.HasSuffix(before, "runtimeerror:") || strings.Contains(after, "torch") || strings.Contains(after, "cudakernelerrors") {
		return false
	}
	for _, word := range [...]string{"ggml", "llama_", "llama.cpp", "encode_image_with_clip", "ollama", "whilerunningthemodel"} {
		if strings.Contains(before, word) {
			return true
		}
	}
	return false
}

// pool reads an arena of the program that is too small: nothing of the
// system's. Needed and available are both counted from the arena's start.
func (g *ggmlReader) pool(at int) {
	x := statement{kind: fact.GGMLPool, level: levelRuntime, at: at, end: min(at+len("notenoughspaceinthecontext'smemorypool"), len(g.s))}
	x.sized(g, at)
	x.figures.Limit = x.figures.Free
	g.say(x)
}

func (g *ggmlReader) plan(at int) {
	if strings.HasPrefix(g.s[at+len("notenoughspaceinthebuffer"):], `"`) && g.open != nil {
		return // the assertion that follows the message
	}
	x := statement{kind: fact.GGMLPlan, level: levelRuntime, at: at, end: at + len("notenoughspaceinthebuffer")}
	if m := g.find(tensorName, at, 0, 140); m.Ok() {
		if strings.HasSuffix(m.Lower("tensor"), ".weight") {
			x.phase = "load"
		}
	}
	x.sized(g, at)
	if last := len(g.refusals) - 1; x.requested == nil && last >= 0 && g.refusals[last].kind == fact.GGMLPlan {
		return
	}
	if x.requested == nil && strings.Contains(g.around(at, 0, 160), "(needed") {
		return // "ggml-alloc.c:99: not enough space in the buffer", said again with figures
	}
	g.say(x)
}

// sized reads "(needed A, available B)".
func (x *statement) sized(g *ggmlReader, at int) {
	if m := g.find(poolSize, at, 0, 150); m.Ok() {
		from, end := m.Span()
		if from-x.end < 100 {
			x.end = end
			x.requested, x.exact, x.figures.Free = m.Size("need"), true, m.Size("have")
		}
	}
}

func (g *ggmlReader) syclAlloc(at int) {
	m := g.find(syclSize, at, 0, 70)
	if !m.Ok() {
		return
	}
	_, end := m.Span()
	x := statement{kind: fact.GGMLAlloc, level: levelBuffer, at: at, end: end, backend: "sycl", requested: m.Size("size"), exact: true}
	if !strings.Contains(g.around(at, 50, 0), "buffer_type") {
		x.stage, x.phase = "compute", "inference" // the pool of the run time
	}
	g.say(x)
}

// syclRuntime reads the oneAPI runtime's codes, where ggml is at work: PyTorch
// has them too.
func (g *ggmlReader) syclRuntime(at int) {
	if !strings.Contains(g.s, "ggml") && g.program == "" {
		return
	}
	g.say(statement{kind: fact.GGMLSYCL, level: levelRuntime, at: at, end: min(at+len("_result_error_out_of_device_memory"), len(g.s)), backend: "sycl"})
}

// openCL reads "ggml_opencl: clCreateBuffer(...) error -61 at ggml-opencl.cpp:1339"
// and CLBlast's "OpenCL error: clEnqueueNDRangeKernel: -4", which an assertion
// follows. -4 is memory of the card refused, -6 that of the host, -61 a buffer
// above the largest that the device gives; other codes are other troubles.
func (g *ggmlReader) openCL(at int) {
	m := g.find(openCLCode, at, 220, len("ggml-opencl.cpp:"))
	if !m.Ok() {
		return
	}
	from, _ := m.Span()
	x := statement{kind: fact.GGMLAlloc, level: levelBuffer, at: from, end: at + len("ggml-opencl.cpp:")}
	switch m.Lower("code") {
	case "4":
		x.phase = "inference" // a kernel or a copy
		if strings.Contains(g.s[from:at], "createbuffer") {
			x.stage, x.phase = "compute", ""
		}
	case "61":
		x.kind = fact.GGMLLimit
	case "6":
		if strings.Contains(g.s[from:at], "queue") {
			return // the driver refused the device
		}
		x.backend, x.memory = "cpu", "CPU"
	default:
		return
	}
	g.say(x)
}

// lmStudioGuard reads LM Studio's estimate before it loads: "Model loading was
// stopped due to insufficient system resources" (0.3.17 and later, with how much
// it thinks is needed), "was aborted due to" before.
func (g *ggmlReader) lmStudioGuard(at int) {
	if strings.HasPrefix(g.s[at:], "dueto") && !strings.Contains(g.around(at, 60, 0), "modelloading") {
		return
	}
	x := statement{kind: fact.LlamaGuard, level: levelRuntime, at: at, end: at + len("duetoinsufficientsystemresources"), phase: "startup_check", framework: "lm-studio"}
	if m := g.find(guardSize, at, 0, 260); m.Ok() {
		_, x.end = m.Span()
		x.figures.SystemRequired = g.l.Decimal(m, "size") // LM Studio's GB are powers of 1000
		if m.Lower("nan") != "" {
			g.f.Facts = append(g.f.Facts, fact.Fact{Name: "guard_nan", Text: g.l.LineText(at), Line: g.l.Line(at)})
		}
	}
	g.say(x)
}

func (g *ggmlReader) nodeGuard(at int) {
	m := g.find(nodeContext, at, 60, 40)
	if !m.Ok() {
		return
	}
	from, end := m.Span()
	x := statement{kind: fact.LlamaGuard, level: levelRuntime, at: from, end: end, phase: "startup_check", stage: "kv"}
	x.figures.Context = m.Count("context")
	g.fact("n_seq_max", nil, m.Count("seqs"), at)
	if m.Lower("where") == "ram" {
		x.backend, x.memory = "cpu", "CPU"
	}
	g.say(x)
}

func (g *ggmlReader) gpt4all(at int) {
	g.say(statement{kind: fact.GGMLAlloc, level: levelStage, at: at, end: at + len("gpuloadingfailed(outofvram"), stage: "weights"})
}

func (g *ggmlReader) caller(at int) {
	from, to := g.l.LineSpan(at)
	g.callers = append(g.callers, statement{at: from, end: max(min(to, from+400), at+8)})
	g.modelInQuotes(at)
}
