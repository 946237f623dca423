package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// What programs on llama.cpp in packages of their own share with it.

// RefusedKinds refuse a buffer; FullKinds are those and what fails at work.
var (
	RefusedKinds = refused
	FullKinds    = gpuFull
	AtWork       = atWork
	// Projects are words of a vision projector that was loaded or run.
	Projects = projects
)

// What cards of theirs ask.
var (
	// Device holds where a part of the model was refused on a card.
	Device = device
	// Host holds where it was refused in system memory.
	Host = host
	// AbsurdGraph reports a compute buffer out of all proportion.
	AbsurdGraph = absurdGraph
	// ScoresFill reports a compute buffer that is mostly the matrix of attention.
	ScoresFill = scoresFill
	// Experts reports a model whose weights are mostly experts.
	Experts = mixtureOfExperts
	// Shared reports graphics that have the computer's memory for their own.
	Shared = unified
	// Uneven: the split over the cards is the likelier reason.
	Uneven = uneven
	// WholeTexts: the physical batch is as long as the context, as models for
	// embeddings are run.
	WholeTexts = wholeTexts
	// SeveralDevices reports that more than one card takes part.
	SeveralDevices = severalDevices
	// Samples: stable-diffusion.cpp was denoising.
	Samples = samples
)

// LayersToKeep is how many layers to leave on the card, and how many were meant
// for it; 0 where the log does not say.
func LayersToKeep(c *ledger.Case) (keep, of int64) {
	b := budgetOf(c)
	if b.Layers < 2 {
		return 0, 0
	}
	return layersToKeep(c), b.Layers
}

// ContextToTry is the context to paste for one request, and the one that was
// asked for, 0 where the log does not say.
func ContextToTry(c *ledger.Case) (try, of int64) {
	n := slots(c)
	return max(contextToTry(c)/n/256*256, min(2048, contextOf(c)/n), 512), contextOf(c) / n
}

// LayersToSet is the number of layers to paste, one to start from where the log
// says too little.
func LayersToSet(c *ledger.Case) int64 { return layersToKeep(c) }

// ContextToSet is the context to paste for all requests together.
func ContextToSet(c *ledger.Case) int64 { return contextToTry(c) }

// Slots is by how many requests the context is multiplied.
func Slots(c *ledger.Case) int64 { return slots(c) }

// PhysicalBatch is how many tokens are computed at once.
func PhysicalBatch(c *ledger.Case) int64 { return physicalBatch(c) }

// Numbers are what the sentences of llama.cpp's cards name.
func Numbers(c *ledger.Case) map[string]string { return numbers(c) }

// BufferKinds are the failures that ggml reports of a buffer.
var BufferKinds = []fact.Kind{fact.GGMLAlloc}
