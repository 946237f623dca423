package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var modelTooLarge = Rule{
	ID:      ModelTooLarge,
	Title:   "The model is too big for this card",
	Settles: "Say where it died: while loading (then it is the weights) or while answering (then context or batch count too). The lines above the error, from the load on, tell.",
	Clues: []Clue{
		weightsFillCard, spilledOver, isExplained(ModelTooLarge, 0.7),
	},
	Remedies: []Remedy{
		{Fix: "use_lower_quant", Fit: 0.95},
		{Fix: "use_smaller_model", Fit: 0.9},
		{Fix: "cpu_offload", Fit: 0.85},
		{Fix: "load_in_4bit", Fit: 0.8},
		{Fix: "half_precision", Fit: 0.6},
		{Fix: "multi_gpu", Fit: 0.5},
		{Fix: "bigger_gpu", Fit: 0.45},
	},
}

// spilledOver: allocated more than the card has means that Windows already
// moved memory into RAM.
func spilledOver(c *ledger.Case) Finding {
	f := c.F()
	if !ledger.Allocator(c) || f.Total == nil || f.Allocated == nil || f.Allocated.Bytes <= f.Total.Bytes {
		return Nothing()
	}
	if c.Training() {
		return Seen(0.3, "The driver already spilled into system memory, and that filled up too.", c.Failure.Line)
	}
	return Seen(0.7, fmt.Sprintf("%s is allocated on a card of %s: the driver already spilled into system memory, and that filled up too.", f.Allocated, f.Total), c.Failure.Line)
}

// weightsFillCard: the same, where the weights are the likelier reason.
func weightsFillCard(c *ledger.Case) Finding {
	f := c.F()
	switch {
	case c.Root(fact.NVMLAssert):
		return Seen(0.3, "The model may be too large for this slice of a card.", c.Failure.Line)
	case c.Root(ledger.NoFigures...) && c.Phase == "load":
		return Seen(0.6, "It failed while the model was being loaded.", c.Failure.Line)
	case !ledger.Allocator(c) || ledger.Roomy(c) || ledger.Unaccounted(c) || f.Limit != nil && c.Root(fact.TorchAlloc) || ledger.NeverFits(c) != "" && c.Phase != "load":
		return Nothing()
	case c.Phase == "load":
		return Seen(0.8, "It failed while the model was being loaded: the weights do not fit.", c.Failure.Line)
	case c.Training():
		return Seen(0.2, "The weights may be most of what this program holds.", c.Failure.Line)
	}
	if ledger.Crowded(c) {
		return Seen(0.1, "A smaller model might fit into what the others leave.", c.Failure.Line)
	}
	if c.Root(fact.TorchAsync) && ledger.Figureless(c) {
		return Seen(0.3, "The model may be too large for this card: the message does not say what was held.", c.Failure.Line)
	}
	alone := "The weights may be most of what this program holds."
	if ledger.FillsCard(c) {
		alone = fmt.Sprintf("This program alone fills the card (%s of %s); no other is needed to explain it.", c.Mine, c.Ceiling())
	}
	switch {
	case c.Root(fact.MPSAlloc):
		return weightsOnMac(c)
	case ledger.CutShort(c):
		return Seen(0.3, "The weights may be most of what this program holds; the message is cut before it says.", c.Failure.Line)
	case c.Slack.Has() && c.Slack.Bytes < 64*units.MiB && f.Requested != nil && f.Requested.Bytes < units.GiB && c.Signal("layer") == nil && !(ledger.Before2020(c) && f.Requested.Bytes > 256*units.MiB):
		return Seen(0.5, alone+" Its pool has next to no slack, as while weights are loaded: nothing was freed yet.", c.Failure.Line)
	case !c.Slack.Has() && f.Free == nil && f.Total != nil && !ledger.Figureless(c) && (f.Total.Bytes <= 12*units.GiB || c.Mine.Bytes*20 > f.Total.Bytes*19):
		return Seen(0.52, alone, c.Failure.Line)
	case f.Requested != nil && f.Total != nil && f.Requested.Bytes > units.GiB && f.Requested.Bytes*10 < f.Total.Bytes:
		return Seen(0.52, alone, c.Failure.Line)
	}
	return Seen(0.38, alone, c.Failure.Line)
}

// weightsOnMac: the limit tells the size of the Mac (1.7 x what Metal
// recommends); 9.07 GB is an 8 GB Mac.
func weightsOnMac(c *ledger.Case) Finding {
	limit := c.F().Limit
	if limit != nil && limit.Bytes < 10*units.GiB {
		return Seen(0.55, fmt.Sprintf("%s is the limit of a Mac with 8 GB or less: most models do not fit beside macOS.", limit), c.Failure.Line)
	}
	return Seen(0.35, "The model may be most of what this program holds.", c.Failure.Line)
}
