package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// What tables beside a failure of PyTorch say: torch.cuda.memory_summary() and
// DeepSpeed's see_memory_usage.

// lostToFragments: "Non-releasable memory" is free memory in segments that also
// hold tensors, so that it cannot be given back or joined.
func lostToFragments(c *Case) Finding {
	lost, ok := c.Fact("non_releasable")
	if !ok || !allocator(c) && !c.Root(fact.CUDAError, fact.TorchSummary) || roomy(c) || lost.Size.Bytes < 400*units.MiB {
		return nothing()
	}
	if r := c.F().Requested; r != nil {
		if lost.Size.Bytes < r.Bytes {
			return nothing()
		}
		return seen(0.8, fmt.Sprintf("The memory summary counts %s as non-releasable: free, but in pieces between tensors. %s was asked for.", lost.Size.Text, r.Text), lost.Line, c.Failure.Line)
	}
	if held, ok := c.Fact("torch_reserved"); ok && lost.Size.Bytes*4 >= held.Size.Bytes {
		return seen(0.55, fmt.Sprintf("The memory summary counts %s of the %s that PyTorch holds as non-releasable: free, but in pieces between tensors.", lost.Size.Text, held.Size.Text), lost.Line, c.Failure.Line)
	}
	return nothing()
}

// sameTable is how many lines two figures of one table may lie apart.
const sameTable = 12

// heldNotUsed: shortly before the failure PyTorch held far more than its tensors
// took, and the message itself does not say how much that was.
func heldNotUsed(c *Case) Finding {
	r := c.F().Requested
	used, ok := c.Fact("torch_allocated")
	held, ok2 := c.Fact("torch_reserved")
	if !ok || !ok2 || !allocator(c) || c.Slack.Has() || r == nil || roomy(c) || held.Line < used.Line || held.Line > used.Line+sameTable || held.Line > c.Failure.Line {
		return nothing()
	}
	idle := held.Size.Bytes - used.Size.Bytes
	if idle < 2*units.GiB || idle < r.Bytes || idle < used.Size.Bytes {
		return nothing()
	}
	weight := 0.5
	if c.Mine.Bytes == held.Size.Bytes {
		weight = 0.8 // what is neither free nor allocated now is as much as PyTorch held then
	}
	return seen(weight, fmt.Sprintf("Before it failed PyTorch held %s and used %s of it: the rest is cache, and what of it is in pieces between tensors cannot be given back.", held.Size.Text, used.Size.Text), held.Line, c.Failure.Line)
}

// hostNearlyFull is the last share of the computer's memory that DeepSpeed
// printed, where that was nearly all.
func hostNearlyFull(c *Case) (fact.Fact, bool) {
	used, ok := c.Fact("host_used")
	return used, ok && used.Count.Value >= 90
}
