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
		out["crumb"] = units.Amount(ledger.Requested(c)) + " is very little, so memory was nearly full already: find out what fills it."
	case after(c):
		out["when"] = "It ran well for a while before. So either this input was larger than earlier ones, or results are kept and memory climbs."
	case onMac(c) || shared(c):
		out["when"] = "This GPU shares the computer's RAM, so everything else in RAM leaves less for it."
	case used > 0 && 4*used < total:
		out["when"] = "The pasted table shows only " + out["shown"] + " in use. If it was taken before the start, this program itself needs more than the card has."
	case inRAM(c):
		out["when"] = "If a small input works, this input is too large. If a small input fails too, the reason is a limit, a wrong size or a full machine."
	default:
		out["when"] = "Look at the card before the program starts. If it is nearly full then, something else holds the memory. If it is nearly empty, this program needs more than the card has."
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
		return "Halve the batch size in the script's options or configuration file. If it is 1 already, use smaller images or shorter sequences."
	case work == "text-inference":
		return "Halve the context length, and serve fewer requests at a time."
	case slices.Contains(pictures, work):
		return "Halve the width and height: that takes about a quarter of the memory. Process one image at a time, or in tiles if the program can."
	case work == "audio":
		return "Split the recording into shorter parts, and process one at a time."
	case byCode(c):
		return "Try a tenth of the input. If it runs, process the data in blocks, and write out each result before the next block."
	}
	return "Halve the program's setting for how much it works on at once: batch, tile or block size, threads, jobs or parallel requests. If it has none, use a smaller input."
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
