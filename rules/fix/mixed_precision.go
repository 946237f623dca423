package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var mixedPrecision = Fix{
	ID:    "mixed_precision",
	Title: "Train in mixed precision",
	Doc: []string{
		"With autocast the intermediate values are 16 bit, half of what they were; weights and optimizer states stay at 32 bit, so it helps where activations dominate and not where the optimizer does. bfloat16 from NVIDIA's Ampere generation on; float16 with a gradient scaler on older cards.",
	},
	Tradeoff: "Usually faster; float16 needs a scaler against overflow.",
	Cost:     0.15,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "python", Text: `half = ` + reader.HalfType(c) + `
scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)
with torch.autocast("cuda", dtype=half):
    loss = model(**batch).loss
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()`}}
	},
}
