package fix

var maxSplitSize = Fix{
	ID:       "max_split_size",
	Title:    "Keep PyTorch from cutting up large blocks (max_split_size_mb)",
	Tradeoff: "Some speed; a wrong value can make it worse.",
	Cost:     cheap,
	Check:    "The next message, if there is one, shows less between `reserved` and `allocated`.",
	Next:     "Try 512, then lower the batch: after that memory is really short.",
}
