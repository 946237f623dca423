// Package lookalike reads what sounds like out-of-memory and is something else.
package lookalike

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// disguise is something that reads like out-of-memory and is another thing.
type disguise struct {
	// literals lead to it, in their natural spelling.
	literals []string
	// id, title and advice are those of the [fact.Lookalike].
	id, title, advice string
	// by is what to do where the log mentions a program, instead of advice.
	by [][2]string
	// quoted shows the line itself: the log does not say whether it was memory.
	quoted bool
	// when, if set, looks closer.
	when func(m text.Message) bool
	// explains are the kinds of failure that this one is the reason of: they
	// are no incident beside it.
	explains []fact.Kind
}

// Parser comes last in [All]: what it explains away must be known.
var Parser = text.Parser{
	Name: "lookalikes", Keywords: text.Literals(disguised()),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) { text.ParseWordings(disguised(), l, hits, f) },
}

// disguised are the wordings of all look-alikes, by theme: the card, the
// machine's other limits, other programs' own memory.
func disguised() []text.Wording {
	var out []text.Wording
	for _, d := range slices.Concat(deviceDisguises, systemDisguises, runtimeDisguises, llamaDisguises) {
		for _, literal := range d.literals {
			out = append(out, text.On(literal, d.read))
		}
	}
	return out
}

func (d disguise) read(m text.Message) int {
	if d.when == nil || d.when(m) {
		if len(d.explains) > 0 && !m.Knows(d.id) { // all failures are known by now: once is enough
			m.Facts.Failures = slices.DeleteFunc(m.Facts.Failures, func(x fact.Failure) bool { return slices.Contains(d.explains, x.Kind) })
		}
		x := fact.Lookalike{ID: d.id, Title: d.title, Advice: d.advice}
		if i := slices.IndexFunc(d.by, func(row [2]string) bool { return m.Mentions(row[0]) }); i >= 0 {
			x.Advice = d.by[i][1]
		}
		if line := strings.TrimSpace(m.Log.LineText(m.At)); d.quoted {
			x.Text = strings.ToValidUTF8(line[:min(len(line), longestException)], "")
		}
		m.Lookalike(x)
	}
	return m.At
}

// nothingElseFailed: the log has no failure that would explain it.
func nothingElseFailed(m text.Message) bool { return len(m.Facts.Failures) == 0 }
