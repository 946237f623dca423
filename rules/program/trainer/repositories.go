package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Repositories of papers that many people train with, each with options of its
// own.
var (
	// BiaPy trains on microscope pictures from a file of settings, mostly by way
	// of a GUI that starts it in Docker.
	BiaPy = program.Program{
		Name: "biapy", Shown: "BiaPy", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"BiaPy/biapy/config/config.py": "SYSTEM NUM_WORKERS DATA TRAIN VAL IN_MEMORY BATCH_SIZE PATCH_SIZE"},
		Proofs:  []string{"biapy/engine/", "biapy/_biapy.py", "BiaPy/main.py"},
		Steps: spelling{
			"lower_batch_size":  say("Set `TRAIN.BATCH_SIZE: 1` in the YAML file or in the GUI."),
			"lower_resolution":  say("Set a smaller `DATA.PATCH_SIZE` in the YAML file, such as (128, 128, 1) in 2D or (40, 64, 64, 1) in 3D."),
			"lower_num_workers": say("In the YAML file set `SYSTEM.NUM_WORKERS: 0` (GUI: number of workers), `DATA.TRAIN.IN_MEMORY: False` and `DATA.VAL.IN_MEMORY: False`. By default all images are kept in RAM."),
		},
		Titles:   map[string]string{"lower_num_workers": "Use no workers, and do not keep the images in RAM", "lower_resolution": "Use smaller patches"},
		Remedies: plainVision, Like: []*program.Program{&Vision},
	}
	// YOLOX is Megvii's.
	YOLOX = program.Program{
		Name: "yolox", Shown: "YOLOX", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"YOLOX/tools/train.py": "--batch-size --fp16 --occupy --cache", "YOLOX/yolox/exp/yolox_base.py": "data_num_workers input_size multiscale_range"},
		Proofs:  []string{"yolox/core/", "yolox/models/", "yolox/exp/", "yolox/utils/", "yolox.core."},
		Steps: spelling{
			"lower_batch_size":  say("Halve `-b` in your tools/train.py command (it counts all GPUs together), and remove `-o`, which reserves 90 % of the GPU in advance."),
			"lower_resolution":  say("Append `input_size \"(416, 416)\"` (default 640) and `multiscale_range 0` to your command: otherwise the size changes from step to step."),
			"mixed_precision":   say("Add `--fp16`."),
			"lower_num_workers": say("Append `data_num_workers 1` to your command, and remove `--cache`, which keeps the images in RAM."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size (-b)"},
		Remedies: plainVision, Like: []*program.Program{&Vision},
	}
	// BasicSR trains networks that enlarge or restore pictures: EDSR, SwinIR, HAT,
	// Restormer and NAFNet in their own copies.
	BasicSR = program.Program{
		Name: "basicsr", Shown: "BasicSR", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"BasicSR/options/train/EDSR/train_EDSR_Mx2.yml": "batch_size_per_gpu num_worker_per_gpu gt_size val_freq"},
		Proofs:  []string{"basicsr/train.py", "basicsr/models/", "basicsr/data/"},
		Steps: spelling{
			"lower_batch_size":  say("In the options file halve `batch_size_per_gpu`."),
			"lower_resolution":  say("In the options file halve `gt_size` (keep it a multiple of the scale): it takes a quarter of the memory. If it fails in validation, use smaller validation images, which are processed whole."),
			"lower_num_workers": say("In the options file: `num_worker_per_gpu: 1`, `prefetch_mode: ~`."),
		},
		Titles:   map[string]string{"lower_resolution": "Use smaller crops (gt_size)"},
		Remedies: plainVision, Like: []*program.Program{&Vision},
	}
	// NeRFPyTorch is the first NeRF in PyTorch, of which many others are made.
	NeRFPyTorch = program.Program{
		Name: "nerf-pytorch", Shown: "nerf-pytorch", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"nerf-pytorch/run_nerf.py": "--N_rand --chunk --netchunk --N_samples --N_importance --half_res --factor --render_factor --render_only --i_video --i_testset --no_batching"},
		Proofs:  []string{"nerf-pytorch/", "run_nerf.py", "run_nerf_helpers.py"},
		Steps: spelling{
			"lower_batch_size": say("Training: lower `--N_rand` (rays per step), for example to 512. Rendering: `--chunk 4096 --netchunk 16384` (same result)."),
			"lower_resolution": say("`--N_samples 32 --N_importance 64` uses half as many points per ray as the usual 64 and 128. `--half_res` or a larger `--factor` makes the images smaller."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the rays and points at a time"},
		Remedies: plainVision, Like: []*program.Program{&DataAside, &Vision},
		Cards: []cause.Card{{
			ID: "nerf-pytorch/rays", Kinds: refused, Said: []string{"rays_rgb = torch.", "rays_rgb.to(", "images = torch.Tensor(images)"}, If: ownCard, Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: filled,
			Headline: "ran out of memory while moving the rays of all images to the GPU",
			Means:    "Before the first step it moves the rays of all training images to the GPU: 36 bytes per pixel, and 12 more for the images. {asked} is one of the two.",
			Not:      "`--N_rand`, `--chunk`: they only affect later steps.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Use the rays of one image at a time (--no_batching)", Cost: "slightly noisier steps", Told: "Add `--no_batching` to your command (config file: `no_batching = True`). Images and rays then stay in system RAM."},
				{Fix: "lower_resolution", Title: "Or train on smaller images", Cost: "detail", Told: "LLFF scenes: `--factor 8`, then 16. Blender scenes: `--half_res`, which takes a quarter."},
				{Fix: "lower_batch_size", Title: "Or on fewer images", Cost: "gaps where images are missing", Told: "Remove nearly identical ones."},
			},
			Sources: []string{"nerf-pytorch/run_nerf.py"},
		}, {
			ID: "nerf-pytorch/render", Kinds: refused, Said: []string{"in render_path", "render_path("}, If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: filled,
			Headline: "ran out of memory while rendering a whole image, not in a training step",
			Means:    "It renders an image in chunks of `--chunk` rays (default 32,768) and `--netchunk` points (default 65,536), beside what training keeps on the GPU.",
			Not:      "`--N_rand`: it only affects training steps.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Render in smaller chunks (--chunk, --netchunk)", Cost: "slower; same images", Told: "Add `--chunk 4096 --netchunk 16384` to your command, or 1024 and 4096 if that fails. It continues from the last checkpoint."},
				{Fix: "lower_parallel", Title: "Or render only after training", Cost: "no images in between", Told: "Train with `--i_video 1000000 --i_testset 1000000`, then render with `--render_only`."},
				freeOthers, {Fix: "lower_resolution", Title: "Or render at half the size", Cost: "detail", Told: "`--render_factor 2` (with `--render_only`), `--half_res` (Blender scenes) or a larger `--factor` (LLFF)."},
			},
			Sources: []string{"nerf-pytorch/run_nerf.py"},
		}, stepCard("nerf-pytorch/step", []string{"run_nerf.py", "run_nerf_helpers.py"},
			"A step computes `--N_rand` rays (default 4,096) with `--N_samples` plus `--N_importance` points each, and keeps every layer's output for the backward pass.", "`--chunk`: training keeps the activations of all chunks.", "nerf-pytorch/run_nerf.py",
			cause.Cure{Fix: "lower_batch_size", Title: "Use fewer rays per step (--N_rand)", Cost: "noisier steps", Told: "`--N_rand 1024`, then 512, in your command or the config file (`N_rand = 512`). Half the rays take half the memory."},
			freeOthers, cause.Cure{Fix: "lower_resolution", Title: "Or use fewer points per ray", Cost: "detail", Told: "`--N_samples 32 --N_importance 64` takes about half of 64 and 128."})},
	}
	// OpenCLIP is open_clip's training script.
	OpenCLIP = program.Program{
		Name: "open-clip", Shown: "open_clip", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"open_clip/src/open_clip_train/params.py": "--batch-size --accum-freq --grad-checkpointing --precision --workers --local-loss --gather-with-grad"},
		Proofs:  []string{"open_clip_train", "open_clip/src/training/", "-m training.main"},
		Steps: spelling{
			"lower_batch_size":       say("Halve `--batch-size` and add `--accum-freq 2`: the loss then still sees as many pairs."),
			"gradient_checkpointing": say("Add `--grad-checkpointing`. On several GPUs also add `--local-loss --gather-with-grad`, so that no GPU holds the matrix of all pairs."),
			"mixed_precision":        say("Add `--precision amp_bf16` (`amp` before RTX 30)."),
			"lower_num_workers":      say("Add `--workers 2`."),
		},
		Like: []*program.Program{&Vision},
	}
	// GuidedDiffusion is OpenAI's, with improved-diffusion before it.
	GuidedDiffusion = program.Program{
		Name: "guided-diffusion", Shown: "guided-diffusion", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"guided-diffusion/scripts/image_train.py": "--batch_size --microbatch --use_fp16", "guided-diffusion/guided_diffusion/script_util.py": "--use_checkpoint --image_size --num_channels --attention_resolutions"},
		Proofs:  []string{"guided_diffusion/", "improved_diffusion/", "guided-diffusion/"},
		Steps: spelling{
			"lower_batch_size":       say("Training: add `--microbatch 1`, which processes the batch in parts with the same result. Sampling: `--batch_size 1`."),
			"gradient_checkpointing": say("Add `--use_checkpoint True`."),
			"mixed_precision":        say("Add `--use_fp16 True`."),
			"lower_resolution":       say("`--image_size 128`, or attention at fewer resolutions (`--attention_resolutions 16`). Both need training from scratch."),
		},
		Titles: map[string]string{"lower_batch_size": "Process the batch in parts (--microbatch)"},
		Like:   []*program.Program{&Vision},
	}
	// CycleGAN is pytorch-CycleGAN-and-pix2pix and what is made from it.
	CycleGAN = program.Program{
		Name: "cyclegan", Shown: "CycleGAN and pix2pix", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"pytorch-CycleGAN-and-pix2pix/options/base_options.py": "--batch_size --crop_size --load_size --preprocess --num_threads --netG"},
		Proofs:  []string{"CycleGAN-and-pix2pix", "cycle_gan_model.py", "pix2pix_model.py"},
		Steps: spelling{
			"lower_batch_size":  say("Set `--batch_size 1`, the default."),
			"lower_resolution":  say("Training on crops: `--preprocess scale_width_and_crop --load_size 1024 --crop_size 256`. Testing: `--preprocess scale_width --load_size 512`."),
			"use_smaller_model": say("Use `--netG resnet_6blocks` or `--netG unet_128`, if the task allows."),
			"lower_num_workers": say("Add `--num_threads 1`."),
		},
		Remedies: plainVision, Like: []*program.Program{&Vision},
	}
	// SlowFast is PySlowFast, with its forks for video.
	SlowFast = program.Program{
		Name: "slowfast", Shown: "PySlowFast", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"SlowFast/slowfast/config/defaults.py": "TRAIN TEST BATCH_SIZE DATA_LOADER NUM_WORKERS DATA NUM_FRAMES TRAIN_CROP_SIZE MIXED_PRECISION NUM_GPUS"},
		Proofs:  []string{"slowfast/models/", "slowfast/utils/", "slowfast/datasets/", "tools/run_net.py"},
		Steps: spelling{
			"lower_batch_size":  say("Append half of your `TRAIN.BATCH_SIZE` and `TEST.BATCH_SIZE` to your command (they count all GPUs together and must be divisible by NUM_GPUS). Lower the learning rate by the same factor."),
			"lower_resolution":  say("Halve `DATA.NUM_FRAMES`, which halves the memory, or lower `DATA.TRAIN_CROP_SIZE`, for example from 224 to 192."),
			"mixed_precision":   say("Append `TRAIN.MIXED_PRECISION True` to your command."),
			"lower_num_workers": say("Append `DATA_LOADER.NUM_WORKERS 0` to your command: each worker decodes whole videos."),
		},
		Titles:   map[string]string{"lower_resolution": "Use fewer frames or smaller crops"},
		Remedies: plainVision, Like: []*program.Program{&Vision},
	}
)
