package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// Clues from the figures of the device allocators: who holds the card, and
// whether the card is full at all.

// listedOthers: NVML's list names another process with a real share.
func listedOthers(c *Case) Finding {
	f := c.F()
	if !allocator(c) || f.Total == nil || roomy(c) || ranksOnOneCard(c) {
		return nothing()
	}
	sum, most, pid := int64(0), int64(0), 0
	for _, p := range f.OtherProcesses {
		if p.PID == c.OurPID || p.Bytes < driverContext {
			continue // a bare context is nobody's work
		}
		sum += p.Bytes
		if p.Bytes > most {
			most, pid = p.Bytes, p.PID
		}
	}
	if sum < units.GiB || sum*10 < f.Total.Bytes {
		return nothing()
	}
	weight := 0.6
	switch {
	case f.Requested != nil && f.Free != nil && sum >= c.Shortfall.Bytes && sum*4 > f.Total.Bytes:
		weight = 0.9
	case sum*6 > f.Total.Bytes:
		weight = 0.75
	}
	return seen(weight, fmt.Sprintf("Process %d holds %s of the %s, beside this program.", pid, units.Format(most), f.Total.Text), c.Failure.Line)
}

func restOfCard(c *Case) Finding {
	if !unaccounted(c) {
		return nothing()
	}
	return seen(0.35, restUnknown(c), c.Failure.Line)
}

// unlistedOthers: total - free - this process leaves more than a context.
func unlistedOthers(c *Case) Finding {
	f := c.F()
	if !allocator(c) || !c.Others.Has() || roomy(c) || len(f.OtherProcesses) > 0 && c.OurPID == 0 {
		return nothing()
	}
	rest := c.Others.Bytes - driverContext
	if rest <= 0 || f.Total.Bytes <= 0 {
		return nothing()
	}
	share := float64(rest) / float64(f.Total.Bytes)
	why := fmt.Sprintf("%s is neither free nor this program's own: %s total - %s free - %s here, of which about 0.6 GiB is this program's own context.", units.Format(c.Others.Bytes), f.Total.Text, f.Free.Text, units.Format(c.Mine.Bytes))
	switch {
	case c.Root(fact.TorchAsync) && share < 0.5: // its message leaves the pool's unused part out
		return seen(0.35, why, c.Failure.Line)
	case crowded(c):
		return seen(0.88, why, c.Failure.Line)
	case rest > units.GiB && share > 0.12:
		return seen(0.42, why, c.Failure.Line)
	case share > 0.12:
		return seen(0.3, why, c.Failure.Line)
	}
	return nothing()
}

// crowded: others hold more than a quarter of the card, whatever this program
// was doing when it struck.
func crowded(c *Case) bool {
	rest := c.Others.Bytes - driverContext
	return c.Others.Has() && rest > 6*units.GiB/5 && rest*4 > c.F().Total.Bytes
}

// roomy: free covers the request by far, so nobody filled the card. A few MiB
// too many prove nothing: the allocator asks for more than it prints, and what
// is free was looked up after the refusal.
func roomy(c *Case) bool {
	f := c.F()
	return f.Free != nil && f.Requested != nil && f.Free.Bytes > f.Requested.Bytes+max(f.Requested.Bytes/10, 200*units.MiB) && !brimful(c)
}

// brimful: under 5 % of the card is free.
func brimful(c *Case) bool {
	f := c.F()
	return f.Free != nil && f.Total != nil && f.Free.Bytes*20 < f.Total.Bytes
}

// unaccounted: the message does not say what is free, and what this program
// holds leaves most of the card: who has the rest is not known (the old
// messages of Intel's extension).
func unaccounted(c *Case) bool {
	f := c.F()
	return allocator(c) && f.Free == nil && f.Limit == nil && f.Total != nil && f.Requested != nil && c.Mine.Has() && (c.Mine.Bytes+f.Requested.Bytes)*10 < f.Total.Bytes*7
}

