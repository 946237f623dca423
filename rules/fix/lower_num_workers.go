package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var lowerNumWorkers = Fix{
	ID:    "lower_num_workers",
	Title: "Use fewer data loader workers, and do not pin memory",
	Doc: []string{
		"Every worker of a DataLoader is a process of its own with its own copy of what it touches, and prefetches two batches into shared memory. Eight workers are eight times that. On Windows each also loads all of PyTorch's libraries, which counts against RAM and page file.",
		"`num_workers=0` loads in the main process: it shows at once whether the workers are the cause. It does not touch the card's memory.",
	},
	Tradeoff: "The card may wait for data.",
	Cost:     0.1,
	Check:    CheckRAM,
	Next:     "`pin_memory=False`, a smaller batch; in a container a larger `--shm-size`.",
	Steps:    stepsWorkers,
}

func stepsWorkers(c *ledger.Case) []step.Step {
	if c.Signal("pinning") != nil {
		return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, pin_memory=False)   # what failed was pinning; then fewer num_workers"}}
	}
	return []step.Step{{Kind: "python", Text: "loader = DataLoader(dataset, batch_size=batch_size, num_workers=0, pin_memory=False)   # then 2, if that works"}}
}
