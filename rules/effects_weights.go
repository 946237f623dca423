package rules

import (
	"fmt"
	"math"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
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
	inFourBit  = narrower{"4 bit", "16-bit", 0.3}  // NF4 and the 16-bit tail of embeddings and head
	inEightBit = narrower{"8 bit", "16-bit", 0.55} // likewise
	inHalf     = narrower{"16 bit", "32-bit", 0.5}
)

// shrinks is what the change frees of so many bytes.
func shrinks(bytes int64, n narrower) int64 { return bytes - n.of(bytes) }

func (n narrower) of(bytes int64) int64 { return int64(math.Ceil(float64(bytes) * n.share)) }

// narrowed is the effect of such a change by a fix. A model whose size the
// name tells is better sized as a whole.
func narrowed(fix string, n narrower) func(*Case) *Effect {
	return func(c *Case) *Effect {
		if estimated(c, fix) != nil {
			return nil
		}
		return effectNarrower(c, n)
	}
}

// effectHalf: image programs load 16 bit unless told otherwise.
func effectHalf(c *Case) *Effect {
	if c.In("a1111", "comfyui", "fooocus", "forge") {
		return nil
	}
	return narrowed("half_precision", inHalf)(c)
}

// effectNarrower: what this process holds and what it asked for, narrowed,
// against what the card has for it.
func effectNarrower(c *Case, n narrower) *Effect {
	held, have, ok := weightsAndRoom(c)
	if !ok || quantised(c) != "" || setQuantised(c, "load_in_4bit", "load_in_8bit") != "" {
		return nil
	}
	f := c.F()
	e := &Effect{NeedBytes: n.of(held + f.Requested.Bytes), HaveBytes: have, Basis: "log"}
	least := n.least(c, held, have)
	switch {
	case least > held && e.NeedBytes <= have:
		return nil // somebody else fills the card
	case e.NeedBytes > have:
		e.Note = fmt.Sprintf("Even if all of the %s that it holds and the %s that it wanted are %s weights, %s is too much.%s", units.Format(held), f.Requested.Text, n.from, n.label, cardFor(c, e.NeedBytes))
	case c.Phase == "load" && c.F().Allocated != nil:
		e.Fits, e.Certainty = true, bound
		e.Note = fmt.Sprintf("The %s loaded so far and the %s that failed, if they are %s weights, at %s. A lower bound: what was still to come is not in the log; weights of up to %s in all fit that way.",
			units.Format(held), f.Requested.Text, n.from, n.label, units.Format(int64(float64(have-units.GiB)/n.share)))
	default:
		e.Fits, e.Certainty = true, condition
		e.NeedBytes = n.of(held) + f.Requested.Bytes
		enough := fmt.Sprintf("Enough for this request if at least %s of them are weights.", units.Format(least))
		if least*20 < held {
			enough = "Hardly any of them need be weights for this request; what comes after it needs room too."
		}
		e.Note = fmt.Sprintf("If the %s that it holds are %s weights, they become %s, beside the %s that it wanted. %s", units.Format(held), n.from, units.Format(n.of(held)), f.Requested.Text, enough)
	}
	return e
}

// cardFor names the smallest card for what this one cannot hold.
func cardFor(c *Case, need int64) string {
	vendor := map[string]string{"rocm": "AMD"}[c.Backend]
	card, ok := fit.SmallestCard(need+driverContext, vendor)
	if !ok || c.Backend != "cuda" && vendor == "" || c.F().Limit != nil {
		return ""
	}
	return fmt.Sprintf(" The smallest card for %s at least has %d GB (such as %s).", units.Format(need), card.GB, card.Names[0])
}

// least is how much of what is held must be weights for the change to free what
// was lacking.
func (n narrower) least(c *Case, held, have int64) int64 {
	f := c.F()
	short := held + f.Requested.Bytes - have
	if f.Free != nil && !overfull(c) {
		short = max(short, f.Requested.Bytes-f.Free.Bytes)
	}
	return max(0, int64(math.Ceil(float64(short)/(1-n.share))))
}

// weightsAndRoom is what this process holds and the card has for it, without
// what others and the driver's context take. In training the weights are the
// smaller part.
func weightsAndRoom(c *Case) (held, have int64, ok bool) {
	f := c.F()
	if !torchFigures(c) || f.Allocated == nil && (f.Total == nil || f.Free == nil) || c.Training() || roomy(c) || neverFits(c) != "" || unaccounted(c) {
		return 0, 0, false
	}
	if c.In("vllm", "sglang") && c.Phase != "load" && !profiling(c) && !loadingWeights(c) {
		return 0, 0, false // the cache fills the share, however small the weights are
	}
	held = sizeOf(f.Allocated)
	switch {
	case f.Allocated == nil:
		held, have = f.Total.Bytes-f.Free.Bytes, f.Total.Bytes-driverContext
	case f.Limit != nil:
		have = f.Limit.Bytes - sizeOf(f.OtherAllocations)
	case f.Total != nil && c.Others.Has():
		have = f.Total.Bytes - max(c.Others.Bytes, driverContext)
	case f.Total != nil:
		have = f.Total.Bytes - driverContext
	}
	return held, have, have > 0
}

// effectOthersYield is [effectKill] where closing programs would have to give
// back what is missing.
func effectOthersYield(c *Case) *Effect {
	if uselessKill(c) != "" {
		return nil
	}
	return effectKill(c)
}

// effectOwnCards: the other ranks load onto cards of their own.
func effectOwnCards(c *Case) *Effect {
	f := c.F()
	if !ranksOnOneCard(c) && bareContexts(c).Weight == 0 || !torchFigures(c) || f.Free == nil {
		return effectFreerCard(c)
	}
	given := int64(0)
	for _, p := range f.OtherProcesses {
		if p.PID != c.OurPID {
			given += p.Bytes
		}
	}
	have := f.Free.Bytes + given
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s free + %s that the other ranks hold on this card. Exact for this request; what comes after it needs room too.", f.Free.Text, units.Format(given))}
}

// effectFreerCard: another card of the log's table, against what this process
// holds and wanted.
func effectFreerCard(c *Case) *Effect {
	index, free, ok := freestCard(c)
	f := c.F()
	if !ok || !torchFigures(c) || !c.Mine.Has() || roomy(c) {
		return nil
	}
	need := c.Mine.Bytes + f.Requested.Bytes
	return &Effect{NeedBytes: need, HaveBytes: free, Fits: need <= free, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s held + %s wanted, against what the table shows free on GPU %d. A lower bound: what comes after this request needs room too.", units.Format(c.Mine.Bytes), f.Requested.Text, index)}
}

// freestCard is the card with most free memory among those of a table that the
// failure does not name.
func freestCard(c *Case) (index int, free int64, ok bool) {
	for _, d := range c.Facts.Devices {
		if c.F().Device == nil || d.Index < 0 || d.Index == gpu(c) {
			continue
		}
		left := sizeOf(d.Free)
		if d.Total != nil && d.Used != nil {
			left = d.Total.Bytes - d.Used.Bytes
		}
		if left > free {
			index, free, ok = d.Index, left, true
		}
	}
	return index, free, ok
}

// firstEffect is the first that could be computed.
func firstEffect(effects ...*Effect) *Effect {
	for _, e := range effects {
		if e != nil {
			return e
		}
	}
	return nil
}
