package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var upgradeVersion = Fix{
	ID:       "upgrade_version",
	Title:    "Update the program",
	Tradeoff: "Half an hour; something else may have changed as well. Note the old version first so that you can go back.",
	Cost:     moderate,
	Check:    "Print the version (`pip show torch`, `ollama --version`, `vllm --version`) and run the same thing again.",
	Next:     "If it stays, report it with the whole log, and make the work smaller meanwhile.",
	Told:     "Install the newest release, and note the present one first.",
	Steps:    stepsUpgrade,
}

func stepsUpgrade(c *ledger.Case) []step.Step {
	if c.In("pytorch") || len(c.Stack) == 0 {
		return []step.Step{
			{Kind: "shell", Text: "pip list | grep -i -E \"torch|transformers|accelerate|diffusers|bitsandbytes\"   # note what you have"},
			{Kind: "text", Text: "Update PyTorch with the command that https://pytorch.org/get-started/locally/ gives for this system: a plain `pip install torch` brings another build on Windows, AMD and Intel."},
		}
	}
	return []step.Step{{Kind: "text", Text: fmt.Sprintf("Install the newest release of %s (note the present one first), and look for the sentence of this log in its issue list.", c.Framework)}}
}
