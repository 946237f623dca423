package scan

import (
	"bytes"
	"slices"
)

// Repeat is a message that a log says again and again. Windows of the first
// ones are kept; the others are counted.
type Repeat struct {
	// Line is the number of the first line that was only counted, Text the line
	// (cut around the message if it is very long).
	Line  int
	Text  []byte
	Count int
}

const (
	maxMessage  = 1 << 10 // of a message, from its keyword on
	maxWindows  = 32      // windows kept for one message
	maxMessages = 2048    // messages told apart
)

// repeats counts messages that were met more than maxWindows times.
type repeats struct {
	said      int64 // where the last message ends
	messages  map[string]*message
	uncounted []mention // that a window may still cover
	order     []*message
}

type message struct {
	met int
	Repeat
}

// mention is a message at an absolute offset.
type mention struct {
	at int64
	of *message
}

// messageAt returns the text from a keyword to the end of its line.
func messageAt(region []byte, at int) []byte {
	text := region[at:min(at+maxMessage, len(region))]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return bytes.TrimRight(text, "\r ")
}

// meet notes that a message was met; nil if there are too many others.
func (r *repeats) meet(text []byte) *message {
	m := r.messages[string(text)]
	if m == nil {
		if len(r.messages) == maxMessages {
			return nil
		}
		if r.messages == nil {
			r.messages = map[string]*message{}
		}
		m = &message{}
		r.messages[string(text)] = m
	}
	m.met++
	return m
}

// fresh reports a message that was not met yet and can be told apart.
func (r *repeats) fresh(text []byte) bool {
	return r.messages[string(text)] == nil && len(r.messages) < maxMessages
}

// sample keeps the line of a message that is counted for the first time.
func (s *scanner) sample(m *message, region []byte, at int) *message {
	if m.Text == nil {
		start := lineNear(region, at, maxMessage)
		m.Line = s.lineAt + bytes.Count(region[:at], newline)
		m.Text = slices.Concat(region[start:at], messageAt(region, at))
		s.order = append(s.order, m)
	}
	return m
}

// tally counts the messages before an offset: no window will cover them.
func (s *scanner) tally(before int64) {
	n := 0
	for n < len(s.uncounted) && s.uncounted[n].at < before {
		s.uncounted[n].of.Count++
		n++
	}
	s.uncounted = append(s.uncounted[:0], s.uncounted[n:]...)
}

// cover takes out the messages that a window shows after all.
func (r *repeats) cover(from, to int64) {
	r.uncounted = slices.DeleteFunc(r.uncounted, func(m mention) bool { return m.at >= from && m.at < to })
}

// list returns the messages that were counted, in the order of the log.
func (r *repeats) list() []Repeat {
	var out []Repeat
	for _, m := range r.order {
		if m.Count > 0 {
			out = append(out, m.Repeat)
		}
	}
	return out
}
