// Package digrams tells quickly that a text does not stand in another.
package digrams

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Set are the pairs of neighbouring bytes of a text, those that differ by
// multiples of 64 taken for one: a text that is looked for and has another pair
// does not stand in it.
type Set [64]uint64

// Of returns the pairs of a text.
func Of(s string) (set Set) {
	for i := 1; i < len(s); i++ {
		set[s[i-1]&63] |= 1 << (s[i] & 63)
	}
	return set
}

// All reports that every pair of a text is in the set.
func (set *Set) All(text string) bool {
	for i := 1; i < len(text); i++ {
		if set[text[i-1]&63]>>(text[i]&63)&1 == 0 {
			return false
		}
	}
	return true
}

// Index is [strings.Index] for a text that has these pairs, or is part of one
// that has. No set is one of all pairs.
func (set *Set) Index(s, text string) int {
	if set != nil && !set.All(text) {
		return -1
	}
	return strings.Index(s, text)
}

// Contain is [strings.Contains] like it.
func (set *Set) Contain(s, text string) bool { return set.Index(s, text) >= 0 }

// Text is a text in which many others are looked for, of which few stand there. It
// belongs to one goroutine.
type Text struct {
	text string // in small letters once somebody had to look
	low  bool
	// pairs are those of the text in small letters: for each byte, by folded, which
	// ones follow it.
	pairs [64]uint64
}

// NewText returns a text to look in, capitals taken for small letters.
func NewText(s string) *Text {
	t := &Text{text: s}
	if strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) { // some become ASCII
		t.text, t.low = strings.ToLower(s), true
	}
	for i := 1; i < len(t.text); i++ {
		t.pairs[folded(t.text[i-1])] |= 1 << folded(t.text[i])
	}
	return t
}

// folded is six bits of a byte, which a capital shares with its small letter and
// no letter with a digit.
func folded(b byte) byte { return b&31 | b>>1&32 }

// Has reports that a part, in small letters, stands in the text.
func (t *Text) Has(part string) bool {
	for i := 1; i < len(part); i++ {
		if t.pairs[folded(part[i-1])]>>folded(part[i])&1 == 0 {
			return false
		}
	}
	if !t.low {
		t.text, t.low = strings.ToLower(t.text), true
	}
	return strings.Contains(t.text, part)
}

// HasAny reports that one of the parts stands in it.
func (t *Text) HasAny(parts []string) bool { return slices.ContainsFunc(parts, t.Has) }
