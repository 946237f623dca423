package books

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Card is one of several: what it had before loading and the weights that it
// took, 0 where the log does not say.
type Card struct{ Free, Weights int64 }

// Cards are the cards in the order of their numbers, nil where one is missing.
func Cards(c *ledger.Case) []Card {
	list := make([]Card, 16)
	n := 0
	for _, d := range c.Facts.Devices {
		if d.Index >= 0 && d.Index < len(list) {
			list[d.Index].Free = max(ledger.SizeOf(d.Free), list[d.Index].Free)
			n = max(n, d.Index+1)
		}
	}
	for _, b := range c.Facts.Buffers {
		if i, ok := deviceIndex(b.Device); ok && b.Kind == "weights" && !fact.HostMemory(b.Device) && i < len(list) {
			list[i].Weights = b.Size.Bytes
			n = max(n, i+1)
		}
	}
	return list[:n]
}

// Shares are proportions in the order of the devices, about GiB: the weights
// that each took, with what was refused moved off the failing card; free memory
// before loading where the weights did not come that far. It is nil where the
// log does not name every device.
func Shares(c *ledger.Case) []int64 {
	cards, refused := Cards(c), ledger.Requested(c)
	if len(cards) < 2 {
		return nil
	}
	full, list := -1, make([]int64, len(cards))
	if d := c.F().Device; d != nil && d.Value >= 0 && int(d.Value) < len(cards) && cards[int(d.Value)].Weights > 2*refused {
		full = int(d.Value)
	}
	for i, x := range cards {
		bytes := x.Free
		if full >= 0 && x.Weights > 0 {
			bytes = x.Weights + refused/int64(len(cards)-1)
		}
		if i == full {
			bytes = x.Weights - refused
		}
		if bytes == 0 {
			return nil
		}
		list[i] = max((bytes+units.GiB/2)/units.GiB, 1)
	}
	return list
}

// SharesText writes the proportions for a command.
func SharesText(c *ledger.Case) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(Shares(c)), " ", ","), "[]")
}
