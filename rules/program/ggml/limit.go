package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// aboveMetal is what weights, cache and graph take above what Metal recommends
// at most. Nothing was refused there: a command buffer failed later.
func aboveMetal(c *ledger.Case) (b ggmlBudget, over int64, ok bool) {
	f := c.F()
	if !c.Root(fact.GGMLMetal) || f.Limit == nil {
		return b, 0, false
	}
	b = budget(c)
	if f.Allocated != nil && b.Weights == 0 {
		b.Weights = max(f.Allocated.Bytes-b.KV-b.Compute, 0)
	}
	over = max(ledger.SizeOf(f.Allocated), b.Weights+b.KV+b.Compute) - f.Limit.Bytes
	return b, over, over > 0
}

// contextUnder is the largest context, in steps of 256, whose cache is smaller
// by what goes over the limit.
func (b ggmlBudget) contextUnder(over int64) (context, freed int64, ok bool) {
	if b.KV <= over || b.Context == 0 {
		return 0, 0, false
	}
	context = int64(float64(b.Context)*float64(b.KV-over)/float64(b.KV)) / 256 * 256
	return context, b.KV - ledger.Proportion(b.KV, context, b.Context), context >= 512
}

// dropUnder is how many layers to keep in system memory for that: each takes
// its weights and its part of the cache with it.
func (b ggmlBudget) dropUnder(over int64) (layers, freed int64, ok bool) {
	if b.Layers < 2 || b.Weights == 0 {
		return 0, 0, false
	}
	each := (b.Weights + b.KV) / b.Layers
	layers = ledger.CeilDiv(over, max(each, 1))
	return layers, layers * each, layers < b.Layers
}

// underLimit states what a change takes off, against the limit.
func underLimit(c *ledger.Case, b ggmlBudget, over, freed int64, how string) *effect.Effect {
	limit := c.F().Limit.Bytes
	return b.effect(limit+over-freed, limit, fmt.Sprintf("%s were taken of %s; %s", units.Format(limit+over), units.Format(limit), how))
}

// wiredLimit is the limit to set in MiB: what was taken and 500 MiB, in steps
// of 256; 6144 where the log does not say.
func wiredLimit(c *ledger.Case) int64 {
	if _, over, ok := aboveMetal(c); ok {
		return ledger.CeilDiv(c.F().Limit.Bytes+over+500*units.MiB, 256*units.MiB) * 256
	}
	return 6144
}

func effectWiredLimit(c *ledger.Case) *effect.Effect {
	b, over, ok := aboveMetal(c)
	if !ok {
		return nil
	}
	need := c.F().Limit.Bytes + over
	return b.effect(need, wiredLimit(c)*units.MiB, fmt.Sprintf("%s more than macOS gives the GPU by itself, and 500 MiB to spare. Exact, if the Mac's RAM has it beside what else runs.", units.Format(over)))
}

// effectCacheUnder: the cache at 8 bit.
func effectCacheUnder(c *ledger.Case) *effect.Effect {
	b, over, ok := aboveMetal(c)
	if !ok || b.KV == 0 || quantisedCache(c) {
		return nil
	}
	freed := b.KV - ledger.Proportion(b.KV, 17, 32)
	return underLimit(c, b, over, freed, fmt.Sprintf("q8_0 takes 17/32 of the cache of %s and frees %s.", units.Format(b.KV), units.Format(freed)))
}

func effectContextUnder(c *ledger.Case) *effect.Effect {
	b, over, ok := aboveMetal(c)
	if !ok || b.KV == 0 {
		return nil
	}
	n, freed, ok := b.contextUnder(over)
	if !ok {
		return underLimit(c, b, over, b.KV, fmt.Sprintf("even without any cache, %s, it stays above.", units.Format(b.KV)))
	}
	return underLimit(c, b, over, freed, fmt.Sprintf("the cache is linear in the context, and %d tokens instead of %d free %s.", n, b.Context, units.Format(freed)))
}

func effectLayersUnder(c *ledger.Case) *effect.Effect {
	b, over, ok := aboveMetal(c)
	if !ok {
		return nil
	}
	n, freed, ok := b.dropUnder(over)
	if !ok {
		return nil
	}
	return underLimit(c, b, over, freed, fmt.Sprintf("%d of %d layers on the GPU instead of all, each of about %s with its cache, free %s. Layers differ somewhat in size.", b.Layers-n, b.Layers, units.Format(freed/n), units.Format(freed)))
}

// effectPoolBatch: arenas of 2023 are planned for 512 tokens, and what a batch
// takes of them is linear in it.
func effectPoolBatch(c *ledger.Case) *effect.Effect {
	f := c.F()
	s, ok := c.Setting("batch_size")
	now, whole := ledger.Whole(s.Value)
	if !ok || !whole || now <= poolBatch || !c.Root(fact.GGMLPool) || f.Requested == nil || f.Free == nil {
		return nil
	}
	need := ledger.Proportion(f.Requested.Bytes, poolBatch, now)
	return &effect.Effect{NeedBytes: need, HaveBytes: f.Free.Bytes, Fits: need <= f.Free.Bytes, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s at %d tokens make %s at %d, up to the tensor that failed; what follows it has the rest of the pool.", units.Format(f.Requested.Bytes), now, units.Format(need), poolBatch)}
}

// poolBatch is the batch that those arenas are planned for.
const poolBatch = 512
