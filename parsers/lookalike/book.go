package lookalike

import (
	_ "embed"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// book are the troubles that need no code, by when they are told. A line is one
// of: "- ID"; "on" literals that lead to it, "|" between them; "must" a pattern
// that has to match near them, "see" one that may, "above" one whose last match
// above them counts: groups are figures that the sentences name in braces; "with"
// and "without" words one of which, or none, stands in the log; "when" a guard of
// [guards]; "over" kinds of failure that it is the reason of; "is" the title, "do"
// the advice. "by" is another advice where one of some words stands in the log, and
// "at" where one stands near the literals; the first one that fits is told, and an
// "is" below it is its own title. "quoted" shows the line itself.
//
//go:embed troubles.txt
var book string

// section are the troubles of one name, in their order.
func section(name string) []disguise {
	var out []disguise
	at := ""
	for line := range strings.Lines(book) {
		key, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key == "=" {
			at = said
		}
		if at != name {
			continue
		}
		if key == "-" {
			out = append(out, disguise{trouble: trouble{id: said}, when: guards[name]})
		} else if len(out) > 0 {
			out[len(out)-1].set(key, said)
		}
	}
	return out
}

func (d *disguise) set(key, said string) {
	switch key {
	case "on":
		d.literals = append(d.literals, strings.Split(said, "|")...)
	case "must":
		d.musts = append(d.musts, text.NewPattern(said))
	case "see":
		d.sees = append(d.sees, text.NewPattern(said))
	case "above":
		d.above = append(d.above, text.NewPattern(said))
	case "with":
		d.with = strings.Split(said, "|")
	case "without":
		d.without = strings.Split(said, "|")
	case "over":
		for kind := range strings.FieldsSeq(said) {
			d.explains = append(d.explains, fact.Kind(kind))
		}
	case "when":
		d.when = guards[said]
	case "quoted":
		d.quoted = true
	case "is":
		if last := len(d.by) - 1; last >= 0 {
			d.by[last].title = said
		} else {
			d.title = said
		}
	case "do":
		d.advice = said
	case "by", "at":
		words, advice, _ := strings.Cut(said, " ")
		d.by = append(d.by, variant{strings.Split(words, "|"), key == "at", d.title, advice})
	}
}

// figures are what the patterns of a trouble found, false where one that must
// match does not.
func (d disguise) figures(m text.Message) ([]text.Match, bool) {
	var out []text.Match
	for _, p := range d.musts {
		k := m.Around(p, 200, 300)
		if !k.Ok() {
			return nil, false
		}
		out = append(out, k)
	}
	for _, p := range d.sees {
		out = append(out, m.Around(p, 700, 900))
	}
	for _, p := range d.above {
		out = append(out, last(m, p))
	}
	return out, true
}

// last is what a pattern finds last before the literal, where a sum follows what
// it is made of.
func last(m text.Message, p *text.Pattern) text.Match {
	k := text.Match{}
	for from := m.At - 700; ; {
		before := m.Log.Find(p, from, m.At)
		if !before.Ok() {
			return k
		}
		k = before
		_, from = k.Span()
	}
}

// filled is a sentence with figures put in for {name}; what stands in [[ ]] falls
// away where one of its figures is missing.
func filled(said string, figures []text.Match) string {
	if figures == nil {
		return said
	}
	out := ""
	for said != "" {
		before, rest, _ := strings.Cut(said, "[[")
		part, after, _ := strings.Cut(rest, "]]")
		out += put(before, figures)
		if part = put(part, figures); !strings.Contains(part, "{") {
			out += part
		}
		said = after
	}
	return out
}

func put(said string, figures []text.Match) string {
	for _, k := range figures {
		for _, part := range strings.Split(said, "{")[1:] {
			if name, _, ok := strings.Cut(part, "}"); ok {
				if _, _, found := k.Group(name); found {
					figure, _, _ := strings.Cut(k.Text(name), "\n") // what follows may join it in squeezed text
					said = strings.ReplaceAll(said, "{"+name+"}", figure)
				}
			}
		}
	}
	return said
}
