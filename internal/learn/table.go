package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/oomdoc/oomdoc/rules/odds"
)

// negligible is a weight, in hundredths, that is not worth a line.
const negligible = 5

// table writes the weights as rules/odds reads them.
func table(s settings, names []odds.Feature, w []float64) string {
	var b strings.Builder
	b.WriteString("# What logs like this one had: hundredths that each feature adds to the log-odds\n# of each cause. Written by internal/learn; see docs/confidence.md.\n")
	hundredths := func(v float64) int { return int(math.Round(100 * v)) }
	fmt.Fprintf(&b, "blend\thand\t%d\nblend\ttemperature\t%d\n", hundredths(s.hand), hundredths(s.cool))
	fmt.Fprintf(&b, "# group\tvalue\t%s\n", strings.Join(odds.IDs(), "\t"))
	for i, f := range names {
		worth := false
		var line strings.Builder
		fmt.Fprintf(&line, "%s\t%s", f.Group, f.Value)
		for _, v := range w[i*odds.Causes : (i+1)*odds.Causes] {
			n := hundredths(v)
			worth = worth || n >= negligible || n <= -negligible
			fmt.Fprintf(&line, "\t%d", n)
		}
		if worth {
			b.WriteString(line.String() + "\n")
		}
	}
	return b.String()
}
