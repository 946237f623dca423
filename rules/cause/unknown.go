package cause

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// NotSaid is the cause of an incident of which the log says too little.
var NotSaid = Rule{
	ID:      Unknown,
	Title:   "Memory ran out; the log does not say why",
	Settles: "Paste more of the log: everything from the start of the program to the end of the traceback, and the output of `nvidia-smi`.",
	Clues: []Clue{
		First(
			If(ledger.AbsurdSize, 0, ""),
			If(when.All(ledger.CutShort, when.Not((*ledger.Case).Training)), 0.4, "The message is cut: it says what was asked for, and not what is held."),
			If(fullHandle, 0.35, "The message has no figures."),
			If(figureless, 0.5, "The message has no figures.")),
		First(
			If(ledger.Unaccounted, 0.45, ledger.RestUnknown),
			If(contradictory, 0.45, "The figures contradict each other: {free} was free and {requested} was refused.")),
		Said(0.5, "PyTorch's memory summary counts a failure; no message beside it says what was asked for.", fact.TorchSummary),
	},
	Remedies: []Remedy{
		{Fix: "raise_pagefile", Fit: 1, If: pagefileSuspect},
		{Fix: "close_other_apps", Fit: 0.85, If: pagefileSuspect},
		{Fix: "use_smaller_model", Fit: 0.93, If: when.Any(when.Root(fact.BitsAndBytes), ledger.PlainRefused)},
		{Fix: "lower_context", Fit: 0.9, If: when.Root(fact.BitsAndBytes)},
		{Fix: "close_other_apps", Fit: 0.8, If: when.Root(fact.BitsAndBytes)},
		{Fix: "use_lower_quant", Fit: 0.95, If: when.Root(fact.RustDriver)},
		{Fix: "restart_session", Fit: 0.85},
		{Fix: "upgrade_version", Fit: 0.5, If: ledger.Roomy},
		{Fix: "lower_batch_size", Fit: 0.9, If: when.Not(when.Any(ledger.Roomy, pagefileSuspect))},
		{Fix: "kill_stale_process", Fit: 0.85, If: when.Not(when.Any(ledger.Roomy, when.Root(fact.NVMLAssert)))},
		{Fix: "inference_mode", Fit: 0.87, If: func(c *ledger.Case) bool { return c.Root(fact.TorchAlloc) && !ledger.Roomy(c) && !c.Training() }},
		{Fix: "lower_resolution", Fit: 0.6, If: when.Not(ledger.Roomy)},
	},
}

func figureless(c *ledger.Case) bool {
	return c.Root(ledger.NoFigures...) || c.Root(fact.TorchAlloc, fact.TorchAsync) && ledger.Figureless(c)
}

func contradictory(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && ledger.Roomy(c) && c.F().Limit == nil
}

// pagefileSuspect: Windows, and nothing says that the card is full.
func pagefileSuspect(c *ledger.Case) bool {
	return c.Root(fact.CUDAError) && reader.OnWindows(c) || ledger.Roomy(c) && reader.LooksLikeWindows(c)
}
