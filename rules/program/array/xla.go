package array

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

func onTPU(c *ledger.Case) bool { return c.Backend == "tpu" }

// cardTakenAtStart: the framework could not take its pool, or not even make a
// context, before any work.
func cardTakenAtStart(c *ledger.Case) cause.Finding {
	switch {
	case c.Root(fact.TFContext):
		return cause.Seen(0.8, "Not even a context could be made: the card was full before this program began.", c.Failure.Line)
	case c.Root(fact.TFStart):
		return cause.Seen(0.6, "TensorFlow could not take its pool at the start: something else holds the card.", c.Failure.Line)
	}
	return cause.Nothing()
}

func xlaTinyRequest(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.XLAAlloc) || req == nil || req.Bytes >= cause.Crumb {
		return cause.Nothing()
	}
	return cause.Seen(0.5, fmt.Sprintf("Only %s was asked for: the card was full before, with another process or with this one's pool (JAX takes 75 %% at its start).", req.Text), c.Failure.Line)
}

// xlaProgram: the request is the scratch arena of a whole program.
func xlaProgram(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.XLAAlloc) || f.Requested != nil && f.Requested.Bytes < cause.Crumb {
		return cause.Nothing()
	}
	if f.Desired != nil && f.Weights != nil {
		return cause.Seen(0.62, fmt.Sprintf("The program needs %s in all, of which %s are its inputs and weights: the rest grows with batch and length.", f.Desired.Text, f.Weights.Text), c.Failure.Line)
	}
	return cause.Seen(0.6, "XLA asks for all the scratch memory of a program at once: it grows with batch and length.", c.Failure.Line)
}

func xlaTooLarge(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.XLAAlloc) || req == nil || req.Bytes < 100*units.GiB {
		return cause.Nothing()
	}
	return cause.Seen(0.4, fmt.Sprintf("%s at once is more than any card has.", units.Format(req.Bytes)), c.Failure.Line)
}

func tpuTraining(c *ledger.Case) cause.Finding {
	if !c.Root(fact.TPUCompile, fact.TPUReserve) {
		return cause.Nothing()
	}
	if c.Phase == "inference" || c.Phase == "load" {
		return cause.Seen(0.2, "Batch size is part of what the compiled program needs.", c.Failure.Line)
	}
	return cause.Seen(0.55, tpuNeeds(c)+" Activations of the batch are most of it as a rule.", c.Failure.Line)
}

func tpuInference(c *ledger.Case) cause.Finding {
	if !c.Root(fact.TPUCompile) {
		return cause.Nothing()
	}
	if c.Phase == "inference" || c.Phase == "load" {
		return cause.Seen(0.55, tpuNeeds(c), c.Failure.Line)
	}
	return cause.Seen(0.2, tpuNeeds(c), c.Failure.Line)
}

// tpuAttention: the largest buffer has two equal long sides, queries by keys.
func tpuAttention(c *ledger.Case) cause.Finding {
	if !c.Root(fact.TPUCompile, fact.XLAAlloc) {
		return cause.Nothing()
	}
	if s, ok := c.Fact("xla_square"); ok {
		return cause.Seen(0.75, fmt.Sprintf("The largest buffer is %s: an attention matrix, which grows with the square of the length.", s.Text), s.Line, c.Failure.Line)
	}
	if c.Root(fact.TPUCompile) && c.Phase == "inference" {
		return cause.Seen(0.3, "The length of the prompt is part of what the compiled program needs.", c.Failure.Line)
	}
	return cause.Nothing()
}

func tpuNeeds(c *ledger.Case) string {
	f := c.F()
	if f.Desired == nil || f.Total == nil {
		return "The compiled program does not fit the chip."
	}
	return fmt.Sprintf("The compiled program needs %s and the chip has %s.", units.Format(f.Desired.Bytes), units.Format(f.Total.Bytes))
}
