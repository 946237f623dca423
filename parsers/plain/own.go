package plain

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/text"
)

// exceptionLine is how a message of Python begins: "ValueError: not enough".
var exceptionLine = text.NewPattern(`^[a-z_][\w.]{0,140}(?:error|exception):`)

// strangers begin lines that are no part of the message before them.
var strangers = []string{"File \"", "Traceback", "During handling", "The above exc", "at ", "[", "Stack", "$ ", ">", "(", "Process ", "make"}

// own are the offsets of a message: those of its line, and for an exception of
// Python also of up to eight lines below, to a blank one or one that a logger or
// something else began. said is all of its text.
func own(m text.Message) (from, to int, said string) {
	from, to = m.Line()
	i := m.Log.LineIndex(m.At)
	first, exception := m.Log.Lines[i], m.Log.Find(exceptionLine, m.Log.Offset(i), m.End).Ok()
	said = first.Text
	for n := 1; exception && n <= 8 && i+n < len(m.Log.Lines); n++ {
		l := m.Log.Lines[i+n]
		shown, begun := strings.TrimSpace(l.Text), func(w string) bool { return strings.HasPrefix(strings.TrimSpace(l.Text), w) }
		other := l.Number > first.Number+n || l.Logged != first.Logged || l.Source != first.Source || l.Program != first.Program || l.Level != first.Level
		if shown == "" || other || strings.Contains(shown, "Error:") || slices.ContainsFunc(strangers, begun) {
			break
		}
		if shown[0] >= 'A' && shown[0] <= 'Z' {
			said += "\n" // a sentence of its own
		}
		said, to = said+" "+shown, m.Log.Offset(i+n+1)
	}
	return from, min(to, m.At+2*text.MaxQuote), said
}
