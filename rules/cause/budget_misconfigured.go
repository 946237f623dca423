package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var budgetMisconfigured = Rule{
	ID:       BudgetMisconfigured,
	Title:    "A memory limit of the program is set wrong",
	Headline: budgetHeadline,
	Settles:  "Compare the limit that the message names with the card's total and with what is free in `nvidia-smi`. If the card has room beyond the limit, the limit is the cause.",
	Clues: []Clue{
		{Look: HiddenFraction},
	},
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: Cures},
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

// HiddenFraction: PyTorch 2.1 does not print the fraction, but what is held is
// a round share of the card while much more than the request is free.
func HiddenFraction(c *ledger.Case) Finding {
	f := c.F()
	if era, ok := c.Fact("torch_since"); !ok || era.Text != "2.1" || !ledger.Roomy(c) || f.Total == nil || f.Allocated == nil || !c.Slack.Has() || f.Free.Bytes*5 < f.Total.Bytes {
		return Nothing()
	}
	held := f.Allocated.Bytes + c.Slack.Bytes
	for _, percent := range [...]int64{10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90} {
		limit := f.Total.Bytes / 100 * percent
		if held <= limit && limit-held < max(f.Requested.Bytes, units.GiB/4) {
			return Seen(Likely, fmt.Sprintf("%s is free and %s was refused, just as this process reached %d %% of the card: a memory fraction is set.", f.Free, f.Requested, percent), c.Failure.Line)
		}
	}
	return Nothing()
}
