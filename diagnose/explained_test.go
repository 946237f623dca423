package diagnose_test

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// shifts turn a size into another of its order: whatever is then said of it is
// chance.
var shifts = [...]float64{0.871, 0.913, 0.941, 0.967, 1.037, 1.061, 1.093, 1.127}

var numeral = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)

// shifted is a figure that is as round as the one it stands for: as many
// decimals, a multiple of 2 MiB where PyTorch's allocator made it one, and of
// the same power of two where it is exact.
func shifted(s *diagnose.Size, by float64) (text string, ok bool) {
	digits := numeral.FindString(s.Text)
	if digits == "" || strings.Contains(digits, ",") || s.Text[0] == '[' || s.Text[0] == '(' {
		return "", false
	}
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return "", false
	}
	_, decimals, _ := strings.Cut(digits, ".")
	step := math.Pow(10, -float64(len(decimals)))
	switch {
	case decimals == "":
		grain := s.Bytes & -s.Bytes
		step = float64(min(grain, s.Bytes/64)) // rounder, and nothing would be left to shift
	case strings.HasSuffix(digits, ".00") && strings.HasSuffix(s.Text, "MiB"):
		step = 2
	}
	return strings.Replace(s.Text, digits, strconv.FormatFloat(math.Round(value*by/step)*step, 'f', len(decimals), 64), 1), true
}

// matches: the reading rests on the number. What is told by its order alone, and
// the level of a pool, stays true of another number.
func matches(e *diagnose.Explained) bool {
	return e != nil && e.Bytes > 0 && !strings.Contains(e.What, "pool of fixed size")
}

// TestExplainedByChance: hardly anything is said of sizes that are nobody's. It
// guards the bound of rules/explain. Every other shift of a log; with -every 1 all of them.
func TestExplainedByChance(t *testing.T) {
	t.Parallel()
	spoke, said, tried := 0, 0, 0
	for n, log := range glob(t, "../testdata/logs/*/*.log") {
		raw, report := read(t, log)
		for _, in := range report.Incidents {
			size := in.Figures.Requested
			if size == nil {
				continue
			}
			if matches(in.Explained) {
				said++
			}
			for i, by := range shifts {
				if *every != 1 && (n+i)%2 != 0 {
					continue
				}
				text, ok := shifted(size, by)
				if !ok || text == size.Text || !bytes.Contains(raw, []byte(size.Text)) {
					continue
				}
				tried++
				for _, other := range diagnose.Bytes(bytes.ReplaceAll(raw, []byte(size.Text), []byte(text))).Incidents {
					if r := other.Figures.Requested; r != nil && r.Text == text && matches(other.Explained) {
						spoke++
						t.Logf("%s: %s for %s: %s", log, text, size.Text, other.Explained.Sentence)
						break
					}
				}
			}
		}
	}
	t.Logf("%d true, %d of %d shifted", said, spoke, tried)
	require.Greater(t, tried, 200)
	assert.Less(t, float64(spoke)/float64(tried), 0.02)
}
