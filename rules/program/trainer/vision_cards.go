package trainer

import (
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Masks are pasted into the original image, after the network.
var (
	pastes          = retriedOf("paste_masks_in_image")
	originalSmaller = cause.Cure{Fix: "lower_resolution", Title: "Downscale the image before the predictor", Told: "Half the width and height takes a quarter of the memory.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you pass to the predictor", Cost: "Coarser edges."}
	fewerDetections = cause.Cure{Fix: "lower_batch_size", Title: "Keep fewer detections (DETECTIONS_PER_IMAGE)", Told: "Where you set up the config:", Kind: "python", Text: "cfg.TEST.DETECTIONS_PER_IMAGE = 50             # default 100\ncfg.MODEL.ROI_HEADS.SCORE_THRESH_TEST = 0.5    # default 0.05", Cost: "The weakest detections are dropped."}
)

var retried = []fact.Kind{fact.TorchRetry}

// perStep says what IMS_PER_BATCH counts, or that one image is too much.
func perStep(c *ledger.Case) map[string]string {
	out := parts.Filled(c)
	out["sixteen"], out["alone"] = "`SOLVER.IMS_PER_BATCH` (default 16) counts ALL GPUs together. Model zoo configs are made for eight GPUs; a single GPU gets all 16 images.", ""
	if parts.Number(c, "IMS_PER_BATCH", fact.OptionBatch) == 1 {
		out["sixteen"], out["alone"] = "", "`IMS_PER_BATCH` is 1 already, so one image at this size (`MIN_SIZE_TRAIN`, up to 800 by default) with its proposals and masks is too much."
	}
	return out
}

var detectron2Cards = []cause.Card{
	{
		ID: "detectron2/retry-masks", Kinds: retried, If: retriedOf("sem_seg_postprocess", "semantic_inference", "panoptic_inference", "instance_inference"),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory and continued on the CPU: a warning, not a crash",
		Means: "It scaled mask scores up to the size of the ORIGINAL image. 250 queries on a 3000 x 4000 image take 11.2 GiB. That did not fit on the GPU, so it ran on the CPU: slower, same result. If the program then ended, either RAM ran out (\"Killed\") or a later step failed on the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Downscale the image before the predictor", Told: "Half the width and height takes a quarter of the memory. Scale the label map back up with INTER_NEAREST if needed.", Kind: "python", Text: "im = cv2.resize(im, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)   # im: what you pass to the predictor", Cost: "Coarser edges."},
			{Fix: "lower_batch_size", Title: "Turn off panoptic and instance output", Told: "Then it scales up scores per class instead of per query. Mask2Former: add at the end of the command (OneFormer: `MODEL.TEST` in place of `MODEL.MASK_FORMER.TEST`):", Kind: "text", Text: "`MODEL.MASK_FORMER.TEST.PANOPTIC_ON False MODEL.MASK_FORMER.TEST.INSTANCE_ON False`", Cost: "You get the semantic map only."},
			{Fix: "add_swap", Title: "If the program ended: check whether RAM ran out", Told: "\"Killed process\" in the output means yes: process one image at a time, or add swap.", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|out of memory' | tail; free -h", Cost: "Free to check."},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "Mask2Former/mask2former/maskformer_model.py", "OneFormer/oneformer/oneformer_model.py", "https://github.com/SHI-Labs/OneFormer/issues/50"},
	},
	{
		ID: "detectron2/retry-match", Kinds: retried, If: retriedOf("pairwise_iou", "matcher", "assign"),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of GPU memory while matching boxes, and continued on the CPU: a warning, not a crash",
		Means: "It compared all anchors with all objects of one image. An image with many objects made that too large for the free memory, so it ran on the CPU: same result, but much slower. Many such lines mean that training is slow and close to a real crash.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size: it leaves more room"},
			{Fix: "lower_resolution", Title: "Train on random crops", Told: "A crop has fewer objects and fewer anchors.", Kind: "python", Text: "cfg.INPUT.CROP.ENABLED = True\ncfg.INPUT.CROP.SIZE = [0.6, 0.6]   # of height and width", Cost: "Objects at the edges are cut."},
			{Fix: "mixed_precision"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "detectron2/detectron2/modeling/proposal_generator/rpn.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/retry", Kinds: retried, If: when.Root(fact.TorchRetry),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory and continued on the CPU: a warning, not a crash",
		Means: "One function did not fit on the GPU, so it ran on the CPU instead: same result, much slower. If the program then ended, a later step failed on the GPU, or RAM ran out (\"Killed\").",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what else uses the GPU", Told: "End an old run of yours with `kill PID`.", Kind: "shell", Text: "nvidia-smi", Cost: "Free"},
			cures.Only(pastes, originalSmaller), cures.Only(pastes, fewerDetections),
			{Fix: "lower_batch_size", If: when.Not(pastes)}, {Fix: "lower_resolution", If: when.Not(pastes)},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "mmdetection/mmdet/utils/memory.py"},
	},
	{
		ID: "detectron2/paste-masks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"paste_masks_in_image", "_do_paste_mask"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "ran out of memory while pasting masks into the full-size image",
		Means: "The network itself had finished. Detectron2 pastes every mask into the ORIGINAL image: objects x height x width bytes, plus up to 1 GB of working memory. 100 objects in 4000 x 6000 pixels take 2.2 GiB.",
		Cures: []cause.Cure{
			originalSmaller, fewerDetections,
			{Fix: "cpu_offload", Title: "Paste the masks on the CPU", Told: "In detectron2/modeling/postprocessing.py, at the start of `detector_postprocess`: `results = results.to(\"cpu\")`.", Cost: "Somewhat slower; RAM for the masks."},
		},
		Sources: []string{"detectron2/detectron2/layers/mask_ops.py", "detectron2/detectron2/utils/memory.py", "detectron2/detectron2/config/defaults.py"},
	},
	{
		ID: "detectron2/copied-to-cpu", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Attempting to copy inputs"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory, although it had moved one function to the CPU", Figures: parts.Filled,
		Means:   "\"Attempting to copy inputs\" means that the GPU was full earlier and Detectron2 ran one function on the CPU, often the box matching for an image with many objects. Then a step failed that cannot move.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "lower_resolution"}, {Fix: "mixed_precision"}},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "https://github.com/facebookresearch/detectron2/issues/2595"}, Solved: 1,
	},
	{
		ID: "detectron2/slack", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(cures.SlackWouldDo, (*ledger.Case).Training, when.Not(ledger.Crowded)),
		Cause: cause.Fragmentation, Weight: cause.Strong, Headline: "ran out of memory while {slack} was reserved but unused (fragmentation)",
		Means: "{slack} of PyTorch's reserved memory is unused, but split into blocks too small for {asked}. Most Detectron2 configs train on changing image sizes (`MIN_SIZE_TRAIN` lists several), so each step needs blocks of other sizes.",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", If: when.Not(cures.SplitEra)},
			{Fix: "max_split_size", If: when.All(cures.SplitEra, when.Not(cures.NewerAllocator.If)), Title: "Set max_split_size_mb", Cost: "sometimes slower", Steps: cures.SplitSize},
			{Fix: "lower_batch_size", Told: "Set it before you create the trainer. For the same number of images double `MAX_ITER` and `STEPS`.", Own: true},
			{Fix: "lower_resolution", Title: "Use smaller images of one size", Told: "It saves memory and fragments less.", Kind: "python", Text: "cfg.INPUT.MIN_SIZE_TRAIN = (640,)   # the shorter side; the defaults go up to 800\ncfg.INPUT.MAX_SIZE_TRAIN = 1000", Cost: "small objects are found less well"},
			{Fix: "use_smaller_model", Title: "Freeze more layers, use fewer proposals", Told: "For fine-tuning:", Kind: "python", Text: "cfg.MODEL.BACKBONE.FREEZE_AT = 3                 # default 2\ncfg.MODEL.ROI_HEADS.BATCH_SIZE_PER_IMAGE = 128   # default 512", Cost: "some accuracy"},
			cures.NewerAllocator,
		},
		Sources: []string{"detectron2/detectron2/config/defaults.py", cures.AllocatorSource},
	},
	parts.WithFigures(perStep, parts.StepCard("detectron2/step", []string{"detectron2/engine/", "detectron2/modeling/", "AMP.ENABLED True", "AMP.ENABLED = True"},
		"[[{sixteen}]][[{alone}]]",
		"`NUM_WORKERS`: workers use system RAM.", "https://github.com/facebookresearch/detectron2/issues/987",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision", If: when.Not(cures.Near("AMP.ENABLED True", "AMP.ENABLED = True"))},
		cause.Cure{Fix: "use_smaller_model", Title: "Freeze more layers, use fewer proposals", Told: "For fine-tuning:", Kind: "python", Text: "cfg.MODEL.BACKBONE.FREEZE_AT = 3                 # default 2\ncfg.MODEL.ROI_HEADS.BATCH_SIZE_PER_IMAGE = 128   # default 512", Cost: "some accuracy"})),
	parts.EvaluationCard("detectron2/evaluation", []string{"detectron2/evaluation/", "in inference_on_dataset", "detectron2/engine/defaults.py", "predictor.py", "detectron2/modeling/"},
		"In evaluation and prediction one image at a time goes through the network (`MIN_SIZE_TEST`, default 800; `MAX_SIZE_TEST`, default 1333). Masks and boxes are kept for each image.",
		"`IMS_PER_BATCH` and `MIN_SIZE_TRAIN`: they are about training.", "detectron2/detectron2/config/defaults.py",
		cause.Cure{Fix: "lower_resolution", Title: "Use smaller images (MIN_SIZE_TEST)", Kind: "python", Text: "cfg.INPUT.MIN_SIZE_TEST = 600    # default 800\ncfg.INPUT.MAX_SIZE_TEST = 1000   # default 1333", Cost: "small objects are found less well"},
		cause.Cure{Fix: "half_precision", Title: "Run it in 16 bit, without gradients", Kind: "python", Text: "with torch.no_grad(), torch.autocast(\"cuda\"):\n    outputs = model(inputs)   # your own call", Cost: "hardly any quality"},
		cause.Cure{Fix: "use_smaller_model", Title: fewerDetections.Title, Told: fewerDetections.Told, Kind: fewerDetections.Kind, Text: fewerDetections.Text, Cost: fewerDetections.Cost}, parts.FreeOthers),
}

