package text

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Wording is one message of a program: the literal that leads to it, in its
// natural spelling, and what reads the rest.
type Wording struct {
	Literal string
	// Read adds what the message says and returns the squeezed offset behind it.
	Read func(m Message) int
}

// On makes a wording out of its literal and what reads the rest.
func On(literal string, read func(m Message) int) Wording { return Wording{literal, read} }

// OnAny makes wordings that are read alike.
func OnAny(read func(m Message) int, literals ...string) []Wording {
	return Each(literals, func(literal string) Wording { return Wording{literal, read} })
}

// Message is a wording found in a log: its literal stands from at to end.
type Message struct {
	Log     *Log
	Facts   *fact.Facts
	At, End int
}

// ParseWordings calls the readers for the hits, in the order of the text. A hit
// inside what another reader has read is part of that message.
func ParseWordings(list []Wording, l *Log, hits []Hit, f *fact.Facts) {
	done := 0
	for _, h := range hits {
		if l.Stopped() {
			return
		}
		if h.At < done {
			continue
		}
		w := list[h.Word]
		end := min(h.At+SqueezedLen(w.Literal), len(l.Squeezed()))
		done = max(done, w.Read(Message{Log: l, Facts: f, At: h.At, End: end}))
	}
}

// Literals are the literals of wordings, in their order.
func Literals(list []Wording) []string {
	return Each(list, func(w Wording) string { return w.Literal })
}

// Each makes something of each of a list.
func Each[From, To any](list []From, of func(From) To) []To {
	out := make([]To, len(list))
	for i, x := range list {
		out[i] = of(x)
	}
	return out
}

// SqueezedLen is the length of a literal in squeezed text.
func SqueezedLen(s string) int { return len(s) - strings.Count(s, " ") }

// Find matches a pattern from the literal on, within a number of bytes.
func (m Message) Find(p *Pattern, within int) Match { return m.Log.Find(p, m.At, m.At+within) }

// Around matches a pattern that may begin before the literal.
func (m Message) Around(p *Pattern, before, after int) Match {
	return m.Log.Find(p, m.At-before, m.At+after)
}

// Follows reports that a squeezed text stands within a number of bytes after
// the literal begins.
func (m Message) Follows(text string, within int) bool {
	s := m.Log.Squeezed()
	return strings.Contains(s[m.At:min(m.At+within, len(s))], text)
}

// Until cuts a window short where the literal comes again: that is the next
// message, and a line full of it must not be read over and over.
func (m Message) Until(to int) int {
	s := m.Log.Squeezed()
	to = min(to, len(s))
	if m.End < to {
		if i := strings.Index(s[m.End:to], s[m.At:m.End]); i >= 0 {
			to = m.End + i
		}
	}
	return to
}

// Precedes is follows for the text before the literal.
func (m Message) Precedes(text string, within int) bool {
	s := m.Log.Squeezed()
	return strings.Contains(s[max(m.At-within, 0):m.At], text)
}

// Mentions reports that a squeezed text stands anywhere in the log.
func (m Message) Mentions(texts ...string) bool { return slices.ContainsFunc(texts, m.Log.Mentions) }

// MaxQuote bounds how much of a line becomes a failure's message.
const MaxQuote = 420

// Line returns the span of the line at the literal, cut around it if it is
// very long.
func (m Message) Line() (from, to int) {
	from, to = m.Log.LineSpan(m.At)
	return max(from, m.At-MaxQuote/2), max(m.End, min(to, m.At+MaxQuote))
}

// Fail adds a failure whose message is the line, or, when upTo lies behind the
// line, all up to there.
func (m Message) Fail(x fact.Failure, upTo int) int {
	from, to := m.Line()
	to = max(to, min(upTo, m.At+2*MaxQuote))
	Fail(m.Facts, m.Log, from, to, x)
	return max(to, upTo)
}

// Fails makes the reader of a wording that has no figures.
func Fails(x fact.Failure) func(Message) int {
	return func(m Message) int {
		from, to := m.Line()
		Fail(m.Facts, m.Log, from, to, x)
		return m.End
	}
}

// FailsAlone is [Fails] where nothing else of the line is a message.
func FailsAlone(x fact.Failure) func(Message) int {
	return func(m Message) int { return m.Fail(x, m.End) }
}

