package webui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
)

// inAddon are the kinds with which work in an addition fails.
var inAddon = append(slices.Clone(merged), fact.MPSAlloc, fact.MPSBuffer, fact.ORTAlloc, fact.ORTDevice, fact.CUDAHandle)

// comfyAddons and their like speak for what is in the tables of [addon]: the
// sentences and the inputs are the pack's.
var (
	comfyAddons = addonCards("comfyui", &addon.Nodes, func(c *ledger.Case) bool { return !c.Near(merging...) }, comfyUnload)
	a1111Addons = addonCards("a1111", &addon.Extensions, func(c *ledger.Case) bool { return c.In("a1111") && !inForge(c) }, webuiAfresh)
	forgeAddons = addonCards("forge", &addon.Extensions, inForge, webuiAfresh)
)

// lookAround is last: nothing of the program's own reaches an addition.
var lookAround = cause.Cure{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free.", If: func(c *ledger.Case) bool { return notAMD(c) && notMac(c) }}

// webuiAfresh is what helps whatever extension it is.
var webuiAfresh = cause.Cure{
	Fix: "restart_session", Title: "Right after a start", Told: "Close the web UI's window and start it again: what earlier work left on the card is gone then.", Cost: "Free.",
}

// addonCards are two, for a card has one cause: the work, or the weights.
func addonCards(name string, set *addon.Set, also func(*ledger.Case) bool, last cause.Cure) []cause.Card {
	card := func(id, what string, weights bool) cause.Card {
		return cause.Card{
			ID: name + id, Kinds: inAddon, Said: set.Words(), Cause: what, Weight: cause.Decisive,
			If: func(c *ledger.Case) bool {
				p := set.Of(c)
				return p != nil && p.Weights == weights && also(c)
			},
			Headline: "ran out of graphics memory[[ ({total})]] in {part}",
			Means:    "{means}[[ {spilled}]]",
			Figures:  func(c *ledger.Case) map[string]string { return packFigures(c, set.Of(c)) },
			Not:      "{not}",
			Cures:    append(knobs(set), last, lookAround),
			Sources:  set.Sources(),
		}
	}
	return []cause.Card{card("/addon-work", cause.BatchTooLarge, false), card("/addon-weights", cause.ModelTooLarge, true)}
}

// packFigures are a pack's sentences, and its knobs by their place.
func packFigures(c *ledger.Case, p *addon.Pack) map[string]string {
	out := ownFigures(c)
	out["part"], out["means"], out["not"] = p.Part, p.Means, strings.TrimSpace(p.Not)
	for i, k := range p.Knobs {
		n := strconv.Itoa(i)
		out["title"+n], out["told"+n], out["cost"+n] = k.Title, k.Told, k.Cost
	}
	return out
}

// knobs are cures for each place and fix of which a pack has one: a cure's fix
// is fixed.
func knobs(set *addon.Set) []cause.Cure {
	var out []cause.Cure
	for i := range 3 {
		n := strconv.Itoa(i)
		for _, fix := range []string{"vae_tiling", "lower_resolution", "lower_batch_size", "cpu_offload", "use_lower_quant", "use_smaller_model", "half_precision", "lowvram_mode", "restart_session", "lower_context", "efficient_attention"} {
			out = append(out, cause.Cure{
				Fix: fix, Title: "[[{title" + n + "}]]", Told: "[[{told" + n + "}]]", Cost: "[[{cost" + n + "}]]",
				If: func(c *ledger.Case) bool {
					p := set.Of(c)
					return p != nil && i < len(p.Knobs) && p.Knobs[i].Fix == fix
				},
			})
		}
	}
	return out
}
