package rules

var unknown = Rule{
	ID:      Unknown,
	Title:   "Memory ran out; the log does not say why",
	Doc:     `The message has no figures, or they contradict each other. Several causes fit equally.`,
	Settles: "Paste more of the log: everything from the start of the program to the end of the traceback, and the output of nvidia-smi.",
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: 0.9},
		{Fix: "kill_stale_process", Fit: 0.85},
		{Fix: "restart_session", Fit: 0.7},
		{Fix: "close_other_apps", Fit: 0.6},
	},
}
