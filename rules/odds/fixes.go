package odds

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Offer is a fix that may help, with what it is worth by the remedies of the
// causes and the cures of a card.
type Offer struct {
	Fix string
	// As is the fix by whose lessons it is ranked: its own, or that of the first
	// cure of a card whose cures are one plan and keep their order.
	As    string
	Worth float64
}

// Situation is what decides, beside the remedies, which fix people are helped
// by: the likeliest cause, the program, the work and when it failed.
func Situation(c *ledger.Case, cause string) []Feature {
	return []Feature{
		{"any", "any"}, {"cause", cause}, {"framework", c.Framework}, {"program", c.Reader.Program}, {"work", c.Reader.Work},
		{"edits", c.Reader.Edits}, {"phase", c.Phase}, {"backend", c.Backend}, {"kind", string(c.Failure.Kind)},
	}
}

// Ranking is what was learned of fixes from labelled logs: what each feature of
// a situation adds to the log-odds that a fix is the right one. Its file is
// written by internal/learn.
type Ranking struct {
	// Worth is how much the logarithm of an offer's worth counts beside it.
	Worth float64
	rows  map[string]map[Feature]float64
}

//go:embed fixes.tsv
var fixesFile string

var ranking = sync.OnceValue(func() *Ranking {
	r, err := ParseRanking(fixesFile)
	if err != nil {
		panic(err) // a test reads it
	}
	return r
})

// Ranked is what an offer is worth in a situation, to be compared with others
// there: log-odds.
func Ranked(o Offer, situation []Feature) float64 { return ranking().Of(o, situation) }

// Of is [Ranked] by this ranking.
func (r *Ranking) Of(o Offer, situation []Feature) float64 {
	sum := r.Worth * math.Log(max(o.Worth, leastWorth))
	rows := r.rows[o.As]
	for _, f := range situation {
		sum += rows[f]
	}
	return sum
}

// leastWorth keeps the logarithm of a worth finite.
const leastWorth = 1e-4

// ParseRanking reads a ranking: lines of a fix, a group, a value and a number in
// hundredths, parted by tabs. A line of "#" is a comment.
func ParseRanking(text string) (*Ranking, error) {
	r := &Ranking{Worth: 1, rows: map[string]map[Feature]float64{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.SplitN(line, "\t", 4)
		if len(fields) != 4 {
			return nil, fmt.Errorf("%q has no four columns", line)
		}
		n, err := strconv.Atoi(fields[3])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if fields[0] == "blend" {
			r.Worth = float64(n) / 100
			continue
		}
		if r.rows[fields[0]] == nil {
			r.rows[fields[0]] = map[Feature]float64{}
		}
		r.rows[fields[0]][Feature{fields[1], fields[2]}] = float64(n) / 100
	}
	return r, nil
}
