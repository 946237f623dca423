package fix

var raiseMemFraction = Fix{
	ID:       "raise_mem_fraction",
	Title:    "Raise the static memory fraction",
	Tradeoff: "Less room for what is computed: long prompts may fail.",
	Cost:     free,
	Check:    "The start prints `max_total_num_tokens`; it must be above the context length.",
	Next:     "Shorten the context, or use a quantised model.",
	Told:     "Raise the static memory fraction in your program's settings.",
}
