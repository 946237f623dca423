package parsers

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Around a message in a manual, a header, a change log or a source file stand
// others of their lines; around one in a log stands what a program printed.
const (
	aroundDocument = 8   // lines with text, on each side
	leastDocument  = 3   // of them, on each side
	longestShown   = 300 // bytes of a line that are looked at
)

// inDocument reports a message with one figure at most that stands between lines
// of a document, and is no error as a program prints it.
func inDocument(l *text.Log, x fact.Failure, tells func(fact.Failure) bool) bool {
	at := l.LineIndex(x.At)
	own, ok := shown(l.Lines[at])
	if !ok || figureCount(x) > 1 || at > 0 && traceLine(strings.TrimSpace(l.Lines[at-1].Text)) || strings.Contains(own, "!!!") || strings.Contains(own, "Exception") || x.Kind == fact.ShellKilled && strings.Contains(own, ": line ") { // a shell names script, line and process
		return false
	}
	least := leastDocument
	if own != "" && codeLine(own) {
		least = 1 // the file may end there
	}
	for _, step := range []int{-1, 1} {
		lines, document := 0, 0
		for i := at + step; i >= 0 && i < len(l.Lines) && i-at < 64 && at-i < 64 && lines < aroundDocument; i += step {
			t, ok := shown(l.Lines[i])
			if !ok {
				return false
			}
			if len(t) > 2 {
				lines++
			}
			if len(t) > 2 && documentLine(t) {
				document++
			}
		}
		if document < least || document*3 < lines*2 {
			return false
		}
	}
	return !tells(x)
}

// shown is a line's text; ok is false for one that a program printed: a line of
// a log or a trace, or one that begins with the name of a function
// and states a value.
func shown(line clean.Line) (t string, ok bool) {
	t = strings.TrimSpace(line.Text[:min(len(line.Text), longestShown)])
	if strings.HasPrefix(t, "0x") && strings.Contains(t, "!") { // a stack of Windows
		return t, false
	}
	name, said, _ := strings.Cut(t, ": ")
	if t == "ERROR:" || strings.HasPrefix(t, "terminate called ") || strings.HasSuffix(t, " |") && strings.Contains(t, " = ") || strings.HasPrefix(t, "=   ") || strings.HasPrefix(t, "in: ") && strings.Contains(t, ", line ") { // libstdc++, llama.cpp's table of memory, RELION behind its advice, MPICH's frame
		return t, false
	}
	named := strings.Contains(said, " = ") && strings.IndexByte(",(:", t[len(t)-1]) < 0 && strings.Contains(name, "_") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	prompted := strings.HasPrefix(t, "$ ") || strings.HasPrefix(t, ">>> ") || strings.Contains(t, "%|") || len(t) > 5 && t[:4] == "GPU " && t[5] == ':' // miners
	return t, !line.Logged && line.Source == "" && line.Program == "" && !prompted && !named && (!traceLine(t) || strings.HasSuffix(t, "."))
}

// markup begins lines of code, lists, strings, manuals and web pages, ends those
// that end them.
var (
	markup = []string{"- ", "--", "+ ", "..", "<", ";;", `"`, "'", `f"`, `f'`, "`", `\f`, "!", "&", "=", "or ", "and ", "not "}
	ends   = []string{",", ":", `\`, "}", "]", "*/", " ~"}
)

// documentLine reports a line of code, of a comment or of running text.
func documentLine(t string) bool {
	begins := func(sign string) bool { return strings.HasPrefix(t, sign) }
	closes := func(sign string) bool { return strings.HasSuffix(t, sign) }
	switch {
	case codeLine(t), slices.ContainsFunc(markup, begins), slices.ContainsFunc(ends, closes), strings.Contains(t, " = "), strings.Contains(t, "  # "), strings.Contains(t, "): ") && closes("."):
		return true
	case t[0] == '.' || t[0] == '#': // roff, a comment; no frame of a stack ("#0")
		return t[1] < '0' || t[1] > '9'
	}
	words, plain := strings.Fields(t), 0
	for _, w := range words {
		if utf8.RuneCountInString(w)*2 < len(w) { // of a language that is not written in Latin letters
			plain++
		} else if strings.Trim(strings.ToLower(w), "abcdefghijklmnopqrstuvwxyz-'.,") == "" {
			plain++
		}
	}
	return plain*10 >= len(words)*7
}
