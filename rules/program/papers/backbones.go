package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Classifiers, backbones and segmenters of papers.
var (
	// SwinTransformer is Microsoft's.
	SwinTransformer = program.Program{
		Name: "swin-transformer", Shown: "Swin Transformer", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Swin-Transformer/main", "Swin-Transformer/models/", "Swin-Transformer/kernels/"},
		Sources: program.Sources{"Swin-Transformer/main.py": "--batch-size --accumulation-steps --use-checkpoint --amp-opt-level --disable_amp --cfg --opts", "Swin-Transformer/config.py": "NUM_WORKERS"},
		Steps: spelling{
			"lower_batch_size":       halve("main.py", "--batch-size", "32", " and `--accumulation-steps 4` (the batch is that of ONE card, 128 by default)."),
			"gradient_checkpointing": say("Add `--use-checkpoint`: about 60 % less with Swin-B, as its guide says."),
			"mixed_precision":        say("It is on unless `--disable_amp` (or `--amp-opt-level O0`) is given: leave that out."),
			"lower_resolution":       say("A config of 224 pixels instead of 384: a third."),
			"use_smaller_model":      say("The tiny or small config instead of base or large."),
			"lower_num_workers":      say("`--opts DATA.NUM_WORKERS 2`."),
		},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("swin-transformer/step", "It failed in a training step: 128 images for EACH card by default, in mixed precision already; the configs are meant for eight cards of 32 GB.", "More cards: `--batch-size` is that of one.", "Swin-Transformer/get_started.md",
			own("lower_batch_size", "gradient_checkpointing", "use_smaller_model")...)},
	}
	// ConvNeXt is Facebook's.
	ConvNeXt = program.Program{
		Name: "convnext", Shown: "ConvNeXt", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"ConvNeXt/main.py", "ConvNeXt/models/", "ConvNeXt/engine.py", "ConvNeXt-V2/"},
		Sources: program.Sources{"ConvNeXt/main.py": "--batch_size --update_freq --use_amp --input_size --num_workers --model_ema --model"},
		Steps: spelling{
			"lower_batch_size":  halve("main.py", "--batch_size", "16", " with `--update_freq` raised alike (default 64 a card and 1): the result stays the same."),
			"mixed_precision":   say("Add `--use_amp true`: off by default."),
			"lower_resolution":  say("`--input_size 224` instead of 384: a third."),
			"use_smaller_model": say("`--model convnext_tiny` or convnext_small; `--model_ema false` saves a copy of the weights."),
			"lower_num_workers": say("`--num_workers 2`."),
		},
		Remedies: withoutCheckpoints, Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("convnext/step", "It failed in a training step: 64 images for each card by default, at 32 bit unless `--use_amp true` is given.", "More cards: `--batch_size` is that of one.", "ConvNeXt/main.py",
			own("lower_batch_size", "mixed_precision", "lower_resolution")...)},
	}
	// MAE is the masked autoencoder of Facebook.
	MAE = program.Program{
		Name: "mae", Shown: "MAE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"models_mae.py", "engine_pretrain.py", "mae/main_finetune.py", "mae/engine_finetune.py", "mae/main_linprobe.py"},
		Sources: program.Sources{"mae/main_finetune.py": "--batch_size --accum_iter --input_size --num_workers --model"},
		Steps: spelling{
			"lower_batch_size":  halve("main_finetune.py` or `main_pretrain.py", "--batch_size", "16", " with `--accum_iter` raised alike (default 64 a card and 1): the result stays the same."),
			"lower_resolution":  say("`--input_size 160` (default 224)."),
			"use_smaller_model": say("`--model vit_base_patch16` (pre-training: mae_vit_base_patch16) instead of large or huge."),
			"lower_num_workers": say("`--num_workers 2`."),
		},
		Remedies: ways("lower_batch_size", "use_smaller_model", "lower_resolution"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("mae/step", "It failed in a training step, in mixed precision already. Fine-tuning sees all patches, pre-training only a quarter of them in the encoder: a batch that pre-trained need not fit for fine-tuning.", "More cards: `--batch_size` is that of one.", "mae/main_finetune.py",
			own("lower_batch_size", "use_smaller_model", "lower_resolution")...)},
	}
	// VideoMAE is its kin for video.
	VideoMAE = program.Program{
		Name: "videomae", Shown: "VideoMAE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"VideoMAE/", "VideoMAEv2/", "run_mae_pretraining.py", "engine_for_finetuning.py", "engine_for_pretraining.py"},
		Sources: program.Sources{"VideoMAE/run_class_finetuning.py": "--batch_size --update_freq --use_checkpoint --num_frames --num_sample --input_size --num_workers --sampling_rate"},
		Steps: spelling{
			"lower_batch_size":       halve("run_class_finetuning.py` or `run_mae_pretraining.py", "--batch_size", "4", "; fine-tuning also `--num_sample 1` (default 2: each clip is taken twice) and `--update_freq` raised for the same result."),
			"gradient_checkpointing": say("Add `--use_checkpoint`."),
			"lower_resolution":       say("`--num_frames 8` (default 16: half the tokens), then `--input_size 160`."),
			"lower_num_workers":      say("`--num_workers 2`: each decodes whole videos in RAM."),
		},
		Titles:   map[string]string{"lower_resolution": "Fewer frames, smaller images"},
		Costs:    map[string]string{"lower_resolution": "Accuracy."},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "lower_resolution"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("videomae/step", "It failed in a training step. A clip of 16 frames is 1568 tokens, all attending to each other; fine-tuning takes each clip `--num_sample` (2) times, so that `--batch_size 8` is 16 clips.", "More cards: `--batch_size` is that of one.", "VideoMAE/run_class_finetuning.py",
			own("lower_batch_size", "gradient_checkpointing", "lower_resolution")...)},
	}
	// DINOv2 is mostly used as a backbone in somebody's own code.
	DINOv2 = program.Program{
		Name: "dinov2", Shown: "DINOv2", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"dinov2/train/", "dinov2/eval/", "dinov2/models/vision_transformer.py", "facebookresearch_dinov2_main", "dinov2/fsdp/", "facebookresearch_dinov3"},
		Sources: program.Sources{"dinov2/dinov2/configs/ssl_default_config.yaml": "batch_size_per_gpu local_crops_number num_workers", "dinov2/dinov2/layers/attention.py": "XFORMERS_DISABLED"},
		Steps: spelling{
			"lower_batch_size":    say("Its own training: `train.batch_size_per_gpu=32` (default 64) at the end of the command. As a backbone: fewer images at a time, inside `with torch.inference_mode():` unless you train it."),
			"lower_resolution":    say("Fewer patches: sides are cut into 14 pixels, so 518 x 518 are 1369 tokens and 1036 x 1036 four times as many. Its own training: `crops.local_crops_number=4` (default 8)."),
			"use_smaller_model":   step.Paste("python", "backbone = torch.hub.load(\"facebookresearch/dinov2\", \"dinov2_vits14\").eval().cuda()   # 21 M weights; vitb14 86, vitl14 300, vitg14 1100"),
			"efficient_attention": say("Install xformers for your PyTorch: without it (\"xFormers is not available\") this code writes the whole matrix of attention, batch x heads x tokens x tokens."),
			"mixed_precision":     step.Paste("python", "with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    features = backbone(images)"),
			"lower_num_workers":   say("`train.num_workers=2` (default 10 a card)."),
		},
		Titles:   map[string]string{"lower_resolution": "Smaller images"},
		Remedies: ways("lower_batch_size", "lower_resolution", "efficient_attention", "use_smaller_model", "mixed_precision"), Like: []*program.Program{&trainer.Vision},
		Cards: notInside([]cause.Card{
			paperPart("dinov2/attention", []string{"dinov2/layers/attention.py", "q @ k.transpose"}, cause.BatchTooLarge, "ran out in attention[[: {asked} refused]]",
				"Without xformers this code writes out the scores of all pairs of patches: batch x heads x tokens squared. Twice the side is sixteen times that. Weights that are trained, or a missing `inference_mode`, keep it for every layer.", "Allocator settings: it is one piece of work.", "dinov2/dinov2/layers/attention.py", own("efficient_attention", "lower_resolution", "lower_batch_size")...),
			paperStep("dinov2/step", "It failed in a training step. Each image becomes 2 large and 8 small crops, for a student and a teacher; batch_size_per_gpu (64) is for ONE card.", "Fewer epochs, another optimizer: the crops fill it.", "dinov2/dinov2/configs/ssl_default_config.yaml", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("dinov2/run", cause.BatchTooLarge, "It failed while features were computed: images x patches of 14 x 14 pixels, at 32 bit unless told otherwise.", "Allocator settings: it is one piece of work.", "dinov2/hubconf.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		}),
	}
	// BLIP is Salesforce's first.
	BLIP = program.Program{
		Name: "blip", Shown: "BLIP", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"BLIP/train_", "BLIP/models/", "BLIP/pretrain.py", "models/blip_pretrain.py", "models/blip_retrieval.py", "models/blip_vqa.py", "train_caption.py"},
		Sources: program.Sources{"BLIP/train_caption.py": "--config", "BLIP/configs/caption_coco.yaml": "vit_grad_ckpt vit_ckpt_layer batch_size image_size", "BLIP/configs/retrieval_coco.yaml": "batch_size_train batch_size_test queue_size"},
		Steps: spelling{
			"lower_batch_size":       say("In the YAML of `--config`: `batch_size: 8` (caption 32; other tasks `batch_size_train`, `batch_size_test`)."),
			"gradient_checkpointing": say("In the YAML: `vit_grad_ckpt: True` and `vit_ckpt_layer: 5` (ViT-L: 12): off as it comes for captions and VQA."),
			"lower_resolution":       say("In the YAML: `image_size: 224` (default 384; VQA 480)."),
			"use_smaller_model":      say("In the YAML: `vit: 'base'` with the base weights."),
		},
		Remedies: ways("gradient_checkpointing", "lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: notInside([]cause.Card{paperStep("blip/step", "It failed in a training step, at 32 bit: this code has no mixed precision. The batch is that of ONE card, and configs are meant for eight of 16 to 40 GB; retrieval keeps a second copy of the model (momentum) besides.", "More cards: the batch is that of one.", "BLIP/configs/caption_coco.yaml", own("gradient_checkpointing", "lower_batch_size", "lower_resolution")...)}),
	}
	// MMAction2 is for video, MMPose for joints, MMDetection3D for point clouds.
	MMAction2 = program.Program{
		Name: "mmaction2", Shown: "MMAction2", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"mmaction/models/", "mmaction/apis/", "mmaction/datasets/", "mmaction/core/", "mmaction2/"},
		Steps: spelling{
			"lower_resolution": say("In the config's pipelines: `SampleFrames` with a smaller `clip_len` (32 to 16: half), `Resize` and crops at 182 instead of 224."),
			"cpu_offload":      say("Testing: `--cfg-options model.test_cfg.max_testing_views=2`: the views of a video are worked off in parts."),
		},
		Titles: map[string]string{"lower_resolution": "Fewer frames, smaller crops", "cpu_offload": "Test in parts"},
		Costs:  map[string]string{"lower_resolution": "Accuracy.", "cpu_offload": "Slower."},
		Like:   []*program.Program{trainer.MMFamily, &trainer.DataAside, &trainer.Vision},
		Cards: []cause.Card{
			paperStep("mmaction2/step", "It failed in a training step: batch (of ONE card) x frames x image size; the configs are meant for eight cards.", "More cards: the batch is that of one.", "mmaction2/configs/recognition/slowfast/slowfast_r50_8xb8-4x16x1-256e_kinetics400-rgb.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
			paperRun("mmaction2/test", cause.BatchTooLarge, "It failed in testing. A 3D model tests each video as 10 clips x 3 crops, 30 views, which all go to the card at once although the batch is 1.", "The batch: it is 1 there.", "mmaction2/docs/en/get_started/faq.md", own("cpu_offload", "lower_resolution")...),
		},
	}
	MMPose = program.Program{
		Name: "mmpose", Shown: "MMPose", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"mmpose/models/", "mmpose/apis/", "mmpose/datasets/", "mmpose/core/", "mmpose/codecs/"},
		Steps: spelling{
			"lower_resolution": say("A config of 256x192 instead of 384x288: less than half."),
		},
		Like: []*program.Program{trainer.MMFamily, &trainer.DataAside, &trainer.Vision},
		Cards: []cause.Card{
			paperStep("mmpose/step", "It failed in a training step. Top-down models take a batch of PERSONS, 64 and more of one card; heat maps hold a plane for each joint.", "More cards: the batch is that of one.", "mmpose/tools/train.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		},
	}
	// SMP is the library segmentation_models.pytorch.
	SMP = program.Program{
		Name: "segmentation-models", Shown: "segmentation_models_pytorch", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"segmentation_models_pytorch/"},
		Sources: program.Sources{"segmentation_models.pytorch/segmentation_models_pytorch/decoders/unet/model.py": "encoder_name decoder_channels encoder_depth"},
		Steps: spelling{
			"lower_batch_size":  step.Paste("python", "loader = DataLoader(dataset, batch_size=2, shuffle=True)   # accumulate gradients for the same result"),
			"lower_resolution":  say("Train on crops (256 or 512 pixels, multiples of 32) instead of whole images, and predict whole ones in tiles."),
			"use_smaller_model": step.Paste("python", "model = smp.Unet(\"resnet18\", decoder_channels=(128, 64, 32, 16, 8), classes=1)   # your own classes; default (256, 128, 64, 32, 16)"),
			"mixed_precision":   step.Paste("python", "scaler = torch.amp.GradScaler(\"cuda\")\nwith torch.autocast(\"cuda\"):\n    loss = loss_fn(model(images), masks)\nscaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()"),
		},
		Titles:   map[string]string{"use_smaller_model": "A narrower decoder, a smaller encoder", "lower_resolution": "Train on crops"},
		Costs:    map[string]string{"lower_resolution": "Less context in each crop."},
		Remedies: ways("lower_batch_size", "lower_resolution", "mixed_precision", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperPart("segmentation-models/decoder", []string{"segmentation_models_pytorch/decoders/", "segmentation_models_pytorch/unet/", "segmentation_models_pytorch/base/modules.py"}, cause.BatchTooLarge, "ran out in the decoder, at nearly the images' full size",
				"The last blocks of the decoder work at half and at full size, so that batch x height x width decides, more than the encoder: a quarter of it at half the side. Training keeps every block's result; a validation without `torch.no_grad()` does so too.", "A smaller encoder alone: these layers are the decoder's.", "segmentation_models.pytorch/segmentation_models_pytorch/decoders/unet/decoder.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
			paperStep("segmentation-models/step", "It failed in a training step: batch x height x width decides, at 32 bit unless autocast is used.", "`num_workers`: workers take system memory.", "segmentation_models.pytorch/segmentation_models_pytorch/decoders/unet/decoder.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		},
	}
	// SemanticSegmentation is CSAIL's.
	SemanticSegmentation = program.Program{
		Name: "mit-semseg", Shown: "semantic-segmentation-pytorch", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"mit_semseg/", "semantic-segmentation-pytorch"},
		Sources: program.Sources{"semantic-segmentation-pytorch/mit_semseg/config/defaults.py": "batch_size_per_gpu imgSizes imgMaxSize workers"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `TRAIN.batch_size_per_gpu 1` (default 2)."),
			"lower_resolution":  say("At the end of your command: `DATASET.imgSizes \"(300, 375)\" DATASET.imgMaxSize 600` (default 300 to 600 and 1000)."),
			"use_smaller_model": say("The ade20k-mobilenetv2dilated or ade20k-resnet18dilated config: dilated encoders keep features of an eighth of the size."),
			"lower_num_workers": say("At the end of your command: `TRAIN.workers 2` (default 16)."),
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("mit-semseg/step", "It failed in a training step. The short side is drawn from `imgSizes` at each step, up to 1000 for the long one, so that it may die at a random step, when the largest come together.", "`TRAIN.workers`: they take system memory.", "semantic-segmentation-pytorch/mit_semseg/config/defaults.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("mit-semseg/eval", cause.BatchTooLarge, "It failed in evaluation or test: scores of all 150 classes at the ORIGINAL image's size, 150 x height x width x 4 bytes, added up over five scales: 6.7 GiB at 3000 x 4000.", "The batch: it is 1 there.", "semantic-segmentation-pytorch/eval_multipro.py",
				cause.Cure{Fix: "lower_resolution", Title: "Smaller originals, fewer scales", Kind: "text", Text: "Scale the images down first (half the side is a quarter), and `DATASET.imgSizes \"(300, 450)\"`.", Cost: "Coarser edges."}),
		},
	}
	// HRNetSegmentation is HRNet for segmentation, with OCR.
	HRNetSegmentation = program.Program{
		Name: "hrnet", Shown: "HRNet-Semantic-Segmentation", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"HRNet-Semantic-Segmentation", "models/seg_hrnet.py", "seg_hrnet_ocr.py"},
		Sources: program.Sources{"HRNet-Semantic-Segmentation/lib/config/default.py": "BATCH_SIZE_PER_GPU IMAGE_SIZE BASE_SIZE WORKERS"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `TRAIN.BATCH_SIZE_PER_GPU 2 TEST.BATCH_SIZE_PER_GPU 1`."),
			"lower_resolution":  say("At the end of your command: `TRAIN.IMAGE_SIZE \"[512,256]\"` (width, height; default 1024 x 512)."),
			"use_smaller_model": say("The w18 config instead of w48."),
			"lower_num_workers": say("At the end of your command: `WORKERS 1`."),
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("hrnet/step", "It failed in a training step. HRNet keeps its features at a quarter of the image's size through all stages, so it needs more than others of its class; the batch is that of ONE card.", "More cards: BATCH_SIZE_PER_GPU is that of one.", "HRNet-Semantic-Segmentation/lib/config/default.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("hrnet/validate", cause.BatchTooLarge, "It failed in validation or test, where images go in at TEST.IMAGE_SIZE (2048 x 1024), four times a training crop, TEST.BATCH_SIZE_PER_GPU at a time.", "TRAIN.IMAGE_SIZE: testing has its own.", "HRNet-Semantic-Segmentation/lib/config/default.py",
				cause.Cure{Fix: "lower_batch_size", Title: "One image at a time in validation", Kind: "text", Text: "At the end of your command: `TEST.BATCH_SIZE_PER_GPU 1`, without MULTI_SCALE and FLIP.", Cost: "Slower."}, cause.Cure{Fix: "use_smaller_model"}),
		},
	}
	// OpenPCDet finds objects in point clouds.
	OpenPCDet = program.Program{
		Name: "openpcdet", Shown: "OpenPCDet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"pcdet/"},
		Sources: program.Sources{"OpenPCDet/tools/train.py": "--batch_size --use_amp --workers", "OpenPCDet/tools/cfgs/dataset_configs/kitti_dataset.yaml": "VOXEL_SIZE MAX_NUMBER_OF_VOXELS"},
		Steps: spelling{
			"lower_batch_size":  halve("tools/train.py", "--batch_size", "2", " (over all cards)."),
			"mixed_precision":   say("Add `--use_amp` (newer versions)."),
			"lower_resolution":  say("In the dataset's YAML: a larger `VOXEL_SIZE` (the range must stay a multiple of it, 8 times for pillars and 16 for voxels) and a smaller train number in `MAX_NUMBER_OF_VOXELS`."),
			"lower_num_workers": say("`--workers 1`."),
		},
		Titles:   map[string]string{"lower_resolution": "Fewer or larger voxels"},
		Remedies: ways("lower_batch_size", "mixed_precision", "lower_resolution"), Like: []*program.Program{&trainer.SparseConv},
		Cards: []cause.Card{
			paperPart("openpcdet/dense", []string{"height_compression.py", "pointpillar_scatter.py", "base_bev_backbone.py", ".dense()"}, cause.BatchTooLarge, "ran out where the point cloud becomes a dense map",
				"Here sparse voxels become a map of the WHOLE range, batch x channels x range / voxel size, whatever the number of points is: half the voxel is four times the map.", "Fewer points: the map has the range's size.", "OpenPCDet/pcdet/models/backbones_2d/base_bev_backbone.py",
				append(own("lower_batch_size"), cause.Cure{Fix: "lower_resolution", Title: "A smaller range, larger voxels", Kind: "text", Text: "`POINT_CLOUD_RANGE` and `VOXEL_SIZE` in the dataset's YAML; the anchors follow.", Cost: "Far or small objects."})...),
			paperStep("openpcdet/step", "It failed in a training step: voxels of all scenes of the batch, and two-stage models (PV-RCNN) sample points for each proposal besides. Scenes differ, so that it may die at a random step.", "`--workers`: they take system memory.", "OpenPCDet/tools/train.py", own("lower_batch_size", "mixed_precision", "lower_resolution")...),
		},
	}
	// Pointcept is for point clouds of rooms and streets.
	Pointcept = program.Program{
		Name: "pointcept", Shown: "Pointcept", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"pointcept/"},
		Sources: program.Sources{"Pointcept/pointcept/engines/defaults.py": "--options", "Pointcept/configs/scannet/semseg-pt-v3m1-0-base.py": "batch_size num_worker point_max grid_size enable_amp enable_flash empty_cache patch_size"},
		Steps: spelling{
			"lower_batch_size":    say("`batch_size = 4` in the config (12 there), or `--options batch_size=4` in your command: it is the batch of all cards together, one scene a card at least."),
			"lower_resolution":    say("In the config: `point_max` of SphereCrop from 102400 to 51200 (or a larger `grid_size`, 0.02 to 0.04)."),
			"efficient_attention": say("PTv3: `enable_flash=True` with flash-attn installed; without it the config's `enc_patch_size` and `dec_patch_size` at 128, for attention is written out then."),
			"mixed_precision":     say("`enable_amp = True` in the config."),
			"empty_cache":         say("`empty_cache = True` in the config, where scenes of very different sizes leave pieces (testing has whole scenes)."),
			"lower_num_workers":   say("`num_worker = 4` in the config (24 there)."),
		},
		Titles:   map[string]string{"lower_resolution": "Fewer points in a crop"},
		Remedies: ways("lower_batch_size", "lower_resolution", "efficient_attention", "mixed_precision"), Like: []*program.Program{&trainer.SparseConv},
		Cards: []cause.Card{
			paperStep("pointcept/step", "It failed in a training step: points of the batch, up to `point_max` a scene. `batch_size` is over all cards and meant for four or eight.", "`num_worker`: they take system memory.", "Pointcept/configs/scannet/semseg-pt-v3m1-0-base.py", own("lower_batch_size", "lower_resolution", "efficient_attention")...),
			paperRun("pointcept/test", cause.BatchTooLarge, "It failed in testing, where a WHOLE scene is there with a score for each class and point, cut into fragments for the network only; `point_max` does not count.", "`batch_size`: testing has its own, 1.", "Pointcept/pointcept/engines/test.py",
				cause.Cure{Fix: "empty_cache", Title: "Let go between fragments", Kind: "text", Text: "`empty_cache = True` in the config; then fewer `aug_transform` of test_cfg, and a larger `grid_size`.", Cost: "Slower."}, cause.Cure{Fix: "efficient_attention"}),
		},
	}
	// DepthAnything is a backbone of DINOv2 with a head for depth.
	DepthAnything = program.Program{
		Name: "depth-anything", Shown: "Depth Anything", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Depth-Anything-V2/", "Depth-Anything/", "depth_anything_v2/", "depth_anything/"},
		Sources: program.Sources{"Depth-Anything-V2/run.py": "--input-size --encoder", "Depth-Anything-V2/metric_depth/train.py": "--bs --img-size"},
		Steps: spelling{
			"lower_resolution":  halve("run.py", "--input-size", "392", " (default 518; rounded to 14): the short side is scaled to it, so a long narrow image or panorama has many more patches than a square one. Training: `--img-size 392`."),
			"use_smaller_model": say("`--encoder vits` or `vitb` instead of `vitl`, with its own weights."),
			"lower_batch_size":  say("Training: `--bs 1` (default 2, a card)."),
			"half_precision":    step.Paste("python", "with torch.autocast(\"cuda\"):\n    depth = model.infer_image(image, 392)"),
		},
		Titles:   map[string]string{"half_precision": "Compute at 16 bit", "lower_resolution": "A smaller --input-size"},
		Remedies: ways("lower_resolution", "use_smaller_model", "half_precision", "lower_batch_size"), Like: []*program.Program{&trainer.Vision},
		Cards: notInside([]cause.Card{
			paperStep("depth-anything/step", "It failed in a training step: 518 x 518 pixels are 1369 patches, at 32 bit; vitl has 335 million weights with Adam.", "More cards: `--bs` is that of one.", "Depth-Anything-V2/metric_depth/train.py", own("lower_batch_size", "use_smaller_model", "lower_resolution")...),
			paperRun("depth-anything/run", cause.BatchTooLarge, "The SHORT side is scaled to `--input-size` (518), so that a wide image has many patches; without xformers attention writes the scores of all pairs of them.", "A smaller image file of the same shape: it is scaled anyway.", "Depth-Anything-V2/depth_anything_v2/dpt.py", own("lower_resolution", "use_smaller_model", "half_precision")...),
		}),
	}
	// BiRefNet cuts out what is in front.
	BiRefNet = program.Program{
		Name: "birefnet", Shown: "BiRefNet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"BiRefNet/train.py", "BiRefNet/models/", "BiRefNet/inference.py", "models/birefnet.py", "modules/transformers_modules/ZhengPeng7/BiRefNet"},
		Sources: program.Sources{"BiRefNet/config.py": "batch_size size compile SDPA_enabled mixed_precision load_all bb"},
		Steps: spelling{
			"lower_batch_size":  say("In config.py: `self.batch_size = 1` (8 as it comes, for 80 GB)."),
			"lower_resolution":  say("In config.py: `self.size = (512, 512)`. Using it: scale the input to 512 x 512 instead of 1024 x 1024 before the model."),
			"half_precision":    step.Paste("python", "birefnet = birefnet.half().eval().cuda()   # and the input .half(): 3.5 GB at 1024 x 1024 instead of 4.8"),
			"use_smaller_model": say("BiRefNet_lite (Swin-T) instead of Swin-L; training: `self.bb` in config.py."),
			"lower_num_workers": say("In config.py: `self.load_all = False` and a smaller `self.num_workers`."),
		},
		Titles:   map[string]string{"half_precision": "Compute at 16 bit", "lower_resolution": "Smaller images"},
		Remedies: ways("lower_batch_size", "half_precision", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: notInside([]cause.Card{
			paperStep("birefnet/step", "It failed in a training step. Its README counts 24 to 38 GB for batch 2 on each of two cards at 1024 x 1024: smaller cards need a smaller image or backbone.", "More cards: each needs as much.", "BiRefNet/README.md", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("birefnet/run", cause.BatchTooLarge, "Its README counts 4.8 GB for an image of 1024 x 1024 at 32 bit, 3.5 at 16; larger inputs (dynamic, 2K) grow with the pixels. Without `torch.no_grad()` every layer's result is kept.", "A smaller file: what you scale it to counts.", "BiRefNet/README.md", own("half_precision", "lower_resolution", "use_smaller_model")...),
		}),
	}
)
