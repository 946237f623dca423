package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Detectors of papers and of the years before the large libraries.
var (
	// MaskRCNNBenchmark is Facebook's, before Detectron2.
	MaskRCNNBenchmark = program.Program{
		Name: "maskrcnn-benchmark", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"maskrcnn_benchmark/", "maskrcnn-benchmark/", "maskrcnn_benchmark."},
		Sources: program.Sources{"maskrcnn-benchmark/maskrcnn_benchmark/config/defaults.py": "SOLVER.IMS_PER_BATCH IMS_PER_BATCH BASE_LR INPUT.MIN_SIZE_TRAIN MIN_SIZE_TRAIN MAX_SIZE_TRAIN MIN_SIZE_TEST MAX_SIZE_TEST NUM_WORKERS DTYPE FPN_POST_NMS_TOP_N_TRAIN MAX_ITER"},
		Steps: spelling{
			"lower_batch_size":  imagesPerBatch("On one GPU, as its README has it, at the end of your command: `SOLVER.IMS_PER_BATCH 2 SOLVER.BASE_LR 0.0025 SOLVER.MAX_ITER 720000 SOLVER.STEPS \"(480000, 640000)\" MODEL.RPN.FPN_POST_NMS_TOP_N_TRAIN 2000`. The batch counts all GPUs together (default 16): on several, use a multiple of their number, and scale the learning rate with it."),
			"lower_resolution":  say("At the end of your command: `INPUT.MIN_SIZE_TRAIN \"(600,)\" INPUT.MAX_SIZE_TRAIN 1000` (default 800 and 1333)."),
			"mixed_precision":   say("At the end of your command: `DTYPE float16` (needs apex)."),
			"lower_num_workers": say("At the end of your command: `DATALOADER.NUM_WORKERS 1`."),
			"use_smaller_model": say("Use the R_50_FPN config instead of R_101 or X_101."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size (SOLVER.IMS_PER_BATCH)", "lower_resolution": "Lower the image size (INPUT.MIN_SIZE_TRAIN)"},
		Remedies: withoutCheckpoints, Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperPart("maskrcnn-benchmark/match", []string{"boxlist_iou", "match_targets_to_anchors", "modeling/matcher.py"}, cause.OversizedAllocation, "ran out of GPU memory while matching boxes",
				"The code compares every anchor of an image with every object in it. That matrix grows with the number of objects, so a single crowded image can be too much.", "", "maskrcnn-benchmark/maskrcnn_benchmark/structures/boxlist_ops.py",
				append([]cause.Cure{{Fix: "cpu_offload", Title: "Match boxes of crowded images on the CPU", Kind: "python", Text: "if len(boxlist1) > 100 and boxlist1.bbox.is_cuda:\n    return boxlist_iou(boxlist1.to(\"cpu\"), boxlist2.to(\"cpu\")).to(boxlist1.bbox.device)", Told: "At the top of `boxlist_iou` in structures/boxlist_ops.py:", Cost: "Such images are slower."}}, own("lower_resolution", "lower_batch_size")...)...),
			paperEval("maskrcnn-benchmark/test", "Tests have a batch of their own, `TEST.IMS_PER_BATCH` (default 8, over all GPUs), at `INPUT.MIN_SIZE_TEST` (800) and `MAX_SIZE_TEST` (1333).", "`SOLVER.IMS_PER_BATCH`: it is for training only.", "maskrcnn-benchmark/maskrcnn_benchmark/config/defaults.py",
				cause.Cure{Fix: "lower_batch_size", Title: "Test one image at a time (TEST.IMS_PER_BATCH)", Kind: "text", Text: "At the end of your command: `TEST.IMS_PER_BATCH 1` (on several GPUs, their number).", Cost: "Slower."},
				cause.Cure{Fix: "lower_resolution", Title: "Test smaller images (INPUT.MIN_SIZE_TEST)", Kind: "text", Text: "At the end of your command: `INPUT.MIN_SIZE_TEST 600 INPUT.MAX_SIZE_TEST 1000`."}),
			paperStep("maskrcnn-benchmark/step", "`SOLVER.IMS_PER_BATCH` (default 16) counts all GPUs together. The configs are meant for eight GPUs, so a single GPU gets all 16 images. An image with very many boxes can also fail after many steps.",
				"Fewer data loader workers: they use RAM, not GPU memory.", "maskrcnn-benchmark/README.md", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		},
	}
	// EfficientDetPyTorch is zylo117's.
	EfficientDetPyTorch = program.Program{
		Name: "efficientdet-pytorch", Shown: "Yet-Another-EfficientDet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Yet-Another-EfficientDet-Pytorch", "efficientdet/loss.py", "efficientdet/dataset.py"},
		Sources: program.Sources{"Yet-Another-EfficientDet-Pytorch/train.py": "--batch_size --num_workers --head_only --compound_coef --lr", "Yet-Another-EfficientDet-Pytorch/coco_eval.py": "--float16"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch_size", "  (default 12, over all GPUs). Lower `--lr` by the same factor."),
			"use_smaller_model": say("Use a smaller `-c`: 0 trains at 512 pixels, 2 at 768, 4 at 1024, 7 at 1536, with larger networks each time."),
			"lower_resolution":  say("Add `--head_only True`. It trains only the heads, so it keeps far fewer activations."),
			"lower_num_workers": say("Use `-n 2` (default 12)."),
		},
		Titles: map[string]string{"lower_resolution": "Train only the heads (--head_only True)", "use_smaller_model": "Use a smaller model (-c)", "lower_batch_size": "Halve the batch size (--batch_size)"},
		Costs:  map[string]string{"lower_resolution": "Less accuracy."},
		Useless: map[string]func(*ledger.Case) string{"use_smaller_model": func(c *ledger.Case) string {
			if own, _ := cures.Typed(c, "-c"); own == "0" {
				return "0 is the smallest already."
			}
			return ""
		}},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("efficientdet-pytorch/step", "This code trains in 32 bit and has no mixed precision. Each higher `-c` has a larger network and larger images (512 to 1536 pixels), so D4 needs several times the memory of D0.",
			"Resizing the data set: images are scaled to the size of `-c` anyway.", "Yet-Another-EfficientDet-Pytorch/train.py", append(own("lower_batch_size", "use_smaller_model", "lower_resolution"), cause.Cure{Fix: "bigger_gpu", Title: "Or train on a GPU with more memory", Told: "Free notebooks (Colab, Kaggle) have GPUs with 16 GB.", Cost: "limited time"})...)},
	}
	// Effdet is Ross Wightman's.
	Effdet = program.Program{
		Name: "effdet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"-packages/effdet/", "efficientdet-pytorch/train.py", "efficientdet-pytorch/validate.py", "effdet/bench.py", "effdet/anchors.py", "effdet/efficientdet.py"},
		Sources: program.Sources{"efficientdet-pytorch/train.py": "--batch-size --amp --model --workers", "efficientdet-pytorch/validate.py": "--img-size"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch-size", " (per GPU; default 32)."),
			"mixed_precision":   say("Add `--amp`."),
			"use_smaller_model": say("Use a smaller `--model`: tf_efficientdet_d0 works at 512 pixels, d2 at 768, d4 at 1024, d7 at 1536."),
			"lower_resolution":  say("Use a smaller `--model`: the image size comes with it. validate.py has `--img-size`."),
			"lower_num_workers": say("Add `--workers 2`."),
		},
		Remedies: withoutCheckpoints, Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("effdet/step", "Memory grows with the batch size per GPU (default 32) and the model's image size (512 for D0, 1536 for D7). Training runs in 32 bit unless you add `--amp`.",
			"", "efficientdet-pytorch/train.py", own("lower_batch_size", "mixed_precision", "use_smaller_model")...)},
	}
	// CenterNet is Zhou's, with CenterTrack and others made from it.
	CenterNet = program.Program{
		Name: "centernet", Shown: "CenterNet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"CenterNet/src/", "lib/trains/ctdet.py", "lib/trains/base_trainer.py", "lib/detectors/ctdet.py", "pose_dla_dcn.py"},
		Sources: program.Sources{"CenterNet/src/lib/opts.py": "--batch_size --master_batch_size --lr --input_res --arch --num_workers --keep_res --flip_test --gpus"},
		Steps: spelling{
			"lower_batch_size":  halve("main.py", "--batch_size", "  (default 32, over all `--gpus`). Lower `--lr` by the same factor. With several GPUs, set `--master_batch_size` below the share of the others: the first GPU holds more."),
			"lower_resolution":  say("Training: `--input_res 384` (default 512). Testing: leave out `--keep_res`, which processes images at their original size."),
			"use_smaller_model": say("Use `--arch dla_34` or `res_18` instead of `hourglass`."),
			"lower_num_workers": say("Use `--num_workers 1`."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower the input size (--input_res)", "use_smaller_model": "Use a smaller network (--arch)"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperPart("centernet/test", []string{"lib/detectors/", "in demo"}, cause.BatchTooLarge, "ran out of GPU memory while detecting", "Detection takes one image at a time. With `--keep_res` the image keeps its original size; otherwise it is scaled to 512 x 512. `--flip_test` doubles the work. Hourglass needs several times the memory of DLA-34.",
			"A smaller batch: it is one image.", "CenterNet/src/lib/opts.py",
			cause.Cure{Fix: "lower_resolution", Title: "Detect on smaller images", Kind: "text", Text: "Leave out `--keep_res` and `--flip_test`, or scale large images down first."},
			cause.Cure{Fix: "use_smaller_model", Title: "Use a DLA-34 or ResNet model (--arch)", Kind: "text", Text: "Use the weights and `--arch` of DLA-34 (`dla_34`) or ResNet-18 (`resdcn_18`).", Cost: "Some accuracy."}),
			paperStep("centernet/step", "`--batch_size` (default 32) is divided over `--gpus`, and the paper's settings are meant for several GPUs. Hourglass needs several times the memory of DLA-34.",
				"Fewer data loader workers: they use RAM, not GPU memory.", "CenterNet/src/lib/opts.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// YOLACT segments instances.
	YOLACT = program.Program{
		Name: "yolact", Shown: "YOLACT", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"yolact/train.py", "yolact/eval.py", "yolact/layers/", "yolact.py", "yolact-master/"},
		Sources: program.Sources{"yolact/train.py": "--batch_size --batch_alloc --num_workers --config", "yolact/data/config.py": "max_size masks_to_train", "yolact/eval.py": "--video_multiframe"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch_size", "  (default 8). Learning rate and steps adapt automatically."),
			"lower_resolution":  say("Use `--config=yolact_im400_config` (400 pixels instead of 550), or `'max_size': 400` in data/config.py."),
			"use_smaller_model": say("Use `--config=yolact_resnet50_config`. For crowded images also `'masks_to_train': 50` in data/config.py (default 100)."),
			"lower_num_workers": say("Use `--num_workers 1`."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use ResNet-50, and fewer masks per image", "lower_resolution": "Lower the image size (400 pixels)", "lower_batch_size": "Halve the batch size (--batch_size)"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperPart("yolact/masks", []string{"lincomb_mask_loss", "direct_mask_loss"}, cause.BatchTooLarge, "ran out of GPU memory in the mask loss",
				"The loss makes a mask for each object, up to `masks_to_train` (default 100) per image. Crowded images need the most, so it can fail at any step.", "", "yolact/data/config.py",
				append([]cause.Cure{{Fix: "lower_context", Title: "Train on fewer masks per image (masks_to_train)", Kind: "text", Text: "In data/config.py: `'masks_to_train': 50`, then 25 (default 100).", Cost: "Slower learning on crowded images."}}, own("lower_batch_size", "lower_resolution")...)...),
			paperStep("yolact/step", "Memory grows with the batch size and the image size (default 550 x 550). Training runs in 32 bit; the authors use 11 GB for a batch of 8.", "Fewer data loader workers: they use RAM, not GPU memory.", "yolact/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("yolact/show", cause.BatchTooLarge, "Evaluation scales the mask of each detection to the size of the original image or video. In training, memory depends on the batch size and the image size.", "", "yolact/eval.py",
				cause.Cure{Fix: "lower_resolution", Title: "Evaluate smaller images with fewer detections", Kind: "text", Text: "Scale the images down first, and add to eval.py `--top_k=15 --score_threshold=0.3`. For videos also `--video_multiframe=1`.", Cost: "Coarser edges."}, cause.Cure{Fix: "use_smaller_model"}),
		},
	}
	// PyTorchYOLOv3 is Erik Linder-Norén's.
	PyTorchYOLOv3 = program.Program{
		Name: "pytorch-yolov3", Shown: "PyTorch-YOLOv3", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"PyTorch-YOLOv3", "pytorchyolo/"},
		Sources: program.Sources{"PyTorch-YOLOv3/train.py (before 2021)": "--batch_size --gradient_accumulations", "PyTorch-YOLOv3/pytorchyolo/train.py": "--multiscale_training --n_cpu --model --evaluation_interval", "PyTorch-YOLOv3/config/yolov3.cfg": "batch subdivisions width height"},
		Steps: spelling{
			"lower_batch_size":  say("In the .cfg that you pass with `--model`, double `subdivisions` (default 1): the batch is computed in that many parts. Before 2021: halve `--batch_size` and double `--gradient_accumulations`."),
			"lower_resolution":  say("In the .cfg set `width=320` and `height=320`. Leave out `--multiscale_training`, which goes up to 512."),
			"use_smaller_model": say("Use `--model config/yolov3-tiny.cfg`."),
			"lower_num_workers": say("Use `--n_cpu 1`."),
		},
		Titles:   map[string]string{"lower_batch_size": "Compute the batch in more parts (subdivisions)", "lower_resolution": "Lower the image size in the .cfg", "use_smaller_model": "Use YOLOv3-tiny"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{yolov3Before2021, paperStep("pytorch-yolov3/step", "The GPU processes `batch` / `subdivisions` images of the .cfg at once (default 16 / 1), in 32 bit. With `--multiscale_training` the image size changes every ten batches, so it can fail later than at the first step.",
			"Fewer data loader workers: they use RAM, not GPU memory.", "PyTorch-YOLOv3/pytorchyolo/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// YOLOv7 is Wong Kin-Yiu's; its logs begin with YOLOR's name.
	YOLOv7 = program.Program{
		Name: "yolov7", Shown: "YOLOv7", TakenFor: []string{"yolov5"}, Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"yolov7/", "yolov7-main/", "YOLOR \U0001F680", "yolov7.yaml", "yolov7x.yaml", "yolov7-tiny.yaml", "train_aux.py"},
		Sources: program.Sources{"yolov7/train.py": "--batch-size --img-size --workers --cache-images --multi-scale --weights --cfg --hyp", "yolov7/data/hyp.scratch.p5.yaml": "loss_ota"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch-size", "  (over all GPUs; default 16). Gradients are accumulated to about 64 images anyway."),
			"lower_resolution":  say("Lower `--img-size` by a quarter or more, to a multiple of 32 (P6 models: 64). In training leave out `--multi-scale`, which goes up to 1.5 times that size."),
			"use_smaller_model": say("Use `--cfg cfg/training/yolov7-tiny.yaml --weights yolov7-tiny.pt --hyp data/hyp.scratch.tiny.yaml`."),
			"lower_num_workers": say("Use `--workers 2`, and leave out `--cache-images`, which keeps the images in RAM."),
		},
		Titles:  map[string]string{"lower_batch_size": "Halve the batch size (--batch-size)", "lower_resolution": "Lower the image size (--img-size)", "use_smaller_model": "Train YOLOv7-tiny"},
		Costs:   map[string]string{"lower_batch_size": "Slower."},
		Useless: clues.Useless(yolov7Single, "this script takes one image at a time", "lower_batch_size"),
		// Mixed precision is on by itself.
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			cached("yolov7/cache", []string{"--cache-images", "Caching images"}, "--cache-images", "yolov7/utils/datasets.py"),
			paperPart("yolov7/assignment", []string{"find_3_positive", "find_5_positive", "pair_wise_iou", "pair_wise_cls_loss", "compute_loss_ota(", "compute_loss_aux_ota("}, cause.BatchTooLarge, "ran out of GPU memory in the OTA loss, while assigning objects",
				"The OTA loss compares every candidate box with every object of an image, for each class. Images with many objects need the most, so it can fail after many batches that were fine.", "", "yolov7/utils/loss.py",
				append([]cause.Cure{{Fix: "lower_context", Title: "Turn off the OTA loss (loss_ota: 0)", Kind: "text", Text: "For train.py, set `loss_ota: 0` in the file that you pass with `--hyp`. train_aux.py (P6 models) cannot turn it off.", Cost: "Some accuracy; faster."}}, own("lower_batch_size", "lower_resolution")...)...),
			yolov7Tests(paperEval("yolov7/validate", "Validation after an epoch uses twice the training's `--batch-size`; test.py has 32 by default. No gradients are kept there, so images and batch decide.", "Fewer data loader workers: they use RAM, not GPU memory.", "yolov7/train.py",
				cause.Cure{Fix: "lower_batch_size"},
				cause.Cure{Fix: "lower_context", If: (*ledger.Case).Training, Title: "Or validate after the last epoch only (--notest)", Kind: "text", Text: "Add `--notest` to your train.py command. The validation then comes once, at the end.", Cost: "You do not see which epoch was best."},
				cause.Cure{Fix: "lower_resolution"})),
			paperStep("yolov7/step", "Memory grows with the batch size and the square of the image size. Batches with many objects need more, so it can fail after some steps. Mixed precision is already on.", "Fewer data loader workers: they use RAM, not GPU memory.", "yolov7/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("yolov7/run", cause.BatchTooLarge, "Memory grows with the square of the image size and, in training and tests, with the batch size. Validation after an epoch uses twice the training batch size.", "Fewer data loader workers: they use RAM, not GPU memory.", "yolov7/train.py", append([]cause.Cure{{Fix: "cpu_offload", If: yolov7Exports, Title: "Export on the CPU (--device cpu)", Kind: "text", Text: "Add `--device cpu` to your export.py command: the exported file is the same.", Cost: "Some minutes."}, {Fix: "lower_batch_size"}, {Fix: "lower_resolution"}},
				cause.Cure{Fix: "use_smaller_model", If: when.Not(yolov7Single)}, cause.Cure{Fix: "use_smaller_model", If: yolov7Detects, Title: "Use YOLOv7-tiny", Told: "`--weights yolov7-tiny.pt`, or your own training of it."})...),
		},
	}
	// YOLOv6 is Meituan's.
	YOLOv6 = program.Program{
		Name: "yolov6", Shown: "YOLOv6", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"yolov6/core/", "yolov6/models/", "yolov6/utils/", "yolov6/assigners/", "YOLOv6/", "due to the huge memory cost during label assignment"},
		Sources: program.Sources{"YOLOv6/tools/train.py": "--batch-size --img-size --workers --cache-ram --conf"},
		Steps: spelling{
			"lower_batch_size":  halve("tools/train.py", "--batch-size", " (default 32, over all GPUs)."),
			"lower_resolution":  say("Lower `--img-size` by a quarter or more, to a multiple of 32 (P6 models: 64)."),
			"use_smaller_model": say("Use `--conf configs/yolov6n_finetune.py`, the smallest, or yolov6s_finetune.py."),
			"lower_num_workers": say("Use `--workers 2`, and leave out `--cache-ram`."),
		},
		Titles:   map[string]string{"lower_batch_size": "Halve the batch size (--batch-size)", "lower_resolution": "Lower the image size (--img-size)", "use_smaller_model": "Use a smaller model (YOLOv6-N or S)"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			cached("yolov6/cache", []string{"--cache-ram", "Caching images"}, "--cache-ram", "YOLOv6/yolov6/data/datasets.py"),
			paperPart("yolov6/assignment", []string{"during label assignment", "atss_assigner", "tal_assigner"}, cause.BatchTooLarge, "ran out of GPU memory while assigning objects to anchors",
				"Label assignment compares all anchors with all objects of the batch, padded to the most crowded image. YOLOv6 then repeats it on the CPU automatically (\"CPU mode is applied in this batch\"). If training still stopped, the batch itself was too large.", "", "YOLOv6/yolov6/models/losses/loss.py", own("lower_batch_size", "lower_resolution")...),
			paperEval("yolov6/evaluate", "Evaluation during training uses twice the training's batch on each GPU; tools/eval.py has its own `--batch-size` (default 32). Memory grows with the square of the image size.", "Fewer data loader workers: they use RAM, not GPU memory.", "YOLOv6/tools/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperStep("yolov6/step", "Memory grows with the batch size and the square of the image size. Mixed precision is already on. Training with distillation (M and L models) needs more.", "Fewer data loader workers: they use RAM, not GPU memory.", "YOLOv6/tools/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
		},
	}
	// PaddleDetection and its kin are on PaddlePaddle.
	PaddleDetection = program.Program{
		Name: "paddledetection", Rank: above, Shown: "PaddleDetection", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"PaddleDetection/", "ppdet/"},
		Sources: program.Sources{"PaddleDetection/tools/train.py": "--amp", "PaddleDetection/configs/ppyoloe/_base_/ppyoloe_reader.yml": "TrainReader batch_size worker_num"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `-o TrainReader.batch_size=2 LearningRate.base_lr=0.0025` (per GPU). Lower both by the same factor: ppyoloe has 8 at 0.01."),
			"mixed_precision":   say("Add `--amp`."),
			"lower_resolution":  say("In the reader's YAML, remove the largest sizes from `target_size` of `BatchRandomResize` under TrainReader. For evaluation: `eval_height` and `eval_width`."),
			"lower_num_workers": say("At the end of your command: `-o worker_num=1 TrainReader.use_shared_memory=False`."),
			"use_smaller_model": say("Use the s or m config instead of l or x, or ResNet-50 instead of ResNet-101."),
		},
		Remedies: withoutCheckpoints, Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("paddledetection/step", "`TrainReader.batch_size` is per GPU, and most configs are meant for eight GPUs with 32 GB each. Many change the image size from batch to batch (`BatchRandomResize`), so it can fail after some steps, at the largest size.",
			"", "PaddleDetection/configs/ppyoloe/_base_/ppyoloe_reader.yml", own("lower_batch_size", "mixed_precision", "lower_resolution")...)},
	}
	PaddleSeg = program.Program{
		Name: "paddleseg", Rank: above, Shown: "PaddleSeg", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"PaddleSeg/", "paddleseg/"},
		Sources: program.Sources{"PaddleSeg/tools/train.py": "--batch_size --num_workers --precision", "PaddleSeg/tools/predict.py": "--is_slide --crop_size --stride"},
		Steps: spelling{
			"lower_batch_size":  halve("tools/train.py", "--batch_size", " (per GPU)."),
			"mixed_precision":   say("Add `--precision fp16`."),
			"lower_resolution":  say("Training: lower `crop_size` of RandomPaddingCrop in the YAML. Evaluation and prediction: add `--is_slide --crop_size 512 512 --stride 384 384`."),
			"lower_num_workers": say("Add `--num_workers 0`."),
		},
		Titles:   map[string]string{"lower_resolution": "Use smaller crops, or sliding windows for whole images"},
		Costs:    map[string]string{"lower_resolution": "Less context around each pixel."},
		Remedies: ways("lower_batch_size", "lower_resolution", "mixed_precision"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperPart("paddleseg/slide", []string{"slide_inference"}, cause.OversizedAllocation, "ran out of GPU memory while collecting the windows of one large image", "Windows keep the network's part small, but the scores of the whole image are collected on the GPU: classes x height x width x 4 bytes. So the image itself is too large, not the window.", "A smaller `--crop_size`: the whole image's scores stay as large.", "PaddleSeg/tools/predict.py",
				cause.Cure{Fix: "lower_resolution", Title: "Cut the image into parts before", Kind: "text", Text: "Save it as parts of some thousand pixels per side with a small overlap, predict each, and join the results.", Cost: "Some scripting."},
				cause.Cure{Fix: "lower_context", Title: "Or scale it down", Kind: "text", Text: "Half the width and height needs a quarter of this memory.", Cost: "Coarser edges."}),
			paperStep("paddleseg/step", "Memory grows with the batch size per GPU and the crop size. The loss also needs a score for each class and pixel.", "", "PaddleSeg/tools/train.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
			paperRun("paddleseg/whole", cause.BatchTooLarge, "Evaluation and prediction process whole images, not crops: the scores alone take classes x height x width x 4 bytes. In training, memory depends on the crop size and the batch size.", "", "PaddleSeg/tools/predict.py", own("lower_resolution")...),
		},
	}
	// GroundingDINO finds what words name.
	GroundingDINO = program.Program{
		Name: "grounding-dino", Shown: "GroundingDINO", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"GroundingDINO/demo", "/GroundingDINO/groundingdino/", "groundingdino/util/inference.py", "groundingdino/models/GroundingDINO/", "Grounded-Segment-Anything/", "Grounded-SAM-2/"},
		Sources: program.Sources{"GroundingDINO/demo/inference_on_a_image.py": "--cpu-only", "GroundingDINO/groundingdino/util/inference.py": "RandomResize max_size"},
		Steps: spelling{
			"lower_resolution":  say("In `load_image` of groundingdino/util/inference.py use `T.RandomResize([600], max_size=1000)` instead of 800 and 1333."),
			"lower_batch_size":  say("Process one image at a time inside `with torch.no_grad():`, and move results with `.cpu()` before the next one."),
			"use_smaller_model": say("Use GroundingDINO_SwinT_OGC instead of SwinB. If you also use SAM: `vit_b` instead of `vit_h`."),
			"cpu_offload":       say("Use `load_model(config, weights, device=\"cpu\")`; demo script: `--cpu-only`."),
		},
		Titles:   map[string]string{"lower_resolution": "Lower the detector's input size", "cpu_offload": "Run the detector on the CPU", "lower_batch_size": "Process one image at a time", "use_smaller_model": "Use smaller models (SwinT, SAM vit_b)"},
		Useless:  map[string]func(*ledger.Case) string{"use_smaller_model": groundedSmall, "lower_batch_size": oneImage},
		Remedies: ways("use_smaller_model", "lower_resolution", "cpu_offload", "lower_batch_size"), Like: []*program.Program{&parts.DataAside, &parts.Vision},
		Cards: notInside([]cause.Card{paperPart("grounding-dino/sam", []string{"segment_anything/modeling/image_encoder.py", "sam.predict_torch", "predictor.set_image("}, cause.ModelTooLarge, "ran out of GPU memory in SAM, after the detector", "SAM scales every image to 1024 pixels, so its size does not matter. vit_h has 2.5 GB of weights and needs several GB for an image. The detector and results that a loop keeps are on the GPU too.", "Smaller images: SAM scales them anyway.", "GroundingDINO/groundingdino/util/inference.py",
			cause.Cure{Fix: "use_smaller_model", Title: "Use SAM's vit_b", Kind: "text", Text: "Load `sam_vit_b_01ec64.pth` with `sam_model_registry[\"vit_b\"]` instead of vit_h.", Cost: "Slightly coarser masks."},
			cause.Cure{Fix: "cpu_offload"}, cause.Cure{Fix: "lower_batch_size", Title: "Keep nothing on the GPU between images", Kind: "text", Text: "Run it inside `with torch.no_grad():`, and move boxes and masks with `.cpu()` before the next image. With many boxes pass some at a time to `predict_torch`.", Cost: "None."}), paperRun("grounding-dino/run", cause.ModelTooLarge, "Images are scaled to at most 800 x 1333, so their size matters little. What adds up: the detector, SAM if you use it (vit_h: 2.5 GB of weights and several GB per image), and earlier results that a loop keeps on the GPU.",
			"", "GroundingDINO/groundingdino/util/inference.py", own("use_smaller_model", "cpu_offload", "lower_batch_size")...)}),
	}
)

