package fix

import "github.com/oomdoc/oomdoc/parsers/fact"

var mixedPrecision = Fix{
	ID:       "mixed_precision",
	Title:    "Train in mixed precision",
	Tradeoff: "Usually faster; float16 needs a scaler against overflow.",
	Cost:     cheap,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Needs:    Needs{works: trained, training: true, python: true, branch: "Training", told: "mixed precision (`torch.autocast`).", without: fact.MixedPrecision},
	Told:     "Turn mixed precision (fp16 or bf16) on in the training settings.",
}
