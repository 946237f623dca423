package rules_test

import (
	"embed"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

//go:embed testdata/cards/*.txtar
var cardFiles embed.FS

// cardLogs are the logs of testdata/cards: for each card one that meets it
// ("ID meets") and one that nearly does ("ID near").
func cardLogs(t *testing.T) map[string]string {
	t.Helper()
	files, err := fs.Glob(cardFiles, "testdata/cards/*.txtar")
	require.NoError(t, err)
	out := map[string]string{}
	for _, path := range files {
		raw, err := cardFiles.ReadFile(path)
		require.NoError(t, err)
		for _, f := range txtar.Parse(raw).Files {
			require.Empty(t, out[f.Name], "%q is twice in testdata/cards, again in %s", f.Name, path)
			out[f.Name] = string(f.Data)
		}
	}
	return out
}

// TestKitCards: a card speaks on the log that meets it and not on the one that
// nearly does; what it says has sources, cures and a cause that exist.
func TestKitCards(t *testing.T) {
	logs, ids := cardLogs(t), map[string]bool{}
	for _, p := range rules.Programs() {
		for _, k := range p.Cards {
			t.Run(k.ID, func(t *testing.T) {
				assert.False(t, ids[k.ID], "two cards of this name")
				ids[k.ID] = true
				assertCard(t, k)
				for _, log := range []string{k.ID + " meets", k.ID + " near"} {
					require.NotEmpty(t, logs[log], "no log %q in testdata/cards", log)
				}
				met := causesOf(logs[k.ID+" meets"])
				assert.NotEmpty(t, met, "no failure on the log that meets it")
				if k.Weight >= cause.Sure || k.Cause == "" || len(met) > 0 && met[0].ID == k.Cause {
					assert.Equal(t, k.ID, spoken(met), "on the log that meets it")
				}
				assert.NotEqual(t, k.ID, spoken(causesOf(logs[k.ID+" near"])), "on the log that nearly does")
				delete(logs, k.ID+" meets")
				delete(logs, k.ID+" near")
			})
		}
	}
	for name := range logs {
		t.Errorf("testdata/cards: no card for %s", name)
	}
}

func assertCard(t *testing.T, k cause.Card) {
	t.Helper()
	assert.NotEmpty(t, k.Sources, "no source")
	assert.NotEmpty(t, k.Cures, "no cure")
	if k.Cause == "" {
		assert.Zero(t, k.Weight, "a weight without a cause")
	} else {
		assert.Positive(t, k.Weight, "a cause without a level")
	}
	assert.True(t, k.Kinds != nil || k.Said != nil || k.If != nil, "no condition")
	assert.Regexp(t, `[.?}](\]\])?$`, k.Means, "no sentence")
	known := k.Cause == ""
	for _, r := range cause.All() {
		known = known || r.ID == k.Cause
	}
	assert.True(t, known, "no cause %s", k.Cause)
	for _, cure := range k.Cures {
		assert.Contains(t, fix.FixesByID(), cure.Fix)
	}
}

// causesOf are the causes of a log's first failure.
func causesOf(log string) []diagnose.Cause {
	r := diagnose.Bytes([]byte(log))
	if len(r.Incidents) == 0 {
		return nil
	}
	return r.Incidents[0].Causes
}

// spoken is the card that speaks, "" for none.
func spoken(causes []diagnose.Cause) string {
	if len(causes) == 0 {
		return ""
	}
	return causes[0].Card
}
