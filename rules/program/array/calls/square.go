package calls

import (
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// ReadsSquare reads exact sizes that are a square of 32-bit numbers: everything
// against everything. Models are left out: sixteen heads are a square too.
func ReadsSquare(q *explain.Question) *ledger.Explained {
	if q.Within != 0 || q.Asked < units.GiB || q.Asked%4 != 0 || q.C.Model != nil || ledger.WritesScores(q.C) || !q.C.Root(fact.ORTAlloc, fact.ORTLimit, fact.NumpyAlloc, fact.XLAAlloc) {
		return nil
	}
	n := int64(math.Round(math.Sqrt(float64(q.Asked / 4))))
	// Of the odd numbers around that of a square, one in 2 x its root is one.
	if odd := n / (n & -n); n*n != q.Asked/4 || 0.5/float64(odd) > explain.MostChance {
		return nil
	}
	return &ledger.Explained{
		What: "is one number for each pair of items", Terms: []ledger.Term{explain.Term("items", n), explain.Term("items", n), explain.Term("bytes", 4)}, Bytes: q.Asked,
		Lower: &ledger.Lower{Name: "items", To: int64(math.Sqrt(float64(max(0, q.C.Room.Bytes)) / 4 * 0.9)), Fix: "fix_shape"}, Cause: "oversized_allocation",
	}
}
