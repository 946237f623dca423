package docs

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the generated pages under docs/")

const root = "../../../docs"

func TestPagesAreCurrent(t *testing.T) {
	for path, want := range Pages() {
		file := filepath.Join(root, filepath.FromSlash(path))
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
			continue
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, want, string(got), "docs/%s is stale: run go test ./internal/workshop/docs -update", path)
	}
}

// TestNoOrphans: a page whose cause or fix is gone, or a link to a page that
// does not exist.
func TestNoOrphans(t *testing.T) {
	pages := Pages()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		rel = filepath.ToSlash(rel)
		if strings.HasPrefix(rel, "causes/") || strings.HasPrefix(rel, "fixes/") {
			assert.Contains(t, pages, rel, "no literal makes it")
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, target := range links(string(text)) {
			assert.FileExists(t, filepath.Join(filepath.Dir(path), filepath.FromSlash(target)), "link in docs/%s", rel)
		}
		return nil
	})
	require.NoError(t, err)
}

// listings are fenced blocks: code may look like a link.
var listings = regexp.MustCompile("(?s)```.*?```")

// links returns the relative link targets of Markdown, anchors cut off.
func links(text string) []string {
	var out []string
	text = listings.ReplaceAllString(text, "")
	for _, rest := range strings.Split(text, "](")[1:] {
		target, _, _ := strings.Cut(rest, ")")
		target, _, _ = strings.Cut(target, "#")
		if target != "" && !strings.Contains(target, "://") {
			out = append(out, target)
		}
	}
	return out
}
