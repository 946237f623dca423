// Package clues has what points to causes in PyTorch's own messages: who holds
// the card by its allocator's figures, what a table beside them shows, what it
// was doing.
package clues

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Clues by cause.
var Clues = map[string][]cause.Clue{
	cause.ModelTooLarge: {weightsFillCard, spilledOver},
	cause.BatchTooLarge: {activationsFillCard},
	cause.ContextTooLong: {
		cause.Shown("logits_fp32",
			cause.If(when.All(ledger.Allocator, mostOfCard), cause.Decisive, upcast), // the size of the piece is explained
			cause.If(ledger.Allocator, cause.Likely, upcast)),
		cause.Shown("attention", cause.If(ledger.Allocator, cause.Weak, "It failed in attention, which grows with the length of the sequence.")),
	},
	cause.TrainingStateTooLarge: {
		cause.Shown("optimizer_step",
			cause.If(when.Any(when.Not(InOptimizer), Restoring), cause.None, ""),
			cause.If(when.All(ledger.Allocator, ledger.Crowded), cause.Weak, firstStep),
			cause.If(ledger.Allocator, cause.Strong, firstStep)),
	},
	cause.Fragmentation: {{Look: slackCoversRequest}, {Look: heldNotUsed}},
	cause.LeakedProcess: {
		{Look: listedOthers}, {Look: unlistedOthers},
		cause.First(cause.If(Unaccounted, cause.Weak, restUnknown)),
		cause.Said(cause.Hint, "Even a few MiB were refused, so the GPU may have been full before this program's work.", fact.CUDAHandle),
	},
	cause.DeviceImbalance: {
		{Look: BareContexts}, {Look: oneCardFull},
		// DataParallel gives every card the same share, and PyTorch warned that they
		// differ.
		cause.Shown("uneven_cards", cause.If(fullCard, cause.Likely, "PyTorch warned that one GPU is much smaller than the others, and every GPU gets the same amount of work.")),
	},
	cause.BudgetMisconfigured: {
		{Look: HiddenFraction},
		cause.First(cause.If(fractionSet, cause.Decisive, "This process may only use {limit} (a memory fraction was set); the GPU itself is not the limit.")), // "N allowed" with N nearly used
	},
	cause.RetainedMemory: {
		cause.Shown("eval_accumulate", cause.If(ledger.Allocator, cause.Strong, "It failed while results of the evaluation were being collected: they are all kept on the GPU.")),
		cause.Shown("climbing", cause.If(climbing, cause.Strong, "Allocated memory rises from step to step although the steps are alike, so something of each step is kept.")),
		cause.Shown("second_model", cause.If(loadedAgain, cause.Strong, "Another model was loaded in this notebook before. It still takes memory unless it was deleted.")),
		cause.Shown("validating", cause.If(when.Not(ledger.Roomy), cause.Fair, "It failed in validation after training worked. Validation keeps its activations unless gradients are turned off.")),
		cause.First(
			cause.If(loadedAgain, cause.Weak, "In a notebook the model of an earlier run may still be held."),
			cause.If(smallAtInference, cause.Weak, "It failed at inference with a small request: results or gradients of earlier work may be kept.")),
	},
	cause.OversizedAllocation: {
		cause.First(
			cause.If(ledger.AbsurdSize, cause.Decisive, "The requested size is above an exbibyte: a length or shape was probably overwritten, negative or never set."),
			cause.If(ofNoCard, cause.Strong, "One tensor of {requested} is more than any GPU has."),
			cause.If(ofCard(1), cause.Decisive, oneTensor+" It can never fit."),
			cause.If(ofCard(0.6), cause.Decisive, oneTensor),
			cause.If(ofCard(0.35), cause.Weak, oneTensor)),
		cause.First(
			cause.If(squareOnHost, cause.Good, "{requested} for one matrix of attention: it grows with the square of the length."),
			cause.If(hugeHostTensor, cause.Good, "One tensor of {requested} is more than most computers have in all.")),
		cause.Said(cause.Decisive, "One Metal buffer of {requested} is larger than Metal allows, however much memory is free.", fact.MPSBuffer),
	},
	cause.HostMemory: {
		cause.First(
			cause.If(hugeOnHost, cause.Weak, lastPiece),
			cause.If(onProcessor, cause.Decisive, lastPiece),
			cause.If(onProcessor, cause.Decisive, "The failed request was for system memory (RAM), not for GPU memory.")),
		cause.First(
			cause.If(promisedAway, cause.Fair, "{free} of the GPU was free when {requested} was refused, so the GPU was not full. Windows does this when RAM and page file are used up."),
			cause.If(freeButRefused, cause.Hint, "{free} of the GPU was free when {requested} was refused.")),
		cause.First(cause.If(func(c *ledger.Case) bool { return c.Root(fact.BitsAndBytes) && c.Contains("pythoninterface") }, cause.Good,
			"The call that failed asks for managed memory (paged optimizers): system memory is short, or the card.")),
		// A data loader pins system memory; where that is refused, CUDA says only "out
		// of memory" (microsoft/WSL issue 8447).
		cause.Shown("pinning", cause.If(when.Root(fact.CUDAError), cause.Strong, "It failed while a batch was being pinned in system memory (RAM); WSL and containers allow little pinned memory.")),
	},
	cause.SoftwareBug: {
		cause.Said(cause.Strong, "This GPU refuses any single request above 4 GiB.", fact.XPUBlock),
		cause.Said(cause.Fair, "The Level Zero runtime gave up; this code is not always about memory.", fact.XPURuntime),
		cause.First(cause.If(refusedBlock, cause.Strong, "{requested} was refused although the GPU has room: Intel Arc GPUs refuse single requests of 4 GiB and more.")),
		cause.First(
			cause.If(ledger.AbsurdSize, cause.Weak, "A kernel that writes past its end, or a version that reads a length wrong, makes such numbers."),
			cause.If(byRuntime, cause.Likely, "{free} was free when {requested} was refused: the runtime refuses, the GPU is not full."),
			cause.If(refusedWithRoom, cause.Hint, "{free} was free when {requested} was refused.")),
		cause.First(cause.If(metalOutsideHeap, cause.Likely, "Metal's own temporary memory takes {other_allocations}, against {allocated} of tensors: several versions leak there.")),
	},
	cause.Unknown: {
		cause.First(
			cause.If(ledger.AbsurdSize, cause.None, ""),
			cause.If(when.All(ledger.CutShort, when.Not((*ledger.Case).Training)), cause.Weak, "The message is cut off: it says what was requested, not what is in use."),
			cause.If(fullHandle, cause.Weak, "The message has no figures."),
			cause.If(figureless, cause.Fair, "The message has no figures.")),
		cause.First(
			cause.If(Unaccounted, cause.Fair, restUnknown),
			cause.If(contradictory, cause.Fair, "The figures contradict each other: {free} was free and {requested} was refused.")),
		cause.Said(cause.Fair, "PyTorch's memory summary counts a failure; no message beside it says what was asked for.", fact.TorchSummary),
	},
}

