package rules

import (
	"strconv"
	"strings"
	"unicode"
)

// A log is written by strangers, and the commands made from it are pasted into
// a shell. Whatever comes from a log goes through one of these.

// shellQuote returns s as one word for a POSIX shell that is no option:
// unchanged when it has only safe characters, else in single quotes.
func shellQuote(s string) string {
	s = printable(s)
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	if s != "" && strings.IndexFunc(s, unsafeInShell) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func unsafeInShell(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("_-./:@+,=", r)
}

// pyQuote returns s as a Python string literal. Go's escapes are a subset of
// Python's.
func pyQuote(s string) string { return strconv.Quote(printable(s)) }

// printable drops what can't stand in a name and can fool a terminal or an
// eye: control characters and the invisible ones that reorder text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, s)
}

// pidText returns a process id to put into a command. 0, 1 and negative
// numbers mean a group, init or everything to kill: they give a placeholder.
func pidText(pid int) string {
	if pid <= 1 {
		return "PID"
	}
	return strconv.Itoa(pid)
}
