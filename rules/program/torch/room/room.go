// Package room says why memory was refused where a card shows room, and who holds
// the rest of it.
package room

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// CountsOut: a small piece was refused beside much that is held, where the
// system is not Windows, which counts promised memory instead.
func CountsOut(c *ledger.Case) bool {
	return !reader.OnWindows(c) && !reader.LooksLikeWindows(c) && (c.Reader.OS == "linux" || c.Backend == "rocm") && c.Asked.Bytes <= 64*units.MiB && c.Mine.Bytes > 2*units.GiB
}

// Elsewhere is what refuses memory that is free, by the system that it runs on.
func Elsewhere(c *ledger.Case) map[string]string {
	out := map[string]string{"elsewhere": "on Windows, RAM and page file used up (what lies on the card needs backing there); ", "settings": "", "larger": ""}
	if c.Total.Bytes > 8*units.GiB { // a smaller card may be the next thing to be short of
		out["larger"] = "A larger card: " + c.Free.String() + " was free."
	}
	switch {
	case CountsOut(c):
		out["elsewhere"] = "on Linux, a count at its end (maps or files of the process, many small pieces take many) or RAM that is full; "
	case c.Reader.OS == "" && reader.LooksLikeWindows(c):
		out["elsewhere"] = "RAM and page file used up, if this is Windows, as the card's size of " + c.Total.String() + ", without a list of processes, suggests (what lies on the card needs backing there); "
	case c.Reader.OS == "linux" || c.Backend == "rocm":
		out["elsewhere"] = "RAM that is full, or locked memory at its limit; "
	}
	if !CountsOut(c) {
		out["settings"] = "Allocator settings: far more than was asked for is free."
	}
	return out
}

// NothingHeld: PyTorch had put nothing on the card yet.
func NothingHeld(c *ledger.Case) bool {
	held := c.F().Allocated
	return held != nil && held.Bytes < 32*units.MiB
}

// SharedAMD: a card of AMD's own memory reports a size just below a whole
// number of GiB (15.98, 191.98); graphics that share RAM report any.
func SharedAMD(c *ledger.Case) bool {
	rest := c.Total.Bytes % units.GiB
	return c.Backend == "rocm" && c.Total.Has() && rest < units.GiB*9/10 && (rest > 0 || c.Total.Bytes >= 64*units.GiB)
}

// Piece is room for [Which] alone.
func Piece(c *ledger.Case) map[string]string { return map[string]string{"which": Which(c)} }

// Which says whether the log shows what asked for one large piece.
func Which(c *ledger.Case) string {
	switch frames := ledger.Trace(c); {
	case c.Explained != nil:
		return "" // it says so
	case len(frames) > 0 && frames[len(frames)-1].Source != "":
		return "The last lines of the traceback show which."
	}
	return "The log does not show which."
}

// FreeAboveTotal: more is free than there is, as ROCm counts where graphics share
// RAM.
func FreeAboveTotal(c *ledger.Case) bool {
	f := c.F()
	return c.Backend == "rocm" && f.Allocated != nil && f.Free != nil && f.Total != nil && f.Free.Bytes > f.Total.Bytes+ledger.Roundings
}

// FirstBlock says what a block made at the start may be.
func FirstBlock(c *ledger.Case) map[string]string {
	asked := c.Asked.Bytes
	out := map[string]string{"as": fmt.Sprintf("%s would be %.0f billion parameters in 16 bit.", c.Asked, float64(asked)/2e9), "share": "", "which": Which(c), "half": units.Amount(asked / 2), "before": "Nothing of this program's"}
	if held := c.F().Allocated; held != nil && held.Bytes > 0 {
		out["before"] = "Of this program only " + held.Text
	}
	if SharedAMD(c) {
		out["share"] = c.Total.String() + " is no size of a card of its own (they report 15.98, 23.98 GiB): graphics that share RAM, of which the driver counts only one part."
	}
	return out
}

// Holder is the process that a table in the log shows with most of what others
// hold of the card, or of the card where the message has no figures.
func Holder(c *ledger.Case) (fact.Process, bool) {
	var most fact.Process
	full := FullInTable(c)
	for _, p := range c.Facts.Processes {
		onCard := p.Device < 0 || p.Device == ledger.GPU(c) || c.F().Device == nil && full != nil && p.Device == full.Index
		if onCard && p.PID != c.OurPID && p.PID > 1 && p.Bytes > most.Bytes {
			most = p
		}
	}
	switch {
	case most.Bytes <= units.GiB || len(c.F().OtherProcesses) > 0:
		return most, false
	case !c.Others.Has():
		return most, full != nil && c.F().Total == nil && most.Bytes*2 > full.Used.Bytes
	}
	return most, most.Bytes*2 > c.Others.Bytes && most.Bytes <= c.Others.Bytes+units.GiB
}

// EndTabled is endListed for a process of a table.
var EndTabled = cause.Cure{
	Fix: "kill_stale_process", If: func(c *ledger.Case) bool { _, ok := Holder(c); return ok && !c.Windows() }, Title: "End the process of the table, if it is yours", Cost: "free; unsaved work in it is lost",
	Told: "The first line says whose it is and since when it runs; a run that was stopped with Ctrl+Z, or a notebook kernel, holds its memory until it ends.",
	Steps: func(c *ledger.Case) []step.Step {
		p, _ := Holder(c)
		return []step.Step{{Kind: "shell", Text: "ps -o pid,user,etime,cmd -p " + quote.PID(p.PID) + "   # on the host, not inside a container\nkill " + quote.PID(p.PID)}}
	},
}

// FullInTable is the failing card in a list of cards that the log has beside the
// failure (nvidia-smi, gpustat, rocm-smi), nil where none shows it full: a list
// made after the crash is empty.
func FullInTable(c *ledger.Case) *fact.Device {
	for i := range c.Facts.Devices {
		d := &c.Facts.Devices[i]
		if d.Used != nil && d.Total != nil && d.Used.Bytes*5 >= d.Total.Bytes*4 && (c.F().Device == nil || d.Index == ledger.GPU(c)) {
			return d
		}
	}
	return nil
}

// IdleInTable is a card that the same list shows empty, nil where none is.
func IdleInTable(c *ledger.Case) *fact.Device {
	full := FullInTable(c)
	for i := range c.Facts.Devices {
		if d := &c.Facts.Devices[i]; full != nil && d.Used != nil && d.Total != nil && d.Used.Bytes*20 < d.Total.Bytes && d.Total.Bytes*4 >= full.Total.Bytes*3 {
			return d
		}
	}
	return nil
}
