package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// A refused compute buffer finds room when weights or cache leave it some: the
// arithmetic of the fixes that make the cache smaller.

// besideGraph is the budget of a device that refused its compute buffer, and
// what that buffer is at most once flash attention is on, which the same step
// turns on where the log says that it is off.
func besideGraph(c *ledger.Case) (b ggmlBudget, graph int64, ok bool) {
	if c.Failure.Stage != "compute" || ledger.InHost(c) || c.Root(fact.GGMLLimit) || diffuses(c) || absurdGraph(c) {
		return b, 0, false
	}
	b = budget(c)
	graph = b.Refused - min(scores(c, b.Context), b.Refused)
	return b, graph, b.Free > 0 && b.Weights > 0 && b.KV > 0 && b.Context > 0 && b.Refused > 0
}

// contextBeside is the largest context, in steps of 256, whose cache leaves
// room for the graph; need is what all of it takes then.
func (b ggmlBudget) contextBeside(graph int64) (context, need int64, ok bool) {
	left := b.Free - b.Weights - contextReserve - graph
	if left <= 0 || left >= b.KV {
		return 0, 0, false
	}
	context = int64(float64(b.Context)*float64(left)/float64(b.KV)) / 256 * 256
	return context, b.Free - left + ledger.Proportion(b.KV, context, b.Context), context >= 512
}

// effectContextBeside: cache and graph with a shorter context. The graph
// shrinks with it too, so that this is a bound.
func effectContextBeside(c *ledger.Case) *effect.Effect {
	b, graph, ok := besideGraph(c)
	if !ok {
		return nil
	}
	n, need, ok := b.contextBeside(graph)
	if left := b.Free - b.Weights - contextReserve - graph; left >= b.KV {
		n, ok = contextToTry(c), true // flash attention alone makes the room
		need = b.Free - left + ledger.Proportion(b.KV, n, b.Context)
	}
	if !ok {
		need = b.Weights + graph + contextReserve
		if need <= b.Free {
			return nil
		}
		return b.effect(need, b.Free, fmt.Sprintf("Even without a cache, weights of %s and %s of compute buffer are too much.", units.Format(b.Weights), units.Format(graph)))
	}
	return b.effect(need, b.Free, fmt.Sprintf("The cache is linear in the context: %s for %d tokens make %s for %d, beside %s of compute buffer.%s", units.Format(b.KV), b.Context, units.Format(ledger.Proportion(b.KV, n, b.Context)), n, units.Format(graph), withFlash(b, graph)))
}

// effectCacheBeside: the same with the cache at 8 bit.
func effectCacheBeside(c *ledger.Case) *effect.Effect {
	b, graph, ok := besideGraph(c)
	if !ok || quantisedCache(c) {
		return nil
	}
	freed := b.KV - ledger.Proportion(b.KV, 17, 32)
	return b.effect(b.Weights+b.KV-freed+graph+contextReserve, b.Free, fmt.Sprintf("q8_0 takes 17/32 of the cache of %s and frees %s.%s", units.Format(b.KV), units.Format(freed), withFlash(b, graph)))
}

// withFlash says that flash attention is counted in.
func withFlash(b ggmlBudget, graph int64) string {
	if graph == b.Refused {
		return ""
	}
	return fmt.Sprintf(" Two changes together: flash attention takes %s off the compute buffer.", units.Format(b.Refused-graph))
}

// leastBatch is the smallest physical batch worth having.
const leastBatch = 32

// effectBatchOfGraph: the compute buffer is linear in the physical batch.
func effectBatchOfGraph(c *ledger.Case) *effect.Effect {
	b := budget(c)
	limit := b.batchLimit(c)
	if c.Failure.Stage != "compute" || ledger.InHost(c) {
		return nil
	}
	n, need, ok := b.batchThatFits(limit)
	if !ok {
		if _, _, known := besideGraph(c); !known || ledger.Proportion(b.Refused, leastBatch, max(b.Batch, leastBatch)) <= limit {
			return nil
		}
		need = ledger.Proportion(b.Refused, leastBatch, b.Batch)
		return b.effect(need, max(limit, 0), fmt.Sprintf("Even at %d tokens it takes %s; beside weights of %s and a cache of %s that is too much.", leastBatch, units.Format(need), units.Format(b.Weights), units.Format(b.KV)))
	}
	note := fmt.Sprintf("The compute buffer is linear in the physical batch: %s at %d make %s at %d.", units.Format(b.Refused), b.Batch, units.Format(need), n)
	if c.Root(fact.GGMLLimit) {
		note += " Held against the 4 GiB that most drivers give in one piece."
	}
	return b.effect(need, limit, note)
}

// effectSplit: every card takes its share of weights and cache, if the log says
// what each has.
func effectSplit(c *ledger.Case) *effect.Effect {
	shares, free := shareList(c), freeByIndex(c)
	weights, whole := weightsByIndex(c)
	f := c.F()
	if len(shares) < 2 || len(free) < len(shares) || f.Device == nil || weights[int(f.Device.Value)] == 0 || c.Failure.Stage != "kv" && c.Failure.Stage != "compute" {
		return nil
	}
	full := int(f.Device.Value)
	all := whole + cacheOfAll(c, weights[full], whole)
	sum := int64(0)
	for _, s := range shares {
		sum += s
	}
	reserve := int64(loadReserve)
	if c.Failure.Stage == "compute" {
		reserve = contextReserve + ledger.Requested(c)
	}
	e := &effect.Effect{Fits: true, Basis: "log", Certainty: effect.Bound}
	for i, s := range shares {
		need := ledger.Proportion(all, s, sum) + reserve
		if need > free[i] {
			e.Fits = false
		}
		if i == full {
			e.NeedBytes, e.HaveBytes = need, free[i]
		}
	}
	e.Note = fmt.Sprintf("Weights and cache of %s in these proportions, and %s on each card for the rest; counted for GPU %d, and held against what every card had. Whole layers move, so that it comes out a little different.", units.Format(all), units.Format(reserve), full)
	return e
}

// cacheOfAll is the cache of all cards: the refused one and its like on the
// others, by their weights, else what the log states.
func cacheOfAll(c *ledger.Case, here, whole int64) int64 {
	if c.Failure.Stage == "kv" {
		return ledger.Proportion(ledger.Requested(c), whole, here)
	}
	return ledger.SizeOf(c.F().KVBuffer)
}
