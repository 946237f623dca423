// Package odds turns evidence into the probabilities of causes.
package odds

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/wording"
)

// Cause is a cause with its probability for one incident.
type Cause struct {
	ID         string     `json:"id"`
	Title      string     `json:"title"`
	Confidence float64    `json:"confidence"`
	Why        string     `json:"why"`
	Evidence   []Evidence `json:"evidence,omitempty"`
	Settles    string     `json:"settles,omitempty"`

	Card  string  `json:"-"` // that says so too, "" where clues alone do
	Share float64 `json:"-"` // its probability before it is calibrated: what fixes are ranked by
	Heard *Heard  `json:"-"` // what was weighed, with the first cause
}

// Evidence is a line that shows a cause.
type Evidence struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Judge weighs every cause for a case, the likeliest first: by its clues, those
// cards that hold and what logs like it had. Confidences add up to 1 at most;
// causes under 3 % are left out, and those without a clue under 10 %.
func Judge(c *ledger.Case, clues *Clues, cards []*cause.Card) []Cause {
	cards = refuted(c, cards)
	held := &deck{c, cards, make([]int8, len(cards))}
	h := hear(c, clues, held)
	share := h.Odds(learned())
	stated := calibrated(share)
	var causes []Cause
	for i, r := range order() {
		found, least := h.found[i], unheard
		if found.Weight > cause.None || h.Evidence[i] > 0 {
			least = faint
		}
		if share[i] < least {
			continue
		}
		why := cmp.Or(found.Why, alike)
		causes = append(causes, Cause{ID: r.ID, Title: r.TitleFor(c), Confidence: round2(min(stated[i], surest)), Share: share[i], Why: why, Evidence: evidence(c, found.Lines), Settles: code.ForBackend(c, r.Settles)})
	}
	sort.SliceStable(causes, func(i, j int) bool { return causes[i].Share > causes[j].Share })
	causes = believe(c, causes, h.card, held)
	causes[0].Heard = h
	if causes[0].ID != cause.LeakedProcess {
		causes[0].Why = wording.Whole(c, causes[0].ID, causes[0].Why)
	}
	for i := range causes {
		causes[i].Why = code.ForBackend(c, strings.ReplaceAll(causes[i].Why, " 0 bytes", " nothing"))
	}
	return causes
}

// Causes less likely than these are not named.
const (
	faint   = 0.03
	unheard = 0.1 // where no clue points to it
)

// surest is the most that a log alone can say.
const surest = 0.97

// calibrated takes back from the likeliest cause what it looked surer of than it
// was right in 414 logs at first sight (docs/confidence.md): some 0.09 between
// 0.6 and 0.88, 0.03 where the log prints it. All causes share it alike, so that
// their order stays.
func calibrated(share [Causes]float64) [Causes]float64 {
	const even = 1.0 / Causes
	first := slices.Max(share[:])
	excess := max(0.03, min((first-0.25)*0.28, 0.09, (0.955-first)*1.2))
	for i := range share {
		share[i] += (even - share[i]) * min(1, excess/(first-even))
	}
	return share
}

// alike is the reason of a cause that no clue points to.
const alike = "The log does not say so directly; most logs with this message and these figures have this cause."

// refuted leaves out cards that decide against a climb that somebody watched, or
// for this program's own need where others hold most of a card.
func refuted(c *ledger.Case, cards []*cause.Card) []*cause.Card {
	s := c.Signal("climbing")
	watched, taken := s != nil && s.Line == 0, ledger.Taken(c)
	if !watched && !taken {
		return cards
	}
	return slices.DeleteFunc(slices.Clone(cards), func(k *cause.Card) bool {
		return sure(k) && (watched && k.Cause != cause.RetainedMemory && k.Cause != cause.HostMemory || taken && slices.Contains(ownNeed, k.Cause))
	})
}

var ownNeed = []string{cause.BatchTooLarge, cause.ContextTooLong, cause.ModelTooLarge}

func sure(k *cause.Card) bool { return k.Weight >= cause.Sure }

// believe notes with each cause the first card that says so, and lets the card
// of the likeliest cause say what happened. A card without a cause tells what
// the likeliest one does here.
func believe(c *ledger.Case, causes []Cause, decided *cause.Card, cards *deck) []Cause {
	first := func(wanted func(k *cause.Card) bool) *cause.Card {
		if decided != nil && wanted(decided) {
			return decided
		}
		return cards.first(wanted)
	}
	for i := range causes {
		if k := first(func(k *cause.Card) bool { return k.Cause == causes[i].ID }); k != nil {
			causes[i].Card = k.ID
		}
	}
	likeliest := &causes[0]
	if k := first(func(k *cause.Card) bool { return k.SpeaksFor(likeliest.ID) }); k != nil {
		likeliest.Card, likeliest.Why = k.ID, k.For(c).Meaning()
		if k.Cause != "" {
			likeliest.Evidence = evidence(c, []int{c.Failure.Line})
		} else {
			likeliest.Settles = "" // the card says what decides
		}
	}
	return causes
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
