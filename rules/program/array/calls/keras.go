package calls

import (
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// KerasBatch halves the batch that the refused tensor shows.
func KerasBatch(c *ledger.Case) []step.Step {
	if c.Near("model.predict(", "in predict") {
		return []step.Step{{Kind: "python", Text: "y = np.concatenate([model.predict(part, batch_size=8) for part in np.array_split(x, 8)])   # predict in parts; x: a NumPy array"}}
	}
	size, now := "8", "32 by default"
	if s := Sides(c); c.Kind(fact.TFAlloc) && len(s) > 1 && s[0] > 1 && s[0] <= 4096 {
		size, now = strconv.FormatInt(s[0]/2, 10), "if it is "+strconv.FormatInt(s[0], 10)+" now"
	}
	return []step.Step{{Kind: "python", Text: "model.fit(x, y, batch_size=" + size + ")   # " + now + "; a Dataset or DataLoader sets its own; predict takes batch_size as well"}}
}

// Restoring: a checkpoint was being read, before any batch.
func Restoring(c *ledger.Case) bool { return c.Near("save/RestoreV2") }
