package diagnose_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/rules"
)

var keywordEvery = flag.Int("keyword-every", 200, "TestKeywordsAreCheap tries every so many keywords, and those that were slow once; 1 tries all")

// cheap is how long a log of a megabyte may take, whatever it holds.
const cheap = time.Second

// megabyte is how long the logs of this file are.
const megabyte = 1 << 20

// slowOnce are keywords for which something was done again and again that grew
// with the log: a search of all of it, of its long line, of all failures.
var slowOnce = []string{
	"gpulayers=", "vllm serve", "msg=offload", "cuda ooms: 0", "cuda ooms: 1", "rc=137", "exit code 137", "text-generation-launcher --", `"reason" : "per-process-limit"`,
	"out of memory while trying to allocate", "ur_result_error_out_of", "ran out of memory when regular vae", "memory users:", "from device: resource_exhausted",
}

// separators stand between keywords: with a number behind them more of them are
// messages.
var separators = []string{" ", " 1 ", ": 1.00 GiB, ", "\n", " 1\n"}

// TestKeywordsAreCheap: a keyword again and again, in one line of a megabyte and
// in lines of its own, costs time in proportion.
func TestKeywordsAreCheap(t *testing.T) {
	all := parsers.New(rules.Proofs(), rules.Words()).Keywords()
	t.Cleanup(func() { t.Logf("%d keywords; the slowest took %v: %s", len(all), slowest.took, slowest.name) })
	shards := runtime.GOMAXPROCS(0)
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < len(all); i += shards {
				slow := slices.Contains(slowOnce, all[i].Text)
				if slow || i%*keywordEvery == 0 {
					tryKeyword(t, all[i].Text, i, slow)
				}
			}
		})
	}
}

// tryKeyword repeats a keyword behind a separator that depends on its number, or
// behind several.
func tryKeyword(t *testing.T, word string, number int, several bool) {
	t.Helper()
	for n, separator := range separators {
		if n == number%len(separators) || several && n < 3 {
			assertCheap(t, fmt.Sprintf("%q", word+separator), repeatedTo(megabyte, word+separator))
		}
	}
	if *keywordEvery == 1 {
		assertCheap(t, fmt.Sprintf("20,000 lines of %q", word), strings.Repeat(word+strings.Repeat(" step", 8)+"\n", 20_000))
	}
}

// TestKeywordsThatMeet: two keywords in turn, and all of them in a heap.
func TestKeywordsThatMeet(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pick := picker(r)
	for range 4000 / *keywordEvery {
		pair := pick(true) + separators[r.IntN(len(separators))] + pick(false) + separators[r.IntN(len(separators))]
		assertCheap(t, fmt.Sprintf("%q", pair), repeatedTo(megabyte, pair))
	}
	for _, failures := range []bool{true, false} {
		// Here every message there is stands a dozen times, each to be read.
		assertTakes(t, fmt.Sprintf("a heap, failures only: %v", failures), heap(r, failures), 4*cheap)
	}
}

// picker draws keywords.
func picker(r *rand.Rand) func(failures bool) string {
	all := parsers.New(rules.Proofs(), rules.Words()).Keywords()
	return func(failures bool) string {
		for {
			if k := all[r.IntN(len(all))]; k.Failure || !failures {
				return k.Text
			}
		}
	}
}

// heap is a log of all keywords in no order.
func heap(r *rand.Rand, failures bool) string {
	pick, separator := picker(r), separators[r.IntN(len(separators))]
	var b strings.Builder
	for b.Len() < megabyte {
		b.WriteString(pick(failures) + separator)
	}
	return b.String()
}

func repeatedTo(size int, text string) string { return strings.Repeat(text, size/len(text)+1) }

func assertCheap(t *testing.T, name, log string) {
	t.Helper()
	assertTakes(t, name, log, cheap)
}

func assertTakes(t *testing.T, name, log string, limit time.Duration) {
	t.Helper()
	took := cputime.Least(limit, func() { diagnose.Bytes([]byte(log)) })
	assert.Less(t, took, limit, name)
	slowest.note(took, name)
}

// slowest is the log that took longest; -v shows it.
var slowest record

type record struct {
	sync.Mutex
	took time.Duration
	name string
}

func (r *record) note(took time.Duration, name string) {
	r.Lock()
	defer r.Unlock()
	if took > r.took {
		r.took, r.name = took, name
	}
}
