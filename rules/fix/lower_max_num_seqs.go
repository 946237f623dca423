package fix

var lowerMaxNumSeqs = Fix{
	ID:    "lower_max_num_seqs",
	Title: "Lower the number of concurrent sequences",
	Doc: []string{
		"vLLM warms its sampler up with as many sequences as it may serve at once (256, on large cards 1024): sequences x vocabulary x 4 bytes and more. On a small card, or with a large vocabulary, that alone fails. It also bounds how much KV cache is in use at a time, and how many CUDA graphs are captured.",
	},
	Tradeoff: "Fewer requests at a time; a single one is as fast.",
	Cost:     0.15,
	Check:    "The start gets past the warm-up and the profiling.",
	Next:     "Fewer batched tokens, or a smaller share of the card.",
	Steps:    stepsVLLM("--max-num-seqs 64"),
}
