package plain

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/text"
)

// A message of Python begins like exceptionLine; strangers begin other lines.
var exceptionLine = text.NewPattern(`^[a-z_][\w.]{0,140}(?:error|exception):`)
var strangers = []string{"File \"", "Traceback", "During handling", "The above exc", "at ", "[", "Stack", "$ ", ">", "(", "Process ", "make"}

// own are the offsets and the text of a message: its line, and of an exception of
// Python or a logger's error up to eight below, to a blank one or one that
// something else began.
func own(m text.Message) (from, to int, said string) {
	from, to = m.Line()
	i := m.Log.LineIndex(m.At)
	first, exception := m.Log.Lines[i], m.Log.Find(exceptionLine, m.Log.Offset(i), m.End).Ok()
	logged := first.Logged && exception // a logger heads the first line of an error alone
	said = first.Text
	for n := 1; (exception || first.Level == 'E') && n <= 8 && i+n < len(m.Log.Lines); n++ {
		l, shown := m.Log.Lines[i+n], strings.TrimSpace(m.Log.Lines[i+n].Text)
		begun := func(w string) bool { return strings.HasPrefix(shown, w) }
		headed := l.Logged && (l.Level != 0 || first.Program == "") // a container's name heads every line
		if shown == "" || l.Number > first.Number+n || headed != logged || l.Source != first.Source || l.Program != first.Program || strings.Contains(shown, "Error:") || slices.ContainsFunc(strangers, begun) {
			break
		}
		said, to = said+map[bool]string{true: "\n"}[shown[0] >= 'A' && shown[0] <= 'Z']+" "+shown, m.Log.Offset(i+n+1) // a capital begins a sentence
	}
	return from, min(to, m.At+2*text.MaxQuote), said
}
