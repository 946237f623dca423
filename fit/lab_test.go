package fit

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// labRow is a run of llama.cpp, see docs/lab.md. Sizes are MiB as printed.
type labRow struct {
	context, layers                                    int
	flash                                              bool
	weights, kv, kvCPU, computeOnDevice, computeOnHost float64
}

func labRows(t *testing.T) []labRow {
	b, err := os.ReadFile("testdata/lab.tsv")
	require.NoError(t, err)
	var rows []labRow
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if line[0] == '#' {
			continue
		}
		require.Len(t, f, 8)
		rows = append(rows, labRow{
			context: int(number(t, f[0])), flash: f[1] == "on", layers: int(number(t, f[2])),
			weights: number(t, f[3]), kv: number(t, f[4]), kvCPU: number(t, f[5]), computeOnDevice: number(t, f[6]), computeOnHost: number(t, f[7]),
		})
	}
	require.Len(t, rows, 18)
	return rows
}

// Weights and caches are those that the program prints, on the device and in
// RAM; compute buffers come within 6 %.
func TestLab(t *testing.T) {
	m := mustModel(t, "tinyllama-1.1b")
	for _, r := range labRows(t) {
		// The library by itself reserves logits for a whole batch, as llama-server
		// did until b9395.
		s := Setting{Context: r.context, NoFlashAttention: !r.flash, UBatch: 512, Version: "b9360"}
		n, err := m.Need("F16", s, r.layers)
		require.NoError(t, err)
		assert.InDelta(t, r.weights, float64(n.Weights)/MiB, 0.01, "%+v", r)
		assert.InDelta(t, r.kv, float64(n.KV)/MiB, 0.01, "%+v", r)
		all, err := m.Need("F16", s, -1)
		require.NoError(t, err)
		assert.InDelta(t, r.kvCPU, float64(all.KV-n.KV)/MiB, 0.01, "%+v", r)
		if r.layers == 0 {
			continue // what the device computes for layers in RAM is not estimated
		}
		printed := r.computeOnDevice
		if !r.flash && r.context > 2048 {
			// This device takes no tensor over 128 MiB, so the scores are
			// computed on the host: once for all layers, or twice.
			printed = r.computeOnHost
			if r.layers == 11 && r.context == 16384 {
				printed /= 2
			}
		}
		assert.InEpsilon(t, printed, float64(n.Compute)/MiB, 0.06, "%+v", r)
	}
}
