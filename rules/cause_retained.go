package rules

var retainedMemory = Rule{
	ID:    RetainedMemory,
	Title: "This program still holds memory of earlier work",
	Doc: paragraphs(
		"The same process keeps what it no longer needs: an earlier model in the notebook, outputs with their graphs, growing lists, results of an evaluation. It grows from step to step or from run to run until the card is full.",
		"Signs are that the first run works and the second does not, and that it fails after many steps of the same size. Missing `torch.no_grad()` in validation does it, `total += loss` does it, and so does the last error in a notebook, which keeps its tensors alive.",
	),
	Settles: "Print `torch.cuda.memory_allocated()` after every step: if it climbs, something is kept.",
	Clues: []Clue{
		evaluationAccumulates, climbing, growsAtInference,
	},
	Remedies: []Remedy{
		{Fix: "inference_mode", Fit: 0.9, If: func(c *Case) bool { return c.Phase != "load" }},
		{Fix: "restart_session", Fit: 0.85},
		{Fix: "lower_batch_size", Fit: 0.8},
		{Fix: "detach_accumulated", Fit: 0.7},
		{Fix: "empty_cache", Fit: 0.55},
	},
}
