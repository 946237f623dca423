package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/checkouts"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/wording"
	"github.com/oomdoc/oomdoc/rules/step"
)

// prescribe puts the cures of the card that speaks before all else. The card of
// a library does not overrule what the reader's own program says.
func prescribe(c *ledger.Case, likeliest odds.Cause, ranked []*candidate, own []*program.Program) []*candidate {
	card := program.CardOf(own, likeliest.Card)
	if card == nil {
		return ranked
	}
	app, library := started(c, card, own)
	theirs := app != nil && !app.Closed && app.Remedies[likeliest.ID] != nil
	told, again, worded := map[string]bool{}, map[string]bool{}, map[string][]step.Step{}
	prescribed, first, machines := 0, "", slices.Contains(ofMachine, card.Cures[0].Fix)
	t := card.For(c)
	means := code.ForBackend(c, t.Meaning())
	cures := slices.DeleteFunc(ownBatch(c, checkouts.Cures(c, card, likeliest.ID)), func(cure cause.Cure) bool {
		return cure.If != nil && !cure.If(c) || c.Phase == "inference" && cure.Training || theirs && !(cure.Fix == "raise_memory_limit" && setsLimit(card, own))
	})
	for i, cure := range cures {
		if told[cure.Fix] || cure.Fix == "add_swap" && ledger.OnCluster(c) || era.TooNew(c, cure.Fix) || !fix.FixesByID()[cure.Fix].Suits(c, true) {
			continue
		}
		if cure.Title != "" && told[cure.Title] {
			again[cure.Fix] = true
			continue
		}
		told[cure.Fix], told[cure.Title] = true, true
		spelled := app != nil && app.Steps[cure.Fix] != nil
		if app != nil && !spelled && (library && c.Reader.Edits != "code" && !(machines && cure.Kind != "python" && slices.Contains(ofMachine, cure.Fix)) || app.Closed && !slices.Contains(ofAny, cure.Fix) || !fix.FixesByID()[cure.Fix].Suits(c, false)) {
			continue // how that is done in the program is not known
		}
		at := slices.IndexFunc(ranked, func(b *candidate) bool { return b.fix.ID == cure.Fix })
		if at < 0 {
			f := program.Adapt(own, fix.FixesByID()[cure.Fix])
			if f.Refuted(c) != "" {
				continue
			}
			b := &candidate{fix: f, advice: Advice{ID: f.ID, Addresses: likeliest.ID, Title: f.Title, Tradeoff: f.Tradeoff, Why: means}}
			b.weigh(c)
			ranked, at = append(ranked, b), len(ranked)
		}
		b := ranked[at]
		b.score = float64(2 * (len(cures) - i))
		if first = cmp.Or(first, cure.Fix); card.Weight >= cause.Sure || wording.LineDecides(c) || c.Reader.Repository != "" || likeliest.ID == cause.BatchTooLarge && c.Root(fact.CUDAError) && ledger.FailedAt(c, "backward") != nil {
			b.plan = first
		}
		prescribed++
		if !spelled || theirs || app.Closed && cure.Text == "" && cure.Steps == nil {
			b.put(c, t, means, cure, own)
			worded[cure.Fix] = b.advice.Steps
		}
	}
	not, speaks := card.Tell(c, card.Not)
	return slices.DeleteFunc(ranked, func(b *candidate) bool {
		b.advice.General = prescribed > 1 && !theirs && !told[b.fix.ID]
		return !theirs && !told[b.fix.ID] && (again[b.fix.ID] || speaks && (SpokenAgainst(c, not, b.advice.Steps) != "" || wording.CalledFutile(not, b.fix.ID)) || prescribed > 1 && b.score < 2 && (b.fix.Presumes(c) || wording.Idle(c, b.fix.ID, worded)))
	})
}

// ownBatch puts the option that the log shows in the place of a sentence that says
// where such options usually stand.
func ownBatch(c *ledger.Case, cures []cause.Cure) []cause.Cure {
	typed := fix.OwnBatch(c, 2)
	for i := range cures {
		cure := &cures[i]
		if typed != nil && !c.In("pytorch") && cure.Fix == "lower_batch_size" && cure.Text == "" && cure.Steps == nil && strings.HasPrefix(cure.Title, "Halve the batch size") {
			cure.Title, cure.Told, cure.Ways = "Halve the batch size", "", nil
			cure.Steps = func(*ledger.Case) []step.Step { return typed }
		}
	}
	return cures
}

