package rules

var modelTooLarge = Rule{
	ID:    ModelTooLarge,
	Title: "The model is too big for this card",
	Doc: paragraphs(
		"The weights alone, or the weights with what any run needs beside them, are larger than the memory of the card. Nothing is broken: the numbers do not fit.",
		"A model of N billion parameters needs about 2 x N GB at 16 bit, N at 8 bit and 0.6 x N at 4 bit, before context and overhead. Loaded without a word about precision it may take 4 x N. A mixture-of-experts model counts with all its experts.",
		"It shows while loading, or at the very first request; a model that answered before did fit.",
	),
	Settles: "Say where it died: while loading (then it is the weights) or while answering (then context or batch count too). The lines above the error, from the load on, tell.",
	Clues: []Clue{
		weightsFillCard, spilledOver,
	},
	Remedies: []Remedy{
		{Fix: "use_lower_quant", Fit: 0.95},
		{Fix: "use_smaller_model", Fit: 0.9},
		{Fix: "cpu_offload", Fit: 0.85},
		{Fix: "load_in_4bit", Fit: 0.8},
		{Fix: "half_precision", Fit: 0.6},
		{Fix: "multi_gpu", Fit: 0.5},
		{Fix: "bigger_gpu", Fit: 0.45},
	},
}
