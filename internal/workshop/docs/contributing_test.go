package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fence is a block of CONTRIBUTING.md: a new file, lines that go into one after
// a line with some text, or a command.
var fence = regexp.MustCompile("(?ms)^   ```(\\w+)(?: (file|in)=(\\S+))?(?: after=\"([^\n]*)\")?\\n(.*?)^   ```$")

// TestContributing does what CONTRIBUTING.md says under "A program" and "A
// cause", on an overlay of this checkout, and runs the command that stands
// there.
func TestContributing(t *testing.T) {
	top, err := filepath.Abs("../../..")
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(top, "CONTRIBUTING.md"))
	require.NoError(t, err)
	for _, recipe := range []string{"A program", "A cause"} {
		t.Run(recipe, func(t *testing.T) {
			_, section, ok := strings.Cut(string(raw), "\n## "+recipe+"\n")
			require.True(t, ok)
			section, _, _ = strings.Cut(section, "\n## ")
			overlay, command := follow(t, top, section)
			require.NotEmpty(t, command)
			args := append([]string{"test", "-overlay", overlay}, command[2:]...)
			cmd := exec.Command("go", args...)
			cmd.Dir = top
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
			assert.NotContains(t, string(out), "no tests to run")
		})
	}
}

// follow writes the files of a recipe and returns the overlay that puts them in
// place, with the recipe's command.
func follow(t *testing.T, top, section string) (overlay string, command []string) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	put := func(path, text string) {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		replace[filepath.Join(top, filepath.FromSlash(path))] = file
	}
	for _, m := range fence.FindAllStringSubmatch(section, -1) {
		how, path, after := m[2], m[3], m[4]
		body := strings.ReplaceAll("\n"+m[5], "\n   ", "\n")[1:]
		switch {
		case how == "file":
			put(path, body)
		case how == "in":
			source := filepath.Join(top, filepath.FromSlash(path))
			if made := replace[source]; made != "" {
				source = made
			}
			old, err := os.ReadFile(source)
			require.NoError(t, err)
			before, rest, found := strings.Cut(string(old), after)
			require.True(t, found, "%s has no %q", path, after)
			if !strings.HasSuffix(after, "`") { // whole lines
				line, more, _ := strings.Cut(rest, "\n")
				before, rest = before+after+line+"\n", more
				put(path, before+body+rest)
				continue
			}
			put(path, before+after+strings.TrimSpace(body)+" "+rest)
		case m[1] == "sh":
			command = strings.Fields(body)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, data, 0o600))
	return overlay, command
}
