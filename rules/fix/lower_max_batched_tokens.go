package fix

var lowerMaxBatchedTokens = Fix{
	ID:    "lower_max_batched_tokens",
	Title: "Lower the tokens of one batch",
	Doc: []string{
		"`--max-num-batched-tokens` is how many tokens vLLM computes in one step, and its working memory follows it. 2048 is enough with chunked prefill; without it, the value has to be at least the context length.",
	},
	Tradeoff: "Long prompts take longer to their first token.",
	Cost:     0.15,
	Check:    "The start's profile shows a smaller peak of activations, and a larger KV cache.",
	Next:     "Fewer sequences, a shorter context.",
	Steps:    stepsVLLM("--max-num-batched-tokens 2048 --enable-chunked-prefill"),
}
