package text

import "strings"

// places are where a text stands in a log: a message that occurs a thousand
// times asks for it a thousand times, and the log is gone through once.
type places struct {
	first, last int // -1 where it does not stand at all
	from, next  int // the last answer of [Log.Next]: no earlier place from there on
}

// Mentions reports that a squeezed text stands anywhere in the log.
func (l *Log) Mentions(text string) bool { return l.places(text).first >= 0 }

// MentionsBefore reports that it stands before a squeezed offset.
func (l *Log) MentionsBefore(text string, at int) bool {
	first := l.places(text).first
	return first >= 0 && first+len(text) <= at
}

// MentionsFrom reports that it stands at a squeezed offset or behind it.
func (l *Log) MentionsFrom(text string, at int) bool { return l.places(text).last >= at }

// Next returns where a squeezed text stands first from an offset on, -1 if it
// does not. Offsets that are asked for one after the other cost one search.
func (l *Log) Next(text string, from int) int {
	p := l.places(text)
	switch {
	case p.last < from:
		return -1
	case from <= p.first:
		return p.first
	case from < p.from || from > p.next:
		p.from, p.next = from, from+strings.Index(l.squeezed.Lower[from:], text)
	}
	return p.next
}

func (l *Log) places(text string) *places {
	p := l.asked[text]
	if p == nil {
		p = &places{first: strings.Index(l.squeezed.Lower, text), last: -1, next: -1}
		if p.first >= 0 {
			p.last = p.first + strings.LastIndex(l.squeezed.Lower[p.first:], text)
		}
		if l.asked == nil {
			l.asked = map[string]*places{}
		}
		l.asked[text] = p
	}
	return p
}
