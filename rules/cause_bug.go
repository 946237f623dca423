package rules

var softwareBug = Rule{
	ID:    SoftwareBug,
	Title: "A known bug of this version, not a lack of memory",
	Doc: paragraphs(
		"The figures do not fit a card that is full: much is free and little was refused, or a size is absurd. Then the message comes from a fault of this version, a limit of the driver for a single piece (4 GiB on Intel Arc), or a leak.",
		"Typical are a warm-up that reserves the model's size twice, temporaries that Metal never gives back, and cards newer than the driver. Another version helps; settings help by luck.",
	),
	Settles: "Run the same thing with the version before and the one after. Search the program's issues for the exact sentence.",
	Clues: []Clue{
		blockLimit, refusedWithRoom, metalOutsideHeap,
	},
	Remedies: []Remedy{
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.6},
		{Fix: "select_gpu", Fit: 0.3},
	},
}
