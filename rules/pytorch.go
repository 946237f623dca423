package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers"
)

// pytorchRemedies order cures by what PyTorch's messages show.
var pytorchRemedies = map[string][]Remedy{
	HostMemory: {
		{Fix: "raise_pagefile", Fit: 1, If: onWindows},
		{Fix: "close_other_apps", Fit: 0.85, If: onWindows},
		{Fix: "raise_shm_size", Fit: 1, If: rootIs(parsers.SharedMemory, parsers.NCCLShm)},
		{Fix: "lower_num_workers", Fit: 0.95, If: rootIs(parsers.SharedMemory, parsers.WorkerKilled)},
		{Fix: "lower_num_workers", Fit: 1, If: func(c *Case) bool { return c.Signal("pinning") != nil }},
		{Fix: "lower_num_workers", Fit: 0.75, If: rootIs(parsers.CommitLimit)},
		{Fix: "raise_memory_limit", Fit: 0.85, If: ownMemory},
		{Fix: "add_swap", Fit: 0.8, If: ownMemory},
		{Fix: "add_swap", Fit: 0.92, If: func(c *Case) bool { return c.Root(parsers.RankKilled) && loadsModel(c) }},
		{Fix: "use_smaller_model", Fit: 0.8, If: func(c *Case) bool { return c.Root(parsers.RankKilled) && loadsModel(c) }},
		{Fix: "lower_batch_size", Fit: 0.5, If: rootIs(parsers.CPUAlloc)},
		{Fix: "close_other_apps", Fit: 0.6, If: not(onWindows)},
		{Fix: "use_smaller_model", Fit: 0.55, If: onWindows},
		{Fix: "stream_dataset", Fit: 0.45},
	},
	ModelTooLarge: {
		{Fix: "use_lower_quant", Fit: 0.97, If: func(c *Case) bool { return !tinyCard(c) && !onMac(c) }},
		{Fix: "use_smaller_model", Fit: 0.92},
		{Fix: "close_other_apps", Fit: 0.75, If: othersCouldYield},
		{Fix: "half_precision", Fit: 0.85, If: onMac},
		{Fix: "close_other_apps", Fit: 0.8, If: onMac},
		{Fix: "cpu_offload", Fit: 0.85, If: not(onMac)},
		{Fix: "load_in_4bit", Fit: 0.8, If: not(onMac)},
		{Fix: "half_precision", Fit: 0.65, If: not(onMac)},
		{Fix: "lower_batch_size", Fit: 0.65, If: func(c *Case) bool { return tinyCard(c) && !looksLikeWindows(c) }},
		{Fix: "bigger_gpu", Fit: 0.85, If: tinyCard},
		{Fix: "multi_gpu", Fit: 0.5, If: not(onMac)},
	},
	TrainingStateTooLarge: {
		{Fix: "shard_training", Fit: 1.02, If: manyGPUs},
		{Fix: "optimizer_8bit", Fit: 1},
		{Fix: "offload_optimizer", Fit: 0.95},
		{Fix: "use_lora", Fit: 0.85},
		{Fix: "gradient_checkpointing", Fit: 0.4},
	},
	BatchTooLarge: {
		{Fix: "lower_batch_size", Fit: 1},
		{Fix: "select_gpu", Fit: 0.75, If: blasHandle},
		{Fix: "kill_stale_process", Fit: 0.7, If: blasHandle},
		{Fix: "lower_resolution", Fit: 0.6},
		{Fix: "inference_mode", Fit: 0.7, If: func(c *Case) bool { return c.Signal("inferring") != nil && !c.Training() }},
		{Fix: "use_smaller_model", Fit: 0.3, If: lastStraw},
		{Fix: "gradient_checkpointing", Fit: 0.55, If: func(c *Case) bool { return c.Training() || c.Phase == "unknown" }},
		{Fix: "mixed_precision", Fit: 0.5},
		{Fix: "lower_context", Fit: 0.45},
	},
	OversizedAllocation: {
		{Fix: "lower_batch_size", Fit: 1.05, If: rootIs(parsers.CPUAlloc)},
		{Fix: "stream_dataset", Fit: 0.9, If: rootIs(parsers.CPUAlloc)},
		{Fix: "lower_resolution", Fit: 1},
		{Fix: "enable_flash_attention", Fit: 0.95, If: neverFitting},
		{Fix: "efficient_attention", Fit: 0.85},
		{Fix: "lower_batch_size", Fit: 0.8, If: not(rootIs(parsers.CPUAlloc))},
		{Fix: "lower_context", Fit: 0.6},
		{Fix: "fix_shape", Fit: 0.75, If: neverFitting},
	},
	BudgetMisconfigured: {
		{Fix: "raise_memory_limit", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.5},
	},
	ContextTooLong: {
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.75, If: not((*Case).Training)}, // training keeps no KV cache
		{Fix: "lower_batch_size", Fit: 0.7},
		{Fix: "gradient_checkpointing", Fit: 0.6, If: (*Case).Training},
		{Fix: "enable_flash_attention", Fit: 0.5},
	},
	DeviceImbalance: {{Fix: "balance_split", Fit: 1.05, If: func(c *Case) bool { return spreadOver(c) }}, {Fix: "select_gpu", Fit: 1, If: func(c *Case) bool { return !spreadOver(c) }}, {Fix: "lower_context", Fit: 0.5}, {Fix: "gradient_checkpointing", Fit: 0.45}},
	Fragmentation: {
		{Fix: "expandable_segments", Fit: 1, If: hasExpandableSegments},
		{Fix: "max_split_size", Fit: 1, If: not(hasExpandableSegments)},
		{Fix: "max_split_size", Fit: 0.7, If: hasExpandableSegments},
		{Fix: "lower_batch_size", Fit: 0.6},
		{Fix: "gradient_checkpointing", Fit: 0.4, If: (*Case).Training},
		{Fix: "lower_resolution", Fit: 0.35, If: not((*Case).Training)},
	},
	SoftwareBug: {{Fix: "upgrade_version", Fit: 1}, {Fix: "lower_batch_size", Fit: 0.6, If: onXPU}, {Fix: "raise_pagefile", Fit: 0.5, If: func(c *Case) bool { return onWindows(c) || looksLikeWindows(c) }}, {Fix: "lower_resolution", Fit: 0.4}},
	Unknown: {
		{Fix: "raise_pagefile", Fit: 1, If: pagefileSuspect},
		{Fix: "close_other_apps", Fit: 0.85, If: pagefileSuspect},
		{Fix: "use_smaller_model", Fit: 0.95, If: rootIs(parsers.BitsAndBytes)},
		{Fix: "lower_context", Fit: 0.9, If: rootIs(parsers.BitsAndBytes)},
		{Fix: "use_lower_quant", Fit: 0.95, If: rootIs(parsers.RustDriver)},
		{Fix: "close_other_apps", Fit: 0.8, If: rootIs(parsers.BitsAndBytes)},
		{Fix: "restart_session", Fit: 0.85},
		{Fix: "upgrade_version", Fit: 0.5, If: roomy},
		{Fix: "lower_batch_size", Fit: 0.9, If: func(c *Case) bool { return !roomy(c) && !pagefileSuspect(c) }},
		{Fix: "kill_stale_process", Fit: 0.85, If: func(c *Case) bool { return !roomy(c) && !c.Root(parsers.NVMLAssert) }},
		{Fix: "inference_mode", Fit: 0.87, If: func(c *Case) bool { return c.Root(parsers.TorchAlloc) && !roomy(c) && !c.Training() }},
		{Fix: "lower_resolution", Fit: 0.6, If: not(roomy)},
	},
}

