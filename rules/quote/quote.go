// Package quote makes words of a log safe to stand in a command. A log is
// written by strangers, and the commands made from it are pasted into a shell:
// whatever comes from a log goes through here.
package quote

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/oomdoc/oomdoc/internal/redact"
)

// Shell returns s as one word for a POSIX shell that is no option:
// unchanged when it has only safe characters, else in single quotes.
func Shell(s string) string {
	if name, ok := strings.CutPrefix(s, redact.Variable); ok {
		return `"$` + name + `"`
	}
	s = Printable(s)
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	if s != "" && strings.IndexFunc(s, UnsafeInShell) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// UnsafeInShell reports a character that a POSIX shell may read as more than itself.
func UnsafeInShell(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:@+,=", r)
}

// Python returns s as a Python string literal. Go's escapes are a subset of
// Python's.
func Python(s string) string {
	if name, ok := strings.CutPrefix(s, redact.Variable); ok {
		return "os.environ[" + strconv.Quote(name) + "]"
	}
	return strconv.Quote(Printable(s))
}

// Printable drops what can't stand in a name and can fool a terminal or an
// eye: control characters and the invisible ones that reorder text.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
}

// PID returns a process id to put into a command. 0, 1 and negative
// numbers mean a group, init or everything to kill: they give a placeholder.
func PID(pid int) string {
	if pid <= 1 {
		return "PID"
	}
	return strconv.Itoa(pid)
}
