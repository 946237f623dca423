package diagnose_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestOwnSourceRaisesNoAlarm: the project's own code and pages quote every
// message there is, and none of them failed.
func TestOwnSourceRaisesNoAlarm(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".tsv":
		default:
			return nil
		}
		files++
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, in := range diagnose.Bytes(raw).Incidents {
			assert.Fail(t, "a file of the project raises an alarm", "%s:%d: %s", path, in.Line, in.Message)
		}
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, files, 100)
}
