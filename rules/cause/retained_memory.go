package cause

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var retainedMemory = Rule{
	ID:      RetainedMemory,
	Title:   "This program still holds memory of earlier work",
	Settles: "Print `torch.cuda.memory_allocated()` after every step: if it climbs, something is kept.",
	Clues: []Clue{
		evaluationAccumulates, climbing, growsAtInference,
	},
	Remedies: []Remedy{
		{Fix: "inference_mode", Fit: 0.9, If: func(c *ledger.Case) bool { return c.Phase != "load" }},
		{Fix: "restart_session", Fit: 0.85},
		{Fix: "lower_batch_size", Fit: 0.8},
		{Fix: "detach_accumulated", Fit: 0.7},
		{Fix: "empty_cache", Fit: 0.55},
	},
}

func evaluationAccumulates(c *ledger.Case) Finding {
	s := c.Signal("eval_accumulate")
	if s == nil || !ledger.Allocator(c) {
		return Nothing()
	}
	return Seen(0.85, "It failed while results of the evaluation were being collected: they are all kept on the card.", s.Line, c.Failure.Line)
}

// climbing: what the program printed of its own memory rose from step to step.
func climbing(c *ledger.Case) Finding {
	s := c.Signal("climbing")
	if s == nil || !c.Root(fact.TorchAlloc) || s.Line > c.Failure.Line || ledger.Roomy(c) {
		return Nothing()
	}
	return Seen(0.85, "What is allocated rises from step to step although the steps are alike: something of each is kept.", s.Line, c.Failure.Line)
}

func growsAtInference(c *ledger.Case) Finding {
	if s := c.Signal("validating"); s != nil && !ledger.Roomy(c) {
		return Seen(0.5, "It failed in validation after training worked: graphs of the validation are kept when gradients are not switched off.", s.Line, c.Failure.Line)
	}
	if s := c.Signal("second_model"); s != nil && c.Root(fact.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !ledger.Roomy(c) {
		return Seen(0.85, "Another model was loaded in this notebook before, and is still held if nothing dropped it.", s.Line, c.Failure.Line)
	}
	if c.Root(fact.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !ledger.Roomy(c) {
		return Seen(0.35, "In a notebook the model of an earlier run may still be held.", c.Failure.Line)
	}
	if c.Root(fact.TorchAlloc) && c.Signal("inferring") != nil && !c.Training() && c.F().Requested != nil && c.F().Requested.Bytes < 256*units.MiB {
		return Seen(0.3, "It failed at inference with a small request: results or gradients of earlier work may be kept.", c.Failure.Line)
	}
	return Nothing()
}
