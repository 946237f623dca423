package lookalike

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Setup reads the commonest errors that keep a program from starting, or end it,
// and have nothing to do with memory. It speaks where the log shows no failure
// in whatever words and nothing that reads like one, so it comes after
// [plain.Parser].
var Setup = text.Parser{
	Name: "setup", Keywords: text.Literals(setupWordings()),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		if len(f.Failures)+len(f.Lookalikes) == 0 {
			text.ParseWordings(setupWordings(), l, hits, f)
			for _, weaker := range [...]string{"worker_gone", "kernel_died", "aborted"} { // what it ended over is told already
				if len(f.Lookalikes) > 1 {
					f.Lookalikes = slices.DeleteFunc(f.Lookalikes, func(x fact.Lookalike) bool { return x.ID == weaker })
				}
			}
		}
	},
}

func setupWordings() []text.Wording { return wordings(section("startup")) }

// Healthy reads the status lines of programs that go on: how full a pool is, what
// is planned to lie in RAM. It speaks where nothing else is to be said.
var Healthy = text.Parser{
	Name: "healthy", Context: text.Literals(healthyWordings()),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		if len(f.Failures)+len(f.Lookalikes)+len(f.Notices) == 0 {
			text.ParseWordings(healthyWordings(), l, hits, f)
		}
	},
}

func healthyWordings() []text.Wording { return wordings(section("healthy")) }
