// Package program says what is known of a program: its file below has the
// messages that point to a cause there, what cures it, and how fixes are
// spelled. No program uses another; what a family shares has a file of its own.
package program

import (
	"maps"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Program is all that is known of one program: what proves it in a log, which
// of its messages point to which cause, what cures it there, and how a fix is
// spelled. General knowledge stands in causes and fixes; a program's entry goes
// before it.
type Program struct {
	// Name is its ID in reports, Shown how people write it ("" for the same).
	Name, Shown string
	// Rank orders programs by how much they say, what a user started before what
	// it runs on. 0 is for apps and trainers that a report names in its stack
	// alone, before all others.
	Rank int
	// Proofs are texts that only this program prints, and paths that only its
	// files have; Hints are those that others may have too. "/" also stands for
	// Windows' separator.
	Proofs, Hints []string
	// Beside lists what must follow a proof within a few words for it to count.
	Beside map[string][]string
	// Units are the names under which containers and system units run it, those
	// that can mean no other.
	Units []string
	// Carries are projects whose code it has without their scripts, so that their
	// options do not exist there.
	Carries []string
	// TakenFor are programs whose hints its own files show as well.
	TakenFor []string
	// Work is what its readers have it do, of [ledger.Reader.Work]; "" where that
	// says nothing. Edits is what they can change: code, flags or admin.
	// Language is what it is written in, or what its readers write where they
	// edit code. Systems are those it runs on, none for all.
	Work, Edits, Language string
	Systems               []string
	// Script is what a reader runs on a library: "transformers-script". A program
	// that people start themselves has none.
	Script string
	// Commands are what its readers start in a shell that comes with it, as the
	// first word, or behind "python -m".
	Commands []string
	// Closed says that its readers reach no option of the engines below it but
	// those that Steps have: no command is theirs to add one to.
	Closed bool
	// Like are programs whose entries hold here as well, after its own. One
	// without a name is what a family shares.
	Like []*Program
	// Starts reports that another program starts this one, so that its cards speak
	// there, too: how their readers set its options is known here.
	Starts func(c *ledger.Case, by *Program) bool
	// Numbers say what the bytes are that it was refused. They are tried on every
	// case, so each looks at the kind of the failure first.
	Numbers []explain.Reading
	// Books says what filled a card; nil: as PyTorch counts.
	Books func(c *ledger.Case) *ledger.Books
	// Clues by cause. They are tried on every case, so each looks at the kind
	// of the failure first.
	Clues map[string][]cause.Clue
	// Remedies by cause, instead of the cause's own.
	Remedies map[string][]cause.Remedy
	// Code is how fixes are written on a library, by fix. It is for whom the fix
	// suits, where a program's Steps are for all of its readers.
	Code map[string]func(c *ledger.Case) []step.Step
	// Steps, Effects, Checks, Whys and Useless by fix, instead of the fix's own.
	Steps   map[string]func(c *ledger.Case) []step.Step
	Effects map[string]func(c *ledger.Case) *effect.Effect
	Checks  map[string]string
	Useless map[string]func(c *ledger.Case) string
	Whys    map[string]func(c *ledger.Case) string
	// Titles and Costs by fix, instead of the fix's own.
	Titles, Costs map[string]string
	// Cards are what an expert knows of its messages, the narrowest first.
	Cards []cause.Card
	// Sources are the upstream files that define the options which its steps
	// name.
	Sources Sources
}

// Sources are options, parted by blanks, by the upstream file that defines them.
type Sources map[string]string

// Of returns the programs that are in a stack, each followed by those that it is
// like.
func Of(stack []string, byName map[string]*Program) []*Program {
	var out []*Program
	for _, name := range stack {
		if p := byName[name]; p != nil {
			out = append(append(out, p), p.Like...)
		}
	}
	return out
}

// Books returns those of the first program that has its own, others if none does.
func Books(programs []*Program, others func(*ledger.Case) *ledger.Books) func(*ledger.Case) *ledger.Books {
	for _, p := range programs {
		if p.Books != nil {
			return p.Books
		}
	}
	return others
}

// Cards returns those of the programs, of the most specific program first.
func Cards(programs []*Program) []*cause.Card {
	out := make([]*cause.Card, 0, 128)
	for _, p := range programs {
		for i := range p.Cards {
			out = append(out, &p.Cards[i])
		}
	}
	return out
}

// apps is the rank from which on people start a program itself.
const apps = 84

// Reader is what the program says of who runs it.
func (p *Program) Reader() reader.Known {
	return reader.Known{Name: p.Name, Script: p.Script, Work: p.Work, Edits: p.Edits, Language: p.Language, Systems: p.Systems, App: p.Rank == 0 || p.Rank >= apps}
}

// CardOf returns a card of the programs by its ID, nil if there is none.
func CardOf(programs []*Program, id string) *cause.Card {
	for _, p := range programs {
		for i := range p.Cards {
			if p.Cards[i].ID == id {
				return &p.Cards[i]
			}
		}
	}
	return nil
}

// Evidence is what proves the program, with both separators of paths.
func (p *Program) Evidence() []fact.Proof {
	var out []fact.Proof
	add := func(words []string, hint bool) {
		for _, word := range words {
			var beside []string
			for _, part := range p.Beside[word] {
				part = strings.ToLower(strings.ReplaceAll(part, " ", "")) // as the text is that it is looked for in
				beside = append(append(beside, part), windows(part)...)
			}
			for _, spelled := range Spelled(word) {
				out = append(out, fact.Proof{Word: spelled, Program: p.Name, Hint: hint, Beside: beside})
			}
		}
	}
	add(p.Proofs, false)
	add(p.Hints, true)
	for _, unit := range p.Units {
		out = append(out, fact.Proof{Word: unit, Program: p.Name, Unit: true})
	}
	return out
}

// Spelled is a word as logs write it: a path with both separators.
func Spelled(word string) []string { return append(windows(word), word) }

// windows is a path as Windows writes it, nothing for what is no path.
func windows(path string) []string {
	if !strings.Contains(path, "/") || strings.Contains(path, `\`) {
		return nil
	}
	return []string{strings.ReplaceAll(path, "/", `\`)}
}

// ofMachine are fixes that concern the machine, whatever runs on it.
var ofMachine = []string{"raise_pagefile"}

// Remedies returns the remedies for a cause: the first program's that has
// any, with the cause's own that concern the machine, else the cause's.
func Remedies(programs []*Program, r cause.Rule) []cause.Remedy {
	for _, e := range programs {
		own := e.Remedies[r.ID]
		if own == nil {
			continue
		}
		for _, m := range r.Remedies {
			if m.If != nil && slices.Contains(ofMachine, m.Fix) && !slices.ContainsFunc(own, func(x cause.Remedy) bool { return x.Fix == m.Fix }) {
				own = append(slices.Clip(own), m)
			}
		}
		return own
	}
	return r.Remedies
}

// Refuted says why a fix cannot help a case, as the programs have it; "" where it
// may.
func Refuted(c *ledger.Case, programs []*Program, f *fix.Fix) string {
	for _, p := range programs {
		if useless := p.Useless[f.ID]; useless != nil {
			theirs := *f
			theirs.Useless = useless
			return theirs.Refuted(c)
		}
	}
	return f.Refuted(c)
}

// Spelled are the program's steps by fix, those in code included.
func (p *Program) Spelled() map[string]func(c *ledger.Case) []step.Step {
	out := map[string]func(c *ledger.Case) []step.Step{}
	maps.Copy(out, p.Code)
	maps.Copy(out, p.Steps)
	return out
}

// Adapt returns a fix with the entries of the programs put in.
func Adapt(programs []*Program, fix fix.Fix) fix.Fix {
	for _, e := range slices.Backward(programs) {
		replace(&fix.Steps, e.Code, fix.ID)
	}
	for _, e := range slices.Backward(programs) {
		replace(&fix.Steps, e.Steps, fix.ID)
		replace(&fix.Effect, e.Effects, fix.ID)
		replace(&fix.Title, e.Titles, fix.ID)
		replace(&fix.Tradeoff, e.Costs, fix.ID)
		replace(&fix.Check, e.Checks, fix.ID)
		replace(&fix.Why, e.Whys, fix.ID)
		replace(&fix.Useless, e.Useless, fix.ID)
	}
	return fix
}

// replace puts a program's own entry for a fix, where it has one, in the place of
// another.
func replace[T any](entry *T, own map[string]T, fix string) {
	if x, ok := own[fix]; ok {
		*entry = x
	}
}
