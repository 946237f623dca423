package server

import (
	"fmt"
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// figures are what servers' sentences name beside the log's own.
var figures = cause.Figures{
	"share":        cause.Number("%g", shareSet),
	"needed_share": cause.Number("%.2f", neededUtilization),
	"floor":        cause.Number("%.3f", fractionFloor),
	"taken":        cause.Amount(takenAtStart),
	"room":         cause.Amount(func(c *ledger.Case) int64 { return ledger.SizeOf(c.F().Free) }),
	"reserve": cause.Amount(func(c *ledger.Case) int64 {
		return max(ledger.SizeOf(c.F().Requested)-ledger.SizeOf(c.F().Free), 0) + units.GiB/2
	}),
}

// share is the part of a card that a server takes for weights and cache, before
// graphs and requests find what is left.
type share struct {
	usual float64                              // where nobody sets it
	later func(c *ledger.Case) (float64, bool) // what is usual in later versions
	least float64                              // below it nothing runs
	off   float64                              // what a smaller share takes off at least
	of    func(c *ledger.Case) int64           // what it is a part of
	// tooLarge: what failed found no room beside it.
	tooLarge func(c *ledger.Case) bool
}

// shareSet is the share that a server was given, by its message or an option.
func shareSet(c *ledger.Case) (u float64, ok bool) {
	if u := c.F().Utilization; u != nil && u.Value > 0 && u.Value <= 1 {
		return u.Value, true
	}
	s, _ := c.Setting("gpu_memory_utilization", "mem_fraction_static")
	u, err := strconv.ParseFloat(s.Value, 64)
	return u, err == nil && u > 0 && u <= 1
}

// shareBelow holds where a smaller share than that was set.
func shareBelow(most float64) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { u, ok := shareSet(c); return ok && u < most }
}

// now is the share as set, else, with false, the usual one.
func (s share) now(c *ledger.Case) (u float64, stated bool) {
	if u, ok := shareSet(c); ok {
		return u, true
	}
	if s.later != nil {
		if u, ok := s.later(c); ok {
			return u, false
		}
	}
	return s.usual, false
}

// lowered is the largest share that passes the start check, else one that leaves
// what was lacking and 3 % of the card, 1 GiB at least: the graphs of other sizes
// and the next requests need room too.
func (s share) lowered(c *ledger.Case) float64 {
	f := c.F()
	if c.Root(fact.VLLMFreeTooLow) && f.Free != nil && cardTotal(c) > 0 {
		free := f.Free.Bytes
		if free > 4*units.GiB {
			free -= startMargin
		}
		return max(0.01, math.Floor(100*float64(free)/float64(cardTotal(c))+1e-9)/100)
	}
	now, _ := s.now(c)
	less := max(s.off, 0.05)
	if stage.OnIntel(c) && ledger.Roomy(c) {
		return max(s.least, math.Floor((now-2*less)*100+1e-9)/100) // what is free does not say how much can be had
	}
	if f.Requested != nil && s.of(c) > 0 {
		lacking := max(0, f.Requested.Bytes-ledger.SizeOf(f.Free)) + max(units.GiB, s.of(c)*3/100)
		if part := float64(lacking) / float64(s.of(c)); part < now {
			less = max(s.off, part)
		}
	}
	return max(s.least, stage.Floor(c, s.of(c), now), math.Floor((now-less)*100+1e-9)/100)
}

// startMargin is left of what is free at the start: that varies by as much.
const startMargin = 3 * units.GiB / 10

// smaller is the effect of that: weights and cache give back the share that is
// taken off, whatever it was.
func (s share) smaller(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !s.tooLarge(c) || f.Requested == nil || f.Free == nil || s.of(c) <= 0 {
		return nil
	}
	now, _ := s.now(c)
	less := math.Max(0, now-s.lowered(c))
	given := int64(less * float64(s.of(c)))
	note := fmt.Sprintf("%.2f of %s less gives back %s beside the %s that was free, the most of it as reserve: what comes after this request may be larger.",
		less, units.Amount(s.of(c)), units.Amount(given), f.Free)
	return bound(f.Requested.Bytes, f.Free.Bytes+given, note)
}

