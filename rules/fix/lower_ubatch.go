package fix

var lowerUbatch = Fix{
	ID:       "lower_ubatch",
	Title:    "Lower the physical batch (-ub)",
	Tradeoff: "Long prompts are read more slowly; answers come as fast.",
	Cost:     cheap,
	Check:    "The log's `compute buffer size` is smaller.",
	Next:     "Flash attention, then a shorter context.",
	Needs:    Needs{works: []string{"text-inference"}, own: true},
	Told:     "Lower the batch size for prompts in your program's settings (128, then up).",
}
