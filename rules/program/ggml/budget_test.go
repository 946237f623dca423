package ggml

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/internal/made"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// budgets makes up devices on which something was refused.
func budgets(n int) []ggmlBudget {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]ggmlBudget, n)
	for i := range out {
		free := (4 + r.Int64N(76)) * units.GiB
		out[i] = ggmlBudget{
			Free: free, Weights: r.Int64N(free), KV: r.Int64N(free / 4), Refused: 1 + r.Int64N(2*free),
			Layers: 2 + r.Int64N(120), Context: 512 * (1 + r.Int64N(512)), Batch: 32 << r.Int64N(7),
		}
	}
	return out
}

// What is prescribed passes the arithmetic that refused the original; one step
// more fails it.
func TestPrescriptionsAreTight(t *testing.T) {
	found := map[string]int{}
	for _, b := range budgets(20000) {
		if n, need, ok := b.keep(); ok {
			found["keep"]++
			require.LessOrEqual(t, need, b.Free, "%+v keep %d", b, n)
			require.Greater(t, need+b.perLayer(), b.Free, "%+v keep %d and one more", b, n)
		}
		for _, cache := range []bool{true, false} {
			if n, need, ok := b.drop(cache); ok {
				found["drop"]++
				require.LessOrEqual(t, need, b.Free, "%+v drop %d", b, n)
				each := (b.Free - b.room() + b.Refused - need) / n
				require.Greater(t, need+each, b.Free, "%+v drop one less than %d", b, n)
			}
		}
		if n, need, ok := b.contextThatFits(); ok {
			found["context"]++
			require.LessOrEqual(t, need, b.room(), "%+v context %d", b, n)
			require.Greater(t, ledger.Proportion(b.Refused, n+256, b.Context), b.room(), "%+v context %d + 256", b, n)
		}
		if n, need, ok := b.batchThatFits(b.room()); ok {
			found["batch"]++
			require.LessOrEqual(t, need, b.room(), "%+v batch %d", b, n)
			if n*2 < b.Batch {
				require.Greater(t, ledger.Proportion(b.Refused, n*2, b.Batch), b.room(), "%+v batch %d", b, n*2)
			}
		}
	}
	for _, what := range []string{"keep", "drop", "context", "batch"} {
		assert.Greater(t, found[what], 500, what)
	}
}

// A 12 GB card, 32B at Q5_K_M: each of 65 layers takes 333.41 MiB, and
// (11784 - 500) / 333.41 is 33.8.
func TestKeepLayers(t *testing.T) {
	b := ggmlBudget{Free: 11784 * units.MiB, Refused: 22724082688, Layers: 65}
	n, need, ok := b.keep()
	require.True(t, ok)
	assert.EqualValues(t, 33, n)
	assert.InDelta(t, 11502, float64(need)/float64(units.MiB), 1)
}

// An 8B model at Q4_K_M on 11798 MiB: 16 GiB of cache for 131072 tokens, of
// which (11798 - 4403.49 - 300) / 16384 find room.
func TestContextThatFits(t *testing.T) {
	b := ggmlBudget{Free: 11798 * units.MiB, Weights: 4617396224, Refused: 16 * units.GiB, Context: 131072, Layers: 33}
	n, _, ok := b.contextThatFits()
	require.True(t, ok)
	assert.EqualValues(t, 56576, n)
}

func TestNothingIsPrescribedWithoutFigures(t *testing.T) {
	for _, b := range []ggmlBudget{{}, {Refused: units.GiB}, {Free: units.GiB}, {Free: 64 * units.GiB, Refused: units.GiB, Layers: 33, Context: 4096, Batch: 512}} {
		_, _, keep := b.keep()
		_, _, drop := b.drop(true)
		_, _, context := b.contextThatFits()
		_, _, batch := b.batchThatFits(b.room())
		assert.False(t, keep || drop || context || batch, "%+v", b)
	}
}

// Metal's limit is exceeded by what Metal itself printed, and the cache or some
// layers make up for it: just enough of them.
func TestUnderMetalLimit(t *testing.T) {
	found := map[string]int{}
	r := rand.New(rand.NewPCG(3, 4))
	for _, b := range budgets(20000) {
		over := 1 + r.Int64N(2*units.GiB)
		if n, freed, ok := b.contextUnder(over); ok {
			found["context"]++
			require.GreaterOrEqual(t, freed, over, "%+v context %d", b, n)
			require.Less(t, b.KV-ledger.Proportion(b.KV, n+256, b.Context), over+2, "%+v context %d and 256 more", b, n)
		}
		if n, freed, ok := b.dropUnder(over); ok {
			found["layers"]++
			require.GreaterOrEqual(t, freed, over, "%+v drop %d", b, n)
			require.Less(t, freed/n*(n-1), over, "%+v one less than %d", b, n)
		}
	}
	require.Greater(t, found["context"], 500)
	require.Greater(t, found["layers"], 500)
}

