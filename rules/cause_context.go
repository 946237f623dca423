package rules

var contextTooLong = Rule{
	ID:      ContextTooLong,
	Title:   "The context is too long for the memory that is left",
	Doc:     `Every token of the context keeps keys and values in memory (the KV cache), and without flash attention also a row of the attention matrix. Both grow with the length of the context: what is fine at 2,000 tokens can be far too much at 32,000.`,
	Settles: "Run it once with a short context (2048). If that works, the context is the cause.",
	Remedies: []Remedy{
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.75},
		{Fix: "enable_flash_attention", Fit: 0.5},
		{Fix: "lower_batch_size", Fit: 0.45},
	},
}
