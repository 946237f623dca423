package screen

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

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
			for on := range palettes {
				on := Background(on)
				page := render.Markdown(report, render.Options{Layout: render.Layout{Width: width, NoBreak: true, Heads: true}})
				out, err := Page(page, on)
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

// TestHeadings: a heading goes on in the next line, whatever its level.
func TestHeadings(t *testing.T) {
	report := &diagnose.Report{OOM: true, Incidents: []diagnose.Incident{{
		Headline: "vLLM did not start: one request of 221,000 tokens needs more KV cache than is left", Line: 1,
		Causes: []diagnose.Cause{{ID: "context_too_long", Title: "The context is too long", Confidence: 0.9, Why: "A reason."}},
		Fixes:  []diagnose.Fix{{ID: "lower_context", Title: "Let the server accept shorter requests than the model could take", Steps: []diagnose.Step{{Kind: "text", Text: "A step."}}}},
	}}}
	for _, o := range []render.Options{{}, {Name: "a-log-with-a-long-name.log"}, {Full: true}, {Brief: true}} {
		o.Layout = render.Layout{Width: 40, NoBreak: true, Heads: true}
		out, err := Page(render.Markdown(report, o), Dark)
		require.NoError(t, err)
		seen := 0
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "\x1b[38;5;39;1m") {
				seen++
				assert.LessOrEqual(t, utf8.RuneCountInString(colors.ReplaceAllString(line, "")), 41, line)
			}
		}
		assert.GreaterOrEqual(t, seen, 3)
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
		out, err := Page(render.Markdown(report, render.Options{Layout: render.Layout{Width: 80, NoBreak: true}}), Dark)
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
