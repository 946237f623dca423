package calls

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// tooSmallFor355M: TensorFlow's share is less than the weights, gradients and Adam's
// state of the next larger GPT-2.
func tooSmallFor355M(c *ledger.Case) bool {
	l := c.F().Limit
	return l != nil && l.Bytes > 0 && l.Bytes < 6*units.GiB
}

// Models of GPT-2 by what the card can hold.
var (
	SmallestGPT2 = cause.Cure{Fix: "use_smaller_model", If: tooSmallFor355M, Title: "Train only 124M here, or use a larger GPU", Told: "Of the models only 124M can fit {limit}: `model_name=\"124M\"` (`--model_name 124M`), with the settings of the next point. For 355M take a GPU of 12 to 16 GB, such as Colab's. To generate only, the CPU works, too: set `CUDA_VISIBLE_DEVICES=-1` before the start.", Cost: "Quality"}
	SmallerGPT2  = cause.Cure{Fix: "use_smaller_model", If: when.Not(tooSmallFor355M), Title: "Use a smaller model", Told: "`model_name=\"124M\"` or `\"355M\"`. A card of 12 to 16 GB can train 355M, not 774M.", Cost: "Quality"}
)

// Spill is how JAX in a notebook goes on in RAM; a shell's export does not reach
// a kernel that runs.
var Spill = cause.Cure{
	Fix: "cpu_offload", If: func(c *ledger.Case) bool {
		return c.Signal("notebook") != nil && !c.Training() && !c.Windows() && c.Backend != "tpu"
	},
	Title: "Let it spill into RAM, or take a larger GPU", Cost: "Slower once it spills", Told: "This allows four times the memory of an NVIDIA GPU. Colab: Runtime, Change runtime type offers larger GPUs (\"High-RAM\" gives no GPU memory).",
	Steps: func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "python", Text: "# first cell, after a restart of the kernel, before `import jax`\nimport os\nos.environ[\"TF_FORCE_UNIFIED_MEMORY\"] = \"1\"\nos.environ[\"XLA_PYTHON_CLIENT_MEM_FRACTION\"] = \"4.0\""}}
	},
}

// LargestFigures add what half the batch leaves of the largest tensor, and where
// a batch is set: a graph that a session runs has no `fit`.
func LargestFigures(pool func(*ledger.Case) map[string]string, session []string) func(*ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := pool(c)
		out["half"], out["where"] = "", "Use `batch_size=` in `fit` or `predict`, `.batch(...)` in tf.data, or the script's own option."
		if c.Near(session...) {
			out["where"] = "Use the script's own option, or feed fewer samples."
		}
		if halved := Halved(c); halved != "" {
			out["half"] = halved + " (this tensor: " + units.Amount(ledger.Requested(c)/2) + ")"
		}
		return out
	}
}
