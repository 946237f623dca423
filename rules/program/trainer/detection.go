package trainer

import (
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"strconv"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Detectron2 is Meta's detection library: keys of a config, typed after the
// options of tools/train_net.py or set in Python.
var Detectron2 = program.Program{
	Name: "detectron2", Shown: "Detectron2", Work: "vision", Edits: "code", Language: "python",
	Sources: program.Sources{"detectron2/config/defaults.py": "IMS_PER_BATCH NUM_WORKERS MIN_SIZE_TRAIN MAX_SIZE_TRAIN MIN_SIZE_TEST MAX_SIZE_TEST BASE_LR AMP.ENABLED FREEZE_AT BATCH_SIZE_PER_IMAGE MAX_ITER"},
	Proofs:  []string{"detectron2/engine/", "detectron2/modeling/", "detectron2/structures/", "detectron2/layers/", "detectron2/data/", "detectron2/utils/", "d2.engine.", "d2.utils.", "detectron2/", "to CPU due to CUDA OOM", "of <bound method MaskFormer.", "of <bound method OneFormer."},
	Steps: parts.Spelling{
		"lower_batch_size":  step.Paste("python", "cfg.SOLVER.IMS_PER_BATCH //= 2   # all GPUs together; tools/train_net.py: append SOLVER.IMS_PER_BATCH and half of yours\ncfg.SOLVER.BASE_LR /= 2          # by the same factor"),
		"lower_resolution":  parts.InUse(step.Paste("python", "cfg.INPUT.MIN_SIZE_TEST = 600    # default 800\ncfg.INPUT.MAX_SIZE_TEST = 1000   # default 1333"), step.Paste("python", "cfg.INPUT.MIN_SIZE_TRAIN = (480, 560, 640)   # default 800\ncfg.INPUT.MAX_SIZE_TRAIN = 1000")),
		"mixed_precision":   step.Paste("python", "cfg.SOLVER.AMP.ENABLED = True   # detectron2 0.3 and later"),
		"lower_num_workers": step.Paste("python", "cfg.DATALOADER.NUM_WORKERS = 1"),
		"use_smaller_model": parts.Say("Use R_50_FPN instead of R_101 or X_101 from the model zoo."),
	},
	Remedies: parts.PlainVision,
	Like:     []*program.Program{&parts.Vision},
	Cards:    detectron2Cards,
}

// YOLOv5 is the repository with train.py, val.py and detect.py.
var YOLOv5 = program.Program{
	Name: "yolov5", Shown: "YOLOv5", Work: "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{"yolov5/train.py": "--batch-size --batch --imgsz --img --img-size --workers --cache --multi-scale --weights"},
	Proofs:  []string{"yolov5/train.py", "yolov5/val.py", "yolov5/detect.py", "yolov5/models/", "yolov5/utils/", "YOLOv5 \U0001F680", "yolov5/segment/"},
	Hints:   []string{"models/yolo.py"},
	Steps: parts.Spelling{
		"lower_batch_size":  yoloBatch,
		"lower_resolution":  yoloSize,
		"lower_num_workers": parts.Typed("train.py", step.Change{Flag: "--workers", Value: "2"}, step.Change{Flag: "--cache", Drop: true}),
		"use_smaller_model": parts.Say("Start from a smaller model: yolov5m for yolov5x, yolov5s for yolov5m, yolov5n for yolov5s (`--weights yolov5s.pt`)."),
	},
	Titles: map[string]string{"lower_resolution": "Lower the image size (--imgsz)", "lower_batch_size": "Lower the batch size (--batch-size)", "use_smaller_model": "Train a smaller YOLOv5", "lower_num_workers": "Use fewer data loader workers"},
	Costs:  map[string]string{"lower_batch_size": "Slower; gradients are accumulated to 64 either way."},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: yoloWork, cause.TrainingStateTooLarge: yoloWork,
	},
	Like:  []*program.Program{&parts.Vision},
	Cards: yolov5Cards,
}

func yoloBatch(c *ledger.Case) []step.Step {
	n := parts.Halved(c, "8", "batch_size", "batch")
	return parts.Typed("train.py", step.Change{Flag: "--batch-size", Value: n}, step.Change{Flag: "--batch", Drop: true})(c)
}

func yoloSize(c *ledger.Case) []step.Step {
	n := parts.Halved(c, "416", "imgsz", "img", "img_size")
	return parts.Typed("train.py", step.Change{Flag: "--imgsz", Value: n}, step.Change{Flag: "--img", Drop: true}, step.Change{Flag: "--img-size", Drop: true}, step.Change{Flag: "--multi-scale", Drop: true})(c)
}

// yoloWork: mixed precision is on by default.
var yoloWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Helps},
	{Fix: "use_smaller_model", Fit: cause.MayHelp},
	{Fix: "close_other_apps", Fit: cause.LastResort, If: when.Not(ledger.FillsCard)},
}

