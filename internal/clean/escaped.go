package clean

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/spans"
)

// appendEscaped adds a line, or the lines that a record of a log holds with
// their breaks written as \n.
func appendEscaped(parts []part, s string, number int) []part {
	width, inner := len(s), false
	breaks := escapedBreaks(s)
	last := 0
	for _, b := range breaks {
		parts = append(parts, part{text: readable(s[last:b.at]), number: number, inner: inner})
		last, inner = b.at+b.size, true
	}
	return append(parts, part{readable(s[last:]), number, width, inner})
}

// lineBreak is a \n, backslashes doubled or not.
type lineBreak struct{ at, size int }

// escapedBreaks finds each \n that stands for the end of a line. In a word that
// begins like C:\ it is a part of a path. In a string it makes no line, but
// where the string is what a record says: any other may hold anything.
func escapedBreaks(s string) []lineBreak {
	if !strings.Contains(s, `\n`) {
		return nil
	}
	var out []lineBreak
	path := false
	for i := 0; i+1 < len(s); i++ {
		c := s[i]
		if c == '"' || c == '\'' || c == '\\' || c == '&' {
			if from, to, ok := spans.String(s, i); ok {
				path = false
				if i = from - 1; !said(s[:from]) {
					i = to - 1
				}
				continue
			}
		}
		switch {
		case c == ' ' || c == '"':
			path = false
		case c == ':' && s[i+1] == '\\' && i > 0 && letter(s[i-1]):
			path = true
		case c == '\\' && !path:
			if n := escape(s[i:]); n > 0 && s[i+n-1] == 'n' {
				out = append(out, lineBreak{i, n})
				i += n - 1
			}
		}
	}
	return out
}

// sayings are the keys under which records have their message.
var sayings = []string{"log", "msg", "message", "error", "err", "exception", "exc_info", "stack", "stack_trace", "stacktrace", "traceback", "textpayload", "stderr", "stdout"}

// said reports that a string is what a record says, by the key before it.
func said(before string) bool {
	before = strings.TrimRight(before[max(0, len(before)-64):], "\"'\\ &;quot")
	key, ok := strings.CutSuffix(strings.TrimSuffix(before, "["), ":")
	if !ok {
		if key, ok = strings.CutSuffix(before, "="); !ok {
			return false
		}
	}
	key = strings.TrimRight(key, "\"'\\ ")
	start := len(key)
	for start > 0 && (letter(key[start-1]) || key[start-1] == '_') {
		start--
	}
	return slices.Contains(sayings, strings.ToLower(key[start:]))
}
