package parsers

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// besideWithin is how far from its word a proof's second half may stand.
const besideWithin = 40

// proofsParser looks for what proves programs.
func proofsParser(proofs []fact.Proof) text.Parser {
	words := text.Each(proofs, func(p fact.Proof) string { return p.Word })
	return text.Parser{Name: "proofs", Context: words, Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		best := map[string]int{}
		for _, h := range hits {
			p, weight := proofs[h.Word], 2
			if p.Hint {
				weight = 1
			}
			if best[p.Program] >= weight || !holds(p, l.Squeezed()[h.At:]) {
				continue
			}
			best[p.Program] = weight
			f.Programs = append(f.Programs, fact.Program{Name: p.Program, Line: l.Line(h.At), Weight: weight})
		}
	}}
}

// holds reports that the second half of a proof follows its word.
func holds(p fact.Proof, s string) bool {
	return p.Beside == nil || slices.ContainsFunc(p.Beside, func(part string) bool { return strings.Contains(s[:min(len(p.Word)+besideWithin, len(s))], part) })
}

// mostWords bounds how often one word is kept.
const mostWords = 64

// wordsParser looks for words that rules ask for.
func wordsParser(words []string) text.Parser {
	return text.Parser{Name: "words", Context: words, Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		seen := map[int]int{}
		for _, h := range hits {
			if seen[h.Word]++; seen[h.Word] <= mostWords && !clean.Listing(l.Lines[l.LineIndex(h.At)].Text) {
				f.Words = append(f.Words, fact.Word{Text: words[h.Word], Line: l.Line(h.At)})
			}
		}
	}}
}
