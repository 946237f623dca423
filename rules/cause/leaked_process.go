package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var leakedProcess = Rule{
	ID:      LeakedProcess,
	Title:   "Other programs hold what is missing",
	Settles: "Run `nvidia-smi` and look for processes that should not be there.",
	Clues: []Clue{
		{Look: listedOthers}, {Look: unlistedOthers},
		First(If(ledger.Unaccounted, Weak, ledger.RestUnknown)),
		Said(Hint, "A handle of a few MiB was refused: the card may have been full before this program's work.", fact.CUDAHandle),
	},
	Remedies: []Remedy{
		{Fix: "kill_stale_process", Fit: Cures},
		{Fix: "select_gpu", Fit: Helps},
		{Fix: "limit_framework_preallocation", Fit: MayHelp, If: ledger.Preallocates},
		{Fix: "restart_session", Fit: MayHelp},
		{Fix: "close_other_apps", Fit: LastResort},
	},
}

// Clues from the figures of the device allocators: who holds the card, and
// whether the card is full at all.

// listedOthers: NVML's list names another process with a real share.
func listedOthers(c *ledger.Case) Finding {
	f := c.F()
	if !ledger.Allocator(c) || f.Total == nil || ledger.Roomy(c) || RanksOnOneCard(c) {
		return Nothing()
	}
	sum, most, pid := int64(0), int64(0), 0
	for _, p := range f.OtherProcesses {
		if p.PID == c.OurPID || p.Bytes < ledger.DriverContext {
			continue // a bare context is nobody's work
		}
		sum += p.Bytes
		if p.Bytes > most {
			most, pid = p.Bytes, p.PID
		}
	}
	if sum < units.GiB || sum*10 < f.Total.Bytes {
		return Nothing()
	}
	weight := Good
	switch {
	case f.Requested != nil && f.Free != nil && sum >= c.Shortfall.Bytes && sum*4 > f.Total.Bytes:
		weight = Decisive
	case sum*6 > f.Total.Bytes:
		weight = Strong
	}
	whose := "beside this program"
	if !c.Mine.Has() && c.OurPID == 0 {
		whose = "another program or this one itself: the message does not say what it holds" // in a container PyTorch does not know its own number
	}
	return Seen(weight, fmt.Sprintf("Process %d holds %s of the %s, %s.", pid, units.Amount(most), f.Total, whose), c.Failure.Line)
}

// unlistedOthers: total - free - this process leaves more than a context.
func unlistedOthers(c *ledger.Case) Finding {
	f := c.F()
	if !ledger.Allocator(c) || !c.Others.Has() || ledger.Roomy(c) || len(f.OtherProcesses) > 0 && c.OurPID == 0 {
		return Nothing()
	}
	rest := c.Others.Bytes - ledger.DriverContext
	if rest <= 0 || f.Total.Bytes <= 0 {
		return Nothing()
	}
	share := float64(rest) / float64(f.Total.Bytes)
	why := fmt.Sprintf("%s is neither free nor this program's own: %s total - %s free - %s here, of which about %s is this program's own context.", c.Others, f.Total, f.Free, c.Mine, units.Amount(ledger.DriverContext))
	switch {
	case c.Root(fact.TorchAsync) && share < 0.5: // its message leaves the pool's unused part out
		return Seen(Weak, why, c.Failure.Line)
	case ledger.Crowded(c):
		return Seen(Decisive, why, c.Failure.Line)
	case rest > units.GiB && share > 0.12:
		return Seen(Weak, why, c.Failure.Line)
	case share > 0.12:
		return Seen(Weak, why, c.Failure.Line)
	}
	return Nothing()
}
