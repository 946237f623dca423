// Package digrams tells quickly that a text does not stand in another.
package digrams

import "strings"

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
