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
	if s != "" && s[0] != '=' && strings.IndexFunc(s, UnsafeInShell) < 0 { // zsh looks up =x
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
// eye: control characters, ends of lines of all kinds, and what is not seen.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
}

// Told returns s for a sentence: back-ticks would make a command of a part of it.
func Told(s string) string { return strings.ReplaceAll(Printable(s), "`", "") }

// mostPIDs is how far Linux counts processes at most (PID_MAX_LIMIT).
const mostPIDs = 1 << 22

// PID returns a process id to put into a command. 0, 1 and negative
// numbers mean a group, init or everything to kill, and no process has a number
// above 2^22: they give a placeholder.
func PID(pid int) string {
	if pid <= 1 || pid > mostPIDs {
		return "PID"
	}
	return strconv.Itoa(pid)
}
