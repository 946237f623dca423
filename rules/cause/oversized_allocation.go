package cause

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
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
		First(
			If(ledger.AbsurdSize, Decisive, "The size asked for is above an exbibyte: a length or shape that was overwritten, went below zero or was never set."),
			If(ofNoCard, Strong, "One tensor of {requested}: more than any card has."),
			If(ofCard(1), Decisive, oneTensor+" It can never fit."),
			If(ofCard(0.6), Decisive, oneTensor),
			If(ofCard(0.35), Weak, oneTensor)),
		First(
			If(squareOnHost, Good, "{requested} for one matrix of attention: it grows with the square of the length."),
			If(hugeHostTensor, Good, "One tensor of {requested} was asked for: more than most computers have in all.")),
		Said(Decisive, "One Metal buffer of {requested} is above what Metal gives in one piece; how much memory is free does not matter.", fact.MPSBuffer),
		isExplained(OversizedAllocation, Good),
	},
	Remedies: []Remedy{
		{Fix: "efficient_attention", Fit: Foremost, If: ledger.WritesScores},
		{Fix: "fix_shape", Fit: Foremost, If: ledger.AbsurdSize},
		{Fix: "lower_batch_size", Fit: Foremost, If: when.Root(fact.CPUAlloc)},
		{Fix: "lower_resolution", Fit: Cures, If: when.All(when.Not(ledger.AbsurdSize), when.Not(when.All(when.Root(fact.CPUAlloc), ledger.WritesScores)))},
		{Fix: "enable_flash_attention", Fit: Cures, If: when.All(neverFits, when.Not(ledger.AbsurdSize))},
		{Fix: "stream_dataset", Fit: Helps, If: when.All(when.Root(fact.CPUAlloc), when.Not(ledger.WritesScores))},
		{Fix: "lower_context", Fit: Helps, If: ledger.WritesScores},
		{Fix: "efficient_attention", Fit: Helps, If: when.Not(ledger.AbsurdSize)},
		{Fix: "lower_batch_size", Fit: Helps, If: when.All(when.Not(when.Root(fact.CPUAlloc)), when.Not(ledger.AbsurdSize))},
		{Fix: "fix_shape", Fit: MayHelp, If: neverFits},
		{Fix: "lower_context", Fit: MayHelp, If: when.Not(ledger.AbsurdSize)},
	},
}

// ofCard: one tensor takes at least that part of the card.
func ofCard(least float64) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		f := c.F()
		return c.Root(fact.TorchAlloc, fact.TorchAsync) && f.Requested != nil && f.Total != nil && float64(f.Requested.Bytes) > least*float64(f.Total.Bytes)
	}
}

// ofNoCard: more than any card has, where the message does not name this one's
// size.
func ofNoCard(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && c.F().Total == nil && ledger.Requested(c) > 100*units.GiB
}

const oneTensor = "One tensor of {requested} on a card of {total}."

// hugeTensor is what no computer of a person hands out for one tensor.
const hugeTensor = 32 * units.GiB

func hugeHostTensor(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && ledger.Requested(c) >= hugeTensor
}

// squareOnHost: a matrix of attention of several GiB, in the computer's memory.
func squareOnHost(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && ledger.Requested(c) >= 4*units.GiB && ledger.WritesScores(c)
}
