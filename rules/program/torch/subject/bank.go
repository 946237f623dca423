package subject

import (
	"math"
	"strconv"

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
	Headline: "ran out of memory while picking the coreset of the patches[[: {asked} in one piece]]",
	Means:    "All patches of all training images are there: at 224 pixels 784 a picture. {square}",
	Not:      "A smaller batch size: all patches are kept whatever the batch is. A smaller share (`-p`, `coreset_sampling_ratio`): it says how many are picked in the end.",
	Cures: []cause.Cure{
		{Fix: "efficient_attention", If: squared, Title: "Pick without the matrix", Cost: "slower; nearly the same choice", Told: "patchcore-inspection: `sampler -p 0.1 approx_greedy_coreset` in place of `greedy_coreset`: it compares with ten patches at first, then with one at a time."},
		{Fix: "cpu_offload", If: when.Not(squared), Title: "Pick on the CPU", Cost: "minutes to hours", Told: "Move the embedding there before the selection (`.cpu()`), or pick from a random tenth of it."},
		{Fix: "stream_dataset", Title: "Use fewer training images", Cost: "as a rule hardly any accuracy", Told: "A random part of them does as well, as a rule.[[ {enough}]]"},
		{Fix: "lower_resolution", Title: "Or smaller images, fewer layers", Cost: "small defects", Told: "Half the width and height is a quarter of the patches (of all pairs a sixteenth): `--resize 128 --imagesize 112`; one layer (`-le layer2`) or a smaller `--target_embed_dimension` makes each patch shorter."},
	},
	Figures: bankFigures, Sources: []string{"patchcore-inspection/src/patchcore/sampler.py", "patchcore-inspection/sample_training.sh", "https://github.com/amazon-science/patchcore-inspection/issues/69"},
}, {
	ID: "pytorch/patch-bank", Kinds: cures.Refused, If: of(banked, when.Not(picking)), Cause: cause.OversizedAllocation, Weight: cause.Strong,
	Headline: "ran out of memory while comparing patches with those of the training images[[: {asked} in one piece]]",
	Means:    "Every patch of the test image is compared with every patch that was kept of training: test patches x kept patches numbers.[[ {wide}]] So the share that is kept (the coreset), and the images' size, decide.",
	Not:      "More epochs or a smaller training batch: nothing is learned, patches are collected.[[ {settings}.]]",
	Cures: []cause.Cure{
		{Fix: "efficient_attention", If: widened, Title: "Use torch.cdist instead of all differences", Cost: "none", Told: "It never writes out the third axis:", Kind: "python", Text: "dist = torch.cdist(x, self.train_pts)   # x, self.train_pts: two-dimensional, without unsqueeze or expand"},
		{Fix: "lower_batch_size", Title: "Compare in blocks of the test patches", Cost: "hardly slower", Kind: "python", Text: "best = [torch.cdist(part, bank).topk(k, largest=False).values.cpu() for part in x.split(256)]   # bank: the kept patches; k: n_neighbors"},
		{Fix: "stream_dataset", Title: "Keep fewer patches, and train again", Cost: "little accuracy", Told: "A tenth of `--coreset_sampling_ratio` (patchcore-inspection `-p`; anomalib `coreset_sampling_ratio`, 0.1 by default) is a tenth of the table."},
		{Fix: "lower_resolution", Title: "Or smaller images", Cost: "small defects", Told: "Half the width and height: a quarter of both sides."},
	},
	Figures: bankFigures, Sources: []string{"PatchCore_anomaly_detection/train.py", "anomalib/src/anomalib/models/image/patchcore/torch_model.py", "https://github.com/dhkdnduq/PatchCore_anomaly_detection/issues/7"},
}}

// bankFigures say how many patches a matrix of all pairs would be of.
func bankFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["square"], out["enough"], out["wide"] = "The choice goes through them again and again.", "", ""
	if squared(c) {
		out["square"] = "The greedy choice compares each with each: a matrix of patches x patches."
		if rows := int64(math.Sqrt(float64(c.Asked.Bytes) / 4)); rows > 5000 {
			out["square"] += " " + c.Asked.String() + " is one of about " + ledger.Thousands(rows/100*100) + " patches, so " + strconv.FormatInt(rows/784, 10) + " pictures of 224 pixels."
			if c.Total.Has() {
				out["enough"] = "A third of them would be " + strconv.FormatInt((rows/3)*(rows/3)*4>>30, 10) + " GiB."
			}
		}
	}
	if widened(c) {
		out["wide"] = "This line even writes out the difference of every number of every pair: test patches x kept patches x channels."
	}
	return out
}
