// Package program says what is known of a program: its file below has the
// messages that point to a cause there, what cures it, and how fixes are
// spelled. No program uses another; what a family shares has a file of its own.
package program

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Program is what is peculiar to one program: which of its messages point to
// which cause, what cures it there, and how a fix is spelled. General
// knowledge stands in the rules and fixes; an engine's entry goes before it.
type Program struct {
	// Programs are the names in a case's stack that the entries hold for.
	Programs []string
	// Clues by cause. They are tried on every case, so each looks at the kind
	// of the failure first.
	Clues map[string][]cause.Clue
	// Remedies by cause, instead of the rule's own.
	Remedies map[string][]cause.Remedy
	// Steps, Effects, Checks, Whys and Useless by fix, instead of the fix's own.
	Steps   map[string]func(c *ledger.Case) []step.Step
	Effects map[string]func(c *ledger.Case) *effect.Effect
	Checks  map[string]string
	Useless map[string]func(c *ledger.Case) string
	Whys    map[string]func(c *ledger.Case) string
}

// Of returns those of all engines that are for the programs of a case,
// the most specific program first.
func Of(c *ledger.Case, all []*Program) []*Program {
	var out []*Program
	for _, program := range c.Stack {
		for _, e := range all {
			for _, p := range e.Programs {
				if p == program {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// Remedies returns the remedies for a cause: the first engine's that has
// any, else the rule's.
func Remedies(engines []*Program, r cause.Rule) []cause.Remedy {
	for _, e := range engines {
		if own := e.Remedies[r.ID]; own != nil {
			return own
		}
	}
	return r.Remedies
}

// Adapt returns a fix with the entries of the engines put in.
func Adapt(engines []*Program, fix fix.Fix) fix.Fix {
	for i := len(engines) - 1; i >= 0; i-- {
		e := engines[i]
		if steps := e.Steps[fix.ID]; steps != nil {
			fix.Steps = steps
		}
		if effect := e.Effects[fix.ID]; effect != nil {
			fix.Effect = effect
		}
		if check := e.Checks[fix.ID]; check != "" {
			fix.Check = check
		}
		if why := e.Whys[fix.ID]; why != nil {
			fix.Why = why
		}
		if useless := e.Useless[fix.ID]; useless != nil {
			fix.Useless = useless
		}
	}
	return fix
}
