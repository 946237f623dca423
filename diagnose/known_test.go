package diagnose_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestKnownBesidePyTorch: no failure of anything but PyTorch is left to general
// knowledge: a card speaks for each, and says what to do.
func TestKnownBesidePyTorch(t *testing.T) {
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for i, in := range diagnose.Bytes(raw).Incidents {
			if slices.Contains(in.Stack, "pytorch") || slices.Contains([]string{"pytorch", "transformers", "deepspeed"}, in.Framework) {
				continue
			}
			if assert.NotNil(t, in.Knowledge, "%s, failure %d: no card holds", path, i+1) {
				assert.NotEmpty(t, in.Fixes, path)
			}
		}
	}
}
