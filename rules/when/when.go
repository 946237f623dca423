// Package when combines conditions on a case, for remedies.
package when

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Fact holds where the log states a figure of this name.
func Fact(name string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { _, ok := c.Fact(name); return ok }
}

// All holds where all conditions do; one that is nil holds, as in a cure.
func All(conditions ...func(*ledger.Case) bool) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return !slices.ContainsFunc(conditions, func(holds func(*ledger.Case) bool) bool { return holds != nil && !holds(c) })
	}
}

// Any holds where one of the conditions does.
func Any(conditions ...func(*ledger.Case) bool) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(conditions, func(holds func(*ledger.Case) bool) bool { return holds(c) })
	}
}

// Not holds where the condition does not.
func Not(cond func(*ledger.Case) bool) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return !cond(c) }
}

// In holds for failures in a phase.
func In(phase string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Phase == phase }
}

// Set holds where the log shows a value of a setting that begins so.
func Set(name, value string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		s, ok := c.Setting(name)
		return ok && strings.HasPrefix(s.Value, value)
	}
}

// Root holds where the root message is of one of the kinds.
func Root(kinds ...fact.Kind) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Root(kinds...) }
}
