package papers

import (
	"math/bits"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

// NeRFConfig is krrish94's NeRF, with what is made of it: a YAML file instead of
// options.
var NeRFConfig = program.Program{
	Name: "nerf-config", Rank: above, Shown: "nerf-pytorch (train_nerf.py)", Work: "rendering", Edits: "code", Language: "python",
	Proofs:  []string{"run_one_iter_of_nerf", "nerf/nerf_helpers.py"},
	Carries: []string{"nerf-pytorch"},
	Sources: program.Sources{"nerf-pytorch/config/lego.yml": "chunksize num_random_rays num_coarse num_fine half_res validate_every"},
	Steps: spelling{
		"lower_batch_size": say("In the YAML file, under `nerf`, `train`, halve `num_random_rays` (1024 in the examples)."),
		"lower_resolution": say("Under `nerf`, in `train` and `validation`: `num_coarse: 32` and `num_fine: 32` (64 each in the examples). Blender scenes: `half_res: True` under `dataset`."),
	},
	Titles:   map[string]string{"lower_batch_size": "Use fewer rays per step (num_random_rays)", "lower_resolution": "Sample fewer points on each ray"},
	Costs:    map[string]string{"lower_batch_size": "noisier steps", "lower_resolution": "detail"},
	Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&parts.DataAside},
	Cards: []cause.Card{{
		ID: "nerf-config/validation", Kinds: fromCard, If: when.All(parts.Own, cures.Validating), Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: chunk,
		Headline: "ran out of GPU memory while rendering a whole image for validation",
		Means:    "Training uses a few random rays. Validation renders all pixels of an image, `chunksize` rays at a time, and encodes all points of a chunk in one tensor.[[ {asked} is {rays} rays x {samples} points x 63 values x 4 bytes: `chunksize` is {rays}.]]",
		Not:      "`num_random_rays`: validation has its own chunk size. Turning gradients off: train_nerf.py already does that.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `chunksize` for validation", Told: "In the YAML file[[ (now {plain}). That tensor then takes {then}]].", Kind: "config", Text: "nerf:\n  validation:\n    chunksize: 8192", Cost: "slower; the same images"},
			{Fix: "lower_resolution", Title: "Or sample fewer points on each ray", Told: "Under `nerf`, `validation`: `num_coarse: 32`, `num_fine: 32` (64 each in the examples). Blender scenes: `half_res: True` under `dataset` renders a quarter of the rays."},
			{Fix: "close_other_apps", Title: "Close other programs on the GPU", Told: "Browsers and the desktop take some of it.", Cost: "free"},
		},
		Sources: []string{"nerf-pytorch/train_nerf.py", "nerf-pytorch/nerf/train_utils.py", "nerf-pytorch/config/lego.yml"},
	}, {
		ID: "nerf-config/step", Kinds: fromCard, If: when.All(parts.Own, when.Not(cures.Validating)), Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: parts.Filled,
		Headline: "ran out of GPU memory while computing rays",
		Means:    "A training step computes `num_random_rays` rays x (`num_coarse` + `num_fine`) points and keeps every layer of all of them until the backward pass. Whole images (validation, eval_nerf.py) are rendered in chunks of `chunksize` rays.",
		Not:      "`chunksize` in a training step: the graph of all chunks is kept.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "lower_max_batched_tokens", Title: "If it fails on a whole image: lower `chunksize`", Told: "`chunksize: 8192` under `nerf`, `validation` (131072 in the examples).", Cost: "slower; the same images"},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"nerf-pytorch/nerf/train_utils.py", "nerf-pytorch/config/lego.yml"},
	}},
}

// encoded is how many values a point has after the positional encoding: itself
// and sine and cosine of ten frequencies, for three coordinates.
const encoded = 3 + 3*2*10

// chunk says how many rays the refused tensor is of, where the number fits a
// power of two and the examples' points on a ray.
func chunk(c *ledger.Case) map[string]string {
	out := parts.Filled(c)
	for _, name := range []string{"rays", "samples", "then", "plain"} {
		out[name] = ""
	}
	own := ledger.OwnFrame(c)
	if own == nil || own.Function != "positional_encoding" {
		return out
	}
	for _, samples := range []int64{128, 64, 192} {
		of := samples * encoded * 4
		rays := int64(1) << max(bits.Len64(uint64((c.Asked.Bytes+of/2)/of))-1, 0)
		if off := c.Asked.Bytes - rays*of; rays < 4096 || max(off, -off) > c.Asked.Within+2*units.MiB {
			continue
		}
		out["rays"], out["samples"], out["plain"] = ledger.Thousands(rays), strconv.FormatInt(samples, 10), strconv.FormatInt(rays, 10)
		out["then"] = units.Amount(8192 * of)
		break
	}
	return out
}
