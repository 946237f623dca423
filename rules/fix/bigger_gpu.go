package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var biggerGpu = Fix{
	ID:       "bigger_gpu",
	Title:    "Use a card with more memory",
	Tradeoff: "Money.",
	Cost:     dear,
	Check:    checkLoaded,
	Next:     "If it fails there as well, the cause is not the size of the card: look for a growing context, batch or leak.",
	Needs:    Needs{size: true},
	Steps:    stepsBiggerGPU,
}

func stepsBiggerGPU(c *ledger.Case) []step.Step {
	f := c.F()
	if f.Requested != nil && f.Total != nil && ledger.OnCard(c) {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Take a card with clearly more than %s: the next sizes are 12, 16, 24, 32, 48 and 80 GB.", f.Total)}}
	}
	return []step.Step{{Kind: "text", Text: "Take the next size of card: 12, 16, 24, 32, 48 or 80 GB; rent one for an hour first."}}
}
