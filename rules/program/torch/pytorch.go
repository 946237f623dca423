// Package torch knows PyTorch and what is built on it for text: transformers,
// Unsloth, LLaMA-Factory, Axolotl.
package torch

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/allocator"
	"github.com/oomdoc/oomdoc/rules/program/torch/bitsandbytes"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/npu"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/program/torch/script"
	"github.com/oomdoc/oomdoc/rules/program/torch/sized"
	"github.com/oomdoc/oomdoc/rules/program/torch/subject"
	"github.com/oomdoc/oomdoc/rules/program/torch/tensors"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// PyTorch is the core of the arithmetic, for everything that runs on it: what
// cures is mostly the causes' own.
var PyTorch = program.Program{
	Name: "pytorch", Shown: "PyTorch", Rank: 40, Commands: []string{"pytest"},
	Edits: "code", Language: "python", Script: "own-script",
	Numbers: append([]explain.Reading{script.Literal}, tensors.Readings...), Clues: clues.Clues, Code: code.Steps, Whys: allocator.Whys, Effects: allocator.Effects, Useless: script.Useless,
	Cards: cures.Singly(slices.Concat(npu.Cards, rest.Pools, sized.Cards, ranks.Cards, compiledCards, []cause.Card{bitsandbytes.Saving}, shardingCards, ranks.KilledCards, bitsandbytes.Cards, script.AlikeCards, script.CopiedModels, subject.Cards, script.Cards, subject.FilmCards, subject.GraphCards, subject.TestCards, cures.AMDAttention, bareCards, placeCards, rest.Tests, rest.Scenes, cures.LibtorchCards, pictures.Cards, lateCards, script.SizeCards, operationCards, figureCards, fullCards, pictures.MacCards, ram.RefusedCards, systemCards, ram.LastCards, rest.Figures, rest.Words)),
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory: {
			{Fix: "use_mmap", Fit: cause.Foremost, If: func(c *ledger.Case) bool { return ledger.FailedAt(c, "reading_checkpoint") != nil }},
			{Fix: "raise_pagefile", Fit: cause.Cures, If: reader.OnWindows},
			{Fix: "raise_shm_size", Fit: cause.Cures, If: ledger.SharedMemory},
			{Fix: "detach_accumulated", Fit: cause.Cures, If: cause.ClimbingHost},
			{Fix: "stream_dataset", Fit: cause.Cures, If: ledger.GrowsList},
			{Fix: "lower_num_workers", Fit: cause.Cures, If: when.Any(when.Root(fact.SharedMemory, fact.WorkerKilled), pinning)},
			{Fix: "add_swap", Fit: cause.Helps, If: when.All(when.Root(fact.RankKilled), cause.LoadsModel)},
			{Fix: "lower_batch_size", Fit: cause.Helps, If: stepOnCPU},
			{Fix: "raise_memory_limit", Fit: cause.Helps, If: ownMemory},
			{Fix: "add_swap", Fit: cause.Helps, If: ownMemory},
			{Fix: "lower_num_workers", Fit: cause.MayHelp, If: when.Root(fact.CommitLimit)},
			{Fix: "close_other_apps", Fit: cause.MayHelp, If: when.Not(ledger.SharedMemory)},
			{Fix: "use_smaller_model", Fit: cause.LastResort, If: when.Not(ledger.SharedMemory)},
			{Fix: "stream_dataset", Fit: cause.LastResort},
		},
	},
}

// stepOnCPU: a step on the processor asked for a piece of the size of a batch's
// work.
func stepOnCPU(c *ledger.Case) bool {
	return c.Root(fact.CPUAlloc) && c.Phase != "load" && (ledger.Requested(c) >= 4*units.GiB || ledger.Requested(c) >= 256*units.MiB && (c.Training() || c.Signal("logits_fp32") != nil))
}

func pinning(c *ledger.Case) bool { return c.Signal("pinning") != nil }

// ownMemory: RAM on Linux, not its shared part.
func ownMemory(c *ledger.Case) bool { return !reader.OnWindows(c) && !ledger.SharedMemory(c) }

// Where PyTorch's messages come from, and what its notes say of them.
const allocatorSource, cudaNotes, memoryFAQ = cures.AllocatorSource, cures.CudaNotes, cures.MemoryFAQ
