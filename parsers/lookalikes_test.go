package parsers_test

import (
	"maps"
	"os"
	"slices"
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
	advised := map[string]bool{}
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
			if _, says, ok := strings.Cut(name, ": "); ok && assert.NotEmpty(t, f.Lookalikes) {
				assert.Contains(t, f.Lookalikes[0].Title+" "+f.Lookalikes[0].Advice, says)
			}
			for _, x := range f.Lookalikes {
				advised[x.Advice] = true
			}
			assert.Equal(t, fails, len(f.Failures) > 0, "a failure")
			if fails {
				assert.NotEqual(t, id, told)
			} else {
				assert.Equal(t, id, told)
			}
		})
	}
	t.Run("every variant", func(t *testing.T) { assertVariants(t, advised) })
}

// unshown are look-alikes whose variants came before their samples had to.
var unshown = []string{"java_heap", "php_memory_limit", "ray_worker_died", "heap_damaged", "volume_limit", "javascript_heap", "device_lost", "vulkan_error", "unsupported_model", "storage_bounds", "rocm_page_fault"}

// assertVariants: each variant of a text is the one that some sample gets.
func assertVariants(t *testing.T, advised map[string]bool) {
	t.Helper()
	raw, err := os.ReadFile("lookalike/troubles.txt")
	require.NoError(t, err)
	id := ""
	for line := range strings.Lines(string(raw)) {
		key, said, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key == "-" {
			id = said
		}
		if key != "by" && key != "at" || slices.Contains(unshown, id) {
			continue
		}
		words, advice, _ := strings.Cut(said, " ")
		assert.NotContains(t, strings.Split(words, "|"), "", words)
		fixed, _, _ := strings.Cut(advice, "[[")
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(advised)), func(told string) bool { return strings.HasPrefix(told, fixed) }), "%s: no sample for %s", id, words)
	}
}
