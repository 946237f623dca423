package cards

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TokensDivisor is by how much to divide the tokens of a step so that the piece
// that failed fits what was free, 2 to 8; 2 where the figures do not say.
func TokensDivisor(c *ledger.Case) int {
	for _, by := range [...]int{2, 4, 8} {
		if effect.Scaled(c, by, "") != nil {
			return by
		}
	}
	return 2
}

// fewerTokens is what that leaves of the piece.
func fewerTokens(c *ledger.Case) *effect.Effect {
	by := TokensDivisor(c)
	return effect.Scaled(c, by, fmt.Sprintf("With 1/%d of the tokens of a step", by))
}

// TokensUnless is the effect of fewer tokens for a step, where the piece that
// failed is linear in them.
func TokensUnless(other func(c *ledger.Case) bool) func(c *ledger.Case) *effect.Effect {
	return func(c *ledger.Case) *effect.Effect {
		if other(c) {
			return nil
		}
		return fewerTokens(c)
	}
}
