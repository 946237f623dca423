package parts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
)

// given are the words that the reader wrote: the arguments of a script, and lines
// of the traceback.
func given(c *ledger.Case) []string {
	var out []string
	for _, f := range c.Facts.Code {
		out = append(out, f.Args, f.Source)
	}
	for _, s := range c.Facts.Settings {
		out = append(out, s.Name+" "+s.Value)
	}
	for _, s := range c.Facts.Signals {
		if s.ID == "command_line" {
			out = append(out, s.Text)
		}
	}
	return out
}

// Shows reports one of some words in what the reader wrote.
func Shows(words ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(given(c), func(text string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
		})
	}
}

var whole = regexp.MustCompile(`[=:, ]+(\d{1,6})\b`)

// Number is a count that the reader set under one of some names; 0 where the log
// does not show it.
func Number(c *ledger.Case, names ...string) int {
	if n := ledger.IntSetting(c, names...); n > 0 {
		return n
	}
	for _, text := range given(c) {
		for _, name := range names {
			at := strings.Index(text, name)
			if at < 0 || at > 0 && !strings.ContainsRune(" ,(-.", rune(text[at-1])) {
				continue
			}
			if m := whole.FindStringSubmatchIndex(text[at+len(name):]); m != nil && m[0] == 0 {
				n, _ := strconv.Atoi(text[at+len(name):][m[2]:m[3]])
				return n
			}
		}
	}
	return 0
}

// One reports a count of 1 under one of some names.
func One(names ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { return Number(c, names...) == 1 }
}

// HalfOf is half of a count that the reader set, else a start.
func HalfOf(c *ledger.Case, start int, names ...string) string {
	if n := Number(c, names...); n > 0 {
		return strconv.Itoa(max(n/2, 1))
	}
	return strconv.Itoa(start)
}

// InUse is a step where a model is measured or used, and one where it learns.
func InUse(use, training func(*ledger.Case) []step.Step) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if cures.Evaluating(c) || !c.Training() && c.Phase == "inference" {
			return use(c)
		}
		return training(c)
	}
}

// EvaluationCard is what a trainer says of an evaluation, a test or a prediction
// that did not fit.
func EvaluationCard(id string, said []string, means, not, source string, list ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Said: said, If: func(c *ledger.Case) bool { return cures.Evaluating(c) && Own(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory while it evaluated or predicted, not in a training step", Figures: Filled,
		Means: means, Not: not, Cures: list, Sources: []string{source},
	}
}

// Leaner is what to say where the log does not show all of these options typed.
func Leaner(options, text string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if done := (step.Step{Kind: "config", Text: options}); step.Taken(c, done) {
			return []step.Step{done}
		}
		return Say(text)(c)
	}
}
