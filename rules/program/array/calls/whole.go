package calls

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// WholeDataset: an array of a size that no batch has was copied to the card as a
// constant.
func WholeDataset(c *ledger.Case) bool {
	return c.Signal("eager_constant") != nil && ledger.Requested(c) >= units.GiB
}

// WholeArray: an array was copied to the card as it is, before any batch was cut.
func WholeArray(c *ledger.Case) bool {
	return c.Backend != "cpu" && c.Signal("eager_constant") != nil
}
