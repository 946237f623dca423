package fix

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var optimizer8Bit = Fix{
	ID:       "optimizer_8bit",
	Title:    "Use an 8-bit optimizer",
	Tradeoff: "None worth mentioning; needs the bitsandbytes package.",
	Cost:     0.15,
	Check:    "`torch.cuda.memory_allocated()` before and after the first `optimizer.step()`: it grows by about 2 bytes for each parameter.",
	Next:     "LoRA; or shard or offload the states.",
	Needs:    Needs{works: []string{"text-training", "vision"}, training: true, branch: "Training", told: "an 8-bit optimizer.", without: fact.SmallOptimizer},
	Told:     "Choose an 8-bit optimizer in the training settings.",
	Steps: step.Paste("python", `import bitsandbytes as bnb

optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=2e-5)   # with the Trainer: optim="adamw_bnb_8bit"`),
	Effect: effectOptimizer8bit,
}

// effectOptimizer8bit: what failed in the first step of the optimizer is a
// state, of 4 bytes for each value.
func effectOptimizer8bit(c *ledger.Case) *effect.Effect {
	if c.Signal("optimizer_step") == nil || c.In("deepspeed") { // whose flat buffer may be the master copy
		return nil
	}
	return effect.Scaled(c, 4, "At 8 bit instead of 32")
}
