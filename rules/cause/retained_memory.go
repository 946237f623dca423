package cause

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var retainedMemory = Rule{
	ID:      RetainedMemory,
	Title:   "This program still holds memory of earlier work",
	Settles: "Print `torch.cuda.memory_allocated()` after every step: if it climbs, something is kept.",
	Clues: []Clue{
		Shown("eval_accumulate", If(ledger.Allocator, Strong, "It failed while results of the evaluation were being collected: they are all kept on the card.")),
		Shown("climbing", If(climbing, Strong, "What is allocated rises from step to step although the steps are alike: something of each is kept.")),
		Shown("second_model", If(loadedAgain, Strong, "Another model was loaded in this notebook before, and is still held if nothing dropped it.")),
		Shown("validating", If(when.Not(ledger.Roomy), Fair, "It failed in validation after training worked: graphs of the validation are kept when gradients are not switched off.")),
		First(
			If(loadedAgain, Weak, "In a notebook the model of an earlier run may still be held."),
			If(smallAtInference, Weak, "It failed at inference with a small request: results or gradients of earlier work may be kept.")),
	},
	Remedies: []Remedy{
		{Fix: "inference_mode", Fit: Helps, If: func(c *ledger.Case) bool { return c.Phase != "load" }},
		{Fix: "restart_session", Fit: Helps},
		{Fix: "lower_batch_size", Fit: Helps},
		{Fix: "detach_accumulated", Fit: MayHelp},
		{Fix: "empty_cache", Fit: LastResort},
	},
}

// climbing: what the program printed of its own memory had risen from step to
// step when it failed.
func climbing(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc, fact.DeviceAlloc) && !ledger.Roomy(c) && c.Signal("climbing").Line <= c.Failure.Line
}

// loadedAgain: a notebook loads a model, perhaps not its first.
func loadedAgain(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !ledger.Roomy(c)
}

// smallAtInference: nothing was trained, and little was asked for.
func smallAtInference(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && c.Signal("inferring") != nil && !c.Training() && c.F().Requested != nil && c.F().Requested.Bytes < 256*units.MiB
}
