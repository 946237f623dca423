package script

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// chamfer: the statement is a step of a Chamfer distance that is written in
// Python, with a matrix for each pair of clouds. Compiled ones have none.
func chamfer(c *ledger.Case) bool {
	s, ok := failing(c)
	if !ok || !s.itself() || !s.says("mm(", "matmul(", " @ ", "einsum(", ".transpose(", ".expand", "unsqueeze(", "cdist(", "torch.min(P", " - ") {
		return false
	}
	own := ledger.OwnFrame(c)
	if named := strings.ToLower(s.function + " " + own.File); strings.Contains(named, "chamfer") {
		return true
	}
	return strings.Contains(s.function, "pairwise_dist") && slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.Contains(f.Source, "hamfer") })
}

// severalMatrices: one matrix is so large that the others of the function would
// not fit on the empty card.
func severalMatrices(c *ledger.Case) bool {
	return cures.OnOneCard(c) && !ledger.Roomy(c) && c.Asked.Bytes*3 > c.Total.Bytes
}

// Cures of a Chamfer distance that is written in Python.
var (
	fewerClouds = cause.Cure{
		Fix: "lower_batch_size", If: when.Not((*ledger.Case).Training), Title: "Compare a few clouds at a time", Cost: "a little slower", Told: "The result is the same. Where `{function}` is called:", Kind: "python",
		Text: "parts = [{function}(x, y) for x, y in zip(a.split(16), b.split(16))]   # a, b: what you pass now\ndist1, dist2 = (torch.cat([p[k] for p in parts]) for k in (0, 1))",
	}
	compiledChamfer = cause.Cure{
		Fix: "efficient_attention", Title: "Or use a compiled Chamfer distance", Cost: "an extension to build",
		Told: "It keeps only the nearest neighbours, not the whole matrix.[[ {accelerated}]] PyTorch3D: `pytorch3d.loss.chamfer_distance`. ChamferDistancePytorch: `dist_chamfer_3D.chamfer_3DDist()`.",
	}
	fewerPoints = cause.Cure{Fix: "lower_resolution", Title: "Or use fewer points", Cost: "detail", Told: "Half the points in both clouds takes a quarter of the memory."}
)

const chamferMeans = "`{function}` compares every point of one cloud with every point of the other. One matrix has batch x points x points values of 4 bytes.[[ {matrix}]] The function usually holds several at once"

var chamferSources = []string{"AtlasNet/training/train_AE_AtlasNet.py", "ChamferDistancePytorch/chamfer_python.py", "pytorch3d/pytorch3d/loss/chamfer.py"}

// chamferCards are about the Chamfer distance of point clouds.
var chamferCards = []cause.Card{{
	ID: "pytorch/chamfer", Kinds: cures.Refused, If: when.All(chamfer, when.Any(unsized, when.All(cures.OnOneCard, cures.OwnCard))),
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: chamferFigures,
	Headline: "ran out of memory in a Chamfer distance: it compares every point with every point",
	Means:    chamferMeans + ", in training with their gradients.",
	Not:      "{futile}.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Lower the batch size", Cost: "slower", Told: "{batch_to} Memory falls in proportion[[: one matrix is then {then}]]."},
		fewerClouds, compiledChamfer, fewerPoints, cures.LookFirst,
	},
	Sources: chamferSources,
}, {
	ID: "pytorch/chamfer-beside", Kinds: cures.Allocators, If: when.All(chamfer, ledger.Crowded, severalMatrices), Among: []string{cause.LeakedProcess}, Figures: chamferFigures,
	Headline: "ran out of memory in a Chamfer distance, on a GPU that something else uses too",
	Means:    "Something outside this program holds {others} of the GPU. An empty GPU may not be enough either: " + chamferMeans + ".",
	Not:      "{futile}.",
	Cures: []cause.Cure{
		cures.EndListed, cures.LookFirst, fewerClouds,
		{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Lower the batch size", Cost: "slower", Told: "{batch_to}"},
		compiledChamfer, cures.OtherCard,
	},
	Sources: chamferSources,
}}

var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w{0,40}$`) })

// chamferFigures reckon one matrix from the batch and the points that the log
// states, else what the refused piece would be.
func chamferFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	s, _ := failing(c)
	for _, name := range []string{"matrix", "then", "accelerated"} {
		out[name] = ""
	}
	if out["function"] = "chamfer"; plainName().MatchString(s.function) {
		out["function"] = s.function
	}
	if out["futile"] = out["no_settings"]; c.Asked.Has() {
		out["futile"] = out["settings"]
	}
	if strings.Contains(ledger.OwnFrame(c).File, "AtlasNet") {
		out["accelerated"] = "AtlasNet: `python setup.py install` in its folder `extension`, then `--accelerated_chamfer 1`."
	}
	batch, points := ledger.IntSetting(c, fact.OptionBatch), 0
	if x, ok := c.Setting(fact.OptionLength); ok && strings.Contains(strings.ToLower(x.Flag), "point") {
		points = step.Divided(x.Value, 1)
	}
	out["batch_to"] = "A quarter of the present batch size."
	few := batch / 4
	if x, ok := c.Setting(fact.OptionBatch); ok && few > 0 {
		out["batch_to"] = fmt.Sprintf("`%s` %d to %d.", step.OptionName(x), batch, few)
	}
	switch size := int64(batch) * int64(points) * int64(points) * 4; {
	case size > 0:
		out["matrix"] = fmt.Sprintf("With a batch of %d and %s points one matrix is %s.", batch, ledger.Thousands(int64(points)), units.Amount(size))
		if few > 0 {
			out["then"] = units.Amount(size / int64(batch) * int64(few))
		}
	case batch > 0 && c.Asked.Has():
		out["matrix"] = fmt.Sprintf("With a batch of %d, %s means about %s points in each cloud.", batch, c.Asked, ledger.Thousands(int64(math.Sqrt(float64(c.Asked.Bytes)/4/float64(batch)))))
	case c.Asked.Has() && c.Asked.Bytes > 4*2048*2048:
		out["matrix"] = fmt.Sprintf("At 2,048 points per cloud, %s would be a batch of %d.", c.Asked, (c.Asked.Bytes+2*2048*2048)/(4*2048*2048))
	}
	return out
}
