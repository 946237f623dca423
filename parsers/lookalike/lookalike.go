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
	// by is what to say where the log shows more.
	by []variant
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

// variant is what is said where one of some words stands in the log, or near
// the literal.
type variant struct {
	words         []string
	near          bool
	title, advice string
}

func (v variant) fits(m text.Message) bool {
	from := strings.ToLower(m.Log.Source(m.At) + " " + m.Log.Program(m.At)) // a cut prefix names the program too
	return slices.ContainsFunc(v.words, func(word string) bool {
		if v.near {
			return m.Precedes(word, 1800) || m.Follows(word, 900)
		}
		return m.Mentions(word) || strings.Contains(from, word)
	})
}

// Parser comes last in [All]: what it explains away must be known.
var Parser = text.NewParser("lookalikes", nil,
	wordings(slices.Concat(section("closer"), section("told"), section("alone"))), nil)

func wordings(list []disguise) []text.Wording {
	var out []text.Wording
	for _, d := range list {
		out = append(out, text.OnAny(d.read, d.literals...)...)
	}
	return out
}

func (d disguise) read(m text.Message) int {
	if m.Knows(d.id) {
		return m.At
	}
	figures, met := d.figures(m)
	if met && (d.when == nil || d.when(m)) && (d.with == nil || m.Mentions(d.with...)) && !m.Mentions(d.without...) {
		if len(d.explains) > 0 { // all failures are known by now: once is enough
			m.Facts.Failures = slices.DeleteFunc(m.Facts.Failures, func(x fact.Failure) bool { return slices.Contains(d.explains, x.Kind) })
		}
		x := fact.Lookalike{ID: d.id, Title: d.title, Advice: d.advice}
		if i := slices.IndexFunc(d.by, func(v variant) bool { return v.fits(m) }); i >= 0 {
			x.Title, x.Advice = d.by[i].title, d.by[i].advice
		}
		x.Title, x.Advice = filled(x.Title, figures), filled(x.Advice, figures)
		if line := strings.TrimSpace(m.Log.LineText(m.At)); d.quoted {
			x.Text = strings.ToValidUTF8(line[:min(len(line), longestException)], "")
		}
		m.Lookalike(x)
	}
	return m.At
}

// ErrorLine is what to say of the first line that reads like an error, where
// nothing else is known of a log.
func ErrorLine(line int, said string) fact.Lookalike {
	d := section("errors")[0]
	return fact.Lookalike{ID: d.id, Line: line, Text: strings.ToValidUTF8(said[:min(len(said), longestException)], ""), Title: d.title, Advice: d.advice}
}

// nothingElseFailed: the log has no failure that would explain it.
func nothingElseFailed(m text.Message) bool { return len(m.Facts.Failures) == 0 }

func not(guard text.Guard) text.Guard { return func(m text.Message) bool { return !guard(m) } }