// othersCouldYield: what others hold beside this program, less the context of
// this very process, is several times what was lacking.
func othersCouldYield(c *Case) bool {
	return c.Others.Has() && c.Shortfall.Has() && c.Shortfall.Bytes > 0 && c.Others.Bytes > units.GiB+driverContext && c.Others.Bytes-driverContext > 4*c.Shortfall.Bytes && !onMac(c)
}

// tinyCard: 4 GiB or less, where no quantisation of a usual model is enough.
func tinyCard(c *Case) bool { t := c.F().Total; return t != nil && t.Bytes <= 4*units.GiB }

func onMac(c *Case) bool { return c.Backend == "mps" || c.Backend == "metal" }

// manyGPUs: a rank in the prefix, or a card other than the first.
func manyGPUs(c *Case) bool {
	d := c.F().Device
	return c.Failure.Source != "" || d != nil && d.Value > 0
}

// blasHandle: cuBLAS found the card full when it started, convolutions or not.
func blasHandle(c *Case) bool { return c.Root(parsers.CUDAHandle) && !c.contains("convolution") }

func not(cond func(*Case) bool) func(*Case) bool { return func(c *Case) bool { return !cond(c) } }

func rootIs(kinds ...parsers.Kind) func(*Case) bool {
	return func(c *Case) bool { return c.Root(kinds...) }
}

// ownMemory: RAM on Linux, not its shared part.
func ownMemory(c *Case) bool { return !onWindows(c) && !c.Root(parsers.SharedMemory, parsers.NCCLShm) }

