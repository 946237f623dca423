// Package odds turns evidence into the probabilities of causes.
package odds

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// whyTensor says what the failed allocation is, "" where that is not known.
func whyTensor(c *ledger.Case, said string) string {
	if c.Explained != nil {
		if strings.Contains(said, c.Explained.Sentence) || c.Root(fact.GGMLPool) && strings.Contains(said, "pool") {
			return ""
		}
		return " " + c.Explained.Sentence
	}
	p, ok := ledger.FailingTensor(c)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" %s is the size of its %s in %s (%s bytes).", c.F().Requested, p.What, ledger.Named(c).Model.ID, p.Arithmetic)
}

// Cause is a cause with its probability for one incident.
type Cause struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Confidence float64    `json:"confidence"`
	Why        string     `json:"why"`
	Evidence   []Evidence `json:"evidence,omitempty"`
	Settles    string     `json:"settles,omitempty"`

	Card  string  `json:"-"` // that says so too, "" where clues alone do
	Share float64 `json:"-"` // of the weights, before calibration: what fixes are ranked by
}

// Evidence is a line that shows a cause.
type Evidence struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Judge weighs every cause for a case by its clues, the likeliest first, and
// takes the word of a card that is sure. Confidences add up to 1 at most; causes
// under 3 % are left out.
func Judge(c *ledger.Case, clues map[string][]cause.Clue, cards []*cause.Card) []Cause {
	var causes []Cause
	sum := 0.0
	for _, r := range cause.All() {
		best := cause.Finding{}
		for _, clue := range clues[r.ID] {
			if f := clue(c); f.Weight > best.Weight {
				best = f
			}
		}
		if best.Weight < 0.03 {
			continue
		}
		sum += best.Weight
		causes = append(causes, Cause{ID: r.ID, Title: r.TitleFor(c), Confidence: best.Weight, Why: best.Why, Evidence: evidence(c, best.Lines), Settles: reader.ForBackend(c, r.Settles)})
	}
	sort.SliceStable(causes, func(i, j int) bool { return causes[i].Confidence > causes[j].Confidence })
	for i := range causes {
		causes[i].Share = causes[i].Confidence / max(1, sum)
	}
	calibrate(causes)
	if len(causes) == 0 && !slices.ContainsFunc(cards, sure) {
		causes = []Cause{{ID: cause.NotSaid.ID, Title: cause.NotSaid.Title, Confidence: 0.5, Why: "The log says that memory ran out, and nothing about why.", Settles: reader.ForBackend(c, cause.NotSaid.Settles), Share: 0.5}}
	}
	causes = believe(c, causes, unwatched(c, cards))
	if causes[0].ID != cause.LeakedProcess {
		causes[0].Why += whyTensor(c, causes[0].Why)
	}
	for i := range causes {
		causes[i].Why = strings.ReplaceAll(causes[i].Why, " 0 bytes", " nothing")
	}
	return causes
}

// unwatched leaves out cards that decide against a climb that somebody watched.
func unwatched(c *ledger.Case, cards []*cause.Card) []*cause.Card {
	s := c.Signal("climbing")
	return slices.DeleteFunc(slices.Clone(cards), func(k *cause.Card) bool {
		return s != nil && s.Line == 0 && sure(k) && k.Cause != cause.RetainedMemory && k.Cause != cause.HostMemory
	})
}

func sure(k *cause.Card) bool { return k.Weight >= cause.Sure }

// believe notes with each cause the first card that says so, and puts the cause
// of the first card that is sure before the others, which share the rest. A card
// without a cause tells what the likeliest one does here.
func believe(c *ledger.Case, causes []Cause, cards []*cause.Card) []Cause {
	for i := range causes {
		for _, k := range cards {
			if k.Cause == causes[i].ID && causes[i].Card == "" {
				causes[i].Card = k.ID
			}
		}
	}
	for _, k := range cards {
		switch {
		case k.Cause == "" && (k.Among == nil || slices.Contains(k.Among, causes[0].ID)):
			causes[0].Card, causes[0].Why = k.ID, k.Meaning(c)
			return causes
		case sure(k), len(causes) > 0 && causes[0].ID == k.Cause:
			return said(c, causes, k)
		}
	}
	return causes
}

// said is a card's word on its cause.
func said(c *ledger.Case, causes []Cause, card *cause.Card) []Cause {
	first, rest := Cause{ID: card.Cause}, 0.0
	var others []Cause
	for _, x := range causes {
		if x.ID == card.Cause {
			first = x
			continue
		}
		rest += x.Confidence
		others = append(others, x)
	}
	for _, r := range cause.All() {
		if r.ID == card.Cause {
			first.Title, first.Settles = r.TitleFor(c), reader.ForBackend(c, r.Settles)
		}
	}
	if sure(card) {
		first.Confidence, first.Share = card.Weight, card.Weight
	}
	first.Card, first.Why, first.Evidence = card.ID, card.Meaning(c), evidence(c, []int{c.Failure.Line})
	for i := range others {
		others[i].Confidence = round2(others[i].Confidence * min(1, (1-first.Confidence)/rest))
		others[i].Share = others[i].Confidence
	}
	return append([]Cause{first}, others...)
}

// agreement is how much surer the first cause is than its share of the weights:
// clues are weighed one by one, and those of one log mostly agree. Measured on
// labelled logs (internal/workshop/reliability prints the table).
const agreement = 2.3

// surest is the most that a log alone can say.
const surest = 0.97

// calibrate turns shares into probabilities: the first cause's doubt shrinks,
// and the others divide what is left of it.
func calibrate(causes []Cause) {
	rest := 0.0
	for i := range causes {
		if i > 0 {
			rest += causes[i].Share
		}
	}
	for i := range causes {
		if i == 0 {
			causes[0].Confidence = min(surest, 1-math.Pow(1-causes[0].Share, agreement))
			continue
		}
		causes[i].Confidence = causes[i].Share * min(1, (1-causes[0].Confidence)/rest)
	}
	for i := range causes {
		causes[i].Confidence = round2(causes[i].Confidence)
	}
}

func round2(v float64) float64 { return float64(int(v*100+0.5)) / 100 }

// evidence quotes the lines; the failure's own line comes as its message.
func evidence(c *ledger.Case, lines []int) []Evidence {
	var out []Evidence
	seen := map[int]bool{}
	for _, n := range lines {
		if n <= 0 || seen[n] {
			continue
		}
		seen[n] = true
		if text := lineText(c, n); text != "" {
			out = append(out, Evidence{Line: n, Text: text})
		}
	}
	return out
}

func lineText(c *ledger.Case, n int) string {
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
