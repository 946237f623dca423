package server

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// says is a sentence and when it is true. Figures stand in it in braces: where
// the log does not state one the sentence is not said, and of what follows a
// bar, that part.
type says struct {
	weight float64
	why    string
	when   func(c *ledger.Case) bool
}

// firstOf is the clue of the first sentence that can be said.
func firstOf(sentences ...says) cause.Clue {
	return func(c *ledger.Case) cause.Finding {
		for _, s := range sentences {
			if !s.when(c) {
				continue
			}
			if why, lines := filled(c, s.why); why != "" {
				return cause.Seen(s.weight, why, append(lines, c.Failure.Line)...)
			}
		}
		return cause.Nothing()
	}
}

// refutes is the first sentence against a fix that can be said.
func refutes(sentences ...says) func(c *ledger.Case) string {
	clue := firstOf(sentences...)
	return func(c *ledger.Case) string { return clue(c).Why }
}

var inBraces = regexp.MustCompile(`\{\w+\}`)

// filled is a sentence with its figures, and the lines of those that stand away
// from the failure.
func filled(c *ledger.Case, sentence string) (said string, lines []int) {
	must, may, _ := strings.Cut(sentence, "|")
	complete := true
	fill := func(name string) string {
		text, line := stated(c, strings.Trim(name, "{}"))
		complete = complete && text != ""
		if line > 0 {
			lines = append(lines, line)
		}
		return text
	}
	if said = inBraces.ReplaceAllStringFunc(must, fill); !complete {
		return "", nil
	}
	if may = inBraces.ReplaceAllStringFunc(may, fill); complete {
		said += may
	}
	return said, lines
}

// stated is a figure by its key in a report, a fact or a setting of that name,
// or what is computed from them.
func stated(c *ledger.Case, name string) (text string, line int) {
	c.F().Sizes(func(key string, size *fact.Size) {
		if key == name {
			text = size.String()
		}
	})
	c.F().Counts(func(key string, count *fact.Count) {
		if key == name {
			text = count.Text
		}
	})
	if text != "" {
		return text, 0
	}
	if x, ok := c.Fact(name); ok && x.Count != nil {
		return x.Count.Text, x.Line
	} else if ok && x.Size != nil {
		return x.Size.String(), x.Line
	}
	if s, ok := c.Setting(name); ok {
		return s.Value, s.Line
	}
	if compute := computed[name]; compute != nil {
		return compute(c), 0
	}
	return "", 0
}

var computed = map[string]func(c *ledger.Case) string{
	"share":        number("%g", shareSet),
	"needed_share": number("%.2f", neededUtilization),
	"floor":        number("%.3f", fractionFloor),
	"taken":        amount(takenAtStart),
	"room":         amount(func(c *ledger.Case) int64 { return ledger.SizeOf(c.F().Free) }),
	"lacking":      func(c *ledger.Case) string { return c.Shortfall.String() },
	"gap":          func(c *ledger.Case) string { return c.Shortfall.String() },
	"reserve": amount(func(c *ledger.Case) int64 {
		return max(ledger.SizeOf(c.F().Requested)-ledger.SizeOf(c.F().Free), 0) + units.GiB/2
	}),
}

func amount(of func(c *ledger.Case) int64) func(c *ledger.Case) string {
	return func(c *ledger.Case) string { return units.Amount(of(c)) }
}

func number(format string, of func(c *ledger.Case) (float64, bool)) func(c *ledger.Case) string {
	return func(c *ledger.Case) string {
		if v, ok := of(c); ok {
			return fmt.Sprintf(format, v)
		}
		return ""
	}
}

// in holds for failures of some kind in a phase.
func in(phase string, kind func(c *ledger.Case) bool) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Phase == phase && kind(c) }
}

// isSet holds where the log shows a value of a setting that begins so.
func isSet(name, value string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		s, ok := c.Setting(name)
		return ok && strings.HasPrefix(s.Value, value)
	}
}
