package rules

var budgetMisconfigured = Rule{
	ID:    BudgetMisconfigured,
	Title: "A memory limit of the program is set wrong",
	Doc: paragraphs(
		"Some programs work inside a budget of their own: a share of the card (vLLM, SGLang, `set_per_process_memory_fraction`), a number of layers, a cap on memory. The card could do the work; the setting does not allow it, or it promises more than there is.",
		"Both directions occur. Too low: no room is left for the KV cache although the card has some. Too high: the program takes everything at the start, and what it did not plan for fails.",
	),
	Settles: "Compare the limit that the message names with the card's total and with what is free in `nvidia-smi`. If the card has room beyond the limit, the limit is the cause.",
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: 0.9},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.8},
		{Fix: "lower_batch_size", Fit: 0.5},
	},
}
