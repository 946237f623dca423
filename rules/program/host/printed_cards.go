package host

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
)

// largestPrinted is the largest array whose shape the program printed soon before
// it was ended.
func largestPrinted(c *ledger.Case) (shape string, bytes int64, typed bool) {
	for _, x := range c.Facts.Facts {
		if x.Name != "printed_shape" || x.Line > c.Failure.Line || c.Failure.Line-x.Line > 60 {
			continue
		}
		if s, n, ok := calls.SizeOfPrinted(x.Text); n > bytes {
			shape, bytes, typed = s, n, ok
		}
	}
	return shape, bytes, typed
}

func printedFigures(c *ledger.Case) map[string]string {
	shape, bytes, typed := largestPrinted(c)
	if bytes == 0 {
		return nil
	}
	out := map[string]string{"shape": shape, "bytes": units.Amount(bytes), "half": units.Amount(bytes / 2), "if": ""}
	if !typed {
		out["if"] = " if its numbers are 64 bit, NumPy's default"
	}
	return out
}

// printedArray is about a script that shows the size of what it makes.
var printedArray = cause.Card{
	ID: "linux/printed-array", Kinds: []fact.Kind{fact.ShellKilled, fact.ContainerKill}, If: func(c *ledger.Case) bool { _, bytes, _ := largestPrinted(c); return bytes >= 4*units.GiB }, Figures: printedFigures,
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "killed the program, most likely because RAM ran out: one of its arrays takes {bytes}",
	Means: "The program printed an array of shape {shape}: that is {bytes}[[{if}]]. Each copy takes as much again: another type, `np.concatenate`, a split, a transpose that is made contiguous. Signal 9 then came from the kernel, or from a container's limit.",
	Not:   "A smaller batch: the whole array exists before any batch.",
	Cures: []cause.Cure{
		{Fix: "half_precision", Title: "Use float32, or the type that the data has", Told: "Set it where the array is first made, not afterwards: {half} instead of {bytes} with float32, an eighth with uint8 (pixels).", Cost: "digits that are rarely needed"},
		{Fix: "stream_dataset", Title: "Build and use a part of it at a time", Told: "Loop over some thousand rows: cut, compute, and keep only the result. Or put it on disk: `np.lib.format.open_memmap(\"x.npy\", mode=\"w+\", dtype=np.float32, shape=...)`.", Cost: "some rewriting"},
		askKernel, swapForPeak,
	},
	Sources: []string{"linux/mm/oom_kill.c", "https://numpy.org/doc/stable/reference/generated/numpy.lib.format.open_memmap.html"},
}
