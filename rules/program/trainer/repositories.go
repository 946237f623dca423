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
			"lower_batch_size":  say("In the YAML file, or in the GUI: `TRAIN.BATCH_SIZE: 1`."),
			"lower_resolution":  say("In the YAML file a smaller `DATA.PATCH_SIZE`, such as (128, 128, 1) in 2D or (40, 64, 64, 1) in 3D."),
			"lower_num_workers": say("In the YAML file `SYSTEM.NUM_WORKERS: 0` (GUI: number of workers), and `DATA.TRAIN.IN_MEMORY: False`, `DATA.VAL.IN_MEMORY: False`: by default all images lie in RAM."),
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
			"lower_batch_size":  say("Halve `-b` in your command of tools/train.py (it is the batch of all cards together), and leave out `-o`, which takes 90 % of the card in advance."),
			"lower_resolution":  say("After the other options: `input_size \"(416, 416)\"` (default 640) and `multiscale_range 0`, because the size changes from step to step."),
			"mixed_precision":   say("Add `--fp16`."),
			"lower_num_workers": say("After the other options: `data_num_workers 1`; and leave out `--cache`, which keeps the images in RAM."),
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
			"lower_resolution":  say("In the options file halve `gt_size` (a multiple of the scale): a quarter of the memory. If it fails in validation: those images go in whole, so use smaller ones."),
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
			"lower_batch_size": say("In training lower `--N_rand` (rays in a step), such as 512. To render images: `--chunk 4096 --netchunk 16384` (rays and points at a time; the result is the same)."),
			"lower_resolution": say("`--N_samples 32 --N_importance 64` take half as many points on each ray; `--half_res` or a larger `--factor` make the images smaller."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the rays and points at a time"},
		Remedies: plainVision, Like: []*program.Program{&DataAside, &Vision},
		Cards: []cause.Card{{
			ID: "nerf-pytorch/rays", Kinds: refused, Said: []string{"rays_rgb = torch.", "rays_rgb.to(", "images = torch.Tensor(images)"}, If: ownCard, Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: filled,
			Headline: "ran out while putting the rays of all images on the card",
			Means:    "Before the first step it moves the rays of all training images there: 36 bytes a pixel, and 12 more for the images. {asked} is one of the two.",
			Not:      "`--N_rand`, `--chunk`: no step was made.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Draw the rays of one image at a time (--no_batching)", Cost: "slightly noisier steps", Told: "Add `--no_batching` to your command (config file: `no_batching = True`): images and rays then stay in RAM."},
				{Fix: "lower_resolution", Title: "Or train on smaller images", Cost: "detail", Told: "`--factor 8` (LLFF; half the sides is a quarter), `--half_res` (Blender scenes)."},
				{Fix: "lower_batch_size", Title: "Or on fewer images", Cost: "gaps where images are missing", Told: "Leave out nearly identical ones."},
			},
			Sources: []string{"nerf-pytorch/run_nerf.py"},
		}, {
			ID: "nerf-pytorch/render", Kinds: refused, Said: []string{"in render_path", "render_path("}, If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: filled,
			Headline: "ran out while rendering a whole image, not in a training step",
			Means:    "It renders images here: all rays of one, `--chunk` rays (32,768) and `--netchunk` points (65,536) at a time, beside what training keeps.[[ {mine} of {full} is this program's own.]]",
			Not:      "`--N_rand`: rendering does not read it.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the rays and points at a time (--chunk, --netchunk)", Cost: "slower; the same images", Told: "Add `--chunk 4096 --netchunk 16384` to your command; 1024 and 4096 if that fails. It continues from the last checkpoint."},
				{Fix: "lower_parallel", Title: "Or render only after training", Cost: "no images in between", Told: "`--i_video 1000000 --i_testset 1000000` while it trains, then `--render_only`: nothing of the training lies on the card then."},
				freeOthers, {Fix: "lower_resolution", Title: "Or render at half the size", Cost: "detail", Told: "`--render_factor 2` (with `--render_only`), `--half_res` (Blender scenes) or a larger `--factor` (LLFF)."},
			},
			Sources: []string{"nerf-pytorch/run_nerf.py"},
		}, stepCard("nerf-pytorch/step", []string{"run_nerf.py", "run_nerf_helpers.py"},
			"A step computes `--N_rand` rays (4,096 by default) x `--N_samples` (64) and `--N_importance` (0; 64 or 128 in the configs) points each, and keeps every layer of all of them.", "`--chunk`: in a step the graph of all chunks stays.", "nerf-pytorch/run_nerf.py",
			cause.Cure{Fix: "lower_batch_size", Title: "Lower the rays of a step (--N_rand)", Cost: "noisier steps", Told: "`--N_rand 1024`, then 512, in the command or the config file (`N_rand = 512`): memory falls in proportion."},
			freeOthers, cause.Cure{Fix: "lower_resolution", Title: "Or take fewer points on each ray", Cost: "detail", Told: "`--N_samples 32 --N_importance 64`: about half."})},
	}
	// OpenCLIP is open_clip's training script.
	OpenCLIP = program.Program{
		Name: "open-clip", Shown: "open_clip", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"open_clip/src/open_clip_train/params.py": "--batch-size --accum-freq --grad-checkpointing --precision --workers --local-loss --gather-with-grad"},
		Proofs:  []string{"open_clip_train", "open_clip/src/training/", "-m training.main"},
		Steps: spelling{
			"lower_batch_size":       say("Halve `--batch-size` and add `--accum-freq 2`: the loss sees as many pairs."),
			"gradient_checkpointing": say("Add `--grad-checkpointing`; on several cards also `--local-loss --gather-with-grad`, so that no card holds the matrix of all pairs."),
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
			"lower_batch_size":       say("In training add `--microbatch 1`: it goes through the batch in pieces, with the same result. In sampling: `--batch_size 1`."),
			"gradient_checkpointing": say("Add `--use_checkpoint True`."),
			"mixed_precision":        say("Add `--use_fp16 True`."),
			"lower_resolution":       say("`--image_size 128`, or attention at fewer resolutions (`--attention_resolutions 16`); both need a training of their own."),
		},
		Titles: map[string]string{"lower_batch_size": "Compute the batch in pieces (--microbatch)"},
		Like:   []*program.Program{&Vision},
	}
	// CycleGAN is pytorch-CycleGAN-and-pix2pix and what is made from it.
	CycleGAN = program.Program{
		Name: "cyclegan", Shown: "CycleGAN and pix2pix", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"pytorch-CycleGAN-and-pix2pix/options/base_options.py": "--batch_size --crop_size --load_size --preprocess --num_threads --netG"},
		Proofs:  []string{"CycleGAN-and-pix2pix", "cycle_gan_model.py", "pix2pix_model.py"},
		Steps: spelling{
			"lower_batch_size":  say("Set `--batch_size 1`, the default."),
			"lower_resolution":  say("Training: `--preprocess scale_width_and_crop --load_size 1024 --crop_size 256`, so that it trains on crops; the networks take larger images later. Testing: `--preprocess scale_width --load_size 512`."),
			"use_smaller_model": say("`--netG resnet_6blocks` or `unet_128` where the task allows."),
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
			"lower_batch_size":  say("After the other options: half of your `TRAIN.BATCH_SIZE` and `TEST.BATCH_SIZE` (of all cards together; divisible by NUM_GPUS), and lower the learning rate by the same factor."),
			"lower_resolution":  say("Halve `DATA.NUM_FRAMES`, or lower `DATA.TRAIN_CROP_SIZE`, such as 192 for 224: half the frames need half of the memory."),
			"mixed_precision":   say("`TRAIN.MIXED_PRECISION True`."),
			"lower_num_workers": say("`DATA_LOADER.NUM_WORKERS 0`: each worker decodes whole videos."),
		},
		Titles:   map[string]string{"lower_resolution": "Use fewer frames or smaller crops"},
		Remedies: plainVision, Like: []*program.Program{&Vision},
	}
)
