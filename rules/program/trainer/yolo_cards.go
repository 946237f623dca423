package trainer

import (
	"cmp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	validationMeans = "It failed in validation, after training steps that fitted. Detection is validated with TWICE the training batch, and in early epochs very many weak boxes go into the suppression.[[ {mine} of {full} is this program's own: others are not the reason.]]"
	cacheMeans      = "The images are being cached in RAM, decoded: width x height x 3 bytes each after scaling, about ten times their files. 10,000 images of 640 x 640 are 11 GiB. Training on several cards, each rank fills a cache of its own. The system ended the process when RAM was full; the graphics card plays no part."
)

var yolov5Cards = []cause.Card{
	{
		ID: "yolov5/validation", Kinds: refused, Said: []string{"non_max_suppression", "val.run(", `val.py", line`, `test.py", line`}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out in validation, not in training", Figures: filled,
		Means: validationMeans,
		Not:   "--cache: it keeps images in system memory, not on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch: validation halves with it"},
			{Fix: "restart_session", Title: "Or validate once, afterwards", Kind: "text", Told: "Add `--noval` to train.py: only the last epoch is validated. Then, with as small a batch as you like:", Text: "`python val.py --weights runs/train/exp/weights/last.pt --data data.yaml --batch-size 1` (your own paths)", Cost: "No best.pt by fitness in between."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"yolov5/train.py", "https://github.com/ultralytics/yolov5/issues/2586"},
	},
	{
		ID: "yolov5/cache-ram", Kinds: ramGone, Said: []string{"Caching images", "--cache ram", "--cache", "cache_images"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled the computer's memory with cached images",
		Means: cacheMeans,
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Do not cache, or cache on disk", Kind: "text", Text: "Leave `--cache` out, or write `--cache disk`: the same arrays as .npy files beside the images.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers"},
			{Fix: "add_swap"},
		},
		Sources: []string{"yolov5/utils/dataloaders.py"},
	},
	stepCard("yolov5/step", []string{"yolov5/train.py", "models/yolo.py", "utils/loss.py"},
		"It failed in a training step: batch x image size squared decides, and the letter of the model. Mixed precision is on already. The gpu_mem column above shows whether it grew from step to step.",
		"--workers and --cache: they are about system memory.", "https://github.com/ultralytics/yolov5/issues/7879",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}

// crowd says how many objects the fullest picture has, by the tensor that the
// assigner makes of all grid points of 640 x 640: four numbers for each.
func crowd(c *ledger.Case) map[string]string {
	out := filled(c)
	out["objects"], out["batch"] = "", ""
	if !c.Near("select_candidates_in_gts") {
		return out
	}
	all := ledger.Requested(c) / (8400 * 16)
	if batch := int64(cmp.Or(ledger.IntSetting(c, "batch", "batch_size"), 16)); all >= 200 && all < 1_000_000 {
		out["batch"], out["objects"] = ledger.Thousands(batch), ledger.Thousands(tidy(all/batch))
	}
	return out
}

var ultralyticsCards = []cause.Card{
	{
		ID: "ultralytics/assigner", Kinds: refused, Said: []string{"in TaskAlignedAssigner, using CPU", "TaskAlignedAssigner", "select_candidates_in_gts", "get_pos_mask", "get_box_metrics"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out in its assigner: an image with very many objects", Figures: crowd,
		Means: "The assigner compares every grid point with every object: batch x the objects of the FULLEST image x 8,400 points (at 640 pixels).[[ {asked} is what {objects} objects make at batch {batch}.]] One crowded image is enough, so memory jumps at random steps, and stays that high afterwards.[[ Besides, {outside} of the {total} is held outside this program.]]",
		Not:   "A smaller model: the matrix depends on objects and image size.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch", Kind: "text", Text: "`batch=8`, then 4, in `model.train(...)` or the command `yolo`: it halves this matrix and everything else. `batch=-1` measures the card, newer releases with the crowd in mind.", Cost: "Slower; gradients are accumulated to 64 either way."},
			{Fix: "upgrade_version", Title: "Update Ultralytics", Told: "From 8.3.30 on it tries again on the CPU (slow); releases since summer 2026 need a fraction and go image by image.", Kind: "shell", Text: "pip install --upgrade ultralytics", Cost: "None, as a rule."},
			{Fix: "lower_resolution", Title: "Split crowded images", Kind: "text", Text: "Tile the images with hundreds of objects (each label file has a line an object: `wc -l labels/train/*.txt | sort -n | tail`), or lower `imgsz`: 416 has 42 % of the grid points of 640.", Cost: "Objects on the edges are cut."},
		},
		Sources: []string{"ultralytics/ultralytics/utils/tal.py", "https://github.com/ultralytics/ultralytics/pull/17515", "https://github.com/ultralytics/ultralytics/pull/25240", "https://github.com/ultralytics/ultralytics/pull/25990"}, Solved: 2,
	},
	{
		ID: "ultralytics/results-kept", Kinds: append(append([]fact.Kind{}, refused...), ramGone...), Said: []string{"inference results will accumulate in RAM", "stream=True"},
		Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "kept the results of every frame until memory was full",
		Means: "Its own warning above says it: without `stream=True`, predict() returns a list of all results, each with its original frame. A frame of 1920 x 1080 is 6 MB: 1,000 frames are 6 GB, and masks come on top.",
		Not:   "A smaller imgsz: the originals are kept at full size.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Stream the results", Told: "Handle each result and let it go:", Kind: "python", Text: "for result in model.predict(source, stream=True):   # source: as in your call\n    boxes = result.boxes.cpu()                       # keep numbers, not `result`", Cost: "None."},
			{Fix: "lower_resolution", Title: "Skip frames of a video", Kind: "text", Text: "Pass `vid_stride=2`: every second frame is read.", Cost: "Fewer frames."},
			{Fix: "lower_batch_size", Title: "Many images: a folder at a time", Kind: "text", Text: "Call predict() for some hundred files each and write the results to disk in between.", Cost: "A loop."},
		},
		Sources: []string{"ultralytics/ultralytics/engine/predictor.py", "ultralytics/ultralytics/utils/checks.py"},
	},
	{
		ID: "ultralytics/cache-ram", Kinds: ramGone, Said: []string{"Caching images", "cache=True", "cache='ram'", "cache=ram"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled the computer's memory with cached images",
		Means: cacheMeans,
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Do not cache, or cache on disk", Kind: "text", Text: "Pass `cache=False`, or `cache=\"disk\"`: the same arrays as .npy files beside the images.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers", Title: "Fewer workers", Kind: "text", Text: "Pass `workers=2` (default 8, for each card): each holds batches of its own.", Cost: "The card may wait for data."},
			{Fix: "add_swap"},
		},
		Sources: []string{"ultralytics/ultralytics/cfg/default.yaml", "ultralytics/ultralytics/data/base.py"},
	},
	{
		ID: "ultralytics/validation", Kinds: refused, Said: []string{"engine/validator.py", "/val.py", "in run_validation", "in validate"}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out in validation, not in training", Figures: filled,
		Means: validationMeans,
		Not:   "amp: validation runs in 16 bit already.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch: validation halves with it"},
			{Fix: "restart_session", Title: "Or validate afterwards, alone", Told: "Train with `val=False`, then:", Kind: "text", Text: "`yolo val model=runs/detect/train/weights/last.pt data=data.yaml batch=1` (your own paths)", Cost: "No metrics between the epochs, no best.pt by them."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"ultralytics/ultralytics/engine/trainer.py", "https://github.com/ultralytics/ultralytics/issues/7030"},
	},
	stepCard("ultralytics/step", []string{"ultralytics/engine/trainer.py", "ultralytics/nn/", "ultralytics/utils/loss.py"},
		"It failed in a training step: batch x imgsz squared decides, and the letter of the model. Mixed precision is on already. The GPU_mem column above shows whether it jumped at one step (a crowded image) or was full from the first.",
		"`workers` and `cache`: they are about system memory.", "ultralytics/ultralytics/cfg/default.yaml",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
