// Package field knows programs of single fields of work, most of them started
// by people who do not write them: of biology, medicine, chemistry and physics,
// forecasts, recommendations, agents that learn.
package field

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// steps are those of a program by fix.
type steps = map[string]func(*ledger.Case) []step.Step

// say is a step in words.
func say(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

// python is a step in code.
func python(text string) func(*ledger.Case) []step.Step { return step.Paste("python", text) }

// shortage is what a program has to say where one kind of memory was full: what
// its use of it grows with, what cannot help, and what does, the best first.
type shortage struct {
	id, means, not string
	headline       string // "" leaves it to the figures
	said, unsaid   []string
	fixes          []string
	source         string
	// done are fixes that its words show done. A shortage that has them and no
	// sentence of its own is the general one without them.
	done []string
	// also are further kinds; whole: a single array of any size is its own, too;
	// outside: what this program computes with beside PyTorch fills the card.
	also           []fact.Kind
	whole, outside bool
}

// full are the messages of a full card, of whatever a program computes with.
var full = []fact.Kind{
	fact.TorchAlloc, fact.CUDAError, fact.XLAAlloc, fact.TFAlloc, fact.CuPyAlloc, fact.NumbaAlloc, fact.RMMAlloc, fact.DeviceAlloc, fact.PlainDevice,
}

// plainMemory is a refusal that does not say of what.
var plainMemory = []fact.Kind{fact.PlainMemory}

// ramGone are the ways in which a program learns that RAM is at its end.
var ramGone = []fact.Kind{
	fact.KernelKill, fact.OOMD, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.WorkerKilled, fact.RayKilled,
	fact.NumpyAlloc, fact.PythonMemory, fact.CPUAlloc, fact.BadAlloc, fact.NativeAlloc, fact.PlainHost, fact.PlainMemory, fact.RustAlloc, fact.BuildKilled,
}

// ownWork: the card was full, of this program's own as far as the log shows, and
// with real work: no allocator's gaps, no limit, no size that is none.
func ownWork(c *ledger.Case) bool {
	gaps := c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
	return !ledger.Crowded(c) && !ledger.Roomy(c) && !gaps && !c.Limit.Has() && !ledger.AbsurdSize(c) && c.Phase != "load"
}

// wholeProgram: a framework that compiles or plans a step was refused a real
// part of a card at once, which is that step's.
func wholeProgram(c *ledger.Case) bool {
	return c.Kind(fact.XLAAlloc, fact.TFAlloc) && ledger.Requested(c) >= units.GiB
}

// ofWork are the causes of which a card about a program's work may speak.
var ofWork = []string{cause.BatchTooLarge, cause.ContextTooLong, cause.OversizedAllocation, cause.TrainingStateTooLarge, cause.ModelTooLarge, cause.Unknown}

// cards are those of a program for its shortages: of the graphics card the ones
// in card, of RAM the ones in ram. Where this program fills the card by itself,
// its work is what did.
func cards(name string, card, ram []shortage) []cause.Card {
	var out []cause.Card
	for _, s := range card {
		k := s.card(name, "card")
		k.Kinds, k.If, k.Among = slices.Concat(full, s.also), ownWork, ofWork
		if s.outside {
			k.If, k.Weight, k.Cause, k.Among = func(c *ledger.Case) bool { return ledger.Crowded(c) && !ledger.AbsurdSize(c) }, cause.Decisive, cause.BatchTooLarge, nil
			out = append(out, k)
			continue
		}
		if k.Said != nil {
			k.Cause, k.Weight, k.Among = cause.BatchTooLarge, cause.Strong, nil
			out = append(out, k)
			continue
		}
		filled := k
		filled.ID, filled.If = name+"/work", when.All(ownWork, when.Any(ledger.FillsCard, wholeProgram))
		filled.Cause, filled.Weight, filled.Among = cause.BatchTooLarge, cause.Strong, nil
		out = append(out, filled, k)
	}
	for _, s := range ram {
		k := s.card(name, "ram")
		k.Kinds, k.Cause, k.Weight, k.Headline, k.Figures = ramGone, cause.HostMemory, cause.Strong, cmp.Or(s.headline, "{ended}"), ended
		if k.If = func(c *ledger.Case) bool { return c.Asked.Bytes < 64*units.GiB }; s.whole { // one array of that size is another matter
			k.If, k.Cause, k.Weight = nil, cause.OversizedAllocation, cause.Decisive
		}
		out = append(out, k)
	}
	return out
}

// ended is how a headline says that somebody ended the program and did not say
// why; nothing for all else, which figures say better.
func ended(c *ledger.Case) map[string]string {
	if c.Failure.Weak && !c.Kind(fact.PlainHost, fact.PlainMemory) { // a refusal in words is no kill
		return map[string]string{"ended": "was killed, most likely because RAM ran out"}
	}
	return map[string]string{"ended": ""}
}

// card is the sentence of a shortage; its cures are spelled by the program.
func (s shortage) card(name, of string) cause.Card {
	if s.id != "" {
		of = s.id
	}
	k := cause.Card{ID: name + "/" + of, Said: s.said, Unsaid: s.unsaid, Headline: s.headline, Means: s.means, Not: s.not, Sources: []string{s.source}}
	for _, fix := range s.fixes {
		cure := cause.Cure{Fix: fix}
		if other := map[string]string{"raise_pagefile": "add_swap", "add_swap": "raise_pagefile"}[fix]; other != "" && slices.Contains(s.fixes, other) {
			cure.If = func(c *ledger.Case) bool { return c.Windows() == (fix == "raise_pagefile") }
		}
		k.Cures = append(k.Cures, cure)
	}
	return k
}

// remedies are what a program does about a full card and about full RAM, for
// messages that are no card's.
func remedies(card, ram []string) map[string][]cause.Remedy {
	out := map[string][]cause.Remedy{}
	if ram != nil {
		out[cause.HostMemory] = cause.InOrder(ram...)
	}
	if card == nil {
		out[cause.Unknown] = cause.InOrder(ram...)
		return out
	}
	for _, id := range []string{cause.BatchTooLarge, cause.ContextTooLong, cause.OversizedAllocation, cause.TrainingStateTooLarge, cause.Unknown} {
		out[id] = cause.InOrder(card...)
	}
	out[cause.ModelTooLarge] = cause.InOrder(append([]string{"kill_stale_process"}, card...)...)
	return out
}

// of completes a program with what holds for its shortages.
func of(p program.Program, card, ram []shortage) program.Program {
	card, onCard := narrowed(card)
	ram, inRAM := narrowed(ram)
	fixes := func(of []shortage) []string {
		if len(of) == 0 {
			return nil
		}
		return of[len(of)-1].fixes // the last is the most general
	}
	own := cards(p.Name, card, ram)
	p.Remedies = remedies(fixes(card), fixes(ram))
	for i := range own {
		for j, cure := range own[i].Cures {
			own[i].Cures[j].If = unless(wordsOf(&own[i], onCard, inRAM)[cure.Fix], cure.If)
		}
	}
	for id, all := range p.Remedies {
		for i, m := range all {
			words := onCard
			if id == cause.HostMemory {
				words = inRAM
			}
			all[i].If = unless(words[m.Fix], m.If)
		}
	}
	p.Cards = append(p.Cards, own...)
	if p.Language == "" {
		p.Language = "python"
	}
	p.Checks = map[string]string{}
	for fix := range p.Steps {
		p.Checks[fix] = "The same input runs through; `nvidia-smi` (GPU) or `free -h` (RAM) shows less in use meanwhile."
	}
	p.Effects = map[string]func(*ledger.Case) *effect.Effect{"cpu_offload": noSum, "lower_context": noSum, "lower_batch_size": noSum}
	return p
}

// noSum: nothing can be computed from the message.
func noSum(*ledger.Case) *effect.Effect { return nil }

// one is a single shortage.
func one(s shortage) []shortage { return []shortage{s} }

// narrowed completes those shortages whose words show a fix done, and returns
// where that is so, by fix.
func narrowed(all []shortage) ([]shortage, map[string][]string) {
	all, words := slices.Clone(all), map[string][]string{}
	for i, s := range all {
		if s.done == nil {
			continue
		}
		if general := all[len(all)-1]; s.means == "" {
			all[i].means, all[i].not, all[i].source = general.means, general.not, general.source
			all[i].fixes = slices.DeleteFunc(slices.Clone(general.fixes), func(f string) bool { return slices.Contains(s.done, f) })
		}
		for _, fix := range s.done {
			words[fix] = append(words[fix], s.said...)
		}
	}
	return all, words
}

// wordsOf are those that show fixes done, for a card's kind of memory.
func wordsOf(k *cause.Card, onCard, inRAM map[string][]string) map[string][]string {
	if slices.Contains(k.Kinds, fact.CPUAlloc) {
		return inRAM
	}
	return onCard
}

// unless is a condition that does not hold near one of the words.
func unless(words []string, also func(*ledger.Case) bool) func(*ledger.Case) bool {
	if words == nil {
		return also
	}
	return when.All(also, func(c *ledger.Case) bool { return !c.Near(words...) })
}

// half is a step in code with a number that is half of the reader's own value
// where the advice would be no lower.
func half(text string, told int, names ...string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		n := told
		if own := ledger.IntSetting(c, append(names, fact.OptionBatch)...); own > 1 && own <= told {
			n = own / 2
		}
		return python(strings.ReplaceAll(text, "{n}", strconv.Itoa(n)))(c)
	}
}
