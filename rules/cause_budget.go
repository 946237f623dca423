package rules

import "github.com/oomdoc/oomdoc/parsers/fact"

var budgetMisconfigured = Rule{
	ID:       BudgetMisconfigured,
	Title:    "A memory limit of the program is set wrong",
	Headline: budgetHeadline,
	Doc: paragraphs(
		"Some programs work inside a budget of their own: a share of the card (vLLM, SGLang, `set_per_process_memory_fraction`), a number of layers, a cap on memory. The card could do the work; the setting does not allow it, or it promises more than there is.",
		"Both directions occur. Too low: no room is left for the KV cache although the card has some. Too high: the program takes everything at the start, and what it did not plan for fails.",
	),
	Settles: "Compare the limit that the message names with the card's total and with what is free in `nvidia-smi`. If the card has room beyond the limit, the limit is the cause.",
	Clues: []Clue{
		memoryFraction, hiddenFraction,
	},
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: 0.9},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.8},
		{Fix: "lower_batch_size", Fit: 0.5},
	},
}

// budgetHeadline says which limit, and in which direction, where it is known.
func budgetHeadline(c *Case) string {
	f := c.F()
	switch {
	case c.Root(fact.VLLMFreeTooLow):
		return "vLLM is told to take more of the card than is free"
	case shareTooSmall(c):
		return "vLLM's share of the card leaves too little for its cache"
	case c.Root(fact.MPSAlloc):
		return "The limit that PyTorch keeps on a Mac was reached"
	case c.Root(fact.TorchAlloc) && f.Limit != nil && f.Total != nil && f.Limit.Bytes < f.Total.Bytes:
		return "PyTorch may use only a part of this card"
	}
	return ""
}
