package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// card is one of several: what it had before loading and the weights that it
// took, 0 where the log does not say.
type card struct{ free, weights int64 }

// cardsOf are the cards in the order of their numbers, nil where one is missing.
func cardsOf(c *ledger.Case) []card {
	list := make([]card, 16)
	n := 0
	for _, d := range c.Facts.Devices {
		if d.Index >= 0 && d.Index < len(list) {
			list[d.Index].free = max(ledger.SizeOf(d.Free), list[d.Index].free)
			n = max(n, d.Index+1)
		}
	}
	for _, b := range c.Facts.Buffers {
		if i, ok := ledger.DeviceIndex(b.Device); ok && b.Kind == "weights" && !fact.HostMemory(b.Device) && i < len(list) {
			list[i].weights = b.Size.Bytes
			n = max(n, i+1)
		}
	}
	return list[:n]
}

// shareList are proportions in the order of the devices, about GiB: the weights
// that each took, with what was refused moved off the failing card; free memory
// before loading where the weights did not come that far. It is nil where the
// log does not name every device.
func shareList(c *ledger.Case) []int64 {
	cards, refused := cardsOf(c), ledger.Requested(c)
	if len(cards) < 2 {
		return nil
	}
	full, list := -1, make([]int64, len(cards))
	if d := c.F().Device; d != nil && d.Value >= 0 && int(d.Value) < len(cards) && cards[int(d.Value)].weights > 2*refused {
		full = int(d.Value)
	}
	for i, x := range cards {
		bytes := x.free
		if full >= 0 && x.weights > 0 {
			bytes = x.weights + refused/int64(len(cards)-1)
		}
		if i == full {
			bytes = x.weights - refused
		}
		if bytes == 0 {
			return nil
		}
		list[i] = max((bytes+units.GiB/2)/units.GiB, 1)
	}
	return list
}

// splitShares writes the proportions for a command.
func splitShares(c *ledger.Case) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(shareList(c)), " ", ","), "[]")
}
