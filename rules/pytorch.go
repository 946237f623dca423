package rules

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// pytorchRemedies order cures by what PyTorch's messages show.
var pytorchRemedies = map[string][]Remedy{
	HostMemory: {
		{Fix: "raise_pagefile", Fit: 1, If: onWindows},
		{Fix: "close_other_apps", Fit: 0.85, If: onWindows},
		{Fix: "raise_shm_size", Fit: 1, If: sharedMemory},
		{Fix: "lower_num_workers", Fit: 0.95, If: rootIs(fact.SharedMemory, fact.WorkerKilled)},
		{Fix: "lower_num_workers", Fit: 1, If: func(c *Case) bool { return c.Signal("pinning") != nil }},
		{Fix: "lower_num_workers", Fit: 0.75, If: rootIs(fact.CommitLimit)},
		{Fix: "detach_accumulated", Fit: 1, If: climbingHost},
		{Fix: "stream_dataset", Fit: 1, If: growsList},
		{Fix: "raise_memory_limit", Fit: 0.85, If: ownMemory},
		{Fix: "add_swap", Fit: 0.8, If: ownMemory},
		{Fix: "add_swap", Fit: 0.92, If: func(c *Case) bool { return c.Root(fact.RankKilled) && loadsModel(c) }},
		{Fix: "use_smaller_model", Fit: 0.8, If: func(c *Case) bool { return c.Root(fact.RankKilled) && loadsModel(c) }},
		{Fix: "lower_batch_size", Fit: 0.5, If: all(rootIs(fact.CPUAlloc), not(stepOnCPU))},
		{Fix: "lower_batch_size", Fit: 0.82, If: all(stepOnCPU, func(c *Case) bool { return requested(c) < 4*units.GiB })},
		{Fix: "lower_batch_size", Fit: 0.9, If: all(stepOnCPU, func(c *Case) bool { return requested(c) >= 4*units.GiB })},
		{Fix: "use_mmap", Fit: 0.9, If: all(rootIs(fact.CPUAlloc), func(c *Case) bool { return failedAt(c, "reading_checkpoint") != nil })},
		{Fix: "close_other_apps", Fit: 0.6, If: func(c *Case) bool { return !onWindows(c) && !sharedMemory(c) }},
		{Fix: "use_smaller_model", Fit: 0.55, If: onWindows},
		{Fix: "stream_dataset", Fit: 0.45},
	},
	ModelTooLarge: {
		{Fix: "use_lower_quant", Fit: 0.97, If: func(c *Case) bool { return !tinyCard(c) && !onMac(c) && !before2020(c) }},
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
		{Fix: "efficient_attention", Fit: 1.2, If: writesScores},
		{Fix: "lower_batch_size", Fit: 1.05, If: rootIs(fact.CPUAlloc)},
		{Fix: "fix_shape", Fit: 1.1, If: absurdSize},
		{Fix: "stream_dataset", Fit: 0.9, If: all(rootIs(fact.CPUAlloc), not(writesScores))},
		{Fix: "lower_resolution", Fit: 1, If: all(not(absurdSize), not(all(rootIs(fact.CPUAlloc), writesScores)))},
		{Fix: "lower_context", Fit: 0.9, If: writesScores},
		{Fix: "enable_flash_attention", Fit: 0.95, If: all(neverFitting, not(absurdSize))},
		{Fix: "efficient_attention", Fit: 0.85, If: not(absurdSize)},
		{Fix: "lower_batch_size", Fit: 0.8, If: all(not(rootIs(fact.CPUAlloc)), not(absurdSize))},
		{Fix: "lower_context", Fit: 0.6, If: not(absurdSize)},
		{Fix: "fix_shape", Fit: 0.75, If: neverFitting},
	},
	BudgetMisconfigured: {
		{Fix: "raise_memory_limit", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.5},
	},
	ContextTooLong: {
		{Fix: "efficient_attention", Fit: 1.1, If: writesScores},
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
		{Fix: "use_smaller_model", Fit: 0.95, If: rootIs(fact.BitsAndBytes)},
		{Fix: "lower_context", Fit: 0.9, If: rootIs(fact.BitsAndBytes)},
		{Fix: "use_lower_quant", Fit: 0.95, If: rootIs(fact.RustDriver)},
		{Fix: "use_smaller_model", Fit: 0.92, If: plainRefused},
		{Fix: "close_other_apps", Fit: 0.8, If: rootIs(fact.BitsAndBytes)},
		{Fix: "restart_session", Fit: 0.85},
		{Fix: "upgrade_version", Fit: 0.5, If: roomy},
		{Fix: "lower_batch_size", Fit: 0.9, If: func(c *Case) bool { return !roomy(c) && !pagefileSuspect(c) }},
		{Fix: "kill_stale_process", Fit: 0.85, If: func(c *Case) bool { return !roomy(c) && !c.Root(fact.NVMLAssert) }},
		{Fix: "inference_mode", Fit: 0.87, If: func(c *Case) bool { return c.Root(fact.TorchAlloc) && !roomy(c) && !c.Training() }},
		{Fix: "lower_resolution", Fit: 0.6, If: not(roomy)},
	},
}

