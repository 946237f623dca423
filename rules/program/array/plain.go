package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// plainUnknown: the words say what happened and nothing of why.
func plainUnknown(c *ledger.Case) cause.Finding {
	if !ledger.PlainRefused(c) {
		return cause.Nothing()
	}
	weight := 0.3
	if c.Phase == "unknown" {
		weight = 0.5
	}
	return cause.Seen(weight, "The program says that memory ran out; neither how much is held nor by what.", c.Failure.Line)
}

func plainLoad(c *ledger.Case) cause.Finding {
	switch {
	case !ledger.PlainRefused(c):
		return cause.Nothing()
	case c.Phase == "load" || c.Phase == "startup_check":
		return cause.Seen(0.6, "It failed while the model was being loaded.", c.Failure.Line)
	case c.Phase == "unknown":
		return cause.Seen(0.3, "The model may be too large for what is free.", c.Failure.Line)
	}
	return cause.Seen(0.2, "The model leaves little room for the work.", c.Failure.Line)
}

func plainWork(c *ledger.Case) cause.Finding {
	switch {
	case !ledger.PlainRefused(c) || c.Phase == "load" || c.Phase == "startup_check":
		return cause.Nothing()
	case c.Phase == "unknown":
		return cause.Seen(0.25, "What is computed at once may be too much.", c.Failure.Line)
	}
	return cause.Seen(0.5, "It failed in the middle of the work: what is computed at once decides how much that needs.", c.Failure.Line)
}

func plainHost(c *ledger.Case) cause.Finding {
	switch {
	case c.Root(fact.PlainHost):
		return cause.Seen(0.85, "The computer's own memory was refused, not the card's.", c.Failure.Line)
	case c.Root(fact.PlainMemory):
		return cause.Seen(0.3, "The words do not say whose memory it was: it can be the computer's.", c.Failure.Line)
	}
	return cause.Nothing()
}
