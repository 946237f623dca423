package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var softwareBug = Rule{
	ID:      SoftwareBug,
	Title:   "A known bug of this version, not a lack of memory",
	Settles: "Run the same thing with the version before and the one after. Search the program's issues for the exact sentence.",
	Clues: []Clue{
		blockLimit, refusedWithRoom, metalOutsideHeap,
	},
	Remedies: []Remedy{
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.6},
		{Fix: "select_gpu", Fit: 0.3},
	},
}

func blockLimit(c *ledger.Case) Finding {
	f := c.F()
	switch {
	case c.Root(fact.XPUBlock):
		return Seen(0.85, "This card refuses any single piece above 4 GiB.", c.Failure.Line)
	case c.Root(fact.XPURuntime):
		return Seen(0.5, "The Level Zero runtime gave up; this code is not always about memory.", c.Failure.Line)
	case c.Root(fact.TorchAlloc) && c.Backend == "xpu" && f.Requested != nil && f.Requested.Bytes >= 4*units.GiB && (f.Total == nil || c.Mine.Bytes+f.Requested.Bytes < f.Total.Bytes):
		return Seen(0.8, fmt.Sprintf("%s was refused on a card that has room: Arc cards refuse single pieces of 4 GiB and more.", f.Requested), c.Failure.Line)
	}
	return Nothing()
}

func refusedWithRoom(c *ledger.Case) Finding {
	if ledger.AbsurdSize(c) {
		return Seen(0.4, "A kernel that writes past its end, or a version that reads a length wrong, makes such numbers.", c.Failure.Line)
	}
	if !c.Root(fact.TorchAlloc) || !ledger.Roomy(c) || ledger.TakingCache(c) {
		return Nothing()
	}
	if c.Backend == "rocm" || c.Backend == "xpu" {
		return Seen(0.7, fmt.Sprintf("%s was free and %s was refused: the runtime refuses, the card is not full.", c.F().Free, c.F().Requested), c.Failure.Line)
	}
	return Seen(0.2, fmt.Sprintf("%s was free and %s was refused.", c.F().Free, c.F().Requested), c.Failure.Line)
}

// metalOutsideHeap: "other allocations" are MPSGraph temporaries of this very
// process; when they dominate, something leaks there.
func metalOutsideHeap(c *ledger.Case) Finding {
	f := c.F()
	if !c.Root(fact.MPSAlloc) || f.Allocated == nil || f.OtherAllocations == nil {
		return Nothing()
	}
	if f.OtherAllocations.Bytes > 2*f.Allocated.Bytes {
		return Seen(0.65, fmt.Sprintf("%s are Metal's own temporaries of this process, against %s of tensors: several versions leak there.", f.OtherAllocations, f.Allocated), c.Failure.Line)
	}
	return Nothing()
}