// restUnknown says it with its figures.
func restUnknown(c *Case) string {
	return fmt.Sprintf("This program holds %s of %s; the message does not say what is free, so that others may hold the rest or the runtime refused.", units.Format(c.Mine.Bytes), c.F().Total.Text)
}

// overfull: more is allocated or reserved than the card has, so Windows
// already spilled into system memory and the figures of the pool mean little.
func overfull(c *Case) bool {
	f := c.F()
	return f.Total != nil && (f.Allocated != nil && f.Allocated.Bytes > f.Total.Bytes || f.Reserved != nil && f.Reserved.Bytes > f.Total.Bytes)
}

// slackCoversRequest: what the allocator holds unused would have been enough.
func slackCoversRequest(c *Case) Finding {
	f := c.F()
	if !allocator(c) || !c.Slack.Has() || f.Requested == nil || roomy(c) || overfull(c) {
		return nothing()
	}
	slack, req := c.Slack.Bytes, f.Requested.Bytes
	if slack < 400*units.MiB {
		return nothing()
	}
	free := int64(0)
	if f.Free != nil {
		free = f.Free.Bytes
	}
	why := fmt.Sprintf("%s is reserved and not in use, %s was asked for: enough, but not in one piece.", units.Format(slack), f.Requested.Text)
	if lost, ok := c.Fact("non_releasable"); ok && lost.Size.Bytes*4 < req {
		return seen(0.3, fmt.Sprintf("%s is reserved and not in use, but the memory summary counts only %s as lost between tensors.", units.Format(slack), lost.Size.Text), c.Failure.Line, lost.Line)
	}
	switch {
	case slack >= req && slack >= units.GiB && c.Others.Bytes < 3*units.GiB:
		return seen(0.85, why, c.Failure.Line)
	case slack >= req && f.Total != nil && slack*33 > f.Total.Bytes:
		return seen(0.62, why, c.Failure.Line)
	case slack+free >= req && slack*2 >= req:
		return seen(0.6, fmt.Sprintf("%s is reserved and not in use and %s is free: together enough for %s, but not in one piece.", units.Format(slack), units.Format(free), f.Requested.Text), c.Failure.Line)
	}
	return nothing()
}

// largerThanCard: one tensor as large as the card itself.
func largerThanCard(c *Case) Finding {
	f := c.F()
	if absurdSize(c) {
		return seen(0.9, "The size asked for is above an exbibyte: a length or shape that was overwritten, went below zero or was never set.", c.Failure.Line)
	}
	if !c.Root(fact.TorchAlloc, fact.TorchAsync) || f.Requested == nil || f.Total == nil {
		if c.Root(fact.TorchAlloc) && f.Requested != nil && f.Requested.Bytes > 100*units.GiB {
			return seen(0.85, fmt.Sprintf("One tensor of %s: more than any card has.", f.Requested.Text), c.Failure.Line)
		}
		return nothing()
	}
	share := float64(f.Requested.Bytes) / float64(f.Total.Bytes)
	why := fmt.Sprintf("One tensor of %s on a card of %s.", f.Requested.Text, f.Total.Text)
	switch {
	case share > 1:
		return seen(0.97, why+" It can never fit.", c.Failure.Line)
	case share > 0.6:
		return seen(0.9, why, c.Failure.Line)
	case share > 0.35:
		return seen(0.4, why, c.Failure.Line)
	}
	return nothing()
}

// absurdSize: the allocator would not even print what was asked for.
func absurdSize(c *Case) bool {
	s := c.Signal("absurd_size")
	return s != nil && c.Root(fact.TorchAlloc) && s.Line >= c.Failure.Line && s.Line <= c.Failure.EndLine
}

// neverFitting: more than the whole card for one tensor, as the matrix of an
// attention without flash attention grows.
func neverFitting(c *Case) bool { return neverFits(c) != "" }

