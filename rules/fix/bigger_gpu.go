package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var biggerGpu = Fix{
	ID:       "bigger_gpu",
	Title:    "Use a card with more memory",
	Tradeoff: "Money.",
	Cost:     0.95,
	Check:    checkLoaded,
	Next:     "If it fails there as well, the cause is not the size of the card: look for a growing context, batch or leak.",
	Effect:   effectLargerCard,
	Steps:    stepsBiggerGPU,
}

func stepsBiggerGPU(c *ledger.Case) []step.Step {
	f := c.F()
	if f.Requested != nil && f.Total != nil && ledger.OnCard(c) {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Take a card with clearly more than %s: the next sizes are 12, 16, 24, 32, 48 and 80 GB.", f.Total)}}
	}
	return []step.Step{{Kind: "text", Text: "Take the next size of card: 12, 16, 24, 32, 48 or 80 GB; rent one for an hour first."}}
}

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
