package effect

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TPUProgramAt is what XLA's compiler would count on a TPU with 1/by of the
// batch, nil if that is not enough or it does not say what of the total is the
// program's own.
func TPUProgramAt(c *ledger.Case, by int) *Effect {
	f := c.F()
	program, ok := c.Fact("tpu_program")
	if !ok || program.Size == nil || !c.Root(fact.TPUCompile) || f.Desired == nil || f.Limit == nil || program.Size.Bytes > f.Desired.Bytes {
		return nil
	}
	need := f.Desired.Bytes - program.Size.Bytes + ledger.CeilDiv(program.Size.Bytes, int64(by))
	if need > f.Limit.Bytes {
		return nil
	}
	return &Effect{NeedBytes: need, HaveBytes: f.Limit.Bytes, Fits: true, Basis: "log", Certainty: Condition,
		Note: fmt.Sprintf("The program takes %s of the %s, weights and inputs the rest; with 1/%d of the batch, if the program shrinks with it, %s.", program.Size, f.Desired, by, units.Amount(need))}
}
