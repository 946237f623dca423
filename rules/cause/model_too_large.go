package cause

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var modelTooLarge = Rule{
	ID:      ModelTooLarge,
	Title:   "The model is too big for this GPU",
	Settles: "See when it failed: while loading (then it is the weights) or later (then context or batch size count too). The lines above the error show it.",
	Clues: []Clue{
		isExplained(ModelTooLarge, Likely),
	},
	Remedies: []Remedy{
		{Fix: "use_lower_quant", Fit: Cures, If: when.Not(when.Any(ledger.TinyCard, onMac, ledger.Before2020))},
		{Fix: "use_smaller_model", Fit: Helps},
		{Fix: "half_precision", Fit: Helps, If: onMac},
		{Fix: "cpu_offload", Fit: Helps, If: when.Not(onMac)},
		{Fix: "bigger_gpu", Fit: Helps, If: ledger.TinyCard},
		{Fix: "kill_stale_process", Fit: Helps, If: worthALook},
		{Fix: "load_in_4bit", Fit: Helps, If: when.Not(onMac)},
		{Fix: "close_other_apps", Fit: MayHelp, If: when.Any(onMac, othersCouldYield)},
		{Fix: "half_precision", Fit: MayHelp, If: when.Not(onMac)},
		{Fix: "lower_batch_size", Fit: MayHelp, If: func(c *ledger.Case) bool { return ledger.TinyCard(c) && !reader.LooksLikeWindows(c) }},
		{Fix: "multi_gpu", Fit: LastResort, If: when.Not(onMac)},
	},
}

// othersCouldYield: what others hold, less the context of this very process, is
// several times what was lacking.
func othersCouldYield(c *ledger.Case) bool {
	return c.Others.Has() && c.Shortfall.Bytes > 0 && c.Others.Bytes-ledger.DriverContext > max(units.GiB, 4*c.Shortfall.Bytes)
}

func onMac(c *ledger.Case) bool { return c.Backend == "mps" || c.Backend == "metal" }
