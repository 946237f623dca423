package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var batchTooLarge = Rule{
	ID:      BatchTooLarge,
	Title:   "Too much is computed at once",
	Settles: "Run it once with batch size 1 and the smallest input. If that works, batch or input size is the cause.",
	Clues: []Clue{
		activationsFillCard, isExplained(BatchTooLarge, 0.7),
	},
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: 1},
		{Fix: "lower_resolution", Fit: 0.6},
		{Fix: "gradient_checkpointing", Fit: 0.55},
		{Fix: "mixed_precision", Fit: 0.5},
		{Fix: "lower_context", Fit: 0.45},
	},
}

// activationsFillCard: this process fills the card, and what failed is work,
// not weights.
func activationsFillCard(c *ledger.Case) Finding {
	f := c.F()
	switch {
	case c.Root(fact.CUDAHandle) && !c.Failure.Weak, c.Root(fact.NVMLAssert):
		return Seen(0.45, "Most often this means a full card, and most often the work of one step filled it.", c.Failure.Line)
	case c.Root(fact.BitsAndBytes):
		return Seen(0.15, "The work of one step may fill the card.", c.Failure.Line)
	case c.Root(ledger.NoFigures...) && c.Training():
		return Seen(0.55, "It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case c.Root(ledger.NoFigures...):
		return Seen(0.3, "Often the work of one step fills the card.", c.Failure.Line)
	case !ledger.Allocator(c) || ledger.Roomy(c) || ledger.Unaccounted(c) || c.Phase == "load" || ledger.AbsurdSize(c):
		return Nothing()
	case ledger.NeverFits(c) != "":
		return Seen(0.15, "A smaller step may ask for a smaller piece.", c.Failure.Line)
	case f.Limit != nil && c.Root(fact.TorchAlloc):
		return Seen(0.25, "The limit is reached by this program's own work.", c.Failure.Line)
	}
	why := "One step of the work wanted more than was left."
	if ledger.FillsCard(c) && !(f.Free != nil && f.Total != nil && f.Free.Bytes*10 > f.Total.Bytes) {
		why = "This program fills the card by itself."
	}
	switch {
	case ledger.Crowded(c):
		return Seen(0.15, "A smaller step might fit into what the others leave.", c.Failure.Line)
	case !c.Slack.Has() && f.Free == nil && f.Limit == nil:
		return Seen(0.36, "The message is cut: the batch or the length of the input may be what filled the card.", c.Failure.Line)
	case c.Training():
		return Seen(0.6, why+" It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case ledger.Overfull(c):
		return Seen(0.42, why, c.Failure.Line)
	case f.Requested != nil && f.Requested.Bytes > 6*units.GiB/5:
		return Seen(0.5, why+fmt.Sprintf(" One request of %s is the size of a step's work, not of a weight.", f.Requested), c.Failure.Line)
	}
	return Seen(0.45, why, c.Failure.Line)
}