// groundedSmall and oneImage: what the demo of one image has already.
func groundedSmall(c *ledger.Case) string {
	if cures.Mentions("SwinT_OGC")(c) && !clues.Shows("segment_anything", "sam.")(c) {
		return "SwinT is the smallest detector."
	}
	return ""
}

func oneImage(c *ledger.Case) string {
	if clues.Shows("inference_on_a_image.py")(c) {
		return "The demo takes one image."
	}
	return ""
}

// yolov7Detects and yolov7Exports: scripts run that take one image at a time.
var (
	yolov7Detects = clues.Shows("detect.py")
	yolov7Exports = clues.Shows("export.py")
	yolov7Single  = clues.Shows("detect.py", "export.py")
)

// yolov7Tests keeps a card from scripts that take one image.
func yolov7Tests(k cause.Card) cause.Card {
	k.If = when.All(k.If, when.Not(yolov7Single))
	return k
}

// imagesPerBatch is one image where the reader's command has two already.
func imagesPerBatch(told string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if own, _ := cures.Typed(c, "SOLVER.IMS_PER_BATCH"); own == "2" {
			return []step.Step{{Kind: "text", Text: "At the end of your command: `SOLVER.IMS_PER_BATCH 1`. Also halve `SOLVER.BASE_LR`, and double `SOLVER.MAX_ITER` and `SOLVER.STEPS`."}}
		}
		return []step.Step{{Kind: "text", Text: told}}
	}
}

// yolov3Before2021 is about train.py with --model_def, whose batch is an option.
var yolov3Before2021 = func() cause.Card {
	k := paperStep("pytorch-yolov3/old", "The GPU processes `--batch_size` images at once (default 8), in 32 bit. Multi-scale training, on by default, changes the image size from batch to batch, so it can fail later than at the first step.",
		"Fewer data loader workers: they use RAM, not GPU memory.", "PyTorch-YOLOv3/train.py (before 2021)",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size (--batch_size)", Kind: "text", Text: "Halve `--batch_size`, and double `--gradient_accumulations`.", Cost: "Slower."},
		cause.Cure{Fix: "lower_resolution", Title: "Lower the image size (--img_size)", Kind: "text", Text: "Use `--img_size 320` (default 416; a multiple of 32)."},
		cause.Cure{Fix: "use_smaller_model", Title: "Use YOLOv3-tiny", Kind: "text", Text: "Use `--model_def config/yolov3-tiny.cfg`."})
	k.Said = []string{"--model_def", "model_def="}
	return k
}()
