package ranks

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// MakesState are lines in which PyTorch's Adam makes what it keeps of each
// parameter, at its first step (torch/optim/adam.py, _init_group).
var MakesState = []string{"exp_avg_sq", `exp_avg"] =`, `exp_avg'] =`, "in _init_group"}

// FirstStep is about that moment in a training that DeepSpeed shards.
var FirstStep = cause.Card{
	ID: "deepspeed/first-step", Kinds: []fact.Kind{fact.TorchAlloc}, Said: MakesState, If: when.All(when.Not(ledger.Crowded), atLeast64), Figures: momentFigures,
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory when Adam created its optimizer state, at the first step",
	Means: "Adam keeps two values per parameter and creates them at its first step. {asked} is one of the two for {count} parameters in 32 bit, this GPU's share. The second takes as much again.[[ {slack}]]",
	Not:   "A smaller batch alone: the optimizer state stays as large.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", If: slackEnough},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Told: "Add this to `zero_optimization` in your DeepSpeed config, and keep your stage.", Steps: OffloadSteps, Cost: "slower steps; 12 bytes of RAM per parameter"},
		OffloadWeights,
		{Fix: "shard_training", If: when.Not(Stage3), Title: "Or use ZeRO stage 3, or more GPUs", Told: "Stages 1 and 2 already split this state over the GPUs. Stage 3 also splits the weights, which makes room for it.", Cost: "more communication"},
		{Fix: "use_lora"},
	},
	Sources: []string{"pytorch/torch/optim/adam.py", "DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py", "DeepSpeed/docs/_pages/config-json.md"},
}

func atLeast64(c *ledger.Case) bool { return ledger.Requested(c) >= 64*units.MiB }

func slackEnough(c *ledger.Case) bool { return c.Slack.Bytes >= ledger.Requested(c) }

func momentFigures(c *ledger.Case) map[string]string {
	n := float64(ledger.Requested(c)) / 4
	out := map[string]string{"count": fmt.Sprintf("%.2f billion", n/1e9), "slack": ""}
	if n < 1e8 {
		out["count"] = fmt.Sprintf("%.0f million", n/1e6)
	}
	if slackEnough(c) {
		out["slack"] = units.Amount(c.Slack.Bytes) + " of PyTorch's reserved memory is unused, but split into blocks that are too small."
	}
	return out
}