// retriedOf holds for a function of one of the names that went on on the CPU.
func retriedOf(names ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Root(fact.TorchRetry) && slices.ContainsFunc(names, c.Contains) }
}

var timmCards = []cause.Card{
	parts.StepCard("timm/step", []string{"pytorch-image-models/", "in train_one_epoch"},
		"`--batch-size` defaults to 128 images per GPU, in 32 bit without `--amp`. Images of 384 pixels need about three times the memory of 224 pixels.",
		"More GPUs: `--batch-size` is per GPU.", "pytorch-image-models/train.py",
		cause.Cure{Fix: "mixed_precision", If: when.Not(parts.Shows("--amp"))}, cause.Cure{Fix: "lower_batch_size", If: when.Not(parts.One("-b", "--batch-size"))}, cause.Cure{Fix: "gradient_checkpointing", If: when.Not(parts.Shows("--grad-checkpointing"))},
		cause.Cure{Fix: "lower_resolution"}),
	parts.EvaluationCard("timm/validation", []string{"pytorch-image-models/", "in validate"},
		"Validation runs beside weights and optimizer state, with `--validation-batch-size` images at once. By default that is the training batch size.",
		"Gradient checkpointing: it only saves memory in training.", "pytorch-image-models/train.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the validation batch size", Steps: func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "text", Text: "Add `--validation-batch-size " + parts.HalfOf(c, 16, "--validation-batch-size", "-vb", "--batch-size", "-b") + "` to your train.py command (validate.py: `-b`)."}}
		}, Cost: "slower validation, same result"},
		cause.Cure{Fix: "mixed_precision", If: when.Not(parts.Shows("--amp"))}, parts.FreeOthers, cause.Cure{Fix: "lower_resolution"}),
}

