package fix

var lowerMaxBatchedTokens = Fix{
	ID:       "lower_max_batched_tokens",
	Title:    "Lower the tokens of one batch",
	Tradeoff: "Long prompts take longer to their first token.",
	Cost:     0.15,
	Check:    "The start's profile shows a smaller peak of activations, and a larger KV cache.",
	Next:     "Fewer sequences, a shorter context.",
	Steps:    stepsVLLM("--max-num-batched-tokens 2048 --enable-chunked-prefill"),
}
