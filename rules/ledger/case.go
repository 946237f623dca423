// Package ledger holds one incident: what the log says of it ([Case]), and its
// numbers, each computed once. Headline, bar, clues, effects and checks read
// them here and compute none.
package ledger

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/digrams"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Case is one incident and what held when it struck.
type Case struct {
	// Failure is the root: the statement whose wording says most. Its figures
	// are completed from the other statements of the same incident.
	Failure fact.Failure
	// Chain are all statements of the incident, in the order of the log.
	Chain []fact.Failure
	// Facts are the facts of the whole log.
	Facts *fact.Facts
	// Framework, Backend and Phase are what the log proves, "" or "unknown"
	// where it does not.
	Framework, Backend, Phase string
	// Stack names every program that took part, the most specific first.
	Stack []string
	// Model is what the log calls the model, nil if it names none.
	Model *Model
	// Reader is who pasted the log, as far as it shows.
	Reader Reader
	// Systems are those that its program runs on, none for all.
	Systems []string
	// Ledger is what [Derive] computes.
	Ledger
	// Explained says what the bytes asked for are, nil where that is not sure.
	Explained *Explained
	// Operation is what was being computed, "" where the traceback shows none:
	// see package operation.
	Operation string
	// found is what [Once] has found.
	found map[any]any
	// trace are the frames of [Trace], nil until somebody asks, and traced the
	// line that they lead to.
	trace  []fact.Code
	traced int
	// named is the model of the catalogue that the name namedAs means, once
	// somebody has asked.
	named   *fit.Match
	namedAs string
}

// Model is the model that was being loaded or run.
type Model struct {
	Name       string `json:"name"`
	Parameters int64  `json:"parameters,omitempty"`
	Format     string `json:"format,omitempty"`
	// Basis says where parameters and format come from: "catalogue" for a
	// published model that the name means, "name" for what the name says.
	Basis string `json:"basis,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// F returns the figures of the incident; it is never nil.
func (c *Case) F() *fact.Figures { return &c.Failure.Figures }

// Kind reports that one of the incident's statements is of one of the kinds.
func (c *Case) Kind(kinds ...fact.Kind) bool {
	return slices.ContainsFunc(c.Chain, func(x fact.Failure) bool { return slices.Contains(kinds, x.Kind) })
}

// Root reports that the root statement is of one of the kinds.
func (c *Case) Root(kinds ...fact.Kind) bool { return slices.Contains(kinds, c.Failure.Kind) }

// Signal returns the first evidence of an activity, nil if there is none.
func (c *Case) Signal(ids ...string) *fact.Signal {
	if i := slices.IndexFunc(c.Facts.Signals, func(s fact.Signal) bool { return slices.Contains(ids, s.ID) }); i >= 0 {
		return &c.Facts.Signals[i]
	}
	return nil
}

// Setting returns the value of an argument, option or variable that held when
// the incident struck: the last one stated before it, else the first after.
func (c *Case) Setting(names ...string) (fact.Setting, bool) {
	var found fact.Setting
	ok := false
	for i := range c.Facts.Settings {
		if s := &c.Facts.Settings[i]; slices.Contains(names, s.Name) && (!ok || s.Line <= c.Failure.Line) {
			found, ok = *s, true
		}
	}
	return found, ok
}

// Fact returns a named figure that held when the incident struck.
func (c *Case) Fact(name string) (fact.Fact, bool) {
	var found fact.Fact
	ok := false
	for i := range c.Facts.Facts {
		if x := &c.Facts.Facts[i]; x.Name == name && (!ok || x.Line <= c.Failure.Line) {
			found, ok = *x, true
		}
	}
	return found, ok
}

// In reports that a program is part of the stack.
func (c *Case) In(programs ...string) bool {
	return slices.ContainsFunc(c.Stack, func(p string) bool { return slices.Contains(programs, p) })
}

// Says reports that the log shows a program at work, part of the stack or not.
func (c *Case) Says(programs ...string) bool {
	return c.In(programs...) || slices.ContainsFunc(c.Facts.Programs, func(p fact.Program) bool { return slices.Contains(programs, p.Name) })
}

// Training reports that the log shows a training run.
func (c *Case) Training() bool {
	return c.Phase == "training" || c.Signal("training", "backward", "optimizer_step") != nil
}

// Windows reports that the log comes from Windows, as far as it proves that.
func (c *Case) Windows() bool { return c.Reader.OS == "windows" }

// ModelName returns the model's name or a placeholder to put into a command.
func (c *Case) ModelName() string {
	if c.Model == nil || c.Model.Name == "" {
		return "MODEL"
	}
	return c.Model.Name
}

// Contains reports that the root message has a text, case folded.
func (c *Case) Contains(text string) bool {
	return Once(c, "message", func(c *Case) *digrams.Text { return digrams.NewText(c.Failure.Message) }).Has(text)
}

// How far from a failure a word stands that belongs to it: tracebacks are long,
// and what follows mostly is another failure.
const nearBefore, nearAfter = 120, 12

// Near reports that one of the words that cards look for stands near the
// failure, or near the same failure of another rank.
func (c *Case) Near(words ...string) bool {
	near := Once(c, "near", (*Case).wordsNear)
	return slices.ContainsFunc(words, func(w string) bool { return near[w] })
}

// Once returns what find says of a case: for each key it is asked once, when all
// that the log says of the case is known.
func Once[T any](c *Case, key any, find func(*Case) T) T {
	if found, asked := c.found[key]; asked {
		return found.(T)
	}
	if c.found == nil {
		c.found = map[any]any{}
	}
	found := find(c)
	c.found[key] = found
	return found
}

// wordsNear are the words that stand near the failure, or near one of the same
// kind that belongs to its incident.
func (c *Case) wordsNear() map[string]bool {
	near, last := map[string]bool{}, 0
	if frames := Trace(c); len(frames) > 0 { // below the message where that stands first
		last = max(frames[0].Line, frames[len(frames)-1].Line) + 1
	} else if c.Kind(fact.TPUCompile) { // a table of the largest buffers
		last = c.Failure.EndLine + 3*nearAfter
	}
	for _, w := range c.Facts.Words {
		// Cards write paths with "/", whatever the system.
		word := strings.ReplaceAll(w.Text, `\`, "/")
		stands := near[word] || slices.ContainsFunc(c.Chain, func(x fact.Failure) bool {
			return (x.Kind == c.Failure.Kind || x.Line == c.Failure.Line) && w.Line >= x.Line-nearBefore && w.Line <= max(x.EndLine+nearAfter, last)
		})
		near[word], near[w.Text] = stands, stands || near[w.Text]
	}
	return near
}

// NewModel makes a model out of its name in a log.
func NewModel(name string, line int) *Model {
	m := fit.Find(name)
	return &Model{Name: name, Parameters: m.Parameters, Format: m.Format, Basis: m.Basis, Line: line}
}

// IntSetting returns an integer argument, 0 if it is not known.
func IntSetting(c *Case, names ...string) int {
	if s, ok := c.Setting(names...); ok { // an error costs an allocation
		if n, err := strconv.Atoi(s.Value); err == nil {
			return max(n, 0)
		}
	}
	return 0
}
