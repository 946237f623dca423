package rules

var deviceImbalance = Rule{
	ID:    DeviceImbalance,
	Title: "One card is full while others have room",
	Doc: paragraphs(
		"Work is spread unevenly over several cards: the failing one is full, others are not. The first card is the usual victim: it also holds the desktop, the output layer, and often a CUDA context of every other process (several small equal entries in the list).",
		"In DataParallel the first card gathers the outputs of all; DistributedDataParallel does not.",
	),
	Settles: "Run `nvidia-smi` just before it fails and compare the cards.",
	Clues: []Clue{
		bareContexts, weakestCard, oneCardFull, unevenShares,
	},
	Remedies: []Remedy{
		{Fix: "balance_split", Fit: 0.95},
		{Fix: "select_gpu", Fit: 0.85},
		{Fix: "lower_context", Fit: 0.5},
	},
}
