package cause

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var softwareBug = Rule{
	ID:      SoftwareBug,
	Title:   "A bug in the program or its version, not a lack of memory",
	Settles: "Run the same thing with another version, older or newer. Search the program's issues for the exact error message.",
	Remedies: []Remedy{
		{Fix: "upgrade_version", Fit: Cures},
		{Fix: "lower_batch_size", Fit: MayHelp, If: func(c *ledger.Case) bool { return c.Backend == "xpu" }},
		{Fix: "raise_pagefile", Fit: LastResort, If: when.Any(reader.OnWindows, reader.LooksLikeWindows)},
		{Fix: "lower_resolution", Fit: LastResort},
	},
}
