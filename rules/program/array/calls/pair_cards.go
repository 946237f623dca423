package calls

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Both sides of a table of pairs are longer than a layer is wide, and in 32 bit
// it is larger than a card.
const (
	longSide = 16384
	noLayer  = 96 * units.GiB
)

// EveryPair: a matrix so large that it is no layer's weights and no batch, but a
// number for each pair of two long lists.
func EveryPair(c *ledger.Case) bool {
	s := Sides(c)
	return len(s) == 2 && min(s[0], s[1]) >= longSide && s[0] >= noLayer/4/s[1]
}

// everyPair is what TensorFlow says of such a matrix, on a card or in RAM.
var everyPair = cause.Card{
	ID: "tensorflow/every-pair", Kinds: []fact.Kind{fact.TFAlloc}, If: EveryPair, Figures: pairFigures,
	Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "tried to make a dense table of {rows} x {columns}: {table} in 32 bit",
	Means: "One side has {rows} entries, the other {columns}; the table has a number for each pair. That is usually every user with every item, every sample with every word, or every point with every other. No card or ordinary computer holds {table}, so the table must never exist as a whole.",
	Not:   "Freeing memory, memory growth, swap or a somewhat larger card: {table} is far beyond them.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Compute a slice of the rows at a time", Cost: "more steps", Ways: []cause.Way{
			{For: "A library you call", Text: "look for a batch size over the rows (users, samples) in `fit` and `predict`. If there is none, call them with some thousand rows at a time."},
			{For: "Your own code", Text: "take some thousand rows per step. {each} is one row against all columns."},
		}},
		{Fix: "fix_shape", Title: "Or compute only the pairs that you need", Told: "In training: the pairs in the data and some random others (a sampled loss). In prediction: keep the best few of each slice (`tf.math.top_k`).", Cost: "changes to the code"},
		{Fix: "stream_dataset", Title: "Keep sparse input sparse", Told: "One-hot rows and counts: `tf.SparseTensor` with `tf.sparse.sparse_dense_matmul`, or indices with an embedding, not `toarray()` or `tf.one_hot`.", Cost: "changes to the code"},
	},
	Sources: []string{"tensorflow/python/ops/sparse_ops.py", "tensorflow/python/ops/nn_ops.py"},
}

func pairFigures(c *ledger.Case) map[string]string {
	s := Sides(c)
	if len(s) != 2 {
		return nil
	}
	return map[string]string{"rows": Grouped(s[0]), "columns": Grouped(s[1]), "table": units.Amount(4 * s[0] * s[1]), "each": units.Amount(4 * s[1])}
}