// setsLimit: the card is of whoever set a limit, and so says how it is raised; the
// rest is for the program to say that reached it.
func setsLimit(card *cause.Card, own []*program.Program) bool {
	return slices.ContainsFunc(own, func(p *program.Program) bool { return p.Edits == "admin" && strings.HasPrefix(card.ID, p.Name+"/") })
}

// started is the program that the reader started, nil where the card is its own
// or that of an engine which it is like; library, that the card is of a library
// whose cures are lines of code.
func started(c *ledger.Case, card *cause.Card, own []*program.Program) (app *program.Program, library bool) {
	name, _, _ := strings.Cut(card.ID, "/")
	for _, p := range own {
		switch {
		case p.Name == "" || name == "figures": // what figures decide holds in any program
		case p.Name == name:
			library = p.Script != ""
		case slices.ContainsFunc(own, func(q *program.Program) bool { return q.Name == name && q.Starts != nil && q.Starts(c, p) }):
		case p.Name == c.Reader.Program && !slices.ContainsFunc(p.Cards, func(k cause.Card) bool { return k.ID == card.ID }) && (p.Closed || !slices.ContainsFunc(p.Like, func(x *program.Program) bool { return x.Name == name })):
			app = p
		}
	}
	return app, library
}

// ofMachine are fixes that are the same whatever program runs.
var ofMachine = []string{"kill_stale_process", "close_other_apps", "select_gpu", "restart_session", "raise_pagefile"}

// ofAny are those that need no option of a program.
var ofAny = append([]string{"use_lower_quant", "use_smaller_model", "raise_memory_limit", "add_swap", "bigger_gpu"}, ofMachine...)

// sizedAnyway are fixes whose effect no wording changes.
var sizedAnyway = []string{"load_in_4bit", "load_in_8bit", "kill_stale_process", "close_other_apps", "select_gpu", "expandable_segments", "max_split_size"}

// put words a fix as a card has it, which means something.
func (b *candidate) put(c *ledger.Case, t *cause.Teller, means string, cure cause.Cure, own []*program.Program) {
	if title, ok := t.Tell(cure.Title); ok {
		if cure.Training && !c.Training() {
			title = "In training: " + strings.ToLower(title[:1]) + title[1:]
		}
		b.advice.Title = code.ForBackend(c, cmp.Or(title, b.advice.Title))
	}
	if cost, ok := t.Tell(cure.Cost); ok {
		b.advice.Tradeoff = cmp.Or(cost, b.advice.Tradeoff)
	}
	steps := pasted(c, t, cure)
	told := words(c, t, cure)
	usual := len(steps) == 0 && (cure.Text != "" || cure.Steps != nil || cure.Own || len(told) == 0)
	if usual {
		b.spell(c, own)
		steps = b.advice.Steps // as the program has it
	} else if !slices.Contains(sizedAnyway, cure.Fix) {
		b.advice.Effect = nil
	}
	if !usual || len(told) > 0 {
		b.advice.Why = means // a fix that is told says itself why
	}
	b.spelt = true
	b.advice.Steps = forReader(c, cure.Fix, slices.Concat(told, steps), own)
}

// pasted is the step of a cure, none where it has none or the log lacks one of
// its figures.
func pasted(c *ledger.Case, t *cause.Teller, cure cause.Cure) []step.Step {
	if cure.Steps != nil {
		return cure.Steps(c)
	}
	text, ok := t.Command(cure.Text)
	if text == "" || !ok {
		return nil
	}
	return []step.Step{{Kind: cure.Kind, Text: text}}
}

// words are what a cure says to do, and in which case.
func words(c *ledger.Case, t *cause.Teller, cure cause.Cure) []step.Step {
	var out []step.Step
	if told, ok := t.Tell(cure.Told); ok && told != "" {
		out = append(out, step.Step{Kind: "text", Text: told})
	}
	var ways []step.Step
	for _, w := range cure.Ways {
		if told, ok := t.Tell(w.Text); ok && told != "" && fix.Way(c, w.For) {
			ways = append(ways, step.Step{Kind: "text", Text: told, For: w.For})
		}
	}
	if len(ways) == 1 && fix.Settled(c, ways[0].For) {
		ways[0].For, ways[0].Text = "", capital(ways[0].Text)
	}
	return append(out, ways...)
}

// capital is a text that begins a sentence: with a capital, unless code begins it.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
