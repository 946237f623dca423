package fix

var inferenceMode = Fix{
	ID:       "inference_mode",
	Title:    "Run it without gradients",
	Tradeoff: "None, as long as no gradients are wanted there.",
	Cost:     free,
	Check:    "`torch.cuda.memory_allocated()` printed after each input stays the same instead of climbing.",
	Next:     "If it still climbs, look for lists that keep tensors.",
	Needs:    Needs{python: true, inference: true, notFor: noNetwork, branch: "Using a model", told: "`with torch.inference_mode():` around it (free), and smaller input."},
	Told:     "Run the model without gradients, if your program has a setting for it.",
}
