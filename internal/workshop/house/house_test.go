// Package house holds the rooms of parsers and rules to their sizes and arrows.
package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	module          = "github.com/oomdoc/oomdoc/"
	linesOfAll      = 20000 // without what is known of single programs
	linesOfPackage  = 3000
	linesOfFamily   = 4000 // a family of wordings
	linesOfFile     = 400
	linesOfFunction = 60
)

// floors are the rooms from the ground up: each imports only those below it.
// Rooms of one floor do not know each other.
var floors = [][]string{
	{"parsers/fact"},
	{"parsers/text"},
	{"parsers/ggml"},
	{"parsers/torch", "parsers/webui", "parsers/array", "parsers/host", "parsers/ambient", "parsers/lookalike", "parsers/plain"},
	{"parsers/server"},
	{"parsers"},
	{"rules/ledger"},
	{"rules/explain"},
	{"rules/reader", "rules/when"},
	{"rules/step"},
	{"rules/effect"},
	{"rules/cause"},
	{"rules/fix"},
	{"rules/program"},
	{"rules/program/server/stage", "rules/program/server/launch", "rules/program/server/parts"},
	{"rules/program/torch/clues", "rules/program/torch/code", "rules/program/torch/operation", "rules/program/torch/books", "rules/program/ggml/command", "rules/program/array/calls"},
	{"rules/program/era", "rules/program/engine/mlc", "rules/program/engine/cards"},
	{"rules/program/engine", "rules/program/limits", "rules/program/wording", "rules/program/compilers", "rules/program/array/local", "rules/program/ggml/books", "rules/program/ggml/tensors", "rules/program/ggml/dialect", "rules/program/torch/allocator", "rules/program/torch/bitsandbytes", "rules/program/torch/pictures", "rules/program/torch/ram", "rules/program/torch/ranks", "rules/program/torch/tensors", "rules/program/torch/room", "rules/program/host/lowmem", "rules/program/host/systemd", "rules/program/host/oomd", "rules/program/host/kinds", "rules/program/host/platforms"},
	{"rules/program/apps/kit", "rules/program/host/activity", "rules/program/webui/addon", "rules/program/webui/pipelines", "rules/program/torch/cures", "rules/program/ggml/pool", "rules/program/server/vllm", "rules/program/ggml/load"},
	{"rules/program/trainer/parts"},
	{"rules/program/apps/listen", "rules/program/trainer/scenes", "rules/program/science/opencv", "rules/program/science/survey", "rules/program/torch/rest", "rules/program/torch/tuning", "rules/program/trainer/baselines", "rules/program/torch/npu", "rules/program/torch/sized", "rules/program/torch/script", "rules/program/torch/subject", "rules/program/ggml/touch", "rules/program/ggml/kept", "rules/program/ggml/images", "rules/program/ggml/negative", "rules/program/science/matlab"},
	{"rules/program/torch", "rules/program/trainer", "rules/program/ggml", "rules/program/server", "rules/program/webui", "rules/program/array", "rules/program/host", "rules/program/science", "rules/program/apps", "rules/program/data", "rules/program/build", "rules/program/rest", "rules/program/field"},
	{"rules/program/webui/scripts", "rules/program/ollama", "rules/program/fronts", "rules/program/textgen", "rules/program/cluster", "rules/program/lab", "rules/program/papers", "rules/program/older", "rules/program/makers"},
	{"rules/odds"},
	{"rules/program/checkouts"},
	{"rules/answer", "rules/story"},
	{"rules"},
}

// TestRoot: what programs printed while somebody tried them is no part of it.
func TestRoot(t *testing.T) {
	logs, err := filepath.Glob("../../../*.log")
	require.NoError(t, err)
	assert.Empty(t, logs)
}

// TestHouse: no room is too large, and no arrow points upwards. Of parsers,
// rules import the facts alone.
func TestHouse(t *testing.T) {
	floor := map[string]int{}
	for i, rooms := range floors {
		for _, room := range rooms {
			floor[room] = i
		}
	}
	all, lines := 0, map[string]int{}
	for _, file := range sources(t) {
		room := path.Dir(file)
		at, known := floor[room]
		require.True(t, known, "%s stands on no floor", room)
		raw, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(file)))
		require.NoError(t, err)
		n := strings.Count(string(raw), "\n")
		assert.LessOrEqual(t, n, linesOfFile, file)
		if lines[room] += n; !strings.HasPrefix(room, "rules/program/") {
			all += n
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, raw, 0)
		require.NoError(t, err)
		for _, i := range f.Imports {
			other, own := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module)
			below, isRoom := floor[other]
			if !own || !isRoom {
				continue
			}
			assert.Less(t, below, at, "%s imports %s", file, other)
			fromParsers := strings.HasPrefix(other, "parsers") && other != "parsers/fact"
			assert.False(t, strings.HasPrefix(room, "rules") && fromParsers, "%s imports %s", file, other)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				assert.LessOrEqual(t, set.Position(fn.End()).Line-set.Position(fn.Pos()).Line+1, linesOfFunction, "%s: %s", file, fn.Name.Name)
			}
		}
	}
	for room, n := range lines {
		most := linesOfPackage
		if strings.HasPrefix(room, "parsers/") {
			most = linesOfFamily
		}
		assert.LessOrEqual(t, n, most, room)
	}
	assert.LessOrEqual(t, all, linesOfAll, "parsers and rules")
}

// sources are the Go files of parsers and rules without their tests.
func sources(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, root := range []string{"parsers", "rules"} {
		err := filepath.WalkDir(filepath.Join("../../..", root), func(p string, d os.DirEntry, err error) error {
			rel, _ := filepath.Rel("../../..", p)
			if err == nil && !d.IsDir() && strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") && !slices.Contains(strings.Split(filepath.ToSlash(rel), "/"), "internal") {
				out = append(out, filepath.ToSlash(rel))
			}
			return err
		})
		require.NoError(t, err)
	}
	return out
}
