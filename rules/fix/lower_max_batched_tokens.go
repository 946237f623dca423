package fix

var lowerMaxBatchedTokens = Fix{
	ID:       "lower_max_batched_tokens",
	Title:    "Lower the tokens of one batch",
	Tradeoff: "Long prompts take longer to their first token.",
	Cost:     cheap,
	Check:    "The start's profile shows a smaller peak of activations, and a larger KV cache.",
	Next:     "Fewer sequences, a shorter context.",
	Needs:    Needs{works: []string{"text-inference", "embedding"}, own: true},
	Told:     "Allow fewer tokens in one batch in your program's settings.",
}
