package rules

var fragmentation = Rule{
	ID:      Fragmentation,
	Title:   "Enough memory is reserved, but not in one piece",
	Doc:     `PyTorch takes memory from the driver in segments and cuts them up. When sizes vary, the free parts can be plenty in sum and still too small one by one.`,
	Settles: "Print torch.cuda.memory_summary() before the failing step: 'Non-releasable memory' is what is lost to fragments.",
	Remedies: []Remedy{
		{Fix: "expandable_segments", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.85},
		{Fix: "max_split_size", Fit: 0.8},
		{Fix: "gradient_checkpointing", Fit: 0.5},
	},
}
