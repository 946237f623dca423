package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var limitFrameworkPreallocation = Fix{
	ID:       "limit_framework_preallocation",
	Title:    "Keep the framework from taking the whole card at its start",
	Tradeoff: "A little speed, and more fragmentation.",
	Cost:     free,
	Check:    "`nvidia-smi` right after the start shows a few hundred MiB instead of most of the card.",
	Next:     "If it still runs out, the work itself is too big: lower the batch.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.Environ(c, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), step.Environ(c, "TF_FORCE_GPU_ALLOW_GROWTH", "true")}
	},
}
