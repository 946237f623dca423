package diagnose

import (
	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// addRepeats adds messages that a scan only counted to the incidents that they
// repeat. It returns how many found none.
func addRepeats(groups []failureGroup, repeats []scan.Repeat) int {
	homeless := 0
	for _, r := range repeats {
		facts := reader().Parse(text.NewLog(clean.Lines(valid(r.Text), r.Line)))
		for _, x := range facts.Failures {
			if x.Wrapper {
				continue
			}
			if g := repeated(groups, x); g == nil {
				homeless += r.Count
			} else if x.Kind == g.root.Kind {
				g.count += r.Count
			}
			break // one line is one statement
		}
	}
	return homeless
}

// repeated finds the incident of which a statement is a repeat.
func repeated(groups []failureGroup, x fact.Failure) *failureGroup {
	for i := range groups {
		for k := range groups[i].chain {
			if y := &groups[i].chain[k]; y.Kind == x.Kind && sameFigures(y, &x) {
				return &groups[i]
			}
		}
	}
	return nil
}
