package fix

var chunkedPrefill = Fix{
	ID:       "chunked_prefill",
	Title:    "Read long prompts in pieces (chunked prefill)",
	Tradeoff: "Little: long prompts take slightly longer.",
	Cost:     cheap,
	Check:    "The start says that chunked prefill is enabled.",
	Next:     "Fewer batched tokens.",
	Needs:    Needs{works: []string{"text-inference"}, own: true},
	Told:     "Let long prompts be read in pieces, if your program has a setting for it.",
}
