package fix

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var mixedPrecision = Fix{
	ID:       "mixed_precision",
	Title:    "Train in mixed precision",
	Tradeoff: "Usually faster; float16 needs a scaler against overflow.",
	Cost:     cheap,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Needs:    Needs{works: trained, training: true, python: true, branch: "Training", told: "mixed precision (`torch.autocast`).", without: fact.MixedPrecision},
	Told:     "Turn mixed precision (fp16 or bf16) on in the training settings.",
	Steps: func(c *ledger.Case) []step.Step {
		if c.Backend == "mps" {
			return []step.Step{{Kind: "python", Text: "with torch.autocast(\"mps\", dtype=torch.float16):   # PyTorch 2.5 and later\n    loss = model(**batch).loss"}}
		}
		return []step.Step{{Kind: "python", Text: `half = ` + reader.HalfType(c) + `
scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)
with torch.autocast("cuda", dtype=half):
    loss = model(**batch).loss
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()`}}
	},
}
