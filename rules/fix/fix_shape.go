package fix

import "github.com/oomdoc/oomdoc/rules/step"

var fixShape = Fix{
	ID:    "fix_shape",
	Title: "Look for the shape that is wrong",
	Doc: []string{
		"A request of hundreds of GiB is no lack of memory: it is a tensor nobody meant. Typical are broadcasting `(N,)` against `(N, 1)`, which gives N x N; labels of the wrong type; one enormous sample among small ones; a length that overflowed.",
		"Print the shapes before the failing line, or run the step on one sample on the processor.",
	},
	Tradeoff: "An hour of looking.",
	Cost:     0.2,
	Check:    "The printed shapes are the ones you expect.",
	Next:     "If every shape is as meant, the algorithm needs the square of the input: use one that works in pieces.",
	Steps: step.Paste("python", `for name, value in list(locals().items()):
    if hasattr(value, "shape"):
        print(name, tuple(value.shape), value.dtype)`),
}
