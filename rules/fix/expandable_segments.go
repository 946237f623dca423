package fix

var expandableSegments = Fix{
	ID:       "expandable_segments",
	Title:    "Let PyTorch grow its segments (expandable_segments)",
	Tradeoff: "None for quality; now and then a little speed. Tensors can't be shared between processes with it.",
	Cost:     free,
	Check:    "The next message, if there is one, shows a small `reserved by PyTorch but unallocated`.",
	Next:     "If it still fails, memory is really short: lower the batch or the model's size.",
	Told:     "Set PyTorch's allocator to expandable segments before the start.",
}
