package clues

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// FailingTensor is the tensor of the model that has the size of the failed
// allocation, where the phase allows it: weights while loading, logits and
// attention matrices later.
func FailingTensor(c *ledger.Case) (fit.Part, bool) {
	f := c.F()
	m := ledger.Named(c).Model
	if m == nil || f.Requested == nil || !c.Root(fact.TorchAlloc, fact.TorchAsync) {
		return fit.Part{}, false
	}
	var found []fit.Part
	for _, p := range m.Explain(f.Requested.Bytes, f.Requested.Within()) {
		if c.In("vllm", "sglang") && strings.Contains(p.What, "attention matrix") {
			continue // their attention never writes it
		}
		if isWeight(p) == (c.Phase == "load") && c.Phase != "unknown" && precise(c, p) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return fit.Part{}, false // several tensors have that size: none is proved
	}
	return found[0], true
}

// precise: weights of 8 bit exist only where the format is one of 8 bit.
func precise(c *ledger.Case, p fit.Part) bool {
	return !strings.HasSuffix(p.What, ", 8 bit") || strings.Contains(ledger.Quantised(c), "8") || ledger.SetQuantised(c, "load_in_8bit") != ""
}

func isWeight(p fit.Part) bool {
	return !slices.ContainsFunc([]string{"logits", "attention matrix", "MLP rows"}, func(activation string) bool { return strings.Contains(p.What, activation) })
}
