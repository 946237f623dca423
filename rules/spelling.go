package rules

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Spelling is how a fix is done in a program, "" for any.
type Spelling struct {
	Program string
	Steps   []step.Step
}

// Spellings returns how a fix is done where nothing is known of a log: in
// general, then in each of the engines and programs that a report may name as
// the one that failed.
func Spellings(f fix.Fix) []Spelling {
	out := []Spelling{{Steps: step.Marked(f.Steps(unknown()), false)}}
	for _, p := range programs() {
		if steps := p.Spelled()[f.ID]; steps != nil && p.Rank > 0 && p.Name != "" {
			out = append(out, Spelling{Shown(p.Name), step.Marked(steps(unknown()), false)})
		}
	}
	return out
}

// unknown is a case of which nothing is known.
func unknown() *ledger.Case { return &ledger.Case{Facts: &fact.Facts{}, Phase: "unknown"} }

// Card returns what is known of a message by its ID (PROGRAM/WHAT), and how its
// program is written; nil if there is no such card.
func Card(id string) (card *cause.Card, shown string) {
	owner, _, _ := strings.Cut(id, "/")
	if card = program.CardOf(programs(), id); card == nil {
		return nil, ""
	}
	return card, Shown(owner)
}
