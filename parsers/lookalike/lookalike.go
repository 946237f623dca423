// Package lookalike reads what sounds like out-of-memory and is something else.
package lookalike

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// trouble reads like out-of-memory, or keeps a program from running: the id, title
// and advice of the [fact.Lookalike], and the literals that lead to it.
type trouble struct {
	id            string
	literals      []string
	title, advice string
}

// disguise is a trouble of which more has to be known than its words.
type disguise struct {
	trouble
	// by is what to do where the log mentions a program, instead of advice.
	by [][2]string
	// quoted shows the line itself: the log does not say whether it was memory.
	quoted bool
	// musts and the rest are as in [book].
	musts, sees, above []*text.Pattern
	with, without      []string
	// when, if set, looks closer.
	when text.Guard
	// explains are the kinds of failure that this one is the reason of: they
	// are no incident beside it.
	explains []fact.Kind
}

// Parser comes last in [All]: what it explains away must be known.
var Parser = text.NewParser("lookalikes", nil,
	wordings(slices.Concat(disguises, section("told"), section("alone"))), nil)

func wordings(list []disguise) []text.Wording {
	var out []text.Wording
	for _, d := range list {
		out = append(out, text.OnAny(d.read, d.literals...)...)
	}
	return out
}

func (d disguise) read(m text.Message) int {
	figures, met := d.figures(m)
	if met && (d.when == nil || d.when(m)) && (d.with == nil || m.Mentions(d.with...)) && !m.Mentions(d.without...) {
		if len(d.explains) > 0 && !m.Knows(d.id) { // all failures are known by now: once is enough
			m.Facts.Failures = slices.DeleteFunc(m.Facts.Failures, func(x fact.Failure) bool { return slices.Contains(d.explains, x.Kind) })
		}
		x := fact.Lookalike{ID: d.id, Title: d.title, Advice: d.advice}
		if i := slices.IndexFunc(d.by, func(row [2]string) bool { return m.Mentions(strings.Split(row[0], "|")...) }); i >= 0 {
			x.Advice = d.by[i][1]
		}
		x.Title, x.Advice = filled(x.Title, figures), filled(x.Advice, figures)
		if line := strings.TrimSpace(m.Log.LineText(m.At)); d.quoted {
			x.Text = strings.ToValidUTF8(line[:min(len(line), longestException)], "")
		}
		m.Lookalike(x)
	}
	return m.At
}

// nothingElseFailed: the log has no failure that would explain it.
func nothingElseFailed(m text.Message) bool { return len(m.Facts.Failures) == 0 }

func not(guard text.Guard) text.Guard { return func(m text.Message) bool { return !guard(m) } }
