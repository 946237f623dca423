package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var useSmallerModel = Fix{
	ID:       "use_smaller_model",
	Title:    "Use a smaller model",
	Tradeoff: "Quality, depending on the task; usually more speed.",
	Cost:     costly,
	Check:    checkLoaded,
	Next:     "A smaller quantisation of it, or a card with more memory.",
	Needs:    Needs{notFor: noNetwork},
	Told:     "Load a smaller model, or a smaller version of this one.",
	Steps:    stepsSmallerModel,
}

func stepsSmallerModel(c *ledger.Case) []step.Step {
	if t := c.F().Total; t != nil && ledger.OnCard(c) {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("For this card (%s): at most about %d billion parameters at 4 bit, or %d at 16 bit; what is left is for context and overhead.", t, billions(t.Bytes, 10), billions(t.Bytes, 34))}}
	}
	return []step.Step{{Kind: "text", Text: "Take the next smaller size of the family: count 0.6 GB for each billion parameters at 4 bit, 2 GB at 16 bit, and 1 to 2 GB for context and overhead."}}
}

// billions is how many billion parameters fit into three quarters of a card
// (the rest is context and overhead), at so many sixteenths of a byte each: 10
// for 4 bit with its tail, 34 for 16 bit.
func billions(total int64, sixteenths int64) int64 {
	return max(total*3/4*16/sixteenths/1e9, 1)
}
