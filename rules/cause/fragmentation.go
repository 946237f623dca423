package cause

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var fragmentation = Rule{
	ID:      Fragmentation,
	Title:   "Enough memory is reserved, but not in one piece",
	Settles: "Print `torch.cuda.memory_summary()` before the failing step: `Non-releasable memory` is what is lost to fragments.",
	Clues: []Clue{
		{Look: slackCoversRequest}, {Look: heldNotUsed},
	},
	Remedies: []Remedy{
		{Fix: "expandable_segments", Fit: Cures, If: reader.HasExpandableSegments},
		{Fix: "max_split_size", Fit: Cures, If: when.Not(reader.HasExpandableSegments)},
		{Fix: "max_split_size", Fit: MayHelp, If: reader.HasExpandableSegments},
		{Fix: "lower_batch_size", Fit: MayHelp},
		{Fix: "gradient_checkpointing", Fit: LastResort, If: (*ledger.Case).Training},
		{Fix: "lower_resolution", Fit: LastResort, If: when.Not((*ledger.Case).Training)},
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
		return Seen(Weak, fmt.Sprintf("%s is reserved and not in use, but the memory summary counts only %s as lost between tensors.", units.Amount(slack), lost.Size), c.Failure.Line, lost.Line)
	}
	switch {
	case slack >= req && slack >= units.GiB && c.Others.Bytes < 3*units.GiB:
		return Seen(Strong, why, c.Failure.Line)
	case slack >= req && f.Total != nil && slack*33 > f.Total.Bytes:
		return Seen(Good, why, c.Failure.Line)
	case slack+free >= req && slack*2 >= req:
		return Seen(Good, fmt.Sprintf("%s is reserved and not in use and %s is free: together enough for %s, but not in one piece.", units.Amount(slack), units.Amount(free), f.Requested), c.Failure.Line)
	}
	return Nothing()
}

// What tables beside a failure of PyTorch say: torch.cuda.memory_summary() and
// DeepSpeed's see_memory_usage.

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
	weight := Fair
	if c.Mine.Bytes == held.Size.Bytes {
		weight = Strong // what is neither free nor allocated now is as much as PyTorch held then
	}
	return Seen(weight, fmt.Sprintf("Before it failed PyTorch held %s and used %s of it: the rest is cache, and what of it is in pieces between tensors cannot be given back.", held.Size, used.Size), held.Line, c.Failure.Line)
}
