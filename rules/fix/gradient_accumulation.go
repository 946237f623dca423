package fix

import "github.com/oomdoc/oomdoc/rules/step"

var gradientAccumulation = Fix{
	ID:       "gradient_accumulation",
	Title:    "Accumulate gradients over smaller batches",
	Tradeoff: "Time per step; the result is the same.",
	Cost:     cheap,
	Check:    checkStep,
	Next:     "Gradient checkpointing.",
	Needs:    Needs{works: trained, training: true, branch: "Training", told: "smaller batches with gradient accumulation."},
	Told:     "Use a smaller batch with gradient accumulation, in the training settings.",
	Steps: step.Paste("python", `steps = 8
for i, batch in enumerate(loader):          # batch size divided by 8
    loss = model(**batch).loss / steps
    loss.backward()
    if (i + 1) % steps == 0:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)`),
}