// What the clues ask for.
var (
	noFigures = when.Root(fact.CUDAError, fact.CUDAHandle, fact.NVMLAssert, fact.NCCLAlloc, fact.XPURuntime, fact.BitsAndBytes) // of what was wanted or held
	onMPS     = when.Root(fact.MPSAlloc)
	fullCard  = when.All(ledger.Allocator, when.Not(ledger.Roomy))
)

func neverFits(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }

func fractionSet(c *ledger.Case) bool { return c.F().Limit != nil && c.Root(fact.TorchAlloc) }

const lastPiece = "{requested} of system memory (RAM) was refused; that is only the last request, not the whole need."

// freeButRefused: Windows refuses while VRAM is free when RAM and page file
// are promised away.
func freeButRefused(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && ledger.Roomy(c) && c.Backend == "cuda"
}

// promisedAway: so does it with a card of its nominal size.
func promisedAway(c *ledger.Case) bool {
	f := c.F()
	return freeButRefused(c) && f.Total != nil && f.Total.Bytes%units.GiB == 0 && f.ProcessUsed == nil
}

var onProcessor = when.Root(fact.CPUAlloc, fact.MmapFailed)

func hugeOnHost(c *ledger.Case) bool {
	return onProcessor(c) && (ledger.Requested(c) >= hugeTensor || squareOnHost(c))
}