func metalBufferTooLarge(c *Case) Finding {
	if !c.Root(fact.MPSBuffer) {
		return nothing()
	}
	return seen(0.92, fmt.Sprintf("One Metal buffer of %s is above what Metal gives in one piece; how much memory is free does not matter.", c.F().Requested.Text), c.Failure.Line)
}

// memoryFraction: "N allowed" with N nearly used.
func memoryFraction(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.TorchAlloc) || f.Limit == nil {
		return nothing()
	}
	return seen(0.92, fmt.Sprintf("This process may only use %s (a memory fraction was set); the card is not the limit.", f.Limit.Text), c.Failure.Line)
}

// hiddenFraction: PyTorch 2.1 does not print the fraction, but what is held is
// a round share of the card while much more than the request is free.
func hiddenFraction(c *Case) Finding {
	f := c.F()
	if era, ok := c.Fact("torch_since"); !ok || era.Text != "2.1" || !roomy(c) || f.Total == nil || f.Allocated == nil || !c.Slack.Has() || f.Free.Bytes*5 < f.Total.Bytes {
		return nothing()
	}
	held := f.Allocated.Bytes + c.Slack.Bytes
	for _, percent := range [...]int64{10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90} {
		limit := f.Total.Bytes / 100 * percent
		if held <= limit && limit-held < max(f.Requested.Bytes, units.GiB/4) {
			return seen(0.7, fmt.Sprintf("%s is free and %s was refused, just as this process reached %d %% of the card: a memory fraction is set.", f.Free.Text, f.Requested.Text, percent), c.Failure.Line)
		}
	}
	return nothing()
}

// freeButRefused: Windows refuses while VRAM is free when RAM and page file
// are promised away.
func freeButRefused(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.TorchAlloc) || !roomy(c) || c.Backend != "cuda" {
		return nothing()
	}
	if f.Total != nil && f.Total.Bytes%units.GiB == 0 && f.ProcessUsed == nil {
		return seen(0.48, fmt.Sprintf("%s of the card was free and %s was refused: not a full card. Windows refuses like this when RAM and page file are used up.", f.Free.Text, f.Requested.Text), c.Failure.Line)
	}
	return seen(0.25, fmt.Sprintf("%s of the card was free and %s was refused.", f.Free.Text, f.Requested.Text), c.Failure.Line)
}

// pinnedMemory: a data loader pins system memory; where that is refused, CUDA
// says only "out of memory" (microsoft/WSL issue 8447).
func pinnedMemory(c *Case) Finding {
	s := c.Signal("pinning")
	if s == nil || !c.Root(fact.CUDAError) {
		return nothing()
	}
	return seen(0.75, "It failed while a batch was being pinned: that is system memory, and WSL and containers allow little of it.", s.Line, c.Failure.Line)
}

// weakestCard: DataParallel gives every card the same share, and PyTorch warned
// that they differ.
func weakestCard(c *Case) Finding {
	s := c.Signal("uneven_cards")
	if s == nil || !allocator(c) || roomy(c) {
		return nothing()
	}
	return seen(0.65, "PyTorch warned that one card is much smaller than the others, and every card gets the same share.", s.Line, c.Failure.Line)
}

// oneCardFull: nvidia-smi shows one process on several cards, and only one of
// them full.
func oneCardFull(c *Case) Finding {
	d := lopsided(c)
	if d == nil || !allocator(c) || roomy(c) {
		return nothing()
	}
	return seen(0.85, fmt.Sprintf("nvidia-smi shows the same process on both cards: GPU %d uses %s of %s, while GPU %d is full.", d.Index, units.Format(d.Used.Bytes), units.Format(d.Total.Bytes), int(c.F().Device.Value)), d.Line, c.Failure.Line)
}

