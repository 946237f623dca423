package cause

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const firstStep = "It failed in the optimizer: the states of Adam are made at the first step."

var trainingStateTooLarge = Rule{
	ID:      TrainingStateTooLarge,
	Title:   "Optimizer and gradients do not fit beside the model",
	Settles: "Print `torch.cuda.memory_allocated()` before and after the first `optimizer.step()`.",
	Clues: []Clue{
		Shown("optimizer_step",
			If(when.All(ledger.Allocator, ledger.Crowded), 0.3, firstStep),
			If(ledger.Allocator, 0.75, firstStep)),
	},
	Remedies: []Remedy{
		{Fix: "optimizer_8bit", Fit: 1},
		{Fix: "shard_training", Fit: 0.9},
		{Fix: "offload_optimizer", Fit: 0.9},
		{Fix: "use_lora", Fit: 0.85},
		{Fix: "gradient_checkpointing", Fit: 0.4},
	},
}
