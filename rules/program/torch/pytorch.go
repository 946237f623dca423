// Package torch knows PyTorch and what is built on it for text: transformers,
// Unsloth, LLaMA-Factory, Axolotl.
package torch

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// pytorchRemedies order cures by what PyTorch's messages show.
var pytorchRemedies = map[string][]cause.Remedy{
	cause.HostMemory: {
		{Fix: "raise_pagefile", Fit: 1, If: reader.OnWindows},
		{Fix: "raise_shm_size", Fit: 1, If: ledger.SharedMemory},
		{Fix: "lower_num_workers", Fit: 0.97, If: when.Any(when.Root(fact.SharedMemory, fact.WorkerKilled), pinning)},
		{Fix: "lower_num_workers", Fit: 0.75, If: when.Root(fact.CommitLimit)},
		{Fix: "detach_accumulated", Fit: 1, If: cause.ClimbingHost},
		{Fix: "stream_dataset", Fit: 1, If: ledger.GrowsList},
		{Fix: "lower_batch_size", Fit: 0.9, If: stepOnCPU},
		{Fix: "use_mmap", Fit: 1.1, If: func(c *ledger.Case) bool { return ledger.FailedAt(c, "reading_checkpoint") != nil }},
		{Fix: "raise_memory_limit", Fit: 0.85, If: ownMemory},
		{Fix: "add_swap", Fit: 0.92, If: when.All(when.Root(fact.RankKilled), cause.LoadsModel)},
		{Fix: "add_swap", Fit: 0.82, If: ownMemory},
		{Fix: "close_other_apps", Fit: 0.7, If: when.Not(ledger.SharedMemory)},
		{Fix: "use_smaller_model", Fit: 0.55, If: when.Not(ledger.SharedMemory)},
		{Fix: "stream_dataset", Fit: 0.45},
	},
	cause.ModelTooLarge: {
		{Fix: "use_lower_quant", Fit: 0.97, If: when.Not(when.Any(ledger.TinyCard, onMac, ledger.Before2020))},
		{Fix: "use_smaller_model", Fit: 0.92},
		{Fix: "close_other_apps", Fit: 0.77, If: when.Any(onMac, othersCouldYield)},
		{Fix: "half_precision", Fit: 0.85, If: onMac},
		{Fix: "cpu_offload", Fit: 0.85, If: when.Not(onMac)},
		{Fix: "load_in_4bit", Fit: 0.8, If: when.Not(onMac)},
		{Fix: "half_precision", Fit: 0.65, If: when.Not(onMac)},
		{Fix: "lower_batch_size", Fit: 0.65, If: func(c *ledger.Case) bool { return ledger.TinyCard(c) && !reader.LooksLikeWindows(c) }},
		{Fix: "bigger_gpu", Fit: 0.85, If: ledger.TinyCard},
		{Fix: "multi_gpu", Fit: 0.5, If: when.Not(onMac)},
	},
	cause.TrainingStateTooLarge: {
		{Fix: "shard_training", Fit: 1.02, If: distributed},
		{Fix: "optimizer_8bit", Fit: 1},
		{Fix: "offload_optimizer", Fit: 0.95},
		{Fix: "use_lora", Fit: 0.9},
		{Fix: "gradient_checkpointing", Fit: 0.4},
	},
	cause.BatchTooLarge: {
		{Fix: "lower_batch_size", Fit: 1},
		{Fix: "select_gpu", Fit: 0.75, If: blasHandle},
		{Fix: "kill_stale_process", Fit: 0.7, If: blasHandle},
		{Fix: "lower_resolution", Fit: 0.6},
		{Fix: "inference_mode", Fit: 0.7, If: func(c *ledger.Case) bool { return c.Signal("inferring") != nil && !c.Training() }},
		{Fix: "use_smaller_model", Fit: 0.3, If: lastStraw},
		{Fix: "gradient_checkpointing", Fit: 0.55, If: func(c *ledger.Case) bool { return c.Training() || c.Phase == "unknown" }},
		{Fix: "mixed_precision", Fit: 0.5},
		{Fix: "lower_context", Fit: 0.45},
	},
	cause.OversizedAllocation: {
		{Fix: "efficient_attention", Fit: 1.2, If: ledger.WritesScores},
		{Fix: "lower_batch_size", Fit: 1.05, If: when.Root(fact.CPUAlloc)},
		{Fix: "fix_shape", Fit: 1.1, If: ledger.AbsurdSize},
		{Fix: "stream_dataset", Fit: 0.9, If: when.All(when.Root(fact.CPUAlloc), when.Not(ledger.WritesScores))},
		{Fix: "lower_resolution", Fit: 1, If: when.All(when.Not(ledger.AbsurdSize), when.Not(when.All(when.Root(fact.CPUAlloc), ledger.WritesScores)))},
		{Fix: "lower_context", Fit: 0.9, If: ledger.WritesScores},
		{Fix: "enable_flash_attention", Fit: 0.95, If: when.All(neverFitting, when.Not(ledger.AbsurdSize))},
		{Fix: "efficient_attention", Fit: 0.85, If: when.Not(ledger.AbsurdSize)},
		{Fix: "lower_batch_size", Fit: 0.8, If: when.All(when.Not(when.Root(fact.CPUAlloc)), when.Not(ledger.AbsurdSize))},
		{Fix: "lower_context", Fit: 0.6, If: when.Not(ledger.AbsurdSize)},
		{Fix: "fix_shape", Fit: 0.75, If: neverFitting},
	},
	cause.BudgetMisconfigured: {
		{Fix: "raise_memory_limit", Fit: 1},
		{Fix: "lower_batch_size", Fit: 0.5},
	},
	cause.ContextTooLong: {
		{Fix: "efficient_attention", Fit: 1.1, If: ledger.WritesScores},
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.75, If: when.Not((*ledger.Case).Training)}, // training keeps no KV cache
		{Fix: "lower_batch_size", Fit: 0.7},
		{Fix: "gradient_checkpointing", Fit: 0.6, If: (*ledger.Case).Training},
		{Fix: "enable_flash_attention", Fit: 0.5},
	},
	cause.DeviceImbalance: {
		{Fix: "balance_split", Fit: 1.05, If: spreadOver},
		{Fix: "select_gpu", Fit: 1, If: when.Not(spreadOver)},
		{Fix: "lower_context", Fit: 0.5},
		{Fix: "gradient_checkpointing", Fit: 0.45},
	},
	cause.Fragmentation: {
		{Fix: "expandable_segments", Fit: 1, If: reader.HasExpandableSegments},
		{Fix: "max_split_size", Fit: 1, If: when.Not(reader.HasExpandableSegments)},
		{Fix: "max_split_size", Fit: 0.7, If: reader.HasExpandableSegments},
		{Fix: "lower_batch_size", Fit: 0.6},
		{Fix: "gradient_checkpointing", Fit: 0.4, If: (*ledger.Case).Training},
		{Fix: "lower_resolution", Fit: 0.35, If: when.Not((*ledger.Case).Training)},
	},
	cause.SoftwareBug: {
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "raise_pagefile", Fit: 0.5, If: when.Any(reader.OnWindows, reader.LooksLikeWindows)},
		{Fix: "lower_batch_size", Fit: 0.6, If: func(c *ledger.Case) bool { return c.Backend == "xpu" }},
		{Fix: "lower_resolution", Fit: 0.4},
	},
	cause.Unknown: {
		{Fix: "raise_pagefile", Fit: 1, If: pagefileSuspect},
		{Fix: "close_other_apps", Fit: 0.85, If: pagefileSuspect},
		{Fix: "use_smaller_model", Fit: 0.93, If: when.Any(when.Root(fact.BitsAndBytes), ledger.PlainRefused)},
		{Fix: "lower_context", Fit: 0.9, If: when.Root(fact.BitsAndBytes)},
		{Fix: "close_other_apps", Fit: 0.8, If: when.Root(fact.BitsAndBytes)},
		{Fix: "use_lower_quant", Fit: 0.95, If: when.Root(fact.RustDriver)},
		{Fix: "restart_session", Fit: 0.85},
		{Fix: "upgrade_version", Fit: 0.5, If: ledger.Roomy},
		{Fix: "lower_batch_size", Fit: 0.9, If: when.Not(when.Any(ledger.Roomy, pagefileSuspect))},
		{Fix: "kill_stale_process", Fit: 0.85, If: when.Not(when.Any(ledger.Roomy, when.Root(fact.NVMLAssert)))},
		{Fix: "inference_mode", Fit: 0.87, If: func(c *ledger.Case) bool { return c.Root(fact.TorchAlloc) && !ledger.Roomy(c) && !c.Training() }},
		{Fix: "lower_resolution", Fit: 0.6, If: when.Not(ledger.Roomy)},
	},
}

