package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var detachAccumulated = Fix{
	ID:       "detach_accumulated",
	Title:    "Keep numbers, not graphs",
	Tradeoff: "None.",
	Cost:     0.05,
	Check:    "`torch.cuda.memory_allocated()` after each step stays level.",
	Next:     "`torch.inference_mode()` around everything that needs no gradients.",
	Told:     "Keep plain numbers of earlier steps, not tensors with their graphs.",
	Why:      whyDetach,
}

// whyDetach says what shows that something is kept.
func whyDetach(c *ledger.Case) string {
	if s := c.Signal("many_steps"); s != nil && cause.ClimbingHost(c) && c.Signal("climbing") == nil {
		return fmt.Sprintf("Steps like this one had fitted before (line %d), and the refused piece is only %s: something of every step is kept.", s.Line, units.Amount(ledger.Requested(c)))
	}
	return ""
}
