package cause

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var deviceImbalance = Rule{
	ID:      DeviceImbalance,
	Title:   "One card is full while others have room",
	Settles: "Run `nvidia-smi` just before it fails and compare the cards.",
	Clues: []Clue{
		{Look: BareContexts}, {Look: oneCardFull}, {Look: UnevenShares},
		// DataParallel gives every card the same share, and PyTorch warned that they
		// differ.
		Shown("uneven_cards", If(fullCard, Likely, "PyTorch warned that one card is much smaller than the others, and every card gets the same share.")),
	},
	Remedies: []Remedy{
		{Fix: "balance_split", Fit: Foremost, If: SpreadOver},
		{Fix: "select_gpu", Fit: Cures, If: when.Not(SpreadOver)},
		{Fix: "lower_context", Fit: LastResort},
		{Fix: "gradient_checkpointing", Fit: LastResort},
	},
}

// BareContexts: several small equal shares on one card are CUDA contexts of
// other ranks that touched the first GPU.
func BareContexts(c *ledger.Case) Finding {
	others := c.F().OtherProcesses
	if ledger.RankBeside(c) {
		return Seen(Strong, "Another rank of the same job holds a part of this card.", c.Failure.Line)
	}
	if len(others) < 2 {
		return Nothing()
	}
	small, sum := 0, int64(0)
	for _, p := range others {
		if p.PID != c.OurPID && p.Bytes < units.GiB && ledger.Near(p.Bytes, others[0].Bytes, 16*units.MiB) {
			small++
			sum += p.Bytes
		}
	}
	switch {
	case RanksOnOneCard(c):
		return Seen(Strong, fmt.Sprintf("%d processes hold about %s each on this card, in a job of several ranks: the other ranks load onto this card, not onto their own.", len(others), units.Amount(others[0].Bytes)), c.Failure.Line)
	case small < 2:
		return Nothing()
	}
	weight := Good
	switch f := c.F(); {
	case c.Phase == "load" && f.Total != nil && c.Mine.Has() && c.Mine.Bytes*10 > f.Total.Bytes*8:
		weight = Fair // the weights of one rank fill the card, and more were to come
	case c.Shortfall.Has() && sum >= c.Shortfall.Bytes && small > 2:
		weight = Strong // without them it would have fitted
	}
	return Seen(weight, fmt.Sprintf("%d other processes hold about %s each on this card: bare contexts of the other ranks.", small, units.Amount(others[0].Bytes)), c.Failure.Line)
}

// RanksOnOneCard: in a job of several ranks, others hold the same share of one
// card: what a checkpoint loaded without map_location does.
func RanksOnOneCard(c *ledger.Case) bool {
	others := c.F().OtherProcesses
	if ledger.RankBeside(c) {
		return true
	}
	if len(others) < 2 || c.OurPID != 0 || c.Signal("distributed") == nil && !strings.HasPrefix(c.Failure.Source, "rank") {
		return false
	}
	return !slices.ContainsFunc(others, func(p fact.Process) bool {
		return p.Bytes < units.GiB || !ledger.Near(p.Bytes, others[0].Bytes, 64*units.MiB)
	})
}

// oneCardFull: nvidia-smi shows one process on several cards, and only one of
// them full.
func oneCardFull(c *ledger.Case) Finding {
	d := ledger.Lopsided(c)
	if d == nil || !ledger.Allocator(c) || ledger.Roomy(c) {
		return Nothing()
	}
	return Seen(Strong, fmt.Sprintf("nvidia-smi shows the same process on both cards: GPU %d uses %s of %s, while GPU %d is full.", d.Index, d.Used, d.Total, int(c.F().Device.Value)), d.Line, c.Failure.Line)
}

// UnevenShares: max_memory (accelerate) gives the full card nearly all it has
// and another card much less, so nothing is left there to compute with.
func UnevenShares(c *ledger.Case) Finding {
	f := c.F()
	first, ok := c.Setting("max_memory_0")
	second := ledger.IntSetting(c, "max_memory_1")
	if !ok || !ledger.Allocator(c) || f.Total == nil || f.Device == nil || f.Device.Value != 0 || ledger.Roomy(c) {
		return Nothing()
	}
	share := ledger.IntSetting(c, "max_memory_0")
	if int64(share)*units.GiB*10 < f.Total.Bytes*9 || second*4 > share*3 {
		return Nothing()
	}
	return Seen(Strong, fmt.Sprintf("max_memory gives GPU 0 %d GiB of its %s, and GPU 1 only %d GiB: nothing is left on GPU 0 to compute with.", share, f.Total, second), first.Line, c.Failure.Line)
}

// SpreadOver: one model lies on several cards, so choosing a card is no cure.
func SpreadOver(c *ledger.Case) bool {
	return ledger.Lopsided(c) != nil || UnevenShares(c).Weight > None
}
