package wording_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/rules/program/wording"
)

// TestWithoutLastSentence: what is cut at the end leaves no blank behind which a
// full stop would stand alone.
func TestWithoutLastSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Search its name on huggingface.co. Or `--quantization fp8`: half.":       "Search its name on huggingface.co.",
		"It computes this many tokens at once (before `--quantization fp8` all).": "It computes this many tokens at once.",
		"`--quantization fp8` is half. Then start again.":                         "Then start again.",
		"Start it anew; `--quantization fp8` is half. Then wait.":                 "Start it anew. Then wait.",
	} {
		assert.Equal(t, want, wording.Without(text, strings.Index(text, "--quantization")))
	}
}
