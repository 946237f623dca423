package addon

import (
	"maps"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Cards speak for what is in a set; the sentences and the inputs are the pack's.
// They are two, for a card has one cause: the work, or the weights. Beside the
// set they take what else must hold, figures of the program's, and the cures
// that stand behind a pack's own.
func (s *Set) Cards(name string, kinds []fact.Kind, also func(*ledger.Case) bool, figures func(*ledger.Case) map[string]string, last ...cause.Cure) []cause.Card {
	card := func(id, what string, weights bool) cause.Card {
		return cause.Card{
			ID: name + id, Kinds: kinds, Said: s.Words(), Cause: what, Weight: cause.Decisive,
			If: func(c *ledger.Case) bool {
				p := s.Of(c)
				return p != nil && p.Weights == weights && also(c)
			},
			Headline: "ran out of GPU memory[[ ({total})]] in {part}",
			Means:    "{means}[[ {spilled}]]",
			Figures: func(c *ledger.Case) map[string]string {
				out := s.Of(c).figures()
				maps.Copy(out, figures(c))
				return out
			},
			Not:     "{not}",
			Cures:   append(s.cures(), last...),
			Sources: s.Sources(),
		}
	}
	return []cause.Card{card("/addon-work", cause.BatchTooLarge, false), card("/addon-weights", cause.ModelTooLarge, true)}
}

// figures are a pack's sentences, and its knobs by their place.
func (p *Pack) figures() map[string]string {
	out := map[string]string{"part": p.Part, "means": p.Means, "not": strings.TrimSpace(p.Not)}
	for i, k := range p.Knobs {
		n := strconv.Itoa(i)
		out["title"+n], out["told"+n], out["cost"+n] = k.Title, k.Told, k.Cost
	}
	return out
}

// turned are the fixes that knobs are for.
var turned = []string{"vae_tiling", "lower_resolution", "lower_batch_size", "cpu_offload", "use_lower_quant", "use_smaller_model", "half_precision", "lowvram_mode", "restart_session", "lower_context", "efficient_attention"}

// mostKnobs is how many a pack has at most.
const mostKnobs = 3

// cures are those for each place and fix of which a pack has one: a cure's fix
// is fixed.
func (s *Set) cures() []cause.Cure {
	var out []cause.Cure
	for i := range mostKnobs {
		n := strconv.Itoa(i)
		for _, fix := range turned {
			out = append(out, cause.Cure{
				Fix: fix, Title: "[[{title" + n + "}]]", Told: "[[{told" + n + "}]]", Cost: "[[{cost" + n + "}]]",
				If: func(c *ledger.Case) bool {
					p := s.Of(c)
					return p != nil && i < len(p.Knobs) && p.Knobs[i].Fix == fix
				},
			})
		}
	}
	return out
}
