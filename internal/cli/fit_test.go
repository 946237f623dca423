package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/fit"
)

func fitRun(args ...string) (string, error) {
	var out, errs bytes.Buffer
	err := Run(context.Background(), append([]string{"fit"}, args...), strings.NewReader(""), &out, &errs, func(string) string { return "" })
	return out.String(), err
}

// Every model of the catalogue gets an answer, whatever the engine.
func TestFitAnswersForEveryModel(t *testing.T) {
	for _, engine := range []string{"llama.cpp", "ollama", "vllm", "transformers"} {
		for _, m := range fit.Models() {
			out, err := fitRun(m.ID, "--vram", "24GiB", "--engine", engine)
			if err != nil {
				assert.Contains(t, err.Error(), "not established", "%s %s", m.ID, engine)
				continue
			}
			first, _, _ := strings.Cut(out, "\n")
			assert.Contains(t, first, m.ID, engine)
		}
	}
}

// Names come from strangers' logs and from slips of the keyboard.
func TestFitTakesAnyName(t *testing.T) {
	for _, name := range []string{"", " ", "--", "\x1b[31mred", "a/b/c:d", "🦙", strings.Repeat("x", 1<<16), "99999999999B", "qwen3-8b\n", "../../etc", "%s%n"} {
		out, err := fitRun("--vram", "8GiB", "--", name)
		if err == nil {
			assert.NotContains(t, out, "\x1b")
			continue
		}
		assert.Empty(t, out)
		assert.NotContains(t, err.Error(), "\n")
		assert.Less(t, len(err.Error()), 1000, "%.40q", name)
	}
}

func TestSmiLine(t *testing.T) {
	name, total, used, ok := smiLine(" NVIDIA L4, 23034, 5\n")
	require.True(t, ok)
	assert.Equal(t, "NVIDIA L4", name)
	assert.Equal(t, int64(23034)<<20, total)
	assert.Equal(t, int64(5)<<20, used)
	for _, line := range []string{"", "NVIDIA GB10, [N/A], [N/A]", "x, -1, 2", "a, b", "No devices were found"} {
		_, _, _, ok := smiLine(line)
		assert.False(t, ok, line)
	}
}

// An answer takes well under 50 ms; the largest model has the most layers.
func BenchmarkFit(b *testing.B) {
	for _, name := range []string{"llama-3.1-405b", "kimi-k2-1t", "lama-3.1-8bb-zz", strings.Repeat("qwen", 300)} {
		b.Run(name[:8], func(b *testing.B) {
			for b.Loop() {
				fitRun(name, "--vram", "24GiB")
			}
		})
	}
	b.Run("card", func(b *testing.B) {
		for b.Loop() {
			fitRun("--vram", "80GiB")
		}
	})
}
