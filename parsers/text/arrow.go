package text

import "strings"

// Aside reports that the line at an offset is one that IPython prints around the
// one that failed, which an arrow marks: it had run before, or never ran.
func (l *Log) Aside(at int) bool {
	i := l.LineIndex(at)
	if !besideArrow(l.Lines[i].Text) {
		return false
	}
	_, marked := l.failedAround(i)
	return marked
}

// InBlock reports that a line around the one that failed stands in the same block
// of code, as deep as that: what a loop does in each of its turns.
func (l *Log) InBlock(at int) bool {
	i := l.LineIndex(at)
	failed, marked := l.failedAround(i)
	return marked && depth(failed) > 1 && depth(failed) == depth(l.Lines[i].Text)
}

// failedAround is what stands behind the arrow near a line.
func (l *Log) failedAround(i int) (line string, marked bool) {
	for _, near := range l.Lines[max(i-contextLines, 0):min(i+contextLines+1, len(l.Lines))] {
		if line, marked = strings.CutPrefix(strings.TrimLeft(near.Text, "-"), "> "); marked && strings.HasPrefix(near.Text, "--") {
			return line, true
		}
	}
	return "", false
}

// depth is how many blanks stand between the number of a line and its code.
func depth(line string) int {
	code := strings.TrimLeft(line, "0123456789")
	return len(code) - len(strings.TrimLeft(code, " "))
}

// contextLines is how many lines IPython prints on each side of the arrow.
const contextLines = 5

// besideArrow reports "      3 pipe.to(device)": a line number and code.
func besideArrow(line string) bool {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	return digits > 0 && digits < 6 && (digits == len(line) || line[digits] == ' ')
}
