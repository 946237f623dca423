package cause

import "github.com/oomdoc/oomdoc/rules/ledger"

var trainingStateTooLarge = Rule{
	ID:      TrainingStateTooLarge,
	Title:   "Optimizer and gradients do not fit beside the model",
	Settles: "Print `torch.cuda.memory_allocated()` before and after the first `optimizer.step()`.",
	Clues: []Clue{
		optimizerStep,
	},
	Remedies: []Remedy{
		{Fix: "optimizer_8bit", Fit: 1},
		{Fix: "shard_training", Fit: 0.9},
		{Fix: "offload_optimizer", Fit: 0.9},
		{Fix: "use_lora", Fit: 0.85},
		{Fix: "gradient_checkpointing", Fit: 0.4},
	},
}

// Clues from what the program was doing: training, evaluating, generating,
// loading.

func optimizerStep(c *ledger.Case) Finding {
	s := c.Signal("optimizer_step")
	if s == nil || !ledger.Allocator(c) {
		return Nothing()
	}
	weight := 0.75
	if ledger.Crowded(c) {
		weight = 0.3
	}
	return Seen(weight, "It failed in the optimizer: the states of Adam are made at the first step.", s.Line, c.Failure.Line)
}
