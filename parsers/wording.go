package parsers

import "strings"

// wording is one message of a program: the literal that leads to it, in its
// natural spelling, and what reads the rest.
type wording struct {
	literal string
	// read adds what the message says and returns the squeezed offset behind it.
	read func(m message) int
}

// message is a wording found in a log: its literal stands from at to end.
type message struct {
	l       *Log
	f       *Facts
	at, end int
}

// parseWordings calls the readers for the hits, in the order of the text. A hit
// inside what another reader has read is part of that message.
func parseWordings(list []wording, l *Log, hits []Hit, f *Facts) {
	done := 0
	for _, h := range hits {
		if h.At < done {
			continue
		}
		w := list[h.Word]
		end := min(h.At+len(squeezedLiteral(w.literal)), len(l.Squeezed()))
		done = max(done, w.read(message{l: l, f: f, at: h.At, end: end}))
	}
}

func literals(list []wording) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = w.literal
	}
	return out
}

func squeezedLiteral(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, " ", ""))
}

// find matches a pattern from the literal on, within a number of bytes.
func (m message) find(p *Pattern, within int) Match { return m.l.Find(p, m.at, m.at+within) }

// around matches a pattern that may begin before the literal.
func (m message) around(p *Pattern, before, after int) Match {
	return m.l.Find(p, m.at-before, m.at+after)
}

// follows reports that a squeezed text stands within a number of bytes after
// the literal begins.
func (m message) follows(text string, within int) bool {
	s := m.l.Squeezed()
	return strings.Contains(s[m.at:min(m.at+within, len(s))], text)
}

// precedes is follows for the text before the literal.
func (m message) precedes(text string, within int) bool {
	s := m.l.Squeezed()
	return strings.Contains(s[max(m.at-within, 0):m.at], text)
}

// mentions reports that a squeezed text stands anywhere in the log.
func (m message) mentions(texts ...string) bool {
	for _, t := range texts {
		if strings.Contains(m.l.Squeezed(), t) {
			return true
		}
	}
	return false
}

// maxQuote bounds how much of a line becomes a failure's message.
const maxQuote = 420

// line returns the span of the line at the literal, cut around it if it is
// very long.
func (m message) line() (from, to int) {
	from, to = m.l.LineSpan(m.at)
	return max(from, m.at-maxQuote/2), max(m.end, min(to, m.at+maxQuote))
}

// fail adds a failure whose message is the line, or, when upTo lies behind the
// line, all up to there.
func (m message) fail(x Failure, upTo int) int {
	from, to := m.line()
	to = max(to, min(upTo, m.at+2*maxQuote))
	m.f.fail(m.l, from, to, x)
	return max(to, upTo)
}

// fails makes the reader of a wording that has no figures.
func fails(x Failure) func(message) int {
	return func(m message) int {
		from, to := m.line()
		m.f.fail(m.l, from, to, x)
		return m.end
	}
}

// fact adds a named figure with its line as text.
func (m message) fact(name string, size *Size) {
	if size != nil {
		m.f.Facts = append(m.f.Facts, Fact{Name: name, Size: size, Text: m.l.LineText(m.at), Line: size.Line})
	}
}

// count is fact for a figure that is no size.
func (m message) count(name string, c *Count) {
	if c != nil {
		m.f.Facts = append(m.f.Facts, Fact{Name: name, Count: c, Text: m.l.LineText(m.at), Line: c.Line})
	}
}

// took returns where a match ends, or the end of the literal without one.
func (m message) took(x Match) int {
	if !x.Ok() {
		return m.end
	}
	_, to := x.Span()
	return to
}

// lookalike adds a look-alike once.
func (m message) lookalike(x Lookalike) {
	for _, have := range m.f.Lookalikes {
		if have.ID == x.ID {
			return
		}
	}
	x.Line = m.l.Line(m.at)
	m.f.Lookalikes = append(m.f.Lookalikes, x)
}

// notice adds something the program recovered from, once.
func (m message) notice(x Notice) {
	for _, have := range m.f.Notices {
		if have.ID == x.ID {
			return
		}
	}
	x.Line, x.Text = m.l.Line(m.at), strings.TrimSpace(m.l.LineText(m.at))
	m.f.Notices = append(m.f.Notices, x)
}
