package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Classifiers, backbones and segmenters of papers.
var (
	// SwinTransformer is Microsoft's.
	SwinTransformer = program.Program{
		Name: "swin-transformer", Shown: "Swin Transformer", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Swin-Transformer/main", "Swin-Transformer/models/", "Swin-Transformer/kernels/"},
		Sources: program.Sources{"Swin-Transformer/main.py": "--batch-size --accumulation-steps --use-checkpoint --amp-opt-level --disable_amp --cfg --opts --cache-mode --zip", "Swin-Transformer/config.py": "NUM_WORKERS"},
		Steps: spelling{
			"lower_batch_size":       halve("main.py", "--batch-size", ", and double `--accumulation-steps` for the same result. The batch is per GPU (default 128)."),
			"gradient_checkpointing": say("Add `--use-checkpoint`. It saves about 60 % with Swin-B, its guide says."),
			"mixed_precision":        say("Leave out `--disable_amp` and `--amp-opt-level O0`: mixed precision is then on."),
			"lower_resolution":       say("Use a config with 224 pixels instead of 384: about a third of the activations."),
			"use_smaller_model":      say("Use the tiny or small config instead of base or large."),
			"lower_num_workers":      say("Use `--opts DATA.NUM_WORKERS 2`."),
		},
		Costs:    map[string]string{"lower_resolution": "Some accuracy."},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{{
			ID: "swin-transformer/cache", Kinds: parts.RAMGone, Said: []string{"--cache-mode", "global_rank 0 cached"}, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM) while caching the data set",
			Means:    "`--zip` keeps the images in RAM: with `--cache-mode full` the whole data set in each process, with `part` (the default) one share in each.",
			Not:      "A smaller batch: the data set is cached before the first one.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Cache less (--cache-mode)", Kind: "text", Text: "Use `--cache-mode part`, or `no`: images are then read from the disk.", Cost: "Slower on a slow disk."},
				{Fix: "lower_num_workers"}, {Fix: "add_swap"},
			},
			Sources: []string{"Swin-Transformer/main.py"},
		}, paperStep("swin-transformer/step", "The batch size is per GPU, 128 images by default. The configs are meant for eight GPUs with 32 GB each.", "", "Swin-Transformer/get_started.md",
			own("lower_batch_size", "gradient_checkpointing", "use_smaller_model")...)},
	}
	// ConvNeXt is Facebook's.
	ConvNeXt = program.Program{
		Name: "convnext", Shown: "ConvNeXt", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"ConvNeXt/main.py", "ConvNeXt/models/", "ConvNeXt/engine.py", "ConvNeXt-V2/"},
		Sources: program.Sources{"ConvNeXt/main.py": "--batch_size --update_freq --use_amp --input_size --num_workers --model_ema --model"},
		Steps: spelling{
			"lower_batch_size":  halve("main.py", "--batch_size", ", and double `--update_freq` for the same result (default 64 per GPU, and 1)."),
			"mixed_precision":   say("Add `--use_amp true` (off by default)."),
			"lower_resolution":  say("Use a smaller `--input_size`, such as 160 (default 224)."),
			"use_smaller_model": say("Use `--model convnext_tiny` or convnext_small. Setting `--model_ema false` saves a copy of the weights."),
			"lower_num_workers": say("Use `--num_workers 2`."),
		},
		Costs:    map[string]string{"lower_resolution": "Some accuracy."},
		Remedies: withoutCheckpoints, Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("convnext/step", "The batch size is per GPU, 64 images by default. Training runs in 32 bit unless you set `--use_amp true`.", "", "ConvNeXt/main.py",
			own("lower_batch_size", "mixed_precision", "lower_resolution")...)},
	}
	// MAE is the masked autoencoder of Facebook.
	MAE = program.Program{
		Name: "mae", Shown: "MAE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"models_mae.py", "engine_pretrain.py", "mae/main_finetune.py", "mae/engine_finetune.py", "mae/main_linprobe.py"},
		Sources: program.Sources{"mae/main_finetune.py": "--batch_size --accum_iter --input_size --num_workers --model"},
		Steps: spelling{
			"lower_batch_size":  halve("main_finetune.py` or `main_pretrain.py", "--batch_size", ", and double `--accum_iter` for the same result (default 64 per GPU, and 1)."),
			"lower_resolution":  say("Use `--input_size 160` (default 224)."),
			"use_smaller_model": say("Use `--model vit_base_patch16` (pre-training: mae_vit_base_patch16) instead of large or huge."),
			"lower_num_workers": say("Use `--num_workers 2`."),
		},
		Costs:    map[string]string{"lower_resolution": "Some accuracy."},
		Remedies: ways("lower_batch_size", "use_smaller_model", "lower_resolution"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("mae/step", "Mixed precision is already on. Fine-tuning processes all patches, pre-training only a quarter of them in the encoder. So a batch that fits in pre-training can be too large for fine-tuning.", "", "mae/main_finetune.py",
			own("lower_batch_size", "use_smaller_model", "lower_resolution")...)},
	}
	// VideoMAE is its kin for video.
	VideoMAE = program.Program{
		Name: "videomae", Shown: "VideoMAE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"VideoMAE/", "VideoMAEv2/", "run_mae_pretraining.py", "engine_for_finetuning.py", "engine_for_pretraining.py"},
		Sources: program.Sources{"VideoMAE/run_class_finetuning.py": "--batch_size --update_freq --use_checkpoint --num_frames --num_sample --input_size --num_workers --sampling_rate"},
		Steps: spelling{
			"lower_batch_size":       halve("run_class_finetuning.py` or `run_mae_pretraining.py", "--batch_size", ", and raise `--update_freq` for the same result. Fine-tuning: also `--num_sample 1` (default 2: each clip is used twice)."),
			"gradient_checkpointing": say("Add `--use_checkpoint`."),
			"lower_resolution":       say("Use `--num_frames 8` (default 16: half the tokens), then `--input_size 160`."),
			"lower_num_workers":      say("Use `--num_workers 2`: each worker decodes whole videos in RAM."),
		},
		Titles:   map[string]string{"lower_resolution": "Use fewer frames per clip, or smaller ones"},
		Costs:    map[string]string{"lower_resolution": "Less accuracy."},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "lower_resolution"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("videomae/step", "A clip of 16 frames is 1568 tokens, and each attends to all others. Fine-tuning uses each clip `--num_sample` times (default 2), so `--batch_size 8` means 16 clips.", "", "VideoMAE/run_class_finetuning.py",
			own("lower_batch_size", "gradient_checkpointing", "lower_resolution")...)},
	}
	// DINOv2 is mostly used as a backbone in somebody's own code.
	DINOv2 = program.Program{
		Name: "dinov2", Shown: "DINOv2", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"dinov2/train/", "dinov2/eval/", "dinov2/models/vision_transformer.py", "facebookresearch_dinov2_main/dinov2/", "dinov2/fsdp/", "facebookresearch_dinov3_main/dinov3/"},
		Sources: program.Sources{"dinov2/dinov2/configs/ssl_default_config.yaml": "batch_size_per_gpu local_crops_number num_workers", "dinov2/dinov2/layers/attention.py": "XFORMERS_DISABLED"},
		Steps: spelling{
			"lower_batch_size":    kit.ByPhase(step.Step{Kind: "text", Text: "DINOv2's own training: `train.batch_size_per_gpu=32` (default 64) at the end of the command. Your own training: fewer images per batch."}, step.Step{Kind: "text", Text: "Pass fewer images per call, inside `with torch.inference_mode():` unless you train."}),
			"lower_resolution":    say("Halve the width and height: that is a quarter of the tokens (one per 14 x 14 pixels, so 518 x 518 is 1369). DINOv2's own training: `crops.local_crops_number=4` (default 8)."),
			"use_smaller_model":   step.Paste("python", "backbone = torch.hub.load(\"facebookresearch/dinov2\", \"dinov2_vits14\").eval().cuda()   # 21 M weights; vitb14 86, vitl14 300, vitg14 1100"),
			"efficient_attention": say("Install the xformers build for your PyTorch. The log says \"xFormers is not available\" if it is missing. Unset `XFORMERS_DISABLED` if you set it."),
			"mixed_precision":     step.Paste("python", "with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    features = backbone(images)"),
			"lower_num_workers":   say("Use `train.num_workers=2` (default 10 per GPU)."),
		},
		Titles:   map[string]string{"lower_resolution": "Use smaller images", "efficient_attention": "Install xformers", "mixed_precision": "Compute in 16 bit (autocast)"},
		Costs:    map[string]string{"lower_resolution": "Less detail.", "use_smaller_model": "Some accuracy; weaker features."},
		Remedies: ways("lower_batch_size", "lower_resolution", "efficient_attention", "use_smaller_model", "mixed_precision"), Like: []*program.Program{&parts.Vision},
		Cards: notInside([]cause.Card{
			paperPart("dinov2/attention", []string{"dinov2/layers/attention.py", "q @ k.transpose"}, cause.BatchTooLarge, "ran out of GPU memory in attention",
				"This code path stores the attention scores of all pairs of patches (batch x heads x tokens squared), which xformers avoids. Twice the image side takes 16 times as much. With gradients on, every layer keeps its own scores.", "", "dinov2/dinov2/layers/attention.py", own("efficient_attention", "lower_resolution", "lower_batch_size")...),
			paperStep("dinov2/step", "In DINOv2's own training each image becomes 2 large and 8 small crops, for a student and a teacher. `batch_size_per_gpu` is 64 by default.", "", "dinov2/dinov2/configs/ssl_default_config.yaml", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("dinov2/run", cause.BatchTooLarge, "Memory grows with the images per call and with their size (one token per 14 x 14 pixels). By default it runs in 32 bit.", "", "dinov2/hubconf.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		}),
	}
	// BLIP is Salesforce's first.
	BLIP = program.Program{
		Name: "blip", Shown: "BLIP", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"BLIP/train_", "BLIP/models/", "BLIP/pretrain.py", "models/blip_pretrain.py", "models/blip_retrieval.py", "models/blip_vqa.py", "train_caption.py"},
		Sources: program.Sources{"BLIP/train_caption.py": "--config", "BLIP/configs/caption_coco.yaml": "vit_grad_ckpt vit_ckpt_layer batch_size image_size", "BLIP/configs/retrieval_coco.yaml": "batch_size_train batch_size_test queue_size"},
		Steps: spelling{
			"lower_batch_size":       say("In the YAML of `--config`: halve `batch_size` (retrieval and VQA: `batch_size_train`, `batch_size_test`)."),
			"gradient_checkpointing": say("In the YAML: `vit_grad_ckpt: True` and `vit_ckpt_layer: 5` (ViT-L: 12)."),
			"lower_resolution":       say("In the YAML: `image_size: 224` (default 384; VQA 480)."),
			"use_smaller_model":      say("In the YAML: `vit: 'base'` with the base weights."),
		},
		Costs:    map[string]string{"lower_resolution": "Some accuracy."},
		Remedies: ways("gradient_checkpointing", "lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: notInside([]cause.Card{paperStep("blip/step", "This code trains in 32 bit and has no mixed precision. The batch size is per GPU, and the configs are meant for eight GPUs. Retrieval also keeps a second copy of the model (momentum).", "", "BLIP/configs/caption_coco.yaml", own("gradient_checkpointing", "lower_batch_size", "lower_resolution")...)}),
	}
	// MMAction2 is for video, MMPose for joints, MMDetection3D for point clouds.
	MMAction2 = program.Program{
		Name: "mmaction2", Shown: "MMAction2", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"mmaction/models/", "mmaction/apis/", "mmaction/datasets/", "mmaction/core/", "mmaction2/"},
		Steps: spelling{
			"lower_resolution": say("In the config's pipelines, lower `clip_len` in `SampleFrames` (16 instead of 32 halves it), and set `Resize` and crops to 182 instead of 224."),
			"cpu_offload":      say("For testing add `--cfg-options model.test_cfg.max_testing_views=2`. The views of a video are then computed in parts."),
		},
		Titles: map[string]string{"lower_resolution": "Use fewer frames per clip, or smaller crops", "cpu_offload": "Test the views in parts (max_testing_views)"},
		Costs:  map[string]string{"lower_resolution": "Less accuracy.", "cpu_offload": "Slower."},
		Like:   []*program.Program{trainer.MMFamily, &parts.DataAside, &parts.Vision},
		Cards: []cause.Card{
			paperStep("mmaction2/step", "Memory grows with the batch per GPU, the frames of a clip and the image size. The configs are meant for eight GPUs.", "", "mmaction2/configs/recognition/slowfast/slowfast_r50_8xb8-4x16x1-256e_kinetics400-rgb.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
			paperRun("mmaction2/test", cause.BatchTooLarge, "In testing, a 3D model usually takes each video as 30 views (10 clips x 3 crops), all on the GPU at once even at batch size 1. In training, memory depends on batch size, frames and image size.", "", "mmaction2/docs/en/get_started/faq.md", own("cpu_offload", "lower_resolution")...),
		},
	}
	MMPose = program.Program{
		Name: "mmpose", Shown: "MMPose", Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"mmpose/models/", "mmpose/apis/", "mmpose/datasets/", "mmpose/core/", "mmpose/codecs/"},
		Steps: spelling{
			"lower_resolution": say("Use a config with 256x192 instead of 384x288: less than half the pixels."),
		},
		Titles:  map[string]string{"lower_resolution": "Use a config with smaller inputs"},
		Costs:   map[string]string{"lower_resolution": "Joints are less exact."},
		Sources: program.Sources{"mmpose/demo/topdown_demo_with_mmdet.py": "--bbox-thr --device"},
		Like:    []*program.Program{trainer.MMFamily, &parts.DataAside, &parts.Vision},
		Cards: []cause.Card{
			paperPart("mmpose/demo", []string{"mmpose/apis/", "topdown_demo_with_mmdet"}, cause.BatchTooLarge, "ran out of GPU memory while finding joints", "A top-down model gets a crop of each person, all people of a frame at once. The detector that finds them is on the GPU too.", "A shorter video: frames are processed one by one.", "mmpose/demo/topdown_demo_with_mmdet.py",
				cause.Cure{Fix: "lower_batch_size", Title: "Pass fewer people at once (--bbox-thr)", Kind: "text", Text: "Raise `--bbox-thr` (default 0.3) to 0.5 or more. It leaves out doubtful detections.", Cost: "Some people may be missed."},
				cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller detector and pose model", Kind: "text", Text: "Take RTMDet-nano or RTMDet-m as the detector and RTMPose-s or -m as the model.", Cost: "Some accuracy."},
				cause.Cure{Fix: "cpu_offload", Title: "Or run it on the CPU", Kind: "text", Text: "Add `--device cpu`.", Cost: "Many times slower."}),
			paperStep("mmpose/step", "The batch size is per GPU. In top-down models it counts people, often 64 or more. Heat maps add a plane for each joint.", "", "mmpose/tools/train.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		},
	}
	// SMP is the library segmentation_models.pytorch.
	SMP = program.Program{
		Name: "segmentation-models", Shown: "segmentation_models_pytorch", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"segmentation_models_pytorch/"},
		Sources: program.Sources{"segmentation_models.pytorch/segmentation_models_pytorch/decoders/unet/model.py": "encoder_name decoder_channels encoder_depth"},
		Steps: spelling{
			"lower_batch_size":  step.Paste("python", "loader = DataLoader(dataset, batch_size=2)   # halve yours, keep your other arguments; in training accumulate gradients"),
			"lower_resolution":  say("Train on crops (256 or 512 pixels, multiples of 32) instead of whole images. Predict large images in tiles."),
			"use_smaller_model": step.Paste("python", "model = smp.Unet(\"resnet18\", decoder_channels=(128, 64, 32, 16, 8), classes=1)   # your own classes; default (256, 128, 64, 32, 16)"),
			"mixed_precision":   step.Paste("python", "scaler = torch.cuda.amp.GradScaler()   # from PyTorch 2.3 on: torch.amp.GradScaler(\"cuda\")\nwith torch.autocast(\"cuda\"):\n    loss = loss_fn(model(images), masks)\nscaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()"),
		},
		Titles:   map[string]string{"use_smaller_model": "Use a narrower decoder and a smaller encoder", "lower_resolution": "Train on crops"},
		Costs:    map[string]string{"lower_resolution": "Less context in each crop."},
		Remedies: ways("lower_batch_size", "lower_resolution", "mixed_precision", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperPart("segmentation-models/decoder", []string{"segmentation_models_pytorch/decoders/", "segmentation_models_pytorch/unet/", "segmentation_models_pytorch/base/modules.py"}, cause.BatchTooLarge, "ran out of GPU memory in the decoder, which works at up to full image size",
				"The last decoder blocks work at half and full image size, so memory grows with batch x height x width. Training keeps every block's activations; so does validation without `torch.no_grad()`.", "", "segmentation_models.pytorch/segmentation_models_pytorch/decoders/unet/decoder.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
			paperStep("segmentation-models/step", "Memory grows with batch x height x width. Without autocast it trains in 32 bit.", "Fewer data loader workers: they use RAM, not GPU memory.", "segmentation_models.pytorch/segmentation_models_pytorch/decoders/unet/decoder.py", own("lower_batch_size", "lower_resolution", "mixed_precision")...),
		},
	}
	// SemanticSegmentation is CSAIL's.
	SemanticSegmentation = program.Program{
		Name: "mit-semseg", Shown: "semantic-segmentation-pytorch", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"mit_semseg/", "semantic-segmentation-pytorch"},
		Sources: program.Sources{"semantic-segmentation-pytorch/mit_semseg/config/defaults.py": "batch_size_per_gpu imgSizes imgMaxSize workers"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `TRAIN.batch_size_per_gpu 1` (default 2)."),
			"lower_resolution":  say("At the end of your command: `DATASET.imgSizes \"(300, 375)\" DATASET.imgMaxSize 600` (defaults: 300 to 600, and 1000)."),
			"use_smaller_model": say("Use the ade20k-mobilenetv2dilated or ade20k-resnet18dilated config."),
			"lower_num_workers": say("At the end of your command: `TRAIN.workers 2` (default 16)."),
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperStep("mit-semseg/step", "Each step draws the image's short side from `imgSizes`, and the long side goes up to `imgMaxSize` (default 1000). So it can fail at any step, whenever the largest size comes.", "Fewer data loader workers: they use RAM, not GPU memory.", "semantic-segmentation-pytorch/mit_semseg/config/defaults.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("mit-semseg/eval", cause.BatchTooLarge, "Evaluation keeps the scores of all 150 classes at the original image's size: 6.7 GiB at 3000 x 4000. In training, memory depends on the batch size and `imgSizes`.", "", "semantic-segmentation-pytorch/eval_multipro.py",
				cause.Cure{Fix: "lower_resolution", Title: "Scale the images down, and use fewer scales", Kind: "text", Text: "Evaluation: scale the images down first (half the width and height needs a quarter), and add `DATASET.imgSizes \"(300, 450)\"`. Training: `TRAIN.batch_size_per_gpu 1`.", Cost: "Coarser edges."}),
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
			"use_smaller_model": say("Use the w18 config instead of w48."),
			"lower_num_workers": say("At the end of your command: `WORKERS 1`."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size (BATCH_SIZE_PER_GPU)", "lower_resolution": "Train on smaller crops (TRAIN.IMAGE_SIZE)"},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperEval("hrnet/validate", "Validation and tests process `TEST.BATCH_SIZE_PER_GPU` images at `TEST.IMAGE_SIZE` (default 2048 x 1024), four times a training crop.", "Smaller training crops: tests have a size of their own.", "HRNet-Semantic-Segmentation/lib/config/default.py",
				cause.Cure{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { own, _ := cures.Typed(c, "TEST.BATCH_SIZE_PER_GPU"); return own != "1" }, Title: "Validate one image at a time (TEST.BATCH_SIZE_PER_GPU 1)", Kind: "text", Text: "At the end of your command: `TEST.BATCH_SIZE_PER_GPU 1`. For testing, turn off MULTI_SCALE and FLIP_TEST.", Cost: "Slower."},
				cause.Cure{Fix: "lower_resolution", Title: "Validate smaller images (TEST.IMAGE_SIZE)", Kind: "text", Text: "At the end of your command: `TEST.IMAGE_SIZE \"[1024,512]\"` (width, height).", Cost: "Scores of smaller images."}, cause.Cure{Fix: "use_smaller_model"}),
			paperStep("hrnet/step", "HRNet keeps features at a quarter of the image's size through all stages, so it needs more memory than most networks. The batch size is per GPU.", "", "HRNet-Semantic-Segmentation/lib/config/default.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
		},
	}
	// OpenPCDet finds objects in point clouds.
	OpenPCDet = program.Program{
		Name: "openpcdet", Shown: "OpenPCDet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"pcdet/"},
		Sources: program.Sources{"OpenPCDet/tools/train.py": "--batch_size --use_amp --workers", "OpenPCDet/tools/cfgs/dataset_configs/kitti_dataset.yaml": "VOXEL_SIZE MAX_NUMBER_OF_VOXELS"},
		Steps: spelling{
			"lower_batch_size":  halve("tools/train.py", "--batch_size", " (over all GPUs)."),
			"mixed_precision":   say("Add `--use_amp` (newer versions only)."),
			"lower_resolution":  say("In the dataset's YAML, raise `VOXEL_SIZE` and lower the `train` number in `MAX_NUMBER_OF_VOXELS`. The range must stay a multiple of the voxel size (8 times for pillars, 16 for voxels)."),
			"lower_num_workers": say("Use `--workers 1`."),
		},
		Titles:   map[string]string{"lower_resolution": "Use larger or fewer voxels (VOXEL_SIZE)"},
		Costs:    map[string]string{"lower_resolution": "Small objects may be missed."},
		Remedies: ways("lower_batch_size", "mixed_precision", "lower_resolution"), Like: []*program.Program{&trainer.SparseConv},
		Cards: []cause.Card{
			paperPart("openpcdet/dense", []string{"height_compression.py", "pointpillar_scatter.py", "base_bev_backbone.py", ".dense()"}, cause.BatchTooLarge, "ran out of GPU memory where the point cloud becomes a dense map",
				"Here the sparse voxels become a dense map of the whole range, however few points there are. It takes batch x channels x (range / voxel size) squared, so half the voxel size makes it four times as large.", "", "OpenPCDet/pcdet/models/backbones_2d/base_bev_backbone.py",
				append(own("lower_batch_size"), cause.Cure{Fix: "lower_resolution", Title: "Use a smaller range or larger voxels", Kind: "text", Text: "In the dataset's YAML, lower `POINT_CLOUD_RANGE` or raise `VOXEL_SIZE`.", Cost: "Far or small objects may be missed."})...),
			paperStep("openpcdet/step", "Memory grows with the voxels of all scenes in the batch. Scenes differ in size, so it can fail at any step. Two-stage models (PV-RCNN) also sample points for each proposal.", "Fewer data loader workers: they use RAM, not GPU memory.", "OpenPCDet/tools/train.py", own("lower_batch_size", "mixed_precision", "lower_resolution")...),
		},
	}
	// Pointcept is for point clouds of rooms and streets.
	Pointcept = program.Program{
		Name: "pointcept", Shown: "Pointcept", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"pointcept/"},
		Sources: program.Sources{"Pointcept/pointcept/engines/defaults.py": "--options", "Pointcept/configs/scannet/semseg-pt-v3m1-0-base.py": "batch_size num_worker point_max grid_size enable_amp enable_flash empty_cache patch_size"},
		Steps: spelling{
			"lower_batch_size":    say("Halve `batch_size` in the config (ScanNet's has 12), or pass `--options batch_size=4`. It counts all GPUs together, with at least one scene each."),
			"lower_resolution":    say("In the config, lower `point_max` of SphereCrop (51200 instead of 102400), or raise `grid_size` (0.04 instead of 0.02)."),
			"efficient_attention": say("PTv3: `enable_flash=True` with flash-attn installed. Without flash-attn, set `enc_patch_size` and `dec_patch_size` to 128: it then stores the whole attention matrix."),
			"mixed_precision":     say("Use `enable_amp = True` in the config."),
			"empty_cache":         say("Use `empty_cache = True` in the config. Scenes of very different sizes otherwise leave unused reserved memory."),
			"lower_num_workers":   say("Use `num_worker = 4` in the config (default 24)."),
		},
		Titles:   map[string]string{"lower_resolution": "Use fewer points per crop (point_max)"},
		Costs:    map[string]string{"lower_resolution": "Less context in each crop."},
		Remedies: ways("lower_batch_size", "lower_resolution", "efficient_attention", "mixed_precision"), Like: []*program.Program{&trainer.SparseConv},
		Cards: []cause.Card{
			paperStep("pointcept/step", "Memory grows with the points in the batch, up to `point_max` per scene. `batch_size` counts all GPUs together; the configs are meant for four or eight.", "Fewer data loader workers: they use RAM, not GPU memory.", "Pointcept/configs/scannet/semseg-pt-v3m1-0-base.py", own("lower_batch_size", "lower_resolution", "efficient_attention")...),
			paperRun("pointcept/test", cause.BatchTooLarge, "Testing keeps scores for each class and point of whole scenes, though the network sees only fragments. In training, memory depends on `point_max` and the batch size.", "", "Pointcept/pointcept/engines/test.py",
				cause.Cure{Fix: "empty_cache", Title: "Empty the cache between fragments (empty_cache)", Kind: "text", Text: "Use `empty_cache = True` in the config. Then raise `grid_size`. For training, halve `batch_size`.", Cost: "Slower."}, cause.Cure{Fix: "efficient_attention"}),
		},
	}
	// DepthAnything is a backbone of DINOv2 with a head for depth.
	DepthAnything = program.Program{
		Name: "depth-anything", Shown: "Depth Anything", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Depth-Anything-V2/", "Depth-Anything/", "depth_anything_v2/", "depth_anything/"},
		Sources: program.Sources{"Depth-Anything-V2/run.py": "--input-size --encoder", "Depth-Anything-V2/metric_depth/train.py": "--bs --img-size"},
		Steps: spelling{
			"lower_resolution":  halve("run.py", "--input-size", "  (default 518; a multiple of 14). It sets the short side, so a panorama has many more patches than a square image. For training, lower `--img-size`."),
			"use_smaller_model": say("Use `--encoder vits` or `vitb` instead of `vitl`, with its own weights."),
			"lower_batch_size":  say("Training: `--bs 1` (default 2 per GPU)."),
			"half_precision":    step.Paste("python", "with torch.autocast(\"cuda\"):\n    depth = model.infer_image(image, 392)"),
		},
		Titles:   map[string]string{"half_precision": "Compute in 16 bit (autocast)", "lower_resolution": "Lower the input size (--input-size)"},
		Costs:    map[string]string{"lower_resolution": "A coarser depth map."},
		Remedies: ways("lower_resolution", "use_smaller_model", "half_precision", "lower_batch_size"), Like: []*program.Program{&parts.Vision},
		Cards: notInside([]cause.Card{
			paperStep("depth-anything/step", "Training runs in 32 bit, and vitl has 335 million weights, with gradients and optimizer state on top. An image of 518 x 518 pixels is 1369 patches.", "", "Depth-Anything-V2/metric_depth/train.py", own("lower_batch_size", "use_smaller_model", "lower_resolution")...),
			paperRun("depth-anything/run", cause.BatchTooLarge, "The image's short side is scaled to `--input-size` (default 518), so a wide image has many patches. Without xformers, attention stores the scores of all pairs of patches.", "A smaller image file of the same shape: it is scaled anyway.", "Depth-Anything-V2/depth_anything_v2/dpt.py", own("lower_resolution", "use_smaller_model", "half_precision")...),
		}),
	}
	// BiRefNet cuts out what is in front.
	BiRefNet = program.Program{
		Name: "birefnet", Shown: "BiRefNet", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"BiRefNet/train.py", "BiRefNet/models/", "BiRefNet/inference.py", "models/birefnet.py", "modules/transformers_modules/ZhengPeng7/BiRefNet"},
		Sources: program.Sources{"BiRefNet/config.py": "batch_size size compile SDPA_enabled mixed_precision load_all bb"},
		Steps: spelling{
			"lower_batch_size":  say("In config.py halve `self.batch_size` (default 8, for 80 GB)."),
			"lower_resolution":  say("Scale the input to 512 x 512 instead of 1024 x 1024. For training: `self.size = (512, 512)` in config.py."),
			"half_precision":    step.Paste("python", "birefnet = birefnet.half().eval().cuda()   # and the input .half(): 3.5 GB at 1024 x 1024 instead of 4.8"),
			"use_smaller_model": say("Use BiRefNet_lite (Swin-T) instead of Swin-L; training: `self.bb` in config.py."),
			"lower_num_workers": say("In config.py: `self.load_all = False` and a smaller `self.num_workers`."),
		},
		Titles:   map[string]string{"half_precision": "Compute in 16 bit", "lower_resolution": "Use smaller images (512 x 512)"},
		Costs:    map[string]string{"lower_resolution": "Fine edges may be lost."},
		Remedies: ways("lower_batch_size", "half_precision", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: notInside([]cause.Card{
			paperStep("birefnet/step", "At 1024 x 1024 its README lists 24 to 38 GB for batch size 2 on each GPU. Smaller GPUs need a smaller image, batch or backbone.", "", "BiRefNet/README.md", own("lower_batch_size", "lower_resolution", "use_smaller_model")...),
			paperRun("birefnet/run", cause.BatchTooLarge, "One image of 1024 x 1024 needs 4.8 GB in 32 bit and 3.5 GB in 16 bit, its README says. Larger inputs need more. Without `torch.no_grad()` every layer's activations are kept too.", "", "BiRefNet/README.md", own("half_precision", "lower_resolution", "use_smaller_model")...),
		}),
	}
)
