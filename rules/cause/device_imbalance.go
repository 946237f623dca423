package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var deviceImbalance = Rule{
	ID:      DeviceImbalance,
	Title:   "One GPU is full while others have room",
	Settles: "Run `nvidia-smi` just before it fails and compare the GPUs.",
	Clues: []Clue{
		{Look: UnevenShares},
	},
	Remedies: []Remedy{
		{Fix: "balance_split", Fit: Foremost, If: SpreadOver},
		{Fix: "select_gpu", Fit: Cures, If: when.Not(SpreadOver)},
		{Fix: "lower_context", Fit: LastResort},
		{Fix: "gradient_checkpointing", Fit: LastResort},
	},
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
	return Seen(Strong, fmt.Sprintf("max_memory gives GPU 0 %d GiB of its %s, and GPU 1 only %d GiB. So GPU 0 has no memory left for computing.", share, f.Total, second), first.Line, c.Failure.Line)
}

// SpreadOver: one model lies on several cards, so choosing a card is no cure.
func SpreadOver(c *ledger.Case) bool {
	return ledger.Lopsided(c) != nil || UnevenShares(c).Weight > None
}
