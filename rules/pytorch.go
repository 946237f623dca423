package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers"
)

// pytorchEngine judges PyTorch's own messages: the core of the arithmetic, for
// everything that runs on it.
var pytorchEngine = Engine{
	Programs: []string{"pytorch"},
	Clues: map[string][]Clue{
		LeakedProcess:         {listedOthers, unlistedOthers},
		Fragmentation:         {slackCoversRequest},
		OversizedAllocation:   {largerThanCard, metalBufferTooLarge},
		BudgetMisconfigured:   {memoryFraction, hiddenFraction},
		HostMemory:            {cpuAllocation, commitLimit, sharedMemoryFull, workerKilled, freeButRefused, nativePaging},
		DeviceImbalance:       {bareContexts},
		TrainingStateTooLarge: {optimizerStep},
		RetainedMemory:        {evaluationAccumulates, growsAtInference},
		ContextTooLong:        {logitsUpcast, attentionMatrix},
		BatchTooLarge:         {activationsFillCard},
		ModelTooLarge:         {weightsFillCard, spilledOver},
		SoftwareBug:           {blockLimit, refusedWithRoom, metalOutsideHeap},
		Unknown:               {noFiguresAtAll, contradictory},
	},
}

// allocator reports a message of PyTorch's device allocators, whatever the era.
func allocator(c *Case) bool {
	return c.Root(parsers.TorchAlloc, parsers.TorchAsync, parsers.MPSAlloc)
}

