package ggml

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// layersToKeep is the -ngl to paste: computed, else a few layers fewer, else a
// value to start from.
func layersToKeep(c *ledger.Case) int64 {
	if b, over, ok := aboveMetal(c); ok {
		if n, _, ok := b.dropUnder(over); ok {
			return b.Layers - n
		}
	}
	b := budget(c)
	if n, _, ok := b.keepAny(c.Failure.Stage); ok {
		return n
	}
	if _, none := b.noLayerFits(c.Failure.Stage); none {
		return 0
	}
	switch {
	case b.Layers > 4 && (c.Root(fact.GGMLRuntime) || c.Failure.Stage == "kv" || c.Failure.Stage == "compute"):
		return b.Layers - max(2, b.Layers/16)
	case b.Layers > 4:
		return b.Layers * 3 / 4
	}
	return 20
}

// keepAny is keep or what drop leaves, by what was refused.
func (b ggmlBudget) keepAny(stage string) (layers, need int64, ok bool) {
	if stage == "kv" || stage == "compute" {
		n, need, ok := b.drop(stage == "kv")
		return b.Layers - n, need, ok
	}
	return b.keep()
}

// contextToTry is the context to paste: computed, else one that fits nearly
// anywhere, else half, else 4096.
func contextToTry(c *ledger.Case) int64 {
	if b, over, ok := aboveMetal(c); ok {
		if n, _, ok := b.contextUnder(over); ok {
			return n
		}
	}
	if b, graph, ok := besideGraph(c); ok {
		if n, _, ok := b.contextBeside(graph); ok {
			return n
		}
	}
	b := budget(c)
	if c.Failure.Stage == "kv" {
		if n, _, ok := b.contextThatFits(); ok {
			return n
		}
	}
	if b.Context == 0 {
		return 4096
	}
	if _, ok := roomUnknown(c, b); ok {
		return b.modestContext()
	}
	return b.halvedContext(b.batchLimit(c))
}

// modestContext is a start where nothing says how much there is: half of what
// was refused may be as much too long.
func (b ggmlBudget) modestContext() int64 {
	n := min(max(b.Context/4, 2048), 8192, b.Context/2)
	return max(n/256*256, 512)
}

// halvedContext halves the context until the buffer would clear a limit with a
// fifth to spare: part of a compute buffer does not depend on the context.
func (b ggmlBudget) halvedContext(limit int64) int64 {
	n := b.Context / 2
	for limit > 0 && n > 4096 && ledger.Proportion(b.Refused, n, b.Context)*5 > limit*4 {
		n /= 2
	}
	return max(n/256*256, 512)
}

// batchToTry is the physical batch to paste.
func batchToTry(c *ledger.Case) int64 {
	b := budget(c)
	if n, _, ok := b.batchThatFits(b.batchLimit(c)); ok && c.Failure.Stage == "compute" {
		return n
	}
	return max(b.Batch/2, 64)
}

// batchLimit is what a compute buffer must stay below: what the device gives
// in one piece, or the room that is left.
func (b ggmlBudget) batchLimit(c *ledger.Case) int64 {
	if c.Root(fact.GGMLLimit) {
		if b.Refused > 4*units.GiB {
			return 4 * units.GiB
		}
		return 0
	}
	return b.room()
}

// ggufLadder are the usual files of a model, the largest first.
var ggufLadder = []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"}

// quantThatFits is the largest usual file of the model whose weights find room
// on the card, beside a cache and a compute buffer.
func quantThatFits(c *ledger.Case) (format string, need, have int64, ok bool) {
	free, _ := freeOfDevice(c)
	have = free - ledger.BesideWeights
	if free == 0 || ledger.InHost(c) || severalDevices(c) {
		return "", 0, 0, false
	}
	for _, format := range ggufLadder {
		if need, ok := ledger.WeightsIn(c, format); ok && need <= have {
			return format, need, have, true
		}
	}
	return "", 0, 0, false
}
