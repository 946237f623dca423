package stage

import (
	"cmp"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Others are the processes on the card that are not this one, the largest
// first. Where the message does not say which it is, the largest may be.
func Others(c *ledger.Case) (others []fact.Process, bytes int64, known bool) {
	others = slices.Clone(c.F().OtherProcesses)
	slices.SortFunc(others, func(a, b fact.Process) int { return cmp.Compare(b.Bytes, a.Bytes) })
	known = c.F().ProcessUsed != nil
	if own := slices.IndexFunc(others, func(p fact.Process) bool { return p.Own }); own >= 0 {
		others, known = slices.Delete(others, own, own+1), true
	}
	if !known && len(others) > 0 {
		others = others[1:]
	}
	for _, p := range others {
		bytes += p.Bytes
	}
	return others, bytes, known
}

// OnAscend: Huawei's NPUs, for which vLLM has neither bitsandbytes nor offloading.
func OnAscend(c *ledger.Case) bool { return c.Backend == "npu" }

// OnIntel: Intel's cards, through PyTorch's xpu.
func OnIntel(c *ledger.Case) bool { return c.Backend == "xpu" }
