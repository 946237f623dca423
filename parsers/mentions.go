package parsers

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// mostMentions is how often one keyword is looked at: half of them at the
// beginning of a log, half of them at its end. What is done for one mention may
// take time that grows with the others, and is bounded by this.
const mostMentions = 1024

// mostUnread bounds the lines that are told apart of those that are not read.
const mostUnread = 256

// hitsByParser parts the keywords that were found in a log by the parsers that
// they lead to. Lines that tell of a failure once too often are only counted.
func (s *Set) hitsByParser(l *text.Log, found []scan.Hit, f *fact.Facts) [][]text.Hit {
	ix := s.find()
	passed := tooOften(found, len(ix.owners))
	hits, many, all := make([][]text.Hit, len(s.all)), make([]int, len(s.all)), make([]text.Hit, len(found))
	for _, h := range found {
		many[ix.owners[h.Word].At]++
	}
	for p, n := range many {
		hits[p], all = all[:0:n], all[n:]
	}
	for k, h := range found {
		if owner := ix.owners[h.Word]; passed == nil || !passed[k] {
			hits[owner.At] = append(hits[owner.At], text.Hit{Word: owner.Word, At: h.At})
		}
	}
	if passed != nil {
		s.countUnread(l, f, found, passed)
	}
	return hits
}

// tooOften says which hits are passed over; nil if none is.
func tooOften(found []scan.Hit, words int) []bool {
	if len(found) <= mostMentions {
		return nil
	}
	before, behind := make([]int, words), make([]int, words) // of each word
	for _, h := range found {
		behind[h.Word]++
	}
	passed, any := make([]bool, len(found)), false
	for k, h := range found {
		before[h.Word]++
		behind[h.Word]--
		passed[k] = before[h.Word] > mostMentions/2 && behind[h.Word] >= mostMentions/2
		any = any || passed[k]
	}
	if !any {
		return nil
	}
	return passed
}

// countUnread counts the lines with keywords of failures that no parser sees.
func (s *Set) countUnread(l *text.Log, f *fact.Facts, found []scan.Hit, passed []bool) {
	ix := s.find()
	read := map[int]bool{} // by line: a parser sees one of its keywords
	for k, h := range found {
		if owner := ix.owners[h.Word]; owner.Word < len(s.all[owner.At].Keywords) {
			i := l.LineIndex(h.At)
			read[i] = read[i] || !passed[k]
		}
	}
	number := map[string]int{}
	for i, line := range l.Lines {
		if seen, told := read[i]; !told || seen {
			continue
		}
		said := line.Text[:min(len(line.Text), longestLine)]
		n, known := number[said]
		switch {
		case known:
			f.Unread[n].Count++
		case len(f.Unread) == mostUnread:
			f.Left++
		default:
			number[said] = len(f.Unread)
			f.Unread = append(f.Unread, fact.Unread{Line: line.Number, Text: strings.ToValidUTF8(said, ""), Count: 1})
		}
	}
}
