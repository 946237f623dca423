package quote

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// console is cmd.exe as far as one line of it goes: the order of its phases, and
// what each of them takes for more than itself, as tried out by jeb and dbenham
// ("How does the Windows Command Interpreter parse scripts?").
type console struct {
	batch   bool // a line of a file, not typed
	delayed bool // setlocal EnableDelayedExpansion, or cmd /V
	env     map[string]string
}

var errOperator = errors.New("an operator outside of quotes")

// line returns what is handed on of a line.
func (c console) line(s string) (string, error) {
	s = c.percents(s)
	var b strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\n' || ch == '\r':
			return "", errOperator
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
			return "", fmt.Errorf("%w: %c in %s", errOperator, ch, s)
		default:
			b.WriteByte(ch)
		}
	}
	if out := b.String(); !c.delayed || !strings.Contains(out, "!") {
		return out, nil
	}
	return "", errors.New("delayed expansion")
}

// percents is the first phase: it knows no quotes and no carets.
func (c console) percents(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, closed := strings.Cut(after, "%")
		head, _, _ := strings.Cut(name, ":")
		value, known := c.env[strings.ToUpper(head)]
		switch {
		case c.batch && strings.HasPrefix(after, "%"):
			b.WriteByte('%')
			s = after[1:]
		case c.batch && after != "" && strings.IndexByte("*0123456789", after[0]) >= 0:
			b.WriteString("ARGUMENT")
			s = after[1:]
		case closed && known:
			b.WriteString(value)
			s = rest
		case c.batch && closed:
			s = rest
		case c.batch:
			s = after
		default:
			b.WriteByte('%')
			s = after
		}
	}
}

// arguments splits a command line as the C run time does (since 2008).
func arguments(line string) []string {
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

var windowsEnv = map[string]string{"PATH": `& calc`, "CD": `" & calc & "`, "": "x", "COMSPEC": "cmd"}

// TestConsole: the model itself runs what is not quoted.
func TestConsole(t *testing.T) {
	typed := console{env: windowsEnv}
	for line, want := range map[string]string{`a "b & c" d`: `a "b & c" d`, `a ^& b`: `a & b`, `a ^"b^&c^"`: `a "b&c"`, `%NONE%`: `%NONE%`, `^%PATH^%`: `%PATH%`, `100%`: `100%`} {
		got, err := typed.line(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	for _, line := range []string{`a & b`, `a | b`, `%PATH%`, `"%CD%"`, `"a" & b`, `"a^"b & c"d"`, `a ^^& b`, `"a\" & b"`} {
		_, err := typed.line(line)
		assert.ErrorIs(t, err, errOperator, line)
	}
	batch := console{batch: true, env: windowsEnv}
	for line, want := range map[string]string{`100%%`: `100%`, `%NONE%x`: `x`, `%1`: `ARGUMENT`, `%%PATH%%`: `%PATH%`} {
		got, err := batch.line(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	assert.Equal(t, []string{`a b`, `c"d`, `e\`, ``}, arguments(`"a b" c\"d "e\\" ""`))
}

// TestCmd: a value typed at the prompt arrives as one argument.
func TestCmd(t *testing.T) {
	for _, s := range hostile {
		line, err := console{env: windowsEnv}.line("prog " + Cmd(s) + " end")
		require.NoError(t, err, s)
		assert.Equal(t, []string{"prog", Printable(s), "end"}, arguments(line), s)
	}
}

// TestBat: what follows `set NAME=` in a batch file arrives as it is.
func TestBat(t *testing.T) {
	for _, s := range hostile {
		line, err := console{batch: true, env: windowsEnv}.line("set X=" + Bat(s))
		require.NoError(t, err, s)
		assert.Equal(t, "set X="+Printable(s), line)
	}
}

// TestWindows: one word for cmd.exe, typed or in a file, and for PowerShell.
func TestWindows(t *testing.T) {
	quoted := 0
	for _, s := range hostile {
		word := Windows(s)
		want := meant(s, `.\`)
		if word == Value {
			want = Value
		} else {
			quoted++
		}
		for _, c := range []console{{env: windowsEnv}, {batch: true, env: windowsEnv}, {delayed: true, env: windowsEnv}} {
			line, err := c.line("prog " + word + " end")
			require.NoError(t, err, s)
			assert.Equal(t, []string{"prog", want, "end"}, arguments(line), s)
		}
		inner := word
		if strings.HasPrefix(word, `"`) {
			inner = word[1 : len(word)-1]
		} else {
			assert.False(t, strings.ContainsFunc(inner, func(r rune) bool { return !strings.ContainsRune(`\:`, r) && unsafeOnWindows(r) }), "PowerShell takes %s apart", word)
		}
		assert.False(t, strings.ContainsAny(inner, "\"$`\u201c\u201d\u201e\u2018\u2019\u201a\u201b"), "PowerShell expands %s", word)
	}
	assert.Greater(t, quoted, len(hostile)/3)
	for s, want := range map[string]string{
		`C:\models\a.gguf`: `C:\models\a.gguf`, `C:\Program Files\x`: `"C:\Program Files\x"`, `C:\a b\`: `"C:\a b\\"`, `C:\R&D\m`: `"C:\R&D\m"`, `C:\100%\m`: Value, "$(calc)": Value, "a;b": `"a;b"`,
	} {
		assert.Equal(t, want, Windows(s), s)
	}
}

// TestFor: each target of a step that takes values has its quoter.
func TestFor(t *testing.T) {
	for _, target := range []string{"sh", "cmd", "bat", "powershell", "python", "yaml", "toml", "modelfile", "systemd", "dockerfile"} {
		require.NotNil(t, For(target), target)
		assert.True(t, slices.ContainsFunc(hostile, func(s string) bool { return For(target)(s) != "" }), target)
	}
	assert.Nil(t, For("ui"))
}
