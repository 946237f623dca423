// Package spans finds what strangers wrote into a log: prompts and chat
// messages, the parameters of requests, URLs, headers, quoted mail. Nothing in
// there is said by the program that wrote the log: it is no failure, no figure,
// no model and no command, and much of it is private.
//
// One table ([Find]) serves both: parsers read a log without these parts
// ([Blank]), and redaction masks those that are private ([Kind.Private]).
package spans

import (
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/scan"
)

// Kind says what stands in a span.
type Kind uint8

const (
	// Prompt is text for a model or from one: the inside of a string, or all of
	// a turn of a conversation with its marks (<|im_start|>user ...).
	Prompt Kind = iota + 1
	// Tokens are the same as a tokenizer's numbers.
	Tokens
	// Request is what else a request says of itself: its name, the model that it
	// asks for, its parameters, the punctuation between its strings.
	Request
	// Target is the path and the query of a request, without its method.
	Target
	// Header is the value of a header of HTTP, or what an access log keeps of it:
	// User-Agent, Referer, the name of a login.
	Header
	// Quote are the words of a mail or a chat that the log quotes, marks (">")
	// and author included.
	Quote
)

// Private reports that a span is to be masked where a log is shown to others.
// What else is private in the other kinds (tokens in URLs, cookies, addresses)
// has a shape of its own.
func (k Kind) Private() bool { return k == Prompt || k == Tokens || k == Quote }

// Span is a part of a text, in bytes. Quote marks around it do not belong to
// it, nor does the key before it.
type Span struct {
	From, To int
	Kind     Kind
}

// Find returns the spans of a text in their order; they do not overlap and none
// is empty. The text is a log as it was pasted, one line or many, line ends and
// terminal codes included; a span may reach over several lines. The time is in
// proportion to the text's length, whatever it holds. Find is safe for
// concurrent use.
func Find(text string) []Span { return find(text, false) }

func find(text string, part bool) []Span {
	t := openings()
	hits := t.search.All(text)
	if len(hits) == 0 && !strings.Contains(text, ">") {
		return nil
	}
	f := &finder{s: text, part: part, budget: 4*len(text) + maxReach}
	for _, h := range hits {
		if h.At >= f.done {
			r := t.rows[h.Word]
			r.read(f, h.At, h.At+len(r.word))
		}
	}
	f.quotations()
	return f.sorted()
}

// Blank returns a text without what stands in its spans. Line ends stay, so
// that lines keep their numbers.
func Blank(text string) string { return blank(text, Find(text)) }

// BlankPart is [Blank] for lines out of the midst of a log.
func BlankPart(text string) string { return blank(text, find(text, true)) }

func blank(text string, found []Span) string {
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	last := 0
	for _, x := range found {
		b.WriteString(text[last:x.From])
		for range strings.Count(text[x.From:x.To], "\n") {
			b.WriteByte('\n')
		}
		last = x.To
	}
	b.WriteString(text[last:])
	return b.String()
}

// Within reports that an offset lies in a span. The text is lines out of the
// midst of a log.
func Within(text string, at int) bool {
	found := find(text, true)
	i, in := slices.BinarySearchFunc(found, at, func(x Span, at int) int {
		switch {
		case x.To <= at:
			return -1
		case x.From > at:
			return 1
		}
		return 0
	})
	return in && i < len(found)
}

// Bounds of one span that goes on over several lines: what does not end within
// them was cut, and what follows belongs to the log.
const (
	maxReach = 64 << 10
	maxLines = 200
)

// finder is one search of one text.
type finder struct {
	s   string
	out []Span
	// part says that there is more of the log than this.
	part bool
	// done is the offset before which all is dealt with.
	done int
	// budget bounds what is looked at behind the line of an opening, all
	// openings of a text together.
	budget int
	nest   nest
	// start and end are those of the line that was asked for last.
	start, end int
	lined      bool
	// turns are the marks of chat templates, once they were looked for.
	turns  []turnMark
	turned bool
	// looked is the offset before which there is no method of HTTP.
	looked int
}

// add keeps a span, and all before its end is dealt with.
func (f *finder) add(from, to int, kind Kind) {
	if from = max(from, f.done); from < to {
		f.out = append(f.out, Span{from, to, kind})
	}
	f.done = max(f.done, to)
}

// sorted are the spans in their order, those that overlap cut.
func (f *finder) sorted() []Span {
	slices.SortStableFunc(f.out, func(a, b Span) int { return a.From - b.From })
	kept := f.out[:0]
	for _, x := range f.out {
		if n := len(kept); n > 0 {
			x.From = max(x.From, kept[n-1].To)
		}
		if x.From < x.To {
			kept = append(kept, x)
		}
	}
	return kept
}

// table is the list of openings, with the search for their words.
type table struct {
	search *scan.Search
	rows   []row
}

// row is one opening: a word and what reads on from it.
type row struct {
	word string
	read func(f *finder, at, end int)
}

var openings = sync.OnceValue(func() table {
	t := table{rows: rows()}
	words := make([]string, len(t.rows))
	for i, r := range t.rows {
		words[i] = strings.ToLower(r.word)
	}
	t.search = scan.NewSearch(words)
	return t
})
