package fix

import "github.com/oomdoc/oomdoc/rules/step"

var lowerUbatch = Fix{
	ID:    "lower_ubatch",
	Title: "Lower the physical batch (-ub)",
	Doc: []string{
		"llama.cpp reads a prompt in pieces of `-ub` tokens (512) and reserves a compute buffer for one piece: half of it, half of the buffer. It helps when the message is about the *compute buffer* or `graph_reserve`. Before March 2024 the same was `-b`.",
		"The logical batch `-b` (2048) costs next to nothing.",
	},
	Tradeoff: "Long prompts are read more slowly; answers come as fast.",
	Cost:     0.1,
	Check:    "The log's `compute buffer size` is smaller.",
	Next:     "Flash attention, then a shorter context.",
	Steps:    step.Paste("shell", "llama-server -m model.gguf -b 256 -ub 256"),
}
