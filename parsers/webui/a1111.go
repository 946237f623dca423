package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// A1111 reads AUTOMATIC1111 and Forge.
var A1111 = text.Parser{
	Name:     "a1111",
	Keywords: []string{forgeLine},
	Context:  []string{"Torch active/reserved:", "[Memory Management] Required Model Memory:", "[Memory Management] Model Memory (MB) ="},
	Explains: map[fact.Kind]int{fact.ForgeLoad: 4},
	Parse:    parseA1111,
}

const forgeLine = "[Memory Management] Target:"

var forgePlan = text.NewPattern(`\[memorymanagement\]target:(?<target>[a-z0-9_]{1,60}),freegpu:(?<free>NUMmb),modelrequire:(?<weights>NUMmb),(?:previouslyloaded:NUMmb,)?inferencerequire:(?<work>NUM)mb,remaining:(?<rest>NUM)mb,(?<error>cudaerror:outofmemory|hiperror:outofmemory|[a-z.]{0,30}outofmemory)?`)

var (
	forgeRequired = text.NewPattern(`requiredmodelmemory:(?<weights>NUMmb)`)
	forgeModel    = text.NewPattern(`modelmemory\(mb\)=(?<weights>NUM)`)
	forgeReserved = text.NewPattern(`torchactive/reserved:(?<active>INT)/(?<reserved>INTmib)`)
)

func parseA1111(l *text.Log, hits []text.Hit, f *fact.Facts) {
	for _, h := range hits {
		switch h.Word {
		case 0:
			readForgePlan(f, l, h.At)
		case 1:
			if m := l.Find(forgeReserved, h.At, h.At+60); m.Ok() {
				f.Facts = append(f.Facts, fact.Fact{Name: "peak_reserved", Size: m.Size("reserved"), Text: l.LineText(h.At), Line: m.Line()})
			}
		case 2:
			weights(f, l, l.Find(forgeRequired, h.At, h.At+80))
		case 3:
			weights(f, l, l.Find(forgeModel, h.At, h.At+80))
		}
	}
}

// weights keeps the size of a model that a program states before it loads it.
func weights(f *fact.Facts, l *text.Log, m text.Match) {
	s := m.Size("weights")
	if s == nil {
		s = m.SizeIn("weights", "mb") // "Model Memory (MB) = 8191.2"
	}
	if s != nil {
		from, _ := m.Span()
		f.Facts = append(f.Facts, fact.Fact{Name: "weights", Size: s, Text: l.LineText(from), Line: m.Line()})
	}
}

// readForgePlan reads what Forge is about to load. "Remaining" below zero is
// normal, part of the model goes to swap; an error glued on is not.
func readForgePlan(f *fact.Facts, l *text.Log, at int) {
	m := l.Find(forgePlan, at, at+400)
	if !m.Ok() {
		return
	}
	weights(f, l, m)
	if m.Lower("error") == "" {
		return
	}
	from, to := m.Span()
	text.Fail(f, l, from, to, fact.Failure{
		Kind: fact.ForgeLoad, Framework: "a1111", Backend: "cuda", Phase: "load", Stage: "weights",
		Figures: fact.Figures{Free: m.Size("free"), Weights: m.Size("weights")},
	})
}
