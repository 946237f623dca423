package fix

var chunkedPrefill = Fix{
	ID:       "chunked_prefill",
	Title:    "Read long prompts in pieces (chunked prefill)",
	Tradeoff: "Little: long prompts take slightly longer.",
	Cost:     0.1,
	Check:    "The start says that chunked prefill is enabled.",
	Next:     "Fewer batched tokens.",
	Steps:    stepsVLLM("--enable-chunked-prefill --max-num-batched-tokens 2048"),
}
