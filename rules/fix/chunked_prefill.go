package fix

var chunkedPrefill = Fix{
	ID:    "chunked_prefill",
	Title: "Read long prompts in pieces (chunked prefill)",
	Doc: []string{
		"Without it a prompt of 30,000 tokens is computed at once, and the working memory is planned for that. In pieces of 2,048 tokens the plan is a fraction of it, and more is left for the KV cache. The newer vLLM engine (V1) always does it; in the older one it is on by itself only above 32,768 tokens.",
	},
	Tradeoff: "Little: long prompts take slightly longer.",
	Cost:     0.1,
	Check:    "The start says that chunked prefill is enabled.",
	Next:     "Fewer batched tokens.",
	Steps:    stepsVLLM("--enable-chunked-prefill --max-num-batched-tokens 2048"),
}
