package fix

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var gradientCheckpointing = Fix{
	ID:       "gradient_checkpointing",
	Title:    "Turn gradient checkpointing on",
	Tradeoff: "About 20 to 30 % more time per step; the result is the same.",
	Cost:     moderate,
	Check:    checkStep,
	Next:     "Lower the batch or the length; then look at the optimizer.",
	Needs:    Needs{works: trained, training: true, branch: "Training", told: "gradient checkpointing: 20 to 30 % slower, the same result.", without: fact.Checkpoints},
	Told:     "Turn gradient checkpointing on in the training settings.",
	Steps:    stepsCheckpointing,
}

func stepsCheckpointing(c *ledger.Case) []step.Step {
	own := step.Step{Kind: "python", Text: "from torch.utils.checkpoint import checkpoint\n\nx = checkpoint(self.block, x, use_reentrant=False)   # in forward(), for each large block, instead of x = self.block(x)"}
	trainer := step.Step{Kind: "python", Text: "model.gradient_checkpointing_enable()   # transformers; with its Trainer: gradient_checkpointing=True\nmodel.config.use_cache = False"}
	switch {
	case c.In("transformers"):
		return []step.Step{trainer}
	case c.In("pytorch"):
		return []step.Step{own, trainer}
	}
	return []step.Step{trainer, own}
}