// unevenShares: max_memory (accelerate) gives the full card nearly all it has
// and another card much less, so nothing is left there to compute with.
func unevenShares(c *Case) Finding {
	f := c.F()
	first, ok := c.Setting("max_memory_0")
	second := intSetting(c, "max_memory_1")
	if !ok || !allocator(c) || f.Total == nil || f.Device == nil || f.Device.Value != 0 || roomy(c) {
		return nothing()
	}
	share := intSetting(c, "max_memory_0")
	if int64(share)*units.GiB*10 < f.Total.Bytes*9 || second*4 > share*3 {
		return nothing()
	}
	return seen(0.85, fmt.Sprintf("max_memory gives GPU 0 %d GiB of its %s, and GPU 1 only %d GiB: nothing is left on GPU 0 to compute with.", share, f.Total.Text, second), first.Line, c.Failure.Line)
}

// lopsided returns a card with a third of its memory free that the process on
// the full card uses as well, nil if there is none.
func lopsided(c *Case) *fact.Device {
	if c.F().Device == nil {
		return nil
	}
	full := int(c.F().Device.Value)
	pids := map[int]bool{}
	for _, p := range c.Facts.Processes {
		if p.Device == full {
			pids[p.PID] = true
		}
	}
	for _, p := range c.Facts.Processes {
		if p.Device == full || !pids[p.PID] {
			continue
		}
		for i := range c.Facts.Devices {
			d := &c.Facts.Devices[i]
			if d.Index == p.Device && d.Used != nil && d.Total != nil && d.Used.Bytes*3 < d.Total.Bytes*2 {
				return d
			}
		}
	}
	return nil
}

// bareContexts: several small equal shares on one card are CUDA contexts of
// other ranks that touched the first GPU.
func bareContexts(c *Case) Finding {
	others := c.F().OtherProcesses
	if len(others) < 2 {
		return nothing()
	}
	small, sum := 0, int64(0)
	for _, p := range others {
		if p.PID != c.OurPID && p.Bytes < units.GiB && near(p.Bytes, others[0].Bytes, 16*units.MiB) {
			small++
			sum += p.Bytes
		}
	}
	switch {
	case ranksOnOneCard(c):
		return seen(0.8, fmt.Sprintf("%d processes hold about %s each on this card, in a job of several ranks: the other ranks load onto this card, not onto their own.", len(others), others[0].Text), c.Failure.Line)
	case small < 2:
		return nothing()
	}
	weight := 0.6
	switch f := c.F(); {
	case c.Phase == "load" && f.Total != nil && c.Mine.Has() && c.Mine.Bytes*10 > f.Total.Bytes*8:
		weight = 0.5 // the weights of one rank fill the card, and more were to come
	case c.Shortfall.Has() && sum >= c.Shortfall.Bytes && small > 2:
		weight = 0.8 // without them it would have fitted
	}
	return seen(weight, fmt.Sprintf("%d other processes hold about %s each on this card: bare contexts of the other ranks.", small, others[0].Text), c.Failure.Line)
}

// ranksOnOneCard: in a job of several ranks, others hold the same share of one
// card: what a checkpoint loaded without map_location does.
func ranksOnOneCard(c *Case) bool {
	others := c.F().OtherProcesses
	if len(others) < 2 || c.OurPID != 0 || c.Signal("distributed") == nil && !strings.HasPrefix(c.Failure.Source, "rank") {
		return false
	}
	for _, p := range others {
		if p.Bytes < units.GiB || !near(p.Bytes, others[0].Bytes, 64*units.MiB) {
			return false
		}
	}
	return true
}

// spilledOver: allocated more than the card has means that Windows already
// moved memory into RAM.
func spilledOver(c *Case) Finding {
	f := c.F()
	if !allocator(c) || f.Total == nil || f.Allocated == nil || f.Allocated.Bytes <= f.Total.Bytes {
		return nothing()
	}
	if c.Training() {
		return seen(0.3, "The driver already spilled into system memory, and that filled up too.", c.Failure.Line)
	}
	return seen(0.7, fmt.Sprintf("%s is allocated on a card of %s: the driver already spilled into system memory, and that filled up too.", f.Allocated.Text, f.Total.Text), c.Failure.Line)
}

