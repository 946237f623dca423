package array

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// poolLimit: a limit of the pool was set and reached.
func poolLimit(c *ledger.Case) cause.Finding {
	if !c.Root(fact.CuPyAlloc, fact.ORTLimit) || c.Root(fact.CuPyAlloc) && c.F().Limit == nil {
		return cause.Nothing()
	}
	return cause.Seen(0.75, "The pool has a limit of its own, and that is what was reached.", c.Failure.Line)
}

// poolNeed is what a pool with a limit of its own would have to hold for the
// request that it refused, and that in GiB with a tenth to spare.
func poolNeed(c *ledger.Case) (need, gib int64, ok bool) {
	f := c.F()
	if !c.Root(fact.CuPyAlloc) || f.Limit == nil || f.Allocated == nil || f.Requested == nil {
		return 0, 0, false
	}
	need = f.Allocated.Bytes + f.Requested.Bytes
	return need, ledger.CeilDiv(need+need/10, units.GiB), true
}

func stepsPoolLimit(c *ledger.Case) []step.Step {
	if _, gib, ok := poolNeed(c); ok {
		return []step.Step{{Kind: "python", Text: fmt.Sprintf("cupy.get_default_memory_pool().set_limit(size=%d * 2**30)   # or the variable CUPY_GPU_MEMORY_LIMIT, in bytes", gib)}}
	}
	if c.Root(fact.ORTLimit) {
		return []step.Step{{Kind: "python", Text: `providers = [("CUDAExecutionProvider", {"gpu_mem_limit": 6 * 2**30})]   # raise or leave out; then InferenceSession(path, providers=providers)`}}
	}
	return step.StepsHostLimit(c)
}

func effectPoolLimit(c *ledger.Case) *effect.Effect {
	need, gib, ok := poolNeed(c)
	if !ok {
		return effect.EffectHostLimit(c)
	}
	return &effect.Effect{NeedBytes: need, HaveBytes: gib * units.GiB, Fits: true, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s in the pool + %s wanted, against a limit of %s now; %d GiB leaves a tenth. If the card has that much.", units.Format(c.F().Allocated.Bytes), units.Format(c.F().Requested.Bytes), units.Format(c.F().Limit.Bytes), gib)}
}

// ncclOutsidePool: NCCL's buffers are not part of the framework's pool.
func ncclOutsidePool(c *ledger.Case) cause.Finding {
	if !c.Root(fact.NCCLAlloc) || c.In("pytorch") {
		return cause.Nothing()
	}
	if c.Signal("nccl_setup") != nil { // the run only begins
		return cause.Seen(0.3, "NCCL needs 0.2 to 2 GB of its own, and the card had less left.", c.Failure.Line)
	}
	return cause.Seen(0.7, "NCCL needs 0.2 to 2 GB of its own beside the program's pool, and the pool left less.", c.Failure.Line)
}

// poolFull: this process's pool is full with a step's work.
func poolFull(c *ledger.Case) cause.Finding {
	switch {
	case c.Root(fact.TFAlloc) && bfcFragmented(c).Weight > 0:
		return cause.Seen(0.25, "A smaller batch also needs smaller pieces.", c.Failure.Line)
	case c.Root(fact.TFAlloc) && mostOfPool(c).Weight > 0:
		return cause.Seen(0.3, "A smaller batch makes this tensor smaller, too.", c.Failure.Line)
	case c.Root(fact.TFAlloc) && wholeDataset(c).Weight > 0:
		return cause.Nothing() // it is all of the data, whatever the batch
	case c.Root(fact.TFAlloc) && c.Backend != "cpu":
		return cause.Seen(0.72, "TensorFlow's pool was full in the middle of a step: what one batch needs does not fit.", c.Failure.Line)
	case c.Root(fact.DeviceAlloc) && c.Phase != "load":
		return cause.Seen(0.5, "The card was full in the middle of a step.", c.Failure.Line)
	case c.Root(fact.CuPyAlloc):
		return cause.Seen(0.62, "CuPy's pool was full in the middle of a step. 'total' in its message is its own pool, not the card.", c.Failure.Line)
	case c.Root(fact.TFCopy):
		return cause.Seen(0.38, "A tensor could not be copied to the card because it is full.", c.Failure.Line)
	}
	return cause.Nothing()
}

// bfcFragmented: the dump shows more free than was asked for.
func bfcFragmented(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.TFAlloc) || f.Limit == nil || f.Allocated == nil || f.Requested == nil {
		return cause.Nothing()
	}
	if free := f.Limit.Bytes - f.Allocated.Bytes; free > f.Requested.Bytes {
		return cause.Seen(0.8, fmt.Sprintf("%s of the pool was not in use and %s was refused: free, but not in one piece.", units.Format(free), f.Requested.Text), c.Failure.Line)
	}
	return cause.Nothing()
}

// mostOfPool: one tensor as large as half of all that TensorFlow may take.
func mostOfPool(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.TFAlloc) || f.Requested == nil || f.Limit == nil || f.Requested.Bytes*2 < f.Limit.Bytes {
		return cause.Nothing()
	}
	return cause.Seen(0.78, fmt.Sprintf("One tensor of %s, of %s that the pool has in all.", units.Format(f.Requested.Bytes), units.Format(f.Limit.Bytes)), c.Failure.Line)
}

// wholeDataset: arrays that are handed to fit become one constant on the card.
func wholeDataset(c *ledger.Case) cause.Finding {
	s := c.Signal("eager_constant")
	f := c.F()
	if s == nil || f.Requested == nil || f.Requested.Bytes < units.GiB {
		return cause.Nothing()
	}
	return cause.Seen(0.78, fmt.Sprintf("%s was copied to the card as one constant: all the data, not one batch.", units.Format(f.Requested.Bytes)), s.Line, c.Failure.Line)
}

// optimizerSlots: the op that failed is the optimizer's own.
func optimizerSlots(c *ledger.Case) cause.Finding {
	s := c.Signal("optimizer_node")
	if s == nil || !c.Root(fact.TFAlloc) {
		return cause.Nothing()
	}
	return cause.Seen(0.78, "The op that failed is the optimizer's own: its slots are as large as the weights, whatever the batch.", s.Line, c.Failure.Line)
}

// stepsRoomForNCCL also makes NCCL's own buffers smaller.
func stepsRoomForNCCL(c *ledger.Case) []step.Step {
	return append(fix.FixesByID()["lower_gpu_memory_utilization"].Steps(c), step.Environ(c, "NCCL_BUFFSIZE", "1048576"))
}
