package clues

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// listedOthers: NVML's list names another process with a real share.
func listedOthers(c *ledger.Case) cause.Finding {
	f := c.F()
	if !ledger.Allocator(c) || f.Total == nil || ledger.Roomy(c) || RanksOnOneCard(c) {
		return cause.Nothing()
	}
	sum, most, pid := int64(0), int64(0), 0
	for _, p := range f.OtherProcesses {
		if p.PID == c.OurPID || p.Bytes < ledger.DriverContext {
			continue // a bare context is nobody's work
		}
		sum += p.Bytes
		if p.Bytes > most {
			most, pid = p.Bytes, p.PID
		}
	}
	if sum < units.GiB || sum*10 < f.Total.Bytes {
		return cause.Nothing()
	}
	weight := cause.Good
	switch {
	case f.Requested != nil && f.Free != nil && sum >= c.Shortfall.Bytes && sum*4 > f.Total.Bytes:
		weight = cause.Decisive
	case sum*6 > f.Total.Bytes:
		weight = cause.Strong
	}
	whose := "beside this program"
	if !c.Mine.Has() && c.OurPID == 0 {
		whose = "another program or this one itself: the message does not say what it holds" // in a container PyTorch does not know its own number
	}
	return cause.Seen(weight, fmt.Sprintf("Process %d holds %s of the %s, %s.", pid, units.Amount(most), f.Total, whose), c.Failure.Line)
}

// Pooled: cudaMallocAsync's message leaves out what its pool keeps unused
// (c10/cuda/CUDAMallocAsyncAllocator.cpp), which may be all that seems to be
// others' where the program with its request fills half of the card.
func Pooled(c *ledger.Case) bool {
	return c.Root(fact.TorchAsync) && c.Total.Has() && 2*(c.Mine.Bytes+ledger.Requested(c)) >= c.Total.Bytes
}

// unlistedOthers: total - free - this process leaves more than a context.
func unlistedOthers(c *ledger.Case) cause.Finding {
	f := c.F()
	if !ledger.Allocator(c) || !c.Others.Has() || ledger.Roomy(c) || RankFailed(c) > 0 || len(f.OtherProcesses) > 0 && c.OurPID == 0 {
		return cause.Nothing()
	}
	rest := c.Others.Bytes - ledger.DriverContext
	if rest <= 0 || f.Total.Bytes <= 0 {
		return cause.Nothing()
	}
	share := float64(rest) / float64(f.Total.Bytes)
	why := fmt.Sprintf("%s is neither free nor this program's own: %s total - %s free - %s here, of which about %s is this program's own context.", c.Others, f.Total, f.Free, c.Mine, units.Amount(ledger.DriverContext))
	switch {
	case c.Root(fact.TorchAsync) && (share < 0.5 || Pooled(c)):
		return cause.Seen(cause.Weak, why, c.Failure.Line)
	case ledger.Crowded(c):
		return cause.Seen(cause.Decisive, why, c.Failure.Line)
	case rest > units.GiB && share > 0.12:
		return cause.Seen(cause.Weak, why, c.Failure.Line)
	case share > 0.12:
		return cause.Seen(cause.Weak, why, c.Failure.Line)
	}
	return cause.Nothing()
}

// leastContext: a context of CUDA takes more. Processes with less draw a desktop
// (Xorg, a browser), or are clients of a server (MPS) that has their context.
const leastContext = 96 * units.MiB

// BareContexts: several small equal shares on one card are CUDA contexts of
// other ranks that touched the first GPU.
func BareContexts(c *ledger.Case) cause.Finding {
	others := c.F().OtherProcesses
	if RankBeside(c) {
		return cause.Seen(cause.Strong, "Another rank of the same job holds a part of this GPU.", c.Failure.Line)
	}
	if len(others) < 2 {
		return cause.Nothing()
	}
	least, likely := int64(0), ""
	if c.Signal("distributed") == nil && !strings.HasPrefix(c.Failure.Source, "rank") {
		least, likely = leastContext, "most likely "
	}
	small, sum := 0, int64(0)
	for _, p := range others {
		if p.Bytes >= least && p.PID != c.OurPID && p.Bytes > 0 && p.Bytes < units.GiB && ledger.Near(p.Bytes, others[0].Bytes, 16*units.MiB) {
			small++
			sum += p.Bytes
		}
	}
	switch {
	case RanksOnOneCard(c):
		return cause.Seen(cause.Strong, fmt.Sprintf("%d processes of a job with several ranks hold about %s each on this GPU: the other ranks load onto it, not onto their own.", len(others), units.Amount(others[0].Bytes)), c.Failure.Line)
	case small < 2:
		return cause.Nothing()
	}
	weight := cause.Good
	switch f := c.F(); {
	case c.Phase == "load" && f.Total != nil && c.Mine.Has() && c.Mine.Bytes*10 > f.Total.Bytes*8:
		weight = cause.Fair // the weights of one rank fill the card, and more were to come
	case c.Shortfall.Has() && sum >= c.Shortfall.Bytes && small > 2:
		weight = cause.Strong // without them it would have fitted
	}
	return cause.Seen(weight, fmt.Sprintf("%d other processes hold about %s each on this GPU: %sbare contexts of the other ranks.", small, units.Amount(others[0].Bytes), likely), c.Failure.Line)
}

// RanksOnOneCard: in a job of several ranks, others hold the same share of one
// card: what a checkpoint loaded without map_location does.
func RanksOnOneCard(c *ledger.Case) bool {
	others := c.F().OtherProcesses
	if RankBeside(c) {
		return true
	}
	if len(others) < 2 || c.OurPID != 0 || c.Signal("distributed") == nil && !strings.HasPrefix(c.Failure.Source, "rank") {
		return false
	}
	return !slices.ContainsFunc(others, func(p fact.Process) bool {
		return p.Bytes < units.GiB || !ledger.Near(p.Bytes, others[0].Bytes, 64*units.MiB)
	})
}

// oneCardFull: nvidia-smi shows one process on several cards, and only one of
// them full.
func oneCardFull(c *ledger.Case) cause.Finding {
	d := ledger.Lopsided(c)
	if d == nil || !ledger.Allocator(c) || ledger.Roomy(c) {
		return cause.Nothing()
	}
	return cause.Seen(cause.Strong, fmt.Sprintf("nvidia-smi shows the same process on both GPUs: GPU %d uses %s of %s, while GPU %d is full.", d.Index, d.Used, d.Total, int(c.F().Device.Value)), d.Line, c.Failure.Line)
}
