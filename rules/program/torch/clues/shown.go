package clues

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Below: the card has less than this many GiB.
func Below(gib int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes < gib*units.GiB }
}

// Shows: a script, its options or a line of a traceback has one of the words.
func Shows(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
			told := x.File + "\n" + x.Function + "\n" + x.Source + "\n" + x.Args
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(told, w) })
		})
	}
}

// Useless says of fixes why they cannot help where a condition holds.
func Useless(where func(*ledger.Case) bool, why string, fixes ...string) map[string]func(*ledger.Case) string {
	out := map[string]func(*ledger.Case) string{}
	for _, fix := range fixes {
		out[fix] = func(c *ledger.Case) string {
			if where(c) {
				return why
			}
			return ""
		}
	}
	return out
}
