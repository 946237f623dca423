package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var raiseWatermark = Fix{
	ID:       "raise_watermark",
	Title:    "Raise the limit of PyTorch on a Mac (MPS watermark)",
	Tradeoff: "The Mac may swap heavily, freeze, or end programs.",
	Cost:     0.3,
	Check:    "The message no longer says `max allowed`; Activity Monitor's memory pressure stays green or yellow.",
	Next:     "Take it back, and make the work smaller: lower resolution, batch, or a smaller model.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.Environ(c, "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0")}
	},
	Useless: uselessWatermark,
}

// aLittle is a last piece so small that the limit alone may be in the way: the
// Mac swaps already, and some have run so.
const aLittle = 64 * units.MiB

// uselessWatermark: max allowed is 1.7 times recommendedMaxWorkingSetSize,
// which macOS sets to two thirds of the memory up to 32 GB and three quarters
// above: more than the memory itself.
func uselessWatermark(c *ledger.Case) string {
	limit, asked := c.F().Limit, c.F().Requested
	if !c.Root(fact.MPSAlloc) || limit == nil || asked != nil && asked.Bytes <= aLittle {
		return ""
	}
	for _, gb := range [...]int64{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192} {
		ram := gb * units.GiB
		recommended := ram * 3 / 4
		if gb <= 32 {
			recommended = ram * 2 / 3
		}
		if ledger.Near(limit.Bytes, recommended*17/10, units.GiB/20) {
			return fmt.Sprintf("The limit of %s already exceeds the %d GB that this Mac has: beyond it there is only swapping.", limit, gb)
		}
	}
	return ""
}
