package odds

import (
	"math"
	"slices"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// order are the causes; what is said by cause stands in this order.
var order = sync.OnceValue(cause.All)

// Causes is how many there are.
const Causes = 13

// IDs are those of the causes in the order of [Heard.Evidence].
func IDs() []string {
	out := make([]string, 0, Causes)
	for _, r := range order() {
		out = append(out, r.ID)
	}
	return out
}

// Heard is what speaks for the causes of a case.
type Heard struct {
	// Features are what is so in general.
	Features []Feature
	// Evidence is what clues and cards add to the log-odds of each cause.
	Evidence [Causes]float64
	// Offers are the fixes that were weighed, in a Situation.
	Offers    []Offer
	Situation []Feature
	// found is the strongest clue of each.
	found [Causes]cause.Finding
	// decided is one more than the cause of a card that is sure, 0 for none.
	decided int
	card    *cause.Card
}

const (
	// damped is how much of the next clue counts beside a stronger one of the
	// same cause: what one log shows twice is mostly one thing.
	damped = 0.15
	// written is what a card that is sure adds beside its level: somebody wrote
	// it for just this message of just this program.
	written = 2
)

// Clues are what may speak for the causes, by the messages that they are about:
// most are about a few.
type Clues struct {
	general []placed
	about   map[fact.Kind][]placed
}

// placed is a clue of a cause, at its place among all.
type placed struct {
	cause, at int
	look      func(c *ledger.Case) cause.Finding
}

// Sorted sorts the clues of each cause.
func Sorted(clues map[string][]cause.Clue) *Clues {
	out := &Clues{about: map[fact.Kind][]placed{}}
	at := 0
	for i, r := range order() {
		for _, k := range clues[r.ID] {
			at++
			if k.Kinds == nil {
				out.general = append(out.general, placed{i, at, k.Look})
			}
			for n, kind := range k.Kinds {
				if !slices.Contains(k.Kinds[:n], kind) {
					out.about[kind] = append(out.about[kind], placed{i, at, k.Look})
				}
			}
		}
	}
	return out
}

// next takes the next clue of a cause from two lists.
func next(cause int, a, b *[]placed) *placed {
	if len(*a) == 0 || len(*b) > 0 && (*b)[0].at < (*a)[0].at {
		a = b
	}
	if len(*a) == 0 || (*a)[0].cause != cause {
		return nil
	}
	x := &(*a)[0]
	*a = (*a)[1:]
	return x
}

// hear lets clues and cards speak.
func hear(c *ledger.Case, clues *Clues, cards *deck) *Heard {
	h := &Heard{Features: Observe(c)}
	general, about := clues.general, clues.about[c.Failure.Kind]
	var levels []cause.Level
	for i, r := range order() {
		levels = levels[:0]
		for x := next(i, &general, &about); x != nil; x = next(i, &general, &about) {
			f := x.look(c)
			if f.Weight == cause.None {
				continue
			}
			levels = append(levels, f.Weight)
			if f.Weight > h.found[i].Weight {
				h.found[i] = f
			}
		}
		h.Evidence[i] = sum(levels)
		for _, said := range said {
			if h.found[i].Weight >= said.least {
				h.Features = append(h.Features, Feature{said.group, r.ID})
			}
		}
	}
	h.believe(cards)
	return h
}

// believe adds the word of the first card that is sure, unless one before it,
// which is narrower, speaks for what the clues say: others repeat it.
func (h *Heard) believe(cards *deck) {
	likeliest := slices.Index(h.Evidence[:], slices.Max(h.Evidence[:]))
	k := cards.first(func(k *cause.Card) bool { return sure(k) || k.SpeaksFor(order()[likeliest].ID) })
	if k == nil || !sure(k) {
		return
	}
	i := slices.IndexFunc(order(), func(r cause.Rule) bool { return r.ID == k.Cause })
	h.Evidence[i] = max(h.Evidence[i], k.Weight.LogOdds()) + written
	h.Features = append(h.Features, Feature{"card", k.Cause})
	h.decided, h.card = i+1, k
}

// deck are the cards of a case's programs, the narrowest first. Whether one holds
// is found out when somebody asks.
type deck struct {
	c     *ledger.Case
	cards []*cause.Card
	held  []int8 // 1 holds, -1 does not
}

// first is the first card that is wanted and holds, nil for none.
func (d *deck) first(wanted func(k *cause.Card) bool) *cause.Card {
	for i, k := range d.cards {
		if d.held[i] < 0 || !wanted(k) {
			continue
		}
		if d.held[i] == 0 && !k.Holds(d.c) {
			d.held[i] = -1
			continue
		}
		d.held[i] = 1
		return k
	}
	return nil
}

// said are the levels that the strongest clue of a cause reaches, as features.
var said = [...]struct {
	group string
	least cause.Level
}{{"clue weak", cause.Weak}, {"clue good", cause.Good}, {"clue strong", cause.Strong}, {"clue decisive", cause.Decisive}}

// sum adds up evidence for one cause, the strongest first.
func sum(levels []cause.Level) float64 {
	slices.Sort(levels)
	total, part := 0.0, 1.0
	for _, l := range slices.Backward(levels) {
		total += part * l.LogOdds()
		part *= damped
	}
	return total
}

// Odds are the probabilities of the causes by what was heard.
func (h *Heard) Odds(t *Table) [Causes]float64 {
	logs := h.Evidence
	for i := range logs {
		logs[i] *= t.Hand
	}
	for _, f := range h.Features {
		if row := t.rows[f]; row != nil {
			for i := range logs {
				logs[i] += row[i]
			}
		}
	}
	return h.Settled(Softmax(logs, t.Temperature))
}

// Settled puts the cause of a card that is sure first, in exchange for the one
// that was: somebody wrote it for just this message, and the log prints no other
// reason.
func (h *Heard) Settled(odds [Causes]float64) [Causes]float64 {
	likeliest := slices.Index(odds[:], slices.Max(odds[:]))
	if i := h.decided - 1; i >= 0 && h.found[likeliest].Weight < cause.Stated {
		odds[i], odds[likeliest] = odds[likeliest], odds[i]
	}
	return odds
}

// Softmax turns log-odds into probabilities.
func Softmax(logs [Causes]float64, temperature float64) [Causes]float64 {
	highest := slices.Max(logs[:])
	total := 0.0
	for i := range logs {
		logs[i] = math.Exp((logs[i] - highest) / temperature)
		total += logs[i]
	}
	for i := range logs {
		logs[i] /= total
	}
	return logs
}
