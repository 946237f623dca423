package quote

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/workshop/paste"
)

var windowsEnv = map[string]string{"PATH": `& calc`, "CD": `" & calc & "`, "": "x", "COMSPEC": "cmd"}

// TestConsole: the model itself runs what is not quoted.
func TestConsole(t *testing.T) {
	typed := paste.Console{Env: windowsEnv}
	for line, want := range map[string]string{`a "b & c" d`: `a "b & c" d`, `a ^& b`: `a & b`, `a ^"b^&c^"`: `a "b&c"`, `%NONE%`: `%NONE%`, `^%PATH^%`: `%PATH%`, `100%`: `100%`} {
		got, err := typed.Line(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	for _, line := range []string{`a & b`, `a | b`, `%PATH%`, `"%CD%"`, `"a" & b`, `"a^"b & c"d"`, `a ^^& b`, `"a\" & b"`} {
		_, err := typed.Line(line)
		assert.ErrorIs(t, err, paste.ErrOperator, line)
	}
	batch := paste.Console{Batch: true, Env: windowsEnv}
	for line, want := range map[string]string{`100%%`: `100%`, `%NONE%x`: `x`, `%1`: `ARGUMENT`, `%%PATH%%`: `%PATH%`} {
		got, err := batch.Line(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	assert.Equal(t, []string{`a b`, `c"d`, `e\`, ``}, paste.Arguments(`"a b" c\"d "e\\" ""`))
}

// TestBat: what follows `set NAME=` in a batch file arrives as it is.
func TestBat(t *testing.T) {
	for _, s := range hostile {
		line, err := paste.Console{Batch: true, Env: windowsEnv}.Line("set X=" + Bat(s))
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
		for _, c := range []paste.Console{{Env: windowsEnv}, {Batch: true, Env: windowsEnv}, {Delayed: true, Env: windowsEnv}} {
			line, err := c.Line("prog " + word + " end")
			require.NoError(t, err, s)
			assert.Equal(t, []string{"prog", want, "end"}, paste.Arguments(line), s)
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
