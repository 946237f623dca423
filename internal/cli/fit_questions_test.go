package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/fit"
)

// Questions as people type them are answered, or asked back: a guess says that
// it is one, and what is asked back ends with status 2 on one line.
func TestFitQuestions(t *testing.T) {
	b, err := os.ReadFile("../../fit/testdata/questions.tsv")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
	require.GreaterOrEqual(t, len(lines), 40)
	for _, line := range lines {
		f := strings.Split(line, "\t")
		require.Len(t, f, 3, line)
		out, err := fitRun(append(shellWords(f[0]), "--json")...)
		if f[1] == "ask" {
			require.Error(t, err, line)
			assert.Empty(t, out, line)
			assert.NotContains(t, err.Error(), "\n")
			assert.Contains(t, err.Error(), f[2], line)
			continue
		}
		if !assert.NoError(t, err, line) {
			continue
		}
		var p fit.Plan
		require.NoError(t, json.Unmarshal([]byte(out), &p), line)
		best := p.Rows[max(0, p.Recommended)]
		assert.Equal(t, f[1] == "guess", p.Model.Basis == "name", line)
		assert.Equal(t, f[1] == "no", best.Verdict == "no", "%s: %s", line, best.Verdict)
		if key, value, ok := strings.Cut(f[2], " "); ok && key == "max_context" {
			assert.JSONEq(t, value, jsonOf(t, p.Model.MaxContext), line)
			continue
		}
		page, err := fitRun(append(shellWords(f[0]), "--width", "0")...)
		require.NoError(t, err)
		assert.Contains(t, page, f[2], line)
		if p.Model.Kind != "" {
			assert.NotContains(t, page, "llama-server", line)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// shellWords splits at blanks outside of quotes.
func shellWords(s string) []string {
	var words []string
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}
