package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var fragmentation = Rule{
	ID:    Fragmentation,
	Title: "Enough memory is reserved, but not in one piece",
	Doc: []string{
		"PyTorch takes memory from the driver in segments and cuts them up. When sizes vary, the free parts can be plenty in sum and still too small one by one. The message shows it: *reserved by PyTorch but unallocated* (older: *reserved* less *already allocated*) is at least what was asked for.",
		"It is rarer than the tips suggest: PyTorch recommends an option against it in every message. With 40 MiB reserved and not in use, and 1.4 GiB missing, fragments are not the cause.",
	},
	Settles: "Print `torch.cuda.memory_summary()` before the failing step: `Non-releasable memory` is what is lost to fragments.",
	Clues: []Clue{
		slackCoversRequest, lostToFragments, heldNotUsed,
	},
	Remedies: []Remedy{
		{Fix: "expandable_segments", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.85},
		{Fix: "max_split_size", Fit: 0.8},
		{Fix: "gradient_checkpointing", Fit: 0.5},
	},
}

// slackCoversRequest: what the allocator holds unused would have been enough.
func slackCoversRequest(c *ledger.Case) Finding {
	f := c.F()
	if !ledger.Allocator(c) || !c.Slack.Has() || f.Requested == nil || ledger.Roomy(c) || ledger.Overfull(c) {
		return Nothing()
	}
	slack, req := c.Slack.Bytes, f.Requested.Bytes
	if slack < 400*units.MiB {
		return Nothing()
	}
	free := int64(0)
	if f.Free != nil {
		free = f.Free.Bytes
	}
	why := fmt.Sprintf("%s is reserved and not in use, %s was asked for: enough, but not in one piece.", units.Amount(slack), f.Requested)
	if lost, ok := c.Fact("non_releasable"); ok && lost.Size.Bytes*4 < req {
		return Seen(0.3, fmt.Sprintf("%s is reserved and not in use, but the memory summary counts only %s as lost between tensors.", units.Amount(slack), lost.Size), c.Failure.Line, lost.Line)
	}
	switch {
	case slack >= req && slack >= units.GiB && c.Others.Bytes < 3*units.GiB:
		return Seen(0.85, why, c.Failure.Line)
	case slack >= req && f.Total != nil && slack*33 > f.Total.Bytes:
		return Seen(0.62, why, c.Failure.Line)
	case slack+free >= req && slack*2 >= req:
		return Seen(0.6, fmt.Sprintf("%s is reserved and not in use and %s is free: together enough for %s, but not in one piece.", units.Amount(slack), units.Amount(free), f.Requested), c.Failure.Line)
	}
	return Nothing()
}

// What tables beside a failure of PyTorch say: torch.cuda.memory_summary() and
// DeepSpeed's see_memory_usage.

// lostToFragments: "Non-releasable memory" is free memory in segments that also
// hold tensors, so that it cannot be given back or joined.
func lostToFragments(c *ledger.Case) Finding {
	lost, ok := c.Fact("non_releasable")
	if !ok || !ledger.Allocator(c) && !c.Root(fact.CUDAError, fact.TorchSummary) || ledger.Roomy(c) || lost.Size.Bytes < 400*units.MiB {
		return Nothing()
	}
	if r := c.F().Requested; r != nil {
		if lost.Size.Bytes < r.Bytes {
			return Nothing()
		}
		return Seen(0.8, fmt.Sprintf("The memory summary counts %s as non-releasable: free, but in pieces between tensors. %s was asked for.", lost.Size, r), lost.Line, c.Failure.Line)
	}
	if held, ok := c.Fact("torch_reserved"); ok && lost.Size.Bytes*4 >= held.Size.Bytes {
		return Seen(0.55, fmt.Sprintf("The memory summary counts %s of the %s that PyTorch holds as non-releasable: free, but in pieces between tensors.", lost.Size, held.Size), lost.Line, c.Failure.Line)
	}
	return Nothing()
}

// sameTable is how many lines two figures of one table may lie apart.
const sameTable = 12

// heldNotUsed: shortly before the failure PyTorch held far more than its tensors
// took, and the message itself does not say how much that was.
func heldNotUsed(c *ledger.Case) Finding {
	r := c.F().Requested
	used, ok := c.Fact("torch_allocated")
	held, ok2 := c.Fact("torch_reserved")
	if !ok || !ok2 || !ledger.Allocator(c) || c.Slack.Has() || r == nil || ledger.Roomy(c) || held.Line < used.Line || held.Line > used.Line+sameTable || held.Line > c.Failure.Line {
		return Nothing()
	}
	idle := held.Size.Bytes - used.Size.Bytes
	if idle < 2*units.GiB || idle < r.Bytes || idle < used.Size.Bytes {
		return Nothing()
	}
	weight := 0.5
	if c.Mine.Bytes == held.Size.Bytes {
		weight = 0.8 // what is neither free nor allocated now is as much as PyTorch held then
	}
	return Seen(weight, fmt.Sprintf("Before it failed PyTorch held %s and used %s of it: the rest is cache, and what of it is in pieces between tensors cannot be given back.", held.Size, used.Size), held.Line, c.Failure.Line)
}
