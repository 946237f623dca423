package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/odds"
)

// trait is a feature of a situation as it bears on one fix.
type trait struct {
	fix string
	odds.Feature
}

// traits numbers those that occur in several repositories.
func traits(cases []observed) ([]trait, map[trait]int) {
	groups := map[trait]map[string]bool{}
	for _, x := range cases {
		for _, o := range x.Offers {
			for _, f := range x.Situation {
				t := trait{o.As, f}
				if groups[t] == nil {
					groups[t] = map[string]bool{}
				}
				groups[t][x.group] = true
			}
		}
	}
	var names []trait
	for t, seen := range groups {
		if len(seen) >= commonness && t.Value != "" {
			names = append(names, t)
		}
	}
	slices.SortFunc(names, func(a, b trait) int {
		return slices.Compare([]string{a.fix, a.Group, a.Value}, []string{b.fix, b.Group, b.Value})
	})
	index := map[trait]int{}
	for i, t := range names {
		index[t] = i
	}
	return names, index
}

// choice is a case in which one of several offers is to come first.
type choice struct {
	traits [][]int // of each offer
	worth  []float64
	good   []bool
	weight float64
}

// ownFix is how often a log of this project counts: the order of its fixes was
// written by somebody who knows the program, and is not to be turned around for
// what other programs' readers were helped by.
const ownFix = 3

// choices are the cases that can teach: one offer is good and another is not.
func choices(cases []observed, index map[trait]int) []choice {
	var out []choice
	for i := range cases {
		x := &cases[i]
		ch := choice{weight: x.counts()}
		if x.own {
			ch.weight = ownFix
		}
		goods := 0
		for _, o := range x.Offers {
			var ts []int
			for _, f := range x.Situation {
				if n, ok := index[trait{o.As, f}]; ok {
					ts = append(ts, n)
				}
			}
			good := x.Helps(o.Fix)
			if good {
				goods++
			}
			ch.traits, ch.worth, ch.good = append(ch.traits, ts), append(ch.worth, math.Log(max(o.Worth, 1e-4))), append(ch.good, good)
		}
		if goods > 0 && goods < len(ch.good) {
			out = append(out, ch)
		}
	}
	return out
}

// fitFixes fits a conditional logit: the probability that the offer that comes
// first is a good one.
func fitFixes(cases []observed, index map[trait]int, lambda, worth float64) []float64 {
	all := choices(cases, index)
	return minimum(len(index), func(w, slope []float64) float64 {
		loss := 0.0
		for i, v := range w {
			loss += lambda * v * v / 2
			slope[i] = lambda * v
		}
		for _, ch := range all {
			p := make([]float64, len(ch.good))
			for j := range p {
				p[j] = worth * ch.worth[j]
				for _, t := range ch.traits[j] {
					p[j] += w[t]
				}
			}
			total, right := normal(p), 0.0
			for j := range p {
				p[j] = math.Exp(p[j] - total)
				if ch.good[j] {
					right += p[j]
				}
			}
			loss -= ch.weight * math.Log(right)
			for j, v := range p {
				pull := v
				if ch.good[j] {
					pull -= v / right
				}
				for _, t := range ch.traits[j] {
					slope[t] += ch.weight * pull
				}
			}
		}
		return loss
	})
}

// ranks is a ranking of the offers of a case, the best first.
func ranks(x *observed, index map[trait]int, w []float64, worth float64) []string {
	type scored struct {
		fix   string
		score float64
	}
	var out []scored
	for _, o := range x.Offers {
		s := worth * math.Log(max(o.Worth, 1e-4))
		for _, f := range x.Situation {
			if n, ok := index[trait{o.As, f}]; ok && w != nil {
				s += w[n]
			}
		}
		out = append(out, scored{o.Fix, s})
	}
	slices.SortFunc(out, func(a, b scored) int {
		if a.score != b.score {
			if a.score > b.score {
				return -1
			}
			return 1
		}
		return strings.Compare(a.fix, b.fix)
	})
	var fixes []string
	for _, s := range out {
		fixes = append(fixes, s.fix)
	}
	return fixes
}

