package cause

import "github.com/oomdoc/oomdoc/rules/ledger"

// isExplained: what the bytes that were asked for are settles the cause.
func isExplained(id string, weight Level) Clue {
	return Clue{Look: func(c *ledger.Case) Finding {
		if c.Explained == nil || c.Explained.Cause != id {
			return Nothing()
		}
		return Seen(weight, c.Explained.Sentence, c.Explained.Lines...)
	}}
}
