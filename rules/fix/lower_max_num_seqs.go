package fix

var lowerMaxNumSeqs = Fix{
	ID:       "lower_max_num_seqs",
	Title:    "Lower the number of concurrent sequences",
	Tradeoff: "Fewer requests at a time; a single one is as fast.",
	Cost:     cheap,
	Check:    "The start gets past the warm-up and the profiling.",
	Next:     "Fewer batched tokens, or a smaller share of the card.",
	Needs:    Needs{works: []string{"text-inference"}, own: true},
	Told:     "Allow fewer requests at the same time in your program's settings.",
}
