// Package scenes knows trainers of scenes and pictures, and repositories of papers.
package scenes

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Repositories of papers that many people train with, each with options of its
// own.
var (
	// BiaPy trains on microscope pictures from a file of settings, mostly by way
	// of a GUI that starts it in Docker.
	BiaPy = program.Program{
		Name: "biapy", Shown: "BiaPy", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"BiaPy/biapy/config/config.py": "SYSTEM NUM_WORKERS DATA TRAIN VAL IN_MEMORY BATCH_SIZE PATCH_SIZE TEST FULL_IMG"},
		Proofs:  []string{"biapy/engine/", "biapy/_biapy.py", "BiaPy/main.py"},
		Steps: parts.Spelling{
			"lower_batch_size":  parts.Say("Set `TRAIN.BATCH_SIZE: 1` in the YAML file or in the GUI."),
			"lower_resolution":  parts.InUse(parts.Say("The patch size must stay that of training. In 2D set `TEST.FULL_IMG: False` in the YAML file, so that the image goes through in patches; or cut the image into parts."), parts.Say("Set a smaller `DATA.PATCH_SIZE` in the YAML file, such as (128, 128, 1) in 2D or (40, 64, 64, 1) in 3D.")),
			"lower_num_workers": parts.Say("In the YAML file set `SYSTEM.NUM_WORKERS: 0` (GUI: number of workers), `DATA.TRAIN.IN_MEMORY: False` and `DATA.VAL.IN_MEMORY: False`. By default all images are kept in RAM."),
		},
		Titles:   map[string]string{"lower_num_workers": "Use no workers, and do not keep the images in RAM", "lower_resolution": "Use smaller patches"},
		Remedies: parts.PlainVision, Like: []*program.Program{&parts.Vision},
	}
	// YOLOX is Megvii's.
	YOLOX = program.Program{
		Name: "yolox", Shown: "YOLOX", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"YOLOX/tools/train.py": "--batch-size --fp16 --occupy --cache", "YOLOX/yolox/exp/yolox_base.py": "data_num_workers input_size multiscale_range"},
		Proofs:  []string{"yolox/core/", "yolox/models/", "yolox/exp/", "yolox/utils/", "yolox.core."},
		Steps: parts.Spelling{
			"lower_batch_size":  parts.Say("Halve `-b` in your tools/train.py command (it counts all GPUs together), and remove `-o`, which reserves 90 % of the GPU in advance."),
			"lower_resolution":  parts.Say("Append `input_size \"(416, 416)\"` (default 640) and `multiscale_range 0` to your command: otherwise the size changes from step to step."),
			"mixed_precision":   parts.Say("Add `--fp16`."),
			"lower_num_workers": parts.Say("Append `data_num_workers 1` to your command, and remove `--cache`, which keeps the images in RAM."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size (-b)"},
		Remedies: parts.PlainVision, Like: []*program.Program{&parts.Vision},
	}
	// BasicSR trains networks that enlarge or restore pictures: EDSR, SwinIR, HAT,
	// Restormer and NAFNet in their own copies.
	BasicSR = program.Program{
		Name: "basicsr", Shown: "BasicSR", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"BasicSR/options/train/EDSR/train_EDSR_Mx2.yml": "batch_size_per_gpu num_worker_per_gpu gt_size val_freq"},
		Proofs:  []string{"basicsr/train.py", "basicsr/models/", "basicsr/data/"},
		Steps: parts.Spelling{
			"lower_batch_size":  parts.Say("In the options file halve `batch_size_per_gpu`."),
			"lower_resolution":  parts.Say("In the options file halve `gt_size` (keep it a multiple of the scale): it takes a quarter of the memory. If it fails in validation, use smaller validation images, which are processed whole."),
			"lower_num_workers": parts.Say("In the options file: `num_worker_per_gpu: 1`, `prefetch_mode: ~`."),
		},
		Titles:   map[string]string{"lower_resolution": "Use smaller crops (gt_size)"},
		Remedies: parts.PlainVision, Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{parts.EvaluationCard("basicsr/validation", []string{"in nondist_validation", "in dist_validation", "basicsr/models/", "basicsr/test.py"},
			"Validation and test process each image as a whole, not the crops of training (`gt_size`). Memory grows with width x height, and some networks (SwinIR, HAT, Restormer) need far more than that.",
			"`batch_size_per_gpu` and `gt_size`: validation uses neither.", "BasicSR/options/train/EDSR/train_EDSR_Mx2.yml",
			cause.Cure{Fix: "lower_resolution", Title: "Validate on smaller images", Kind: "text", Text: "Crop the validation images (low and high resolution alike), or leave out the largest. A test of large images: cut them into overlapping tiles; SwinIR's main_test_swinir.py has `--tile 400`.", Cost: "Scores are on the crops."},
			cause.Cure{Fix: "restart_session", Title: "Or train without validation", Kind: "text", Text: "Set `val_freq` in the options file higher than `total_iter`, and test the saved networks afterwards.", Cost: "No scores in between."}, parts.FreeOthers,
			cause.Cure{Fix: "half_precision", Title: "Validate in 16 bit", Kind: "text", Text: "In `test` of the model's file put `with torch.autocast(\"cuda\"):` around `self.output = self.net_g(self.lq)`.", Cost: "Slightly other scores; some networks print black images."})},
	}
	// NeRFPyTorch is the first NeRF in PyTorch, of which many others are made.
	NeRFPyTorch = program.Program{
		Name: "nerf-pytorch", Shown: "nerf-pytorch", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"nerf-pytorch/run_nerf.py": "--N_rand --chunk --netchunk --N_samples --N_importance --half_res --factor --render_factor --render_only --i_video --i_testset --no_batching"},
		Proofs:  []string{"nerf-pytorch/", "run_nerf.py", "run_nerf_helpers.py"},
		Steps: parts.Spelling{
			"lower_batch_size": parts.Say("Training: lower `--N_rand` (rays per step), for example to 512. Rendering: `--chunk 4096 --netchunk 16384` (same result)."),
			"lower_resolution": parts.Say("`--N_samples 32 --N_importance 64` uses half as many points per ray as the usual 64 and 128. `--half_res` or a larger `--factor` makes the images smaller."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the rays and points at a time"},
		Remedies: parts.PlainVision, Like: []*program.Program{&parts.DataAside, &parts.Vision},
		Cards: []cause.Card{{
			ID: "nerf-pytorch/rays", Kinds: parts.Refused, Said: []string{"rays_rgb = torch.", "rays_rgb.to(", "images = torch.Tensor(images)"}, If: parts.Own, Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: parts.Filled,
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
			ID: "nerf-pytorch/render", Kinds: parts.Refused, Said: []string{"in render_path", "render_path("}, If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: parts.Filled,
			Headline: "ran out of memory while rendering a whole image, not in a training step",
			Means:    "It renders an image in chunks of `--chunk` rays (default 32,768) and `--netchunk` points (default 65,536), beside what training keeps on the GPU.",
			Not:      "`--N_rand`: it only affects training steps.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Render in smaller chunks (--chunk, --netchunk)", Cost: "slower; same images", Told: "Add `--chunk 4096 --netchunk 16384` to your command, or 1024 and 4096 if that fails. It continues from the last checkpoint."},
				{Fix: "lower_parallel", Title: "Or render only after training", Cost: "no images in between", Told: "Train with `--i_video 1000000 --i_testset 1000000`, then render with `--render_only`."},
				parts.FreeOthers, {Fix: "lower_resolution", Title: "Or render at half the size", Cost: "detail", Told: "`--render_factor 2` (with `--render_only`), `--half_res` (Blender scenes) or a larger `--factor` (LLFF)."},
			},
			Sources: []string{"nerf-pytorch/run_nerf.py"},
		}, parts.StepCard("nerf-pytorch/step", []string{"run_nerf.py", "run_nerf_helpers.py"},
			"A step computes `--N_rand` rays (default 4,096) with `--N_samples` plus `--N_importance` points each, and keeps every layer's output for the backward pass.", "`--chunk`: training keeps the activations of all chunks.", "nerf-pytorch/run_nerf.py",
			cause.Cure{Fix: "lower_batch_size", Title: "Use fewer rays per step (--N_rand)", Cost: "noisier steps", Steps: func(c *ledger.Case) []step.Step {
				n := parts.HalfOf(c, 1024, "N_rand")
				return parts.Say("`--N_rand " + n + "` in your command, or `N_rand = " + n + "` in the config file; then half of that. Half the rays take half the memory.")(c)
			}},
			parts.FreeOthers, cause.Cure{Fix: "lower_resolution", Title: "Or use fewer points per ray", Cost: "detail", Told: "`--N_samples 32 --N_importance 64` takes about half of 64 and 128."})},
	}
	// OpenCLIP is open_clip's training script.
	OpenCLIP = program.Program{
		Name: "open-clip", Shown: "open_clip", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"open_clip/src/open_clip_train/params.py": "--batch-size --accum-freq --grad-checkpointing --precision --workers --local-loss --gather-with-grad"},
		Proofs:  []string{"open_clip_train", "open_clip/src/training/", "-m training.main"},
		Steps: parts.Spelling{
			"lower_batch_size":       parts.Say("Halve `--batch-size` and add `--accum-freq 2`: the loss then still sees as many pairs."),
			"gradient_checkpointing": parts.Say("Add `--grad-checkpointing`. On several GPUs also add `--local-loss --gather-with-grad`, so that no GPU holds the matrix of all pairs."),
			"mixed_precision":        parts.Say("Add `--precision amp_bf16` (`amp` before RTX 30)."),
			"lower_num_workers":      parts.Say("Add `--workers 2`."),
		},
		Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{{
			ID: "open-clip/metrics", Kinds: parts.Refused, Said: []string{"get_clip_metrics"}, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "ran out of memory in the evaluation: it compares all validation images with all texts", Figures: parts.Filled,
			Means: "The features of the whole validation set are compared at once: samples x samples x 4 bytes. 50,000 samples take 9.3 GiB.",
			Not:   "`--batch-size`, `--grad-checkpointing`: the matrix stays as large.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Evaluate fewer samples (--val-num-samples)", Kind: "text", Text: "Give `--val-data` a subset of about 10,000 pairs (webdataset: `--val-num-samples 10000`).", Cost: "slightly other scores"},
				{Fix: "restart_session", Title: "Or evaluate less often", Kind: "text", Text: "`--val-frequency 0` turns it off; evaluate the checkpoints afterwards, for example by `--imagenet-val`.", Cost: "no scores in between"},
				{Fix: "cpu_offload", Title: "Or compare on the CPU", Kind: "text", Text: "In `get_clip_metrics` of train.py move both features there first: `image_features.cpu()`, `text_features.cpu()`.", Cost: "slower; RAM for the matrix"},
			},
			Sources: []string{"open_clip/src/open_clip_train/train.py", "open_clip/src/open_clip_train/params.py"},
		}},
	}
	// GuidedDiffusion is OpenAI's, with improved-diffusion before it.
	GuidedDiffusion = program.Program{
		Name: "guided-diffusion", Shown: "guided-diffusion", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"guided-diffusion/scripts/image_train.py": "--batch_size --microbatch --use_fp16", "guided-diffusion/guided_diffusion/script_util.py": "--use_checkpoint --image_size --num_channels --attention_resolutions"},
		Proofs:  []string{"guided_diffusion/", "improved_diffusion/", "guided-diffusion/"},
		Steps: parts.Spelling{
			"lower_batch_size":       parts.Say("Training: add `--microbatch 1`, which processes the batch in parts with the same result. Sampling: `--batch_size 1`."),
			"gradient_checkpointing": parts.Say("Add `--use_checkpoint True`."),
			"mixed_precision":        parts.Say("Add `--use_fp16 True`."),
			"lower_resolution":       parts.Say("`--image_size 128`, or attention at fewer resolutions (`--attention_resolutions 16`). Both need training from scratch."),
		},
		Titles: map[string]string{"lower_batch_size": "Process the batch in parts (--microbatch)"},
		Like:   []*program.Program{&parts.Vision},
		Cards: []cause.Card{parts.EvaluationCard("guided-diffusion/sample", []string{"image_sample.py", "classifier_sample.py", "super_res_sample.py", "in p_sample_loop", "in ddim_sample_loop"},
			"Sampling runs `--batch_size` images (default 16) through the network at once. A classifier for guidance comes on top, with gradients.",
			"`--microbatch`, `--use_checkpoint`: they are about training.", "guided-diffusion/scripts/image_sample.py",
			cause.Cure{Fix: "lower_batch_size", If: when.Not(parts.One("batch_size")), Title: "Sample fewer images at once (--batch_size)", Steps: func(c *ledger.Case) []step.Step {
				return parts.Say("Set `--batch_size " + parts.HalfOf(c, 4, "batch_size") + "`, down to 1. `--num_samples` decides how many images you get.")(c)
			}, Cost: "slower; as many images"},
			cause.Cure{Fix: "half_precision", If: when.Not(parts.Shows("use_fp16 True")), Title: "Run the network in 16 bit", Kind: "text", Text: "Add `--use_fp16 True` (a classifier: `--classifier_use_fp16 True`).", Cost: "hardly any quality"},
			cause.Cure{Fix: "use_smaller_model", Title: "Use a checkpoint of a lower resolution", Kind: "text", Text: "256x256_diffusion.pt instead of 512, with the flags that the README lists for it.", Cost: "smaller images"}, parts.FreeOthers)},
	}
	// CycleGAN is pytorch-CycleGAN-and-pix2pix and what is made from it.
	CycleGAN = program.Program{
		Name: "cyclegan", Shown: "CycleGAN and pix2pix", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"pytorch-CycleGAN-and-pix2pix/options/base_options.py": "--batch_size --crop_size --load_size --preprocess --num_threads --netG"},
		Proofs:  []string{"CycleGAN-and-pix2pix", "cycle_gan_model.py", "pix2pix_model.py"},
		Steps: parts.Spelling{
			"lower_batch_size":  ganBatch,
			"lower_resolution":  ganSize,
			"use_smaller_model": parts.Say("Use `--netG resnet_6blocks` or `--netG unet_128`, if the task allows."),
			"lower_num_workers": parts.Say("Add `--num_threads 1`."),
		},
		Remedies: parts.PlainVision, Like: []*program.Program{&parts.Vision},
		Cards: []cause.Card{parts.EvaluationCard("cyclegan/test", []string{"test_model.py", "test.py", "CycleGAN-and-pix2pix/models/base_model.py", "loadSize", "fineSize"},
			"A test passes one whole image through the generator, at `--load_size` (older versions: `--loadSize`), or at its own size with `--preprocess none`. Memory grows with width x height.",
			"`--batch_size`: test.py sets it to 1.", "pytorch-CycleGAN-and-pix2pix/options/base_options.py",
			cause.Cure{Fix: "lower_resolution", Title: "Test on smaller images", Steps: ganSize, Cost: "less detail"},
			cause.Cure{Fix: "cpu_offload", Title: "Or test on the CPU", Kind: "text", Text: "Add `--gpu_ids -1`.", Cost: "slower"},
			cause.Cure{Fix: "stream_dataset", Title: "Or cut large images into overlapping tiles", Kind: "text", Text: "Tiles of 512 to 1024 pixels; join the results.", Cost: "visible seams are possible"}, parts.FreeOthers)},
	}
	// SlowFast is PySlowFast, with its forks for video.
	SlowFast = program.Program{
		Name: "slowfast", Shown: "PySlowFast", Work: "vision", Edits: "flags", Language: "python",
		Sources: program.Sources{"SlowFast/slowfast/config/defaults.py": "TRAIN TEST BATCH_SIZE DATA_LOADER NUM_WORKERS DATA NUM_FRAMES TRAIN_CROP_SIZE TEST_CROP_SIZE MIXED_PRECISION NUM_GPUS"},
		Proofs:  []string{"slowfast/models/", "slowfast/utils/", "slowfast/datasets/", "tools/run_net.py"},
		Steps: parts.Spelling{
			"lower_batch_size":  parts.InUse(parts.Say("Append half of your `TEST.BATCH_SIZE` to your command (it counts all GPUs together and must be divisible by NUM_GPUS)."), parts.Say("Append half of your `TRAIN.BATCH_SIZE` and `TEST.BATCH_SIZE` to your command (they count all GPUs together and must be divisible by NUM_GPUS). Lower the learning rate by the same factor.")),
			"lower_resolution":  parts.InUse(parts.Say("Append `DATA.TEST_CROP_SIZE 224` to your command (default 256), or less. `DATA.NUM_FRAMES` must stay that of training."), parts.Say("Halve `DATA.NUM_FRAMES`, which halves the memory, or lower `DATA.TRAIN_CROP_SIZE`, for example from 224 to 192.")),
			"mixed_precision":   parts.Say("Append `TRAIN.MIXED_PRECISION True` to your command."),
			"lower_num_workers": parts.Say("Append `DATA_LOADER.NUM_WORKERS 0` to your command: each worker decodes whole videos."),
		},
		Titles:   map[string]string{"lower_resolution": "Use fewer frames or smaller crops"},
		Remedies: parts.PlainVision, Like: []*program.Program{&parts.Vision},
	}
)

