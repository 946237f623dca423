package array

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// mostInBatch: no batch of a training with `fit` has so many rows as a rule.
const mostInBatch = 16384

// denseInTraining: a matrix was refused in a training whose rows are far more
// than a batch has, and no number that people choose for one. Layers behind
// Flatten have such weights, and the optimizer makes copies of them
// (keras/src/layers/core/dense.py). The message does not name the operation.
func denseInTraining(c *ledger.Case) bool {
	s := calls.Sides(c)
	if len(s) != 2 || s[0] < mostInBatch || s[1] < 16 || s[0] < 4*s[1] || s[0]&(s[0]-1) == 0 || s[0]%100 == 0 || calls.EveryPair(c) {
		return false
	}
	return c.Training() && offCPU(c) && !weightMade(c) && !weightGradient(c) && nodeName(c) == ""
}

// denseCards are about such a matrix.
var denseCards = []cause.Card{{
	ID: "tensorflow/dense-trained", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(denseInTraining, when.Not(poolInPieces)), Unsaid: tableWords, Figures: trainedFigures,
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "had no GPU memory in training for a matrix that looks like weights: {shape}",
	Means: "A batch hardly has {in} rows, so this is most likely a Dense layer with {in} inputs and {out} outputs, or an optimizer copy of it. So many inputs usually come from `Flatten` on large feature maps. In 32 bit one copy takes {copy}; Adam needs four (weights, gradient, two moments): {trained}.",
	Not:   "A much smaller batch: it does not change the weights.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Make what goes into that layer smaller", Told: "`model.summary()` shows it. Replace `Flatten` with `GlobalAveragePooling2D()` (one number per channel), or add `MaxPooling2D` or `strides=2` before it (a quarter of the inputs). Or use fewer units.", Cost: "Train again; often as accurate"},
		{Fix: "lower_resolution", Title: "Or use smaller inputs", Told: "Half the width and height of the images is a quarter of the inputs and weights.", Cost: "Detail"},
		runtimeFirst, endHolder,
		{Fix: "lower_batch_size", Title: "Then a smaller batch", Told: "It makes the activations of the layers before it smaller.", Cost: "Slower"},
	},
	Sources: []string{"keras/src/layers/core/dense.py", "keras/src/optimizers/adam.py", "keras/src/layers/pooling/global_average_pooling2d.py"},
}}

// trainedFigures are what the matrix takes, as numbers of 32 bit.
func trainedFigures(c *ledger.Case) map[string]string {
	out, s := madeFigures(c), calls.Sides(c)
	out["copy"] = ""
	if len(s) == 2 {
		out["copy"], out["trained"] = units.Amount(4*s[0]*s[1]), units.Amount(16*s[0]*s[1])
	}
	return out
}
