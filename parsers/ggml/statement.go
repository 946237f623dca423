package ggml

import (
	"cmp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Levels order the statements about one refused buffer: ggml prints up to
// five, from malloc up to llama.cpp, each with part of the figures.
const (
	levelMalloc  = iota // ggml_aligned_malloc
	levelBuffer         // ggml_backend_*_buffer_type_alloc_buffer, ggml_vulkan
	levelDetail         // vk::Device::allocateMemory: ErrorOutOfDeviceMemory
	levelRange          // alloc_tensor_range, ggml_gallocr_reserve_n
	levelStage          // llama.cpp: which part it was
	levelRuntime        // its own block, nothing follows
)

// statement is one line about a refused buffer.
type statement struct {
	fact.Failure
	level int
	exact bool // the size is in bytes, not rounded to MiB
}

// refusal is one buffer that was refused: the statements of it, merged.
type refusal struct {
	statement
	retry  *retry
	healed bool
}

// retry says that the program goes on after a refusal, if it comes to work.
type retry struct {
	id, title string
}

// wantsBuffer: a buffer was asked for, and one of the driver's limits or its memory
// refused it; other kinds have one statement only.
func (x *statement) wantsBuffer() bool { return x.Kind == fact.GGMLAlloc || x.Kind == fact.GGMLLimit }

// take fills in what the groups of a pattern say.
func (x *statement) take(m text.Match) {
	if !m.Ok() {
		return
	}
	from, end := m.Span()
	x.At, x.End = min(x.At, from), end
	bytes := m.Size("bytes")
	x.Figures.Requested, x.exact = cmp.Or(bytes, m.Size("size")), bytes != nil
	x.Figures.Device, x.Figures.Limit, x.Figures.Free = m.Count("device"), m.Size("limit"), m.Size("free")
	if memory := m.Text("memory"); memory != "" {
		x.Memory, x.Backend = memory, BackendOfBuffer(memory)
	}
	if name := m.Lower("backend"); name != "" && !fact.HostMemory(name) {
		x.Memory, x.Backend = "", BackendOfBuffer(name)
	}
	if m.Lower("part") == "data" {
		x.Stage = "weights" // the builds of 2023 name their buffers, and 'data' is the file
	}
}

// together is how many lines may lie between two statements of one refusal.
const together = 14

// functionName is about how much may stand before the message in its line.
const functionName = 72

// say adds a statement to the refusal before it, or opens a new one.
func (g *ggmlReader) say(x statement) {
	if x.level == levelStage && g.lmStudio(x.At) {
		x.Framework = "lm-studio"
	}
	if from, _ := g.l.LineSpan(x.At); x.At-from <= functionName && from >= g.done {
		x.At = from // "function: message"
	}
	g.done = max(g.done, x.End)
	if g.open != nil && g.continues(g.open, x) {
		g.open.merge(x)
		return
	}
	if x.Stage == "" && x.wantsBuffer() {
		x.Stage = g.stage // only where nothing else can come in between
	}
	if last := g.last(); last != nil && g.toldLater(last, x) {
		last.At, last.End, last.Stage = x.At, x.End, x.Stage
		last.merge(x)
		g.open = last
		return
	}
	g.open = &refusal{statement: x}
	g.refusals = append(g.refusals, g.open)
}

// lmStudio tells LM Studio's own line by its capital: llama.cpp puts the
// function before it.
func (g *ggmlReader) lmStudio(at int) bool {
	before, _, found := strings.Cut(g.l.LineText(at), "Failed to initialize the context")
	return found && !strings.Contains(before, "llama_")
}

func (g *ggmlReader) continues(r *refusal, x statement) bool {
	if g.linesAfter(r, x.At) > together || r.retry != nil {
		return false
	}
	if x.level < r.level || x.level == r.level && x.level != levelStage && x.level != levelDetail {
		return false
	}
	if r.Kind != x.Kind && !r.wantsBuffer() || !x.wantsBuffer() {
		return false
	}
	inner, outer := r.Figures.Requested, x.Figures.Requested
	if inner == nil || outer == nil {
		return true
	}
	// MiB are rounded to two decimals, allocators add their alignment, and a graph
	// allocator may ask in several chunks of one buffer.
	return inner.Bytes-outer.Bytes < 1<<16 && outer.Bytes-inner.Bytes < outer.Bytes/8+1<<16
}

// linesAfter is how many lines an offset lies behind the end of a refusal.
func (g *ggmlReader) linesAfter(r *refusal, at int) int { return g.l.Line(at) - g.l.Line(r.End-1) }

// later is how many lines may lie between two statements of one refusal where
// the driver's go straight to standard error and llama.cpp's come through a
// logger of the program that uses it (node-llama-cpp 3): lines about what was
// allocated before stand in between then.
const later = 60

// toldLater reports that a statement is an outer layer's about exactly the
// bytes that were refused last.
func (g *ggmlReader) toldLater(r *refusal, x statement) bool {
	inner, outer := r.Figures.Requested, x.Figures.Requested
	return r.retry == nil && r.Kind == fact.GGMLAlloc && x.Kind == fact.GGMLAlloc && x.level > r.level &&
		inner != nil && outer != nil && r.exact && x.exact && inner.Bytes == outer.Bytes && g.linesAfter(r, x.At) <= later
}

func (g *ggmlReader) last() *refusal {
	if len(g.refusals) == 0 {
		return nil
	}
	return g.refusals[len(g.refusals)-1]
}

func (r *refusal) merge(x statement) {
	r.End = max(r.End, x.End)
	r.level = max(r.level, x.level)
	if x.Kind == fact.GGMLLimit {
		r.Kind = fact.GGMLLimit
	}
	if x.Figures.Requested != nil && (r.Figures.Requested == nil || x.exact) {
		r.Figures.Requested, r.exact = x.Figures.Requested, x.exact
	}
	if r.Backend == "" || x.Memory != "" && x.Backend != "" {
		r.Backend = x.Backend
	}
	r.Stage = cmp.Or(x.Stage, r.Stage) // what llama.cpp says beats what its load lines suggest
	r.Memory = cmp.Or(x.Memory, r.Memory)
	r.Phase = cmp.Or(x.Phase, r.Phase)
	r.Framework = cmp.Or(r.Framework, x.Framework)
	r.Weak = r.Weak && x.Weak
	r.Figures.Fill(x.Figures)
}

// retrying makes the reader of a line that says that the program tries again after
// the refusals just before; of layouts it tries one after the other.
func retrying(id, title string) func(*ggmlReader, text.Message) {
	return func(g *ggmlReader, m text.Message) {
		for _, r := range g.refusals {
			if r.retry != nil || id != noticeLayout && g.linesAfter(r, m.At) > together {
				continue
			}
			r.retry = &retry{id, title}
			if id == noticeLayout {
				r.whileLoading()
			}
		}
		g.open = nil
	}
}

// whileLoading: layouts are tried while the model is loaded, and of what a
// tensor range can be the weights are by far the most.
func (r *refusal) whileLoading() {
	if r.Stage != "" {
		return
	}
	r.Phase = "load"
	if r.level == levelRange {
		r.Stage = "weights"
	}
}

// working notes that the program came to work: what it retried is recovered.
func (g *ggmlReader) working(m text.Message) {
	g.phase("inference", m.At)
	for _, r := range g.refusals {
		r.healed = true
	}
}

const (
	noticeLayout = "layout_backoff"
	noticeMetal  = "metal_over_recommended"
)
