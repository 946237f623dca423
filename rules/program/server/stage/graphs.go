package stage

import (
	"maps"
	"math"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Graphs are figures, and what vLLM calls the graphs of this device.
func Graphs(c *ledger.Case, figures map[string]string) map[string]string {
	out := maps.Clone(figures)
	out["graphs"], out["graphs_take"], out["uncounted"] = "CUDA graphs", "CUDA graphs, usually 0.2 to 3 GiB,", "Versions before 0.21 do not count them in the share."
	if OnAscend(c) {
		out["graphs"], out["graphs_take"], out["uncounted"] = "ACL graphs", "ACL graphs", ""
	}
	return out
}

// Schedules: a program above vLLM chooses the card.
func Schedules(c *ledger.Case) bool { return c.In("gpustack", "xinference") }

// Floor is the share of a card that its weights and a small cache take, 0 where the
// log does not tell or the present share is not above it.
func Floor(c *ledger.Case, of int64, now float64) float64 {
	w := ledger.SizeOf(c.F().Weights)
	if w <= 0 || of <= 0 {
		return 0
	}
	if u := math.Ceil(100*float64(w+of*3/100)/float64(of)) / 100; u < now {
		return u
	}
	return 0
}
