package cause

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var softwareBug = Rule{
	ID:      SoftwareBug,
	Title:   "A fault of the program or its version, not a lack of memory",
	Settles: "Run the same thing with the version before and the one after. Search the program's issues for the exact sentence.",
	Clues: []Clue{
		Said(Strong, "This card refuses any single piece above 4 GiB.", fact.XPUBlock),
		Said(Fair, "The Level Zero runtime gave up; this code is not always about memory.", fact.XPURuntime),
		First(If(refusedBlock, Strong, "{requested} was refused on a card that has room: Arc cards refuse single pieces of 4 GiB and more.")),
		First(
			If(ledger.AbsurdSize, Weak, "A kernel that writes past its end, or a version that reads a length wrong, makes such numbers."),
			If(byRuntime, Likely, "{free} was free and {requested} was refused: the runtime refuses, the card is not full."),
			If(refusedWithRoom, Hint, "{free} was free and {requested} was refused.")),
		First(If(metalOutsideHeap, Likely, "{other_allocations} are Metal's own temporaries of this process, against {allocated} of tensors: several versions leak there.")),
	},
	Remedies: []Remedy{
		{Fix: "upgrade_version", Fit: Cures},
		{Fix: "lower_batch_size", Fit: MayHelp, If: func(c *ledger.Case) bool { return c.Backend == "xpu" }},
		{Fix: "raise_pagefile", Fit: LastResort, If: when.Any(reader.OnWindows, reader.LooksLikeWindows)},
		{Fix: "lower_resolution", Fit: LastResort},
	},
}

// refusedBlock: Arc cards refuse single pieces of 4 GiB and more, with room.
func refusedBlock(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.TorchAlloc) && c.Backend == "xpu" && f.Requested != nil && f.Requested.Bytes >= 4*units.GiB && (f.Total == nil || c.Mine.Bytes+f.Requested.Bytes < f.Total.Bytes)
}

func refusedWithRoom(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && ledger.Roomy(c) && !ledger.TakingCache(c)
}

func byRuntime(c *ledger.Case) bool {
	return refusedWithRoom(c) && (c.Backend == "rocm" || c.Backend == "xpu")
}

// metalOutsideHeap: "other allocations" are MPSGraph temporaries of this very
// process; when they dominate, something leaks there.
func metalOutsideHeap(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.MPSAlloc) && f.Allocated != nil && f.OtherAllocations != nil && f.OtherAllocations.Bytes > 2*f.Allocated.Bytes
}
