package local

import (
	"cmp"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// guarded: oMLX's guard refused to load a model, with figures.
func guarded(c *ledger.Case) bool {
	f := c.F()
	return c.Phase == "load" && f.SystemRequired != nil && (f.SystemAvailable != nil || f.Limit != nil)
}

// besideOthers: the model would fit if the server held nothing yet.
func besideOthers(c *ledger.Case) bool {
	f := c.F()
	return guarded(c) && f.ProcessUsed != nil && f.Limit != nil && f.ProcessUsed.Bytes > 0 && f.SystemRequired.Bytes <= f.Limit.Bytes
}

// guardFigures are those of its sum.
func guardFigures(c *ledger.Case) map[string]string {
	f := c.F()
	out := map[string]string{"ceiling": cmp.Or(f.SystemAvailable, f.Limit).String(), "takes": f.SystemRequired.String(), "held": "", "beside": ""}
	if f.ProcessUsed != nil {
		out["held"], out["beside"] = f.ProcessUsed.String(), units.Amount(max(cmp.Or(f.SystemAvailable, f.Limit).Bytes-f.ProcessUsed.Bytes, 0))
	}
	return out
}

var guardRaised = cause.Cure{
	Fix: "raise_memory_limit", Title: "Or let oMLX use more: memory_guard_tier", Cost: "less for other programs; too much freezes the Mac",
	Told: "Set it to `aggressive` instead of `balanced`, in the settings page or `settings.json`. `memory_guard_custom_ceiling_gb` counts with the tier `custom` only.",
}

// guardCards are about oMLX, which refuses to load what its ceiling would not hold.
var guardCards = []cause.Card{
	{
		ID: "mlx/guard-beside", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"memory ceiling"}, If: besideOthers, Figures: guardFigures,
		Cause: cause.RetainedMemory, Weight: cause.Decisive,
		Headline: "refused to load the model: {held} of at most {ceiling} is already in use",
		Means:    "oMLX adds the model's {takes} to what it holds now, {held}, and refuses above its ceiling of {ceiling}. The model would fit alone. So something loaded before is in the way: another model, an old copy of this one, or caches of prompts. Nothing crashed.",
		Not:      "A shorter prompt: no prompt was read yet.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Unload other models, or restart oMLX", Told: "Its page shows what is loaded. After a restart, load this model first. If the same {held} is in use again without a model, it is a leak: report it with `server.log`.", Cost: "free"},
			{Fix: "close_other_apps", Title: "Close other programs with much memory", Told: "Open Activity Monitor, Memory. The ceiling depends on what the rest of the Mac uses.", Cost: "free"},
			{Fix: "use_lower_quant", Title: "Or load it in fewer bits beside the rest", Told: "{beside} is left under the ceiling. 4 bit takes about half of 8 bit.", Cost: "slight loss of quality"},
			guardRaised,
		},
		Sources: []string{"https://github.com/jundot/omlx/issues/1735", "https://github.com/jundot/omlx/issues/2928", "https://github.com/jundot/omlx/issues/2321"},
	},
	{
		ID: "mlx/guard-model", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"memory ceiling"}, If: guarded, Figures: guardFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "refused to load the model: it takes {takes}, the ceiling is {ceiling}",
		Means:    "oMLX estimates the weights, plus 5 %, before it loads them, and refuses what exceeds its ceiling. The ceiling depends on the Mac's RAM, on what other programs use now, and on the tier of its memory guard. Nothing crashed.",
		Not:      "A shorter prompt: no prompt was read yet.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Close other programs, then load it again", Told: "Open Activity Monitor, Memory: what you close raises the ceiling.", Cost: "free"},
			{Fix: "use_lower_quant", Title: "Use a more quantized or smaller model", Told: "Stay below {ceiling}, with room for the context: 3 or 4 bit instead of 6 or 8, or the next smaller model.", Cost: "some quality"},
			guardRaised,
		},
		Sources: []string{"https://github.com/jundot/omlx/issues/1431", "https://github.com/jundot/omlx/issues/1735", "https://github.com/jundot/omlx/issues/2928", "https://github.com/jundot/omlx/issues/2321"},
	},
}
