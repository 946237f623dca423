package rules

var softwareBug = Rule{
	ID:    SoftwareBug,
	Title: "A known bug of this version, not a lack of memory",
	Doc:   `The figures do not fit a card that is full. The message comes from a fault of this version or driver.`,
	Remedies: []Remedy{
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.6},
		{Fix: "select_gpu", Fit: 0.3},
	},
}
