package fix

var enforceEager = Fix{
	ID:       "enforce_eager",
	Title:    "Run without CUDA graphs",
	Tradeoff: "10 to 30 % slower on small models, less on large ones.",
	Cost:     moderate,
	Check:    "The start no longer prints `Capturing CUDA graphs`.",
	Next:     "A smaller share of the card.",
	Needs:    Needs{own: true},
	Told:     "Run without CUDA graphs, if your program has a setting for it.",
}
