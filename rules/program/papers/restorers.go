package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
)

// Networks that restore, translate and make pictures, with scripts of their own.
var (
	// Restormer has a copy of BasicSR and a training that grows.
	Restormer = program.Program{
		Name: "restormer", Rank: above, Shown: "Restormer", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"Restormer/", "restormer_arch.py", "image_restoration_model.py"},
		Sources: program.Sources{"Restormer/Deraining/Options/Deraining_Restormer.yml": "mini_batch_sizes gt_sizes batch_size_per_gpu iters", "Restormer/demo.py": "--tile --tile_overlap"},
		Steps: spelling{
			"lower_batch_size":  say("In the options file: halve `batch_size_per_gpu` and every entry of `mini_batch_sizes`."),
			"lower_resolution":  say("In the options file: end `gt_sizes` earlier, such as [128,160,192,256,256,256], and `gt_size: 256`."),
			"vae_tiling":        say("`python demo.py ... --tile 512 --tile_overlap 32`: without `--tile` images go in whole."),
			"lower_num_workers": say("In the options file: `num_worker_per_gpu: 2`."),
		},
		Titles:   map[string]string{"lower_resolution": "Smaller patches in the later stages", "vae_tiling": "Restore in tiles"},
		Costs:    map[string]string{"lower_resolution": "Some quality: large patches are what the last stages are for.", "vae_tiling": "Slower."},
		Remedies: ways("lower_batch_size", "lower_resolution"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("restormer/step", "It failed in a training step. Training is progressive: patches grow from 128 to 384 pixels at fixed iterations (92,000, 156,000 and so on; \"Updating Patch_Size to\"), with batches that are meant for eight cards, so that it can run for a day and then die at such a step.", "Starting again at the same settings: it dies at the same iteration.", "Restormer/basicsr/train.py", own("lower_batch_size", "lower_resolution")...),
			paperRun("restormer/whole", cause.BatchTooLarge, "It failed on an image that went in whole: memory grows with its pixels, about a quarter at half the side.", "A smaller batch: it is one image.", "Restormer/demo.py", own("vae_tiling")...),
		},
	}
	// SwinIR's script for testing is in KAIR, too.
	SwinIR = program.Program{
		Name: "swinir", Shown: "SwinIR", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"SwinIR/main_test", "SwinIR/models/", "SwinIR-main/", "SwinIR/predict.py"},
		Sources: program.Sources{"SwinIR/main_test_swinir.py": "--tile --tile_overlap --large_model --task"},
		Steps: spelling{
			"vae_tiling":        say("Add `--tile 400` (a multiple of the window, 8; JPEG models 7), then 200: without it images go in whole."),
			"lower_resolution":  say("Scale the image down before: half the width and height is a quarter."),
			"use_smaller_model": say("Without `--large_model`; `--task lightweight_sr` where it does."),
		},
		Titles:   map[string]string{"use_smaller_model": "A smaller model", "lower_resolution": "A smaller image", "vae_tiling": "Restore in tiles"},
		Costs:    map[string]string{"vae_tiling": "Slower; seams hardly show (--tile_overlap 32).", "lower_resolution": "Detail."},
		Remedies: ways("vae_tiling", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: notInside([]cause.Card{paperRun("swinir/whole", cause.BatchTooLarge, "It failed on an image that went in whole: 180 channels at the INPUT's size in every layer, so its pixels decide.", "A smaller scale factor: the work is done at the input's size.", "SwinIR/main_test_swinir.py", own("vae_tiling", "lower_resolution", "use_smaller_model")...)}),
	}
	// KAIR trains SwinIR, VRT, RVRT and USRNet.
	KAIR = program.Program{
		Name: "kair", Shown: "KAIR", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"KAIR/", "main_train_psnr.py", "main_train_vrt.py", "main_test_vrt.py", "main_train_gan.py"},
		Sources: program.Sources{"KAIR/main_train_psnr.py": "--opt", "KAIR/options/swinir/train_swinir_sr_classical.json": "dataloader_batch_size H_size dataloader_num_workers", "KAIR/options/vrt/001_train_vrt_videosr_bi_reds_6frames.json": "num_frame use_checkpoint_attn use_checkpoint_ffn num_frame_testing", "KAIR/main_test_vrt.py": "--tile --tile_overlap --num_workers"},
		Steps: spelling{
			"lower_batch_size":       say("In the JSON of `--opt`: `\"dataloader_batch_size\": 4` (32 there, over all cards)."),
			"lower_resolution":       say("In the JSON: a smaller `H_size` (a multiple of scale x window, such as 96 for x2 and 192 for x4 at 48 pixels in); VRT: fewer `num_frame`."),
			"gradient_checkpointing": say("VRT and RVRT: `\"use_checkpoint_attn\": true, \"use_checkpoint_ffn\": true` in the JSON."),
			"vae_tiling":             say("VRT: `--tile 12 128 128 --tile_overlap 2 20 20` (frames, height, width; default 40 128 128). SwinIR: `--tile 400`."),
			"lower_num_workers":      say("`\"dataloader_num_workers\": 2` in the JSON (16 or 32 there); main_test_vrt.py `--num_workers 1`."),
		},
		Titles:   map[string]string{"vae_tiling": "Test in smaller tiles and fewer frames"},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "lower_resolution"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("kair/step", "It failed in a training step: batch (over all cards, configs are meant for eight) x patch, and for video x frames, at 32 bit.", "More workers or fewer: they take system memory.", "KAIR/options/swinir/train_swinir_sr_classical.json", own("lower_batch_size", "gradient_checkpointing", "lower_resolution")...),
			paperRun("kair/whole", cause.BatchTooLarge, "It failed in testing, where memory grows with pixels, and for video with the frames of a tile.", "The training batch: testing has its own size.", "KAIR/main_test_vrt.py", own("vae_tiling")...),
		},
	}
	// Pix2PixHD is NVIDIA's.
	Pix2PixHD = program.Program{
		Name: "pix2pixhd", Shown: "pix2pixHD", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"pix2pixHD/", "pix2pixHD_model.py"},
		Sources: program.Sources{"pix2pixHD/options/base_options.py": "--batchSize --loadSize --fineSize --resize_or_crop --ngf --netG --fp16 --nThreads", "pix2pixHD/scripts/train_1024p_12G.sh": "--resize_or_crop --fineSize"},
		Steps: spelling{
			"lower_resolution":  say("Train on crops: `--resize_or_crop crop --fineSize 1024` (12 GB), then 512; or `--loadSize 512` with scale_width."),
			"mixed_precision":   say("Add `--fp16` (needs apex): 2048 x 1024 then takes 16 GB instead of 24, its README says."),
			"use_smaller_model": say("`--ngf 32` (default 64); `--netG global` at 1024 x 512 before `--netG local` at 2048 x 1024."),
			"lower_batch_size":  say("`--batchSize 1`, its default."),
			"lower_num_workers": say("`--nThreads 1`."),
		},
		Titles:   map[string]string{"lower_resolution": "Train on crops"},
		Remedies: ways("lower_resolution", "mixed_precision", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("pix2pixhd/step", "It failed in a training step. By default images are scaled to 1024 pixels in width and go in whole, with three discriminators' features besides: 11 GB at 1024 x 512 and 24 at 2048 x 1024.", "`--batchSize`, if it is 1: the image's size is what is left.", "pix2pixHD/README.md", own("lower_resolution", "mixed_precision", "use_smaller_model")...),
			paperRun("pix2pixhd/test", cause.BatchTooLarge, "It failed in testing, where images go in whole at `--loadSize`, not as crops.", "`--batchSize`: testing has 1.", "pix2pixHD/options/base_options.py", own("lower_resolution", "use_smaller_model")...),
		},
	}
	// SPADE is GauGAN.
	SPADE = program.Program{
		Name: "spade", Shown: "SPADE", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"SPADE/", "pix2pix_trainer.py"},
		Sources: program.Sources{"SPADE/options/base_options.py": "--batchSize --crop_size --load_size --ngf --nThreads --gpu_ids --preprocess_mode"},
		Steps: spelling{
			"lower_batch_size":  halve("train.py", "--batchSize", "1", " (a multiple of the number of `--gpu_ids`)."),
			"lower_resolution":  say("`--load_size 286 --crop_size 256` (default 512 from 1024)."),
			"use_smaller_model": say("`--ngf 32` (default 64)."),
			"lower_num_workers": say("`--nThreads 0`."),
		},
		Remedies: ways("lower_batch_size", "lower_resolution", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("spade/step", "It failed in a training step, at 32 bit: this code has no mixed precision. The label map goes in as one plane a class (151 or 183 for ADE20K and COCO), beside generator, discriminator and VGG's features.", "Fewer workers: they take system memory.", "SPADE/options/base_options.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// CUT is contrastive unpaired translation.
	CUT = program.Program{
		Name: "cut", Shown: "CUT", Work: "vision", Edits: "code", Language: "python",
		Proofs:  []string{"contrastive-unpaired-translation", "models/cut_model.py", "models/sincut_model.py"},
		Sources: program.Sources{"contrastive-unpaired-translation/options/base_options.py": "--batch_size --crop_size --load_size --preprocess --num_threads --netG", "contrastive-unpaired-translation/models/cut_model.py": "--CUT_mode --num_patches"},
		Steps: spelling{
			"lower_batch_size":  say("`--batch_size 1`, its default."),
			"lower_resolution":  say("Training: `--preprocess scale_width_and_crop --load_size 512 --crop_size 256`; testing `--preprocess scale_width --load_size 512`."),
			"use_smaller_model": say("`--CUT_mode FastCUT` (no second, identity pass through the generator), `--netG resnet_6blocks`."),
			"lower_num_workers": say("`--num_threads 1`."),
		},
		Titles:   map[string]string{"use_smaller_model": "FastCUT: one pass less"},
		Remedies: ways("lower_resolution", "use_smaller_model", "lower_batch_size"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{paperStep("cut/step", "It failed in a training step: the crop's pixels decide, twice over with CUT's identity pass, at 32 bit.", "`--num_threads`: loaders take system memory.", "contrastive-unpaired-translation/models/cut_model.py", own("lower_resolution", "use_smaller_model", "lower_batch_size")...)},
	}
	// DALLEPytorch is lucidrains' DALL-E.
	DALLEPytorch = program.Program{
		Name: "dalle-pytorch", Shown: "DALLE-pytorch", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"dalle_pytorch/", "DALLE-pytorch", "train_dalle.py"},
		Sources: program.Sources{"DALLE-pytorch/train_dalle.py": "--batch_size --reversible --attn_types --depth --dim --fp16 --amp --ga_steps --deepspeed --shared_attn_ids", "DALLE-pytorch/generate.py": "--batch_size"},
		Steps: spelling{
			"lower_batch_size":       halve("train_dalle.py", "--batch_size", "1", " (default 4; with DeepSpeed `--ga_steps 4` accumulates)."),
			"gradient_checkpointing": say("Add `--reversible`: the results of layers are computed again instead of kept, whatever `--depth` is."),
			"mixed_precision":        say("Add `--fp16` with `--deepspeed`; `--amp` needs apex."),
			"efficient_attention":    say("`--attn_types full,axial_row,axial_col,conv_like` instead of full alone."),
			"use_smaller_model":      say("A smaller `--depth` and `--dim`; a VAE with fewer tokens an image: OpenAI's and VQGAN f=8 make 1024, VQGAN f=16 256."),
		},
		Titles:   map[string]string{"gradient_checkpointing": "A reversible network"},
		Remedies: ways("lower_batch_size", "gradient_checkpointing", "efficient_attention", "mixed_precision", "use_smaller_model"), Like: []*program.Program{&trainer.Vision},
		Cards: []cause.Card{
			paperStep("dalle-pytorch/step", "It failed in a training step. An image is 256 or 1024 tokens by its VAE, and full attention writes the scores of all pairs in each layer and head; every layer's results are kept unless the network is reversible.", "A smaller image: the VAE's number of tokens counts.", "DALLE-pytorch/train_dalle.py", own("gradient_checkpointing", "lower_batch_size", "efficient_attention")...),
			paperRun("dalle-pytorch/generate", cause.BatchTooLarge, "It failed while images were made, `--batch_size` (4) at once.", "A reversible network: it counts in training.", "DALLE-pytorch/generate.py", cause.Cure{Fix: "lower_batch_size", Title: "One image at a time", Kind: "text", Text: "`--batch_size 1` in your command of `generate.py`.", Cost: "Slower."}),
		},
	}
)
