package rest

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// onset are the figures of the cards: what the log decides of a refusal by its
// size and its time, else how to find out.
func onset(c *ledger.Case) map[string]string {
	out := map[string]string{"crumb": "", "when": "", "less": less(c), "shown": ""}
	used, total := onCards(c)
	if used > 0 {
		out["shown"] = units.Amount(used) + " of " + units.Amount(total)
	}
	switch {
	case fullBefore(c):
		out["crumb"] = units.Amount(ledger.Requested(c)) + " is very little: memory was nearly full before, so what fills it matters."
	case after(c):
		out["when"] = "It had run for a while before, so one input was larger than those before it, or results are kept."
	case onMac(c) || shared(c):
		out["when"] = "This GPU shares the computer's RAM: whatever else is in RAM leaves less for it."
	case used > 0 && 4*used < total:
		out["when"] = "The pasted table shows " + out["shown"] + " in use by others or by the desktop, so it is this program's own need."
	case inRAM(c):
		out["when"] = "If it fails with a small input too, a limit, a wrong size or a full machine is the reason; if not, the input."
	default:
		out["when"] = "If the card is nearly full before the program starts, something else holds it; if not, the work at a time is too much for it."
	}
	return out
}

// after: the work had gone well for a while before it failed.
func after(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	return s != nil && s.Line < c.Failure.Line
}

// onCards is what a pasted table shows as used, where it has one card.
func onCards(c *ledger.Case) (used, total int64) {
	var cards []fact.Device
	for _, d := range c.Facts.Devices {
		if d.Used != nil && d.Total != nil {
			cards = append(cards, d)
		}
	}
	if len(cards) != 1 {
		return 0, 0
	}
	return cards[0].Used.Bytes, cards[0].Total.Bytes
}

// shared: an Intel GPU, most of which have no memory of their own.
func shared(c *ledger.Case) bool { return c.Backend == "xpu" }

// pictures are the trades of those who work on images.
var pictures = []string{"image-generation", "video-generation", "vision", "rendering"}

// less is how the same work is done with less at a time, by what is known of it:
// one way where the log shows the work, words that fit any program where it does
// not.
func less(c *ledger.Case) string {
	work := c.Reader.Work
	switch {
	case c.Training():
		return "Halve the batch size by the script's option or configuration; if it is 1 already, use smaller samples."
	case work == "text-inference":
		return "Half the context length, and fewer requests at a time."
	case slices.Contains(pictures, work):
		return "Half the width and height is a quarter; one image at a time, in tiles where the program has them."
	case work == "audio":
		return "Shorter pieces, one at a time."
	case byCode(c):
		return "Try a tenth of the input. If it runs, work in blocks, and write each result out before the next."
	}
	return "The program's own setting for work at a time (batch, tile or block size, threads, jobs or requests side by side) at half of its present value; where it has none, a smaller input."
}

// tooLittle: the log counts less free RAM than was asked for.
func tooLittle(c *ledger.Case) bool {
	free := ledger.SizeOf(c.F().SystemAvailable)
	return free > 0 && free < ledger.Requested(c) && !onMac(c)
}

// roomFigures are what was free, and what the program held itself.
func roomFigures(c *ledger.Case) map[string]string {
	out := onset(c)
	out["room"], out["own"] = "", ""
	if tooLittle(c) {
		out["room"] = units.Amount(c.F().SystemAvailable.Bytes)
	}
	if own := ledger.SizeOf(c.F().ProcessUsed); own > 0 {
		out["own"] = units.Amount(own)
	}
	return out
}
