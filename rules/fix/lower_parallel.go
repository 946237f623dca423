package fix

var lowerParallel = Fix{
	ID:       "lower_parallel",
	Title:    "Serve fewer requests at a time",
	Tradeoff: "Requests wait for each other.",
	Cost:     moderate,
	Check:    "The log's KV cache is smaller by the same factor.",
	Next:     "Shorten the context.",
	Needs:    Needs{works: []string{"text-inference"}, own: true},
	Told:     "Serve one request at a time.",
}
