package rules_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/oomdoc/oomdoc/diagnose"
)

// allLogs are the project's logs: those of the tests of readings, of cards, of
// programs and of the command.
func allLogs(t *testing.T) map[string]string {
	t.Helper()
	out := cardLogs(t)
	for _, pattern := range []string{"../testdata/logs/*/*.log", "../testdata/script/*.txtar", "testdata/samples.txtar"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, path := range files {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			if filepath.Ext(path) == ".log" {
				out[path] = string(raw)
				continue
			}
			for _, f := range txtar.Parse(raw).Files {
				out[path+": "+f.Name] = string(f.Data)
			}
		}
	}
	return out
}

// TestNothingDropped: the last look finds nothing to drop in any answer to a log
// of the project.
func TestNothingDropped(t *testing.T) {
	incidents := 0
	for name, log := range allLogs(t) {
		for _, in := range diagnose.Bytes([]byte(log)).Incidents {
			incidents++
			for _, d := range in.Dropped {
				t.Errorf("%s, line %d: %s: %s", name, in.Line, d.Rule, d.Text)
			}
		}
	}
	assert.Greater(t, incidents, 1500)
}
