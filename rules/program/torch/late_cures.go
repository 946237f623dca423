package torch

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// keptOld is for a PyTorch so old that little else is to be had.
var keptOld = cause.Cure{Fix: "detach_accumulated", If: when.All(ledger.Before2020, cures.LateStep), Title: "If it fails only after many steps: stop keeping tensors", Cost: "none", Told: "Use `total += loss.item()`, not `total += loss`. Evaluate under `torch.no_grad()`, and load checkpoints with `torch.load(path, map_location=\"cpu\")`."}

// boundFirst is boundLargest where samples vary in length by their nature.
var boundFirst = cause.Cure{Fix: boundLargest.Fix, If: varies, Title: "Limit the largest batch, and see whether memory climbs", Cost: boundLargest.Cost, Told: boundLargest.Told, Kind: "python", Text: keepNumbers.Text}

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
		out["outside"] = "A message without figures usually comes from outside PyTorch's allocator (NCCL, another library), where only memory that PyTorch has not reserved counts."
	}
	return out
}

// driverFigures say what the place of a failure tells where the message has no
// figures.
func driverFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	if out["later"] = out["kept"]; ledger.Before2020(c) {
		out["later"] = "" // keptOld says it
	}
	if out["doing"] == "" && ledger.FailedAt(c, "backward") != nil {
		out["doing"] = "It stopped in the backward pass, so the forward pass of this batch fitted: a slightly smaller batch or shorter samples may be enough."
	}
	return out
}

// countless: a PyTorch before 0.4, which has no torch.cuda.memory_allocated().
func countless(c *ledger.Case) bool { v := code.Latest(c); return v != 0 && v < 4 }
