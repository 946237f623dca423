package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var tfCudaMallocAsync = Fix{
	ID:       "tf_cuda_malloc_async",
	Title:    "Use CUDA's asynchronous allocator in TensorFlow or JAX",
	Tradeoff: "None for quality; little or no speed.",
	Cost:     0.05,
	Check:    "The log at the start says `Using CUDA malloc Async allocator for GPU`.",
	Next:     "If it still fails, the work is too big: lower the batch.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{step.Environ(c, "TF_GPU_ALLOCATOR", "cuda_malloc_async")}
	},
	Effect: effectRemapped,
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
		Note: fmt.Sprintf("%s of the limit of %s was not in use: at most this much can become one piece.", units.Amount(have), f.Limit)}
}
