// Command reliability prints how good diagnoses of labelled logs are, and how
// often causes given a confidence are right: the labelled cause, and beside it
// how often the cause can be defended.
//
//	go run ./internal/workshop/reliability DIR...
//
// Each DIR holds labelled logs at any depth, see package labelled.
package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/workshop/labelled"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: reliability DIR...")
		os.Exit(2)
	}
	for _, dir := range os.Args[1:] {
		cases, err := labelled.Read(os.DirFS(dir))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		fmt.Println(dir)
		measure(cases).print()
	}
}

// bin gathers the cases whose first cause has a confidence within a tenth.
type bin struct {
	cases      int
	right      int // the labelled cause
	defensible int // that one or an accepted one
	confidence float64
}

// tally is what was found of a set of cases.
type tally struct {
	bins            [10]bin
	loss            float64 // -log of the labelled cause's confidence, summed
	fixed           int     // cases with labelled fixes
	first, ofThree  int     // of those, right fixes
	misled, warning int     // of those with misleading fixes, none among the first three
}

// least is what a cause is taken to have that a report does not name.
const least = 0.005

func measure(cases []labelled.Case) *tally {
	t := &tally{}
	for _, x := range cases {
		if !x.Judged() {
			continue
		}
		r := diagnose.Bytes(x.Log)
		if !r.OOM {
			continue
		}
		in := r.Incidents[0]
		t.cause(in.Causes, x.Label)
		t.fixes(in.Fixes, x.Label)
	}
	return t
}

func (t *tally) cause(causes []diagnose.Cause, l labelled.Label) {
	first := causes[0]
	b := &t.bins[min(int(first.Confidence*10), 9)]
	b.cases++
	b.confidence += first.Confidence
	if first.ID == l.Cause {
		b.right++
	}
	if l.Accepts(first.ID) {
		b.defensible++
	}
	said := least
	for _, x := range causes {
		if x.ID == l.Cause {
			said = max(said, x.Confidence)
		}
	}
	t.loss -= math.Log(said)
}

func (t *tally) fixes(fixes []diagnose.Fix, l labelled.Label) {
	helps, misleads := false, false
	for i, x := range fixes[:min(3, len(fixes))] {
		if l.Helps(x.ID) {
			helps = true
			if i == 0 {
				t.first++
			}
		}
		for _, bad := range l.Bad {
			misleads = misleads || bad == x.ID
		}
	}
	if len(l.Good)+len(l.Worked) > 0 {
		t.fixed++
		if helps {
			t.ofThree++
		}
	}
	if len(l.Bad) > 0 {
		t.warning++
		if !misleads {
			t.misled++
		}
	}
}

func (t *tally) print() {
	fmt.Println("confidence   cases   said   right     gap   defensible")
	total, right, defensible, gap := 0, 0, 0, 0.0
	for i, b := range t.bins {
		if b.cases == 0 {
			continue
		}
		said, share := b.confidence/float64(b.cases), float64(b.right)/float64(b.cases)
		fmt.Printf("%.1f to %.1f   %5d   %.2f    %.2f   %+.2f         %.2f\n", float64(i)/10, float64(i+1)/10, b.cases, said, share, share-said, float64(b.defensible)/float64(b.cases))
		total += b.cases
		right += b.right
		defensible += b.defensible
		gap += float64(b.cases) * math.Abs(share-said)
	}
	of := func(n, all int) float64 { return 100 * float64(n) / float64(max(all, 1)) }
	fmt.Printf("%d cases: mean gap %.1f points (exact confidences would show %.1f), log loss %.3f; the labelled cause first %.1f %%, a defensible one %.1f %%\n", total, 100*gap/float64(max(total, 1)), 100*t.byChance()/float64(max(total, 1)), t.loss/float64(max(total, 1)), of(right, total), of(defensible, total))
	fmt.Printf("right fixes: first %.1f %%, among three %.1f %%; none of three misleads %.1f %%\n\n", of(t.first, t.fixed), of(t.ofThree, t.fixed), of(t.misled, t.warning))
}

// byChance is the gap, in cases, that these confidences would show on average if
// each were exactly right: with few cases in a tenth chance alone makes one.
func (t *tally) byChance() float64 {
	const draws = 2000
	r := rand.New(rand.NewPCG(1, 2)) // the same figures each time
	sum := 0.0
	for range draws {
		for _, b := range t.bins {
			right := 0
			for range b.cases {
				if r.Float64() < b.confidence/float64(b.cases) {
					right++
				}
			}
			sum += math.Abs(float64(right) - b.confidence)
		}
	}
	return sum / draws
}
