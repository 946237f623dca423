// Package lookalike reads what sounds like out-of-memory and is something else.
package lookalike

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// disguise is something that reads like out-of-memory and is another thing.
type disguise struct {
	// literals lead to it, in their natural spelling.
	literals []string
	is       fact.Lookalike
	// when, if set, looks closer.
	when func(m text.Message) bool
	// explains are the kinds of failure that this one is the reason of: they
	// are no incident beside it.
	explains []fact.Kind
}

// Parser comes last in [All]: what it explains away must be known.
var Parser = text.Parser{Name: "lookalikes", Keywords: disguiseLiterals(), Parse: parseLookalikes}

// disguises are all look-alikes, by theme: the card, the machine's other
// limits, other programs' own memory.
func disguises() []disguise {
	return slices.Concat(deviceDisguises, systemDisguises, runtimeDisguises, llamaDisguises)
}

func disguiseLiterals() []string {
	var out []string
	for _, d := range disguises() {
		out = append(out, d.literals...)
	}
	return out
}

func parseLookalikes(l *text.Log, hits []text.Hit, f *fact.Facts) {
	list := disguises()
	owner := make([]int, 0, 2*len(list))
	words := make([]string, 0, 2*len(list))
	for i, d := range list {
		for _, word := range d.literals {
			owner, words = append(owner, i), append(words, word)
		}
	}
	for _, h := range hits {
		d := list[owner[h.Word]]
		m := text.Message{Log: l, Facts: f, At: h.At, End: min(h.At+len(text.SqueezedLiteral(words[h.Word])), len(l.Squeezed()))}
		if d.when != nil && !d.when(m) {
			continue
		}
		m.Lookalike(d.is)
		explainAway(f, d.explains)
	}
}

// explainAway drops failures that a look-alike is the reason of.
func explainAway(f *fact.Facts, kinds []fact.Kind) {
	if len(kinds) == 0 {
		return
	}
	f.Failures = slices.DeleteFunc(f.Failures, func(x fact.Failure) bool { return slices.Contains(kinds, x.Kind) })
}