func blockLimit(c *Case) Finding {
	f := c.F()
	switch {
	case c.Root(fact.XPUBlock):
		return seen(0.85, "This card refuses any single piece above 4 GiB.", c.Failure.Line)
	case c.Root(fact.XPURuntime):
		return seen(0.5, "The Level Zero runtime gave up; this code is not always about memory.", c.Failure.Line)
	case c.Root(fact.TorchAlloc) && c.Backend == "xpu" && f.Requested != nil && f.Requested.Bytes >= 4*units.GiB && (f.Total == nil || c.Mine.Bytes+f.Requested.Bytes < f.Total.Bytes):
		return seen(0.8, fmt.Sprintf("%s was refused on a card that has room: Arc cards refuse single pieces of 4 GiB and more.", f.Requested.Text), c.Failure.Line)
	}
	return nothing()
}

func refusedWithRoom(c *Case) Finding {
	if absurdSize(c) {
		return seen(0.4, "A kernel that writes past its end, or a version that reads a length wrong, makes such numbers.", c.Failure.Line)
	}
	if !c.Root(fact.TorchAlloc) || !roomy(c) || takingCache(c) {
		return nothing()
	}
	if c.Backend == "rocm" || c.Backend == "xpu" {
		return seen(0.7, fmt.Sprintf("%s was free and %s was refused: the runtime refuses, the card is not full.", c.F().Free.Text, c.F().Requested.Text), c.Failure.Line)
	}
	return seen(0.2, fmt.Sprintf("%s was free and %s was refused.", c.F().Free.Text, c.F().Requested.Text), c.Failure.Line)
}

// metalOutsideHeap: "other allocations" are MPSGraph temporaries of this very
// process; when they dominate, something leaks there.
func metalOutsideHeap(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.MPSAlloc) || f.Allocated == nil || f.OtherAllocations == nil {
		return nothing()
	}
	if f.OtherAllocations.Bytes > 2*f.Allocated.Bytes {
		return seen(0.65, fmt.Sprintf("%s are Metal's own temporaries of this process, against %s of tensors: several versions leak there.", f.OtherAllocations.Text, f.Allocated.Text), c.Failure.Line)
	}
	return nothing()
}

func noFiguresAtAll(c *Case) Finding {
	switch {
	case absurdSize(c):
		return nothing()
	case cutShort(c) && !c.Training():
		return seen(0.4, "The message is cut: it says what was asked for, and not what is held.", c.Failure.Line)
	case c.Root(fact.CUDAHandle) && !c.Failure.Weak, c.Root(fact.NVMLAssert):
		return seen(0.35, "The message has no figures.", c.Failure.Line)
	case c.Root(noFigures...), c.Root(fact.TorchAlloc, fact.TorchAsync) && figureless(c):
		return seen(0.5, "The message has no figures.", c.Failure.Line)
	}
	return nothing()
}

// cutShort: of the message's figures only the request is left.
func cutShort(c *Case) bool {
	f := c.F()
	return c.Root(fact.TorchAlloc) && f.Requested != nil && f.Total == nil && f.Allocated == nil && f.Free == nil && f.Limit == nil && !absurdSize(c)
}

// figureless: the message says neither how much was wanted nor how much was
// held; the size of the card may come from another line.
func figureless(c *Case) bool {
	f := c.F()
	return f.Requested == nil && f.Allocated == nil && f.Free == nil && f.Limit == nil
}

func contradictory(c *Case) Finding {
	if unaccounted(c) {
		return seen(0.45, restUnknown(c), c.Failure.Line)
	}
	if !c.Root(fact.TorchAlloc) || !roomy(c) || c.F().Limit != nil {
		return nothing()
	}
	return seen(0.45, fmt.Sprintf("The figures contradict each other: %s was free and %s was refused.", c.F().Free.Text, c.F().Requested.Text), c.Failure.Line)
}
