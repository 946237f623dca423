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
var MakesState = []string{"exp_avg_sq", "in _init_group"}

// FirstStep is about that moment in a training that DeepSpeed shards.
var FirstStep = cause.Card{
	ID: "deepspeed/first-step", Kinds: []fact.Kind{fact.TorchAlloc}, Said: MakesState, If: when.All(when.Not(ledger.Crowded), atLeast64), Figures: momentFigures,
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory as the optimizer made its state, at the first step",
	Means: "Adam keeps two values a parameter and makes them at its first step. {asked} is one of the two for {count} parameters at 32 bit, this rank's part; the 32-bit weights beside them take as much.[[ {slack}]]",
	Not:   "A smaller batch alone: the state does not shrink with it.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", If: slackEnough},
		{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Told: "In the DeepSpeed file, in place of its `zero_optimization` (your own stage).", Steps: OffloadSteps, Cost: "slower steps; 12 bytes of RAM a parameter"},
		OffloadWeights,
		{Fix: "shard_training", If: when.Not(Stage3), Title: "Use stage 3, or more cards", Told: "Stages 1 and 2 divide this state by the cards already; stage 3 divides the weights as well, which makes room for it.", Cost: "more communication"},
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
		out["slack"] = units.Amount(c.Slack.Bytes) + " of its reserve lie unused: the activations of the backward pass are gone by then, but in pieces that are too small."
	}
	return out
}
