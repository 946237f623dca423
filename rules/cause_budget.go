package rules

var budgetMisconfigured = Rule{
	ID:    BudgetMisconfigured,
	Title: "A memory limit of the program is set wrong",
	Doc:   `The program works inside a budget of its own (a share of the card, a cap, a layer count). The card could do it; the setting does not allow it, or promises more than there is.`,
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: 0.9},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.8},
		{Fix: "lower_batch_size", Fit: 0.5},
	},
}
