package subject

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// banked: patches of all training images are kept and compared.
var banked = says("patchcore", "coreset", "train_pts", "k_center", "kcenter", "embedding_test")

// picking: a part of them is being chosen.
var picking = says("coreset_indices", "_fill_memory_bank", "featuresampler", "k_center", "kcenter", "select_coreset", "subsample_embedding", "greedy")

// squared: all patches are compared with all.
var squared = says("features, features)", "_compute_batchwise_differences(features, features", "distance_matrix = ")

// widened: differences of all pairs are written out, number by number.
var widened = says("x - y", ".pow(x", "distance_matrix(x")

// bankCards are about anomaly detection by nearest patches.
var bankCards = []cause.Card{{
	ID: "pytorch/patch-bank-picked", Kinds: cures.Refused, If: of(banked, picking), Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "ran out of memory while selecting the coreset of image patches[[: {asked} at once]]",
	Means:    "The selection holds the patches of all training images, often 784 per image at 224 pixels. {square}",
	Not:      "A smaller batch size: all patches are kept anyway. A smaller `-p` or `coreset_sampling_ratio`: it only sets how many are selected in the end.",
	Cures: []cause.Cure{
		{Fix: "efficient_attention", If: squared, Title: "Select without the full matrix", Cost: "slower; nearly the same choice", Told: "patchcore-inspection: `sampler -p 0.1 approx_greedy_coreset` in place of `greedy_coreset`."},
		{Fix: "cpu_offload", If: when.Not(squared), Title: "Select on the CPU", Cost: "minutes to hours", Told: "Move the embedding to the CPU before the selection (`.cpu()`), or select from a random tenth of it."},
		{Fix: "stream_dataset", Title: "Use fewer training images", Cost: "usually little accuracy", Told: "A random subset is usually enough.[[ {enough}]]"},
		{Fix: "lower_resolution", Title: "Or use smaller images", Cost: "may miss small defects", Told: "Half the width and height gives a quarter of the patches, and a sixteenth of all pairs. patchcore-inspection: `--resize 128 --imagesize 112`."},
	},
	Figures: bankFigures, Sources: []string{"patchcore-inspection/src/patchcore/sampler.py", "patchcore-inspection/sample_training.sh", "https://github.com/amazon-science/patchcore-inspection/issues/69"},
}, {
	ID: "pytorch/patch-bank", Kinds: cures.Refused, If: of(banked, when.Not(picking)), Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "ran out of memory while comparing image patches with those from training[[: {asked} at once]]",
	Means:    "Every patch of the test images is compared with every patch kept from training.[[ {wide}]] So memory grows with the size of the coreset and with the image size.",
	Not:      "A smaller training batch: it does not change the number of kept patches.[[ {settings}.]]",
	Cures: []cause.Cure{
		{Fix: "efficient_attention", If: widened, Title: "Use torch.cdist instead of all differences", Cost: "none", Told: "It does not store the third dimension:", Kind: "python", Text: "dist = torch.cdist(x, self.train_pts)   # x, self.train_pts: two-dimensional, without unsqueeze or expand"},
		{Fix: "lower_batch_size", Title: "Compare in blocks of the test patches", Cost: "hardly slower", Kind: "python", Text: "best = [torch.cdist(part, bank).topk(k, largest=False).values.cpu() for part in x.split(256)]   # bank: the kept patches; k: n_neighbors"},
		{Fix: "stream_dataset", Title: "Keep fewer patches, and train again", Cost: "little accuracy", Told: "Lower `coreset_sampling_ratio` (anomalib, default 0.1; patchcore-inspection: `-p`). A tenth of it takes a tenth of the memory."},
		{Fix: "lower_resolution", Title: "Or use smaller images", Cost: "may miss small defects", Told: "Half the width and height gives a quarter of the patches, on both sides."},
	},
	Figures: bankFigures, Sources: []string{"PatchCore_anomaly_detection/train.py", "anomalib/src/anomalib/models/image/patchcore/torch_model.py", "https://github.com/dhkdnduq/PatchCore_anomaly_detection/issues/7"},
}}

// bankFigures say how many patches a matrix of all pairs would be of.
func bankFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["square"], out["enough"], out["wide"] = "It compares them again and again.", "", ""
	if squared(c) {
		out["square"] = "The greedy selection compares each with each: a matrix of patches x patches."
		if rows := int64(math.Sqrt(float64(c.Asked.Bytes) / 4)); rows > 5000 {
			out["square"] += " " + c.Asked.String() + " fits about " + ledger.Thousands(rows/100*100) + " patches, or " + strconv.FormatInt(rows/784, 10) + " such images."
			if c.Total.Has() {
				out["enough"] = "A third of them would take " + units.Amount(c.Asked.Bytes/9) + "."
			}
		}
	}
	if widened(c) {
		out["wide"] = "This line even stores a difference per channel: test patches x kept patches x channels."
	}
	return out
}
