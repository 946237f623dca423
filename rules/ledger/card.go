package ledger

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// ManyCards reports that the model is spread over several cards.
func ManyCards(c *Case) bool {
	if d := c.F().Device; d != nil && d.Value > 0 || strings.HasPrefix(c.Failure.Source, "rank") || c.Signal("distributed") != nil || IntSetting(c, "tensor_parallel_size", "tp_size", "tp") > 1 || IntSetting(c, "pipeline_parallel_size") > 1 {
		return true
	}
	cards := map[int]bool{}
	for _, d := range c.Facts.Devices {
		if d.Index >= 0 && !strings.EqualFold(d.Backend, "cpu") {
			cards[d.Index] = true
		}
	}
	return len(cards) > 1
}

// cardBytes is what the failing card offers this program: all of it less what
// others hold.
func cardBytes(c *Case) (int64, bool) {
	f := c.F()
	switch {
	case f.Limit != nil && (c.Backend == "mps" || c.Backend == "metal"):
		return f.Limit.Bytes, true
	case f.Total != nil && f.Total.Bytes > units.GiB:
		if c.Others.Has() && c.OthersAtMost.Bytes > units.GiB {
			return f.Total.Bytes - c.OthersAtMost.Bytes, true
		}
		return f.Total.Bytes, true
	}
	bytes := int64(0)
	for _, d := range c.Facts.Devices {
		switch card, ok := fit.Card(d.Name); {
		case d.Total != nil:
			bytes = d.Total.Bytes
		case ok:
			bytes = max(card.TotalBytes, SizeOf(d.Free)) // some names are sold with two sizes
		}
	}
	return bytes, bytes > units.GiB
}

// FreestCard is the card with most free memory among those of a table that the
// failure does not name.
func FreestCard(c *Case) (index int, free int64, ok bool) {
	for _, d := range c.Facts.Devices {
		if c.F().Device == nil || d.Index < 0 || d.Index == GPU(c) {
			continue
		}
		left := SizeOf(d.Free)
		if d.Total != nil && d.Used != nil {
			left = d.Total.Bytes - d.Used.Bytes
		}
		if left > free {
			index, free, ok = d.Index, left, true
		}
	}
	return index, free, ok
}

// GPU is the index of the card that the message names. It counts inside
// CUDA_VISIBLE_DEVICES, as PyTorch's own arguments do.
func GPU(c *Case) int {
	if d := c.F().Device; d != nil && d.Value >= 0 {
		return int(d.Value)
	}
	return 0
}

// OtherGPU is a card that the message does not name: the freest of a table,
// where the log has one.
func OtherGPU(c *Case) int {
	if index, _, ok := FreestCard(c); ok {
		return index
	}
	if GPU(c) == 0 {
		return 1
	}
	return 0
}

// OnCard reports that the memory that ran out is a card's, not the computer's.
func OnCard(c *Case) bool { return c.Backend != "" && c.Backend != "cpu" }

// NeverFits says that the one piece that was asked for exceeds the empty card.
func NeverFits(c *Case) string {
	f := c.F()
	if AbsurdSize(c) {
		return "The size in the message is above an exbibyte. That is not a real size, and no GPU has that much."
	}
	if f.Requested == nil || f.Total == nil || f.Requested.Bytes <= f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("One request asks for %s, and the whole GPU has %s: it would not fit even if the GPU were empty.", f.Requested, f.Total)
}

// TinyCard: 4 GiB or less, where no quantisation of a usual model is enough.
func TinyCard(c *Case) bool { t := c.F().Total; return t != nil && t.Bytes <= 4*units.GiB }

// FillsCard: this program holds four fifths of what there is to have.
func FillsCard(c *Case) bool { return fills(c, 80) }

// FillsAlone: so much of it that a page may say that it fills the card by
// itself, 85 %.
func FillsAlone(c *Case) bool { return fills(c, 85) }

func fills(c *Case, percent int64) bool {
	all := c.Ceiling()
	return c.Mine.Has() && all.Has() && c.Mine.Bytes*100 >= all.Bytes*percent
}

// Crowded: others hold more than a quarter of the card, whatever this program
// was doing when it struck.
func Crowded(c *Case) bool {
	rest := c.Others.Bytes - DriverContext
	return c.Others.Has() && rest > 6*units.GiB/5 && rest*4 > c.Total.Bytes
}

// Taken: others hold half of the card or more, and without them there was room.
func Taken(c *Case) bool {
	return c.Others.Has() && c.OthersAtMost.Bytes*2 >= c.Total.Bytes && c.Mine.Bytes+c.Asked.Bytes <= c.Total.Bytes
}

// Roomy: free covers the request by far, so nobody filled the card. A few MiB
// too many prove nothing: the allocator asks for more than it prints, and what
// is free was looked up after the refusal.
func Roomy(c *Case) bool {
	f := c.F()
	return c.Free.Has() && f.Requested != nil && f.Free.Bytes > f.Requested.Bytes+max(f.Requested.Bytes/10, 200*units.MiB) &&
		(f.Total == nil || f.Free.Bytes >= f.Total.Bytes/20)
}

// Overfull: more is allocated or reserved than the card has, so Windows
// already spilled into system memory and the figures of the pool mean little.
func Overfull(c *Case) bool {
	f := c.F()
	return f.Total != nil && (f.Allocated != nil && f.Allocated.Bytes > f.Total.Bytes || f.Reserved != nil && f.Reserved.Bytes > f.Total.Bytes)
}

// AbsurdSize: the allocator would not even print what was asked for.
func AbsurdSize(c *Case) bool {
	s := c.Signal("absurd_size")
	return s != nil && c.Root(fact.TorchAlloc) && s.Line >= c.Failure.Line && s.Line <= c.Failure.EndLine
}

// Lopsided returns a card with a third of its memory free that the process on
// the full card uses as well, nil if there is none.
func Lopsided(c *Case) *fact.Device {
	if c.F().Device == nil {
		return nil
	}
	full := int(c.F().Device.Value)
	pids := map[int]bool{}
	for _, p := range c.Facts.Processes {
		if p.Device == full {
			pids[p.PID] = true
		}
	}
	for _, p := range c.Facts.Processes {
		for i := range c.Facts.Devices {
			d := &c.Facts.Devices[i]
			if p.Device != full && pids[p.PID] && d.Index == p.Device && d.Used != nil && d.Total != nil && d.Used.Bytes*3 < d.Total.Bytes*2 {
				return d
			}
		}
	}
	return nil
}
