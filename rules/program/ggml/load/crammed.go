package load

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
)

// FailingCard is the model of the card that refused, "" where the log does not
// name it.
func FailingCard(c *ledger.Case) string {
	name := ""
	for _, d := range c.Facts.Devices {
		if d.Name != "" && MayFail(c, d) {
			if name != "" && name != d.Name {
				return ""
			}
			name = d.Name
		}
	}
	return name
}

// LoadedBefore: weights were put on a card before that line.
func LoadedBefore(c *ledger.Case, line int) bool {
	return slices.ContainsFunc(c.Facts.Buffers, func(b fact.Buffer) bool {
		return b.Kind == "weights" && !fact.HostMemory(b.Device) && b.Size.Line < line
	})
}

// Crammed is the size of a GPU that is known by its name and whose weights were
// refused in one piece of less than a third of it: CUDA and ROCm take those of one
// device in one piece, so that most of it was in use before. 0 where the log does not
// show that.
func Crammed(c *ledger.Case) int64 {
	name := FailingCard(c)
	card, known := fit.Card(name)
	listed := slices.ContainsFunc(c.Facts.Devices, func(d fact.Device) bool { return d.Free != nil && MayFail(c, d) })
	if asked := ledger.Requested(c); !known || listed || strings.Contains(name, "MIG") || books.SharesMemory(name) || ledger.InHost(c) || LoadedBefore(c, c.Failure.Line) || c.Backend != "cuda" && c.Backend != "rocm" || asked == 0 || asked*3 >= card.TotalBytes {
		return 0
	}
	return card.TotalBytes
}
