package rules

var deviceImbalance = Rule{
	ID:      DeviceImbalance,
	Title:   "One card is full while others have room",
	Doc:     `Work is spread unevenly over several cards: the failing one is full, others are not. Often the first card also holds contexts or caches of the others.`,
	Settles: "Run nvidia-smi just before it fails and compare the cards.",
	Remedies: []Remedy{
		{Fix: "balance_split", Fit: 0.95},
		{Fix: "select_gpu", Fit: 0.85},
		{Fix: "lower_context", Fit: 0.5},
	},
}
