package diagnose_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoStrayStops: no sentence of a report became empty and left its full stop.
func TestNoStrayStops(t *testing.T) {
	t.Parallel()
	stray := regexp.MustCompile(`[.:;] [.;:](?:[ "]|\\n)|": "[.:;]"`)
	files, err := filepath.Glob("../testdata/logs/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		report, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Empty(t, stray.FindString(string(report)), name)
	}
}
