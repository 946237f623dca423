package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var raiseMemFraction = Fix{
	ID:       "raise_mem_fraction",
	Title:    "Raise the static memory fraction",
	Tradeoff: "Less room for what is computed: long prompts may fail.",
	Cost:     0.05,
	Check:    "The start prints `max_total_num_tokens`; it must be above the context length.",
	Next:     "Shorten the context, or use a quantised model.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "python -m sglang.launch_server --model-path " + step.Word(c, c.ModelName()) + " --mem-fraction-static 0.9"}}
	},
}
