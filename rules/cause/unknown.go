package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// NotSaid is the cause of an incident of which the log says too little.
var NotSaid = Rule{
	ID:      Unknown,
	Title:   "Memory ran out; the log does not say why",
	Settles: "Paste more of the log: everything from the start of the program to the end of the traceback, and the output of `nvidia-smi`.",
	Clues: []Clue{
		noFiguresAtAll, contradictory,
		Said(0.5, "PyTorch's memory summary counts a failure; no message beside it says what was asked for.", fact.TorchSummary),
	},
	Remedies: []Remedy{
		{Fix: "lower_batch_size", Fit: 0.9},
		{Fix: "kill_stale_process", Fit: 0.85},
		{Fix: "restart_session", Fit: 0.7},
		{Fix: "close_other_apps", Fit: 0.6},
	},
}

func noFiguresAtAll(c *ledger.Case) Finding {
	switch {
	case ledger.AbsurdSize(c):
		return Nothing()
	case ledger.CutShort(c) && !c.Training():
		return Seen(0.4, "The message is cut: it says what was asked for, and not what is held.", c.Failure.Line)
	case c.Root(fact.CUDAHandle) && !c.Failure.Weak, c.Root(fact.NVMLAssert):
		return Seen(0.35, "The message has no figures.", c.Failure.Line)
	case c.Root(ledger.NoFigures...), c.Root(fact.TorchAlloc, fact.TorchAsync) && ledger.Figureless(c):
		return Seen(0.5, "The message has no figures.", c.Failure.Line)
	}
	return Nothing()
}

func contradictory(c *ledger.Case) Finding {
	if ledger.Unaccounted(c) {
		return Seen(0.45, ledger.RestUnknown(c), c.Failure.Line)
	}
	if !c.Root(fact.TorchAlloc) || !ledger.Roomy(c) || c.F().Limit != nil {
		return Nothing()
	}
	return Seen(0.45, fmt.Sprintf("The figures contradict each other: %s was free and %s was refused.", c.F().Free, c.F().Requested), c.Failure.Line)
}
