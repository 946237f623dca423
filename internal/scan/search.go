package scan

import (
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Search finds many literals in one pass, ASCII letters in either case (Wu and
// Manber, 1994, with blocks of three bytes). It is safe for concurrent use.
type Search struct {
	words    []string
	shortest int
	longest  int
	shift    []uint8   // by block: how far the window may jump
	buckets  [][]int32 // by block: the words whose window ends in it
}

const tableBits = 15

// Hit is a word found at an offset of the searched text.
type Hit struct {
	Word int
	At   int
}

// NewSearch prepares a search for words of three bytes and more.
func NewSearch(words []string) *Search {
	words = slices.Clone(words)
	for i, w := range words {
		words[i] = strings.ToLower(w)
	}
	s := &Search{words: words, shortest: 255, shift: make([]uint8, 1<<tableBits), buckets: make([][]int32, 1<<tableBits)}
	for _, w := range words {
		s.shortest = min(s.shortest, len(w))
		s.longest = max(s.longest, len(w))
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

// Longest returns the length of the longest word.
func (s *Search) Longest() int { return s.longest }

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
			if len(text)-start >= len(word) && equalFold(text[start:start+len(word)], word) {
				hits = append(hits, Hit{Word: int(w), At: start})
			}
		}
		i++
	}
	return hits
}

// splitSize is the least text that is worth a second core.
const splitSize = 256 << 10

// Parallel is [Search.All] on two cores for long texts.
func (s *Search) Parallel(text string) []Hit {
	if len(text) < splitSize || runtime.GOMAXPROCS(0) < 2 {
		return s.All(text)
	}
	middle := len(text) / 2
	var upper []Hit
	var group sync.WaitGroup
	group.Go(func() {
		upper = s.All(text[middle:])
		for i := range upper {
			upper[i].At += middle
		}
	})
	lower := s.All(text[:min(middle+s.Longest()-1, len(text))])
	group.Wait()
	for len(lower) > 0 && lower[len(lower)-1].At >= middle {
		lower = lower[:len(lower)-1] // the other half found it as well
	}
	return append(lower, upper...)
}

// equalFold compares text with a lower-case word of the same length.
func equalFold(text, word string) bool {
	for i := 0; i < len(word); i++ {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// block hashes three bytes. Setting the case bit of all of them folds letters;
// what else falls together is told apart by equalFold.
func block(s string, i int) uint32 {
	v := uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | 0x202020
	return v * 2654435761 >> (32 - tableBits)
}
