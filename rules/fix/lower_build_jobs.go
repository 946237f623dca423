package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerBuildJobs = Fix{
	ID:       "lower_build_jobs",
	Title:    "Compile with fewer jobs",
	Tradeoff: "The build takes longer.",
	Cost:     cheap,
	Check:    CheckRAM,
	Next:     "One job; or add swap; or look for a ready-made wheel.",
	Told:     "Compile with fewer jobs at a time.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.Environ(c, "MAX_JOBS", "2"), step.Environ(c, "NVCC_THREADS", "1"), {Kind: "shell", Text: "make -j2"}}
	},
}
