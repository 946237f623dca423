package fix

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/step"
)

var optimizer8Bit = Fix{
	ID:       "optimizer_8bit",
	Title:    "Use an 8-bit optimizer",
	Tradeoff: "None worth mentioning; needs the bitsandbytes package.",
	Cost:     cheap,
	Check:    "`torch.cuda.memory_allocated()` before and after the first `optimizer.step()`: it grows by about 2 bytes for each parameter.",
	Next:     "LoRA; or shard or offload the states.",
	Needs:    Needs{works: []string{"text-training", "vision"}, training: true, branch: "Training", told: "an 8-bit optimizer.", without: fact.SmallOptimizer},
	Told:     "Choose an 8-bit optimizer in the training settings.",
	Steps: step.Paste("python", `import bitsandbytes as bnb

optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=2e-5)   # with the Trainer: optim="adamw_bnb_8bit"`),
}
