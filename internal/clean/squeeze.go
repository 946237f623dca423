package clean

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Squeezed is text without any white space, quote marks of Markdown or box
// drawing: what wrapping, padding and joining of lines change is gone, so one
// pattern finds a message however it was pasted.
type Squeezed struct {
	// Lower is the text in lower-case ASCII.
	Lower string
	// At holds, for every byte of Lower, its offset in the original.
	At []int32
}

// Squeeze squeezes text. Escapes that a JSON or logfmt value left behind (\n,
// \", \t) count as white space, except inside a path of Windows.
func Squeeze(text string) Squeezed {
	most := len(text) - strings.Count(text, " ") - strings.Count(text, "\n")
	lower, at, n := make([]byte, most), make([]int32, most), 0
	keep := func(c byte, i int) {
		lower[n], at[n] = c, int32(i)
		n++
	}
	path := false // inside a word that begins like C:\
	for i := 0; i < len(text); i++ {
		run := i
		for run < len(text) && ordinary[text[run]] {
			run++
		}
		copy(lower[n:], text[i:run])
		for k := range run - i {
			at[n+k] = int32(i + k)
		}
		if n, i = n+run-i, run; i == len(text) {
			break
		}
		c := text[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == ' ' || c == '\n':
			path = false
			continue
		case c == '`':
			continue
		case c == '*' && i+1 < len(text) && text[i+1] == '*':
			i++
			continue
		case c == '\\' && !path:
			if path = inFrame(text[:i]); path {
				break
			}
			if n := escape(text[i:]); n > 0 {
				i += n - 1
				continue
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r < 0x2500 || r > 0x25ff && r != '❱' {
				for k := range size {
					keep(text[i+k], i+k)
				}
			}
			i += size - 1
			continue
		case c == ':' && i+1 < len(text) && text[i+1] == '\\' && i > 0 && letter(text[i-1]):
			path = true
		}
		keep(c, i)
	}
	return Squeezed{Lower: unsafe.String(unsafe.SliceData(lower), n), At: at[:n]}
}

// ordinary are the bytes that stay as they are whatever stands around them.
var ordinary = func() (is [256]bool) {
	for c := range utf8.RuneSelf {
		is[c] = !strings.ContainsRune(" \n`*\\:ABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(c))
	}
	return is
}()

// SqueezeWords squeezes keywords the way [Squeeze] squeezes text: all of them
// in one piece, since a thousand are squeezed at every start.
func SqueezeWords(words []string) []string {
	all, n := []byte(strings.Join(words, "\n")), 0
	for _, c := range all {
		all[n] = squeezedByte[c].as
		n += squeezedByte[c].kept // without a branch
	}
	return strings.Split(string(all[:n]), "\n")
}

// squeezedByte is what a keyword's byte becomes, and 1 if it stays, else 0.
var squeezedByte = func() (is [256]struct {
	as   byte
	kept int
}) {
	for c := range is {
		is[c].as = byte(c)
		if c >= 'A' && c <= 'Z' {
			is[c].as |= 0x20
		}
		if c != ' ' && c != '`' {
			is[c].kept = 1
		}
	}
	return is
}()

// inFrame reports that text ends inside the path of a Python frame, which has no
// drive where the program was packed: File "torch\nn\modules\conv.py".
func inFrame(text string) bool {
	from := max(0, len(text)-longestPath)
	at := strings.LastIndexByte(text[from:], '"')
	return at >= 0 && strings.HasSuffix(text[:from+at+1], `File "`)
}

// longestPath is how far before a backslash the path of a frame begins.
const longestPath = 260

// maxBackslashes is how often an escape may have been escaped: four times.
const maxBackslashes = 16

// escape is the length of a backslash escape that stands for white space or a
// quote mark, doubled backslashes included.
func escape(s string) int {
	n := 1
	for n < min(len(s), maxBackslashes) && s[n] == '\\' {
		n++
	}
	if n >= len(s) {
		return 0
	}
	switch s[n] {
	case 'n', 't', 'r':
		return n + 1
	case '"', '\'':
		return n
	}
	return 0
}

func letter(c byte) bool { c |= 0x20; return c >= 'a' && c <= 'z' }
