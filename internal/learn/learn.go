package main

import (
	"hash/fnv"
	"math"
	"slices"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/workshop/labelled"
	"github.com/oomdoc/oomdoc/rules/odds"
)

// observed is a labelled case with what was heard of it.
type observed struct {
	labelled.Case
	*odds.Heard
	unseen bool // by those who wrote the rules
	own    bool // written for this project's tests, which hold what is said of it
	// group is what comes from one repository, and fold what is left out with it.
	group string
	fold  int
	set   string
}

// folds is how many parts the repositories are dealt out to.
const folds = 8

// observe reads the cases of a set.
func observe(set, list string, cases []labelled.Case) []observed {
	var out []observed
	for _, x := range cases {
		if !x.Judged() || !slices.Contains(odds.IDs(), x.Cause) {
			continue
		}
		r := diagnose.Bytes(x.Log)
		if !r.OOM {
			continue
		}
		group := x.Group()
		if group == "" {
			group = set + "/" + x.Name
		}
		h := fnv.New32a()
		h.Write([]byte(group))
		out = append(out, observed{Case: x, Heard: r.Incidents[0].Causes[0].Heard, unseen: list == "-unseen", own: list == "-own", group: group, fold: int(h.Sum32() % folds), set: set})
	}
	return out
}

// vocabulary numbers the features that occur in several repositories.
func vocabulary(cases []observed) ([]odds.Feature, map[odds.Feature]int) {
	groups := map[odds.Feature]map[string]bool{}
	for _, x := range cases {
		for _, f := range x.Features {
			if groups[f] == nil {
				groups[f] = map[string]bool{}
			}
			groups[f][x.group] = true
		}
	}
	var names []odds.Feature
	for f, seen := range groups {
		if len(seen) >= commonness && f.Value != "" || f.Group == "all" {
			names = append(names, f)
		}
	}
	slices.SortFunc(names, func(a, b odds.Feature) int {
		return slices.Compare([]string{a.Group, a.Value}, []string{b.Group, b.Value})
	})
	index := map[odds.Feature]int{}
	for i, f := range names {
		index[f] = i
	}
	return names, index
}

// commonness is in how many repositories a feature must occur.
const commonness = 3

// sure is how much of a case the labelled cause has; the accepted ones share the
// rest.
const sure = 0.8

func (x *observed) target() []float64 {
	ids := odds.IDs()
	out := make([]float64, len(ids))
	var others []int
	for i, id := range ids {
		if id != x.Cause && slices.Contains(x.Accept, id) {
			others = append(others, i)
		}
	}
	out[slices.Index(ids, x.Cause)] = 1
	if len(others) > 0 {
		out[slices.Index(ids, x.Cause)] = sure
		for _, i := range others {
			out[i] = (1 - sure) / float64(len(others))
		}
	}
	return out
}

// counted is how often a case counts in a fit that nobody had seen who wrote the
// rules: there clues say what they are worth.
const counted = 2

// counts is how often the case counts in a fit.
func (x *observed) counts() float64 {
	switch {
	case x.unseen:
		return counted
	case x.own:
		return own
	}
	return 1
}

const own = 1.5

// fitOn fits the features to cases, beside a part of what clues and cards say.
func fitOn(cases []observed, index map[odds.Feature]int, s settings) []float64 {
	r := ridge{features: len(index), classes: odds.Causes, lambda: s.lambda}
	for _, x := range cases {
		e := example{target: x.target(), offset: make([]float64, odds.Causes)}
		e.weight = x.counts()
		for i, v := range x.Evidence {
			e.offset[i] = s.beside * v
		}
		for _, f := range x.Features {
			if i, ok := index[f]; ok {
				e.features = append(e.features, i)
			}
		}
		r.examples = append(r.examples, e)
	}
	return r.fit()
}

// scores are the fitted parts of the log-odds of a case.
func scores(x *observed, index map[odds.Feature]int, w []float64) [odds.Causes]float64 {
	var out [odds.Causes]float64
	for _, f := range x.Features {
		if i, ok := index[f]; ok {
			for k := range out {
				out[k] += w[i*odds.Causes+k]
			}
		}
	}
	return out
}

// result is how good probabilities are.
type result struct {
	n, right, defensible int
	loss, gap            float64
	bins                 [10]struct{ n, right, said float64 }
}

func (r *result) add(x *observed, p [odds.Causes]float64) {
	ids := odds.IDs()
	best := 0
	for i := range p {
		if p[i] > p[best] {
			best = i
		}
	}
	r.n++
	b := &r.bins[min(int(p[best]*10), 9)]
	b.n++
	b.said += p[best]
	if ids[best] == x.Cause {
		r.right++
		b.right++
	}
	if x.Accepts(ids[best]) {
		r.defensible++
	}
	r.loss -= math.Log(max(p[slices.Index(ids, x.Cause)], 0.005))
}

func (r *result) done() {
	for _, b := range r.bins {
		r.gap += math.Abs(b.said - b.right)
	}
	r.gap /= float64(max(r.n, 1))
	r.loss /= float64(max(r.n, 1))
}
