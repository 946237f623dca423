package array

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
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

// restartHere is where a notebook's kernel is restarted.
func restartHere(c *ledger.Case) []step.Step {
	where := "Jupyter: Kernel, Restart; Colab: Runtime, Restart session; Kaggle: Run, Restart."
	switch {
	case c.In("colab"):
		where = "Runtime, Restart session."
	case c.In("kaggle"):
		where = "Run, Restart."
	}
	return []step.Step{{Kind: "text", Text: where + " This frees what earlier cells left in GPU memory. Then run each cell you need only once."}}
}

// Cures of a card that was full before.
var (
	runtimeFirst = cause.Cure{Fix: "restart_session", If: inNotebook, Title: "Restart the notebook runtime", Cost: "variables are lost, files stay", Steps: restartHere}
	endHolder    = cause.Cure{Fix: "kill_stale_process", Title: "End other processes on the card", Cost: "a look is free", Kind: "shell", Text: "nvidia-smi", Told: "Look for earlier Python runs, kernels of other notebooks, or a paused debugger, and end yours by PID. If the process is someone else's, wait or use another card.", If: when.Not(inNotebook)}
	shareGrowth  = cause.Cure{Fix: "limit_framework_preallocation", Title: "If several processes share the card: turn on memory growth", Cost: "a little fragmentation", Told: "Set this in each process before TensorFlow starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true")}
	otherCard    = cause.Cure{Fix: "select_gpu", If: when.Not(inNotebook), Title: "Use another card", Cost: "needs a free card", Told: "`nvidia-smi` shows how full each card is. For the second one, before the start:", Steps: environ("CUDA_VISIBLE_DEVICES", "1")}
	// againEachTime is for a process that makes several models, one after another.
	againEachTime = cause.Cure{Fix: "restart_session", If: when.Not(inNotebook), Title: "If you build several models: one per process", Cost: "some rewriting", Told: "A loop over models or folds leaves each of them on the card. Run `del model` and `tf.keras.backend.clear_session()` before the next one, or start a new process for each."}
)

// kernelsFirst is for a piece so small that the card was full before this model.
var kernelsFirst = cause.Cure{Fix: "kill_stale_process", If: tinyPiece, Title: "Free the card first, then try again", Cost: "free", Told: "End other Python processes in this list, shut down other notebooks' kernels, and restart your own. If several programs must share the card, set `TF_FORCE_GPU_ALLOW_GROWTH=true` before each starts.", Kind: "shell", Text: "nvidia-smi"}

// tinyPiece: far less than any card has; a pool whose table is printed says more.
func tinyPiece(c *ledger.Case) bool {
	return ledger.Requested(c) < 8*units.MiB && c.F().Limit == nil && len(ledger.Trace(c)) == 0
}

// threeSides: samples, a length and a width, no picture.
func threeSides(c *ledger.Case) bool { return len(calls.Sides(c)) == 3 }

// shorter is for what has a length.
var shorter = cause.Cure{Fix: "lower_context", If: threeSides, Title: "Use shorter or fewer rows", Cost: "the cut part is lost", Told: "If this is text or a time series, the second number of the shape is the length. Half the length halves this tensor and quarters attention. Use the script's own option, such as `max_seq_length`, or cut the longest samples."}
