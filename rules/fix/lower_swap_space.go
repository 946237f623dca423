package fix

var lowerSwapSpace = Fix{
	ID:    "lower_swap_space",
	Title: "Lower vLLM's swap space",
	Doc: []string{
		"Older vLLM (its V0 engine) sets aside `--swap-space` GiB of *system* memory for each card, 4 by default, and pins it. On a machine with little RAM, or under WSL, which allows little pinned memory, that alone fails. Newer versions ignore the option or no longer have it.",
	},
	Tradeoff: "Preempted requests are computed again instead of being swapped.",
	Cost:     0.05,
	Check:    CheckRAM,
	Next:     "Fewer cards in one process, or more system memory.",
	Steps:    stepsVLLM("--swap-space 1"),
}
