package effect

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Kill: what is free when the others are gone, against the request.
func Kill(c *ledger.Case) *Effect {
	f := c.F()
	bytes := c.OthersAtMost.Bytes
	if !c.Others.Has() || !ledger.TorchFigures(c) || f.Free == nil || bytes <= 0 {
		return nil
	}
	have := f.Free.Bytes + bytes
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: Bound,
		Note: fmt.Sprintf("%s free + %s that others hold. Exact for this request; what comes after it needs room too.%s", f.Free, c.OthersAtMost, alsoSmaller(c, have))}
}

// alsoSmaller says what part of the batch fits where giving back memory is not
// enough alone; weights that are loaded have no batch.
func alsoSmaller(c *ledger.Case, have int64) string {
	wanted := c.F().Requested.Bytes
	if wanted <= have || c.Phase == "load" {
		return ""
	}
	for by := int64(2); by <= 16; by *= 2 {
		if wanted/by <= have {
			return fmt.Sprintf(" Two changes together: with 1/%d of the batch as well the piece that failed is at most %s.", by, units.Amount(wanted/by))
		}
	}
	return ""
}

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
