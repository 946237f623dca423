package fix

import "github.com/oomdoc/oomdoc/parsers/fact"

var optimizer8Bit = Fix{
	ID:       "optimizer_8bit",
	Title:    "Use an 8-bit optimizer",
	Tradeoff: "None worth mentioning; needs the bitsandbytes package.",
	Cost:     cheap,
	Check:    "`torch.cuda.memory_allocated()` before and after the first `optimizer.step()`: it grows by about 2 bytes for each parameter.",
	Next:     "LoRA; or shard or offload the states.",
	Needs:    Needs{works: []string{"text-training", "vision"}, training: true, branch: "Training", told: "an 8-bit optimizer.", without: fact.SmallOptimizer},
	Told:     "Choose an 8-bit optimizer in the training settings.",
}
