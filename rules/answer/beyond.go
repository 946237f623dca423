package answer

import (
	"fmt"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
)

// Beyond says that a model cannot run on a card whole, in any usual format, by
// how much, and what would: in the report of an incident.
type Beyond struct {
	// Format is the smallest usual one; NeedBytes is what it takes.
	Format    string `json:"format"`
	NeedBytes int64  `json:"need_bytes"`
	HaveBytes int64  `json:"have_bytes"`
	// CardGB is the smallest size of card for it, Card one of them.
	CardGB int64  `json:"card_gb,omitempty"`
	Card   string `json:"card,omitempty"`
	// Model fits this card in ModelFormat.
	Model       string `json:"model,omitempty"`
	ModelFormat string `json:"model_format,omitempty"`
	Note        string `json:"note"`
}

// BeyondCard is what cannot work on the card, nil where something can or
// nothing is known.
func BeyondCard(c *ledger.Case, causes []odds.Cause) *Beyond {
	if len(causes) == 0 || causes[0].ID != cause.ModelTooLarge {
		return nil
	}
	z, ok := ledger.SizingOf(c)
	if !ok {
		return nil
	}
	formats := z.Formats()
	b := &Beyond{Format: formats[len(formats)-1], HaveBytes: z.Have}
	if b.NeedBytes, ok = z.Need(z.Match, b.Format); !ok || b.NeedBytes <= z.Have {
		return nil
	}
	b.Note = fmt.Sprintf("No usual format of %s fits this GPU: even %s with %d tokens of context needs %s, %s more than there is.",
		z.Name, b.Format, z.Setting.Context, units.Amount(b.NeedBytes), units.Amount(b.NeedBytes-z.Have))
	if card, ok := fit.SmallestCard(b.NeedBytes+b.NeedBytes/20, ""); ok {
		b.CardGB, b.Card = card.GB, card.Names[0]
		b.Note += fmt.Sprintf(" The smallest GPU for it has %d GB.", b.CardGB)
	}
	if name, format, _, ok := z.Smaller(); ok {
		b.Model, b.ModelFormat = name, format
		b.Note += fmt.Sprintf(" A model that fits: %s in %s.", name, format)
	}
	return b
}