var detrCards = []cause.Card{
	{
		ID: "detr/matcher", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"models/matcher.py", "torch.cdist(out_bbox", "linear_sum_assignment"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out of memory while matching queries to objects", Figures: parts.Filled,
		Means: "The matcher's cost matrix has all queries of the batch x all objects of the batch: twice the batch size takes four times the memory. One image with very many objects can be enough.[[ Something outside this program also holds {outside}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "cpu_offload", Title: "Compute the matching costs on the CPU", Told: "Insert in models/matcher.py, before the costs are computed. The assignment itself runs on the CPU anyway:", Kind: "python", Text: "out_prob, out_bbox = out_prob.cpu(), out_bbox.cpu()\ntgt_ids, tgt_bbox = tgt_ids.cpu(), tgt_bbox.cpu()", Cost: "Somewhat slower."},
			{Fix: "lower_resolution", Title: "Cut crowded images into tiles", Told: "This lists the images with the most objects:", Kind: "shell", Text: fullest, Cost: "Objects at the edges are cut."},
			parts.FreeOthers,
		},
		Sources: []string{"detr/models/matcher.py"},
	},
	parts.StepCard("detr/step", []string{"engine.py", "models/transformer.py", "models/backbone.py", "deformable_transformer.py"},
		"Images of up to 1333 pixels are padded to the largest in the batch, and the encoder attends over all positions. So the largest images decide. `--batch_size` is per GPU.",
		"", "detr/datasets/coco.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model", If: when.Any(parts.Shows("--dilation", "resnet101"), when.Not(parts.Shows("--backbone")))},
		cause.Cure{Fix: "mixed_precision", Title: "Train in 16 bit (autocast)", Kind: "text", Text: "In `train_one_epoch` of engine.py put `with torch.autocast(\"cuda\"):` around `outputs = model(samples)`, and use a GradScaler for the backward pass.", Cost: "usually none"}),
	parts.EvaluationCard("detr/evaluation", []string{"engine.py", "in evaluate", "models/transformer.py", "models/backbone.py", "deformable_transformer.py"},
		"Evaluation pads `--batch_size` images to the largest of them, at up to 1333 pixels. The encoder attends over all positions, so the largest images decide.",
		"", "detr/main.py",
		cause.Cure{Fix: "lower_batch_size", If: when.Not(parts.One("batch_size")), Title: "Evaluate one image at a time (--batch_size 1)", Kind: "text", Text: "Set `--batch_size 1` in your command with `--eval`.", Cost: "slower; DC5 models even score better"},
		cause.Cure{Fix: "lower_resolution", Title: "Use smaller images in the validation transforms", Kind: "text", Text: "In datasets/coco.py, `image_set == 'val'`: `T.RandomResize([640], max_size=1000)` instead of 800 and 1333.", Cost: "small objects are found less well"},
		cause.Cure{Fix: "half_precision", Title: "Evaluate in 16 bit", Kind: "text", Text: "In `evaluate` of engine.py put `with torch.autocast(\"cuda\"):` around `outputs = model(samples)`.", Cost: "hardly any quality"}, parts.FreeOthers),
}
