package cause

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var budgetMisconfigured = Rule{
	ID:       BudgetMisconfigured,
	Title:    "A memory limit of the program is set wrong",
	Headline: budgetHeadline,
	Settles:  "Compare the limit that the message names with the card's total and with what is free in `nvidia-smi`. If the card has room beyond the limit, the limit is the cause.",
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: Cures, If: func(c *ledger.Case) bool { return !ledger.OnCard(c) || c.Backend == "metal" || c.Backend == "mps" }},
		{Fix: "lower_batch_size", Fit: LastResort},
	},
}

// budgetHeadline says which limit, and in which direction, where it is known.
func budgetHeadline(c *ledger.Case) string {
	f := c.F()
	switch {
	case c.Root(fact.VLLMFreeTooLow):
		return "vLLM is told to take more of the card than is free"
	case ledger.ShareTooSmall(c):
		return "vLLM's share of the card leaves too little for its cache"
	case c.Root(fact.MPSAlloc):
		return "The limit that PyTorch keeps on a Mac was reached"
	case c.Root(fact.TorchAlloc) && f.Limit != nil && f.Total != nil && f.Limit.Bytes < f.Total.Bytes:
		return "PyTorch may use only a part of this card"
	}
	return ""
}
