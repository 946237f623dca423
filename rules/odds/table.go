package odds

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Table is what was learned from labelled logs: what each feature adds to the
// log-odds of each cause. Its file is written by internal/learn.
type Table struct {
	// Hand is how much clues and cards count beside it, Temperature how much less
	// sure the sum is than it looks.
	Hand, Temperature float64
	rows              map[Feature]*[Causes]float64
}

//go:embed causes.tsv
var causesFile string

// learned is the table of this version.
var learned = sync.OnceValue(func() *Table {
	t, err := ParseTable(causesFile)
	if err != nil {
		panic(err) // a test reads it
	}
	return t
})

// ParseTable reads a table: lines of a group, a value and a number for each
// cause in hundredths, parted by tabs. A line of "#" is a comment.
func ParseTable(text string) (*Table, error) {
	t := &Table{Hand: 1, Temperature: 1, rows: map[Feature]*[Causes]float64{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		group, rest, _ := strings.Cut(line, "\t")
		value, rest, _ := strings.Cut(rest, "\t")
		var numbers [Causes]float64
		n := 0
		for field := range strings.SplitSeq(rest, "\t") {
			v, err := strconv.Atoi(field)
			if err != nil || n == Causes {
				return nil, fmt.Errorf("the line of %s %s has no %d numbers", group, value, Causes)
			}
			numbers[n] = float64(v) / 100
			n++
		}
		switch {
		case group == "blend" && value == "hand" && n == 1:
			t.Hand = numbers[0]
		case group == "blend" && value == "temperature" && n == 1:
			t.Temperature = numbers[0]
		case n == Causes:
			t.rows[Feature{group, value}] = &numbers
		default:
			return nil, fmt.Errorf("the line of %s %s has %d numbers, not %d", group, value, n, Causes)
		}
	}
	return t, nil
}
