package array

import (
	"fmt"
	"math"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
)

// shape reads the shape that NumPy and TensorFlow print in the message.
func shape(q *explain.Question) *ledger.Explained {
	if !q.C.Root(fact.NumpyAlloc, fact.TFAlloc) {
		return nil
	}
	x, ok := q.C.Fact("array_shape")
	if !ok || x.Size == nil || x.Line < q.C.Failure.Line || x.Line > q.C.Failure.EndLine || !ledger.Near(x.Size.Bytes, q.Asked, max(q.Within, q.Asked/1000)) {
		return nil
	}
	product, dims := int64(1), []ledger.Term{}
	for _, field := range strings.FieldsFunc(x.Text, func(r rune) bool { return r < '0' || r > '9' }) {
		n, ok := ledger.Whole(field)
		if !ok || n <= 0 || product > math.MaxInt64/n {
			return nil
		}
		product *= n
		dims = append(dims, explain.Term("", n))
	}
	if len(dims) == 0 || x.Size.Bytes%product != 0 {
		return nil
	}
	out := &ledger.Explained{What: "is one array", Terms: append(dims, explain.Term("bytes", x.Size.Bytes/product)), Bytes: x.Size.Bytes, Lines: []int{x.Line}}
	if q.C.Root(fact.TFAlloc) && len(dims) == 4 && dims[0].Value > 1 && dims[0].Value <= mostBatch && !kernelShape(calls.Sides(q.C)) && !q.C.In("tf-object-detection") { // N of NHWC and NCHW
		out.Terms[0].Name = "batch"
		out.Lower = &ledger.Lower{Name: "batch", Fix: "lower_batch_size"}
	}
	return out
}

// mostBatch: more samples than that are a data set.
const mostBatch = 4096

// retriedPool reads TensorFlow's search for a pool at its start: where the driver
// refuses it asks for nine tenths, in multiples of 256 bytes (BFCAllocator::Extend,
// kBackpedalFactor, tensorflow/core/common_runtime/bfc_allocator.cc).
func retriedPool(q *explain.Question) *ledger.Explained {
	next, ok := q.C.Fact("pool_retry")
	if !ok || !q.C.Root(fact.TFStart) || next.Size == nil || next.Size.Bytes != ledger.CeilDiv(q.Asked*9/10, 256)*256 {
		return nil
	}
	return &ledger.Explained{What: "is the pool that TensorFlow reserves at its start, whatever the model needs; it then tries nine tenths of that", Bytes: q.Asked, Lines: []int{next.Line}}
}

// scratch reads XLA's own statistics under the message: the temporaries of a
// compiled program are one allocation.
func scratch(q *explain.Question) *ledger.Explained {
	temp := q.C.F().ComputeBuffer
	if !q.C.Root(fact.XLAAlloc) || temp == nil || !ledger.Near(temp.Bytes, q.Asked, temp.Within()+q.Within) {
		return nil
	}
	return &ledger.Explained{What: "is all temporary arrays of the compiled program in one block, by XLA's statistics", Bytes: q.Asked, Lines: []int{temp.Line}}
}

// effectRemapped: what the limit of TensorFlow's allocator leaves, in pieces
// that it cannot move and CUDA's can.
func effectRemapped(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !c.Root(fact.TFAlloc) || f.Limit == nil || f.Allocated == nil || f.Requested == nil {
		return nil
	}
	have := f.Limit.Bytes - f.Allocated.Bytes
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: f.Requested.Bytes <= have, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s of the limit of %s was not in use: at most this much can become one block.", units.Amount(have), f.Limit)}
}
