package fix

import "github.com/oomdoc/oomdoc/rules/step"

var inferenceMode = Fix{
	ID:    "inference_mode",
	Title: "Run it without gradients",
	Doc: []string{
		"Outside training PyTorch still records everything for a backward pass that never comes, unless told not to. `torch.inference_mode()` (or `torch.no_grad()`) switches that off, and the values of a layer are dropped as soon as the next one has them. Validation inside a training loop needs it too; `model.eval()` alone does not do it.",
		"`generate()` of transformers and serving programs do it already: there it changes nothing.",
	},
	Tradeoff: "None, as long as no gradients are wanted there.",
	Cost:     0.02,
	Check:    "`torch.cuda.memory_allocated()` printed after each input stays the same instead of climbing.",
	Next:     "If it still climbs, look for lists that keep tensors.",
	Steps: step.Paste("python", `model.eval()
with torch.inference_mode():
    output = model(**inputs)`),
}
