package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// refused are the messages of a card, with figures and without.
var refused = []fact.Kind{fact.TorchAlloc, fact.CUDAError}

// ramGone are the ways in which a process is told that RAM is at its end.
var ramGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.WorkerKilled, fact.NumpyAlloc, fact.PythonMemory, fact.CPUAlloc}

// ownCard: nothing shows that others hold the card or that it was not full.
func ownCard(c *ledger.Case) bool {
	inPieces := c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
	return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && !inPieces && !c.Limit.Has()
}

// ordinary: and what was asked for is no size that would never fit.
func ordinary(c *ledger.Case) bool { return ownCard(c) && ledger.NeverFits(c) == "" }

// stepCard is what all trainers have to say of a step that did not fit, in
// their own words.
func stepCard(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training", "unknown"}, Said: said, If: ordinary,
		Cause: cause.BatchTooLarge, Weight: 0.75, Means: means, Not: not, Cures: cures, Sources: []string{source},
	}
}

var assignOnCPU = cause.Cure{
	Fix: "cpu_offload", Title: "Match crowded pictures on the CPU", Kind: "config",
	Text: "assigner=dict(type='MaxIoUAssigner', gpu_assign_thr=100)   # in train_cfg of rpn and rcnn (or bbox_head); keep its other keys", Cost: "Slower for those pictures; the same result.",
}

var fewerBoxes = cause.Cure{
	Fix: "lower_resolution", Title: "Cut pictures into tiles", Kind: "text",
	Text: "Cut crowded pictures into tiles (or add RandomCrop to the train_pipeline): each holds a part of the objects and of the anchors.", Cost: "Objects on the edges are cut.",
}

var mmdetCards = []cause.Card{
	{
		ID: "mmdet/assign-dynamic", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"dynamic_soft_label_assigner", "sim_ota_assigner", "task_aligned_assigner.py"},
		Cause: cause.OversizedAllocation, Weight: 0.88,
		Means:   "It failed while predictions were matched to objects. The cost matrix is candidates x objects of a picture; one with hundreds of objects is enough. This assigner has no setting to move to the CPU.",
		Not:     "gpu_assign_thr: only MaxIoUAssigner and ApproxMaxIoUAssigner read it.",
		Cures:   []cause.Cure{fewerBoxes, {Fix: "lower_batch_size"}, {Fix: "mixed_precision"}},
		Sources: []string{"mmdetection/mmdet/models/task_modules/assigners/dynamic_soft_label_assigner.py", "https://github.com/open-mmlab/mmdetection/issues/9616"},
	},
	{
		ID: "mmdet/assign", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"max_iou_assigner", "approx_max_iou_assigner", "iou2d_calculator", "bbox_overlaps"},
		Cause: cause.OversizedAllocation, Weight: 0.7,
		Means:   "It failed while anchors were matched to objects: the matrix is all anchors x all objects of one picture. A picture with some hundred objects is enough, so that it comes at a random step.",
		Not:     "A batch of 1: one crowded picture makes the matrix.",
		Cures:   []cause.Cure{assignOnCPU, fewerBoxes},
		Sources: []string{"mmdetection/docs/en/notes/faq.md", "https://github.com/open-mmlab/mmdetection/pull/1575", "https://github.com/open-mmlab/mmdetection/issues/3863", "https://github.com/open-mmlab/mmdetection/issues/1581"}, Solved: 3,
	},
	stepCard("mmdet/step", []string{"mmdet/models/", "mmengine/runner/", "mmcv/runner/"},
		"A training step did not fit. Pictures are scaled to about 1333 x 800 and the batch of the config is that of one card; the default two already take 6 to 10 GB with a ResNet-50.",
		"More cards: each gets the same batch.", "mmdetection/docs/en/notes/faq.md",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var mmrotateCards = []cause.Card{
	{
		ID: "mmrotate/assign", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"rbbox_overlaps", "box_iou_rotated", "rotate_iou2d_calculator", "max_iou_assigner", "iou2d_calculator", "bbox_overlaps"},
		Cause: cause.OversizedAllocation, Weight: 0.9,
		Means:   "It failed while rotated anchors were matched to objects: all anchors x all objects of one picture. Aerial tiles with hundreds or thousands of objects are the usual reason.",
		Not:     "A batch of 1: one crowded tile makes the matrix.",
		Cures:   []cause.Cure{assignOnCPU, fewerBoxes},
		Sources: []string{"mmdetection/docs/en/notes/faq.md", "https://github.com/Chasel-Tsui/mmrotate-dcfl/issues/28", "https://github.com/dingjiansw101/AerialDetection/issues/8"},
	},
}

