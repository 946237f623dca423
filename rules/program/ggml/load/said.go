package load

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
)

// ContextInPiece: the refused buffer grows with the context.
func ContextInPiece(c *ledger.Case) bool { return !dialect.FlashOn(c) || c.Failure.Stage == "kv" }

// OneDevice: the list shows a single device.
func OneDevice(c *ledger.Case) bool { return len(c.Facts.Devices) == 1 }

// OneSlot: the log says that there is one.
func OneSlot(c *ledger.Case) bool { return Count(c, "n_seq_max", 256) == 1 }

// Mapped is how builds say that they map the file.
var Mapped = []string{"(mmap = true"}

// MapsFile: the log says that the file is mapped.
func MapsFile(c *ledger.Case) bool { return c.Near(Mapped...) }

// TokensFor is the context whose attention over so many heads would fill a compute
// buffer without flash attention.
func TokensFor(bytes, batch, heads int64) string {
	n := bytes / (batch * 4 * (heads + 1))
	if n < 4096 {
		return ""
	}
	return ledger.Thousands(n / 1000 * 1000)
}
