package cause

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Card is what somebody who knows a program would say of one of its messages.
// It holds where all of its conditions do and the log has every figure that its
// sentences name; where none speaks, general knowledge does.
type Card struct {
	// ID is PROGRAM/WHAT, such as comfyui/vae-decode.
	ID string
	// Kinds are the failures that it is about; nil: any.
	Kinds []fact.Kind
	// Phases are those in which it holds; nil: any.
	Phases []string
	// Said are words of the program, one of which stands near the failure: a
	// message, a function or a file of the traceback. Nil: none is needed.
	Said []string
	// Unsaid are words none of which stands there.
	Unsaid []string
	// If is what else must hold; nil: nothing.
	If func(c *ledger.Case) bool
	// Cause is what the message means, and Weight in what share of the logs that
	// meet the card. Without a cause the card puts into words what the clues find
	// the likeliest.
	Cause  string
	Weight Level
	// Among are the causes one of which must be the likeliest for a card without
	// a cause to speak; nil: any.
	Among []string
	// Headline is the line above the answer without the program's name: "did not
	// start: nothing is left for the KV cache"; "" leaves it to the figures. Like
	// all sentences of a card it may name figures, see [Tell].
	Headline string
	// Means says what happened in this program, and what decides between causes:
	// one to four sentences.
	Means string
	// Not is what people try that cannot help here, and why; "" for nothing.
	Not string
	// Later is what it was if it runs now and fails again after a while; "" where
	// that says nothing.
	Later string
	// Figures are numbers of its own that its sentences name, as text; nil: only
	// those of the ledger.
	Figures func(c *ledger.Case) map[string]string
	// Cures are what resolves it, the best first.
	Cures []Cure
	// Sources are the upstream files that bear it out, and public threads in
	// which it was seen; Solved counts the threads in which a cure resolved it.
	Sources []string
	Solved  int
}

// Cure is a fix as a card puts it. What is empty is as the program has it.
type Cure struct {
	Fix   string
	Title string // imperative
	// If says where it is a cure; nil: wherever the card holds.
	If func(c *ledger.Case) bool
	// Training is a cure of training: its title says so unless the log shows it.
	Training bool
	// Told is what to do in words, before what is pasted.
	Told string
	// Ways are what to do in each of several cases, a line each; those that the
	// log rules out fall away.
	Ways []Way
	// Kind and Text are its one step, or Steps make them from the case.
	Kind, Text string
	Steps      func(c *ledger.Case) []step.Step
	Cost       string
	// Own puts the program's own steps after what is told; ByLine: only of one line.
	Own, ByLine bool
}

// Way is what to do in one case: "Training", "Pictures".
type Way struct{ For, Text string }

// Sure is the weight from which a card decides about the cause; below it the
// card speaks where the clues come to the same.
const Sure = Strong

// Holds reports that the card is met by a case.
func (k *Card) Holds(c *ledger.Case) bool { return k.meets(c) && k.For(c).knows(k.Means) }

// SpeaksFor reports that the card may say what happened where a cause is the
// likeliest: its own, or any among several if it has none.
func (k *Card) SpeaksFor(cause string) bool {
	if k.Cause == "" {
		return k.Among == nil || slices.Contains(k.Among, cause)
	}
	return k.Cause == cause
}

// fillers are causes that need a full card.
var fillers = []string{BatchTooLarge, ModelTooLarge, ContextTooLong, TrainingStateTooLarge}

func (k *Card) meets(c *ledger.Case) bool {
	switch {
	case k.Kinds != nil && !c.Kind(k.Kinds...),
		k.Phases != nil && !slices.Contains(k.Phases, c.Phase),
		k.Said != nil && !c.Near(k.Said...),
		k.Unsaid != nil && c.Near(k.Unsaid...),
		slices.Contains(fillers, k.Cause) && c.Root(fact.TorchAlloc) && ledger.Roomy(c), // the card was not full
		k.Cause == HostMemory && k.Figures == nil && ledger.Requested(c) >= NoMachine:   // nor is more RAM what helps
		return false
	}
	return k.If == nil || k.If(c)
}
