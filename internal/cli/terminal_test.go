package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

var (
	colors = regexp.MustCompile("\x1b\\[[0-9;]*m")
	broken = regexp.MustCompile(`[0-9.]+\n[ |]*(bytes|[KMGT]i?B|%)\b`)
)

// TestStyled: on a terminal figures stay whole, prose stays within the width
// and nothing but colours comes out.
func TestStyled(t *testing.T) {
	reports, err := filepath.Glob("../../render/testdata/*.json")
	require.NoError(t, err)
	for _, path := range reports {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		report, err := diagnose.Decode(strings.NewReader(string(raw)))
		require.NoError(t, err)
		for _, width := range []int{40, 60, 80} {
			for _, dark := range []bool{true, false} {
				page := render.Markdown(report, render.Options{Layout: render.Layout{Width: width, NoBreak: true}})
				out, err := styled(page, dark)
				require.NoError(t, err)
				plain := colors.ReplaceAllString(string(out), "")
				assert.False(t, broken.MatchString(plain), "%s at %d breaks a figure", path, width)
				assert.False(t, strings.Contains(plain, "\x1b"))
				assert.False(t, strings.Contains(plain, "\n\n\n"), "%s at %d", path, width)
				assert.Equal(t, words(render.Text(report, render.Options{Layout: render.Layout{Width: width}})), words(plain), "%s at %d", path, width)
			}
		}
	}
}

// words are the words of a page, without the marks that differ by format.
func words(page string) []string {
	var out []string
	for _, w := range strings.Fields(page) {
		if w != "-" && w != "•" && strings.Trim(w, "=-█▒░") != "" {
			out = append(out, w)
		}
	}
	return out
}

// TestStyledAttacks: glamour decodes HTML entities, in code too; what was
// written in a log comes out as it was written.
func TestStyledAttacks(t *testing.T) {
	for _, s := range []string{"&#27;]52;c;aGk=&#7;", "&#x1b;[31m &lt;b&gt;", "\x1b]0;title\x07", "\u009b31m", "\x1b[2Jx"} {
		report := &diagnose.Report{Incidents: []diagnose.Incident{{
			Message: s, Line: 1,
			Causes: []diagnose.Cause{{Title: s, Confidence: 0.9, Why: s}},
			Fixes:  []diagnose.Fix{{Title: s, Why: s, Steps: []diagnose.Step{{Kind: "shell", Text: s}, {Kind: "text", Text: s}}}},
			Model:  &diagnose.Model{Name: s},
		}}}
		out, err := styled(render.Markdown(report, render.Options{Layout: render.Layout{Width: 80, NoBreak: true}}), true)
		require.NoError(t, err)
		plain := colors.ReplaceAllString(string(out), "")
		assert.NotRegexp(t, "[\x00-\x09\x0b-\x1f\x7f\u0080-\u009f]", plain)
		if strings.Contains(s, "&") {
			assert.Contains(t, plain, s)
		}
	}
}

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;38;5;39mbold\x1b[0m": "\x1b[1;38;5;39mbold\x1b[0m",
		"\x1b[2Jx":                   "[2Jx",
		"\x1b]52;c;eA==\x07":         "]52;c;eA==",
		"a\u00a0b\r\n":               "a b\n",
		"\x1b[":                      "[",
	} {
		assert.Equal(t, want, harmless(in), "%q", in)
	}
}

func TestDark(t *testing.T) {
	for _, test := range []struct {
		theme, env string
		want       bool
	}{
		{"auto", "", true}, {"auto", "15;0", true}, {"auto", "0;15", false}, {"auto", "0;default;15", false}, {"auto", "7", false},
		{"dark", "0;15", true}, {"light", "15;0", false},
	} {
		s := &session{getenv: func(string) string { return test.env }}
		assert.Equal(t, test.want, s.dark(&options{theme: test.theme}), "%s %q", test.theme, test.env)
	}
}

func TestEscapeC1(t *testing.T) {
	assert.Equal(t, `"a\u009bb\u007f"`, string(escapeC1([]byte("\"a\u009bb\x7f\""))))
	assert.Equal(t, `"plain"`, string(escapeC1([]byte(`"plain"`))))
}

// TestOneEnd: standard input that ends, as a terminal does at Ctrl-D, and
// would go on.
func TestOneEnd(t *testing.T) {
	var out strings.Builder
	typed := &terminalInput{lines: []string{"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 7.21 GiB already allocated)\n", "", "more"}}
	err := Run(t.Context(), []string{"--brief"}, typed, &out, io.Discard, func(string) string { return "" })
	require.NoError(t, err)
	assert.Contains(t, out.String(), "2.00 GiB")
	assert.Equal(t, []string{"more"}, typed.lines)
}

type terminalInput struct{ lines []string }

func (in *terminalInput) Read(p []byte) (int, error) {
	line := in.lines[0]
	in.lines = in.lines[1:]
	if line == "" {
		return 0, io.EOF
	}
	return copy(p, line), nil
}
