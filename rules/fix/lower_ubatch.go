package fix

import "github.com/oomdoc/oomdoc/rules/step"

var lowerUbatch = Fix{
	ID:       "lower_ubatch",
	Title:    "Lower the physical batch (-ub)",
	Tradeoff: "Long prompts are read more slowly; answers come as fast.",
	Cost:     0.1,
	Check:    "The log's `compute buffer size` is smaller.",
	Next:     "Flash attention, then a shorter context.",
	Steps:    step.Paste("shell", "llama-server -m model.gguf -b 256 -ub 256"),
}
