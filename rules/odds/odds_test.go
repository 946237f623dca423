package odds

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// says is a clue of a level.
func says(level cause.Level) cause.Clue {
	return cause.Clue{Look: func(*ledger.Case) cause.Finding { return cause.Seen(level, "It says so.", 1) }}
}

func empty() *ledger.Case {
	return &ledger.Case{Facts: &fact.Facts{}, Failure: fact.Failure{Kind: "kind_of_no_log", Line: 1}}
}

func TestEvidence(t *testing.T) {
	at := func(id string, h *Heard) float64 {
		for i, x := range IDs() {
			if x == id {
				return h.Evidence[i]
			}
		}
		t.Fatalf("no cause %s", id)
		return 0
	}
	clues := map[string][]cause.Clue{
		cause.BatchTooLarge:  {says(cause.Likely)},
		cause.ContextTooLong: {says(cause.Fair), says(cause.None), says(cause.Likely), says(cause.Fair)},
		cause.HostMemory:     {says(cause.Strong)},
	}
	h := hear(empty(), Sorted(clues), &deck{})
	assert.Zero(t, at(cause.ModelTooLarge, h))
	assert.Equal(t, cause.Likely.LogOdds(), at(cause.BatchTooLarge, h))
	assert.Greater(t, at(cause.ContextTooLong, h), at(cause.BatchTooLarge, h), "more evidence is more")
	assert.Less(t, at(cause.ContextTooLong, h), at(cause.HostMemory, h), "and what is said again adds little")
}

func TestCardThatIsSure(t *testing.T) {
	card := &cause.Card{ID: "x/y", Cause: cause.SoftwareBug, Weight: cause.Strong, Means: "A bug."}
	clues := map[string][]cause.Clue{cause.BatchTooLarge: {says(cause.Decisive)}}
	first := Judge(empty(), Sorted(clues), []*cause.Card{card})[0]
	assert.Equal(t, cause.SoftwareBug, first.ID)
	assert.Equal(t, "A bug.", first.Why)

	unsure := &cause.Card{ID: "x/z", Cause: cause.SoftwareBug, Weight: cause.Likely, Means: "A bug."}
	assert.Equal(t, cause.BatchTooLarge, Judge(empty(), Sorted(clues), []*cause.Card{unsure})[0].ID)

	stated := map[string][]cause.Clue{cause.HostMemory: {says(cause.Stated)}}
	assert.Equal(t, cause.HostMemory, Judge(empty(), Sorted(stated), []*cause.Card{card})[0].ID, "what the log prints outranks a card")
}

// TestNothingSaid: without any clue causes are still named, and what is likely
// says that no line shows it.
func TestNothingSaid(t *testing.T) {
	causes := Judge(empty(), Sorted(nil), nil)
	require.NotEmpty(t, causes)
	sum := 0.0
	for _, c := range causes {
		assert.NotEmpty(t, c.Why)
		sum += c.Confidence
	}
	assert.LessOrEqual(t, sum, 1.0)
}

// TestTables: what is embedded can be read, names causes and fixes of this
// version, and is small.
func TestTables(t *testing.T) {
	require.Len(t, cause.All(), Causes)
	table, err := ParseTable(causesFile)
	require.NoError(t, err)
	assert.Contains(t, causesFile, "# group\tvalue\t"+strings.Join(IDs(), "\t")+"\n", "another order of causes: learn anew")
	assert.Positive(t, table.Hand)
	assert.Positive(t, table.Temperature)
	_, err = ParseRanking(fixesFile)
	require.NoError(t, err)
	assert.Less(t, len(causesFile)+len(fixesFile), 100_000)
}

func TestTablesThatAreNone(t *testing.T) {
	for _, text := range []string{"kind\tx\t1\t2", "blend\thand\tx", "kind\tx\t" + strings.Repeat("1\t", Causes) + "1"} {
		_, err := ParseTable(text)
		assert.Error(t, err, text)
	}
	for _, text := range []string{"lower_batch_size\tcause\tx", "lower_batch_size\tcause\tx\ty"} {
		_, err := ParseRanking(text)
		assert.Error(t, err, text)
	}
}

func TestRanking(t *testing.T) {
	r, err := ParseRanking("# no line\nblend\tworth\t-\t200\nadd_swap\twork\tdata\t50\n")
	require.NoError(t, err)
	situation := []Feature{{"work", "data"}, {"phase", "load"}}
	assert.InDelta(t, 2*math.Log(0.5)+0.5, r.Of(Offer{"add_swap", "add_swap", 0.5}, situation), 1e-9)
	assert.InDelta(t, 2*math.Log(0.5), r.Of(Offer{"use_mmap", "use_mmap", 0.5}, situation), 1e-9)
	assert.InDelta(t, 2*math.Log(0.5)+0.5, r.Of(Offer{"use_mmap", "add_swap", 0.5}, situation), 1e-9, "a later cure of one plan")
	assert.False(t, math.IsInf(r.Of(Offer{"use_mmap", "use_mmap", 0}, situation), 0))
}

// TestRatios: amounts count as shares, and what is not known says nothing.
func TestRatios(t *testing.T) {
	c := empty()
	c.Total, c.Free = ledger.Entry{Bytes: 100, From: []string{"total"}}, ledger.Entry{Bytes: 30, From: []string{"free"}}
	seen := Observe(c)
	assert.Contains(t, seen, Feature{"free/total", "25"})
	assert.NotContains(t, seen, Feature{"free/total", "50"})
	assert.NotContains(t, seen, Feature{"mine/total", "known"})
}

func BenchmarkJudge(b *testing.B) {
	c := empty()
	c.Framework, c.Backend, c.Phase, c.Failure.Kind = "pytorch", "cuda", "training", fact.TorchAlloc
	for range 20 {
		c.Facts.Code = append(c.Facts.Code, fact.Code{File: "/home/x/train/run_model.py", Function: "train_one_epoch", Line: 1})
	}
	clues := map[string][]cause.Clue{cause.BatchTooLarge: {says(cause.Decisive)}}
	sorted := Sorted(clues)
	for b.Loop() {
		Judge(c, sorted, nil)
	}
}
