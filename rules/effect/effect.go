// Package effect is the arithmetic of fixes: what one leaves of what was asked
// for, and whether that is enough.
package effect

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Effect is the arithmetic of a fix.
type Effect struct {
	NeedBytes int64  `json:"need_bytes"`
	HaveBytes int64  `json:"have_bytes"`
	Fits      bool   `json:"fits"`
	Basis     string `json:"basis"`          // log or estimate
	Note      string `json:"note,omitempty"` // how it was computed, and whether exact
	// Certainty is bound or condition where the arithmetic is not the last word.
	Certainty string `json:"certainty,omitempty"`
	// NeedCount and HaveCount are the arithmetic where a log counts tokens or
	// sequences and says nothing of their bytes, which are 0 then; Counted
	// names them.
	NeedCount int64  `json:"need_count,omitempty"`
	HaveCount int64  `json:"have_count,omitempty"`
	Counted   string `json:"counted,omitempty"`
}

// What an effect that fits may leave open.
const (
	Bound     = "bound"     // enough for what was asked for; more may follow
	Condition = "condition" // enough if something is true that the note says
)

// Scaled is the effect of making the piece that failed smaller by a divisor.
// It is a bound: the other values of the step shrink as well. Where the bound
// is not enough nothing is known, and pieces up to 64 MiB only were the last
// straw.
func Scaled(c *ledger.Case, divisor int, how string) *Effect {
	if !Enough(c, divisor) {
		return nil
	}
	free, told := ledger.RoomFor(c)
	need := c.F().Requested.Bytes / int64(divisor)
	return &Effect{NeedBytes: need, HaveBytes: free, Fits: true, Basis: "log", Certainty: Bound,
		Note: fmt.Sprintf("%s the failed request needs at most %s, and %s. This holds if it grows with that setting; the rest of the step shrinks too.", how, units.Amount(need), told)}
}

// Enough: that piece divided by so much would have fitted.
func Enough(c *ledger.Case, divisor int) bool {
	if !ledger.WorkFigures(c) || c.F().Requested.Bytes <= 64*units.MiB || ledger.Roomy(c) {
		return false
	}
	free, told := ledger.RoomFor(c)
	return told != "" && c.F().Requested.Bytes/int64(divisor) <= free
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
		Note: fmt.Sprintf("The program takes %s of the %s, and weights and inputs the rest. If the program shrinks with the batch, 1/%d of it needs %s.", program.Size, f.Desired, by, units.Amount(need))}
}
