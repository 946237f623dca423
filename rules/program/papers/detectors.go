package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
)

// Detectors of papers and of the years before the large libraries.
var (
	// MaskRCNNBenchmark is Facebook's, before Detectron2.
	MaskRCNNBenchmark = program.Program{
		Name: "maskrcnn-benchmark", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"maskrcnn_benchmark/", "maskrcnn-benchmark/", "maskrcnn_benchmark."},
		Sources: program.Sources{"maskrcnn-benchmark/maskrcnn_benchmark/config/defaults.py": "SOLVER.IMS_PER_BATCH IMS_PER_BATCH BASE_LR INPUT.MIN_SIZE_TRAIN MIN_SIZE_TRAIN MAX_SIZE_TRAIN NUM_WORKERS DTYPE FPN_POST_NMS_TOP_N_TRAIN MAX_ITER"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `SOLVER.IMS_PER_BATCH 2 SOLVER.BASE_LR 0.0025 SOLVER.MAX_ITER 720000 MODEL.RPN.FPN_POST_NMS_TOP_N_TRAIN 2000` (default 16 over ALL cards at 0.02; an eighth of both, eight times the steps, 1000 proposals an image). Evaluating: `TEST.IMS_PER_BATCH 1`."),
			"lower_resolution":  say("At the end of your command: `INPUT.MIN_SIZE_TRAIN \"(600,)\" INPUT.MAX_SIZE_TRAIN 1000` (default 800 and 1333)."),
			"mixed_precision":   say("At the end of your command: `DTYPE float16` (needs apex)."),
			"lower_num_workers": say("At the end of your command: `DATALOADER.NUM_WORKERS 1`."),
			"use_smaller_model": say("The R_50_FPN config instead of R_101 or X_101."),
		},
		Remedies: withoutCheckpoints, Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperPart("maskrcnn-benchmark/match", []string{"boxlist_iou", "match_targets_to_anchors", "modeling/matcher.py"}, cause.OversizedAllocation, "ran out while matching boxes[[: {asked} refused]]",
				"It was comparing all anchors of an image with all of its objects: a matrix that grows with the objects, so that one crowded image is enough, at a random step.", "A smaller backbone: the matrix does not depend on it.", "maskrcnn-benchmark/maskrcnn_benchmark/structures/boxlist_ops.py",
				append([]cause.Cure{{Fix: "cpu_offload", Title: "Match crowded images on the CPU", Kind: "python", Text: "if len(boxlist1) > 100:   # boxlist_ops.py, first lines of boxlist_iou\n    return boxlist_iou(boxlist1.to(\"cpu\"), boxlist2.to(\"cpu\")).to(boxlist1.bbox.device)", Told: "For boxes that lie on the card:", Cost: "Seconds on such images."}}, own("lower_resolution", "lower_batch_size")...)...),
			paperStep("maskrcnn-benchmark/step", "It failed in a training step. SOLVER.IMS_PER_BATCH, 16 by default, counts over ALL cards: configs are meant for eight, so that a single card gets all 16.",
				"NUM_WORKERS: workers take system memory.", "maskrcnn-benchmark/README.md", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		},
	}
	// EfficientDetPyTorch is zylo117's.
	EfficientDetPyTorch = program.Program{
		Name: "efficientdet-pytorch", Shown: "Yet-Another-EfficientDet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Yet-Another-EfficientDet-Pytorch", "efficientdet/loss.py", "efficientdet/dataset.py"},
		Sources: program.Sources{"Yet-Another-EfficientDet-Pytorch/train.py": "--batch_size --num_workers --head_only --compound_coef --lr", "Yet-Another-EfficientDet-Pytorch/coco_eval.py": "--float16"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch_size", "2", " (default 12, over all cards); `--lr` lowered alike."),
			"use_smaller_model": say("A smaller `-c`: 0 trains at 512 pixels, 2 at 768, 4 at 1024, 7 at 1536, each with a larger network."),
			"lower_resolution":  say("The image size hangs on `-c`: take a smaller one, with its own weights. With `--head_only True` only the heads are trained, which keeps far less."),
			"lower_num_workers": say("`-n 2` (default 12)."),
		},
		Titles:   map[string]string{"lower_resolution": "Train the heads only"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("efficientdet-pytorch/step", "It failed in a training step, at 32 bit: this code has no mixed precision. Each step of `-c` has a larger network AND larger images (512 to 1536 pixels), so that D4 needs many times what D0 does.",
			"Smaller images in the data set: they are scaled to the size of `-c`.", "Yet-Another-EfficientDet-Pytorch/train.py", own("lower_batch_size", "use_smaller_model", "lower_resolution")...)},
	}
	// Effdet is Ross Wightman's.
	Effdet = program.Program{
		Name: "effdet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"-packages/effdet/", "efficientdet-pytorch/train.py", "efficientdet-pytorch/validate.py", "effdet/bench.py", "effdet/anchors.py", "effdet/efficientdet.py"},
		Sources: program.Sources{"efficientdet-pytorch/train.py": "--batch-size --amp --model --workers", "efficientdet-pytorch/validate.py": "--img-size"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch-size", "4", " (default 32 a card)."),
			"mixed_precision":   say("Add `--amp`."),
			"use_smaller_model": say("A smaller `--model`: tf_efficientdet_d0 takes 512 pixels, d2 768, d4 1024, d7 1536."),
			"lower_resolution":  say("The size belongs to the model: take a smaller `--model`; validate.py has `--img-size`."),
			"lower_num_workers": say("Add `--workers 2`."),
		},
		Remedies: withoutCheckpoints, Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("effdet/step", "It failed in a training step: images of the model's own size (512 for D0, 1536 for D7) times the batch of ONE card, 32 unless set; 32 bit unless `--amp` is given.",
			"More cards: the batch is that of one.", "efficientdet-pytorch/train.py", own("lower_batch_size", "mixed_precision", "use_smaller_model")...)},
	}
	// CenterNet is Zhou's, with CenterTrack and others made from it.
	CenterNet = program.Program{
		Name: "centernet", Shown: "CenterNet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"CenterNet/src/", "lib/trains/ctdet.py", "lib/trains/base_trainer.py", "lib/detectors/ctdet.py", "pose_dla_dcn.py"},
		Sources: program.Sources{"CenterNet/src/lib/opts.py": "--batch_size --master_batch_size --input_res --arch --num_workers --keep_res --flip_test --gpus"},
		Steps: spelling{
			"lower_batch_size":  halve("main.py", "--batch_size", "8", " (default 32, over all of `--gpus`); on several cards `--master_batch_size` smaller than the others' share, for the first holds more. The learning rate goes down alike."),
			"lower_resolution":  say("Training: `--input_res 384` (default 512). Testing: without `--keep_res`, which takes images at their own size."),
			"use_smaller_model": say("`--arch dla_34` or `res_18` instead of `hourglass`."),
			"lower_num_workers": say("`--num_workers 1`."),
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("centernet/step", "It failed in a training step. `--batch_size` (32) is divided over `--gpus`; configs of the paper are meant for several cards, and hourglass needs several times as much as DLA-34.",
			"NUM_WORKERS: workers take system memory.", "CenterNet/src/lib/opts.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// YOLACT segments instances.
	YOLACT = program.Program{
		Name: "yolact", Shown: "YOLACT", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"yolact/train.py", "yolact/eval.py", "yolact/layers/", "yolact.py", "yolact-master/"},
		Sources: program.Sources{"yolact/train.py": "--batch_size --batch_alloc --num_workers --config", "yolact/data/config.py": "max_size masks_to_train", "yolact/eval.py": "--video_multiframe"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch_size", "4", " (default 8): rate and steps follow by themselves."),
			"lower_resolution":  say("`--config=yolact_im400_config` (400 pixels for 550), or `'max_size': 400` in data/config.py."),
			"use_smaller_model": say("`--config=yolact_resnet50_config`; and `'masks_to_train': 50` (default 100) for crowded images."),
			"lower_num_workers": say("`--num_workers 1`."),
		},
		Titles:   map[string]string{"use_smaller_model": "ResNet-50, fewer masks an image"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperPart("yolact/masks", []string{"lincomb_mask_loss", "direct_mask_loss"}, cause.BatchTooLarge, "ran out in the mask loss: many objects in one image",
				"The loss makes a mask for each object that is trained on, up to `masks_to_train` (100) an image, so that crowded images decide and it fails at a random step.", "A smaller backbone alone: the masks stay.", "yolact/data/config.py",
				append([]cause.Cure{{Fix: "lower_context", Title: "Fewer masks an image", Kind: "text", Text: "In data/config.py: `'masks_to_train': 50`, then 25.", Cost: "The rest is drawn at random each time: slower learning."}}, own("lower_batch_size", "lower_resolution")...)...),
			paperStep("yolact/step", "It failed in a training step: batch x 550 x 550 pixels at 32 bit; the authors train with 8 on 11 GB.", "`--num_workers`: workers take system memory.", "yolact/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("yolact/show", cause.BatchTooLarge, "It failed while masks were being drawn or scaled: each is scaled to the size of the ORIGINAL image or video, times the detections.", "A smaller model: the masks have the image's size.", "yolact/eval.py",
				cause.Cure{Fix: "lower_resolution", Title: "Smaller images in, fewer detections", Kind: "text", Text: "Scale the images down first; `--top_k=15 --score_threshold=0.3`; for videos `--video_multiframe=1`.", Cost: "Coarser edges."}, cause.Cure{Fix: "use_smaller_model"}),
		},
	}
	// PyTorchYOLOv3 is Erik Linder-Norén's.
	PyTorchYOLOv3 = program.Program{
		Name: "pytorch-yolov3", Shown: "PyTorch-YOLOv3", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"PyTorch-YOLOv3", "pytorchyolo/"},
		Sources: program.Sources{"PyTorch-YOLOv3/train.py (before 2021)": "--batch_size --gradient_accumulations", "PyTorch-YOLOv3/pytorchyolo/train.py": "--multiscale_training --n_cpu --model --evaluation_interval", "PyTorch-YOLOv3/config/yolov3.cfg": "batch subdivisions width height"},
		Steps: spelling{
			"lower_batch_size":  say("In the .cfg that `--model` names: `subdivisions=4` (then 8): `batch` is worked off in so many parts, and the result stays the same. Versions before 2021: `--batch_size 2 --gradient_accumulations 4` on the command line."),
			"lower_resolution":  say("In the .cfg `width=320`, `height=320`, and without `--multiscale_training`, which goes up to 512."),
			"use_smaller_model": say("`--model config/yolov3-tiny.cfg`."),
			"lower_num_workers": say("`--n_cpu 1`."),
		},
		Titles:   map[string]string{"lower_batch_size": "More subdivisions of the batch"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("pytorch-yolov3/step", "It failed in a training step. batch / subdivisions of the .cfg go to the card at once (16 / 1 as it comes), at 32 bit; with `--multiscale_training` the size changes every ten steps, so that it may die later than at the first.",
			"`--n_cpu`: loaders take system memory.", "PyTorch-YOLOv3/pytorchyolo/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// YOLOv7 is Wong Kin-Yiu's; its logs begin with YOLOR's name.
	YOLOv7 = program.Program{
		Name: "yolov7", Shown: "YOLOv7", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"yolov7/", "yolov7-main/", "YOLOR \U0001F680", "yolov7.yaml", "yolov7x.yaml", "yolov7-tiny.yaml", "train_aux.py"},
		Sources: program.Sources{"yolov7/train.py": "--batch-size --img-size --workers --cache-images --multi-scale --weights --cfg --hyp", "yolov7/data/hyp.scratch.p5.yaml": "loss_ota"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batch-size", "8", " (over all cards; gradients are accumulated to 64 either way)."),
			"lower_resolution":  say("`--img-size 512 512` (default 640 640; the P6 models 1280 1280), without `--multi-scale`, which goes half as far up again."),
			"use_smaller_model": say("`--cfg cfg/training/yolov7-tiny.yaml --weights yolov7-tiny.pt` with data/hyp.scratch.tiny.yaml."),
			"lower_num_workers": say("`--workers 2`, without `--cache-images`, which keeps the images in RAM."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch (--batch-size)", "lower_resolution": "Lower the image size (--img-size)"},
		Costs:  map[string]string{"lower_batch_size": "Slower; gradients are accumulated to 64 either way."},
		// Mixed precision is on by itself.
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			cached("yolov7/cache", []string{"--cache-images", "Caching images"}, "--cache-images", "yolov7/utils/datasets.py"),
			paperPart("yolov7/assignment", []string{"find_3_positive", "find_5_positive", "pair_wise_iou", "pair_wise_cls_loss", "compute_loss_ota(", "compute_loss_aux_ota("}, cause.BatchTooLarge, "ran out while assigning objects to predictions[[: {asked} refused]]",
				"The loss (loss_ota) compares every candidate with every object of the batch, for each class, so that crowded images decide: it fails at a random step, even where most fit.", "A smaller model: the matrix does not depend on it.", "yolov7/utils/loss.py",
				append([]cause.Cure{{Fix: "lower_context", Title: "Train without that assignment", Kind: "text", Text: "In your hyp file: `loss_ota: 0` (train.py; the P6 script train_aux.py needs it).", Cost: "Some accuracy; faster."}}, own("lower_batch_size", "lower_resolution")...)...),
			paperStep("yolov7/step", "It failed in a training step: batch x image size squared, in mixed precision already. Mosaic makes images differ, so that it may die some steps in.", "`--workers`: they take system memory.", "yolov7/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("yolov7/run", cause.BatchTooLarge, "It failed outside a training step: in validation (test.py, twice the training batch, at full size) or detection.", "`--workers`: they take system memory.", "yolov7/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
		},
	}
	// YOLOv6 is Meituan's.
	YOLOv6 = program.Program{
		Name: "yolov6", Shown: "YOLOv6", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"yolov6/core/", "yolov6/models/", "yolov6/utils/", "yolov6/assigners/", "YOLOv6/", "due to the huge memory cost during label assignment"},
		Sources: program.Sources{"YOLOv6/tools/train.py": "--batch-size --img-size --workers --cache-ram --conf"},
		Steps: spelling{
			"lower_batch_size":  halve("tools/train.py", "--batch-size", "8", " (default 32, over all cards)."),
			"lower_resolution":  say("`--img-size 416` (default 640; the P6 models 1280)."),
			"use_smaller_model": say("`--conf configs/yolov6s_finetune.py`, or yolov6n_finetune.py."),
			"lower_num_workers": say("`--workers 2`, without `--cache-ram`."),
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			cached("yolov6/cache", []string{"--cache-ram", "Caching images"}, "--cache-ram", "YOLOv6/yolov6/data/datasets.py"),
			paperPart("yolov6/assignment", []string{"during label assignment", "atss_assigner", "tal_assigner"}, cause.BatchTooLarge, "ran out while assigning objects to anchors",
				"Label assignment compares all anchors with all objects of the batch, padded to the most crowded image. YOLOv6 then does it on the CPU by itself (\"CPU mode is applied in this batch\"): slow, but right. If it died after that, the step itself was too large.", "A smaller model: the matrix does not depend on it.", "YOLOv6/yolov6/models/losses/loss.py", own("lower_batch_size", "lower_resolution")...),
			paperStep("yolov6/step", "It failed in a training step: batch x image size squared, in mixed precision already; M and L models distil and keep more.", "`--workers`: they take system memory.", "YOLOv6/tools/train.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
		},
	}
	// PaddleDetection and its kin are on PaddlePaddle.
	PaddleDetection = program.Program{
		Name: "paddledetection", Rank: above, Shown: "PaddleDetection", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"PaddleDetection/", "ppdet/"},
		Sources: program.Sources{"PaddleDetection/tools/train.py": "--amp", "PaddleDetection/configs/ppyoloe/_base_/ppyoloe_reader.yml": "TrainReader batch_size worker_num"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `-o TrainReader.batch_size=2 LearningRate.base_lr=0.0025` (the batch of ONE card; ppyoloe has 8 at 0.01: lower both alike)."),
			"mixed_precision":   say("Add `--amp`."),
			"lower_resolution":  say("In the reader's YAML: smaller sizes in `BatchRandomResize` (target_size) of TrainReader: the largest decides; evaluation has its own `eval_height` and `eval_width`."),
			"lower_num_workers": say("At the end of your command: `-o worker_num=1 TrainReader.use_shared_memory=False`."),
			"use_smaller_model": say("The s or m config instead of l or x, ResNet-50 for ResNet-101."),
		},
		Remedies: withoutCheckpoints, Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("paddledetection/step", "It failed in a training step. TrainReader.batch_size is that of ONE card; the configs are meant for eight cards of 32 GB. The image size changes from batch to batch (BatchRandomResize), so that it may die some steps in, at the largest.",
			"More cards: the batch is that of one.", "PaddleDetection/configs/ppyoloe/_base_/ppyoloe_reader.yml", own("lower_batch_size", "mixed_precision", "lower_resolution")...)},
	}
	PaddleSeg = program.Program{
		Name: "paddleseg", Rank: above, Shown: "PaddleSeg", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"PaddleSeg/", "paddleseg/"},
		Sources: program.Sources{"PaddleSeg/tools/train.py": "--batch_size --num_workers --precision", "PaddleSeg/tools/predict.py": "--is_slide --crop_size --stride"},
		Steps: spelling{
			"lower_batch_size":  halve("tools/train.py", "--batch_size", "1", " (of one card)."),
			"mixed_precision":   say("Add `--precision fp16`."),
			"lower_resolution":  say("Training: a smaller `crop_size` of RandomPaddingCrop in the YAML. Evaluating and predicting, where images go in whole: `--is_slide --crop_size 512 512 --stride 384 384`."),
			"lower_num_workers": say("Add `--num_workers 0`."),
		},
		Titles:   map[string]string{"lower_resolution": "Smaller crops; sliding windows for whole images"},
		Remedies: ways("lower_batch_size", "lower_resolution", "mixed_precision"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("paddleseg/step", "It failed in a training step: batch_size (of one card) x crop size; the loss then holds a score for each class and pixel.", "More cards: the batch is that of one.", "PaddleSeg/tools/train.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
			paperRun("paddleseg/whole", cause.BatchTooLarge, "It failed in evaluation or prediction, where images go in whole, not as crops: classes x height x width x 4 bytes for the scores alone.", "batch_size: it is 1 there already.", "PaddleSeg/tools/predict.py", own("lower_resolution")...),
		},
	}
	// GroundingDINO finds what words name.
	GroundingDINO = program.Program{
		Name: "grounding-dino", Shown: "GroundingDINO", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"GroundingDINO/demo", "/GroundingDINO/groundingdino/", "groundingdino/util/inference.py", "groundingdino/models/GroundingDINO/", "Grounded-Segment-Anything/", "Grounded-SAM-2/"},
		Sources: program.Sources{"GroundingDINO/demo/inference_on_a_image.py": "--cpu-only", "GroundingDINO/groundingdino/util/inference.py": "RandomResize max_size"},
		Steps: spelling{
			"lower_resolution":  say("In groundingdino/util/inference.py, `load_image`: `T.RandomResize([600], max_size=1000)` for 800 and 1333."),
			"lower_batch_size":  say("One image at a time, each inside `with torch.no_grad():`, results moved with `.cpu()` before the next."),
			"use_smaller_model": say("GroundingDINO_SwinT_OGC instead of SwinB; with SAM beside it `vit_b` instead of `vit_h`."),
			"cpu_offload":       say("`load_model(config, weights, device=\"cpu\")`; the demo script: `--cpu-only`."),
		},
		Titles:   map[string]string{"lower_resolution": "Smaller images", "cpu_offload": "Detect on the processor, segment on the card"},
		Remedies: ways("use_smaller_model", "lower_resolution", "cpu_offload", "lower_batch_size"), Like: []*program.Program{&trainer.DataAside, &trainer.Vision},
		Cards: notInside([]cause.Card{paperRun("grounding-dino/run", cause.ModelTooLarge, "Images are scaled to 800 x 1333 at most, so their own size hardly counts. What adds up: the detector, SAM (vit_h is 2.5 GB of weights and several GB for each image) and whatever else the script keeps on the card, or results of earlier images that stay there in a loop.",
			"Smaller image files: they are scaled anyway.", "GroundingDINO/groundingdino/util/inference.py", own("use_smaller_model", "cpu_offload", "lower_batch_size")...)}),
	}
)
