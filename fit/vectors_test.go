package fit

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// table reads testdata/NAME.tsv without its header.
func table(t *testing.T, name string) [][]string {
	b, err := os.ReadFile("testdata/" + name + ".tsv")
	require.NoError(t, err)
	var rows [][]string
	for _, l := range strings.Split(strings.TrimRight(string(b), "\n"), "\n")[1:] {
		if !strings.HasPrefix(l, "#") {
			rows = append(rows, strings.Split(l, "\t"))
		}
	}
	return rows
}

func number(t *testing.T, s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return f
}

func mustModel(t *testing.T, id string) *Model {
	m, ok := ModelByID(id)
	require.True(t, ok, id)
	return m
}

// shownWrong: rows of the vectors that disagree with llama-quant.cpp, which
// sets n_ffn_down to the number of layers; the rows took the number of
// ffn_down tensors, with the shared experts' apart, and so raise the first
// eighth of twice as many.
var shownWrong = map[string]int64{
	"deepseek-v2-lite IQ2_XS": 225280,
	"deepseek-v3-671b IQ2_XS": 588922880,
}

func TestGGUFVectors(t *testing.T) {
	rows := table(t, "gguf_vectors")
	require.Len(t, rows, 602)
	for _, r := range rows {
		w, err := mustModel(t, r[0]).Weights(r[1])
		require.NoError(t, err)
		wrong := shownWrong[r[0]+" "+r[1]]
		if wrong != 0 {
			t.Logf("shown wrong: %v", r)
		}
		assert.Equal(t, int64(number(t, r[2]))-wrong, w.Total, "%v", r)
		assert.Equal(t, int64(number(t, r[3]))-wrong, w.GPU, "%v", r)
		assert.Equal(t, int64(number(t, r[4])), w.CPU, "%v", r)
	}
}

func TestKVVectors(t *testing.T) {
	for _, r := range table(t, "kv_vectors") {
		kv, err := mustModel(t, r[0]).KV(KVOptions{Context: int(number(t, r[1])), TypeK: r[2], TypeV: r[2]})
		require.NoError(t, err)
		want := KV{Full: int64(number(t, r[3])), Window: int64(number(t, r[4])), Recurrent: int64(number(t, r[5]))}
		assert.Equal(t, want, kv, "%v", r)
	}
}
