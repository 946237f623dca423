package fix

import "github.com/oomdoc/oomdoc/parsers/fact"

var gradientCheckpointing = Fix{
	ID:       "gradient_checkpointing",
	Title:    "Turn gradient checkpointing on",
	Tradeoff: "About 20 to 30 % more time per step; the result is the same.",
	Cost:     moderate,
	Check:    checkStep,
	Next:     "Lower the batch or the length; then look at the optimizer.",
	Needs:    Needs{works: trained, training: true, branch: "Training", told: "gradient checkpointing: 20 to 30 % slower, the same result.", without: fact.Checkpoints},
	Told:     "Turn gradient checkpointing on in the training settings.",
}
