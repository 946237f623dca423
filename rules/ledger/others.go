package ledger

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// DriverContext is what a process holds beside its tensors: CUDA context, cuBLAS,
// NCCL. Measured 0.2 to 1.2 GiB on one GPU, so this much explains no culprit.
const DriverContext = units.GiB * 6 / 10

// deriveMine tells this process from the others. Inside a container NVML gives
// host numbers and this process stands in the list as a stranger: it is the
// one whose value fits allocated + unallocated + a context.
func deriveMine(c *Case) {
	f := c.F()
	var tensors Entry
	switch {
	case f.Allocated != nil && f.ReservedUnallocated != nil:
		tensors = stated("allocated", f.Allocated).plus(stated("reserved_unallocated", f.ReservedUnallocated))
	case f.Reserved != nil:
		tensors = stated("reserved", f.Reserved)
	case f.Allocated != nil:
		tensors = stated("allocated", f.Allocated)
		tensors.Bytes = max(tensors.Bytes, heldBefore(c))
	}
	if f.ProcessUsed == nil {
		held := tensors.Bytes
		if !tensors.Has() {
			held = -1
		}
		if c.OurPID = ourPID(c, held); c.OurPID != 0 {
			claim(c, c.OurPID)
		}
	}
	switch {
	case f.ProcessUsed != nil && (f.ProcessUsed.Bytes > 0 || c.OurPID != 0):
		c.Mine = stated("process_used", f.ProcessUsed)
	case !c.Root(fact.RayKilled): // Ray counts the node's
		c.Mine = tensors
	}
}

// deriveOthers books what is neither free nor this program's, and how much of
// it others can hold at most: without the context of this process, where that
// is in it.
func deriveOthers(c *Case) {
	f := c.F()
	if c.Total.Has() && c.Free.Has() && c.Mine.Has() && !c.Limit.Has() {
		if rest := c.Total.minus(c.Free).minus(c.Mine); rest.Bytes >= 0 {
			c.Others = rest
		}
	}
	switch {
	case c.Others.Has():
		c.OthersAtMost = c.Others
		if SizeOf(f.ProcessUsed) <= 0 {
			c.OthersAtMost.Bytes = max(c.Others.Bytes-DriverContext, 0)
		}
	case f.Total != nil && f.Allocated != nil && c.Root(fact.TorchAlloc, fact.TorchAsync):
		c.OthersAtMost = c.Total.minus(stated("allocated", f.Allocated))
		c.OthersAtMost.Bytes = max(c.OthersAtMost.Bytes, 0)
	}
}

// heldBefore is what the allocator held by the last table before the failure, 0
// if none says so or it is more than is taken of the card now.
func heldBefore(c *Case) int64 {
	f := c.F()
	held, ok := c.Fact("torch_reserved")
	if !ok || held.Line > c.Failure.Line || f.Total == nil || f.Free == nil || held.Size.Bytes > f.Total.Bytes-f.Free.Bytes {
		return 0
	}
	return held.Size.Bytes
}

// ourPID finds this process in the list; tensors is what its allocator holds,
// -1 where the message was cut before it says so.
func ourPID(c *Case, tensors int64) int {
	f := c.F()
	best, gap := 0, int64(0)
	for _, p := range f.OtherProcesses {
		alone := len(f.OtherProcesses) == 1 && f.Total != nil && f.Free != nil && Near(p.Bytes, f.Total.Bytes-f.Free.Bytes, 64*units.MiB)
		over := p.Bytes - tensors
		if over < 0 || tensors < 0 && !alone || p.Bytes == 0 { // 0: in a container the driver keeps the amounts to itself
			continue
		}
		if tensors < 0 {
			return p.PID
		}
		// Two processes can't hold more than the card, so that the one which
		// leaves no room for our tensors beside it is ours (NCCL and CUDA graphs
		// of a server are 7 GiB outside PyTorch and more).
		if f.Total != nil && tensors > 0 && p.Bytes+tensors > f.Total.Bytes {
			return p.PID
		}
		if over > 6*units.GiB || !alone && over > 3*units.GiB/2 {
			continue
		}
		if best == 0 || over < gap {
			best, gap = p.PID, over
		}
	}
	return best
}

// claim marks the process of the list that is this one and states it as what
// this process uses.
func claim(c *Case, pid int) {
	for i := range c.F().OtherProcesses {
		p := &c.F().OtherProcesses[i]
		if p.PID == pid {
			p.Own = true
			c.F().ProcessUsed = &fact.Size{Bytes: p.Bytes, Text: p.Text, Line: p.Line}
			return
		}
	}
}
