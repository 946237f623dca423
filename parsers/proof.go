package parsers

import "strings"

// proof is text that only one program prints, or a path that only its files
// have.
type proof struct {
	word    string
	program string
	// weight is that of [Program]: 2 proves, 1 hints.
	weight int
	// beside lists what must follow closely for the word to count; nil: nothing.
	beside []string
}

// besideWithin is how far from its word a proof's second half may stand.
const besideWithin = 40

var proofs = Parser{
	Name:    "proofs",
	Context: proofWords(),
	Parse: func(l *Log, hits []Hit, f *Facts) {
		all := allProofs()
		best := map[string]int{}
		for _, h := range hits {
			p := all[h.Word]
			if best[p.program] >= p.weight || !p.holds(l.Squeezed()[h.At:]) {
				continue
			}
			best[p.program] = p.weight
			f.Programs = append(f.Programs, Program{Name: p.program, Line: l.Line(h.At), Weight: p.weight})
		}
	},
}

// holds reports that the second half of a proof follows its word.
func (p proof) holds(s string) bool {
	if p.beside == nil {
		return true
	}
	s = s[:min(len(p.word)+besideWithin, len(s))]
	for _, word := range p.beside {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// proofsOf makes proofs of words that need nothing beside them.
func proofsOf(program string, words ...string) []proof {
	out := make([]proof, len(words))
	for i, w := range words {
		out[i] = proof{word: w, program: program, weight: 2}
	}
	return out
}

func allProofs() []proof {
	var all []proof
	for _, list := range [...][]proof{textgenProofs, exllamaProofs, transformersProofs, comfyProofs, a1111Proofs, diffusersProofs, ollamaProofs, llamaProofs, lmStudioProofs, bindingProofs} {
		all = append(all, list...)
	}
	return all
}

func proofWords() []string {
	var out []string
	for _, p := range allProofs() {
		out = append(out, p.word)
	}
	return out
}