// relative says what to make of a command that lowers a share which the log
// does not state.
func (s share) relative(steps func(c *ledger.Case) []step.Step) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		list := steps(c)
		if now, stated := s.now(c); !stated && len(list) > 0 && !c.Root(fact.VLLMFreeTooLow) {
			list[len(list)-1].Text += fmt.Sprintf("   # %.2f below the default %g: if you set your own value, lower that as much", now-s.lowered(c), now)
		}
		return list
	}
}

// outsideShare are the sentences for a server that took its share of the card.
func outsideShare(onCard func(c *ledger.Case) bool) []cause.Row {
	const set = "| The share is {share} of the card."
	return []cause.Row{
		cause.If(when.All(when.In("graph_capture"), onCard), cause.Decisive, "Weights and cache took their share of the card, and the CUDA graphs did not fit beside it."+set),
		cause.If(when.All(when.In("kv_cache"), onCard), cause.Strong, "The server sized the cache by its share of the card, and the card did not have that much."+set),
		cause.If(when.All(when.In("inference"), onCard), cause.Strong, "Weights and cache took their share of the card, and the computation of a request did not fit beside it."+set),
	}
}

// smallerWeights cure a model that is too large for a server.
var weighs = when.Not(when.Any(vllm.WouldFit, vllm.MostlyTrial)) // the weights may be what is too large

var smallerWeights = []cause.Remedy{
	{Fix: "use_lower_quant", Fit: cause.Cures, If: weighs},
	{Fix: "raise_mem_fraction", Fit: cause.Cures, If: when.Root(fact.SGLangStatic)},
	{Fix: "multi_gpu", Fit: cause.Cures, If: weighs},
	{Fix: "use_smaller_model", Fit: cause.Helps, If: weighs},
	{Fix: "cpu_offload", Fit: cause.Helps, If: weighs},
	{Fix: "bigger_gpu", Fit: cause.LastResort, If: weighs},
}

// serverBug lists what gets round a fault of vLLM or SGLang.
var serverBug = []cause.Remedy{
	{Fix: "upgrade_version", Fit: cause.Cures},
	{Fix: "lower_max_num_seqs", Fit: cause.MayHelp, If: when.Not(when.Root(fact.VLLMProfileMoved))},
	{Fix: "enforce_eager", Fit: cause.MayHelp, If: noCache},
	{Fix: "restart_session", Fit: cause.LastResort, If: when.Root(fact.VLLMProfileMoved)},
}

var inPieces = []cause.Remedy{
	{Fix: "expandable_segments", Fit: cause.Cures},
	{Fix: "lower_mem_fraction", Fit: cause.Cures, If: sglangOnCard},
	{Fix: "lower_gpu_memory_utilization", Fit: cause.Cures, If: shareTooLarge},
	{Fix: "lower_max_batched_tokens", Fit: cause.MayHelp},
}

// fits is the arithmetic of a fix on figures of the log.
func fits(need, have int64, note string) *effect.Effect {
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log", Note: note}
}

func bound(need, have int64, note string) *effect.Effect {
	e := fits(need, have, note)
	e.Certainty = effect.Bound
	return e
}

// shareForHalfCache is the share of the card at which an 8-bit cache holds one
// request, where it does not at the present one and no other change is enough.
func shareForHalfCache(c *ledger.Case) (float64, bool) {
	f := c.F()
	_, stated := shareSet(c)
	lacks := ledger.SizeOf(f.KVNeeded)/2 - ledger.SizeOf(f.KVAvailable)
	if cardTotal(c) <= 0 || !stated || lacks <= 0 || f.KVNeeded == nil || when.Set("kv_cache_memory_bytes", "")(c) {
		return 0, false
	}
	u := shareWith(c, lacks)
	return u, u <= mostUtilization
}
