package trainer

import (
	"cmp"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	validationMeans = "It failed in validation, not in a training step. Validation usually runs with twice the training batch size, and in early epochs very many weak boxes go into non-maximum suppression (NMS)."
	cacheMeans      = "The image cache keeps decoded images in system RAM: width x height x 3 bytes each, several times the size of the files. 10,000 images of 640 x 640 take 11 GiB. With several GPUs each process fills its own cache."
)

var yolov5Cards = []cause.Card{
	{
		ID: "yolov5/validation", Kinds: parts.Refused, Said: []string{"non_max_suppression", "val.run(", `val.py", line`, `test.py", line`}, If: func(c *ledger.Case) bool {
			return parts.Own(c) && c.Near("val.run(", `val.py", line`, `test.py", line`)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in validation", Figures: parts.Filled,
		Means: validationMeans,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size: validation halves with it"},
			{Fix: "restart_session", Title: "Or validate only after the last epoch", Kind: "text", Told: "Add `--noval` to train.py (before 6.0 `--notest`). A separate validation can use batch size 1:", Text: "`python val.py` (before 6.0 `test.py`) `--weights runs/train/exp/weights/last.pt --data data.yaml --batch-size 1` (your own paths)", Cost: "No best.pt from earlier epochs."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"yolov5/train.py", "https://github.com/ultralytics/yolov5/issues/2586"},
	},
	{
		ID: "yolov5/cache-ram", Kinds: parts.RAMGone, Said: []string{"Caching images", "--cache ram", "--cache", "cache_images"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled system memory (RAM) with cached images",
		Means: cacheMeans,
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Turn off the image cache, or cache on disk", Kind: "text", Text: "Remove `--cache`, or use `--cache disk`, which stores the decoded images as .npy files beside the originals.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers"},
			{Fix: "add_swap"},
		},
		Sources: []string{"yolov5/utils/dataloaders.py"},
	},
	parts.EvaluationCard("yolov5/detect", []string{"detect.py", "yolov5/detect.py", "models/common.py"},
		"detect.py takes one image or frame at a time. So its size (`--imgsz`) and the model decide; `--augment` adds larger copies of it.",
		"A batch size: detect.py has none.", "yolov5/detect.py",
		cause.Cure{Fix: "lower_resolution", Title: "Lower the image size (--imgsz)", Steps: func(c *ledger.Case) []step.Step {
			return parts.Typed("detect.py", step.Change{Flag: "--imgsz", Value: parts.HalfOf(c, 640, "imgsz", "img", "img_size")}, step.Change{Flag: "--img", Drop: true}, step.Change{Flag: "--img-size", Drop: true}, step.Change{Flag: "--augment", Drop: true})(c)
		}, Cost: "small objects are found less well"},
		cause.Cure{Fix: "half_precision", If: when.Not(parts.Shows("--half")), Title: "Compute in 16 bit (--half)", Kind: "text", Text: "Add `--half` to your command.", Cost: "hardly any quality"},
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Kind: "text", Text: "yolov5m for yolov5x, yolov5s for yolov5m. For small objects in large images cut the images into tiles of 1280 pixels instead.", Cost: "some accuracy"}, parts.FreeOthers),
	parts.StepCard("yolov5/step", []string{"yolov5/train.py", "models/yolo.py", "utils/loss.py"},
		"Memory grows with the batch size, the square of the image size, and the model size (n, s, m, l, x). Mixed precision is already on.",
		"`--workers` and `--cache`: they use system RAM.", "https://github.com/ultralytics/yolov5/issues/7879",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}

// crowd says how many objects the fullest picture has, by the tensor that the
// assigner makes of all grid points of 640 x 640: four numbers for each.
func crowd(c *ledger.Case) map[string]string {
	out := parts.Filled(c)
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
		ID: "ultralytics/assigner", Kinds: parts.Refused, Said: []string{"in TaskAlignedAssigner, using CPU", "TaskAlignedAssigner", "select_candidates_in_gts", "bbox_deltas", "get_pos_mask", "get_box_metrics"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out of memory in the label assigner: probably an image with very many objects", Figures: crowd,
		Means: "The assigner compares every grid point with every object: batch x objects in the FULLEST image x 8,400 points (at 640 pixels).[[ {asked} fits {objects} objects at batch {batch}.]] One crowded image is enough, so it can fail at any step.[[ Something outside this program also holds {outside}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size (batch)", Steps: ultralyticsBatch, Cost: "Slower; gradients are accumulated to 64 anyway."},
			{Fix: "upgrade_version", Title: "Update Ultralytics", Told: "Since 8.3.30 it retries on the CPU (slow). Releases since September 2026 need less memory and retry image by image on the GPU.", Kind: "shell", Text: "pip install --upgrade ultralytics", Cost: "Usually none."},
			{Fix: "lower_resolution", Title: "Cut crowded images into tiles", Kind: "text", Text: "`wc -l labels/train/*.txt | sort -n | tail` lists the images with the most objects (one line each). Tile those, or lower `imgsz`: 416 has 42 % of the grid points of 640.", Cost: "Objects at the edges are cut."},
		},
		Sources: []string{"ultralytics/ultralytics/utils/tal.py", "https://github.com/ultralytics/ultralytics/pull/17515", "https://github.com/ultralytics/ultralytics/pull/25016", "https://github.com/ultralytics/ultralytics/pull/25240", "https://github.com/ultralytics/ultralytics/pull/25990"}, Solved: 2,
	},
	{
		// utils/tal.py makes them after the assigner has chosen its points.
		ID: "ultralytics/targets", Kinds: parts.Refused, Said: []string{"in get_targets", "fg_scores_mask"}, If: (*ledger.Case).Training,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory in the label assigner's table of classes", Figures: parts.Filled,
		Means: "For each step the assigner makes a table of batch per GPU x grid points (8,400 at 640 pixels) x classes of the data set. With a large batch and hundreds of classes it is larger than the network.[[ Something outside this program also holds {outside}.]]",
		Not:   "A smaller YOLO (n, s) alone: the table stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size (batch)", Steps: ultralyticsBatch, Cost: "Slower; gradients are accumulated to 64 anyway."},
			parts.FreeOthers,
			{Fix: "lower_resolution"},
			{Fix: "upgrade_version", Title: "Update Ultralytics", Told: "Releases since September 2026 need less memory in the assigner.", Kind: "shell", Text: "pip install --upgrade ultralytics", Cost: "Usually none."},
		},
		Sources: []string{"ultralytics/ultralytics/utils/tal.py", "https://github.com/ultralytics/ultralytics/pull/25240"},
	},
	{
		ID: "ultralytics/results-kept", Kinds: append(append([]fact.Kind{}, parts.Refused...), parts.RAMGone...), Said: []string{"results will accumulate in RAM", "stream=True"}, If: func(c *ledger.Case) bool { return c.Near("results will accumulate in RAM") },
		Cause: cause.RetainedMemory, Weight: cause.Decisive, Headline: "kept the results of every frame until memory was full",
		Means: "Without `stream=True`, `predict()` returns a list of all results, each with its original frame, as its own warning says. A 1920 x 1080 frame takes 6 MB, so 1,000 frames take 6 GB, and masks come on top.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Stream the results (stream=True)", Told: "Process each result, then let it go:", Kind: "python", Text: "for result in model.predict(source, stream=True):   # source: as in your call\n    boxes = result.boxes.cpu()                       # keep numbers, not `result`", Cost: "None."},
			{Fix: "lower_resolution", Title: "Skip frames of a video", Kind: "text", Text: "`vid_stride=2` reads only every second frame.", Cost: "Fewer frames."},
			{Fix: "lower_batch_size", Title: "Or predict a few hundred files at a time", Kind: "text", Text: "Call `predict()` for one group of files after another, and write the results to disk in between.", Cost: "A loop."},
		},
		Sources: []string{"ultralytics/ultralytics/engine/predictor.py", "ultralytics/ultralytics/utils/checks.py"},
	},
	{
		ID: "ultralytics/cache-ram", Kinds: parts.RAMGone, Said: []string{"Caching images", "cache=True", "cache='ram'", "cache=ram"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled system memory (RAM) with cached images",
		Means: cacheMeans,
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Turn off the image cache, or cache on disk", Kind: "text", Text: "Pass `cache=False`, or `cache=\"disk\"`, which writes the decoded images as .npy files beside the originals.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers", Title: "Use fewer workers (workers=2)", Kind: "text", Text: "The default is 8 per GPU, and each worker holds its own batches.", Cost: "The GPU may wait for data."},
			{Fix: "add_swap"},
		},
		Sources: []string{"ultralytics/ultralytics/cfg/default.yaml", "ultralytics/ultralytics/data/base.py"},
	},
	{
		ID: "ultralytics/validation", Kinds: parts.Refused, Said: []string{"engine/validator.py", "/val.py", "in run_validation", "in validate"}, If: parts.Own,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in validation", Figures: parts.Filled,
		Means: validationMeans,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size: validation halves with it"},
			{Fix: "restart_session", Title: "Or train without validation (val=False)", Told: "Validate afterwards with batch size 1:", Kind: "text", Text: "`yolo val model=runs/detect/train/weights/last.pt data=data.yaml batch=1` (your own paths)", Cost: "No metrics between epochs, and no best.pt chosen by them."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"ultralytics/ultralytics/engine/trainer.py", "https://github.com/ultralytics/ultralytics/issues/7030"},
	},
	parts.EvaluationCard("ultralytics/export", []string{"engine/exporter.py"},
		"Before it exports, it runs the model once with a batch of `batch` images of `imgsz` pixels in 32 bit. TensorRT then needs a workspace beside it.",
		"`cache`, `workers`: they are about training.", "ultralytics/ultralytics/engine/exporter.py",
		cause.Cure{Fix: "lower_batch_size", If: when.Not(parts.One("batch")), Title: "Export with batch=1", Kind: "text", Text: "Pass `batch=1`, or add `dynamic=True` to choose the batch later.", Cost: "one image at a time"},
		cause.Cure{Fix: "lower_resolution", Title: "Export for smaller images", Kind: "text", Text: "Halve `imgsz` (a multiple of 32).", Cost: "small objects are found less well"},
		cause.Cure{Fix: "cpu_offload", Title: "ONNX, OpenVINO and others: export on the CPU", Kind: "text", Text: "Pass `device=\"cpu\"`. TensorRT (`format=engine`) needs the GPU: limit it with `workspace=2` (GiB).", Cost: "slower"}, parts.FreeOthers, cause.Cure{Fix: "use_smaller_model"}),
	parts.EvaluationCard("ultralytics/predict", []string{"engine/predictor.py", "segment/predict.py", "in predict_cli"},
		"Prediction takes `batch` images (default 1) of `imgsz` pixels at once. `retina_masks=True` makes every mask at the full size of the image.",
		"`workers`, `cache` and `amp`: they are about training.", "ultralytics/ultralytics/engine/predictor.py",
		cause.Cure{Fix: "lower_resolution", Title: "Lower the image size (imgsz), no retina_masks", Kind: "text", Text: "Halve `imgsz` (default 640), and remove `retina_masks=True`. For small objects in large images cut tiles instead.", Cost: "small objects are found less well"},
		cause.Cure{Fix: "half_precision", If: when.Not(parts.Shows("half=True")), Title: "Compute in 16 bit (half=True)", Kind: "text", Text: "Pass `half=True` to `predict`.", Cost: "hardly any quality"},
		cause.Cure{Fix: "lower_batch_size", If: when.Not(parts.One("batch")), Title: "One image at a time, streamed", Kind: "text", Text: "Pass `batch=1, stream=True`, and keep no `result` objects.", Cost: "slower"}, parts.FreeOthers, cause.Cure{Fix: "use_smaller_model"}),
	parts.StepCard("ultralytics/step", []string{"ultralytics/engine/trainer.py", "ultralytics/nn/", "ultralytics/utils/loss.py"},
		"Memory grows with `batch`, the square of `imgsz`, and the model size (n, s, m, l, x). Mixed precision is on by default. If the GPU_mem column jumped at one step, an image with very many objects is likely.",
		"`workers` and `cache`: they use system RAM.", "ultralytics/ultralytics/engine/trainer.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
