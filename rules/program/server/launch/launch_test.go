package launch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
)

// TestImageArguments: what was typed behind an image's name stays what it was, with
// the option replaced as it is spelled there, and is no command of its own.
func TestImageArguments(t *testing.T) {
	t.Parallel()
	server := launch.Server{Command: "vllm_command", Start: "vllm serve"}
	c := &ledger.Case{Facts: &fact.Facts{Facts: []fact.Fact{{Name: "vllm_command", Text: "Qwen/Qwen3-32B\x00--max_model_len\x008192\x00--enforce-eager"}}}}
	steps := server.Sets(launch.To("max_model_len", "4096"))(c)
	assert.Len(t, steps, 1)
	assert.Equal(t, "config", steps[0].Kind)
	assert.Equal(t, "Qwen/Qwen3-32B --max_model_len 4096 --enforce-eager", steps[0].Text)
}
