package parsers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TestLookalikes: what is taken for a lack of memory gets its own name, and a
// failure beside the same words stays one.
func TestLookalikes(t *testing.T) {
	all, err := txtar.ParseFile("testdata/lookalikes.txtar")
	require.NoError(t, err)
	for _, file := range all.Files {
		t.Run(file.Name, func(t *testing.T) {
			f := parsers.New(nil, nil).Parse(text.NewLog(clean.Lines(string(file.Data), 1)))
			told := ""
			if len(f.Lookalikes) > 0 {
				told = f.Lookalikes[0].ID
				assert.NotEmpty(t, f.Lookalikes[0].Advice)
				assert.NotRegexp(t, `\{[a-z]+\}|\[\[|\]\]`, f.Lookalikes[0].Title+f.Lookalikes[0].Advice, "figures")
			}
			name, fails := strings.CutPrefix(file.Name, "failure ")
			id, _, _ := strings.Cut(name, " ")
			assert.Equal(t, fails, len(f.Failures) > 0, "a failure")
			if fails {
				assert.NotEqual(t, id, told)
			} else {
				assert.Equal(t, id, told)
			}
		})
	}
}
