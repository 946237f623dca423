package rules

var fragmentation = Rule{
	ID:    Fragmentation,
	Title: "Enough memory is reserved, but not in one piece",
	Doc: paragraphs(
		"PyTorch takes memory from the driver in segments and cuts them up. When sizes vary, the free parts can be plenty in sum and still too small one by one. The message shows it: *reserved by PyTorch but unallocated* (older: *reserved* less *already allocated*) is at least what was asked for.",
		"It is rarer than the tips suggest: PyTorch recommends an option against it in every message. With 40 MiB reserved and not in use, and 1.4 GiB missing, fragments are not the cause.",
	),
	Settles: "Print `torch.cuda.memory_summary()` before the failing step: `Non-releasable memory` is what is lost to fragments.",
	Clues: []Clue{
		slackCoversRequest, lostToFragments, heldNotUsed,
	},
	Remedies: []Remedy{
		{Fix: "expandable_segments", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.85},
		{Fix: "max_split_size", Fit: 0.8},
		{Fix: "gradient_checkpointing", Fit: 0.5},
	},
}
