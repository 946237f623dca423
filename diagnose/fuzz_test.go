package diagnose_test

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// FuzzRead feeds anything to the whole: no panic, and a report that keeps its
// promises.
func FuzzRead(f *testing.F) {
	for _, path := range glob(f, "../testdata/logs/*/*.log") {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("CUDA out of memory. Tried to allocate 1e400 GiB (GPU 99999999999; -1.00 GiB total capacity; 17179869184.00 GiB free)"))
	f.Add([]byte("\xff\xfeC\x00U\x00D\x00A\x00 \x00"))
	f.Fuzz(func(t *testing.T, raw []byte) { checkReport(t, raw) })
}

// TestSpliced does what a byte-wise fuzzer seldom finds: logs cut into one
// another, with characters that break cutting, folding and JSON.
func TestSpliced(t *testing.T) {
	var logs [][]byte
	for _, path := range glob(t, "../testdata/logs/*/*.log") {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		if len(raw) < 6000 {
			logs = append(logs, raw)
		}
	}
	chance := rand.New(rand.NewPCG(1, *spliceSeed))
	for range *splices {
		raw := splice(chance, logs)
		if !checkReport(t, raw) {
			t.Fatalf("%q", raw)
		}
	}
}

var (
	splices    = flag.Int("splices", 3000, "how many spliced logs TestSpliced reads")
	spliceSeed = flag.Uint64("splice-seed", 1, "which ones")
)

var awkward = []string{
	"\xff", "\xc3", "\xe2\x80", "\x80", "\xed\xa0\x80", "é", "İ", "\u212a", "𝔸", "\u2028", "\ufffd", "\u200b", "\u202e",
	"\x00", "\x1b[31m", "\n", "\r", " ", `"`, `\`, `\ud800`, "'", "`", "&#55296;", "&#0;", "0", "9", "-", ".", ",", "=", "/", "e400", "nan", "999999999999999999999",
}

// splice makes one to eight changes to one of the logs.
func splice(chance *rand.Rand, logs [][]byte) []byte {
	pick := func() []byte { return logs[chance.IntN(len(logs))] }
	raw := slices.Clone(pick())
	for range 1 + chance.IntN(8) {
		at := chance.IntN(len(raw) + 1)
		end := min(len(raw), at+chance.IntN(60))
		switch chance.IntN(4) {
		case 0:
			end = at
			fallthrough
		case 1:
			raw = slices.Replace(raw, at, end, []byte(awkward[chance.IntN(len(awkward))])...)
		case 2:
			other := pick()
			from := chance.IntN(len(other))
			raw = slices.Insert(raw, at, other[from:min(len(other), from+chance.IntN(200))]...)
		case 3:
			raw = slices.Delete(raw, at, end)
		}
	}
	return raw
}

// checkReport holds a report to what every report promises.
func checkReport(t *testing.T, raw []byte) bool {
	t.Helper()
	r := diagnose.Bytes(raw)
	assert.Equal(t, len(r.Incidents) > 0, r.OOM)
	assert.EqualValues(t, len(raw), r.Input.Bytes)
	for _, in := range r.Incidents {
		checkIncident(t, r, in)
	}
	first, err := json.Marshal(r)
	require.NoError(t, err)
	var back diagnose.Report
	require.NoError(t, json.Unmarshal(first, &back))
	second, err := json.Marshal(back)
	require.NoError(t, err)
	// Compared as text: JSONEq would hide a byte that is no UTF-8.
	assert.Equal(t, string(first), string(second), "a report read back is another one")
	return !t.Failed()
}

func checkIncident(t *testing.T, r *diagnose.Report, in diagnose.Incident) {
	t.Helper()
	sum := 0.0
	for _, c := range in.Causes {
		sum += c.Confidence
		assert.NotEmpty(t, c.Why, c.ID)
	}
	assert.NotEmpty(t, in.Causes)
	assert.LessOrEqual(t, sum, 1.05)
	assert.LessOrEqual(t, in.Line, r.Input.Lines)
	for i, fix := range in.Fixes {
		assert.Equal(t, i+1, fix.Rank)
		assert.NotEmpty(t, fix.Steps, fix.ID)
	}
	in.Figures.Sizes(func(key string, s *diagnose.Size) {
		assert.Less(t, s.Bytes, int64(1)<<62, key) // a number that was no size is kept as printed; sums stay in range
		assert.NotEmpty(t, s.Text, key)
	})
}

// TestConcurrentReads: one library, many readers.
func TestConcurrentReads(t *testing.T) {
	raw, err := os.ReadFile("../testdata/logs/pytorch/traceback-3k.log")
	require.NoError(t, err)
	want := diagnose.Bytes(raw)
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() { assert.Equal(t, want, diagnose.Bytes(raw)) })
	}
	group.Wait()
}
