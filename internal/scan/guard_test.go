package scan_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/rules"
)

// TestSearchKeepsItsSpeed guards against a slower search by a ratio, for times
// say little on a busy machine: all keywords of the program against the count
// of line breaks in the same text, which the library does with vector
// instructions. It is about 6 where this was written.
func TestSearchKeepsItsSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	line := "(APIServer pid=1) INFO 03-01 08:00:00 [loggers.py:127] Engine 000: Avg prompt throughput: 812.3 tokens/s, Running: 31 reqs, GPU KV cache usage: 12.3%\n"
	raw := bytes.Repeat([]byte(line), 16<<20/len(line))
	text, search := string(raw), parsers.New(rules.Proofs(), rules.Words()).ScanWords().Search
	newlines := fastest(func() { bytes.Count(raw, []byte{'\n'}) })
	took := fastest(func() { search.All(text) })
	t.Logf("%.1f times as long as counting lines", float64(took)/float64(newlines))
	assert.Less(t, float64(took)/float64(newlines), 60.0)
}

func fastest(f func()) time.Duration {
	best := time.Hour
	for range 7 {
		best = min(best, cputime.Of(f))
	}
	return best
}
