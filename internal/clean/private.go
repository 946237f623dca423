package clean

import "strings"

// argumentsLine begins the line of arguments that AUTOMATIC1111 and its forks
// print after an error (modules/call_queue.py): "Arguments: ('task(abc)', 'the
// prompt', ...)".
const argumentsLine = "Arguments: ("

// Bounds on one list of arguments: a list that does not end within them was
// cut, and what follows belongs to the log.
const (
	maxArgumentLines = 60
	maxArgumentBytes = 64 << 10
)

// dropPrompts empties the strings in such lists. The prompt is private, it is
// long, and it can contain any word, messages of errors included. Numbers stay:
// they tell the size of the image.
func dropPrompts(lines []Line) {
	for i := range lines {
		at := strings.Index(lines[i].Text, argumentsLine)
		if at < 0 {
			continue
		}
		at += len(argumentsLine)
		n := argumentLines(lines[i:], at)
		if n == 0 {
			n = 1 // cut: empty what stands on the line itself
		}
		r := redactor{depth: 1}
		for k := range lines[i : i+n] {
			line := &lines[i+k]
			line.Text = line.Text[:at] + r.redact(line.Text[at:])
			at = 0
		}
	}
}

// DropPrompts returns text with the strings in its lists of arguments emptied,
// as [Lines] does it for a whole log.
func DropPrompts(text string) string {
	if !strings.Contains(text, argumentsLine) {
		return text
	}
	var lines []Line
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, Line{Text: line})
	}
	dropPrompts(lines)
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return strings.Join(out, "\n")
}

// argumentLines counts the lines over which a list goes on that begins at an
// offset of the first one; 0 if its end is not there.
func argumentLines(lines []Line, at int) int {
	r := redactor{depth: 1}
	size := 0
	for i := range lines[:min(len(lines), maxArgumentLines)] {
		if size += len(lines[i].Text); size > maxArgumentBytes {
			break
		}
		r.redact(lines[i].Text[at:])
		if r.depth == 0 {
			return i + 1
		}
		at = 0
	}
	return 0
}

// redactor reads the repr of a Python tuple, over several lines if a console
// broke it.
type redactor struct {
	depth int  // open brackets; 0: the list is over
	quote byte // of the string that is open
}

// redact returns the text without the insides of strings.
func (r *redactor) redact(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case r.depth == 0:
			return b.String() + s[i:]
		case r.quote != 0 && c == '\\':
			i++
			continue
		case r.quote != 0 && c != r.quote:
			continue
		case r.quote != 0:
			r.quote = 0
		case c == '\'' || c == '"':
			r.quote = c
		case c == '(' || c == '[' || c == '{':
			r.depth++
		case c == ')' || c == ']' || c == '}':
			r.depth--
		}
		b.WriteByte(c)
	}
	return b.String()
}
