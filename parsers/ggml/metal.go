package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// metalCommand reads a command buffer that failed. Status 5 alone only says
// that it failed; code 00000008 that it was memory, others that it was not
// (lookalike/troubles.txt).
func metalCommand(g *ggmlReader, m text.Message, _ text.Match, x *statement) bool {
	if m.Precedes("commandbufferexecutionfailed", 120) || m.Precedes("metalperformanceshadersoperations", 260) || !m.Mentions("ggml", "llama", "gguf", "whisper", "ollama") {
		return false // MLX, PyTorch and others: see mlx.go, pytorch.go and plain.go
	}
	memory := g.find(metalMemory, m.At, 0, 260)
	switch {
	case memory.Ok():
		_, x.End = memory.Span()
	case g.find(metalOther, m.At, 0, 260).Ok():
		return false
	default:
		x.Weak = true
	}
	// The warnings of what the error shows now.
	for last := g.last(); last != nil && last.retry != nil && last.retry.id == noticeMetal; last = g.last() {
		g.refusals = g.refusals[:len(g.refusals)-1]
	}
	return true
}

var (
	metalMemory = text.NewPattern(`(?:insufficientmemory\(\w{8}:kiogpucommandbuffercallback)?erroroutofmemory|insufficientmemory`)
	metalOther  = text.NewPattern(`error:.{0,200}?kiogpucommandbuffer`)
)

// metalOver: more is allocated than Metal recommends. It runs as long as the
// system finds memory, so the last one counts, and only if nothing works after.
func (g *ggmlReader) metalOver(m text.Message) {
	if last := g.last(); last != nil && last.Kind == fact.GGMLMetal {
		last.End, g.done = m.End, m.End
		return
	}
	refusing{is: fact.Failure{Kind: fact.GGMLMetal, Backend: "metal", Weak: true}, level: levelRuntime}.read(g, m)
	g.open.retry = &retry{noticeMetal, "More was allocated than Metal recommends; it ran all the same."}
}

// metalStopped: a line of the graph's evaluation is printed when it fails.
func (g *ggmlReader) metalStopped(m text.Message) {
	if m.Follows("failedwithstatus", 80) {
		return // read as such
	}
	for _, r := range g.refusals {
		if r.Kind == fact.GGMLMetal {
			r.Phase, r.Weak, r.retry = "inference", false, nil
			r.End = max(r.End, m.At)
		}
	}
}