var mmsegCards = []cause.Card{
	{
		ID: "mmseg/whole-picture", Kinds: refused, Said: []string{"whole_inference", "in slide_inference", "in encode_decode", "in predict_by_feat"}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means: "Testing segments the picture as it is, not the crops of training, and scales the scores of every class up to its full size: classes x height x width x 4 bytes.",
		Not:   "A smaller training batch: testing takes one picture at a time.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Slide a window", Kind: "config", Text: "model = dict(test_cfg=dict(mode='slide', crop_size=(512, 512), stride=(384, 384)))", Cost: "Slower; often slightly better."},
			{Fix: "use_smaller_model", Title: "Cut very large pictures into tiles", Kind: "text", Text: "The scores of all classes still have the full size: for pictures of more than about 5000 pixels a side cut tiles first and join the masks.", Cost: "Some lines of code."},
		},
		Sources: []string{"mmsegmentation/mmseg/models/segmentors/encoder_decoder.py"},
	},
	stepCard("mmseg/step", []string{"mmseg/models/"},
		"A training step did not fit. Crop size squared times the batch of one card decides; scores of all classes are scaled up to the crop for the loss.",
		"More cards: each gets the same batch.", "mmsegmentation/tools/train.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_resolution"}),
}

var detectron2Cards = []cause.Card{
	{
		ID: "detectron2/paste-masks", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"paste_masks_in_image", "_do_paste_mask"},
		Cause: cause.OversizedAllocation, Weight: 0.88,
		Means: "The network was done; what failed is pasting each mask into the full-size picture: objects x height x width. Large originals and many detections make it, not the model.",
		Not:   "A smaller backbone: masks are pasted at the size of the original.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Give it smaller originals", Kind: "text", Text: "Scale the picture down before the predictor: masks are pasted at the size that it gets. Half the side is a quarter of the memory.", Cost: "Edges are coarser."},
			{Fix: "lower_batch_size", Title: "Keep fewer detections", Kind: "python", Text: "cfg.TEST.DETECTIONS_PER_IMAGE = 50\ncfg.MODEL.ROI_HEADS.SCORE_THRESH_TEST = 0.5", Cost: "The weakest detections are dropped."},
		},
		Sources: []string{"detectron2/detectron2/layers/mask_ops.py", "detectron2/detectron2/utils/memory.py"},
	},
	{
		ID: "detectron2/copied-to-cpu", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Attempting to copy inputs"},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "Detectron2 ran out before and went on with that function on the CPU (\"Attempting to copy inputs\"): crowded pictures make its overlap matrix too large. Then a step that cannot move failed too.",
		Not:   "Ignoring the notes: each of them is a failed allocation that costs seconds.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution"}, {Fix: "lower_batch_size"}, {Fix: "mixed_precision"},
		},
		Sources: []string{"detectron2/detectron2/utils/memory.py", "https://github.com/facebookresearch/detectron2/issues/2595"}, Solved: 1,
	},
	stepCard("detectron2/step", []string{"detectron2/engine/", "detectron2/modeling/"},
		"A training step did not fit. IMS_PER_BATCH, 16 by default, counts over all cards: configs of the model zoo are meant for eight, so that a single one gets all 16.",
		"NUM_WORKERS: workers take system memory.", "https://github.com/facebookresearch/detectron2/issues/987",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
}

var yolov5Cards = []cause.Card{
	{
		ID: "yolov5/validation", Kinds: refused, Said: []string{"non_max_suppression", "val.run(", `val.py", line`, `test.py", line`}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "It failed in validation, after training steps that fitted. train.py validates with twice the training batch, and early epochs let many boxes through to the suppression.",
		Not:   "--cache: it keeps pictures in system memory, not on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "restart_session", Title: "Validate once, at the end", Kind: "text", Text: "Add `--noval` to train.py: only the last epoch is validated. Then run val.py with `--batch-size 1`.", Cost: "No best.pt by fitness in between."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"yolov5/train.py", "https://github.com/ultralytics/yolov5/issues/2586"},
	},
	{
		ID: "yolov5/cache-ram", Kinds: ramGone, Said: []string{"Caching images", "--cache ram", "--cache", "cache_images"},
		Cause: cause.HostMemory, Weight: 0.88,
		Means: "The pictures are being cached in RAM: width x height x 3 bytes each, decoded, which is about ten times their files. The system ended the process when RAM was full.",
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Do not cache, or cache on disk", Kind: "text", Text: "Leave `--cache` out, or use `--cache disk`.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers"},
		},
		Sources: []string{"yolov5/utils/dataloaders.py"},
	},
	stepCard("yolov5/step", []string{"yolov5/train.py", "models/yolo.py", "utils/loss.py"},
		"A training step did not fit: batch x image size squared decides, and the letter of the model. Mixed precision is on already.",
		"--workers and --cache: they are about system memory.", "https://github.com/ultralytics/yolov5/issues/7879",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}

