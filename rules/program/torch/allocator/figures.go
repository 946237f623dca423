package allocator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
)

// Other fixes by the figures of PyTorch's message.

// effectLargerCard: the smallest card with room for what was held and wanted.
func effectLargerCard(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !ledger.TorchFigures(c) || !c.Mine.Has() || f.Total == nil || f.Limit != nil || ledger.Roomy(c) || c.Backend == "mps" || effect.Estimated(c, "bigger_gpu") != nil {
		return nil // nothing to go by, or the model is sized as a whole
	}
	need := c.Mine.Bytes + f.Requested.Bytes
	vendor := map[string]string{"rocm": "AMD"}[c.Backend]
	card, ok := fit.SmallestCard(max(need, f.Total.Bytes+1), vendor)
	if !ok || c.Backend != "cuda" && vendor == "" {
		return nil
	}
	return &effect.Effect{NeedBytes: need, HaveBytes: card.Bytes, Fits: true, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s held + %s wanted: the next size is %d GB (such as %s). A lower bound: what comes after this request needs room too.", c.Mine, f.Requested, card.GB, card.Names[0])}
}

// effectOwnCards: the other ranks load onto cards of their own.
func effectOwnCards(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !clues.RanksOnOneCard(c) && clues.BareContexts(c).Weight == 0 || !ledger.TorchFigures(c) || f.Free == nil {
		return effectFreerCard(c)
	}
	given := int64(0)
	for _, p := range f.OtherProcesses {
		if p.PID != c.OurPID {
			given += p.Bytes
		}
	}
	if given == 0 {
		return nil // in a container the message gives them 0 bytes
	}
	have := f.Free.Bytes + given
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s free + %s that the other ranks hold on this card. Exact for this request; what comes after it needs room too.", f.Free, units.Amount(given))}
}

// effectFreerCard: another card of the log's table, against what this process
// holds and wanted.
func effectFreerCard(c *ledger.Case) *effect.Effect {
	index, free, ok := ledger.FreestCard(c)
	f := c.F()
	if !ok || !ledger.TorchFigures(c) || !c.Mine.Has() || ledger.Roomy(c) {
		return nil
	}
	need := c.Mine.Bytes + f.Requested.Bytes
	return &effect.Effect{NeedBytes: need, HaveBytes: free, Fits: need <= free, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s held + %s wanted, against what the table shows free on GPU %d. A lower bound: what comes after this request needs room too.", c.Mine, f.Requested, index)}
}

// effectOptimizer8bit: what failed in the first step of the optimizer is a
// state, of 4 bytes for each value.
func effectOptimizer8bit(c *ledger.Case) *effect.Effect {
	if c.Signal("optimizer_step") == nil || c.In("deepspeed") { // whose flat buffer may be the master copy
		return nil
	}
	return effect.Scaled(c, 4, "At 8 bit instead of 32")
}

// uselessClosing: on a Mac other programs share the RAM that the limit is a part
// of, so that closing them spares swapping.
func uselessClosing(c *ledger.Case) string {
	if c.Root(fact.MPSAlloc) {
		return ledger.NeverFits(c)
	}
	return uselessKill(c)
}

func uselessKill(c *ledger.Case) string {
	f := c.F()
	switch {
	case !ledger.TorchFigures(c):
		return ""
	case c.Root(fact.MPSAlloc):
		if f.Limit == nil {
			return ""
		}
		return "The limit counts this program's own memory only; \"other allocations\" are its own temporaries, not other programs."
	case ledger.NeverFits(c) != "":
		return ledger.NeverFits(c)
	case limited(c) != "":
		return limited(c)
	}
	if onlyOurselves(c) {
		return fmt.Sprintf("Process %s in the message is this program itself, by its process number outside the container.", quote.PID(c.OurPID))
	}
	bytes := c.OthersAtMost.Bytes
	switch {
	case !c.OthersAtMost.Has() || f.Total == nil:
		return ""
	case c.Others.Has() && c.Others.Bytes < 64*units.MiB, !c.Others.Has() && bytes < 64*units.MiB:
		return "Nothing else uses this GPU's memory."
	case c.Others.Has() && c.Shortfall.Has() && c.Shortfall.Bytes > c.Others.Bytes:
		return fmt.Sprintf("Everything outside this program takes only %s, and %s is missing.", c.Others, c.Shortfall)
	case !c.Others.Has() && c.Shortfall.Has() && c.Shortfall.Bytes > bytes:
		return fmt.Sprintf("Other programs hold at most %s, and %s is missing.", c.OthersAtMost, c.Shortfall)
	case bytes < units.GiB && bytes*20 < f.Total.Bytes && !(c.Shortfall.Has() && c.Shortfall.Bytes*2 < bytes): // else a little of it may do
		return outside(c)
	}
	return ""
}

// outside is what lies beside this program where that is little; the message
// says of it only in PyTorch 2.1 and later how much is CUDA's own.
func outside(c *ledger.Case) string {
	switch {
	case !c.Others.Has():
		return fmt.Sprintf("Other programs hold at most %s of the %s.", c.OthersAtMost, c.F().Total)
	case c.F().ProcessUsed != nil:
		return fmt.Sprintf("They hold only %s of the %s.", c.Others, c.F().Total)
	}
	return fmt.Sprintf("Only %s of the %s is used outside this program, and the driver itself needs part of that.", c.Others, c.F().Total)
}

// onlyOurselves: every process of the list is this one.
func onlyOurselves(c *ledger.Case) bool {
	return c.OurPID != 0 && !slices.ContainsFunc(c.F().OtherProcesses, func(p fact.Process) bool { return p.PID != c.OurPID && p.Bytes >= 64*units.MiB })
}

// effectOthersYield is [Kill] where closing programs would have to give
// back what is missing.
func effectOthersYield(c *ledger.Case) *effect.Effect {
	if uselessKill(c) != "" {
		return nil
	}
	return Kill(c)
}

// whyQuarter: what 16-bit weights come to at 4 bit with their 16-bit tail.
func whyQuarter(c *ledger.Case) string {
	f := c.F()
	if c.Phase == "load" || c.Training() || !ledger.Allocator(c) || f.Allocated == nil || f.Total == nil || f.Allocated.Bytes*2 < f.Total.Bytes || f.Allocated.Bytes > f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("If most of the %s that it holds is weights, about %s is left of them.", f.Allocated, units.Amount(f.Allocated.Bytes*3/10))
}

// effectMaxMemory: what a limit for the card leaves free, against the request.
func effectMaxMemory(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !ledger.TorchFigures(c) || f.Total == nil || !ledger.OnCard(c) || !c.Others.Has() || !c.In("transformers") && c.Framework != "pytorch" {
		return nil
	}
	share := code.CardShare(c)
	have := f.Total.Bytes - max(c.Others.Bytes, ledger.DriverContext) - share
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log",
		Note: fmt.Sprintf("With at most %d GiB of weights on the GPU, %s of its %s stays free beside the %s that others and the driver hold. Exact for this request.", share/units.GiB, units.Amount(have), f.Total, units.Amount(max(c.Others.Bytes, ledger.DriverContext)))}
}

// Kill: what is free when the others are gone, against the request.
func Kill(c *ledger.Case) *effect.Effect {
	f := c.F()
	bytes := c.OthersAtMost.Bytes
	if !c.Others.Has() || !ledger.TorchFigures(c) || f.Free == nil || bytes <= 0 {
		return nil
	}
	have := f.Free.Bytes + bytes
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s free + %s that others hold. Exact for this request; later ones need memory too.%s", f.Free, c.OthersAtMost, alsoSmaller(c, have))}
}

// alsoSmaller says what part of the batch fits where giving back memory is not
// enough alone; weights that are loaded have no batch.
func alsoSmaller(c *ledger.Case, have int64) string {
	wanted := c.F().Requested.Bytes
	if wanted <= have || c.Phase == "load" {
		return ""
	}
	for by := int64(2); by <= 16; by *= 2 {
		if wanted/by <= have {
			return fmt.Sprintf(" With 1/%d of the batch as well, the failed request needs at most %s.", by, units.Amount(wanted/by))
		}
	}
	return ""
}

// whyDetach says what shows that something is kept.
func whyDetach(c *ledger.Case) string {
	if s := c.Signal("many_steps"); s != nil && cause.ClimbingHost(c) && c.Signal("climbing") == nil {
		return fmt.Sprintf("Steps like this one worked before (line %d), and the failed request is only %s: probably something of every step is kept.", s.Line, units.Amount(ledger.Requested(c)))
	}
	return ""
}

// effectMemoryLimit: without the fraction the card's free memory counts.
func effectMemoryLimit(c *ledger.Case) *effect.Effect {
	f := c.F()
	switch {
	case f.Requested == nil || f.Free == nil:
		return nil
	case clues.HiddenFraction(c).Weight > cause.None:
		return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: f.Free.Bytes, Fits: true, Basis: "log",
			Note: fmt.Sprintf("%s of the GPU was free when %s was refused: enough without the fraction. Exact for this request.", f.Free, f.Requested)}
	case limited(c) == "":
		return nil
	}
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: f.Free.Bytes, Fits: f.Free.Bytes >= f.Requested.Bytes, Basis: "log",
		Note: fmt.Sprintf("%s of the GPU was free when the limit of %s stopped a request of %s. Exact for this request.", f.Free, f.Limit, f.Requested)}
}

// effectShorterPrompt is what half the length leaves of the piece that failed: a
// quarter of an attention matrix, half of anything else.
func effectShorterPrompt(c *ledger.Case) *effect.Effect {
	if p, ok := clues.FailingTensor(c); ok && strings.HasPrefix(p.What, "attention matrix") {
		return effect.Scaled(c, 4, "With half the length, and an attention matrix that grows with its square,")
	}
	return effect.Scaled(c, 2, "With half the length")
}

// limited says that a limit set for this process was hit, below what the card
// has.
func limited(c *ledger.Case) string {
	f := c.F()
	if !c.Root(fact.TorchAlloc, fact.TorchAsync) || f.Limit == nil || f.Total == nil || f.Limit.Bytes >= f.Total.Bytes {
		return ""
	}
	return fmt.Sprintf("This process may use only %s of the %s; other programs on the GPU do not matter.", f.Limit, f.Total)
}
