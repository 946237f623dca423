// Package cause has a file for each cause: what it means, what points to it,
// what cures it. What points to it in one program's logs only stands with the
// program.
package cause

import (
	"cmp"
	"embed"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// IDs of the causes.
const (
	ModelTooLarge         = "model_too_large"
	ContextTooLong        = "context_too_long"
	BatchTooLarge         = "batch_too_large"
	TrainingStateTooLarge = "training_state_too_large"
	Fragmentation         = "fragmentation"
	LeakedProcess         = "leaked_process"
	RetainedMemory        = "retained_memory"
	BudgetMisconfigured   = "budget_misconfigured"
	OversizedAllocation   = "oversized_allocation"
	HostMemory            = "host_memory"
	DeviceImbalance       = "device_imbalance"
	SoftwareBug           = "software_bug"
	Unknown               = "unknown"
)

// Rule is one cause: everything oomdoc knows about it.
type Rule struct {
	ID    string
	Title string // a headline for the report: "The model is too big for this card"
	// Headline is a narrower Title for this case, "" for none; nil: never.
	Headline func(c *ledger.Case) string
	// Settles is what to run or paste to be sure, when the log alone is not.
	Settles string
	// Clues point to the cause. The strongest one that applies counts.
	Clues []Clue
	// Remedies cure it.
	Remedies []Remedy
}

//go:embed docs/*.md
var docs embed.FS

// Doc explains the cause to a beginner, in paragraphs of Markdown: docs/ID.md.
func (r Rule) Doc() []string { return Paragraphs(docs, r.ID) }

// Paragraphs are those of an ID's page, none where there is no such page.
func Paragraphs(pages embed.FS, id string) []string {
	page, err := pages.ReadFile("docs/" + id + ".md")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(page)), "\n\n")
}

// Cures are the fixes of its remedies, the best first.
func (r Rule) Cures() []string {
	var out []string
	for _, m := range slices.SortedStableFunc(slices.Values(r.Remedies), func(a, b Remedy) int { return cmp.Compare(b.Fit, a.Fit) }) {
		if !slices.Contains(out, m.Fix) {
			out = append(out, m.Fix)
		}
	}
	return out
}

// Clue looks for one piece of evidence. Its finding's weight is a probability:
// of logs in which the clue applies, that share has this cause.
type Clue struct {
	// Kinds are those of root messages of which it says anything; nil: of any.
	Kinds []fact.Kind
	Look  func(c *ledger.Case) Finding
}

// Of is the clue for root messages of some kinds alone.
func (k Clue) Of(kinds ...fact.Kind) Clue { return Clue{kinds, k.Look} }

// Finding is what a clue saw; a zero weight is nothing.
type Finding struct {
	Weight Level
	Why    string // one sentence with the figures
	Lines  []int  // evidence
}

// Remedy is a fix for a cause: Fit is how well it cures it, between 0 and 1.
type Remedy struct {
	Fix string
	Fit Help
	If  func(c *ledger.Case) bool // nil: always
}

// All returns every rule. The order breaks ties between equal weights.
func All() []Rule {
	return []Rule{
		modelTooLarge, contextTooLong, batchTooLarge, trainingStateTooLarge, fragmentation, leakedProcess, retainedMemory,
		budgetMisconfigured, oversizedAllocation, hostMemory, deviceImbalance, softwareBug, NotSaid,
	}
}

// TitleFor is the narrower headline where the case has one.
func (r Rule) TitleFor(c *ledger.Case) string {
	if r.Headline != nil {
		if narrower := r.Headline(c); narrower != "" {
			return narrower
		}
	}
	return r.Title
}

// Seen is a finding.
func Seen(weight Level, why string, lines ...int) Finding {
	return Finding{Weight: weight, Why: why, Lines: lines}
}

// Nothing is no finding.
func Nothing() Finding { return Finding{} }
