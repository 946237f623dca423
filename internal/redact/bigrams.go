package redact

import (
	"strings"
	"sync"
)

// bigrams are pairs of neighbours, capitals taken for small letters, a bit each,
// and single bytes. Of more than 64 some share theirs, so that a bit says what a
// text may have, and its lack what it has not.
type bigrams struct {
	first, second [256]uint64
	bits          map[string]uint64
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
	if len(text) == 1 {
		return p.bit(allBytes, bothCases(text[0]))
	}
	for i := 1; i < len(text); i++ {
		bits |= p.bit(bothCases(text[i-1]), bothCases(text[i]))
	}
	return bits
}

// bit is that of one of some bytes before one of others.
func (p *bigrams) bit(first, second string) uint64 {
	bit := p.bits[first+second]
	if bit == 0 {
		bit = 1 << (len(p.bits) % 64)
		p.bits[first+second] = bit
		for i := range len(first) {
			p.first[first[i]] |= bit
		}
		for i := range len(second) {
			p.second[second[i]] |= bit
		}
	}
	return bit
}

var allBytes = func() string {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	return string(all[:])
}()

// bothCases are a letter, small and capital, or the byte alone.
func bothCases(b byte) string {
	if c := b | 0x20; c >= 'a' && c <= 'z' {
		return string([]byte{c, c &^ 0x20})
	}
	return string([]byte{b})
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

// tells is what a text is looked through for before anything is masked in it.
type tells struct {
	bigrams
	blocks, credentials, secrets, separators wanted
	// signs are those of each of credentialRules, among bigrams of their own.
	signs []wanted
	rules bigrams
}

// containsFold reports that a text in lower case stands in s, which may have
// capitals.
func containsFold(s, text string) bool {
	for i := 0; i+len(text) <= len(s); i++ {
		if (s[i] == text[0] || s[i]|0x20 == text[0]) && strings.EqualFold(s[i:i+len(text)], text) {
			return true
		}
	}
	return false
}

// find reports that one of [credentialRules] may find something in a text.
func (t *tells) find(s string) bool {
	has := t.rules.of(s)
	if strings.Contains(s, "\u0130") || strings.Contains(s, "\u212a") {
		return true // letters whose small ones are ASCII
	}
	for i, r := range credentialRules() {
		for _, sign := range t.signs[i] {
			if has&sign.bits != sign.bits || !r.hasAmong(s) {
				continue
			}
			if containsFold(s, sign.text) {
				return true
			}
		}
	}
	return false
}

var credentialTells = sync.OnceValue(func() *tells {
	t := &tells{bigrams: bigrams{bits: map[string]uint64{}}, rules: bigrams{bits: map[string]uint64{}}}
	t.blocks, t.credentials, t.secrets = t.wanted(texts{"-----BEGIN"}), t.wanted(credentialSigns), t.wanted(secretSigns)
	t.separators = t.wanted(texts{"=", ":", "--"}) // one stands before what maskNamed masks
	for _, r := range credentialRules() {
		t.signs = append(t.signs, t.rules.wanted(r.signs))
	}
	return t
})
