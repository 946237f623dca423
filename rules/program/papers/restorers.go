package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Networks that restore, translate and make pictures, with scripts of their own.
var (
	// Restormer has a copy of BasicSR and a training that grows.
	Restormer = program.Program{
		Name: "restormer", Rank: above, Shown: "Restormer", Carries: []string{"basicsr"}, Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Restormer/", "restormer_arch.py", "image_restoration_model.py"},
		Sources: program.Sources{"Restormer/Deraining/Options/Deraining_Restormer.yml": "mini_batch_sizes gt_sizes batch_size_per_gpu iters val_freq dataroot_gt dataroot_lq", "Restormer/demo.py": "--tile --tile_overlap"},
		Steps: spelling{
			"lower_batch_size":  say("In the options file, halve `batch_size_per_gpu` and every entry of `mini_batch_sizes`."),
			"lower_resolution":  say("In the options file, cap `gt_sizes`, for example `[128,160,192,256,256,256]`, and set `gt_size: 256`."),
			"vae_tiling":        say("Use `python demo.py ... --tile 512 --tile_overlap 32` (with your other options)."),
			"lower_num_workers": say("In the options file: `num_worker_per_gpu: 2`."),
		},
		Titles:   map[string]string{"lower_resolution": "Use smaller patches in the later stages (gt_sizes)", "vae_tiling": "Restore in tiles (--tile)"},
		Costs:    map[string]string{"lower_resolution": "Some quality: the last stages are meant for large patches.", "vae_tiling": "Slower."},
		Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperPart("restormer/validate", []string{"in nondist_validation", "model.validation("}, cause.BatchTooLarge, "ran out of GPU memory in validation, which restores whole images", "Training sees patches, but every `val_freq` iterations whole images are restored. Memory grows with their pixels.", "A smaller training patch or batch: validation has neither.", "Restormer/basicsr/train.py",
				cause.Cure{Fix: "lower_resolution", Title: "Validate on crops", Kind: "text", Text: "In the options file, under `datasets`, `val`: point `dataroot_gt` and `dataroot_lq` to crops of your images, such as 512 x 512.", Cost: "Scores of crops."},
				cause.Cure{Fix: "lower_context", Title: "Or leave validation out", Kind: "text", Text: "Set `val_freq` above the number of iterations, and test saved models with demo.py and `--tile 512`.", Cost: "No scores during training."}),
			paperStep("restormer/step", "Training is progressive: the patch grows from 128 to 384 pixels at fixed iterations (\"Updating Patch_Size to\"), so it can fail long after the start. The batch sizes are meant for eight GPUs.", "Restarting with the same settings: it fails again at the same patch size.", "Restormer/basicsr/train.py", own("lower_batch_size", "lower_resolution")...),
			paperRun("restormer/whole", cause.BatchTooLarge, "Without `--tile`, demo.py processes an image as a whole, and memory grows with its pixels. In training, memory depends on the patch and batch sizes in the options file.", "", "Restormer/demo.py", cause.Cure{Fix: "vae_tiling", Steps: tiles("--tile", "512", " in your demo.py command, with `--tile_overlap 32`."), Cost: "Slower."}, cause.Cure{Fix: "lower_batch_size", If: when.Not(cures.Uses)}, cause.Cure{Fix: "lower_resolution", If: cures.Uses, Title: "Or scale the image down first", Kind: "text", Text: "Half the width and height needs a quarter of the memory.", Cost: "Less detail."}),
		},
	}
	// SwinIR's script for testing is in KAIR, too.
	SwinIR = program.Program{
		Name: "swinir", Shown: "SwinIR", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"SwinIR/main_test", "SwinIR/models/", "SwinIR-main/", "SwinIR/predict.py"},
		Sources: program.Sources{"SwinIR/main_test_swinir.py": "--tile --tile_overlap --large_model --task"},
		Steps: spelling{
			"vae_tiling":        tiles("--tile", "400", " (a multiple of the window: 8, for JPEG models 7)."),
			"lower_resolution":  say("Scale the image down first: half the width and height needs a quarter of the memory."),
			"use_smaller_model": say("Leave out `--large_model`, if you have it. For `classical_sr`, `--task lightweight_sr` may be enough."),
		},
		Titles:   map[string]string{"use_smaller_model": "Use a smaller model", "lower_resolution": "Use a smaller input image", "vae_tiling": "Restore in tiles (--tile)"},
		Costs:    map[string]string{"vae_tiling": "Slower; seams hardly show.", "lower_resolution": "Less detail."},
		Remedies: ways("vae_tiling", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: notInside([]cause.Card{paperRun("swinir/whole", cause.BatchTooLarge, "Without `--tile` the whole image is processed at once, with 180 channels at full input size in every layer (60 in the lightweight model). So memory grows with the image's pixels.", "", "SwinIR/main_test_swinir.py", own("vae_tiling", "lower_resolution", "use_smaller_model")...)}),
	}
	// KAIR trains SwinIR, VRT, RVRT and USRNet.
	KAIR = program.Program{
		Name: "kair", Shown: "KAIR", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"KAIR/", "main_train_psnr.py", "main_train_vrt.py", "main_test_vrt.py", "main_train_gan.py"},
		Sources: program.Sources{"KAIR/main_train_psnr.py": "--opt", "KAIR/options/swinir/train_swinir_sr_classical.json": "dataloader_batch_size H_size dataloader_num_workers checkpoint_test dataroot_H dataroot_L", "KAIR/options/vrt/001_train_vrt_videosr_bi_reds_6frames.json": "num_frame use_checkpoint_attn use_checkpoint_ffn num_frame_testing", "KAIR/main_test_vrt.py": "--tile --tile_overlap --num_workers"},
		Steps: spelling{
			"lower_batch_size":       say("In the JSON that you pass with `--opt`, halve `dataloader_batch_size` (over all GPUs; often 32)."),
			"lower_resolution":       say("In the JSON, lower `H_size` (a multiple of scale x window size, such as 96 for x2 and 192 for x4). For VRT also lower `num_frame`."),
			"gradient_checkpointing": say("For VRT and RVRT set `\"use_checkpoint_attn\": true, \"use_checkpoint_ffn\": true` in the JSON."),
			"vae_tiling":             say("For VRT: `--tile 12 128 128 --tile_overlap 2 20 20` (frames, height, width; default 40 128 128). For SwinIR: `--tile 400`."),
			"lower_num_workers":      say("Use `\"dataloader_num_workers\": 2` in the JSON (often 16 or 32); main_test_vrt.py: `--num_workers 1`."),
		},
		Titles:   map[string]string{"vae_tiling": "Test in smaller tiles with fewer frames (--tile)", "lower_resolution": "Train on smaller patches (H_size)", "lower_batch_size": "Halve the batch size (dataloader_batch_size)"},
		Costs:    map[string]string{"lower_resolution": "Some quality."},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "lower_resolution"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperPart("kair/validate", []string{"model.test("}, cause.BatchTooLarge, "ran out of GPU memory in a test between training steps", "Training sees patches, but a test (every `checkpoint_test` iterations) processes whole images. Memory grows with their pixels and, for video, frames.", "A smaller training batch or patch: a test has neither.", "KAIR/options/swinir/train_swinir_sr_classical.json",
				cause.Cure{Fix: "lower_resolution", Title: "Test on smaller images", Kind: "text", Text: "In the JSON, under `datasets`, `test`: point `dataroot_H` (and `dataroot_L`) to crops of your images.", Cost: "Scores of crops."},
				cause.Cure{Fix: "lower_context", Title: "Or leave tests out", Kind: "text", Text: "Set `checkpoint_test` above the number of iterations, and test saved models with `--tile`.", Cost: "No scores during training."}),
			paperStep("kair/step", "Memory grows with the batch size (over all GPUs; the configs are meant for eight), the patch size and, for video, the number of frames. Training runs in 32 bit.", "Fewer data loader workers: they use RAM, not GPU memory.", "KAIR/options/swinir/train_swinir_sr_classical.json", own("lower_batch_size", "gradient_checkpointing", "lower_resolution")...),
			paperRun("kair/whole", cause.BatchTooLarge, "In testing, memory grows with the pixels and (for video) the frames of a tile. In training, it depends on batch size, patch size and frames.", "", "KAIR/main_test_vrt.py", own("vae_tiling", "lower_batch_size")...),
		},
	}
	// Pix2PixHD is NVIDIA's.
	Pix2PixHD = program.Program{
		Name: "pix2pixhd", Shown: "pix2pixHD", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"pix2pixHD/", "pix2pixHD_model.py"},
		Sources: program.Sources{"pix2pixHD/options/base_options.py": "--batchSize --loadSize --fineSize --resize_or_crop --ngf --netG --fp16 --nThreads", "pix2pixHD/scripts/train_1024p_12G.sh": "--resize_or_crop --fineSize"},
		Steps: spelling{
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Train on crops: `--resize_or_crop crop --fineSize 1024` (12 GB), then 512. Or train and test on smaller images: `--loadSize 512`."}, step.Step{Kind: "text", Text: "Use `--resize_or_crop scale_width --loadSize 512`, half of the default."}),
			"mixed_precision":   say("Add `--fp16` (needs apex). 2048 x 1024 then takes 16 GB instead of 24 GB, its README says."),
			"use_smaller_model": say("Use `--ngf 32` (default 64). Train `--netG global` at 1024 x 512 before `--netG local` at 2048 x 1024."),
			"lower_batch_size":  say("Use `--batchSize 1` (the default), if you set it higher."),
			"lower_num_workers": say("Use `--nThreads 1`."),
		},
		Titles:   map[string]string{"lower_resolution": "Use crops or smaller images (--fineSize, --loadSize)", "use_smaller_model": "Use a narrower generator (--ngf 32)"},
		Costs:    map[string]string{"lower_resolution": "Less context or detail."},
		Remedies: ways("lower_resolution", "mixed_precision", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperStep("pix2pixhd/step", "By default images are scaled to a width of 1024 pixels and processed as a whole, with the discriminators' features on top. That takes 11 GB at 1024 x 512 and 24 GB at 2048 x 1024, its README says.", "", "pix2pixHD/README.md", own("lower_resolution", "mixed_precision", "use_smaller_model")...),
			paperRun("pix2pixhd/test", cause.BatchTooLarge, "In testing, images are processed as a whole at `--loadSize`. In training, memory depends on `--loadSize`, or on `--fineSize` for crops.", "", "pix2pixHD/options/base_options.py", own("lower_resolution", "use_smaller_model")...),
		},
	}
	// SPADE is GauGAN.
	SPADE = program.Program{
		Name: "spade", Rank: above, Shown: "SPADE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"SPADE/", "pix2pix_trainer.py"},
		Sources: program.Sources{"SPADE/options/base_options.py": "--batchSize --crop_size --load_size --ngf --nThreads --gpu_ids --preprocess_mode"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batchSize", "  (a multiple of the number of `--gpu_ids`)."),
			"lower_resolution":  say("Use `--load_size 286 --crop_size 256` (default 1024 and 512; ADE20K and COCO have 286 and 256 already)."),
			"use_smaller_model": say("Use `--ngf 32` (default 64)."),
			"lower_num_workers": say("Use `--nThreads 0`."),
		},
		Titles:   map[string]string{"lower_resolution": "Train on smaller crops (--crop_size)", "use_smaller_model": "Use a narrower generator (--ngf 32)"},
		Costs:    map[string]string{"lower_resolution": "Less detail."},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("spade/step", "This code trains in 32 bit and has no mixed precision. The label map takes one plane per class (151 for ADE20K, 183 for COCO). Generator, discriminator and VGG features come on top.", "Fewer data loader workers: they use RAM, not GPU memory.", "SPADE/options/base_options.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// CUT is contrastive unpaired translation.
	CUT = program.Program{
		Name: "cut", Shown: "CUT", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"contrastive-unpaired-translation", "models/cut_model.py", "models/sincut_model.py"},
		Sources: program.Sources{"contrastive-unpaired-translation/options/base_options.py": "--batch_size --crop_size --load_size --preprocess --num_threads --netG", "contrastive-unpaired-translation/models/cut_model.py": "--CUT_mode --num_patches"},
		Steps: spelling{
			"lower_batch_size":  say("Use `--batch_size 1` (the default), if you set it higher."),
			"lower_resolution":  kit.ByPhase(step.Step{Kind: "text", Text: "Use `--preprocess scale_width_and_crop --load_size 512 --crop_size 256`, then smaller crops."}, step.Step{Kind: "text", Text: "Use `--preprocess scale_width --load_size 512`."}),
			"use_smaller_model": say("Use `--CUT_mode FastCUT` (no identity pass through the generator), then `--netG resnet_6blocks`."),
			"lower_num_workers": say("Use `--num_threads 1`."),
		},
		Titles:   map[string]string{"lower_resolution": "Train on smaller crops (--crop_size)", "use_smaller_model": "Train FastCUT, which saves a pass (--CUT_mode)"},
		Costs:    map[string]string{"lower_resolution": "Less detail."},
		Remedies: ways("lower_resolution", "use_smaller_model", "lower_batch_size"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{paperStep("cut/step", "Memory grows with the pixels of the crop, and CUT's identity pass about doubles it. Training runs in 32 bit.", "Fewer data loader workers: they use RAM, not GPU memory.", "contrastive-unpaired-translation/models/cut_model.py", own("lower_resolution", "use_smaller_model", "lower_batch_size")...)},
	}
	// DALLEPytorch is lucidrains' DALL-E.
	DALLEPytorch = program.Program{
		Name: "dalle-pytorch", Shown: "DALLE-pytorch", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"dalle_pytorch/", "DALLE-pytorch", "train_dalle.py"},
		Sources: program.Sources{"DALLE-pytorch/train_dalle.py": "--batch_size --reversible --attn_types --depth --dim --fp16 --amp --ga_steps --deepspeed --shared_attn_ids", "DALLE-pytorch/generate.py": "--batch_size"},
		Steps: spelling{
			"lower_batch_size":       halve("train_dalle.py", "--batch_size", " (default 4). With DeepSpeed `--ga_steps 4` accumulates gradients."),
			"gradient_checkpointing": say("Add `--reversible`. Activations are then recomputed instead of kept."),
			"mixed_precision":        say("Add `--fp16` with `--deepspeed`, or `--amp` (needs apex)."),
			"efficient_attention":    say("Use `--attn_types full,axial_row,axial_col,conv_like` instead of full alone."),
			"use_smaller_model":      say("Lower `--depth` and `--dim`, or use a VAE with fewer tokens per image: VQGAN f=16 has 256, OpenAI's and VQGAN f=8 have 1024."),
		},
		Titles:   map[string]string{"gradient_checkpointing": "Make the network reversible (--reversible)", "efficient_attention": "Use sparse attention in some layers (--attn_types)"},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "efficient_attention", "mixed_precision", "use_smaller_model"), Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{
			paperStep("dalle-pytorch/step", "The VAE turns each image into 256 or 1024 tokens. Full attention stores the scores of all pairs in each layer and head. Every layer's activations are kept, unless the network is reversible.", "Smaller image files: the number of tokens stays the same.", "DALLE-pytorch/train_dalle.py", own("gradient_checkpointing", "lower_batch_size", "efficient_attention")...),
			paperRun("dalle-pytorch/generate", cause.BatchTooLarge, "Generation makes `--batch_size` images at once (default 4). In training, memory depends on batch size, depth and tokens per image.", "", "DALLE-pytorch/generate.py", cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size to 1 (--batch_size 1)", Kind: "text", Text: "Add `--batch_size 1` to your `generate.py` or `train_dalle.py` command.", Cost: "Slower."}),
		},
	}
)