// A shorter context leaves the compute buffer its room, and 256 tokens more do
// not.
func TestContextBesideGraph(t *testing.T) {
	found := 0
	for _, b := range budgets(20000) {
		graph := b.Refused / 8
		n, need, ok := b.contextBeside(graph)
		if !ok {
			continue
		}
		found++
		require.LessOrEqual(t, need, b.Free, "%+v context %d", b, n)
		more := need - ledger.Proportion(b.KV, n, b.Context) + ledger.Proportion(b.KV, n+256, b.Context)
		require.Greater(t, more+1, b.Free, "%+v context %d and 256 more", b, n)
	}
	require.Greater(t, found, 500)
}

// Where weights were refused, the layers to keep leave room for what follows
// them: their part of the cache, the compute buffer and the output matrix.
func TestKeepCountsWhatFollows(t *testing.T) {
	number := func(name string, v float64) fact.Fact {
		return fact.Fact{Name: name, Count: &fact.Count{Value: v}, Line: 1}
	}
	x := fact.Failure{Kind: fact.GGMLAlloc, Stage: "weights", Memory: "CUDA0", Line: 9, Figures: fact.Figures{
		Requested: made.Size(20 * units.GiB), Context: made.Count(8192), GPULayers: made.Count(99), Device: made.Count(0),
	}}
	c := &ledger.Case{Failure: x, Chain: []fact.Failure{x}, Framework: "llama.cpp", Stack: []string{"llama.cpp"}, Backend: "cuda", Phase: "load", Facts: &fact.Facts{
		Devices: []fact.Device{{Index: 0, Free: made.Size(16 * units.GiB)}},
		Facts:   []fact.Fact{number("n_layer", 64), number("n_embd_k_gqa", 1024), number("n_embd_v_gqa", 1024), number("n_vocab", 152064), number("n_embd", 5120), number("n_ff", 27648), number("bits_per_weight", 5.5)},
	}}
	b := budget(c)
	assert.Equal(t, int64(64*8192*2048*2), b.KV)
	assert.Positive(t, b.Compute)
	assert.Equal(t, int64(152064*5120*210/256), b.Output)
	n, need, ok := b.keep()
	require.True(t, ok)
	assert.LessOrEqual(t, need, b.Free)
	assert.Greater(t, need+b.perLayer(), b.Free)
	each := 20*units.GiB/65 + 8192*2048*2
	assert.LessOrEqual(t, n*each+b.Compute+b.Output+loadReserve, b.Free)

	c.F().Requested = made.Size(1100 * units.GiB) // not one layer of that
	b = budget(c)
	_, none := b.noLayerFits("weights")
	assert.True(t, none)
	assert.Equal(t, int64(0), layersToKeep(c))
	e := llamaEffects["fewer_gpu_layers"](c)
	require.NotNil(t, e)
	assert.False(t, e.Fits)
}

// A file of the size that is said fits, with what follows it.
func TestFileThatFits(t *testing.T) {
	x := fact.Failure{Kind: fact.GGMLAlloc, Stage: "weights", Memory: "CUDA0", Line: 9, Figures: fact.Figures{
		Requested: made.Size(20 * units.GiB), GPULayers: made.Count(65), TotalLayers: made.Count(65), Device: made.Count(0),
	}}
	c := &ledger.Case{Failure: x, Chain: []fact.Failure{x}, Framework: "llama.cpp", Stack: []string{"llama.cpp"}, Backend: "cuda", Phase: "load", Facts: &fact.Facts{
		Devices: []fact.Device{{Index: 0, Free: made.Size(16 * units.GiB)}},
	}}
	file, now, ok := fileThatFits(c)
	require.True(t, ok)
	assert.Equal(t, int64(20*units.GiB), now)
	assert.Equal(t, int64(16*units.GiB-loadReserve), file)
	assert.Contains(t, llamaQuant(c)[0].Text, units.Format(file))
	assert.Contains(t, effectFileThatFits(c).Note, units.Format(file))
}
