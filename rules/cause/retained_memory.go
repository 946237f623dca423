package cause

import "github.com/oomdoc/oomdoc/rules/ledger"

var retainedMemory = Rule{
	ID:      RetainedMemory,
	Title:   "This program still holds memory from earlier work",
	Settles: "Print `torch.cuda.memory_allocated()` after every step: if it climbs, tensors are being kept.",
	Remedies: []Remedy{
		{Fix: "inference_mode", Fit: Helps, If: func(c *ledger.Case) bool { return c.Phase != "load" }},
		{Fix: "restart_session", Fit: Helps},
		{Fix: "lower_batch_size", Fit: Helps},
		{Fix: "detach_accumulated", Fit: MayHelp},
		{Fix: "empty_cache", Fit: LastResort},
	},
}