const firstStep = "It failed in the optimizer: Adam creates its state at the first step."

const upcast = "It failed while the logits (tokens x vocabulary) were turned into 32-bit numbers: they grow with the length of the sequence."

// mostOfCard: a step of training asked for more than a third of the card.
func mostOfCard(c *ledger.Case) bool {
	f := c.F()
	return c.Training() && f.Requested != nil && f.Total != nil && f.Requested.Bytes*3 > f.Total.Bytes
}

// refusedBlock: Arc cards refuse single pieces of 4 GiB and more, with room.
func refusedBlock(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.TorchAlloc) && c.Backend == "xpu" && f.Requested != nil && f.Requested.Bytes >= 4*units.GiB && (f.Total == nil || c.Mine.Bytes+f.Requested.Bytes < f.Total.Bytes)
}

func refusedWithRoom(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && ledger.Roomy(c) && !stage.TakingCache(c)
}

func byRuntime(c *ledger.Case) bool {
	return refusedWithRoom(c) && (c.Backend == "rocm" || c.Backend == "xpu")
}

// metalOutsideHeap: "other allocations" are MPSGraph temporaries of this very
// process; when they dominate, something leaks there. A diffusion model's step of
// one shape is as large by itself.
func metalOutsideHeap(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.MPSAlloc) && f.Allocated != nil && f.OtherAllocations != nil && f.OtherAllocations.Bytes > 2*f.Allocated.Bytes && (c.Training() || !strings.HasSuffix(c.Reader.Work, "-generation"))
}

// climbing: what the program printed of its own memory had risen from step to
// step when it failed.
func climbing(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc, fact.DeviceAlloc) && !ledger.Roomy(c) && c.Signal("climbing").Line <= c.Failure.Line
}

// loadedAgain: a notebook loads a model, perhaps not its first.
func loadedAgain(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !ledger.Roomy(c)
}

// smallAtInference: nothing was trained, little was asked for, and work before it
// had gone well or may have.
func smallAtInference(c *ledger.Case) bool {
	return c.Signal("many_steps", "few_steps", "notebook", fact.InApp) != nil && c.Root(fact.TorchAlloc) && c.Signal("inferring") != nil && !c.Training() && c.F().Requested != nil && c.F().Requested.Bytes < 256*units.MiB
}

// Restoring: an optimizer takes its state from a checkpoint.
func Restoring(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool {
		return f.Line < c.Failure.EndLine+40 && f.Line > c.Failure.Line-40 && f.Function == "load_state_dict" && strings.Contains(strings.ReplaceAll(f.File, `\`, "/"), "/optim/")
	})
}

// InOptimizer: the optimizer itself was at work, not the training step that it
// was given to call (a closure, as Lightning does).
func InOptimizer(c *ledger.Case) bool {
	for _, f := range slices.Backward(ledger.Trace(c)) {
		file := strings.ReplaceAll(f.File, `\`, "/")
		switch {
		case strings.Contains(file, "/optim/"):
			return true
		case strings.Contains(f.Function, "closure"), strings.Contains(f.Function, "training_step"), f.Function == "forward":
			return false
		}
	}
	return true // no traceback says otherwise
}

const restUnknown = "This program holds {mine} of {total}; the message does not say what is free, so other programs may hold the rest, or the runtime refused."

func figureless(c *ledger.Case) bool {
	return noFigures(c) || c.Root(fact.TorchAlloc, fact.TorchAsync) && Figureless(c)
}

func contradictory(c *ledger.Case) bool {
	return c.Root(fact.TorchAlloc) && ledger.Roomy(c) && c.F().Limit == nil
}

// fullHandle: a library found no room for its handle, which as a rule is a full
// card.
func fullHandle(c *ledger.Case) bool {
	return c.Root(fact.CUDAHandle) && !c.Failure.Weak || c.Root(fact.NVMLAssert)
}
