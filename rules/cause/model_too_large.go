package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var modelTooLarge = Rule{
	ID:      ModelTooLarge,
	Title:   "The model is too big for this card",
	Settles: "Say where it died: while loading (then it is the weights) or while answering (then context or batch count too). The lines above the error, from the load on, tell.",
	Clues: []Clue{
		weightsFillCard, spilledOver, isExplained(ModelTooLarge, Likely),
	},
	Remedies: []Remedy{
		{Fix: "use_lower_quant", Fit: Cures, If: when.Not(when.Any(ledger.TinyCard, onMac, ledger.Before2020))},
		{Fix: "use_smaller_model", Fit: Helps},
		{Fix: "half_precision", Fit: Helps, If: onMac},
		{Fix: "cpu_offload", Fit: Helps, If: when.Not(onMac)},
		{Fix: "bigger_gpu", Fit: Helps, If: ledger.TinyCard},
		{Fix: "kill_stale_process", Fit: Helps, If: worthALook},
		{Fix: "load_in_4bit", Fit: Helps, If: when.Not(onMac)},
		{Fix: "close_other_apps", Fit: MayHelp, If: when.Any(onMac, othersCouldYield)},
		{Fix: "half_precision", Fit: MayHelp, If: when.Not(onMac)},
		{Fix: "lower_batch_size", Fit: MayHelp, If: func(c *ledger.Case) bool { return ledger.TinyCard(c) && !reader.LooksLikeWindows(c) }},
		{Fix: "multi_gpu", Fit: LastResort, If: when.Not(onMac)},
	},
}

// spilled: allocated more than the card has means that Windows already moved
// memory into RAM.
func spilled(c *ledger.Case) bool {
	f := c.F()
	return ledger.Allocator(c) && f.Total != nil && f.Allocated != nil && f.Allocated.Bytes > f.Total.Bytes
}

var spilledOver = First(
	If(when.All(spilled, (*ledger.Case).Training), Weak, "The driver already spilled into system memory, and that filled up too."),
	If(spilled, Likely, "{allocated} is allocated on a card of {total}: the driver already spilled into system memory, and that filled up too."),
)

// weightsFillCard: this process fills the card, and the weights are the
// likelier reason.
var weightsFillCard = Figures{"alone": alone}.First(
	If(when.Root(fact.NVMLAssert), Weak, "The model may be too large for this slice of a card."),
	If(when.All(noFigures, when.In("load")), Good, "It failed while the model was being loaded."),
	If(when.Any(when.Not(fullCard), ledger.Unaccounted, fractionSet, when.All(neverFits, when.Not(when.In("load")))), None, ""),
	If(when.In("load"), Strong, "It failed while the model was being loaded: the weights do not fit."),
	If((*ledger.Case).Training, Hint, mostly+"."),
	If(ledger.Crowded, Hint, "A smaller model might fit into what the others leave."),
	If(when.All(when.Root(fact.TorchAsync), ledger.Figureless), Weak, "The model may be too large for this card: the message does not say what was held."),
	// The limit tells the size of the Mac (1.7 x what Metal recommends); 9.07 GB
	// is an 8 GB Mac.
	If(when.All(onMPS, smallMac), Good, "{limit} is the limit of a Mac with 8 GB or less: most models do not fit beside macOS."),
	If(onMPS, Weak, "The model may be most of what this program holds."),
	If(ledger.CutShort, Weak, mostly+"; the message is cut before it says."),
	If(whileLoading, Fair, "{alone} Its pool has next to no slack, as while weights are loaded: nothing was freed yet."),
	If(when.Any(smallOrFull, largePiece), Fair, "{alone}"),
	If(nil, Weak, "{alone}"),
)

const mostly = "The weights may be most of what this program holds"

func alone(c *ledger.Case) string {
	switch {
	case !ledger.FillsCard(c):
		return mostly + "."
	case !ledger.FillsAlone(c):
		return fmt.Sprintf("This program holds %s of %s; the weights may be most of that.", c.Mine, c.Ceiling())
	}
	return fmt.Sprintf("This program alone fills the card (%s of %s); no other is needed to explain it.", c.Mine, c.Ceiling())
}

// What clues of PyTorch's allocators and of other CUDA messages ask for.
var (
	noFigures = when.Root(ledger.NoFigures...)
	onMPS     = when.Root(fact.MPSAlloc)
	fullCard  = when.All(ledger.Allocator, when.Not(ledger.Roomy))
)

func neverFits(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }

func fractionSet(c *ledger.Case) bool { return c.F().Limit != nil && c.Root(fact.TorchAlloc) }

func smallMac(c *ledger.Case) bool {
	limit := c.F().Limit
	return limit != nil && limit.Bytes < 10*units.GiB
}

// whileLoading: nothing is cached, and a piece of the size of a weight was
// asked for.
func whileLoading(c *ledger.Case) bool {
	r := c.F().Requested
	return c.Slack.Has() && c.Slack.Bytes < 64*units.MiB && r != nil && r.Bytes < units.GiB && c.Signal("layer") == nil && !(ledger.Before2020(c) && r.Bytes > 256*units.MiB)
}

// smallOrFull: a card that most models are too large for, or that this program
// fills to the brim.
func smallOrFull(c *ledger.Case) bool {
	f := c.F()
	return !c.Slack.Has() && f.Free == nil && f.Total != nil && !ledger.Figureless(c) && (f.Total.Bytes <= 12*units.GiB || c.Mine.Bytes*20 > f.Total.Bytes*19)
}

// largePiece: more than a GiB, and not a tenth of the card.
func largePiece(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.Total != nil && f.Requested.Bytes > units.GiB && f.Requested.Bytes*10 < f.Total.Bytes
}

// othersCouldYield: what others hold beside this program, less the context of
// this very process, is several times what was lacking.
func othersCouldYield(c *ledger.Case) bool {
	return c.Others.Has() && c.Shortfall.Has() && c.Shortfall.Bytes > 0 &&
		c.Others.Bytes-ledger.DriverContext > max(units.GiB, 4*c.Shortfall.Bytes)
}

func onMac(c *ledger.Case) bool { return c.Backend == "mps" || c.Backend == "metal" }
