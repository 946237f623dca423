package ledger

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Derived are amounts computed from the figures of one incident, in bytes.
// A negative value or a false Has means that the figures do not give it.
type Derived struct {
	// Shortfall is what the request lacked: requested less what was free, or
	// less what total - allocated left.
	Shortfall Amount
	// Slack is memory that this process's allocator holds and does not use.
	Slack Amount
	// Others is total - free - this process: what somebody else holds, driver
	// contexts included.
	Others Amount
	// Mine is what this process holds, as far as the figures say.
	Mine Amount
	// OurPID is the process of the list that is this very process under its
	// host number (containers), 0 if none is.
	OurPID int
}

// Amount is a computed size and the figures it comes from.
type Amount struct {
	Bytes int64
	From  []string
}

// Has reports that the amount could be computed.
func (a Amount) Has() bool { return a.From != nil }

// String writes the amount with its unit.
func (a Amount) String() string { return units.Format(a.Bytes) }

// DriverContext is what a process holds beside its tensors: CUDA context, cuBLAS,
// NCCL. Measured 0.2 to 1.2 GiB on one GPU, so this much explains no culprit.
const DriverContext = units.GiB * 6 / 10

// Derive computes what the figures of a case give.
func Derive(c *Case) {
	f := c.F()
	switch {
	case f.ReservedUnallocated != nil:
		c.Slack = Amount{f.ReservedUnallocated.Bytes, []string{"reserved_unallocated"}}
	case f.Reserved != nil && f.Allocated != nil && f.Reserved.Bytes >= f.Allocated.Bytes:
		c.Slack = Amount{f.Reserved.Bytes - f.Allocated.Bytes, []string{"reserved", "allocated"}}
	}
	deriveMine(c)
	if f.Requested == nil {
		return
	}
	switch {
	case f.Free != nil:
		c.Shortfall = Amount{f.Requested.Bytes - f.Free.Bytes, []string{"requested", "free"}}
	case f.Limit != nil && f.Allocated != nil:
		c.Shortfall = Amount{f.Requested.Bytes + f.Allocated.Bytes - f.Limit.Bytes, []string{"requested", "allocated", "limit"}}
		if f.OtherAllocations != nil {
			c.Shortfall.Bytes += f.OtherAllocations.Bytes
			c.Shortfall.From = append(c.Shortfall.From, "other_allocations")
		}
	case f.Allocated != nil && f.Total != nil:
		c.Shortfall = Amount{f.Requested.Bytes + f.Allocated.Bytes - f.Total.Bytes, []string{"requested", "allocated", "total"}}
	case f.Total != nil && f.Requested.Bytes > f.Total.Bytes:
		c.Shortfall = Amount{f.Requested.Bytes - f.Total.Bytes, []string{"requested", "total"}}
	}
}

// deriveMine tells this process from the others. Inside a container NVML gives
// host numbers and this process stands in the list as a stranger: it is the
// one whose value fits allocated + unallocated + a context.
func deriveMine(c *Case) {
	f := c.F()
	tensors := int64(-1)
	from := []string(nil)
	switch {
	case f.Allocated != nil && f.ReservedUnallocated != nil:
		tensors, from = f.Allocated.Bytes+f.ReservedUnallocated.Bytes, []string{"allocated", "reserved_unallocated"}
	case f.Reserved != nil:
		tensors, from = f.Reserved.Bytes, []string{"reserved"}
	case f.Allocated != nil:
		tensors, from = f.Allocated.Bytes, []string{"allocated"}
		if held := heldBefore(c); held > tensors {
			tensors = held
		}
	}
	if f.ProcessUsed == nil {
		c.OurPID = ourPID(c, tensors)
	}
	switch {
	case f.ProcessUsed != nil && f.ProcessUsed.Bytes > 0:
		c.Mine = Amount{f.ProcessUsed.Bytes, []string{"process_used"}}
	case c.OurPID != 0:
		own := claim(c, c.OurPID)
		c.Mine = Amount{own.Bytes, []string{"process_used"}}
	case tensors >= 0 && !c.Root(fact.RayKilled): // Ray counts the node's
		c.Mine = Amount{tensors, from}
	}
	if f.Total == nil || f.Free == nil || !c.Mine.Has() || f.Limit != nil && f.Limit.Bytes < f.Total.Bytes {
		return
	}
	rest := f.Total.Bytes - f.Free.Bytes - c.Mine.Bytes
	if rest >= 0 {
		c.Others = Amount{rest, append([]string{"total", "free"}, c.Mine.From...)}
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
		if over < 0 || tensors < 0 && !alone {
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
		if over > 6*units.GiB {
			continue
		}
		if !alone && over > 3*units.GiB/2 {
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
func claim(c *Case, pid int) fact.Process {
	for i := range c.F().OtherProcesses {
		p := &c.F().OtherProcesses[i]
		if p.PID == pid {
			p.Own = true
			c.F().ProcessUsed = &fact.Size{Bytes: p.Bytes, Text: p.Text, Line: p.Line}
			return *p
		}
	}
	return fact.Process{}
}

// Near reports that two amounts differ by no more than within.
func Near(a, b, within int64) bool { return a-b <= within && b-a <= within }
