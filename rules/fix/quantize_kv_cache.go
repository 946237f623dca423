package fix

var quantizeKvCache = Fix{
	ID:       "quantize_kv_cache",
	Title:    "Keep the KV cache at 8 bit",
	Tradeoff: "Hardly any quality at 8 bit, some at 4 bit; a little speed.",
	Cost:     cheap,
	Check:    "The log shows the smaller cache, and the same prompt runs through.",
	Next:     "Shorten the context.",
	Needs:    Needs{works: []string{"text-inference"}},
	Told:     "Keep the KV cache at 8 bit, if your program has a setting for it.",
}
