package allocator

import (
	"fmt"
	"math"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
)

// What weights come to in fewer bits, where the log does not name the model:
// arithmetic on what the process holds. While loading, all of it is weights;
// later it may be, so that the effect says how much of it would have to be.

// narrower is a change of format and what is left of the weights by it.
type narrower struct {
	label, from string
	share       float64
}

var (
	InFourBit  = narrower{"4 bit", "16-bit", 0.3}  // NF4 and the 16-bit tail of embeddings and head
	InEightBit = narrower{"8 bit", "16-bit", 0.55} // likewise
	InHalf     = narrower{"16 bit", "32-bit", 0.5}
)

// Shrinks is what the change frees of so many bytes.
func Shrinks(bytes int64, n narrower) int64 { return bytes - n.of(bytes) }

func (n narrower) of(bytes int64) int64 { return int64(math.Ceil(float64(bytes) * n.share)) }

// Narrowed is the effect of such a change by a fix. A model whose size the
// name tells is better sized as a whole.
func Narrowed(fix string, n narrower) func(*ledger.Case) *effect.Effect {
	return func(c *ledger.Case) *effect.Effect {
		if effect.Estimated(c, fix) != nil {
			return nil
		}
		return Narrower(c, n)
	}
}

// effectHalf: image programs load 16 bit unless told otherwise.
func effectHalf(c *ledger.Case) *effect.Effect {
	if c.In("a1111", "comfyui", "fooocus", "forge") {
		return nil
	}
	return Narrowed("half_precision", InHalf)(c)
}

// Narrower: what this process holds and what it asked for, narrowed,
// against what the card has for it.
func Narrower(c *ledger.Case, n narrower) *effect.Effect {
	held, have, ok := WeightsAndRoom(c)
	if !ok || ledger.Quantised(c) != "" || ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit") != "" {
		return nil
	}
	f := c.F()
	e := &effect.Effect{NeedBytes: n.of(held + f.Requested.Bytes), HaveBytes: have, Basis: "log"}
	least := n.least(c, held, have)
	switch {
	case least > held && e.NeedBytes <= have:
		return nil // somebody else fills the card
	case e.NeedBytes > have:
		e.Note = fmt.Sprintf("Even if all of the %s that it holds and the %s that it wanted are %s weights, %s is too much.%s", units.Amount(held), f.Requested, n.from, n.label, cardFor(c, e.NeedBytes))
	case c.Phase == "load" && c.F().Allocated != nil:
		e.Fits, e.Certainty = true, effect.Bound
		e.Note = fmt.Sprintf("The %s loaded so far and the %s that failed, if they are %s weights, at %s. A lower bound: what was still to come is not in the log; weights of up to %s in all fit that way.",
			units.Amount(held), f.Requested, n.from, n.label, units.Amount(int64(float64(have-units.GiB)/n.share)))
	default:
		e.Fits, e.Certainty = true, effect.Condition
		e.NeedBytes = n.of(held) + f.Requested.Bytes
		enough := fmt.Sprintf("Enough for this request if at least %s of them are weights.", units.Amount(least))
		if least*20 < held {
			enough = "Hardly any of them need be weights for this request; what comes after it needs room too."
		}
		e.Note = fmt.Sprintf("If the %s that it holds are %s weights, they become %s, beside the %s that it wanted. %s", units.Amount(held), n.from, units.Amount(n.of(held)), f.Requested, enough)
	}
	return e
}

// cardFor names the smallest card for what this one cannot hold.
func cardFor(c *ledger.Case, need int64) string {
	vendor := map[string]string{"rocm": "AMD"}[c.Backend]
	card, ok := fit.SmallestCard(need+ledger.DriverContext, vendor)
	if !ok || c.Backend != "cuda" && vendor == "" || c.F().Limit != nil {
		return ""
	}
	return fmt.Sprintf(" The smallest card for %s at least has %d GB (such as %s).", units.Amount(need), card.GB, card.Names[0])
}

// least is how much of what is held must be weights for the change to free what
// was lacking.
func (n narrower) least(c *ledger.Case, held, have int64) int64 {
	f := c.F()
	short := held + f.Requested.Bytes - have
	if f.Free != nil && !ledger.Overfull(c) {
		short = max(short, f.Requested.Bytes-f.Free.Bytes)
	}
	return max(0, int64(math.Ceil(float64(short)/(1-n.share))))
}

// WeightsAndRoom is what this process holds and the card has for it, without
// what others and the driver's context take. In training the weights are the
// smaller part.
func WeightsAndRoom(c *ledger.Case) (held, have int64, ok bool) {
	f := c.F()
	if !ledger.TorchFigures(c) || f.Allocated == nil && (f.Total == nil || f.Free == nil) || c.Training() || ledger.Roomy(c) || ledger.NeverFits(c) != "" || clues.Unaccounted(c) {
		return 0, 0, false
	}
	if c.In("vllm", "sglang") && c.Phase != "load" && !stage.Profiling(c) && !stage.LoadingWeights(c) {
		return 0, 0, false // the cache fills the share, however small the weights are
	}
	held = ledger.SizeOf(f.Allocated)
	switch {
	case f.Allocated == nil:
		held, have = f.Total.Bytes-f.Free.Bytes, f.Total.Bytes-ledger.DriverContext
	case f.Limit != nil:
		have = f.Limit.Bytes - ledger.SizeOf(f.OtherAllocations)
	case f.Total != nil && c.Others.Has():
		have = f.Total.Bytes - max(c.Others.Bytes, ledger.DriverContext)
	case f.Total != nil:
		have = f.Total.Bytes - ledger.DriverContext
	}
	return held, have, have > 0
}
