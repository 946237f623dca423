package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var restartSession = Fix{
	ID:    "restart_session",
	Title: "Restart the program or notebook kernel",
	Doc: []string{
		"A Python process keeps every model it loaded as long as one name, one list or one traceback still points to it. Notebooks do that all the time: `Out[3]`, `_`, and the last error keep tensors alive. Ending the process gives everything back at once.",
		"It helps when the first run works and the second fails, when an earlier model was loaded in the same session, and when memory is taken although nothing of yours runs. It does not help when the very first run after a restart fails: then the work is too big.",
	},
	Tradeoff: "The state of the session is lost; the model has to be loaded again.",
	Cost:     0.05,
	Check:    "In the new session, before the model is loaded: `torch.cuda.mem_get_info()` shows nearly all of the card free.",
	Next:     "If a fresh session fails at the same place, nothing was left over: make the work smaller instead.",
	Steps:    stepsRestart,
}

func stepsRestart(c *ledger.Case) []step.Step {
	if c.Signal("notebook") != nil {
		return []step.Step{{Kind: "ui", Text: "Menu Kernel (Colab: Runtime), Restart; then run only the cells that are needed, each of them once."}}
	}
	return []step.Step{{Kind: "text", Text: "End the program (Ctrl+C; in a notebook Kernel, Restart), see in `" + reader.Monitor(c) + "` that its memory is free, and start it again with one model only."}}
}
