package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var restartSession = Fix{
	ID:       "restart_session",
	Title:    "Restart the program or notebook kernel",
	Tradeoff: "The state of the session is lost; the model has to be loaded again.",
	Cost:     free,
	Check:    "In the new session, before the model is loaded: `torch.cuda.mem_get_info()` shows nearly all of the card free.",
	Next:     "If a fresh session fails at the same place, nothing was left over: make the work smaller instead.",
	Told:     "Restart the program.",
	Steps:    stepsRestart,
}

func stepsRestart(c *ledger.Case) []step.Step {
	if c.Signal("notebook") != nil {
		return []step.Step{{Kind: "ui", Text: "Menu Kernel (Colab: Runtime), Restart; then run only the cells that are needed, each of them once."}}
	}
	return []step.Step{{Kind: "text", Text: "End the program (Ctrl+C; in a notebook Kernel, Restart), see in `" + reader.Monitor(c) + "` that its memory is free, and start it again with one model only."}}
}
