package fix

var gradientAccumulation = Fix{
	ID:       "gradient_accumulation",
	Title:    "Accumulate gradients over smaller batches",
	Tradeoff: "Time per step; the result is the same.",
	Cost:     cheap,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Needs:    Needs{works: trained, training: true, branch: "Training", told: "smaller batches with gradient accumulation."},
	Told:     "Use a smaller batch with gradient accumulation, in the training settings.",
}
