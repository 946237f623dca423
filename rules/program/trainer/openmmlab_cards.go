package trainer

import (
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// anchorsOf1024 are those of a one-stage detector for a picture of 1024 x 1024:
// nine at each place of five levels.
const anchorsOf1024 = 196_416

// compared says how many pairs of boxes a refused matrix compares, with so many
// bytes a pair, and what that means in objects of a picture.
func compared(bytes int64) func(c *ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := parts.Filled(c)
		out["pairs"], out["boxes"], out["onhost"] = "", "", ""
		pairs := ledger.Requested(c) / bytes
		if pairs < 20_000_000 || ledger.NeverFits(c) != "" && pairs > 1<<40 {
			return out
		}
		out["pairs"] = ledger.Thousands(pairs / 1_000_000)
		out["boxes"] = ledger.Thousands(tidy(pairs / anchorsOf1024))
		out["onhost"] = strconv.FormatInt(ledger.CeilDiv(pairs*32, units.GiB), 10) + " GiB"
		return out
	}
}

// tidy is a count to two figures.
func tidy(n int64) int64 {
	step := int64(1)
	for n/step >= 100 {
		step *= 10
	}
	return n / step * step
}

// pixels says how large a picture a refused tensor of scores is for, where
// every pixel has so many classes.
func pixels(classes int64) func(c *ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := map[string]string{"megapixels": "", "classes": strconv.FormatInt(classes, 10)}
		if n := ledger.Requested(c) / (4 * classes); n >= 500_000 {
			out["megapixels"] = strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64)
		}
		return out
	}
}

// noThreshold: old releases, which had the overlaps in geometry.py; the first of
// them have no gpu_assign_thr.
func noThreshold(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.HasSuffix(f.File, "core/bbox/geometry.py") })
}

var assignOnCPU = cause.Cure{
	Fix: "cpu_offload", Title: "Match crowded images on the CPU (gpu_assign_thr)", If: when.Not(noThreshold),
	Told: "Add this to every `assigner=dict(type='MaxIoUAssigner', ...)` in your config. Only images with more than 200 objects then go to the CPU[[; {boxes} objects take about {onhost} of RAM]].",
	Kind: "config", Text: "gpu_assign_thr=200,", Cost: "Slower for such images; same result.",
}

// overlapsOnCPU is the same in those releases.
var overlapsOnCPU = cause.Cure{
	Fix: "cpu_offload", Title: "Match the boxes on the CPU", If: noThreshold,
	Told: "MMDetection 1.0 and later: `gpu_assign_thr=200` in the assigner's dict. Older: in `assign` of max_iou_assigner.py write `overlaps = bbox_overlaps(bboxes.cpu(), gt_bboxes.cpu()).to(bboxes.device)`.",
	Cost: "Slower; same result.",
}

// fullest finds the pictures with the most objects.
const fullest = `python -c "import json, collections as c; print(c.Counter(a['image_id'] for a in json.load(open('annotations.json'))['annotations']).most_common(5))"   # your COCO file`

var fewerBoxes = cause.Cure{
	If:  func(c *ledger.Case) bool { return !c.In("mmrotate") },
	Fix: "lower_resolution", Title: "Cut crowded images into tiles, or train on crops",
	Told: "Cut the images with the most objects, which this lists, into tiles. Or add `RandomCrop` to the train_pipeline: a crop has fewer objects and anchors.",
	Kind: "shell", Text: fullest, Cost: "Objects at the edges are cut.",
}

var fewerInTiles = cause.Cure{
	If:  func(c *ledger.Case) bool { return c.In("mmrotate") },
	Fix: "lower_resolution", Title: "Split the images into smaller tiles",
	Told: "Run tools/data/dota/split/img_split.py with `sizes` 512 and `gaps` 100 in its JSON file. Each tile then has about a quarter of the objects. This lists the fullest tiles last:",
	Kind: "shell", Text: "wc -l trainval/annfiles/*.txt | sort -n | tail", Cost: "More tiles to process.",
}

const (
	assignMeans = "It compares all anchors with all objects of one image (IoU)[[: {asked} is about {pairs} million pairs, such as {boxes} objects against the 200,000 anchors of a 1024 x 1024 image]]. Several such matrices exist at once. One image with very many objects is enough, so it can fail at any step."
	assignNot   = ""
)

