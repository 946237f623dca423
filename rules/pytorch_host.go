package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// Clues from PyTorch's messages about the computer's own memory.

func cpuAllocation(c *Case) Finding {
	if !c.Root(fact.CPUAlloc, fact.MmapFailed) {
		return nothing()
	}
	why := "The allocator of the computer's own memory was refused: no graphics card is involved."
	if r := c.F().Requested; r != nil {
		why = fmt.Sprintf("%s of the computer's own memory was refused; that is the last piece asked for, not the whole need.", units.Format(r.Bytes))
		if r.Bytes >= hugeTensor || squareOnHost(c) {
			return seen(0.38, why, c.Failure.Line)
		}
	}
	return seen(0.93, why, c.Failure.Line)
}

// hugeTensor is what no computer of a person hands out for one tensor.
const hugeTensor = 32 * units.GiB

func hugeHostTensor(c *Case) Finding {
	r := c.F().Requested
	if squareOnHost(c) {
		return seen(0.58, fmt.Sprintf("%s for one matrix of attention: it grows with the square of the length.", units.Format(r.Bytes)), c.Failure.Line)
	}
	if !c.Root(fact.CPUAlloc) || r == nil || r.Bytes < hugeTensor {
		return nothing()
	}
	return seen(0.58, fmt.Sprintf("One tensor of %s was asked for: more than most computers have in all.", r.Text), c.Failure.Line)
}

// squareOnHost: a matrix of attention of several GiB, in the computer's memory.
func squareOnHost(c *Case) bool {
	return c.Root(fact.CPUAlloc) && requested(c) >= 4*units.GiB && writesScores(c)
}

func nativePaging(c *Case) Finding {
	if !c.Root(fact.BitsAndBytes) || !c.contains("pythoninterface") {
		return nothing()
	}
	return seen(0.6, "The call that failed asks for managed memory (paged optimizers): system memory is short, or the card.", c.Failure.Line)
}
