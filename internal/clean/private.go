package clean

import "strings"

// withoutPrompt empties the strings in the line of arguments that AUTOMATIC1111
// and its forks print after an error (modules/call_queue.py, "Arguments:
// ('task(abc)', 'the prompt', ...)"). The prompt is private, it is long, and it
// can contain any word, messages of errors included. Numbers stay: they tell
// the size of the image.
func withoutPrompt(s string) string {
	rest, ok := strings.CutPrefix(s, "Arguments: (")
	if !ok {
		return s
	}
	var b strings.Builder
	b.WriteString("Arguments: (")
	for rest != "" {
		i := strings.IndexAny(rest, `'"`)
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i+1])
		end := i + 1 + literalLen(rest[i+1:], rest[i])
		if end < len(rest) {
			b.WriteByte(rest[end])
			end++
		}
		rest = rest[end:]
	}
	return b.String()
}

// literalLen is the length of a Python string literal up to its closing quote,
// or of all the text where it was cut.
func literalLen(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return len(s)
}
