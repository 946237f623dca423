package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/rules/effect"
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
		if i, ok := deviceIndex(b.Device); ok && b.Kind == "weights" && !ggml.HostMemory(b.Device) && i < len(list) {
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
		switch {
		case full == i:
			bytes = x.weights - refused
		case full >= 0 && x.weights > 0:
			bytes = x.weights + refused/int64(len(cards)-1)
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

// effectSplit: every card takes its share of weights and cache, if the log says
// what each has. The cache of all cards is the refused one and its like on the
// others, by their weights, else what the log states.
func effectSplit(c *ledger.Case) *effect.Effect {
	b, cards, shares := budgetOf(c), cardsOf(c), shareList(c)
	device := c.F().Device
	if shares == nil || device == nil || int(device.Value) >= len(cards) || b.Part != "kv" && b.Part != "compute" || b.Weights == 0 {
		return nil
	}
	full, sum, whole := int(device.Value), int64(0), int64(0)
	for i, s := range shares {
		sum += s
		whole += cards[i].weights
	}
	cache, reserve := ledger.SizeOf(c.F().KVBuffer), contextReserve+b.Refused
	if b.Part == "kv" {
		cache, reserve = ledger.Proportion(b.Refused, whole, b.Weights), loadReserve
	}
	e := &effect.Effect{Fits: true, Basis: "log", Certainty: effect.Bound}
	for i, s := range shares {
		if cards[i].free == 0 {
			return nil
		}
		need := ledger.Proportion(whole+cache, s, sum) + reserve
		e.Fits = e.Fits && need <= cards[i].free
		if i == full {
			e.NeedBytes, e.HaveBytes = need, cards[i].free
		}
	}
	e.Note = fmt.Sprintf("Weights and cache of %s in these proportions, and %s on each card for the rest; counted for GPU %d, and held against what every card had. Whole layers move, so that it comes out a little different.", units.Format(whole+cache), units.Format(reserve), full)
	return e
}
