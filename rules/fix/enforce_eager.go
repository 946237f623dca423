package fix

var enforceEager = Fix{
	ID:    "enforce_eager",
	Title: "Run without CUDA graphs",
	Doc: []string{
		"CUDA graphs record the work for many batch sizes to start it faster, and take 0.2 to 1.5 GiB beside the planned memory; older versions do not count them in. Without them that memory is free. Fewer capture sizes are the middle way.",
	},
	Tradeoff: "10 to 30 % slower on small models, less on large ones.",
	Cost:     0.25,
	Check:    "The start no longer prints `Capturing CUDA graphs`.",
	Next:     "A smaller share of the card.",
	Steps:    stepsVLLM("--enforce-eager"),
}
