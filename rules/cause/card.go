package cause

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
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
	// meet the card.
	Cause  string
	Weight float64
	// Means says what happened in this program, and what decides between causes:
	// one to three sentences, with figures in braces ("{asked} of {total}").
	Means string
	// Not is what people try that cannot help here, and why; "" for nothing.
	Not string
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
	// Kind and Text are its one step.
	Kind, Text string
	Cost       string
}

// Sure is the weight from which a card decides about the cause; below it the
// card speaks where the clues come to the same.
const Sure = 0.75

// Holds reports that the card is met by a case.
func (k *Card) Holds(c *ledger.Case) bool {
	if !k.meets(c) {
		return false
	}
	_, ok := Tell(c, k.Means)
	return ok
}

// Meaning is what the card says of a case for which it holds.
func (k *Card) Meaning(c *ledger.Case) string {
	told, _ := Tell(c, k.Means)
	return told
}

func (k *Card) meets(c *ledger.Case) bool {
	switch {
	case k.Kinds != nil && !c.Kind(k.Kinds...),
		k.Phases != nil && !slices.Contains(k.Phases, c.Phase),
		k.Said != nil && !c.Near(k.Said...),
		k.Unsaid != nil && c.Near(k.Unsaid...):
		return false
	}
	return k.If == nil || k.If(c)
}

// Tell puts figures into a sentence: those of the ledger by their names in
// reports, the model's name, and settings. Where the log does not give one of
// them, ok is false.
func Tell(c *ledger.Case, sentence string) (told string, ok bool) {
	if !strings.Contains(sentence, "{") {
		return sentence, true
	}
	entries := c.Entries()
	var b strings.Builder
	for rest := sentence; ; {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		name, tail, closed := strings.Cut(after, "}")
		if !found || !closed {
			return b.String(), true
		}
		text := stated(c, entries, name)
		if text == "" {
			return "", false
		}
		b.WriteString(text)
		rest = tail
	}
}

// stated is a number of the ledger, the model's name or a setting, "" where the
// log has none.
func stated(c *ledger.Case, entries map[string]ledger.Entry, name string) string {
	if e, known := entries[name]; known {
		return e.String()
	}
	if name == "model" && c.Model != nil {
		return c.Model.Name
	}
	if s, known := c.Setting(name); known {
		return s.Value
	}
	return ""
}