// ganBatch is half of the batch that the options show; the default is 1.
func ganBatch(c *ledger.Case) []step.Step {
	name := "--batch_size"
	if c.Near("fineSize", "loadSize") {
		name = "--batchSize"
	}
	return parts.Say("Set `" + name + " " + parts.HalfOf(c, 1, "batch_size", "batchSize") + "` (the default is 1).")(c)
}

// ganSize is a smaller image in the names of the version that ran.
func ganSize(c *ledger.Case) []step.Step {
	old, n := c.Near("fineSize", "loadSize"), parts.HalfOf(c, 256, "crop_size", "fineSize", fact.OptionSize)
	switch {
	case cures.Evaluating(c) && old:
		return parts.Say("Add `--resize_or_crop scale_width --loadSize 512`, or less.")(c)
	case cures.Evaluating(c):
		return parts.Say("Add `--preprocess scale_width --load_size 512` (a multiple of 4), or less.")(c)
	case old:
		return parts.Say("Train on smaller crops: `--fineSize " + n + "` with the `--loadSize` that you have, and `--resize_or_crop resize_and_crop`, the default.")(c)
	}
	return parts.Say("Train on smaller crops: `--crop_size " + n + "` with the `--load_size` that you have. Wide images: also `--preprocess scale_width_and_crop`.")(c)
}
