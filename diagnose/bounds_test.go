package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestCountsAll: a failure that is said more often than messages are read is
// counted all the same, in logs that are kept whole and in longer ones.
func TestCountsAll(t *testing.T) {
	const line = "RuntimeError: CUDA error: out of memory\n"
	for _, times := range []int{3, 1000, 1100, 5000, 6500, 20_000} {
		r := diagnose.Bytes([]byte(strings.Repeat(line, times)))
		require.Len(t, r.Incidents, 1, "%d times", times)
		assert.Equal(t, times, r.Incidents[0].Count, "%d times", times)
		assert.Empty(t, r.Notes, "%d times", times)
	}
}

// TestCountsOthers: of failures with other figures each time those that are not
// reported are counted.
func TestCountsOthers(t *testing.T) {
	var b strings.Builder
	const times = 2000
	for i := range times {
		fmt.Fprintf(&b, "RuntimeError: CUDA out of memory. Tried to allocate %d.00 MiB (GPU 0)\n", 100+i)
	}
	r := diagnose.Bytes([]byte(b.String()))
	counted := 0
	for _, in := range r.Incidents {
		counted += in.Count
	}
	require.Len(t, r.Notes, 1)
	var left int
	_, err := fmt.Sscanf(r.Notes[0], "%d more statements", &left)
	require.NoError(t, err)
	assert.Equal(t, times, counted+left)
}
