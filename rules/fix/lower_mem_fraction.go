package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerMemFraction = Fix{
	ID:       "lower_mem_fraction",
	Title:    "Lower the static memory fraction",
	Tradeoff: "A smaller KV cache: fewer requests at a time.",
	Cost:     0.05,
	Check:    "It survives the longest prompt you expect, with 1 to 2 GiB free in `nvidia-smi`.",
	Next:     "Lower `--chunked-prefill-size`, then the largest batch for CUDA graphs.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "python -m sglang.launch_server --model-path " + step.Word(c, c.ModelName()) + " --mem-fraction-static 0.8"}}
	},
}