// onWindows: paths, error 1455, a refusal with room on the card, or the wording
// that only the Windows build of the CPU allocator has ("not enough memory" for
// "can't allocate memory").
func onWindows(c *Case) bool {
	return c.Windows() || roomy(c) && looksLikeWindows(c) || c.Root(parsers.CPUAlloc) && c.contains("not enough memory") && !c.contains("$ torch")
}

// pagefileSuspect: Windows, and nothing says that the card is full.
func pagefileSuspect(c *Case) bool {
	return c.Root(parsers.CUDAError) && onWindows(c) || roomy(c) && looksLikeWindows(c)
}

// looksLikeWindows: the nominal size to the byte, and no list of processes.
func looksLikeWindows(c *Case) bool {
	f := c.F()
	return f.Total != nil && f.Total.Bytes%units.GiB == 0 && f.ProcessUsed == nil
}

// lastStraw: a small piece was refused and nothing says what was going on, so
// that weights explain it nearly as well as work.
func lastStraw(c *Case) bool {
	r := c.F().Requested
	return c.Phase == "unknown" && r != nil && r.Bytes <= 160*units.MiB
}

func onXPU(c *Case) bool { return c.Backend == "xpu" }

// hasExpandableSegments: PyTorch 2.1 and later, as far as the message tells; a
// message without an era is taken for a recent one, as are torch_npu's, whose
// wording never changed.
func hasExpandableSegments(c *Case) bool {
	if c.Backend == "npu" {
		return true
	}
	era, ok := c.Fact("torch_since")
	return !ok || era.Text == "2.2" || era.Text == "2.9" || era.Text == "1.4"
}

// pytorchEngine judges PyTorch's own messages: the core of the arithmetic, for
// everything that runs on it.
var pytorchEngine = Engine{
	Programs: []string{"pytorch", "other"},
	Remedies: pytorchRemedies,
	Clues: map[string][]Clue{
		LeakedProcess:         {listedOthers, unlistedOthers, restOfCard, handleRefused},
		Fragmentation:         {slackCoversRequest, lostToFragments, heldNotUsed},
		OversizedAllocation:   {largerThanCard, metalBufferTooLarge, hugeHostTensor},
		BudgetMisconfigured:   {memoryFraction, hiddenFraction},
		HostMemory:            {cpuAllocation, commitLimit, sharedMemoryFull, workerKilled, freeButRefused, nativePaging, pinnedMemory},
		DeviceImbalance:       {bareContexts, weakestCard, oneCardFull, unevenShares},
		TrainingStateTooLarge: {optimizerStep},
		RetainedMemory:        {evaluationAccumulates, climbing, growsAtInference},
		ContextTooLong:        {logitsUpcast, attentionMatrix},
		BatchTooLarge:         {activationsFillCard},
		ModelTooLarge:         {weightsFillCard, spilledOver},
		SoftwareBug:           {blockLimit, refusedWithRoom, metalOutsideHeap},
		Unknown: {
			noFiguresAtAll, contradictory,
			said(0.5, "PyTorch's memory summary counts a failure; no message beside it says what was asked for.", parsers.TorchSummary),
		},
	},
}

// allocator reports a message of PyTorch's device allocators, whatever the era.
func allocator(c *Case) bool {
	return c.Root(parsers.TorchAlloc, parsers.TorchAsync, parsers.MPSAlloc)
}

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