// Ultralytics is the package with YOLOv8, YOLO11 and later: arguments of
// model.train() or of the command yolo.
var Ultralytics = program.Program{
	Name: "ultralytics", Code: code.Steps, Shown: "Ultralytics YOLO", Work: "vision", Edits: "code", Language: "python",
	Sources: program.Sources{"ultralytics/cfg/default.yaml": "batch imgsz cache workers amp multi_scale"},
	Proofs:  []string{"ultralytics/engine/", "ultralytics/nn/", "ultralytics/utils/", "ultralytics/models/", "ultralytics/data/", "Ultralytics YOLO", "Ultralytics 8.", "in TaskAlignedAssigner, using CPU"},
	Steps: parts.Spelling{
		"lower_batch_size":  ultralyticsBatch,
		"lower_resolution":  parts.InUse(parts.Say("Lower `imgsz` to half of yours (default 640), a multiple of 32."), parts.Say("Lower `imgsz` (default 640; 416 needs less than half), and remove `multi_scale` if it is set.")),
		"lower_num_workers": parts.Say("Pass `workers=2` and `cache=False` or `cache=\"disk\"`. `cache=True` keeps every decoded image in RAM."),
		"mixed_precision":   parts.Say("Keep `amp=True`, the default."),
		"use_smaller_model": parts.Say("Start from the next smaller weights: yolo11s.pt for yolo11m.pt, yolo11n.pt for yolo11s.pt; YOLOv8 likewise."),
	},
	Titles:   map[string]string{"lower_resolution": "Lower the image size (imgsz)", "lower_batch_size": "Lower the batch size (batch)", "use_smaller_model": "Train a smaller YOLO"},
	Costs:    map[string]string{"lower_batch_size": "Slower; gradients are accumulated to 64 either way."},
	Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: yoloWork, cause.TrainingStateTooLarge: yoloWork},
	Like:     []*program.Program{&parts.Vision},
	Cards:    ultralyticsCards,
}

// ultralyticsBatch halves what the log shows.
func ultralyticsBatch(c *ledger.Case) []step.Step {
	switch n := parts.Number(c, "batch", "batch_size"); {
	case cures.Evaluating(c):
		return []step.Step{{Kind: "text", Text: "Pass `batch=1` (predict and export: the default; val: default 16)."}}
	case n > 1:
		return []step.Step{{Kind: "text", Text: "Set `batch=" + strconv.Itoa(n/2) + "` (yours: " + strconv.Itoa(n) + ") in `model.train(...)` or the `yolo` command, down to 1."}}
	}
	return []step.Step{{Kind: "text", Text: "Halve `batch` (default 16) in `model.train(...)` or the `yolo` command. On one GPU, `batch=-1` picks a size that fits."}}
}

// Timm is the training script of pytorch-image-models, not the library that
// half of all vision programs import.
var Timm = program.Program{
	Name: "timm", Shown: "timm's train.py", Work: "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{"pytorch-image-models/train.py": "--batch-size --validation-batch-size --grad-accum-steps --grad-checkpointing --amp --img-size --workers --model-ema-force-cpu"},
	Proofs:  []string{"pytorch-image-models/", "Training with a single process on 1 device", "Using native Torch AMP. Training in mixed precision"},
	Steps: parts.Spelling{
		"lower_batch_size":       parts.Say("Halve `--batch-size` (`-b`, default 128 per GPU) and double `--grad-accum-steps` in your train.py command. If it fails in validation, add `--validation-batch-size 32`."),
		"lower_resolution":       parts.Say("Lower `--img-size`, or train a model with a smaller input."),
		"mixed_precision":        parts.Say("Add `--amp`."),
		"gradient_checkpointing": parts.Say("Add `--grad-checkpointing`; most models of timm support it."),
		"lower_num_workers":      parts.Say("Add `--workers 2`."),
	},
	Like:  []*program.Program{&parts.Vision},
	Cards: timmCards,
}

// DETR is its repository and those made from it: main.py --batch_size.
var DETR = program.Program{
	Name: "detr", Shown: "DETR",
	Work: "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{"detr/main.py": "--batch_size --num_workers --num_queries --masks --backbone --dilation"},
	Proofs:  []string{"/models/detr.py", "/models/deformable_detr.py", "/models/matcher.py", "/models/dino/dino.py", "models/ops/modules/ms_deform_attn.py"},
	Steps: parts.Spelling{
		"lower_batch_size":  parts.Typed("main.py", step.Change{Flag: "--batch_size", Value: "1"}),
		"lower_resolution":  parts.Say("In datasets/coco.py, RandomResize: end `scales` at 640 instead of 800, and set `max_size=1000` instead of 1333. That takes about half."),
		"lower_num_workers": parts.Typed("main.py", step.Change{Flag: "--num_workers", Value: "1"}),
		"cpu_offload":       step.Paste("python", "out_prob, out_bbox = out_prob.cpu(), out_bbox.cpu()   # in models/matcher.py, before the costs\ntgt_ids, tgt_bbox = tgt_ids.cpu(), tgt_bbox.cpu()"),
		"use_smaller_model": parts.Say("Use `--backbone resnet50` without `--dilation`: the DC5 variants keep features at twice the resolution."),
	},
	Remedies: parts.PlainVision,
	Like:     []*program.Program{&parts.DataAside, &parts.Vision},
	Cards:    detrCards,
}
