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
	Settles: "Give oomdoc more of the log: everything from the program's start to the end of the traceback, and the output of `nvidia-smi`.",
	Remedies: []Remedy{
		{Fix: "raise_pagefile", Fit: Cures, If: pagefileSuspect},
		{Fix: "use_lower_quant", Fit: Cures, If: when.Root(fact.RustDriver)},
		{Fix: "use_smaller_model", Fit: Cures, If: when.Root(fact.BitsAndBytes, fact.PlainDevice, fact.PlainMemory)},
		{Fix: "lower_context", Fit: Helps, If: when.Root(fact.BitsAndBytes)},
		{Fix: "lower_batch_size", Fit: Helps, If: when.Not(when.Any(ledger.Roomy, pagefileSuspect))},
		{Fix: "inference_mode", Fit: Helps, If: func(c *ledger.Case) bool { return c.Root(fact.TorchAlloc) && !ledger.Roomy(c) && !c.Training() }},
		{Fix: "close_other_apps", Fit: Helps, If: pagefileSuspect},
		{Fix: "restart_session", Fit: Helps},
		{Fix: "kill_stale_process", Fit: Helps, If: when.Not(when.Any(ledger.Roomy, when.Root(fact.NVMLAssert)))},
		{Fix: "close_other_apps", Fit: Helps, If: when.Root(fact.BitsAndBytes)},
		{Fix: "lower_resolution", Fit: MayHelp, If: when.Not(ledger.Roomy)},
		{Fix: "upgrade_version", Fit: LastResort, If: ledger.Roomy},
	},
}

// pagefileSuspect: Windows, and nothing says that the card is full.
func pagefileSuspect(c *ledger.Case) bool {
	return c.Root(fact.CUDAError) && reader.OnWindows(c) || ledger.Roomy(c) && reader.LooksLikeWindows(c)
}
