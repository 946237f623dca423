package text

import (
	"slices"
	"strings"
)

// Proof is text that only one program prints, or a path that only its files
// have.
type Proof struct {
	Word    string
	Program string
	// Weight is that of [fact.Program]: 2 proves, 1 hints.
	Weight int
	// Beside lists what must follow closely for the word to count; nil: nothing.
	Beside []string
}

// besideWithin is how far from its word a proof's second half may stand.
const besideWithin = 40

// Holds reports that the second half of a proof follows its word.
func (p Proof) Holds(s string) bool {
	if p.Beside == nil {
		return true
	}
	s = s[:min(len(p.Word)+besideWithin, len(s))]
	return slices.ContainsFunc(p.Beside, func(word string) bool { return strings.Contains(s, word) })
}

// ProofsOf makes proofs of words that need nothing beside them.
func ProofsOf(program string, words ...string) []Proof {
	out := make([]Proof, len(words))
	for i, w := range words {
		out[i] = Proof{Word: w, Program: program, Weight: 2}
	}
	return out
}