var ultralyticsCards = []cause.Card{
	{
		ID: "ultralytics/assigner", Kinds: refused, Said: []string{"in TaskAlignedAssigner, using CPU", "select_candidates_in_gts", "get_pos_mask", "get_box_metrics"},
		Cause: cause.OversizedAllocation, Weight: 0.85,
		Means: "It failed in the assigner, which matches predictions to objects: batch x most objects of a picture x all grid points. Pictures with hundreds of objects make it large at random steps. Releases from 8.3.30 try again on the CPU.",
		Not:   "A smaller model: the matrix depends on objects and image size.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "upgrade_version", Title: "Update Ultralytics", Kind: "shell", Text: "pip install --upgrade ultralytics", Cost: "Newer releases need a fraction of it."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"ultralytics/ultralytics/utils/tal.py", "https://github.com/ultralytics/ultralytics/pull/17515", "https://github.com/ultralytics/ultralytics/pull/25240"}, Solved: 2,
	},
	{
		ID: "ultralytics/results-kept", Kinds: append(append([]fact.Kind{}, refused...), ramGone...), Said: []string{"inference results will accumulate in RAM", "stream=True"},
		Cause: cause.RetainedMemory, Weight: 0.88,
		Means: "predict() without stream=True keeps the results of all pictures or frames, each with its original picture. A long video fills RAM, and with masks the card as well.",
		Not:   "A smaller imgsz: the originals are kept at full size.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Stream the results", Kind: "python", Text: "for result in model.predict(source, stream=True):   # source: as in your call\n    boxes = result.boxes.cpu()", Cost: "None."},
			{Fix: "lower_resolution", Title: "Skip frames of a video", Kind: "text", Text: "Pass `vid_stride=2`, so that every second frame is read.", Cost: "Fewer frames."},
		},
		Sources: []string{"ultralytics/ultralytics/engine/predictor.py"},
	},
	{
		ID: "ultralytics/cache-ram", Kinds: ramGone, Said: []string{"Caching images", "cache=True", "cache='ram'", "cache=ram"},
		Cause: cause.HostMemory, Weight: 0.88,
		Means: "The pictures are being cached in RAM, decoded: about ten times the size of their files. Each rank of a training on several cards fills its own cache. The system ended the process when RAM was full.",
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Do not cache, or cache on disk", Kind: "text", Text: "Pass `cache=False`, or `cache=\"disk\"`.", Cost: "The first epoch is slower."},
			{Fix: "lower_num_workers", Title: "Fewer workers", Kind: "text", Text: "Pass `workers=2`: each worker holds batches of its own.", Cost: "The card may wait for data."},
		},
		Sources: []string{"ultralytics/ultralytics/cfg/default.yaml", "ultralytics/ultralytics/data/base.py"},
	},
	{
		ID: "ultralytics/validation", Kinds: refused, Said: []string{"engine/validator.py", "/val.py", "in run_validation", "in validate"}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means: "It failed in validation, after training steps that fitted. Detection is validated with twice the training batch, and all masks or boxes of a batch are kept until it is done.",
		Not:   "amp: validation runs in 16 bit already.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "restart_session", Title: "Validate afterwards, alone", Kind: "text", Text: "Train with `val=False`, then run `yolo val` on best.pt or last.pt with `batch=1`.", Cost: "No metrics between the epochs."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"ultralytics/ultralytics/engine/trainer.py", "https://github.com/ultralytics/ultralytics/issues/7030"},
	},
	stepCard("ultralytics/step", []string{"ultralytics/engine/trainer.py", "ultralytics/nn/", "ultralytics/utils/loss.py"},
		"A training step did not fit: batch x imgsz squared decides, and the letter of the model. The GPU_mem column of the lines before shows how it grew; mixed precision is on already.",
		"workers and cache: they are about system memory.", "ultralytics/ultralytics/cfg/default.yaml",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}

var timmCards = []cause.Card{
	stepCard("timm/step", []string{"pytorch-image-models/", "in train_one_epoch"},
		"A training step did not fit. The default is 128 pictures for each card, in 32 bit: made for 16 GB and more, and for models of about 224 pixels.",
		"More cards: --batch-size is that of one card.", "pytorch-image-models/train.py",
		cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var detrCards = []cause.Card{
	{
		ID: "detr/matcher", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"models/matcher.py", "torch.cdist(out_bbox", "linear_sum_assignment"},
		Cause: cause.OversizedAllocation, Weight: 0.8,
		Means: "It failed in the matcher, whose cost matrix has the queries of the whole batch by the objects of the whole batch: twice the batch is four times that. Crowded pictures make it large at random steps.",
		Not:   "A smaller backbone: the matrix does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "cpu_offload", Title: "Compute the costs on the CPU", Kind: "text", Text: "In models/matcher.py add `.cpu()` to out_prob, out_bbox, tgt_ids and tgt_bbox: the assignment itself runs on the CPU anyway.", Cost: "Somewhat slower."},
		},
		Sources: []string{"detr/models/matcher.py"},
	},
	stepCard("detr/step", []string{"engine.py", "models/transformer.py", "models/backbone.py", "deformable_transformer.py"},
		"A training step did not fit. Pictures up to 1333 pixels are padded to the largest of the batch, and the encoder attends over all positions; --batch_size is that of one card.",
		"Fewer queries: pictures fill the card, not queries.", "detr/datasets/coco.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "use_smaller_model"}),
}
