package fix

var lowerSwapSpace = Fix{
	ID:       "lower_swap_space",
	Title:    "Lower vLLM's swap space",
	Tradeoff: "Preempted requests are computed again instead of being swapped.",
	Cost:     free,
	Check:    CheckRAM,
	Next:     "Fewer cards in one process, or more system memory.",
	Told:     "Reserve less system memory for swapping requests.",
}