// stepOnCPU: a step on the processor asked for a piece of the size of a batch's
// work.
func stepOnCPU(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && c.Phase != "load" && (ledger.Requested(c) >= 4*units.GiB || ledger.Requested(c) >= 256*units.MiB && (c.Training() || c.Signal("logits_fp32") != nil))
}

// othersCouldYield: what others hold beside this program, less the context of
// this very process, is several times what was lacking.
func othersCouldYield(c *ledger.Case) bool {
	return c.Others.Has() && c.Shortfall.Has() && c.Shortfall.Bytes > 0 &&
		c.Others.Bytes-ledger.DriverContext > max(units.GiB, 4*c.Shortfall.Bytes)
}

func onMac(c *ledger.Case) bool { return c.Backend == "mps" || c.Backend == "metal" }

// blasHandle: cuBLAS found the card full when it started, convolutions or not.
func blasHandle(c *ledger.Case) bool { return c.Root(fact.CUDAHandle) && !c.Contains("convolution") }

func pinning(c *ledger.Case) bool { return c.Signal("pinning") != nil }

// ownMemory: RAM on Linux, not its shared part.
func ownMemory(c *ledger.Case) bool { return !reader.OnWindows(c) && !ledger.SharedMemory(c) }

// pagefileSuspect: Windows, and nothing says that the card is full.
func pagefileSuspect(c *ledger.Case) bool {
	return c.Root(fact.CUDAError) && reader.OnWindows(c) || ledger.Roomy(c) && reader.LooksLikeWindows(c)
}

// lastStraw: a small piece was refused and nothing says what was going on, so
// that weights explain it nearly as well as work.
func lastStraw(c *ledger.Case) bool {
	r := c.F().Requested
	return c.Phase == "unknown" && r != nil && r.Bytes <= 160*units.MiB
}

// PyTorch judges PyTorch's own messages: the core of the arithmetic, for
// everything that runs on it.
var PyTorch = program.Program{
	Name: "pytorch", Shown: "PyTorch", Rank: 40,
	Remedies: pytorchRemedies,
	Cards:    slices.Concat(shardingCards, placeCards, lateCards, figureCards),
}

// spreadOver: one model lies on several cards, so choosing a card is no cure.
func spreadOver(c *ledger.Case) bool {
	return ledger.Lopsided(c) != nil || cause.UnevenShares(c).Weight > 0
}

// neverFitting: more than the whole card for one tensor, as the matrix of an
// attention without flash attention grows.
func neverFitting(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }
