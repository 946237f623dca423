package cause

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var budgetMisconfigured = Rule{
	ID:       BudgetMisconfigured,
	Title:    "A memory limit of the program is set wrong",
	Headline: budgetHeadline,
	Settles:  "Compare the limit in the message with the GPU's total and with what `nvidia-smi` shows as free. If the GPU has more memory free than the limit allows, the limit is the cause.",
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: Cures, If: func(c *ledger.Case) bool {
			return !ledger.OnCard(c) || c.Backend == "metal" || c.Backend == "mps" || c.Limit.Has() || c.Root(fact.TorchAlloc, fact.TorchAsync)
		}},
		{Fix: "lower_batch_size", Fit: LastResort},
	},
}

// budgetHeadline says which limit, and in which direction, where it is known.
func budgetHeadline(c *ledger.Case) string {
	f := c.F()
	switch {
	case c.Root(fact.VLLMFreeTooLow):
		return "vLLM is set to use more GPU memory than is free"
	case ledger.ShareTooSmall(c):
		return "vLLM's memory limit leaves too little for its KV cache"
	case c.Root(fact.MPSAlloc):
		return "PyTorch's memory limit on a Mac was reached"
	case c.Root(fact.TorchAlloc) && f.Limit != nil && f.Total != nil && f.Limit.Bytes < f.Total.Bytes:
		return "PyTorch may use only a part of this GPU's memory"
	}
	return ""
}
