package array

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// inNotebook: cells of a notebook, whose kernel keeps what earlier ones took.
func inNotebook(c *ledger.Case) bool { return c.Signal("notebook") != nil }

// environ makes the steps that set a variable for this reader: in a notebook's
// first cell, in cmd and PowerShell, or in a shell.
func environ(name, value string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step { return []step.Step{step.Environ(c, name, value)} }
}

// Cures of a card that was full before.
var (
	runtimeFirst = cause.Cure{Fix: "restart_session", If: inNotebook, Title: "Restart the notebook's runtime", Cost: "variables are lost, files stay", Told: "Colab: Runtime, Restart session; Kaggle: Run, Restart; Jupyter: Kernel, Restart. What earlier cells or a run that failed left on the card is free then; then run only the cells that are needed, each once."}
	endHolder    = cause.Cure{Fix: "kill_stale_process", Title: "See who holds the card, and end it", Cost: "a look is free", Kind: "shell", Text: "nvidia-smi", Told: "An earlier python of yours, another notebook's kernel, a debugger that stands still: end it. Not yours: wait, or take another card.", If: when.Not(inNotebook)}
	shareGrowth  = cause.Cure{Fix: "limit_framework_preallocation", Title: "Several have to share the card: let each take only what it uses", Cost: "a little fragmentation", Told: "In every one of them, before TensorFlow starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true")}
	otherCard    = cause.Cure{Fix: "select_gpu", If: when.Not(inNotebook), Title: "Or another card, if there is one", Cost: "needs a free card", Told: "The list says how full each is; before the start:", Steps: environ("CUDA_VISIBLE_DEVICES", "1")}
	// againEachTime is for a process that makes several models, one after another.
	againEachTime = cause.Cure{Fix: "restart_session", If: when.Not(inNotebook), Title: "It is this program: one model for each process", Cost: "some rewriting", Told: "A loop over models or folds keeps each on the card: `del model` and `tf.keras.backend.clear_session()` before the next one, or a process for each."}
)
