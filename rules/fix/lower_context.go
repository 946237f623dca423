package fix

import (
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerContext = Fix{
	ID:       "lower_context",
	Title:    "Shorten the context",
	Tradeoff: "Older parts of a long conversation or document are cut off.",
	Cost:     moderate,
	Check:    "It starts and answers a short prompt; then raise the length until about 1 GiB of the card is left.",
	Next:     "Keep the KV cache at 8 bit, or use a smaller quantisation to make room.",
	Needs:    Needs{works: language, branch: "Text", told: "half the length of prompt and answer."},
	Told:     "In your program's settings: 4096 first, then up.",
	Steps:    stepsContext,
	Effect:   func(c *ledger.Case) *effect.Effect { return effect.Scaled(c, 2, "With half the length") },
}

func stepsContext(c *ledger.Case) []step.Step {
	if c.Training() {
		return []step.Step{{Kind: "python", Text: "tokenizer(text, truncation=True, max_length=1024)   # half of what you use now"}}
	}
	if ledger.WritesScores(c) {
		return []step.Step{{Kind: "python", Text: "x = x[:, : x.shape[1] // 2]   # half the length: a quarter of this matrix"}}
	}
	return []step.Step{{Kind: "text", Text: "In your program's settings: 4096 tokens first, then up."}}
}
