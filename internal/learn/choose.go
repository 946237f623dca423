package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/odds"
)

// settings are what cross-validation chooses.
type settings struct {
	lambda float64 // how near zero the weights are held
	beside float64 // how much of clues and cards the features are fitted beside
	hand   float64 // how much of them counts in the end
	cool   float64 // the temperature
}

// What is tried.
var (
	lambdas      = []float64{1, 2, 4, 8}
	besides      = []float64{0.3, 0.5, 0.7}
	hands        = []float64{0.6, 0.8, 1, 1.2, 1.6}
	temperatures = []float64{0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.8}
)

// choose returns the settings of least loss on cases of repositories that were
// left out, and what is said of each case then. What nobody had seen who wrote
// the rules counts for most.
func choose(cases []observed, index map[odds.Feature]int) (settings, [][odds.Causes]float64) {
	var best settings
	var said [][odds.Causes]float64
	least := math.Inf(1)
	for _, lambda := range lambdas {
		for _, beside := range besides {
			fitted := crossFit(cases, index, settings{lambda: lambda, beside: beside})
			for _, hand := range hands {
				for _, cool := range temperatures {
					s := settings{lambda, beside, hand, cool}
					p := make([][odds.Causes]float64, len(cases))
					for i := range cases {
						p[i] = s.blend(&cases[i], fitted[i])
					}
					if loss := loss(cases, p); loss < least {
						best, said, least = s, p, loss
					}
				}
			}
		}
	}
	return best, said
}

// blend adds up what was said by hand and what was fitted.
func (s settings) blend(x *observed, fitted [odds.Causes]float64) [odds.Causes]float64 {
	for k := range fitted {
		fitted[k] += s.hand * x.Evidence[k]
	}
	return x.Settled(odds.Softmax(fitted, s.cool))
}

// crossFit is the fitted part of each case by weights of which its repository
// had no part.
func crossFit(cases []observed, index map[odds.Feature]int, s settings) [][odds.Causes]float64 {
	out := make([][odds.Causes]float64, len(cases))
	for fold := range folds {
		var others []observed
		for _, x := range cases {
			if x.fold != fold {
				others = append(others, x)
			}
		}
		w := fitOn(others, index, s)
		for i := range cases {
			if cases[i].fold == fold {
				out[i] = scores(&cases[i], index, w)
			}
		}
	}
	return out
}

// honest is what cases that nobody had seen count for in the choice, beside the
// rest together.
const honest = 0.75

// loss is the mean of -log p of the labelled causes.
func loss(cases []observed, p [][odds.Causes]float64) float64 {
	var seen, unseen result
	for i := range cases {
		if cases[i].unseen {
			unseen.add(&cases[i], p[i])
		} else {
			seen.add(&cases[i], p[i])
		}
	}
	seen.done()
	unseen.done()
	if unseen.n == 0 || seen.n == 0 {
		return seen.loss + unseen.loss
	}
	return honest*unseen.loss + (1-honest)*seen.loss
}

// bySet hands over each case with the sets that it belongs to, and returns the
// sets in the order of their first cases.
func bySet(cases []observed, add func(set string, i int)) []string {
	var order []string
	for i := range cases {
		for _, name := range []string{cases[i].set, unseenSets} {
			if name == unseenSets && !cases[i].unseen {
				continue
			}
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
			add(name, i)
		}
	}
	return order
}

// report prints how good what is said of each set is.
func report(w io.Writer, title string, cases []observed, p [][odds.Causes]float64) {
	sets := map[string]*result{}
	order := bySet(cases, func(name string, i int) {
		if sets[name] == nil {
			sets[name] = &result{}
		}
		sets[name].add(&cases[i], p[i])
	})
	fmt.Fprintln(w, title)
	for _, name := range order {
		r := sets[name]
		r.done()
		of := func(n int) float64 { return 100 * float64(n) / float64(r.n) }
		fmt.Fprintf(w, "  %-28s %4d cases: the labelled cause first %.1f %%, a defensible one %.1f %%, log loss %.3f, mean gap %.1f points\n", name[strings.LastIndexByte(name, '/')+1:], r.n, of(r.right), of(r.defensible), r.loss, 100*r.gap)
	}
}

const unseenSets = "all that were unseen"
