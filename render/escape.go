package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Everything in a report may come from a hostile log, or from a report that
// somebody else wrote. The functions here are the only way into the output.

// visible makes one line of text that shows what it is: no control characters
// (an escape sequence could write to the clipboard or hide lines), none that
// change the direction of text, no invisible ones. Line breaks and tabs become
// blanks.
func visible(s string) string {
	if !strings.ContainsFunc(s, odd) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case r == '\n', r == '\t', r == '\u00a0':
			b.WriteByte(' ')
		case !odd(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Plain is a text of the report on one line, without the marks of code and
// without what [visible] takes away: for formats that have no marks at all.
func Plain(s string) string {
	var b strings.Builder
	for _, part := range prose(s) {
		b.WriteString(part.text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// odd reports what must not reach a reader as it is: controls (C0, DEL, C1),
// format characters (directions, zero widths, tags), odd blanks, private use,
// and what is no character at all, which XML does not take.
func odd(r rune) bool {
	return unicode.IsControl(r) || r&0xfffe == 0xfffe || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == '\u00a0'
}

// visibleLines is [visible] for text of several lines.
func visibleLines(s string) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(visible(strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return lines
}

// escape writes one word so that Markdown shows it as it is. Only what could
// mean something is escaped: reports are read as plain text too.
func escape(word string) string {
	var b strings.Builder
	runes := []rune(word)
	for i, r := range runes {
		switch r {
		case '\\', '`', '*', '[', ']', '<', '~':
			b.WriteByte('\\')
		case '_':
			if !(i > 0 && letter(runes[i-1]) && i+1 < len(runes) && letter(runes[i+1])) {
				b.WriteByte('\\')
			}
		case '&':
			if i+1 < len(runes) && (runes[i+1] == '#' || letter(runes[i+1])) {
				b.WriteString("&amp;")
				continue
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// escapeStart is what must be done beside escape to a word that begins a line.
func escapeStart(word string) string {
	if !startsBlock(word) {
		return word
	}
	n := len(word) - len(strings.TrimLeft(word, "0123456789"))
	return word[:n] + `\` + word[n:]
}

// startsBlock reports a word that at the start of a line would make a heading,
// a list, a quote, a rule, a table or a fence. No line is broken before it.
func startsBlock(word string) bool {
	if word == "" {
		return false
	}
	switch word[0] {
	case '>', '|':
		return true
	case '#', '+', '=':
		return strings.Trim(word, word[:1]) == ""
	case '-', ':':
		return strings.Trim(word, "-:|") == ""
	case '~':
		return strings.HasPrefix(word, "~~~")
	}
	rest := strings.TrimLeft(word, "0123456789")
	return len(rest) < len(word) && (rest == "." || rest == ")")
}

// linkish reports words that Markdown processors, GitHub above all, turn into
// links, mentions or references on their own.
func linkish(word string) bool {
	lower := strings.ToLower(word)
	if strings.Contains(lower, "://") || strings.Contains(lower, "www.") || strings.Contains(word, "@") || strings.Contains(lower, "mailto:") || strings.Contains(lower, "xmpp:") {
		return true
	}
	if n := strings.TrimLeft(lower, "([{\"'"); strings.HasPrefix(n, "gh-") && len(n) > 3 && n[3] >= '0' && n[3] <= '9' {
		return true
	}
	i := strings.IndexByte(word, '#')
	return i >= 0 && i+1 < len(word) && word[i+1] >= '0' && word[i+1] <= '9'
}

// ticks returns the delimiter of a code span around text: one backtick more
// than its longest run.
func ticks(text string) string { return strings.Repeat("`", longestRun(text, '`')+1) }

// fence returns the delimiter of a code block around text.
func fence(text string) string { return strings.Repeat("`", max(3, longestRun(text, '`')+1)) }

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		run++
		if s[i] != of {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// language keeps what may follow a fence.
func language(s string) string {
	if strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return s
}