// stepOnCPU: a step on the processor asked for a piece of the size of a batch's
// work.
func stepOnCPU(c *Case) bool {
	return c.Root(fact.CPUAlloc) && c.Phase != "load" && (requested(c) >= 4*units.GiB || requested(c) >= 256*units.MiB && (c.Training() || c.Signal("logits_fp32") != nil))
}

// othersCouldYield: what others hold beside this program, less the context of
// this very process, is several times what was lacking.
func othersCouldYield(c *Case) bool {
	return c.Others.Has() && c.Shortfall.Has() && c.Shortfall.Bytes > 0 && c.Others.Bytes > units.GiB+driverContext && c.Others.Bytes-driverContext > 4*c.Shortfall.Bytes && !onMac(c)
}

// before2020: THC's messages and those of 1.0 to 1.3, when models were small
// beside their work and no format below 16 bit was to be had.
func before2020(c *Case) bool {
	_, cached := c.Fact("torch_until")
	return cached && c.Root(fact.TorchAlloc) || c.Root(fact.CUDAError) && c.contains("thc")
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
func blasHandle(c *Case) bool { return c.Root(fact.CUDAHandle) && !c.contains("convolution") }

func not(cond func(*Case) bool) func(*Case) bool { return func(c *Case) bool { return !cond(c) } }

func rootIs(kinds ...fact.Kind) func(*Case) bool {
	return func(c *Case) bool { return c.Root(kinds...) }
}

// ownMemory: RAM on Linux, not its shared part.
func ownMemory(c *Case) bool { return !onWindows(c) && !sharedMemory(c) }

// onWindows: paths, error 1455, a refusal with room on the card, or the wording
// that only the Windows build of the CPU allocator has ("not enough memory" for
// "can't allocate memory").
func onWindows(c *Case) bool {
	return c.Windows() || roomy(c) && looksLikeWindows(c) || c.Root(fact.CPUAlloc) && c.contains("not enough memory") && !c.contains("$ torch")
}

// pagefileSuspect: Windows, and nothing says that the card is full.
func pagefileSuspect(c *Case) bool {
	return c.Root(fact.CUDAError) && onWindows(c) || roomy(c) && looksLikeWindows(c)
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
}

// allocator reports a message of PyTorch's device allocators, whatever the era.
func allocator(c *Case) bool {
	return c.Root(fact.TorchAlloc, fact.TorchAsync, fact.MPSAlloc)
}

// spreadOver: one model lies on several cards, so choosing a card is no cure.
func spreadOver(c *Case) bool { return lopsided(c) != nil || unevenShares(c).Weight > 0 }
