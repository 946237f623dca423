package redact

import (
	"strings"
	"sync"
)

// bigrams are pairs of neighbours, capitals taken for small letters, a bit each. Of
// more than 64 some share theirs, so that a bit says what a text may have, and its
// lack what it has not.
type bigrams struct {
	first, second [256]uint64
	bits          map[[2]byte]uint64
}

// of are those of a text that are known.
func (p *bigrams) of(s string) (has uint64) {
	before := byte(0)
	for i := range len(s) {
		has |= p.first[before] & p.second[s[i]]
		before = s[i]
	}
	return has
}

// learn makes the bigrams of a text known, and returns them.
func (p *bigrams) learn(text string) (bits uint64) {
	for i := 1; i < len(text); i++ {
		a, b := small(text[i-1]), small(text[i])
		bit := p.bits[[2]byte{a, b}]
		if bit == 0 {
			bit = 1 << (len(p.bits) % 64)
			p.bits[[2]byte{a, b}] = bit
			p.first[a], p.first[capital(a)] = p.first[a]|bit, p.first[capital(a)]|bit
			p.second[b], p.second[capital(b)] = p.second[b]|bit, p.second[capital(b)]|bit
		}
		bits |= bit
	}
	return bits
}

func small(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

func capital(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b &^ 0x20
	}
	return b
}

// wanted are texts with their bigrams.
type wanted []struct {
	text string
	bits uint64
}

func (p *bigrams) wanted(texts texts) wanted {
	out := make(wanted, len(texts))
	for i, t := range texts {
		out[i].text, out[i].bits = t, p.learn(t)
	}
	return out
}

// in reports that one of the texts stands in s, which has these bigrams.
func (w wanted) in(s string, has uint64) bool {
	for i := range w {
		if has&w[i].bits == w[i].bits && strings.Contains(s, w[i].text) {
			return true
		}
	}
	return false
}

// may reports that one of the texts, written with capitals or not, can stand in
// what has these bigrams.
func (w wanted) may(has uint64) bool {
	for i := range w {
		if has&w[i].bits == w[i].bits {
			return true
		}
	}
	return false
}

// tells is what a text is looked through for before anything is masked in it.
type tells struct {
	bigrams
	blocks, credentials, secrets, separators wanted
	signs                                    []wanted // of each of credentialRules
}

// rules reports that one of [credentialRules] may find something in s, which has
// these bigrams.
func (t *tells) rules(s string, has uint64) bool {
	if strings.Contains(s, "\u0130") || strings.Contains(s, "\u212a") {
		return true // letters whose small ones are ASCII
	}
	for i, r := range credentialRules() {
		if t.signs[i].may(has) && (r.among == "" || strings.ContainsAny(s, r.among)) {
			return true
		}
	}
	return false
}

var credentialTells = sync.OnceValue(func() *tells {
	t := &tells{bigrams: bigrams{bits: map[[2]byte]uint64{}}}
	t.blocks, t.credentials, t.secrets = t.wanted(texts{"-----BEGIN"}), t.wanted(credentialSigns), t.wanted(secretSigns)
	t.separators = t.wanted(texts{"=", ":", "--"}) // one stands before what maskNamed masks
	for _, r := range credentialRules() {
		t.signs = append(t.signs, t.wanted(r.signs))
	}
	return t
})
