package torch

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

// keptOld is for a PyTorch so old that little else is to be had.
var keptOld = cause.Cure{Fix: "detach_accumulated", If: ledger.Before2020, Title: "It dies after many steps: something is kept", Cost: "none", Told: "Add up `loss.item()`, not `loss`; in the evaluation `with torch.no_grad():`; a checkpoint with `torch.load(path, map_location=\"cpu\")`."}

// boundFirst is boundLargest where samples vary in length by their nature.
var boundFirst = cause.Cure{Fix: boundLargest.Fix, If: varies, Title: "Bound the largest batch, and see whether it climbs", Cost: boundLargest.Cost, Told: boundLargest.Told, Kind: "python", Text: keepNumbers.Text}

// varies: recordings or texts, of which each has a length of its own.
func varies(c *ledger.Case) bool {
	return c.Reader.Work == "audio" || strings.HasPrefix(c.Reader.Work, "text") || slices.ContainsFunc(c.Facts.Talk, func(x fact.Word) bool {
		return strings.Contains(x.Text, "ctc") || strings.Contains(x.Text, "seq_len") || strings.Contains(x.Text, "wav")
	})
}

// lateFigures say where a message without figures may come from.
func lateFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["outside"] = ""
	if latest := code.Latest(c); !ledger.Before2020(c) && (latest == 0 || latest > 100) {
		out["outside"] = "It is no message of PyTorch's allocator, which gives figures: a call beside it was refused (NCCL, a library's kernels, a context), for which only what PyTorch has not reserved is left."
	}
	return out
}