// handleRefused: a library that can't even make its handle found the card full
// before the work began.
func handleRefused(c *Case) Finding {
	if !c.Root(parsers.CUDAHandle) {
		return nothing()
	}
	return seen(0.25, "A handle of a few MiB was refused: the card may have been full before this program's work.", c.Failure.Line)
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
	why := fmt.Sprintf("%s is neither free nor this program's own: %s total - %s free - %s here, of which about 0.5 GiB is this program's own context.", units.Format(c.Others.Bytes), f.Total.Text, f.Free.Text, units.Format(c.Mine.Bytes))
	switch {
	case c.Root(parsers.TorchAsync) && share < 0.5: // its message leaves the pool's unused part out
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

// neverFitting: more than the whole card for one tensor, as the matrix of an
// attention without flash attention grows.
func neverFitting(c *Case) bool { return neverFits(c) != "" }

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

func cpuAllocation(c *Case) Finding {
	if !c.Root(parsers.CPUAlloc, parsers.MmapFailed) {
		return nothing()
	}
	why := "The allocator of the computer's own memory was refused: no graphics card is involved."
	if r := c.F().Requested; r != nil {
		why = fmt.Sprintf("%s of the computer's own memory was refused; that is the last piece asked for, not the whole need.", r.Text)
		if r.Bytes >= hugeTensor {
			return seen(0.38, why, c.Failure.Line)
		}
	}
	return seen(0.93, why, c.Failure.Line)
}

// hugeTensor is what no computer of a person hands out for one tensor.
const hugeTensor = 32 * units.GiB

func hugeHostTensor(c *Case) Finding {
	r := c.F().Requested
	if !c.Root(parsers.CPUAlloc) || r == nil || r.Bytes < hugeTensor {
		return nothing()
	}
	return seen(0.58, fmt.Sprintf("One tensor of %s was asked for: more than most computers have in all.", r.Text), c.Failure.Line)
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
		return seen(0.48, fmt.Sprintf("%s of the card was free and %s was refused: not a full card. Windows refuses like this when RAM and page file are used up.", f.Free.Text, f.Requested.Text), c.Failure.Line)
	}
	return seen(0.25, fmt.Sprintf("%s of the card was free and %s was refused.", f.Free.Text, f.Requested.Text), c.Failure.Line)
}

// pinnedMemory: a data loader pins system memory; where that is refused, CUDA
// says only "out of memory" (microsoft/WSL issue 8447).
func pinnedMemory(c *Case) Finding {
	s := c.Signal("pinning")
	if s == nil || !c.Root(parsers.CUDAError) {
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

// spreadOver: one model lies on several cards, so choosing a card is no cure.
func spreadOver(c *Case) bool { return lopsided(c) != nil || unevenShares(c).Weight > 0 }

// lopsided returns a card with a third of its memory free that the process on
// the full card uses as well, nil if there is none.
func lopsided(c *Case) *parsers.Device {
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
	if c.Shortfall.Has() && sum >= c.Shortfall.Bytes && small > 2 {
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

func optimizerStep(c *Case) Finding {
	s := c.Signal("optimizer_step")
	if s == nil || !allocator(c) {
		return nothing()
	}
	weight := 0.75
	if crowded(c) {
		weight = 0.3
	}
	return seen(weight, "It failed in the optimizer: the states of Adam are made at the first step.", s.Line, c.Failure.Line)
}

func evaluationAccumulates(c *Case) Finding {
	s := c.Signal("eval_accumulate")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.85, "It failed while results of the evaluation were being collected: they are all kept on the card.", s.Line, c.Failure.Line)
}

// climbing: what the program printed of its own memory rose from step to step.
func climbing(c *Case) Finding {
	s := c.Signal("climbing")
	if s == nil || !c.Root(parsers.TorchAlloc) || s.Line > c.Failure.Line || roomy(c) {
		return nothing()
	}
	return seen(0.85, "What is allocated rises from step to step although the steps are alike: something of each is kept.", s.Line, c.Failure.Line)
}

func growsAtInference(c *Case) Finding {
	if s := c.Signal("validating"); s != nil && !roomy(c) {
		return seen(0.5, "It failed in validation after training worked: graphs of the validation are kept when gradients are not switched off.", s.Line, c.Failure.Line)
	}
	if s := c.Signal("second_model"); s != nil && c.Root(parsers.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !roomy(c) {
		return seen(0.85, "Another model was loaded in this notebook before, and is still held if nothing dropped it.", s.Line, c.Failure.Line)
	}
	if c.Root(parsers.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !roomy(c) {
		return seen(0.35, "In a notebook the model of an earlier run may still be held.", c.Failure.Line)
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
	weight := 0.7
	if f := c.F(); c.Training() && f.Requested != nil && f.Total != nil && f.Requested.Bytes*3 > f.Total.Bytes {
		weight = 0.92 // the size of the piece is explained
	}
	return seen(weight, "It failed while the logits (tokens x vocabulary) were turned into 32-bit numbers: they grow with the length of the sequence.", s.Line, c.Failure.Line)
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
	switch {
	case c.Root(parsers.CUDAHandle) && !c.Failure.Weak, c.Root(parsers.NVMLAssert):
		return seen(0.45, "Most often this means a full card, and most often the work of one step filled it.", c.Failure.Line)
	case c.Root(parsers.BitsAndBytes):
		return seen(0.15, "The work of one step may fill the card.", c.Failure.Line)
	case c.Root(noFigures...) && c.Training():
		return seen(0.55, "It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case c.Root(noFigures...):
		return seen(0.3, "Often the work of one step fills the card.", c.Failure.Line)
	case !allocator(c) || roomy(c) || unaccounted(c) || c.Phase == "load":
		return nothing()
	case neverFits(c) != "":
		return seen(0.15, "A smaller step may ask for a smaller piece.", c.Failure.Line)
	case f.Limit != nil && c.Root(parsers.TorchAlloc):
		return seen(0.25, "The limit is reached by this program's own work.", c.Failure.Line)
	}
	why := "This program fills the card by itself."
	switch {
	case crowded(c):
		return seen(0.15, "A smaller step might fit into what the others leave.", c.Failure.Line)
	case !c.Slack.Has() && f.Free == nil && f.Limit == nil:
		return seen(0.36, "The message is cut: the batch or the length of the input may be what filled the card.", c.Failure.Line)
	case c.Training():
		return seen(0.6, why+" It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case overfull(c):
		return seen(0.42, why, c.Failure.Line)
	case f.Requested != nil && f.Requested.Bytes > 6*units.GiB/5:
		return seen(0.5, why+fmt.Sprintf(" One request of %s is the size of a step's work, not of a weight.", f.Requested.Text), c.Failure.Line)
	}
	return seen(0.45, why, c.Failure.Line)
}

// weightsFillCard: the same, where the weights are the likelier reason.
func weightsFillCard(c *Case) Finding {
	f := c.F()
	switch {
	case c.Root(parsers.NVMLAssert):
		return seen(0.3, "The model may be too large for this slice of a card.", c.Failure.Line)
	case c.Root(noFigures...) && c.Phase == "load":
		return seen(0.6, "It failed while the model was being loaded.", c.Failure.Line)
	case !allocator(c) || roomy(c) || unaccounted(c) || f.Limit != nil && c.Root(parsers.TorchAlloc) || neverFits(c) != "" && c.Phase != "load":
		return nothing()
	case c.Phase == "load":
		return seen(0.8, "It failed while the model was being loaded: the weights do not fit.", c.Failure.Line)
	case c.Training():
		return seen(0.2, "The weights may be most of what this program holds.", c.Failure.Line)
	}
	if crowded(c) {
		return seen(0.1, "A smaller model might fit into what the others leave.", c.Failure.Line)
	}
	if c.Root(parsers.TorchAsync) && figureless(c) {
		return seen(0.3, "The model may be too large for this card: the message does not say what was held.", c.Failure.Line)
	}
	alone := "This program alone fills the card; no other is needed to explain it."
	if f.Total != nil && c.Mine.Has() {
		alone = fmt.Sprintf("This program alone fills the card (%s of %s); no other is needed to explain it.", units.Format(c.Mine.Bytes), f.Total.Text)
	}
	switch {
	case c.Root(parsers.MPSAlloc):
		return weightsOnMac(c)
	case c.Slack.Has() && c.Slack.Bytes < 64*units.MiB && f.Requested != nil && f.Requested.Bytes < units.GiB:
		return seen(0.5, alone+" Its pool has next to no slack, as while weights are loaded: nothing was freed yet.", c.Failure.Line)
	case !c.Slack.Has() && f.Free == nil && f.Total != nil && !figureless(c) && (f.Total.Bytes <= 12*units.GiB || c.Mine.Bytes*20 > f.Total.Bytes*19):
		return seen(0.52, alone, c.Failure.Line)
	case f.Requested != nil && f.Total != nil && f.Requested.Bytes > units.GiB && f.Requested.Bytes*10 < f.Total.Bytes:
		return seen(0.52, alone, c.Failure.Line)
	}
	return seen(0.38, alone, c.Failure.Line)
}

// weightsOnMac: the limit tells the size of the Mac (1.7 x what Metal
// recommends); 9.07 GB is an 8 GB Mac.
func weightsOnMac(c *Case) Finding {
	limit := c.F().Limit
	if limit != nil && limit.Bytes < 10*units.GiB {
		return seen(0.55, fmt.Sprintf("%s is the limit of a Mac with 8 GB or less: most models do not fit beside macOS.", limit.Text), c.Failure.Line)
	}
	return seen(0.35, "The model may be most of what this program holds.", c.Failure.Line)
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
	switch {
	case c.Root(parsers.CUDAHandle) && !c.Failure.Weak, c.Root(parsers.NVMLAssert):
		return seen(0.35, "The message has no figures.", c.Failure.Line)
	case c.Root(noFigures...), c.Root(parsers.TorchAlloc, parsers.TorchAsync) && figureless(c):
		return seen(0.5, "The message has no figures.", c.Failure.Line)
	}
	return nothing()
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
	if !c.Root(parsers.TorchAlloc) || !roomy(c) || c.F().Limit != nil {
		return nothing()
	}
	return seen(0.45, fmt.Sprintf("The figures contradict each other: %s was free and %s was refused.", c.F().Free.Text, c.F().Requested.Text), c.Failure.Line)
}
