package rules

import "github.com/oomdoc/oomdoc/parsers/fact"

var leakedProcess = Rule{
	ID:    LeakedProcess,
	Title: "Another program holds most of this card",
	Doc: paragraphs(
		"Memory of the card is neither free nor this program's own: another process has it. Often it is an earlier run that never exited, a notebook kernel, a second server, or somebody else's job.",
		"The arithmetic is total less free less what this program holds. About 0.3 to 1 GiB of that is normal: the context of this very process and the desktop. *Already allocated* says nothing about others, it is this process's own.",
		"In a container the process numbers of the message are the host's, and the one listed can be the very process that failed.",
	),
	Settles: "Run `nvidia-smi` and look for processes that should not be there.",
	Clues: []Clue{
		listedOthers, unlistedOthers, restOfCard,
		said(0.25, "A handle of a few MiB was refused: the card may have been full before this program's work.", fact.CUDAHandle),
	},
	Remedies: []Remedy{
		{Fix: "kill_stale_process", Fit: 1},
		{Fix: "select_gpu", Fit: 0.8},
		{Fix: "restart_session", Fit: 0.6},
		{Fix: "close_other_apps", Fit: 0.5},
	},
}
