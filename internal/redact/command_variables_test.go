package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/redact"
)

// TestOwnVariables: what the reader's shell knows stays; any other "$" ends the
// command, and a key stands nowhere but behind an option for keys.
func TestOwnVariables(t *testing.T) {
	for command, want := range map[string]string{
		"serve $MODEL --tp 2":                    "serve @MODEL --tp 2",
		"serve ${MODEL_PATH} --port=$PORT --x":   "serve @MODEL_PATH --port=@PORT --x",
		"serve $HOME/models/q --tp 2":            "serve",
		"serve m --port ${PORT:-8000} --x":       "serve m",
		"serve m --tp $(nvidia-smi -L | wc -l)":  "serve m",
		"serve m --x $1":                         "serve m",
		"serve $AWS_SECRET --tp 2":               "serve",
		"serve $HF_TOKEN":                        "serve",
		"serve m --api-key $VLLM_API_KEY --tp 2": "serve m --api-key @VLLM_API_KEY --tp 2",
		"serve m --tp 2":                         "serve m --tp 2",
	} {
		got := strings.Join(redact.OwnVariables(strings.Fields(command)), " ")
		assert.Equal(t, want, strings.ReplaceAll(got, redact.Variable, "@"), command)
	}
}
