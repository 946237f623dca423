package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// stepsVLLM is a vllm command with the log's model.
func stepsVLLM(flag string) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "vllm serve " + step.Word(c, c.ModelName()) + " " + flag}}
	}
}
