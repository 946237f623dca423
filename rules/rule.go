package rules

import (
	"fmt"
	"math"
	"sort"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Rule is one cause: everything oomdoc knows about it.
type Rule struct {
	ID    string
	Title string // a headline for the report: "The model is too big for this card"
	// Headline is a narrower Title for this case, "" for none; nil: never.
	Headline func(c *Case) string
	// Doc explains the cause to a beginner, in Markdown paragraphs.
	Doc string
	// Settles is what to run or paste to be sure, when the log alone is not.
	Settles string
	// Clues point to the cause. The strongest one that applies counts.
	Clues []Clue
	// Remedies cure it, the best first.
	Remedies []Remedy
}

// Clue looks for one piece of evidence. Its finding's weight is a probability:
// of logs in which the clue applies, that share has this cause.
type Clue func(c *Case) Finding

// Finding is what a clue saw; a zero weight is nothing.
type Finding struct {
	Weight float64
	Why    string // one sentence with the figures
	Lines  []int  // evidence
}

// Remedy is a fix for a cause: Fit is how well it cures it, between 0 and 1.
type Remedy struct {
	Fix string
	Fit float64
	If  func(c *Case) bool // nil: always
}

// Cause is a cause with its probability for one incident.
type Cause struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Confidence float64    `json:"confidence"`
	Why        string     `json:"why"`
	Evidence   []Evidence `json:"evidence,omitempty"`
	Settles    string     `json:"settles,omitempty"`

	share float64 // of the weights, before calibration: what fixes are ranked by
}

// Evidence is a line that shows a cause.
type Evidence struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// All returns every rule. The order breaks ties between equal weights.
func All() []Rule {
	return []Rule{
		modelTooLarge, contextTooLong, batchTooLarge, trainingStateTooLarge, fragmentation, leakedProcess, retainedMemory,
		budgetMisconfigured, oversizedAllocation, hostMemory, deviceImbalance, softwareBug, unknown,
	}
}

// weigh weighs every cause for a case by its clues, the likeliest first.
// Confidences add up to 1 at most; causes under 3 % are left out.
func weigh(c *Case, clues map[string][]Clue) []Cause {
	var causes []Cause
	sum := 0.0
	for _, r := range All() {
		best := Finding{}
		for _, clue := range clues[r.ID] {
			if f := clue(c); f.Weight > best.Weight {
				best = f
			}
		}
		if best.Weight < 0.03 {
			continue
		}
		sum += best.Weight
		causes = append(causes, Cause{ID: r.ID, Title: r.headline(c), Confidence: best.Weight, Why: best.Why, Evidence: evidence(c, best.Lines), Settles: forBackend(c, r.Settles)})
	}
	sort.SliceStable(causes, func(i, j int) bool { return causes[i].Confidence > causes[j].Confidence })
	for i := range causes {
		causes[i].share = causes[i].Confidence / max(1, sum)
	}
	calibrate(causes)
	if len(causes) > 0 && causes[0].ID != LeakedProcess {
		causes[0].Why += whyTensor(c)
	}
	if len(causes) == 0 {
		causes = []Cause{{ID: unknown.ID, Title: unknown.Title, Confidence: 0.5, Why: "The log says that memory ran out, and nothing about why.", Settles: forBackend(c, unknown.Settles), share: 0.5}}
	}
	return causes
}

func (r Rule) headline(c *Case) string {
	if r.Headline != nil {
		if narrower := r.Headline(c); narrower != "" {
			return narrower
		}
	}
	return r.Title
}

// agreement is how much surer the first cause is than its share of the weights:
// clues are weighed one by one, and those of one log mostly agree. Measured on
// labelled logs (internal/reliability prints the table).
const agreement = 2.3

// surest is the most that a log alone can say.
const surest = 0.97

// calibrate turns shares into probabilities: the first cause's doubt shrinks,
// and the others divide what is left of it.
func calibrate(causes []Cause) {
	rest := 0.0
	for i := range causes {
		if i > 0 {
			rest += causes[i].share
		}
	}
	for i := range causes {
		if i == 0 {
			causes[0].Confidence = min(surest, 1-math.Pow(1-causes[0].share, agreement))
			continue
		}
		causes[i].Confidence = causes[i].share * min(1, (1-causes[0].Confidence)/rest)
	}
	for i := range causes {
		causes[i].Confidence = round2(causes[i].Confidence)
	}
}

func round2(v float64) float64 { return float64(int(v*100+0.5)) / 100 }

// evidence quotes the lines; the failure's own line comes as its message.
func evidence(c *Case, lines []int) []Evidence {
	var out []Evidence
	seen := map[int]bool{}
	for _, n := range lines {
		if n <= 0 || seen[n] {
			continue
		}
		seen[n] = true
		if text := c.lineText(n); text != "" {
			out = append(out, Evidence{Line: n, Text: text})
		}
	}
	return out
}

func (c *Case) lineText(n int) string {
	for _, x := range c.Chain {
		if n >= x.Line && n <= x.EndLine {
			return x.Message
		}
	}
	for _, s := range c.Facts.Signals {
		if s.Line == n {
			return s.Text
		}
	}
	for _, s := range c.Facts.Settings {
		if s.Line == n {
			return s.Name + "=" + s.Value
		}
	}
	for _, x := range c.Facts.Facts {
		if x.Line == n {
			return x.Text
		}
	}
	for _, p := range c.Facts.Tasks {
		if p.Line == n {
			return fmt.Sprintf("[%d] %s: %s", p.PID, p.Name, p.Text)
		}
	}
	return ""
}

func seen(weight float64, why string, lines ...int) Finding {
	return Finding{Weight: weight, Why: why, Lines: lines}
}

func nothing() Finding { return Finding{} }

// said is a clue for wordings that speak for themselves.
func said(weight float64, why string, kinds ...fact.Kind) Clue {
	return func(c *Case) Finding {
		if !c.Root(kinds...) {
			return nothing()
		}
		return seen(weight, why, c.Failure.Line)
	}
}

// saidIn is said for failures in one phase.
func saidIn(phase string, weight float64, why string, kinds ...fact.Kind) Clue {
	always := said(weight, why, kinds...)
	return func(c *Case) Finding {
		if c.Phase != phase {
			return nothing()
		}
		return always(c)
	}
}
