package diagnose_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// FuzzRead feeds anything to the whole: no panic, and a report that keeps its
// promises.
func FuzzRead(f *testing.F) {
	paths, _ := filepath.Glob("../testdata/logs/*/*.log")
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("CUDA out of memory. Tried to allocate 1e400 GiB (GPU 99999999999; -1.00 GiB total capacity; 17179869184.00 GiB free)"))
	f.Add([]byte("\xff\xfeC\x00U\x00D\x00A\x00 \x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := diagnose.Bytes(raw)
		assert.Equal(t, len(r.Incidents) > 0, r.OOM)
		assert.EqualValues(t, len(raw), r.Input.Bytes)
		for _, in := range r.Incidents {
			checkIncident(t, r, in)
		}
		first, err := json.Marshal(r)
		require.NoError(t, err)
		var back diagnose.Report
		require.NoError(t, json.Unmarshal(first, &back))
		second, err := json.Marshal(back)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(first, second), "a report read back is another one")
	})
}

func checkIncident(t *testing.T, r *diagnose.Report, in diagnose.Incident) {
	t.Helper()
	sum := 0.0
	for _, c := range in.Causes {
		sum += c.Confidence
		assert.NotEmpty(t, c.Why, c.ID)
	}
	assert.NotEmpty(t, in.Causes)
	assert.LessOrEqual(t, sum, 1.05)
	assert.LessOrEqual(t, in.Line, r.Input.Lines)
	for i, fix := range in.Fixes {
		assert.Equal(t, i+1, fix.Rank)
		assert.NotEmpty(t, fix.Steps, fix.ID)
	}
	in.Figures.Sizes(func(key string, s *diagnose.Size) {
		assert.Less(t, s.Bytes, int64(1)<<62, key) // a number that was no size is kept as printed; sums stay in range
		assert.NotEmpty(t, s.Text, key)
	})
}

// TestConcurrentReads: one library, many readers.
func TestConcurrentReads(t *testing.T) {
	raw, err := os.ReadFile("../testdata/logs/pytorch/traceback-3k.log")
	require.NoError(t, err)
	want := diagnose.Bytes(raw)
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() { assert.Equal(t, want, diagnose.Bytes(raw)) })
	}
	group.Wait()
}
