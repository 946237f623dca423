// Package ggml reads ggml and what is built on it: llama.cpp, Ollama,
// KoboldCpp, LM Studio, whisper.cpp, stable-diffusion.cpp.
package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// LlamaCpp reads llama.cpp, ggml and the programs built on it (koboldcpp, LM
// Studio, llamafile, LocalAI, whisper.cpp, stable-diffusion.cpp).
var LlamaCpp = text.Parser{
	Name:     "llamacpp",
	Keywords: ggmlKeys(ggmlFailures),
	Context:  ggmlKeys(ggmlLines),
	Explains: map[fact.Kind]int{fact.GGMLLimit: 3, fact.LlamaGuard: 4, fact.GGMLRuntime: 1},
	Parse:    parseLlamacpp,
}

// ggmlWording is a literal and what reads the line in which it stands.
type ggmlWording struct {
	word string
	read func(g *ggmlReader, at int)
}

func ggmlKeys(list []ggmlWording) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = w.word
	}
	return out
}

// ggmlReader goes through a log from top to bottom and keeps what a failure's
// own line does not say: which part was being allocated, on which backend.
type ggmlReader struct {
	l *text.Log
	s string
	f *fact.Facts

	done     int         // failures before this squeezed offset are read
	open     *refusal    // the refusal that following statements may tell more of
	refusals []*refusal  // all so far
	callers  []statement // lines that only report a failure
	stage    string      // what the load lines say is being allocated now
	loads    bool        // load lines were seen
	contexts bool        // lines of a context were seen
	backend  string      // what the load lines say of the backend
	hinted   string      // the same from a command line
	program  string      // a program on ggml whose name the report does not know

	generating bool // stable-diffusion.cpp is at work on an image
	commands   map[int]bool
}

func parseLlamacpp(l *text.Log, hits []text.Hit, f *fact.Facts) {
	g := &ggmlReader{l: l, s: l.Squeezed(), f: f, commands: map[int]bool{}}
	for _, h := range hits {
		if h.Word >= len(ggmlFailures) {
			ggmlLines[h.Word-len(ggmlFailures)].read(g, h.At)
			continue
		}
		if h.At >= g.done {
			ggmlFailures[h.Word].read(g, h.At)
		}
	}
	g.finish()
}

// find matches a pattern in a window around a keyword. The match must reach
// the keyword: the line before it may have the same shape.
func (g *ggmlReader) find(p *text.Pattern, at, back, ahead int) text.Match {
	from := max(at-back, 0)
	for {
		m := g.l.Find(p, from, at+ahead)
		if !m.Ok() {
			return m
		}
		start, end := m.Span()
		if end > at {
			return m
		}
		from = start + 1
	}
}

// value is find for a figure that may end its line: the next line may begin
// with a digit.
func (g *ggmlReader) value(p *text.Pattern, at, back, ahead int) text.Match {
	return g.find(p, at, back, min(ahead, g.l.ValueEnd(at)-at))
}

// around returns the squeezed text of a window.
func (g *ggmlReader) around(at, back, ahead int) string {
	return g.s[max(at-back, 0):min(at+ahead, len(g.s))]
}

func (g *ggmlReader) fact(name string, size *fact.Size, count *fact.Count, at int) {
	if size == nil && count == nil {
		return
	}
	g.f.Facts = append(g.f.Facts, fact.Fact{Name: name, Size: size, Count: count, Text: g.l.LineText(at), Line: g.l.Line(at)})
}

func (g *ggmlReader) proves(program string, at int) {
	g.f.Programs = append(g.f.Programs, fact.Program{Name: program, Line: g.l.Line(at), Weight: 2})
}

// finish turns refusals into failures and notices.
func (g *ggmlReader) finish() {
	fatal := 0
	for i, r := range g.refusals {
		if g.repeats(g.refusals[:i], r) {
			g.callers = append(g.callers, r.statement)
			continue
		}
		if r.recovered() {
			g.f.Notices = append(g.f.Notices, fact.Notice{ID: r.retry.id, Line: g.l.Line(r.at), Text: g.l.Text(r.at, r.end), Title: r.retry.title})
			continue
		}
		fatal++
		text.Fail(g.f, g.l, r.at, r.end, g.failure(r))
		if program := g.l.Program(r.at); strings.Contains(program, "ollama") {
			g.proves("ollama", r.at)
		}
	}
	if fatal == 0 {
		return
	}
	for _, c := range g.callers {
		text.Fail(g.f, g.l, c.at, c.end, fact.Failure{Kind: fact.LlamaCaller, Framework: g.framework(), Wrapper: true})
	}
}

// repeated is how many lines after a refusal a front end may say it again.
const repeated = 60

// repeats reports a refusal without a size that a front end says again after
// one with it.
func (g *ggmlReader) repeats(before []*refusal, r *refusal) bool {
	if r.requested != nil || r.kind != fact.GGMLAlloc {
		return false
	}
	for _, b := range before {
		if b.kind == r.kind && b.requested != nil && (b.stage == r.stage || r.stage == "" || b.stage == "") && g.l.Line(r.at)-g.l.Line(b.end-1) <= repeated {
			return true
		}
	}
	return false
}

func (g *ggmlReader) framework() string {
	if g.program != "" {
		return g.program
	}
	return "llama.cpp"
}

func (g *ggmlReader) failure(r *refusal) fact.Failure {
	x := fact.Failure{
		Kind: r.kind, Framework: g.framework(), Backend: g.backendOf(r), Phase: r.phase, Stage: r.stage,
		Memory: r.memory, Weak: r.weak, Figures: r.figures,
	}
	x.Figures.Requested, x.Figures.Device = r.requested, r.device
	if x.Stage == "" && x.Kind == fact.GGMLAlloc && g.loads && !g.contexts {
		x.Stage = "weights" // it never came to a context
	}
	if r.framework != "" {
		x.Framework = r.framework
	}
	if x.Phase == "" && g.generating {
		x.Phase = "inference"
	}
	if x.Phase == "" {
		x.Phase = phaseOfStage[x.Stage]
	}
	x.Message = g.quote(r)
	switch x.Stage {
	case "kv":
		x.Figures.KVNeeded = r.requested
	case "compute":
		x.Figures.ComputeBuffer = r.requested
	}
	return x
}

// tail is how much of a last line is quoted behind what was read of it.
const tail = 160

func (g *ggmlReader) quote(r *refusal) string {
	_, to := g.l.LineSpan(max(r.end-1, r.at))
	if to-r.end > tail {
		to = r.end
	}
	return g.l.Joined(r.at, max(to, r.end))
}

// phaseOfStage: compute buffers are reserved when the context is made, which
// is the end of loading; a runtime growth says its own phase.
var phaseOfStage = map[string]string{"weights": "load", "kv": "kv_cache", "state": "kv_cache", "compute": "load", "output": "load"}
