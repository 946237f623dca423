package clues

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// spilled: allocated more than the card has means that Windows already moved
// memory into RAM.
func spilled(c *ledger.Case) bool {
	f := c.F()
	return ledger.Allocator(c) && f.Total != nil && f.Allocated != nil && f.Allocated.Bytes > f.Total.Bytes
}

var spilledOver = cause.First(
	cause.If(when.All(spilled, (*ledger.Case).Training), cause.Weak, "The driver already spilled into system memory, and that filled up too."),
	cause.If(spilled, cause.Likely, "{allocated} is allocated on a GPU of {total}: the driver already spilled into system memory, and that filled up too."),
)

// weightsFillCard: this process fills the card, and the weights are the
// likelier reason.
var weightsFillCard = cause.Figures{"alone": alone}.First(
	cause.If(when.Root(fact.NVMLAssert), cause.Weak, "The model may be too large for this slice of a GPU."),
	cause.If(when.All(noFigures, when.In("load")), cause.Good, "It failed while the model was being loaded."),
	cause.If(when.Any(when.Not(fullCard), Unaccounted, fractionSet, when.All(neverFits, when.Not(when.In("load")))), cause.None, ""),
	cause.If(when.In("load"), cause.Strong, "It failed while the model was being loaded: the weights do not fit."),
	cause.If((*ledger.Case).Training, cause.Hint, mostly+"."),
	cause.If(ledger.Crowded, cause.Hint, "A smaller model might fit into what other programs leave free."),
	cause.If(when.All(when.Root(fact.TorchAsync), Figureless), cause.Weak, "The model may be too large for this GPU; the message does not say how much was in use."),
	// The limit tells the size of the Mac (1.7 x what Metal recommends); 9.07 GB
	// is an 8 GB Mac.
	cause.If(when.All(onMPS, smallMac), cause.Good, "{limit} is the limit of a Mac with 8 GB or less: most models do not fit beside macOS."),
	cause.If(onMPS, cause.Weak, "The model may be most of what this program holds."),
	cause.If(ledger.CutShort, cause.Weak, mostly+"; the message is cut off before it says."),
	cause.If(when.All(WhileLoading, when.In("unknown"), func(c *ledger.Case) bool { return len(c.Stack) == 1 }), cause.Good, "{alone} Hardly any of it is unused, as is typical while weights are loaded."),
	cause.If(WhileLoading, cause.Fair, "{alone} Hardly any of it is unused, as is typical while weights are loaded."),
	cause.If(when.Any(smallOrFull, largePiece), cause.Fair, "{alone}"),
	cause.If(nil, cause.Weak, "{alone}"),
)

const mostly = "The weights may be most of what this program holds"

func alone(c *ledger.Case) string {
	switch {
	case !ledger.FillsCard(c):
		return mostly + "."
	case !ledger.FillsAlone(c):
		return fmt.Sprintf("This program holds %s of %s; the weights may be most of that.", c.Mine, c.Ceiling())
	}
	return fmt.Sprintf("This program alone fills the GPU (%s of %s).", c.Mine, c.Ceiling())
}

func smallMac(c *ledger.Case) bool {
	limit := c.F().Limit
	return limit != nil && limit.Bytes < 10*units.GiB
}

// WhileLoading: nothing is cached, and a piece of the size of a weight was
// asked for.
func WhileLoading(c *ledger.Case) bool {
	r := c.F().Requested
	return c.Slack.Has() && c.Slack.Bytes < 64*units.MiB && r != nil && r.Bytes < units.GiB && c.Signal("layer") == nil && !(ledger.Before2020(c) && r.Bytes > 256*units.MiB)
}

// smallOrFull: a card that most models are too large for, or that this program
// fills to the brim.
func smallOrFull(c *ledger.Case) bool {
	f := c.F()
	return !c.Slack.Has() && f.Free == nil && f.Total != nil && !Figureless(c) && (f.Total.Bytes <= 12*units.GiB || c.Mine.Bytes*20 > f.Total.Bytes*19)
}

// largePiece: more than a GiB, and not a tenth of the card.
func largePiece(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.Total != nil && f.Requested.Bytes > units.GiB && f.Requested.Bytes*10 < f.Total.Bytes
}

// activationsFillCard: this process fills the card, and what failed is work,
// not weights.
var activationsFillCard = cause.Figures{"why": whyWork}.First(
	cause.If(fullHandle, cause.Fair, "Usually this means a full GPU, and usually the work of one step filled it."),
	cause.If(when.Root(fact.BitsAndBytes), cause.Hint, "The work of one step may fill the GPU."),
	cause.If(when.All(noFigures, (*ledger.Case).Training), cause.Good, inTraining),
	cause.If(noFigures, cause.Weak, "Often the work of one step fills the GPU."),
	cause.If(when.Any(when.Not(fullCard), Unaccounted, when.In("load"), ledger.AbsurdSize), cause.None, ""),
	cause.If(neverFits, cause.Hint, "A smaller step may ask for less at once."),
	cause.If(fractionSet, cause.Hint, "The limit is reached by this program's own work."),
	cause.If(ledger.Crowded, cause.Hint, "A smaller step might fit into what other programs leave free."),
	cause.If(cutOff, cause.Weak, "The message is cut off: the batch or the input length may have filled the GPU."),
	cause.If((*ledger.Case).Training, cause.Good, "{why} "+inTraining),
	cause.If(ledger.Overfull, cause.Weak, "{why}"),
	cause.If(func(c *ledger.Case) bool { return ledger.Requested(c) > 6*units.GiB/5 }, cause.Fair, "{why} A single request of {requested} is typical of a step's work, not of a weight."),
	cause.If(nil, cause.Fair, "{why}"),
)

const inTraining = "It failed in a training step, where every sample's intermediate values are kept."

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
		return "This program fills the GPU by itself."
	}
	return "One step needed more memory than was left."
}

// Unaccounted: the message does not say what is free, and what this program
// holds leaves most of the card: who has the rest is not known (the old
// messages of Intel's extension).
func Unaccounted(c *ledger.Case) bool {
	f := c.F()
	return ledger.Allocator(c) && f.Free == nil && f.Limit == nil && f.Total != nil && f.Requested != nil && c.Mine.Has() && (c.Mine.Bytes+f.Requested.Bytes)*10 < f.Total.Bytes*7
}

// Figureless: the message says neither how much was wanted nor how much was
// held; the size of the card may come from another line.
func Figureless(c *ledger.Case) bool {
	f := c.F()
	return f.Requested == nil && f.Allocated == nil && f.Free == nil && f.Limit == nil
}
