package rules

import "github.com/oomdoc/oomdoc/parsers/fact"

var unknown = Rule{
	ID:    Unknown,
	Title: "Memory ran out; the log does not say why",
	Doc: paragraphs(
		"The message has no figures, or they contradict each other, and several causes fit equally. A raw `CUDA error: out of memory` never has figures; an error that appears at some later call can hide where it happened.",
		"What would settle it costs a minute: the lines above the error, and what held the card at that moment.",
	),
	Settles: "Paste more of the log: everything from the start of the program to the end of the traceback, and the output of `nvidia-smi`.",
	Clues: []Clue{
		noFiguresAtAll, contradictory,
		said(0.5, "PyTorch's memory summary counts a failure; no message beside it says what was asked for.", fact.TorchSummary),
	},
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: 0.9},
		{Fix: "kill_stale_process", Fit: 0.85},
		{Fix: "restart_session", Fit: 0.7},
		{Fix: "close_other_apps", Fit: 0.6},
	},
}
