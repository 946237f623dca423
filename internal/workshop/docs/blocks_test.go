package docs

import (
	"encoding/json"
	"go/parser"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/syntax"

	"github.com/oomdoc/oomdoc/internal/workshop/paste"
	"github.com/oomdoc/oomdoc/rules/step"
)

// fenced is a block of code on a page.
type fenced struct {
	mark     string // the line before it
	language string
	text     string
}

func fencedIn(page string) []fenced {
	var out []fenced
	var open *fenced
	fence, last := "", ""
	for _, line := range strings.Split(page, "\n") {
		switch {
		case open != nil && line == fence:
			out, open = append(out, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			fence = line[:strings.LastIndexByte(line, '`')+1]
			open = &fenced{mark: last, language: strings.TrimLeft(line, "`")}
		case strings.TrimSpace(line) != "":
			last = line
		}
	}
	return out
}

// eachPage visits the pages for people: those under docs/ and the README.
func eachPage(t *testing.T, visit func(name, text string)) {
	t.Helper()
	pages := []string{"../../../README.md"}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	}))
	for _, path := range pages {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		visit(strings.TrimPrefix(filepath.ToSlash(path), "../../../"), string(text))
	}
}

// TestBlocks: each block of code is what it is called, stands under a line that
// says where it goes, and has a placeholder only where that line says what to put
// in.
func TestBlocks(t *testing.T) {
	blocks := 0
	eachPage(t, func(name, page string) {
		for _, b := range fencedIn(page) {
			blocks++
			assert.True(t, strings.HasSuffix(strings.TrimRight(b.mark, "*"), ":") || strings.HasPrefix(b.mark, "<!-- oomdoc"), "%s: nothing says what this is, %q:\n%s", name, b.mark, b.text)
			assertLanguage(t, name, b)
			if !strings.Contains(page, generated) {
				continue
			}
			for _, f := range step.Marked([]step.Step{{Kind: "shell", Text: b.text}}, false)[0].Fill {
				if !strings.Contains(b.mark, "adapt") {
					assert.Contains(t, b.mark, "`"+f.Name+"`", "%s: a placeholder of which nothing is said:\n%s", name, b.text)
				}
			}
			assert.Regexp(t, "^\\*.*(, as (it stands|they stand)|; fill in .+|; adapt the pattern):\\*$", b.mark, "%s:\n%s", name, b.text)
		}
	})
	assert.Greater(t, blocks, 300)
}

func assertLanguage(t *testing.T, name string, b fenced) {
	t.Helper()
	var err error
	switch b.language {
	case "sh":
		_, err = syntax.NewParser().Parse(strings.NewReader(b.text), name)
	case "python":
		err = paste.Python(b.text, "\x00")
	case "yaml":
		var any any
		err = yaml.Unmarshal([]byte(b.text), &any)
	case "toml":
		var any map[string]any
		_, err = toml.Decode(b.text, &any)
	case "json":
		assert.True(t, json.Valid([]byte(b.text)), "%s: no JSON:\n%s", name, b.text)
	case "go":
		_, err = parser.ParseExpr("func() {\n" + b.text + "}")
	case "dockerfile":
		assert.Regexp(t, `^(# .*\n)?(FROM|PARAMETER|ENV|RUN) `, b.text, name)
	default:
		assert.Contains(t, []string{"text", "markdown"}, b.language, name)
	}
	assert.NoError(t, err, "%s: %s:\n%s", name, b.language, b.text)
}

var heading = regexp.MustCompile(`(?m)^### (.+)$`)

// TestPagesAgree: each page of a fix names the causes that it is good for, and
// has one way for each program; each page of a cause has fixes.
func TestPagesAgree(t *testing.T) {
	for path, page := range Pages() {
		switch {
		case strings.HasPrefix(path, "causes/"):
			_, cures, _ := strings.Cut(page, "## What helps")
			assert.Contains(t, cures, "\n- [", path)
		case strings.HasPrefix(path, "fixes/"):
			_, causes, _ := strings.Cut(page, "## Causes it is good for")
			assert.Contains(t, causes, "\n- ", path)
			var programs []string
			for _, m := range heading.FindAllStringSubmatch(page, -1) {
				programs = append(programs, strings.Split(m[1], ", ")...)
			}
			slices.Sort(programs)
			assert.Equal(t, slices.Compact(slices.Clone(programs)), programs, "%s: a program twice", path)
		}
	}
}
