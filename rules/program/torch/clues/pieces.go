package clues

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// slackCoversRequest: what the allocator holds unused would have been enough.
func slackCoversRequest(c *ledger.Case) cause.Finding {
	f := c.F()
	if !ledger.Allocator(c) || !c.Slack.Has() || f.Requested == nil || ledger.Roomy(c) || ledger.Overfull(c) {
		return cause.Nothing()
	}
	slack, req := c.Slack.Bytes, f.Requested.Bytes
	if slack < 400*units.MiB {
		return cause.Nothing()
	}
	free := int64(0)
	if f.Free != nil {
		free = f.Free.Bytes
	}
	why := fmt.Sprintf("%s is reserved and not in use, %s was asked for: enough, but not in one block.", units.Amount(slack), f.Requested)
	if lost, ok := c.Fact("non_releasable"); ok && lost.Size.Bytes*4 < req {
		return cause.Seen(cause.Weak, fmt.Sprintf("%s is reserved and not in use, but the memory summary counts only %s as lost between tensors.", units.Amount(slack), lost.Size), c.Failure.Line, lost.Line)
	}
	switch {
	case LiveFills(c) && slack < req:
		return cause.Nothing()
	case LiveFills(c):
		return cause.Seen(cause.Weak, why, c.Failure.Line)
	case slack >= req && slack >= units.GiB && c.Others.Bytes < 3*units.GiB:
		return cause.Seen(cause.Strong, why, c.Failure.Line)
	case slack >= req && f.Total != nil && slack*33 > f.Total.Bytes:
		return cause.Seen(cause.Good, why, c.Failure.Line)
	case slack+free >= req && slack*2 >= req:
		return cause.Seen(cause.Good, fmt.Sprintf("%s is reserved and not in use and %s is free: together enough for %s, but not in one block.", units.Amount(slack), units.Amount(free), f.Requested), c.Failure.Line)
	}
	return cause.Nothing()
}

// LiveFills: tensors in use take 85 % of the card and more, and what lies in
// pieces is little: it lets one more request through at best. Of a server the
// tensors are mostly a pool, which it takes on purpose.
func LiveFills(c *ledger.Case) bool {
	f := c.F()
	return f.Allocated != nil && f.Total != nil && (c.Training() || len(c.Stack) == 1) && f.Allocated.Bytes*20 >= f.Total.Bytes*17 && c.Slack.Bytes < min(f.Total.Bytes/20, 3*units.GiB) && f.Allocated.Bytes <= f.Total.Bytes
}

// heldNotUsed: shortly before the failure PyTorch held far more than its tensors
// took, and the message itself does not say how much that was.
func heldNotUsed(c *ledger.Case) cause.Finding {
	r := c.F().Requested
	used, ok := c.Fact("torch_allocated")
	held, ok2 := c.Fact("torch_reserved")
	if !ok || !ok2 || !ledger.Allocator(c) || c.Slack.Has() || r == nil || ledger.Roomy(c) || held.Line < used.Line || held.Line > used.Line+sameTable || held.Line > c.Failure.Line {
		return cause.Nothing()
	}
	idle := held.Size.Bytes - used.Size.Bytes
	if idle < 2*units.GiB || idle < r.Bytes || idle < used.Size.Bytes {
		return cause.Nothing()
	}
	weight := cause.Fair
	if c.Mine.Bytes == held.Size.Bytes {
		weight = cause.Strong // what is neither free nor allocated now is as much as PyTorch held then
	}
	return cause.Seen(weight, fmt.Sprintf("Before it failed, PyTorch held %s and used %s of it. The rest is cache, and its parts between tensors cannot be given back.", held.Size, used.Size), held.Line, c.Failure.Line)
}

// sameTable is how many lines two figures of one table may lie apart.
const sameTable = 12

// ofCard: one tensor takes at least that part of the card.
func ofCard(least float64) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		f := c.F()
		return c.Root(fact.TorchAlloc, fact.TorchAsync) && f.Requested != nil && f.Total != nil && float64(f.Requested.Bytes) > least*float64(f.Total.Bytes)
	}
}

// ofNoCard: more than any card has, where the message does not name this one's
// size.
func ofNoCard(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && c.F().Total == nil && ledger.Requested(c) > 100*units.GiB
}

const oneTensor = "One tensor of {requested} on a GPU of {total}."

// hugeTensor is what no computer of a person hands out for one tensor.
const hugeTensor = 32 * units.GiB

func hugeHostTensor(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && ledger.Requested(c) >= hugeTensor
}

// squareOnHost: a matrix of attention of several GiB, in the computer's memory.
func squareOnHost(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && ledger.Requested(c) >= 4*units.GiB && ledger.WritesScores(c)
}

// HiddenFraction: PyTorch 2.1 does not print the fraction, but what is held is
// a round share of the card while much more than the request is free.
func HiddenFraction(c *ledger.Case) cause.Finding {
	f := c.F()
	if era, ok := c.Fact("torch_since"); !ok || era.Text != "2.1" || !ledger.Roomy(c) || f.Total == nil || f.Allocated == nil || !c.Slack.Has() || f.Free.Bytes*5 < f.Total.Bytes {
		return cause.Nothing()
	}
	held := f.Allocated.Bytes + c.Slack.Bytes
	for _, percent := range [...]int64{10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90} {
		limit := f.Total.Bytes / 100 * percent
		// Small requests take a segment of 20 MiB; figures are rounded to 5 MiB. A
		// request so large that any share refuses it tells of none.
		if held*5 >= limit*4 && held <= limit && limit-held < f.Requested.Bytes+32*units.MiB {
			return cause.Seen(cause.Likely, fmt.Sprintf("%s is free and %s was refused, just as this process reached %d %% of the GPU, as a memory fraction would do.", f.Free, f.Requested, percent), c.Failure.Line)
		}
	}
	return cause.Nothing()
}
