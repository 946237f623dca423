package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/rules/odds"
)

// made writes a set of labelled logs: training fails for its batch, loading for
// the model.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, log, cause, fix string) {
		label := fmt.Sprintf(`{"source": "https://example.org/%s/x/issues/1", "oom": true, "cause": %q, "accept_causes": ["unknown"], "fixes_good": [%q]}`, name, cause, fix)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".log"), []byte(log), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(label), 0o600))
	}
	const refused = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 MiB (GPU 0; 8.00 GiB total capacity; 7.20 GiB already allocated; 10.00 MiB free; 7.30 GiB reserved in total by PyTorch)\n"
	for i := range 12 {
		write(fmt.Sprintf("train%d", i), "  File \"train.py\", line 8, in train\n    loss.backward()\n"+fmt.Sprintf(refused, 20+i), "batch_too_large", "lower_batch_size")
		write(fmt.Sprintf("load%d", i), "  File \"run.py\", line 3, in load_model\n    model = model.to(\"cuda\")\n"+fmt.Sprintf(refused, 40+i), "model_too_large", "half_precision")
	}
	return dir
}

// TestSameTables: the same logs give the same tables, which rules/odds reads.
func TestSameTables(t *testing.T) {
	cases := made(t)
	var tables [2][2]string
	for i := range tables {
		out := t.TempDir()
		require.NoError(t, run([]string{"-cases", cases, "-out", out}))
		for j, name := range []string{"causes.tsv", "fixes.tsv"} {
			raw, err := os.ReadFile(filepath.Join(out, name))
			require.NoError(t, err)
			tables[i][j] = string(raw)
		}
	}
	assert.Equal(t, tables[0], tables[1])
	_, err := odds.ParseTable(tables[0][0])
	assert.NoError(t, err)
	_, err = odds.ParseRanking(tables[0][1])
	assert.NoError(t, err)
}

func TestUsage(t *testing.T) {
	assert.Error(t, run(nil))
	assert.Error(t, run([]string{"-cases", filepath.Join(t.TempDir(), "none"), "-out", t.TempDir()}))
}

// TestMinimum: the search finds the lowest point of a bowl.
func TestMinimum(t *testing.T) {
	w := minimum(2, func(w, slope []float64) float64 {
		slope[0], slope[1] = 2*(w[0]-3), 20*(w[1]+1)
		return (w[0]-3)*(w[0]-3) + 10*(w[1]+1)*(w[1]+1)
	})
	assert.InDelta(t, 3, w[0], 1e-3)
	assert.InDelta(t, -1, w[1], 1e-3)
}
