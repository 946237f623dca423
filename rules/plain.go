package rules

import "github.com/oomdoc/oomdoc/parsers/fact"

// plainRefused reports a failure in words of which nothing more is known than
// that memory was refused.
func plainRefused(c *Case) bool {
	return c.Root(fact.PlainDevice, fact.PlainMemory)
}

// plainUnknown: the words say what happened and nothing of why.
func plainUnknown(c *Case) Finding {
	if !plainRefused(c) {
		return nothing()
	}
	weight := 0.3
	if c.Phase == "unknown" {
		weight = 0.5
	}
	return seen(weight, "The program says that memory ran out; neither how much is held nor by what.", c.Failure.Line)
}

func plainLoad(c *Case) Finding {
	switch {
	case !plainRefused(c):
		return nothing()
	case c.Phase == "load" || c.Phase == "startup_check":
		return seen(0.6, "It failed while the model was being loaded.", c.Failure.Line)
	case c.Phase == "unknown":
		return seen(0.3, "The model may be too large for what is free.", c.Failure.Line)
	}
	return seen(0.2, "The model leaves little room for the work.", c.Failure.Line)
}

func plainWork(c *Case) Finding {
	switch {
	case !plainRefused(c) || c.Phase == "load" || c.Phase == "startup_check":
		return nothing()
	case c.Phase == "unknown":
		return seen(0.25, "What is computed at once may be too much.", c.Failure.Line)
	}
	return seen(0.5, "It failed in the middle of the work: what is computed at once decides how much that needs.", c.Failure.Line)
}

func plainHost(c *Case) Finding {
	switch {
	case c.Root(fact.PlainHost):
		return seen(0.85, "The computer's own memory was refused, not the card's.", c.Failure.Line)
	case c.Root(fact.PlainMemory):
		return seen(0.3, "The words do not say whose memory it was: it can be the computer's.", c.Failure.Line)
	}
	return nothing()
}
