package fix

import "github.com/oomdoc/oomdoc/rules/step"

var inferenceMode = Fix{
	ID:       "inference_mode",
	Title:    "Run it without gradients",
	Tradeoff: "None, as long as no gradients are wanted there.",
	Cost:     0.02,
	Check:    "`torch.cuda.memory_allocated()` printed after each input stays the same instead of climbing.",
	Next:     "If it still climbs, look for lists that keep tensors.",
	Steps: step.Paste("python", `model.eval()
with torch.inference_mode():
    output = model(**inputs)`),
}
