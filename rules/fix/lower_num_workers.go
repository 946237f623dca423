package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerNumWorkers = Fix{
	ID:       "lower_num_workers",
	Title:    "Use fewer data loader workers, and do not pin memory",
	Tradeoff: "The card may wait for data.",
	Cost:     cheap,
	Check:    CheckRAM,
	Next:     "`pin_memory=False`, a smaller batch; in a container a larger `--shm-size`.",
	Needs:    Needs{notFor: []string{"rendering", "build", "image-generation", "text-inference"}},
	Told:     "Use fewer worker processes for loading data (0, then 2), in your program's settings.",
	Steps:    stepsWorkers,
}

func stepsWorkers(c *ledger.Case) []step.Step {
	if c.Signal("pinning") != nil {
		return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, pin_memory=False)   # what failed was pinning; then fewer num_workers"}}
	}
	return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=0, pin_memory=False)   # then 2, if that works"}}
}
