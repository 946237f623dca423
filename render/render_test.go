package render_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

var update = flag.Bool("update", false, "rewrite the pages in testdata")

// flags of the golden pages stand in their names: NAME.brief.w40.md is the
// report NAME.json in brief, 40 columns wide; .txt is plain text.
var pages = []string{"w40.md", "w60.md", "w80.md", "brief.w80.md", "full.w80.md", "full.w60.md", "w80.txt", "full.w80.txt"}

func TestPages(t *testing.T) {
	reports, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, reports)
	for _, path := range reports {
		for _, page := range pages {
			golden := strings.TrimSuffix(path, "json") + page
			t.Run(filepath.Base(golden), func(t *testing.T) {
				got := written(t, load(t, path), page)
				assertWhole(t, got)
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
					return
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err)
				assert.Equal(t, string(want), got)
			})
		}
	}
}

func load(t *testing.T, path string) *diagnose.Report {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := diagnose.Decode(f)
	require.NoError(t, err)
	return r
}

func written(t *testing.T, r *diagnose.Report, page string) string {
	t.Helper()
	flags := strings.Split(page, ".")
	var o render.Options
	for _, f := range flags[:len(flags)-1] {
		if width, ok := strings.CutPrefix(f, "w"); ok {
			n, err := strconv.Atoi(width)
			require.NoError(t, err)
			o.Width = n
		}
		o.Brief, o.Full = o.Brief || f == "brief", o.Full || f == "full"
	}
	if flags[len(flags)-1] == "txt" {
		return render.Text(r, o)
	}
	return render.Markdown(r, o)
}

// broken is a figure whose number and unit stand on two lines.
var broken = regexp.MustCompile(`[0-9.]+\n[ |\x{a0}]*(bytes|[KMGT]i?B|%)\b`)

func assertWhole(t *testing.T, page string) {
	t.Helper()
	assert.NotRegexp(t, broken, page, "a figure is broken")
}

// TestEveryLog renders each log at every width: figures stay whole, and words
// stay within the width.
func TestEveryLog(t *testing.T) {
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		report := diagnose.Bytes(raw)
		for _, width := range []int{40, 61, 80, 100} {
			page := render.Markdown(report, render.Options{Layout: render.Layout{Width: width}})
			assertWhole(t, page)
			assertWidth(t, page, width)
		}
	}
}

// assertWidth lets pass what cannot be broken: code to be pasted, headings,
// long names.
func assertWidth(t *testing.T, page string, width int) {
	t.Helper()
	fenced := false
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		words := strings.Fields(strings.TrimPrefix(line, "- "))
		if fenced || strings.HasPrefix(line, "#") || len(words) < 4 {
			continue
		}
		assert.LessOrEqual(t, len([]rune(line)), width+20, "%q", line)
	}
}

// TestExplanations: every cause and fix has a page that begins with its title.
func TestExplanations(t *testing.T) {
	for _, r := range cause.All() {
		assert.Contains(t, render.Cause(r).Text(render.Layout{Width: 80}), r.Title)
	}
	for id, f := range fix.Fixes() {
		page := render.Fix(f, rules.Spellings(f)).Markdown(render.Layout{Width: 80})
		assert.True(t, strings.HasPrefix(page, "# "), id)
	}
}
