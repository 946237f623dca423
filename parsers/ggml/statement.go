package ggml

import "github.com/oomdoc/oomdoc/parsers/fact"

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
	kind      fact.Kind
	level     int
	at, end   int
	stage     string
	memory    string // CUDA0, CPU, Vulkan_Host
	backend   string
	phase     string
	framework string
	requested *fact.Size
	exact     bool // in bytes, not rounded to MiB
	device    *fact.Count
	weak      bool
	figures   fact.Figures
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

func (r *refusal) recovered() bool { return r.retry != nil && r.healed }

// together is how many lines may lie between two statements of one refusal.
const together = 14

// functionName is about how much may stand before the message in its line.
const functionName = 72

// say adds a statement to the refusal before it, or opens a new one.
func (g *ggmlReader) say(x statement) {
	if from, _ := g.l.LineSpan(x.at); x.at-from <= functionName && from >= g.done {
		x.at = from // "function: message"
	}
	g.done = max(g.done, x.end)
	if g.open != nil && g.continues(g.open, x) {
		g.open.merge(x)
		return
	}
	if last := g.last(); last != nil && g.toldLater(last, x) {
		last.at, last.end, last.stage = x.at, x.end, g.stageHere(x)
		last.merge(x)
		g.open = last
		return
	}
	if x.stage == "" {
		x.stage = g.stageHere(x)
	}
	g.open = &refusal{statement: x}
	g.refusals = append(g.refusals, g.open)
}

// stageHere trusts the load lines only for refusals whose own lines name no
// stage, and only where nothing else can come in between.
func (g *ggmlReader) stageHere(x statement) string {
	if x.kind != fact.GGMLAlloc && x.kind != fact.GGMLLimit {
		return ""
	}
	return g.stage
}

func (g *ggmlReader) continues(r *refusal, x statement) bool {
	if g.l.Line(x.at)-g.l.Line(r.end-1) > together || r.retry != nil {
		return false
	}
	if x.level < r.level || x.level == r.level && x.level != levelStage && x.level != levelDetail {
		return false
	}
	if r.kind != x.kind && r.kind != fact.GGMLAlloc && r.kind != fact.GGMLLimit {
		return false
	}
	if x.kind != fact.GGMLAlloc && x.kind != fact.GGMLLimit {
		return false
	}
	return r.requested == nil || x.requested == nil || sameAllocation(r.requested.Bytes, x.requested.Bytes)
}

// later is how many lines may lie between two statements of one refusal where
// the driver's go straight to standard error and llama.cpp's come through a
// logger of the program that uses it (node-llama-cpp 3): lines about what was
// allocated before stand in between then.
const later = 60

// toldLater reports that a statement is an outer layer's about exactly the
// bytes that were refused last.
func (g *ggmlReader) toldLater(r *refusal, x statement) bool {
	return r.retry == nil && r.kind == fact.GGMLAlloc && x.kind == fact.GGMLAlloc && x.level > r.level &&
		r.requested != nil && x.requested != nil && r.exact && x.exact && r.requested.Bytes == x.requested.Bytes && g.l.Line(x.at)-g.l.Line(r.end-1) <= later
}

func (g *ggmlReader) last() *refusal {
	if len(g.refusals) == 0 {
		return nil
	}
	return g.refusals[len(g.refusals)-1]
}

// sameAllocation: MiB are rounded to two decimals, allocators add their
// alignment, and a graph allocator may ask in several chunks of one buffer.
func sameAllocation(inner, outer int64) bool {
	return inner-outer < 1<<16 && outer-inner < outer/8+1<<16
}

func (r *refusal) merge(x statement) {
	r.end = max(r.end, x.end)
	r.level = max(r.level, x.level)
	if x.kind == fact.GGMLLimit {
		r.kind = fact.GGMLLimit
	}
	if x.requested != nil && (r.requested == nil || x.exact) {
		r.requested, r.exact = x.requested, x.exact
	}
	if x.stage != "" {
		r.stage = x.stage // what llama.cpp says beats what its load lines suggest
	}
	if x.memory != "" {
		r.memory = x.memory
	}
	if r.device == nil {
		r.device = x.device
	}
	if r.backend == "" || x.memory != "" && x.backend != "" {
		r.backend = x.backend
	}
	if x.phase != "" {
		r.phase = x.phase
	}
	if r.framework == "" {
		r.framework = x.framework
	}
	r.weak = r.weak && x.weak
	r.figures.Fill(x.figures)
}

// retrying notes that the program tries again after the refusals just before;
// of layouts it tries one after the other.
func (g *ggmlReader) retrying(id, title string, at int) {
	for _, r := range g.refusals {
		if r.retry != nil || id != noticeLayout && g.l.Line(at)-g.l.Line(r.end-1) > together {
			continue
		}
		r.retry = &retry{id, title}
		if id == noticeLayout {
			r.whileLoading()
		}
	}
	g.open = nil
}

// whileLoading: layouts are tried while the model is loaded, and of what a
// tensor range can be the weights are by far the most.
func (r *refusal) whileLoading() {
	if r.stage != "" {
		return
	}
	r.phase = "load"
	if r.level == levelRange {
		r.stage = "weights"
	}
}

// working notes that the program came to work: what it retried is recovered.
func (g *ggmlReader) working(at int) {
	g.f.Stages = append(g.f.Stages, fact.Stage{Phase: "inference", Line: g.l.Line(at)})
	for _, r := range g.refusals {
		r.healed = true
	}
}

const (
	noticePipeline = "retried_without_pipeline"
	noticeLayout   = "layout_backoff"
	noticeMetal    = "metal_over_recommended"
	noticePinned   = "pinned_memory"
)