// fixResult counts rankings that are right.
type fixResult struct {
	n, first, three, warned, clean int
}

func (r *fixResult) add(x *observed, ranked []string) {
	if len(ranked) == 0 || len(x.Good)+len(x.Worked) == 0 {
		return
	}
	r.n++
	top := ranked[:min(3, len(ranked))]
	if x.Helps(top[0]) {
		r.first++
	}
	if slices.ContainsFunc(top, x.Helps) {
		r.three++
	}
	if len(x.Bad) > 0 {
		r.warned++
		if !slices.ContainsFunc(top, func(f string) bool { return slices.Contains(x.Bad, f) }) {
			r.clean++
		}
	}
}

// What is tried.
var (
	fixLambdas = []float64{1, 2, 4}
	worths     = []float64{6, 8} // less would turn the order of a card's cures around for too little
)

// chooseFixes returns the settings by which the first fix is right most often
// on cases of repositories that were left out.
func chooseFixes(cases []observed, index map[trait]int) (lambda, worth float64, said [][]string) {
	best := math.Inf(-1)
	for _, l := range fixLambdas {
		for _, v := range worths {
			ranked := make([][]string, len(cases))
			for fold := range folds {
				var others []observed
				for _, x := range cases {
					if x.fold != fold {
						others = append(others, x)
					}
				}
				w := fitFixes(others, index, l, v)
				for i := range cases {
					if cases[i].fold == fold {
						ranked[i] = ranks(&cases[i], index, w, v)
					}
				}
			}
			var seen, unseen fixResult
			for i := range cases {
				if cases[i].unseen {
					unseen.add(&cases[i], ranked[i])
				} else {
					seen.add(&cases[i], ranked[i])
				}
			}
			score := honest*unseen.share() + (1-honest)*seen.share()
			if score > best {
				lambda, worth, said, best = l, v, ranked, score
			}
		}
	}
	return lambda, worth, said
}

// share is how good the rankings are: the first fix counts for most.
func (r *fixResult) share() float64 {
	if r.n == 0 {
		return 0
	}
	return (float64(r.first)+float64(r.three)/2)/float64(r.n) + float64(r.clean)/float64(2*max(r.warned, 1))
}

func reportFixes(w io.Writer, title string, cases []observed, ranked [][]string) {
	sets := map[string]*fixResult{}
	order := bySet(cases, func(name string, i int) {
		if sets[name] == nil {
			sets[name] = &fixResult{}
		}
		sets[name].add(&cases[i], ranked[i])
	})
	fmt.Fprintln(w, title)
	for _, name := range order {
		r := sets[name]
		of := func(n, all int) float64 { return 100 * float64(n) / float64(max(all, 1)) }
		fmt.Fprintf(w, "  %-28s %4d cases: the first fix right %.1f %%, one of three %.1f %%, none of three misleading %.1f %%\n", name[strings.LastIndexByte(name, '/')+1:], r.n, of(r.first, r.n), of(r.three, r.n), of(r.clean, r.warned))
	}
}

// fixTable writes the weights as rules/odds reads them.
func fixTable(worth float64, names []trait, w []float64) string {
	var b strings.Builder
	b.WriteString("# Which fix is right in which situation: hundredths that each feature adds to\n# the log-odds of a fix. Written by internal/learn; see docs/confidence.md.\n")
	fmt.Fprintf(&b, "blend\tworth\t-\t%d\n# fix\tgroup\tvalue\tadds\n", int(math.Round(100*worth)))
	for i, t := range names {
		if n := int(math.Round(100 * w[i])); n >= negligible || n <= -negligible {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%d\n", t.fix, t.Group, t.Value, n)
		}
	}
	return b.String()
}
