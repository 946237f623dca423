package trainer

import (
	"cmp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	validationMeans = "It failed in validation. Validation during training uses twice the training batch (once for oriented boxes, and in old YOLOv5), and in early epochs very many weak boxes go into non-maximum suppression (NMS).[[ {mine} of {full} is this program's own: closing others gains little.]]"
	cacheMeans      = "The images are cached in RAM, decoded: width x height x 3 bytes each after scaling, usually several times the size of their files. 10,000 images of 640 x 640 are 11 GiB. With several cards each rank fills a cache of its own. System memory (RAM) ran out, not the graphics card's."
)

var yolov5Cards = []cause.Card{
	{
		ID: "yolov5/validation", Kinds: refused, Said: []string{"non_max_suppression", "val.run(", `val.py", line`, `test.py", line`}, If: func(c *ledger.Case) bool { return ownCard(c) && c.Near("val.run(", `val.py", line`, `test.py", line`) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in validation", Figures: filled,
		Means: validationMeans,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size: validation halves with it"},
			{Fix: "restart_session", Title: "Validate only after the last epoch", Kind: "text", Told: "Add `--noval` to train.py (before 6.0 `--notest`). A validation of its own can use batch 1:", Text: "`python val.py` (before 6.0 `test.py`) `--weights runs/train/exp/weights/last.pt --data data.yaml --batch-size 1` (your own paths)", Cost: "No best.pt by fitness in between."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"yolov5/train.py", "https://github.com/ultralytics/yolov5/issues/2586"},
	},
	{
		ID: "yolov5/cache-ram", Kinds: ramGone, Said: []string{"Caching images", "--cache ram", "--cache", "cache_images"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled system memory (RAM) with cached images",
		Means: cacheMeans,
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Turn off the image cache, or cache on disk", Kind: "text", Text: "Leave out `--cache`, or use `--cache disk`: it writes the decoded images, at full size, as .npy files beside them.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers"},
			{Fix: "add_swap"},
		},
		Sources: []string{"yolov5/utils/dataloaders.py"},
	},
	stepCard("yolov5/step", []string{"yolov5/train.py", "models/yolo.py", "utils/loss.py"},
		"Memory grows with batch x image size squared, and with the size of the model (n, s, m, l, x). Mixed precision is on already. The gpu_mem column of the progress lines shows whether memory grew from step to step.",
		"--workers and --cache: they use system memory (RAM).", "https://github.com/ultralytics/yolov5/issues/7879",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}

// crowd says how many objects the fullest picture has, by the tensor that the
// assigner makes of all grid points of 640 x 640: four numbers for each.
func crowd(c *ledger.Case) map[string]string {
	out := filled(c)
	out["objects"], out["batch"] = "", ""
	if !c.Near("bbox_deltas") { // later releases compare without them
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
		ID: "ultralytics/assigner", Kinds: refused, Said: []string{"in TaskAlignedAssigner, using CPU", "TaskAlignedAssigner", "select_candidates_in_gts", "bbox_deltas", "get_pos_mask", "get_box_metrics"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out in its assigner: an image with very many objects", Figures: crowd,
		Means: "The assigner compares every grid point with every object: batch x the objects of the FULLEST image x 8,400 points (at 640 pixels).[[ {asked} is what {objects} objects make at batch {batch}.]] One crowded image is enough, so it can fail at any step.[[ Besides, {outside} of the {total} is held outside this program.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size (batch)", Kind: "text", Text: "In `model.train(...)` or the command `yolo`; the default is 16. It halves this matrix and the activations.", Cost: "Slower; gradients are accumulated to 64 either way."},
			{Fix: "upgrade_version", Title: "Update Ultralytics", Told: "From 8.3.30 on it tries again on the CPU (slow, and until July 2026 it often failed there too); releases since September 2026 need less and try again image by image on the card.", Kind: "shell", Text: "pip install --upgrade ultralytics", Cost: "None, as a rule."},
			{Fix: "lower_resolution", Title: "Cut crowded images into tiles", Kind: "text", Text: "Tile the images with hundreds of objects (`wc -l labels/train/*.txt | sort -n | tail`: one line is one object), or lower `imgsz`: 416 has 42 % of the grid points of 640.", Cost: "Objects on the edges are cut."},
		},
		Sources: []string{"ultralytics/ultralytics/utils/tal.py", "https://github.com/ultralytics/ultralytics/pull/17515", "https://github.com/ultralytics/ultralytics/pull/25016", "https://github.com/ultralytics/ultralytics/pull/25240", "https://github.com/ultralytics/ultralytics/pull/25990"}, Solved: 2,
	},
	{
		ID: "ultralytics/results-kept", Kinds: append(append([]fact.Kind{}, refused...), ramGone...), Said: []string{"results will accumulate in RAM", "stream=True"}, If: func(c *ledger.Case) bool { return c.Near("results will accumulate in RAM") },
		Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "kept the results of every frame until memory was full",
		Means: "Its own warning says so: without `stream=True`, predict() returns a list of all results, each with its original frame. A frame of 1920 x 1080 is 6 MB: 1,000 frames are 6 GB, and masks come on top.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Stream the results (stream=True)", Told: "Handle each result and release it:", Kind: "python", Text: "for result in model.predict(source, stream=True):   # source: as in your call\n    boxes = result.boxes.cpu()                       # keep numbers, not `result`", Cost: "None."},
			{Fix: "lower_resolution", Title: "Skip frames of a video", Kind: "text", Text: "Pass `vid_stride=2`: every second frame is read.", Cost: "Fewer frames."},
			{Fix: "lower_batch_size", Title: "Predict some hundred files at a time", Kind: "text", Text: "Call predict() for one group of files after the other and write the results to disk in between.", Cost: "A loop."},
		},
		Sources: []string{"ultralytics/ultralytics/engine/predictor.py", "ultralytics/ultralytics/utils/checks.py"},
	},
	{
		ID: "ultralytics/cache-ram", Kinds: ramGone, Said: []string{"Caching images", "cache=True", "cache='ram'", "cache=ram"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled system memory (RAM) with cached images",
		Means: cacheMeans,
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Turn off the image cache, or cache on disk", Kind: "text", Text: "Pass `cache=False`, or `cache=\"disk\"`: it writes the decoded images, at full size, as .npy files beside them.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers", Title: "Use fewer workers (workers=2)", Kind: "text", Text: "The default is 8 for each card, and each worker holds batches of its own.", Cost: "The card may wait for data."},
			{Fix: "add_swap"},
		},
		Sources: []string{"ultralytics/ultralytics/cfg/default.yaml", "ultralytics/ultralytics/data/base.py"},
	},
	{
		ID: "ultralytics/validation", Kinds: refused, Said: []string{"engine/validator.py", "/val.py", "in run_validation", "in validate"}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in validation", Figures: filled,
		Means: validationMeans,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size: validation halves with it"},
			{Fix: "restart_session", Title: "Validate only after the last epoch (val=False)", Told: "What is trained is saved by then, but for that epoch. A validation of its own can use batch 1:", Kind: "text", Text: "`yolo val model=runs/detect/train/weights/last.pt data=data.yaml batch=1` (your own paths)", Cost: "No metrics between the epochs, and no best.pt chosen by them."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"ultralytics/ultralytics/engine/trainer.py", "https://github.com/ultralytics/ultralytics/issues/7030"},
	},
	stepCard("ultralytics/step", []string{"ultralytics/engine/trainer.py", "ultralytics/nn/", "ultralytics/utils/loss.py"},
		"Memory grows with batch x imgsz squared, and with the size of the model (n, s, m, l, x). Mixed precision is on by default. From 8.4.13 on, with one card, it halves the batch by itself in the first epoch, three times at most. The GPU_mem column of the progress lines shows whether memory jumped at one step (a crowded image) or was full from the first.",
		"`workers` and `cache`: they use system memory (RAM).", "ultralytics/ultralytics/engine/trainer.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
