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

// Device holds where a part of the model was refused on a card.
func Device(parts ...string) func(*ledger.Case) bool { return device(parts...) }

// Host holds where it was refused in system memory.
func Host(parts ...string) func(*ledger.Case) bool { return host(parts...) }

// AbsurdGraph reports a compute buffer out of all proportion.
func AbsurdGraph(c *ledger.Case) bool { return absurdGraph(c) }

// ScoresFill reports a compute buffer that is mostly the matrix of attention.
func ScoresFill(c *ledger.Case) bool { return scoresFill(c) }

// Experts reports a model whose weights are mostly experts.
func Experts(c *ledger.Case) bool { return mixtureOfExperts(c) }

// Shared reports graphics that have the computer's memory for their own.
func Shared(c *ledger.Case) bool { return unified(c) }

// Uneven: the split over the cards is the likelier reason.
func Uneven(c *ledger.Case) bool { return uneven(c) }

// FailingCard is the model of the card that refused, "" where the log does not
// name it.
func FailingCard(c *ledger.Case) string {
	name := ""
	for _, d := range c.Facts.Devices {
		if d.Name != "" && mayFail(c, d) {
			if name != "" && name != d.Name {
				return ""
			}
			name = d.Name
		}
	}
	return name
}

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
	return max(contextToTry(c)/n/256*256, 512), contextOf(c) / n
}

// LayersToSet is the number of layers to paste, one to start from where the log
// says too little.
func LayersToSet(c *ledger.Case) int64 { return layersToKeep(c) }

// ContextToSet is the context to paste for all requests together.
func ContextToSet(c *ledger.Case) int64 { return contextToTry(c) }

// Slots is by how many requests the context is multiplied.
func Slots(c *ledger.Case) int64 { return slots(c) }

// SeveralDevices reports that more than one card takes part.
func SeveralDevices(c *ledger.Case) bool { return severalDevices(c) }

// Samples: stable-diffusion.cpp was denoising.
func Samples(c *ledger.Case) bool { return samples(c) }

// Numbers are what the sentences of llama.cpp's cards name.
func Numbers(c *ledger.Case) map[string]string { return numbers(c) }

// BufferKinds are the failures that ggml reports of a buffer.
var BufferKinds = []fact.Kind{fact.GGMLAlloc}