// Quotes is [Fails] where the literal itself is the message.
func Quotes(x fact.Failure) func(Message) int {
	return func(m Message) int {
		Fail(m.Facts, m.Log, m.At, m.End, x)
		return m.End
	}
}

// States makes the reader of a line that only states figures: see
// [Match.States].
func States(before, after int, p *Pattern) func(Message) int {
	return func(m Message) int {
		m.Around(p, before, after).States(m.Facts, nil)
		return m.End
	}
}

// FailsWith makes the reader of a failure that may state figures: see
// [Match.States].
func FailsWith(x fact.Failure, before, after int, p *Pattern) func(Message) int {
	return func(m Message) int { return m.FailWith(x, m.Around(p, before, after)) }
}

// FailsIf is [FailsWith] where the pattern alone tells that it is a failure.
func FailsIf(x fact.Failure, before, after int, p *Pattern) func(Message) int {
	return func(m Message) int {
		k := m.Around(p, before, after)
		if !k.Ok() {
			return m.End
		}
		return m.FailWith(x, k)
	}
}

// FailWith adds a failure with what matches state.
func (m Message) FailWith(x fact.Failure, matches ...Match) int {
	end := m.End
	for _, k := range matches {
		k.States(m.Facts, &x.Figures)
		end = max(end, m.Took(k))
	}
	return m.Fail(x, end)
}

// Says makes the reader of words that are a fact by themselves.
func Says(name string) func(Message) int {
	return func(m Message) int {
		m.Say(name, m.Log.LineText(m.At))
		return m.End
	}
}

// SaysVersion makes the reader of words beside which a program's version stands.
func SaysVersion(name string, p *Pattern) func(Message) int {
	return func(m Message) int {
		if x := m.Find(p, 60); x.Ok() {
			m.Say(name, x.Text("version"))
		}
		return m.End
	}
}

// Say adds a fact that is a text.
func (m Message) Say(name, text string) {
	m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: name, Text: text, Line: m.Log.Line(m.At)})
}

// Notices makes the reader of words after which the program goes on.
func Notices(id, title string) func(Message) int {
	return func(m Message) int {
		m.Notice(fact.Notice{ID: id, Title: title})
		return m.End
	}
}

// Signals makes the reader of words that show an activity.
func Signals(id string) func(Message) int {
	return func(m Message) int {
		m.Log.Signal(m.Facts, id, m.At)
		return m.End
	}
}

// Signal adds evidence of an activity.
func (l *Log) Signal(f *fact.Facts, id string, at int) {
	f.Signals = append(f.Signals, fact.Signal{ID: id, Line: l.Line(at), Text: l.LineText(at)})
}

// Fact adds a named figure with its line as text.
func (m Message) Fact(name string, size *fact.Size) {
	if size != nil {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: name, Size: size, Text: m.Log.LineText(m.At), Line: size.Line})
	}
}

// Count is fact for a figure that is no size.
func (m Message) Count(name string, c *fact.Count) {
	if c != nil {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: name, Count: c, Text: m.Log.LineText(m.At), Line: c.Line})
	}
}

// Took returns where a match ends, or the end of the literal without one.
func (m Message) Took(x Match) int {
	if !x.Ok() {
		return m.End
	}
	_, to := x.Span()
	return to
}

// Knows reports a look-alike that was added.
func (m Message) Knows(lookalike string) bool {
	return slices.ContainsFunc(m.Facts.Lookalikes, func(have fact.Lookalike) bool { return have.ID == lookalike })
}

// Lookalike adds a look-alike once.
func (m Message) Lookalike(x fact.Lookalike) {
	if !m.Knows(x.ID) {
		x.Line = m.Log.Line(m.At)
		m.Facts.Lookalikes = append(m.Facts.Lookalikes, x)
	}
}

// Notice adds something the program recovered from, once.
func (m Message) Notice(x fact.Notice) {
	if !slices.ContainsFunc(m.Facts.Notices, func(have fact.Notice) bool { return have.ID == x.ID }) {
		x.Line, x.Text = m.Log.Line(m.At), strings.TrimSpace(m.Log.LineText(m.At))
		m.Facts.Notices = append(m.Facts.Notices, x)
	}
}
