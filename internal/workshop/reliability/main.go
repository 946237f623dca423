// Command reliability prints how often causes given a confidence are right:
// the labelled cause, and beside it how often the cause can be defended.
//
//	go run ./internal/workshop/reliability DIR
//
// DIR holds labelled logs at any depth: NAME.log beside NAME.json with the
// fields oom, cause, accept_causes and arguable.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

type label struct {
	OOM      bool     `json:"oom"`
	Arguable bool     `json:"arguable"`
	Cause    string   `json:"cause"`
	Accept   []string `json:"accept_causes"`
}

// bin gathers the cases whose first cause has a confidence within a tenth.
type bin struct {
	cases      int
	right      int // the labelled cause
	defensible int // that one or an accepted one
	confidence float64
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reliability DIR")
		os.Exit(2)
	}
	bins, err := measure(os.DirFS(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	print(bins)
}

func measure(dir fs.FS) (*[10]bin, error) {
	var bins [10]bin
	return &bins, fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		log, err := fs.ReadFile(dir, strings.TrimSuffix(path, ".json")+".log")
		if err != nil {
			return nil // no case
		}
		raw, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		var l label
		if err := json.Unmarshal(raw, &l); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r := diagnose.Bytes(log)
		if !l.OOM || l.Arguable || l.Cause == "" || !r.OOM {
			return nil
		}
		first := r.Incidents[0].Causes[0]
		b := &bins[min(int(first.Confidence*10), 9)]
		b.cases++
		b.confidence += first.Confidence
		if first.ID == l.Cause {
			b.right++
		}
		if first.ID == l.Cause || slices.Contains(l.Accept, first.ID) {
			b.defensible++
		}
		return nil
	})
}

func print(bins *[10]bin) {
	fmt.Println("confidence   cases   said   right     gap   defensible")
	total, gap := 0, 0.0
	for i, b := range bins {
		if b.cases == 0 {
			continue
		}
		said, right := b.confidence/float64(b.cases), float64(b.right)/float64(b.cases)
		fmt.Printf("%.1f to %.1f   %5d   %.2f    %.2f   %+.2f         %.2f\n", float64(i)/10, float64(i+1)/10, b.cases, said, right, right-said, float64(b.defensible)/float64(b.cases))
		total += b.cases
		gap += float64(b.cases) * math.Abs(right-said)
	}
	fmt.Printf("mean gap %.1f points over %d cases\n", 100*gap/float64(max(total, 1)), total)
}
