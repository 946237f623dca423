package fix

import "github.com/oomdoc/oomdoc/rules/step"

var fixShape = Fix{
	ID:       "fix_shape",
	Title:    "Look for the shape that is wrong",
	Tradeoff: "An hour of looking.",
	Cost:     moderate,
	Check:    "The printed shapes are the ones you expect.",
	Next:     "If every shape is as meant, the algorithm needs the square of the input: use one that works in pieces.",
	Told:     "Print the shapes just before the failing line and look for the size that is wrong.",
	Steps: step.Paste("python", `for name, value in list(locals().items()):
    if hasattr(value, "shape"):
        print(name, tuple(value.shape), value.dtype)`),
}
