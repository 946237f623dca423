package rules

var batchTooLarge = Rule{
	ID:    BatchTooLarge,
	Title: "Too much is computed at once",
	Doc: paragraphs(
		"The model fits, but the values it computes on the way (activations) do not: too many samples, images, tokens or sequences at a time, or images too large. In training all of them are kept until the backward pass, in inference only those of the present layer.",
		"They grow in step with the batch, with the number of tokens, and with the number of pixels: half the side of an image is a quarter. The weights stay what they are, so the batch is the first thing to try when it fails *after* loading.",
		"The last request says little. PyTorch rounds small requests up to 2.00 or 20.00 MiB: then any tensor would have been the last straw.",
	),
	Settles: "Run it once with batch size 1 and the smallest input. If that works, batch or input size is the cause.",
	Clues: []Clue{
		activationsFillCard,
	},
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: 1},
		{Fix: "lower_resolution", Fit: 0.6},
		{Fix: "gradient_checkpointing", Fit: 0.55},
		{Fix: "mixed_precision", Fit: 0.5},
		{Fix: "lower_context", Fit: 0.45},
	},
}