// listedOthers: NVML's list names another process with a real share.
func listedOthers(c *Case) Finding {
	f := c.F()
	if !allocator(c) || f.Total == nil || roomy(c) {
		return nothing()
	}
	sum, most, pid := int64(0), int64(0), 0
	for _, p := range f.OtherProcesses {
		if p.PID == c.OurPID {
			continue
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
	why := fmt.Sprintf("%s is neither free nor this program's own: %s total - %s free - %s here, of which about 0.5 GiB is this program's own context.", units.Format(c.Others.Bytes), f.Total.Text, f.Free.Text, units.Format(c.Mine.Bytes))
	switch {
	case rest > 6*units.GiB/5 && share > 0.25:
		return seen(0.88, why, c.Failure.Line)
	case rest > units.GiB && share > 0.12:
		return seen(0.5, why, c.Failure.Line)
	case share > 0.12:
		return seen(0.25, why, c.Failure.Line)
	}
	return nothing()
}

// roomy: free covers the request by far, so nobody filled the card.
func roomy(c *Case) bool {
	f := c.F()
	return f.Free != nil && f.Requested != nil && f.Free.Bytes > f.Requested.Bytes+f.Requested.Bytes/10
}

// slackCoversRequest: what the allocator holds unused would have been enough.
func slackCoversRequest(c *Case) Finding {
	f := c.F()
	if !allocator(c) || !c.Slack.Has() || f.Requested == nil || roomy(c) {
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
	switch {
	case slack >= req && slack >= units.GiB && c.Others.Bytes < 3*units.GiB:
		return seen(0.85, why, c.Failure.Line)
	case slack >= req:
		return seen(0.62, why, c.Failure.Line)
	case slack+free >= req && slack*2 >= req:
		return seen(0.6, fmt.Sprintf("%s is reserved and not in use and %s is free: together enough for %s, but not in one piece.", units.Format(slack), units.Format(free), f.Requested.Text), c.Failure.Line)
	}
	return nothing()
}

// largerThanCard: one tensor as large as the card itself.
func largerThanCard(c *Case) Finding {
	f := c.F()
	if !c.Root(parsers.TorchAlloc, parsers.TorchAsync) || f.Requested == nil || f.Total == nil {
		if c.Root(parsers.TorchAlloc) && f.Requested != nil && f.Requested.Bytes > 100*units.GiB {
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

func metalBufferTooLarge(c *Case) Finding {
	if !c.Root(parsers.MPSBuffer) {
		return nothing()
	}
	return seen(0.92, fmt.Sprintf("One Metal buffer of %s is above what Metal gives in one piece; how much memory is free does not matter.", c.F().Requested.Text), c.Failure.Line)
}

// memoryFraction: "N allowed" with N nearly used.
func memoryFraction(c *Case) Finding {
	f := c.F()
	if !c.Root(parsers.TorchAlloc) || f.Limit == nil {
		return nothing()
	}
	return seen(0.92, fmt.Sprintf("This process may only use %s (a memory fraction was set); the card is not the limit.", f.Limit.Text), c.Failure.Line)
}

// hiddenFraction: PyTorch 2.1 does not print the fraction, but what is held is
// a round share of the card while much more than the request is free.
func hiddenFraction(c *Case) Finding {
	f := c.F()
	if !c.Root(parsers.TorchAlloc) || !roomy(c) || f.Total == nil || f.Allocated == nil || !c.Slack.Has() || f.Free.Bytes*5 < f.Total.Bytes {
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

func cpuAllocation(c *Case) Finding {
	if !c.Root(parsers.CPUAlloc, parsers.MmapFailed) {
		return nothing()
	}
	why := "The allocator of the computer's own memory was refused: no graphics card is involved."
	if r := c.F().Requested; r != nil {
		why = fmt.Sprintf("%s of the computer's own memory was refused; that is the last piece asked for, not the whole need.", r.Text)
		if r.Bytes > 48*units.GiB {
			return seen(0.45, why, c.Failure.Line)
		}
	}
	return seen(0.93, why, c.Failure.Line)
}

func commitLimit(c *Case) Finding {
	if !c.Root(parsers.CommitLimit) {
		return nothing()
	}
	return seen(0.97, "Windows error 1455: all memory that Windows can promise (RAM and page file) is taken, free RAM or not.", c.Failure.Line)
}

func sharedMemoryFull(c *Case) Finding {
	if !c.Root(parsers.SharedMemory) {
		return nothing()
	}
	return seen(0.96, "A data loader worker ran out of shared memory (/dev/shm); the place where the main process stopped is not the cause.", c.Failure.Line)
}

func workerKilled(c *Case) Finding {
	if !c.Root(parsers.WorkerKilled, parsers.RankKilled) {
		return nothing()
	}
	return seen(0.9, "A process was killed by signal 9: as a rule the kernel's out-of-memory killer.", c.Failure.Line)
}

func nativePaging(c *Case) Finding {
	if !c.Root(parsers.BitsAndBytes) || !c.contains("pythoninterface") {
		return nothing()
	}
	return seen(0.6, "The call that failed asks for managed memory (paged optimizers): system memory is short, or the card.", c.Failure.Line)
}

// freeButRefused: Windows refuses while VRAM is free when RAM and page file
// are promised away.
func freeButRefused(c *Case) Finding {
	f := c.F()
	if !c.Root(parsers.TorchAlloc) || !roomy(c) || c.Backend != "cuda" {
		return nothing()
	}
	if f.Total != nil && f.Total.Bytes%units.GiB == 0 && f.ProcessUsed == nil {
		return seen(0.5, fmt.Sprintf("%s of the card was free and %s was refused: not a full card. Windows refuses like this when RAM and page file are used up.", f.Free.Text, f.Requested.Text), c.Failure.Line)
	}
	return seen(0.25, fmt.Sprintf("%s of the card was free and %s was refused.", f.Free.Text, f.Requested.Text), c.Failure.Line)
}

// bareContexts: several small equal shares on one card are CUDA contexts of
// other ranks that touched the first GPU.
func bareContexts(c *Case) Finding {
	others := c.F().OtherProcesses
	if len(others) < 2 {
		return nothing()
	}
	small := 0
	for _, p := range others {
		if p.PID != c.OurPID && p.Bytes < units.GiB && near(p.Bytes, others[0].Bytes, 16*units.MiB) {
			small++
		}
	}
	if small < 2 {
		return nothing()
	}
	return seen(0.6, fmt.Sprintf("%d other processes hold about %s each on this card: bare contexts of the other ranks.", small, others[0].Text), c.Failure.Line)
}

func optimizerStep(c *Case) Finding {
	s := c.Signal("optimizer_step")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.75, "It failed in the optimizer: the states of Adam are made at the first step.", s.Line, c.Failure.Line)
}

func evaluationAccumulates(c *Case) Finding {
	s := c.Signal("eval_accumulate")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.85, "It failed while results of the evaluation were being collected: they are all kept on the card.", s.Line, c.Failure.Line)
}

func growsAtInference(c *Case) Finding {
	if s := c.Signal("validating"); s != nil && !roomy(c) {
		return seen(0.5, "It failed in validation after training worked: graphs of the validation are kept when gradients are not switched off.", s.Line, c.Failure.Line)
	}
	if c.Root(parsers.TorchAlloc) && c.Signal("inferring") != nil && !c.Training() && c.F().Requested != nil && c.F().Requested.Bytes < 256*units.MiB {
		return seen(0.3, "It failed at inference with a small request: results or gradients of earlier work may be kept.", c.Failure.Line)
	}
	return nothing()
}

func logitsUpcast(c *Case) Finding {
	s := c.Signal("logits_fp32")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.7, "It failed while the logits (tokens x vocabulary) were turned into 32-bit numbers: they grow with the length of the sequence.", s.Line, c.Failure.Line)
}

func attentionMatrix(c *Case) Finding {
	s := c.Signal("attention")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.35, "It failed in attention, which grows with the length of the sequence.", s.Line, c.Failure.Line)
}

// activationsFillCard: this process fills the card, and what failed is work,
// not weights.
func activationsFillCard(c *Case) Finding {
	f := c.F()
	if !allocator(c) || roomy(c) {
		if c.Root(parsers.CUDAHandle, parsers.NVMLAssert, parsers.CUDAError) {
			return seen(0.35, "Most often a full card, and most often filled by the work of one step.", c.Failure.Line)
		}
		return nothing()
	}
	why := "This program fills the card by itself."
	switch {
	case c.Training():
		return seen(0.6, why+" It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case c.Phase == "load":
		return nothing()
	case f.Requested != nil && f.Total != nil && f.Requested.Bytes > units.GiB && f.Requested.Bytes*6 > f.Total.Bytes && f.Total.Bytes%units.GiB != 0:
		return seen(0.55, why+fmt.Sprintf(" One request of %s is the size of a step's work, not of a weight.", f.Requested.Text), c.Failure.Line)
	case f.Requested != nil && f.Requested.Bytes > 6*units.GiB/5:
		return seen(0.45, why, c.Failure.Line)
	}
	return seen(0.36, why, c.Failure.Line)
}

// weightsFillCard: the same, where the weights are the likelier reason.
func weightsFillCard(c *Case) Finding {
	f := c.F()
	if !allocator(c) || roomy(c) {
		return nothing()
	}
	if c.Phase == "load" {
		return seen(0.8, "It failed while the model was being loaded: the weights do not fit.", c.Failure.Line)
	}
	if c.Training() {
		return seen(0.2, "The weights may be most of what this program holds.", c.Failure.Line)
	}
	if f.Total == nil || c.Others.Bytes > 2*units.GiB {
		return seen(0.3, "This program fills the card by itself.", c.Failure.Line)
	}
	why := fmt.Sprintf("This program alone fills the card (%s of %s); no other is needed to explain it.", units.Format(c.Mine.Bytes), f.Total.Text)
	if f.Total.Bytes <= 8*units.GiB+units.GiB/4 || f.Total.Bytes%units.GiB == 0 {
		return seen(0.5, why, c.Failure.Line)
	}
	return seen(0.4, why, c.Failure.Line)
}

// spilledOver: allocated more than the card has means that Windows already
// moved memory into RAM.
func spilledOver(c *Case) Finding {
	f := c.F()
	if !allocator(c) || f.Total == nil || f.Allocated == nil || f.Allocated.Bytes <= f.Total.Bytes {
		return nothing()
	}
	return seen(0.7, fmt.Sprintf("%s is allocated on a card of %s: the driver already spilled into system memory, and that filled up too.", f.Allocated.Text, f.Total.Text), c.Failure.Line)
}

func blockLimit(c *Case) Finding {
	f := c.F()
	switch {
	case c.Root(parsers.XPUBlock):
		return seen(0.85, "This card refuses any single piece above 4 GiB.", c.Failure.Line)
	case c.Root(parsers.XPURuntime):
		return seen(0.5, "The Level Zero runtime gave up; this code is not always about memory.", c.Failure.Line)
	case c.Root(parsers.TorchAlloc) && c.Backend == "xpu" && f.Requested != nil && f.Requested.Bytes >= 4*units.GiB && (f.Total == nil || f.Requested.Bytes < f.Total.Bytes):
		return seen(0.8, fmt.Sprintf("%s was refused on a card that has room: Arc cards refuse single pieces of 4 GiB and more.", f.Requested.Text), c.Failure.Line)
	}
	return nothing()
}

func refusedWithRoom(c *Case) Finding {
	if !c.Root(parsers.TorchAlloc) || !roomy(c) {
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
	if !c.Root(parsers.MPSAlloc) || f.Allocated == nil || f.OtherAllocations == nil {
		return nothing()
	}
	if f.OtherAllocations.Bytes > 2*f.Allocated.Bytes {
		return seen(0.65, fmt.Sprintf("%s are Metal's own temporaries of this process, against %s of tensors: several versions leak there.", f.OtherAllocations.Text, f.Allocated.Text), c.Failure.Line)
	}
	return nothing()
}

func noFiguresAtAll(c *Case) Finding {
	if c.Root(noFigures...) || c.Root(parsers.TorchAlloc, parsers.TorchAsync) && c.F().Empty() {
		return seen(0.5, "The message has no figures.", c.Failure.Line)
	}
	return nothing()
}

func contradictory(c *Case) Finding {
	if !c.Root(parsers.TorchAlloc) || !roomy(c) || c.F().Limit != nil {
		return nothing()
	}
	return seen(0.45, fmt.Sprintf("The figures contradict each other: %s was free and %s was refused.", c.F().Free.Text, c.F().Requested.Text), c.Failure.Line)
}
