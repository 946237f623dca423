package cause

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var oversizedAllocation = Rule{
	ID:    OversizedAllocation,
	Title: "A single request is larger than the GPU can give",
	Headline: func(c *ledger.Case) string {
		if c.Backend == "cpu" {
			return "A single request is larger than the computer can give"
		}
		return ""
	},
	Settles: "Run it once with half the input. If the request shrinks to a quarter, it grows with the square of the input.",
	Clues: []Clue{
		isExplained(OversizedAllocation, Good),
	},
	Remedies: []Remedy{
		{Fix: "efficient_attention", Fit: Foremost, If: ledger.WritesScores},
		{Fix: "lower_batch_size", Fit: Foremost, If: when.Root(fact.CPUAlloc)},
		{Fix: "lower_resolution", Fit: Cures, If: when.All(when.Not(ledger.AbsurdSize), when.Not(when.All(when.Root(fact.CPUAlloc), ledger.WritesScores)))},
		{Fix: "enable_flash_attention", Fit: Cures, If: when.All(neverFits, when.Not(ledger.AbsurdSize))},
		{Fix: "stream_dataset", Fit: Helps, If: when.All(when.Root(fact.CPUAlloc), when.Not(ledger.WritesScores))},
		{Fix: "lower_context", Fit: Helps, If: ledger.WritesScores},
		{Fix: "efficient_attention", Fit: Helps, If: func(c *ledger.Case) bool { return !ledger.AbsurdSize(c) && c.Operation != "distances" }},
		{Fix: "lower_batch_size", Fit: Helps, If: when.All(when.Not(when.Root(fact.CPUAlloc)), when.Not(ledger.AbsurdSize))},
		{Fix: "fix_shape", Fit: MayHelp, If: neverFits},
		{Fix: "lower_context", Fit: MayHelp, If: when.Not(ledger.AbsurdSize)},
	},
}

func neverFits(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }
