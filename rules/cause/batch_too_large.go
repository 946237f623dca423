package cause

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var batchTooLarge = Rule{
	ID:      BatchTooLarge,
	Title:   "Too much is computed at once",
	Settles: "Run it once with batch size 1 and the smallest input. If that works, the batch or input size is the cause.",
	Clues: []Clue{
		isExplained(BatchTooLarge, Likely),
	},
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: Cures},
		{Fix: "kill_stale_process", Fit: Helps, If: worthALook},
		{Fix: "select_gpu", Fit: MayHelp, If: blasHandle},
		{Fix: "kill_stale_process", Fit: MayHelp, If: blasHandle},
		{Fix: "inference_mode", Fit: MayHelp, If: func(c *ledger.Case) bool { return c.Signal("inferring") != nil && !c.Training() }},
		{Fix: "lower_resolution", Fit: MayHelp},
		{Fix: "gradient_checkpointing", Fit: LastResort, If: func(c *ledger.Case) bool { return c.Training() || c.Phase == "unknown" }},
		{Fix: "mixed_precision", Fit: LastResort},
		{Fix: "lower_context", Fit: LastResort},
		{Fix: "use_smaller_model", Fit: LastResort, If: LastStraw},
	},
}

// worthALook: an eighth of the card or more is neither free nor this program's,
// beyond what its own context takes.
func worthALook(c *ledger.Case) bool {
	outside := c.Others.Bytes - ledger.DriverContext
	return c.Others.Has() && c.Total.Has() && outside > units.GiB/2 && outside*8 > c.Total.Bytes
}

// blasHandle: cuBLAS found the card full when it started, convolutions or not.
func blasHandle(c *ledger.Case) bool { return c.Root(fact.CUDAHandle) && !c.Contains("convolution") }

// LastStraw: a small piece was refused and nothing says what was going on, so
// that weights explain it nearly as well as work.
func LastStraw(c *ledger.Case) bool {
	return c.Phase == "unknown" && c.F().Requested != nil && ledger.Requested(c) <= 160*units.MiB
}
