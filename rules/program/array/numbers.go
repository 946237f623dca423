package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// retriedPool reads TensorFlow's search for a pool at its start: where the driver
// refuses it asks for nine tenths, in multiples of 256 bytes (BFCAllocator::Extend,
// kBackpedalFactor, tensorflow/core/common_runtime/bfc_allocator.cc).
func retriedPool(q *explain.Question) *ledger.Explained {
	next, ok := q.C.Fact("pool_retry")
	if !ok || !q.C.Root(fact.TFStart) || next.Size == nil || next.Size.Bytes != ledger.CeilDiv(q.Asked*9/10, 256)*256 {
		return nil
	}
	return &ledger.Explained{What: "are the pool that TensorFlow takes at its start, whatever the model needs: the next try is nine tenths of it", Bytes: q.Asked, Lines: []int{next.Line}}
}

// scratch reads XLA's own statistics under the message: the temporaries of a
// compiled program are one allocation.
func scratch(q *explain.Question) *ledger.Explained {
	temp := q.C.F().ComputeBuffer
	if !q.C.Root(fact.XLAAlloc) || temp == nil || !ledger.Near(temp.Bytes, q.Asked, temp.Within()+q.Within) {
		return nil
	}
	return &ledger.Explained{What: "are the temporaries of the compiled program, all of them in one piece, as XLA's statistics say", Bytes: q.Asked, Lines: []int{temp.Line}}
}
