package paste

import (
	"errors"
	"fmt"
	"strings"
)

// Console is cmd.exe as far as one line of it goes: the order of its phases, and
// what each of them takes for more than itself, as tried out by jeb and dbenham
// ("How does the Windows Command Interpreter parse scripts?").
type Console struct {
	Batch   bool              // a line of a file, not typed
	Delayed bool              // setlocal EnableDelayedExpansion, or cmd /V
	Env     map[string]string // by names in capitals
}

// ErrOperator is what a line holds that is more than words.
var ErrOperator = errors.New("an operator outside of quotes")

// Line returns what is handed on of a line.
func (c Console) Line(s string) (string, error) {
	s = c.percents(s)
	var b strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\n' || ch == '\r':
			return "", ErrOperator
		case ch == '"':
			in = !in
			b.WriteByte(ch)
		case in:
			b.WriteByte(ch)
		case ch == '^':
			if i++; i == len(s) {
				return "", errors.New("the line goes on")
			}
			b.WriteByte(s[i])
		case strings.IndexByte("&|<>()", ch) >= 0:
			return "", fmt.Errorf("%w: %c in %s", ErrOperator, ch, s)
		default:
			b.WriteByte(ch)
		}
	}
	if out := b.String(); !c.Delayed || !strings.Contains(out, "!") {
		return out, nil
	}
	return "", errors.New("delayed expansion")
}

// percents is the first phase: it knows no quotes and no carets.
func (c Console) percents(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, "%")
		head, _, _ := strings.Cut(name, ":")
		value, known := c.Env[strings.ToUpper(head)]
		switch {
		case c.Batch && strings.HasPrefix(after, "%"):
			b.WriteByte('%')
			s = after[1:]
		case c.Batch && after != "" && strings.IndexByte("*0123456789", after[0]) >= 0:
			b.WriteString("ARGUMENT")
			s = after[1:]
		case closed && known:
			b.WriteString(value)
			s = rest
		case c.Batch && closed:
			s = rest
		case c.Batch:
			s = after
		default:
			b.WriteByte('%')
			s = after
		}
	}
}

// Arguments splits a command line as the C run time does (since 2008).
func Arguments(line string) []string {
	var out []string
	var b strings.Builder
	open, in, backslashes := false, false, 0
	flush := func(n int) { b.WriteString(strings.Repeat(`\`, n)); backslashes = 0 }
	for i := 0; i < len(line); i++ {
		switch ch := line[i]; {
		case ch == '\\':
			backslashes++
			open = true
			continue
		case ch == '"' && backslashes%2 == 1:
			flush(backslashes / 2)
			b.WriteByte('"')
		case ch == '"':
			flush(backslashes / 2)
			if in && i+1 < len(line) && line[i+1] == '"' {
				b.WriteByte('"')
				i++
			} else {
				in = !in
			}
			open = true
		case (ch == ' ' || ch == '\t') && !in:
			flush(backslashes)
			if open {
				out = append(out, b.String())
			}
			b.Reset()
			open = false
		default:
			flush(backslashes)
			b.WriteByte(ch)
			open = true
		}
	}
	flush(backslashes)
	if open {
		out = append(out, b.String())
	}
	return out
}
