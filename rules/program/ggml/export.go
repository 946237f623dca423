package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// What a program on llama.cpp with a package of its own shares with it.

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

// BatchToTry is the physical batch to paste.
func BatchToTry(c *ledger.Case) int64 { return batchToTry(c) }

// Slots is by how many requests the context is multiplied.
func Slots(c *ledger.Case) int64 { return slots(c) }

// Missing is what system memory lacks by Ollama's check, 0 where it does not
// say.
func Missing(c *ledger.Case) int64 {
	if !checked(c) {
		return 0
	}
	return missing(c)
}

// Checked: Ollama's check says what it compared.
func Checked(c *ledger.Case) bool { return checked(c) }

// Slightly: so little is missing that the smallest saving is enough. Hopeless:
// nothing that can be closed makes up for it.
func Slightly(c *ledger.Case) bool { return slightly(c) }

// Hopeless: no program to close makes up for what is missing.
func Hopeless(c *ledger.Case) bool { return hopeless(c) }

// NotRecovered: the runner before had not given its memory back.
func NotRecovered(c *ledger.Case) bool { return notRecovered(c) }

// BufferKinds are the failures that ggml reports of a buffer.
var BufferKinds = []fact.Kind{fact.GGMLAlloc}

// OddCard: the device that failed is the processor's own graphics.
func OddCard(c *ledger.Case) bool { return oddCard(c) }
