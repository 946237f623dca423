package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

var raiseMemFraction = Fix{
	ID:    "raise_mem_fraction",
	Title: "Raise the static memory fraction",
	Doc: []string{
		"SGLang's `--mem-fraction-static` is the share of the card for weights and KV cache; the rest is for what is computed. When the start says that no memory is left for the cache, raise it in steps of 0.05.",
	},
	Tradeoff: "Less room for what is computed: long prompts may fail.",
	Cost:     0.05,
	Check:    "The start prints `max_total_num_tokens`; it must be above the context length.",
	Next:     "Shorten the context, or use a quantised model.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "python -m sglang.launch_server --model-path " + quote.Shell(c.ModelName()) + " --mem-fraction-static 0.9"}}
	},
}
