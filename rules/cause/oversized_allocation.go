package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var oversizedAllocation = Rule{
	ID:    OversizedAllocation,
	Title: "One single piece is asked for that is larger than the card can give",
	Headline: func(c *ledger.Case) string {
		if c.Backend == "cpu" {
			return "One single piece is asked for that is larger than the computer can give"
		}
		return ""
	},
	Settles: "Print the shapes just before the failing line, and run once with a much smaller input: if the request shrinks faster than the input, it is a square.",
	Clues: []Clue{
		largerThanCard, metalBufferTooLarge, hugeHostTensor, isExplained(OversizedAllocation, 0.6),
	},
	Remedies: []Remedy{
		{Fix: "lower_resolution", Fit: 0.9},
		{Fix: "lower_batch_size", Fit: 0.85},
		{Fix: "efficient_attention", Fit: 0.8},
		{Fix: "enable_flash_attention", Fit: 0.7},
		{Fix: "lower_context", Fit: 0.6},
	},
}

// largerThanCard: one tensor as large as the card itself.
func largerThanCard(c *ledger.Case) Finding {
	f := c.F()
	if ledger.AbsurdSize(c) {
		return Seen(0.9, "The size asked for is above an exbibyte: a length or shape that was overwritten, went below zero or was never set.", c.Failure.Line)
	}
	if !c.Root(fact.TorchAlloc, fact.TorchAsync) || f.Requested == nil || f.Total == nil {
		if c.Root(fact.TorchAlloc) && f.Requested != nil && f.Requested.Bytes > 100*units.GiB {
			return Seen(0.85, fmt.Sprintf("One tensor of %s: more than any card has.", f.Requested), c.Failure.Line)
		}
		return Nothing()
	}
	share := float64(f.Requested.Bytes) / float64(f.Total.Bytes)
	why := fmt.Sprintf("One tensor of %s on a card of %s.", f.Requested, f.Total)
	switch {
	case share > 1:
		return Seen(0.97, why+" It can never fit.", c.Failure.Line)
	case share > 0.6:
		return Seen(0.9, why, c.Failure.Line)
	case share > 0.35:
		return Seen(0.4, why, c.Failure.Line)
	}
	return Nothing()
}

func metalBufferTooLarge(c *ledger.Case) Finding {
	if !c.Root(fact.MPSBuffer) {
		return Nothing()
	}
	return Seen(0.92, fmt.Sprintf("One Metal buffer of %s is above what Metal gives in one piece; how much memory is free does not matter.", c.F().Requested), c.Failure.Line)
}

// hugeTensor is what no computer of a person hands out for one tensor.
const hugeTensor = 32 * units.GiB

func hugeHostTensor(c *ledger.Case) Finding {
	r := c.F().Requested
	if squareOnHost(c) {
		return Seen(0.58, fmt.Sprintf("%s for one matrix of attention: it grows with the square of the length.", units.Amount(r.Bytes)), c.Failure.Line)
	}
	if !c.Root(fact.CPUAlloc) || r == nil || r.Bytes < hugeTensor {
		return Nothing()
	}
	return Seen(0.58, fmt.Sprintf("One tensor of %s was asked for: more than most computers have in all.", r), c.Failure.Line)
}

// squareOnHost: a matrix of attention of several GiB, in the computer's memory.
func squareOnHost(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && ledger.Requested(c) >= 4*units.GiB && ledger.WritesScores(c)
}
