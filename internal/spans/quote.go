package spans

import "strings"

// quotations finds the mail and the chat that a log quotes. People paste whole
// logs behind "> " too, so a quotation counts as one only in a log: where lines
// that are not quoted begin as a program's records do, and somebody is named
// who wrote it.
func (f *finder) quotations() {
	if !strings.Contains(f.s, ">") {
		return
	}
	var found []Span
	authored := -1 // where the line that names an author begins
	f.lines(func(at, end int, line string) {
		switch {
		case line == "":
		case strings.HasPrefix(line, ">") && authored >= 0:
			found = append(found, Span{at, end, Quote})
		case strings.HasPrefix(line, ">"):
		case speaker(line):
			found = append(found, Span{at, end, Quote})
			authored = -1
		case author(line):
			authored = at
		default:
			authored = -1
		}
	})
	if len(found) == 0 || !f.part && f.records() < fewRecords {
		return
	}
	f.done = 0
	f.out = append(f.out, found...)
}

// lines calls a function for every line, which is trimmed.
func (f *finder) lines(each func(at, end int, line string)) {
	for at := 0; at < len(f.s); {
		end := endOfLine(f.s, at)
		each(at, end, strings.TrimSpace(f.s[at:end]))
		at = end + 1
		if end < len(f.s) && f.s[end] == '\r' {
			at++
		}
	}
}

// records counts the lines that begin as a program's records do, and that are no
// part of what was quoted.
func (f *finder) records() (n int) {
	f.lines(func(_, _ int, line string) {
		if line != "" && !strings.HasPrefix(line, ">") && !speaker(line) && !author(line) && record(line) {
			n++
		}
	})
	return n
}

// fewRecords are enough to tell a log from a thread about one.
const fewRecords = 2

// authors are how programs for mail name whom they quote, at the end of a line.
var authors = []string{" wrote:", " schrieb:", " a écrit :", " a écrit:", " escribió:", " ha scritto:", " escreveu:", " schreef:", " napisał:", " пишет:", " said:", "Original Message-----"}

func author(line string) bool {
	if last := line[len(line)-1]; last != ':' && last != '-' {
		return false
	}
	for _, a := range authors {
		if strings.HasSuffix(line, a) {
			return true
		}
	}
	return false
}

// speaker reports a line of a chat: "<anna> text", "[10:32] <anna> text".
func speaker(line string) bool {
	if strings.HasPrefix(line, "[") {
		i := strings.IndexByte(line, ']')
		if i < 0 || i > 24 {
			return false
		}
		line = strings.TrimLeft(line[i+1:], " ")
	}
	if len(line) < 4 || line[0] != '<' {
		return false
	}
	i := strings.IndexByte(line, '>')
	if i < 2 || i > 40 || i+1 >= len(line) || line[i+1] != ' ' {
		return false
	}
	name := line[1:i]
	return !strings.ContainsAny(name, " /|=\"'<") && !strings.Contains(line, "</") && (name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z' || name[0] >= 0x80)
}
