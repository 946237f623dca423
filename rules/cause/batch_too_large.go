package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var batchTooLarge = Rule{
	ID:      BatchTooLarge,
	Title:   "Too much is computed at once",
	Settles: "Run it once with batch size 1 and the smallest input. If that works, batch or input size is the cause.",
	Clues: []Clue{
		activationsFillCard, isExplained(BatchTooLarge, Likely),
	},
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: Cures},
		{Fix: "kill_stale_process", Fit: Helps, If: worthALook},
		{Fix: "select_gpu", Fit: MayHelp, If: blasHandle},
		{Fix: "kill_stale_process", Fit: MayHelp, If: blasHandle},
		{Fix: "inference_mode", Fit: MayHelp, If: func(c *ledger.Case) bool { return c.Signal("inferring") != nil && !c.Training() }},
		{Fix: "lower_resolution", Fit: MayHelp},
		{Fix: "gradient_checkpointing", Fit: LastResort, If: func(c *ledger.Case) bool { return c.Training() || c.Phase == "unknown" }},
		{Fix: "mixed_precision", Fit: LastResort},
		{Fix: "lower_context", Fit: LastResort},
		{Fix: "use_smaller_model", Fit: LastResort, If: LastStraw},
	},
}

// activationsFillCard: this process fills the card, and what failed is work,
// not weights.
var activationsFillCard = Figures{"why": whyWork}.First(
	If(fullHandle, Fair, "Most often this means a full card, and most often the work of one step filled it."),
	If(when.Root(fact.BitsAndBytes), Hint, "The work of one step may fill the card."),
	If(when.All(noFigures, (*ledger.Case).Training), Good, inTraining),
	If(noFigures, Weak, "Often the work of one step fills the card."),
	If(when.Any(when.Not(fullCard), ledger.Unaccounted, when.In("load"), ledger.AbsurdSize), None, ""),
	If(neverFits, Hint, "A smaller step may ask for a smaller piece."),
	If(fractionSet, Hint, "The limit is reached by this program's own work."),
	If(ledger.Crowded, Hint, "A smaller step might fit into what the others leave."),
	If(cutOff, Weak, "The message is cut: the batch or the length of the input may be what filled the card."),
	If((*ledger.Case).Training, Good, "{why} "+inTraining),
	If(ledger.Overfull, Weak, "{why}"),
	If(func(c *ledger.Case) bool { return ledger.Requested(c) > 6*units.GiB/5 }, Fair, "{why} One request of {requested} is the size of a step's work, not of a weight."),
	If(nil, Fair, "{why}"),
)

const inTraining = "It failed in a training step, where every sample's intermediate values are kept."

// fullHandle: a library found no room for its handle, which as a rule is a full
// card.
func fullHandle(c *ledger.Case) bool {
	return c.Root(fact.CUDAHandle) && !c.Failure.Weak || c.Root(fact.NVMLAssert)
}

// cutOff: nothing says how full the card was.
func cutOff(c *ledger.Case) bool {
	f := c.F()
	return !c.Slack.Has() && f.Free == nil && f.Limit == nil
}

func whyWork(c *ledger.Case) string {
	f := c.F()
	if ledger.FillsCard(c) && !(f.Free != nil && f.Total != nil && f.Free.Bytes*10 > f.Total.Bytes) {
		switch {
		case !ledger.FillsAlone(c):
			return fmt.Sprintf("This program holds %s of %s.", c.Mine, c.Ceiling())
		case c.Limit.Has():
			return "This program fills what it may have by itself."
		}
		return "This program fills the card by itself."
	}
	return "One step of the work wanted more than was left."
}

// worthALook: an eighth of the card or more is neither free nor this program's,
// beyond what its own context takes.
func worthALook(c *ledger.Case) bool {
	outside := c.Others.Bytes - ledger.DriverContext
	return c.Others.Has() && c.Total.Has() && outside > units.GiB/2 && outside*8 > c.Total.Bytes
}

// blasHandle: cuBLAS found the card full when it started, convolutions or not.
func blasHandle(c *ledger.Case) bool { return c.Root(fact.CUDAHandle) && !c.Contains("convolution") }

// LastStraw: a small piece was refused and nothing says what was going on, so
// that weights explain it nearly as well as work.
func LastStraw(c *ledger.Case) bool {
	r := c.F().Requested
	return c.Phase == "unknown" && r != nil && r.Bytes <= 160*units.MiB
}