var mmdetCards = []cause.Card{
	{
		ID: "mmdet/assign-dynamic", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"dynamic_soft_label_assigner", "sim_ota_assigner", "task_aligned_assigner.py"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of memory while matching predictions to the objects of one image", Figures: parts.Filled,
		Means: "The assigner builds several cost matrices of all candidates x all objects of one image. {asked} usually means an image with very many objects. This assigner has no setting that moves it to the CPU.[[ Something outside this program also holds {outside}.]]",
		Not:   "`gpu_assign_thr`: only MaxIoUAssigner and ApproxMaxIoUAssigner use it.",
		Cures: []cause.Cure{
			parts.FreeOthers, fewerBoxes,
			{Fix: "lower_batch_size", Title: "Lower the batch size: it leaves more room for the matrix"},
			{Fix: "fix_shape", Title: "Drop the smallest boxes (FilterAnnotations)", Kind: "config", Text: "dict(type='FilterAnnotations', min_gt_bbox_wh=(8, 8)),   # in train_pipeline, after Resize", Cost: "Such objects are not learned."},
		},
		Sources: []string{"mmdetection/mmdet/models/task_modules/assigners/dynamic_soft_label_assigner.py", "https://github.com/open-mmlab/mmdetection/issues/9616"},
	},
	{
		ID: "mmdet/assign", Kinds: parts.Refused, Said: []string{"max_iou_assigner", "approx_max_iou_assigner", "iou2d_calculator", "bbox_overlaps"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of memory while matching anchors to the objects of one image", Figures: compared(8),
		Means: assignMeans, Not: assignNot,
		Cures: []cause.Cure{
			parts.FreeOthers, assignOnCPU, overlapsOnCPU, fewerBoxes, fewerInTiles,
			{Fix: "upgrade_version", If: noThreshold, Title: "Update MMDetection", Cost: "its configs changed", Told: "Since 1.0 an assigner setting moves crowded images to the CPU; 2.x can also compute the overlaps in 16 bit."},
			{Fix: "half_precision", If: when.Not(noThreshold), Title: "Compute the overlaps in 16 bit", Told: "Add `iou_calculator=dict(type='BboxOverlaps2D', scale=512., dtype='fp16')` to the same assigner. It halves these matrices.", Cost: "Slight rounding of the overlaps."},
		},
		Sources: []string{"mmdetection/docs/en/notes/faq.md", "mmdetection/mmdet/models/task_modules/assigners/iou2d_calculator.py", "https://github.com/open-mmlab/mmdetection/pull/1575", "https://github.com/open-mmlab/mmdetection/issues/3863", "https://github.com/open-mmlab/mmdetection/issues/1581", "https://github.com/Chasel-Tsui/mmrotate-dcfl/issues/28"}, Solved: 3,
	},
	parts.EvaluationCard("mmdet/evaluation", []string{"mmdet/models/", "tools/test.py", "in val_step", "in test_step"},
		"It failed while it predicted, not in a training step. Each mask is scaled up to the ORIGINAL image: objects (or queries) x height x width x 4 bytes. 100 masks of 3000 x 4000 pixels take 4.5 GiB.",
		"`train_dataloader.batch_size` and `--amp`: they are about training.", "mmdetection/docs/en/notes/faq.md",
		cause.Cure{Fix: "lower_resolution", Title: "Test on smaller images", Kind: "text", Text: "Scale large images down before the test, with their annotations, or cut them into tiles. If it fails in the backbone, a smaller `scale` in test_pipeline is enough.", Cost: "small objects are found less well"},
		cause.Cure{Fix: "lower_batch_size", Title: "Keep fewer objects per image", Kind: "text", Text: "`--cfg-options test_dataloader.batch_size=1 model.test_cfg.rcnn.max_per_img=50` (one-stage models: `model.test_cfg.max_per_img`; Mask2Former: `model.test_cfg.max_per_image`, with panoptic_on=False).", Cost: "the weakest objects are lost"},
		cause.Cure{Fix: "cpu_offload", Title: "Or predict on the CPU", Told: "Put it before your command:", Kind: "text", Text: "`CUDA_VISIBLE_DEVICES=-1`", Cost: "many times slower"}, parts.FreeOthers),
	parts.StepCard("mmdet/step", []string{"mmdet/models/", "mmengine/runner/", "mmcv/runner/"},
		"Most configs scale images to about 1333 x 800, and the batch size in the config is per GPU. The usual two images take 6 to 10 GB with a ResNet-50, more with Swin or masks.",
		"More GPUs: each gets the same batch.", "mmdetection/docs/en/notes/faq.md",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_resolution"}),
}

var mmrotateCards = []cause.Card{
	{
		ID: "mmrotate/assign", Kinds: parts.Refused, Said: []string{"rbbox_overlaps", "box_iou_rotated", "rotate_iou2d_calculator", "max_iou_assigner", "iou2d_calculator", "bbox_overlaps"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of memory while matching anchors to the objects of one image", Figures: rotated,
		Means: assignMeans + " Aerial tiles with thousands of ships or cars are typical.", Not: assignNot,
		Cures:   []cause.Cure{parts.FreeOthers, assignOnCPU, fewerInTiles, {Fix: "lower_batch_size", Title: "Lower the batch size: it leaves more room for the matrix"}},
		Sources: []string{"mmdetection/docs/en/notes/faq.md", "mmrotate/tools/data/dota/split/img_split.py", "https://github.com/Chasel-Tsui/mmrotate-dcfl/issues/28", "https://github.com/dingjiansw101/AerialDetection/issues/8"},
	},
	parts.StepCard("mmrotate/step", []string{"mmrotate/models/"},
		"Tiles are usually 1024 x 1024, and the batch size in the config is per GPU.",
		"More GPUs: each gets the same batch.", "mmrotate/tools/train.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_resolution"}),
}

// rotated: overlaps of rotated boxes are one number a pair, others two corners.
func rotated(c *ledger.Case) map[string]string {
	if c.Near("rbbox_overlaps", "box_iou_rotated", "rotate_iou2d_calculator") {
		return compared(4)(c)
	}
	return compared(8)(c)
}

// mmApplies: a model is used, or measured between two epochs.
func mmApplies(c *ledger.Case) bool {
	return cures.Evaluating(c) || c.Phase == "inference" || c.Phase == "unknown" || c.Near("whole_inference", "slide_inference")
}

var mmsegCards = []cause.Card{
	{
		ID: "mmseg/whole-picture", Kinds: parts.Refused, Said: []string{"whole_inference", "in encode_decode", "in predict_by_feat"}, If: mmApplies, Unsaid: []string{"slide_inference"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory on a whole image: testing does not crop", Figures: pixels(19),
		Means: "Test mode 'whole' processes the full image, not the crops of training, and scales the scores of every class up to its size: classes x height x width x 4 bytes[[. With 19 classes {asked} would be an image of {megapixels} megapixels, with 150 an eighth of that]].",
		Not:   "A smaller training batch: testing takes one image at a time.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: cures.Through("demo"), Title: "Use a sliding window (mode=slide)", Told: "Set this in your config file, with its `crop_size` instead of 512. The network then sees one crop at a time. The scores of the whole image stay on the GPU.", Kind: "config", Text: "model = dict(test_cfg=dict(mode='slide', crop_size=(512, 512), stride=(384, 384)))", Cost: "Slower; often slightly better."},
			{Fix: "lower_resolution", If: when.Not(cures.Through("demo")), Title: "Test with a sliding window (mode=slide)", Told: "Add this to your command (tools/test.py, or train.py for its validation), with your config's `crop_size` instead of 512. The network then sees one crop at a time. The scores of the whole image stay on the GPU.", Kind: "text", Text: "`--cfg-options model.test_cfg.mode=slide model.test_cfg.crop_size=\"(512,512)\" model.test_cfg.stride=\"(384,384)\"`", Cost: "Slower; often slightly better."},
			{Fix: "use_smaller_model", Title: "Segment tiles and join the masks", Kind: "text", Text: "Cut images above about 5000 pixels per side, segment each tile, and join the label maps on the CPU (one byte per pixel).", Cost: "Some lines of code."},
			{Fix: "cpu_offload", Title: "Run it on the CPU", Kind: "python", Text: "model = init_model(config, checkpoint, device=\"cpu\")   # as in your script; mmseg 0.x: init_segmentor", Cost: "Many times slower."},
		},
		Sources: []string{"mmsegmentation/mmseg/models/segmentors/encoder_decoder.py", "mmsegmentation/tools/test.py"},
	},
	{
		ID: "mmseg/slide", Kinds: parts.Refused, Said: []string{"slide_inference"}, If: mmApplies,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory in sliding-window testing of one image", Figures: pixels(19),
		Means: "The window slides, but the scores of all classes stay on the GPU at full image size, with a padded copy for each window: classes x height x width x 4 bytes[[. With 19 classes {asked} would be an image of {megapixels} megapixels]].",
		Not:   "A smaller `crop_size`: the full-size scores stay as large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Collect the scores in system RAM", Told: "In `slide_inference` of mmseg/models/segmentors/encoder_decoder.py, create both buffers on the CPU and move each window's scores there:", Kind: "python", Text: "preds = torch.zeros((batch_size, out_channels, h_img, w_img))\ncount_mat = torch.zeros((batch_size, 1, h_img, w_img))\ncrop_seg_logit = self.encode_decode(crop_img, batch_img_metas).cpu()", Cost: "Somewhat slower."},
			{Fix: "lower_resolution", Title: "Cut the image into tiles before testing", Kind: "text", Text: "Use tiles of 2000 to 4000 pixels per side, segment each, and join the label maps (one byte per pixel).", Cost: "Some lines of code; seams without overlap."},
			{Fix: "bigger_gpu", Title: "Use a GPU with about three times {asked} free", Kind: "text", Text: "Sum, padded copy and result each have that size.", Cost: "Rent."},
		},
		Sources: []string{"mmsegmentation/mmseg/models/segmentors/encoder_decoder.py"},
	},
	parts.StepCard("mmseg/step", []string{"mmseg/models/"},
		"Memory grows with the square of `crop_size` and the batch size, which is per GPU. The loss also scales the scores of all classes up to the crop size, which is large with 150 classes.",
		"More GPUs: each gets the same batch.", "mmsegmentation/tools/train.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_resolution"}),
}
