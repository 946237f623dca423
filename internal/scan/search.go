package scan

import "slices"

// Search finds many literals in one pass (Wu and Manber, 1994, with blocks of
// three bytes). It is safe for concurrent use.
type Search struct {
	words    []string
	shortest int
	shift    []uint8   // by block: how far the window may jump
	buckets  [][]int32 // by block: the words whose window ends in it
}

const tableBits = 15

// Hit is a word found at an offset of the searched text.
type Hit struct {
	Word int
	At   int
}

// NewSearch prepares a search for words of three bytes and more. The text that
// is searched must be in the case of the words.
func NewSearch(words []string) *Search {
	s := &Search{words: words, shortest: 255, shift: make([]uint8, 1<<tableBits), buckets: make([][]int32, 1<<tableBits)}
	for _, w := range words {
		s.shortest = min(s.shortest, len(w))
	}
	if len(words) == 0 || s.shortest < 3 {
		panic("scan: words of three bytes and more are needed")
	}
	for i := range s.shift {
		s.shift[i] = uint8(s.shortest - 2)
	}
	for i, w := range words {
		for end := 3; end <= s.shortest; end++ {
			b := block(w, end-3)
			s.shift[b] = min(s.shift[b], uint8(s.shortest-end))
		}
		b := block(w, s.shortest-3)
		s.buckets[b] = append(s.buckets[b], int32(i))
	}
	return s
}

// Words returns the words in the order that Hit.Word counts them.
func (s *Search) Words() []string { return slices.Clone(s.words) }

// All returns every occurrence of every word, in the order of where they begin.
func (s *Search) All(text string) []Hit {
	var hits []Hit
	last := s.shortest - 3
	for i := last; i+3 <= len(text); {
		b := block(text, i)
		if jump := s.shift[b]; jump > 0 {
			i += int(jump)
			continue
		}
		start := i - last
		for _, w := range s.buckets[b] {
			word := s.words[w]
			if len(text)-start >= len(word) && text[start:start+len(word)] == word {
				hits = append(hits, Hit{Word: int(w), At: start})
			}
		}
		i++
	}
	return hits
}

func block(s string, i int) uint32 {
	v := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16
	return v * 2654435761 >> (32 - tableBits)
}
