package rules_test

import (
	"embed"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

//go:embed testdata/told/*.txtar
var toldFiles embed.FS

// TestKitTold: what the page says, and what it must not say, where the same
// message has several meanings. A file holds logs ("NAME") with what their pages
// must tell ("NAME tells") and must not ("NAME never"), a part of a sentence a
// line.
func TestKitTold(t *testing.T) {
	files, err := fs.Glob(toldFiles, "testdata/told/*.txtar")
	require.NoError(t, err)
	for _, path := range files {
		raw, err := toldFiles.ReadFile(path)
		require.NoError(t, err)
		parts := map[string]string{}
		for _, f := range txtar.Parse(raw).Files {
			parts[f.Name] = string(f.Data)
		}
		for name, log := range parts {
			tells, never := parts[name+" tells"], parts[name+" never"]
			if strings.HasSuffix(name, " tells") || strings.HasSuffix(name, " never") {
				continue
			}
			t.Run(name, func(t *testing.T) {
				require.NotEmpty(t, tells+never, "nothing is asked of it")
				report := diagnose.Bytes([]byte(log))
				for _, in := range report.Incidents {
					assertApart(t, in.Fixes[:min(len(in.Fixes), 3)])
				}
				page := strings.Join(strings.Fields(render.Markdown(report, render.Options{})), " ")
				for _, s := range lines(tells) {
					assert.Contains(t, page, s)
				}
				for _, s := range lines(never) {
					assert.NotContains(t, page, s)
				}
			})
		}
	}
}

// assertApart: no two of the fixes on a page are the same act.
func assertApart(t *testing.T, fixes []diagnose.Fix) {
	t.Helper()
	titles, frees := map[string]bool{}, 0
	for _, f := range fixes {
		assert.False(t, titles[f.Title], "twice: %s", f.Title)
		titles[f.Title] = true
		if f.ID == "kill_stale_process" || f.ID == "close_other_apps" {
			frees++
		}
	}
	assert.Less(t, frees, 2, "what holds the card is looked for twice")
}

func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
