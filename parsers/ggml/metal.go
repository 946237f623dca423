package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

func (g *ggmlReader) metalBuffer(at int) {
	m := g.find(metalSize, at, 0, 130)
	if !m.Ok() {
		return
	}
	_, end := m.Span()
	g.say(statement{kind: fact.GGMLAlloc, level: levelBuffer, at: at, end: end, backend: "metal", requested: m.Size("size"), stage: metalStage(g.s[at:end])})
}

func (g *ggmlReader) metalMaximum(at int) {
	m := g.find(metalMax, at, 70, 60)
	if !m.Ok() {
		return
	}
	from, end := m.Span()
	x := statement{kind: fact.GGMLLimit, level: levelBuffer, at: from, end: end, backend: "metal", requested: m.Size("size"), exact: true}
	x.figures.Limit = m.Size("limit")
	x.stage = metalStage(g.s[from:end])
	g.say(x)
}

// metalStage: the builds of 2023 name their buffers, and 'data' is the file.
func metalStage(message string) string {
	if strings.Contains(message, "'data'") {
		return "weights"
	}
	return ""
}

// metalCommand reads a command buffer that failed. Status 5 alone only says
// that it failed; code 00000008 that it was memory, others that it was not.
func (g *ggmlReader) metalCommand(at int) {
	if strings.Contains(g.around(at, 120, 0), "commandbufferexecutionfailed") {
		return // MLX: see mlx.go
	}
	after := g.around(at, 0, 260)
	x := statement{kind: fact.GGMLMetal, level: levelRuntime, at: at, end: min(at+len("failedwithstatus5"), len(g.s)), backend: "metal", phase: "inference"}
	i := strings.Index(after, "error:")
	switch {
	case strings.Contains(after, "erroroutofmemory"), strings.Contains(after, "insufficientmemory"):
		x.end = at + max(strings.Index(after, "erroroutofmemory")+len("erroroutofmemory"), strings.Index(after, "insufficientmemory")+len("insufficientmemory"))
	case i >= 0 && strings.Contains(after[i:], "kiogpucommandbuffer"):
		g.lookalike("metal_gpu_error", at, "A Metal command buffer failed for another reason than memory.", "Read the code in brackets: 00000004 only follows an earlier GPU error, 00000001 is a page fault and 00000002 a hang. Update llama.cpp and macOS.")
		return
	default:
		x.weak = true
	}
	g.overruled()
	g.say(x)
}

// overruled drops the warnings about Metal's recommended size where the error
// they warned of follows.
func (g *ggmlReader) overruled() {
	for n := len(g.refusals) - 1; n >= 0 && g.refusals[n].retry != nil && g.refusals[n].retry.id == noticeMetal; n-- {
		g.refusals = g.refusals[:n]
	}
}

// metalOver: more is allocated than Metal recommends. It runs as long as the
// system finds memory, so the last one counts, and only if nothing works after.
func (g *ggmlReader) metalOver(at int) {
	end := at + len("greaterthantherecommendedmaxworkingsetsize")
	if last := len(g.refusals) - 1; last >= 0 && g.refusals[last].kind == fact.GGMLMetal {
		r := g.refusals[last]
		r.end, g.done = end, end
		return
	}
	title := "More was allocated than Metal recommends; it ran all the same."
	g.say(statement{kind: fact.GGMLMetal, level: levelRuntime, at: at, end: end, backend: "metal", weak: true})
	g.open.retry = &retry{noticeMetal, title}
}

// metalStopped: a line of the graph's evaluation is printed when it fails.
func (g *ggmlReader) metalStopped(at int) {
	if strings.Contains(g.around(at, 0, 80), "failedwithstatus") {
		return // read as such
	}
	for _, r := range g.refusals {
		if r.kind == fact.GGMLMetal {
			r.phase, r.weak, r.retry = "inference", false, nil
			r.end = max(r.end, at)
		}
	}
}
