package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/cli"
)

// example is a fenced block of the README under a comment that says which
// command makes it, and how many lines of its output are shown.
var example = regexp.MustCompile("(?s)<!-- oomdoc ([^\n|]*?)(?: \\| head -(\\d+))? -->\n(`{3,}[a-z]*\n(?:\\$ [^\n]*\n\n)?)(.*?)(\n`{3,}\n)")

// TestReadme holds the README's examples to what the command prints; -update
// rewrites them.
func TestReadme(t *testing.T) {
	const path = "../../README.md"
	readme, err := os.ReadFile(path)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(example.FindAll(readme, -1)), 2, "the README lost its examples")
	fresh := example.ReplaceAllFunc(readme, func(block []byte) []byte {
		m := example.FindSubmatch(block)
		made := output(t, string(m[1]), string(m[2]))
		if !*update {
			assert.Equal(t, made, string(m[4]), "run go test ./cmd/oomdoc -run Readme -update")
		}
		return fmt.Appendf(nil, "%s%s%s", bytes.TrimSuffix(block, append(m[4], m[5]...)), made, m[5])
	})
	if *update {
		require.NoError(t, os.WriteFile(path, fresh, 0o644))
	}
}

// output runs the command in the root of the module.
func output(t *testing.T, args, lines string) string {
	t.Helper()
	t.Chdir("../..")
	var out bytes.Buffer
	err := cli.Run(context.Background(), strings.Fields(args), strings.NewReader(""), &out, &out, func(string) string { return "" })
	require.Zero(t, cli.Exit(err, &out), args)
	t.Chdir("cmd/oomdoc")
	text := strings.TrimRight(out.String(), "\n")
	if n, err := strconv.Atoi(lines); err == nil {
		text = strings.TrimRight(strings.Join(strings.Split(text, "\n")[:n], "\n"), "\n") + "\n\n[...]"
	}
	return text
}
