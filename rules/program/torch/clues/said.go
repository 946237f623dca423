package clues

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Said is what the strongest clue says that points to a cause, "" for none.
func Said(c *ledger.Case, id string) string {
	best := cause.Nothing()
	for _, r := range cause.All() {
		if r.ID != id {
			continue
		}
		for _, k := range slices.Concat(r.Clues, Clues[id]) {
			if k.Kinds != nil && !slices.Contains(k.Kinds, c.Failure.Kind) {
				continue
			}
			if f := k.Look(c); f.Weight > best.Weight {
				best = f
			}
		}
	}
	return best.Why
}
