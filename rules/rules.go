// Package rules judges an incident: why memory ran out and what to do about it.
// It reads the facts that parsers found and knows no log syntax.
//
// [Judge] and [Advise] are the door. Behind it, each room imports only those
// before it:
//
//	ledger    the case: facts, and its numbers, each computed once
//	explain   what the bytes asked for are
//	reader    who reads: program, work, system, backend, version
//	when      conditions on a case
//	step      commands, edits and snippets
//	effect    the arithmetic of a fix: is it enough?
//	cause     a file a cause: what it means and what points to it
//	fix       a file a fix: what it means, costs and presupposes
//	program   a file a program: all that is peculiar to it
//	odds      evidence to probabilities
//	story     what happened, in words and figures
//	answer    causes and fixes to advice
//
// For outsiders ([diagnose], [render]) the types of a report are stable as far
// as its contract is: odds.Cause, answer.Advice, step.Step, effect.Effect,
// ledger.Memory. All else may change with any version.
//
// Judge and Advise write to their case and to nothing else, so that several
// cases can be judged at a time.
//
// [diagnose]: https://pkg.go.dev/github.com/oomdoc/oomdoc/diagnose
// [render]: https://pkg.go.dev/github.com/oomdoc/oomdoc/render
package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/checkouts"
	"github.com/oomdoc/oomdoc/rules/program/rest"
	"github.com/oomdoc/oomdoc/rules/program/torch/books"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/story"
)

// Judge says what the causes of a case are, the likeliest first.
func Judge(c *ledger.Case) []odds.Cause {
	reader.Learn(c, known(c))
	checkouts.Learn(c, byName())
	ledger.Derive(c, program.Books(own(c), books.Of))
	c.Operation = string(operation.Of(c))
	c.Explained = explain.Of(c, numbers())
	return checkouts.State(c, odds.Judge(c, clues(), program.Cards(own(c))))
}

// own are the programs of a case: those that took part, after the one that the
// reader started where the log only hints at it, and what holds for any.
func own(c *ledger.Case) []*program.Program {
	started := func(name string) bool { p := byName()[name]; return name != "" && p != nil && p.Reader().App }
	stack := uncarried(c, c.Stack)
	if started(c.Reader.Program) && !slices.ContainsFunc(stack, started) {
		stack = append([]string{c.Reader.Program}, stack...)
	}
	return slices.Concat([]*program.Program{&rest.First}, checkouts.Programs(c), program.Of(stack, byName()), rest.Beside(c))
}

// uncarried are names of programs without those whose code another program of the
// case has inside.
func uncarried(c *ledger.Case, names []string) []string {
	var carried []string
	for _, p := range program.Of(c.Stack, byName()) {
		carried = append(carried, p.Carries...)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(carried, name) })
}

// known is what the programs of a case say of who runs them: those of its stack,
// then those that the log only hints at.
func known(c *ledger.Case) []reader.Known {
	var out []reader.Known
	names := slices.Clone(c.Stack)
	for _, p := range c.Facts.Programs {
		names = append(names, p.Name)
	}
	for _, p := range program.Of(c.Stack, byName()) {
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(p.TakenFor, name) && !c.In(name) })
	}
	for _, name := range uncarried(c, names) {
		if p := byName()[name]; p != nil && p != &other {
			out = append(out, p.Reader())
		}
	}
	return out
}

// Advise says what to do about the causes of a case, the best first, and which
// of the usual tips cannot help.
func Advise(c *ledger.Case, causes []odds.Cause) ([]answer.Advice, []answer.Useless) {
	return answer.Advise(c, causes, own(c))
}

// Tell says what happened to a case, for people.
func Tell(c *ledger.Case, causes []odds.Cause) story.Story {
	var card *cause.Card
	if len(causes) > 0 {
		card = program.CardOf(own(c), causes[0].Card)
	}
	return story.Of(c, causes, Shown(called(c, card)), card)
}

// called is the program that the headline names: what the reader started, else
// that whose card speaks where it says more than the engine's.
func called(c *ledger.Case, card *cause.Card) string {
	name := ""
	if card != nil && card.Headline != "" {
		name, _, _ = strings.Cut(card.ID, "/")
	}
	owner, engine, reader := byName()[name], byName()[c.Framework], byName()[c.Reader.Program]
	at, under := slices.Index(c.Stack, name), slices.Index(c.Stack, c.Framework)
	switch {
	case owner != nil && owner.Edits == "admin":
		return name // a service says what it ended
	case engine != nil && engine.Edits == "admin" && card != nil && !strings.HasPrefix(card.ID, c.Reader.Program+"/"):
		return c.Framework // the system ended a program: the sentence is about that
	case c.Reader.Program != "" && reader != nil && reader.Reader().App && reader.Edits != "admin":
		return reader.Name
	case c.Framework == other.Name && c.Root(fact.NCCLShm): // Horovod uses NCCL too
	case at >= 0 && (at < under || under < 0), name != "" && owner != nil && c.Framework == other.Name:
		return name
	}
	return c.Framework
}

// Known returns what is known of the case's message in its program, nil where
// general knowledge has to do.
func Known(c *ledger.Case, causes []odds.Cause) *answer.Knowledge {
	return answer.Known(c, causes, own(c))
}

// numbers returns what programs know of the bytes that they are refused.
var numbers = sync.OnceValue(func() (out []explain.Reading) {
	for _, p := range programs() {
		out = append(out, p.Numbers...)
	}
	return out
})

// Theirs reports a command that is there where the programs of a case are: one of
// theirs, one that the log hints at, or no program's.
func Theirs(c *ledger.Case, command string) bool {
	owners, programs := commands()[command], own(c)
	return owners == nil || len(programs) == 0 || slices.ContainsFunc(owners, func(p *program.Program) bool { return slices.Contains(programs, p) || c.Says(p.Name) })
}

// commands are the programs with which a command comes, those of the system left
// out.
var commands = sync.OnceValue(func() map[string][]*program.Program {
	out := map[string][]*program.Program{}
	for _, p := range programs() {
		for _, command := range p.Commands {
			out[command] = append(out[command], p)
		}
	}
	return out
})

// clues returns the clues for every cause, the general ones last.
var clues = sync.OnceValue(func() *odds.Clues {
	out := map[string][]cause.Clue{}
	for _, r := range cause.All() {
		for _, p := range programs() {
			out[r.ID] = append(out[r.ID], p.Clues[r.ID]...)
		}
		out[r.ID] = append(out[r.ID], r.Clues...)
	}
	return odds.Sorted(out)
})
