package scenes

import (
	"strconv"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// GaussianSplatting is graphdeco's repository and those made from it.
var GaussianSplatting = program.Program{
	Name: "gaussian-splatting", Shown: "Gaussian Splatting",
	Work: "rendering", Edits: "flags", Language: "python",
	Sources: program.Sources{"gaussian-splatting/README.md": "--data_device --resolution --densify_grad_threshold --densify_until_iter --densification_interval --test_iterations --images"},
	Proofs:  []string{"diff_gaussian_rasterization", "_C.rasterize_gaussians(", "gaussian_renderer/", "scene/gaussian_model.py", "Loading Training Cameras", "gaussian-splatting/"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: splatWork, cause.TrainingStateTooLarge: splatWork, cause.OversizedAllocation: splatWork,
		cause.ModelTooLarge: splatWork, cause.RetainedMemory: splatWork,
	},
	Steps: parts.Spelling{
		"cpu_offload": parts.Told("Each image then goes to the GPU only when it is used.", parts.Typed("train.py", step.Change{Flag: "--data_device", Value: "cpu"})),
		"lower_resolution": func(c *ledger.Case) []step.Step {
			if n := parts.Number(c, "-r", "--resolution"); n > 0 && n < 8 {
				return parts.Say("Set `-r " + strconv.Itoa(2*n) + "` (yours: " + strconv.Itoa(n) + "): a quarter of the memory for images.")(c)
			}
			return parts.Say("Add `-r 2`: half the width and height takes a quarter of the memory for images (`-r 4`: a sixteenth).")(c)
		},
		"use_smaller_model": fewerGaussians,
		"fix_shape":         step.Paste("python", "print(gaussians.get_scaling.max(), gaussians.get_xyz.isnan().any())   # before render(...): NaN or huge values"),
	},
	Titles: map[string]string{"cpu_offload": "Keep the images in system memory (--data_device cpu)", "lower_resolution": "Train on smaller images (-r 2)", "use_smaller_model": "Add fewer Gaussians (--densify_grad_threshold)"},
	Costs:  map[string]string{"cpu_offload": "Slightly slower; system memory for all images.", "lower_resolution": "Fine detail.", "use_smaller_model": "Fine detail; the file is smaller too."},
	Like:   []*program.Program{&parts.DataAside},
	Cards:  splatCards,
}

var splatWork = []cause.Remedy{
	{Fix: "cpu_offload", Fit: cause.Cures},
	{Fix: "use_smaller_model", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Helps},
	{Fix: "close_other_apps", Fit: cause.LastResort, If: when.Not(ledger.FillsCard)},
}

// Nerfstudio trains NeRFs and splats with ns-train.
var Nerfstudio = program.Program{
	Name: "nerfstudio", Shown: "Nerfstudio",
	Work: "rendering", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"nerfstudio/data/datamanagers/full_images_datamanager.py": "--pipeline.datamanager.cache-images --pipeline.datamanager.cache-images-type",
		"nerfstudio/data/datamanagers/base_datamanager.py":        "--pipeline.datamanager.train-num-rays-per-batch --pipeline",
		"nerfstudio/models/base_model.py":                         "--pipeline.model.eval-num-rays-per-chunk",
		"nerfstudio/data/dataparsers/nerfstudio_dataparser.py":    "--downscale-factor",
	},
	Proofs: []string{"nerfstudio/", "ns-train ", "ns-render ", "ns-eval "},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: nerfWork, cause.TrainingStateTooLarge: nerfWork, cause.OversizedAllocation: nerfWork, cause.ModelTooLarge: nerfWork,
	},
	Steps: parts.Spelling{
		"lower_batch_size": parts.Say("nerfacto: add `--pipeline.datamanager.train-num-rays-per-batch 2048` (default 4096); rendering or evaluating: `--pipeline.model.eval-num-rays-per-chunk 4096`. splatfacto: `--pipeline.model.stop-split-at 10000` lets fewer Gaussians grow."),
		"cpu_offload":      parts.Say("splatfacto: add `--pipeline.datamanager.cache-images cpu` (and `--pipeline.datamanager.cache-images-type uint8`)."),
		"lower_resolution": parts.Say("Add `nerfstudio-data --downscale-factor 2` at the end of ns-train."),
	},
	Titles: map[string]string{"lower_batch_size": "Lower the number of rays, or of Gaussians", "cpu_offload": "Keep the images in system memory", "lower_resolution": "Train on smaller images"},
	Costs:  map[string]string{"cpu_offload": "Slightly slower.", "lower_batch_size": "Slower, or less detail."},
	Like:   []*program.Program{&parts.DataAside},
	Cards:  nerfCards,
}

var nerfWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "cpu_offload", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Helps},
}

// StyleGAN is NVIDIA's StyleGAN 2 ADA and 3, and what copies their torch_utils.
var StyleGAN = program.Program{
	Name: "stylegan", Shown: "StyleGAN",
	Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{"stylegan3/train.py": "--batch --batch-gpu --cbase --cmax --gpus --workers --metrics --snap --mbstd-group", "stylegan3/dataset_tool.py": "--resolution", "stylegan2-ada-pytorch/dataset_tool.py": "--width --height"},
	Proofs:  []string{"dnnlib/util.py", "training/networks_stylegan", "torch_utils/ops/upfirdn2d", "torch_utils/ops/conv2d_", "stylegan3/", "stylegan2-ada-pytorch/"},
	Steps: parts.Spelling{
		"lower_batch_size":  batchGPU,
		"lower_resolution":  parts.Say("Recreate the data set at half the size: dataset_tool.py with `--resolution=512x512` for images of 1024 (StyleGAN2-ADA: `--width=512 --height=512`)."),
		"use_smaller_model": parts.Say("StyleGAN3: add `--cbase=16384` (default 32768), which halves the feature maps. StyleGAN2-ADA: set `spec.fmaps = 0.5` in its train.py (the default below 512 pixels)."),
		"lower_num_workers": parts.Say("Add `--workers=1`."),
	},
	Remedies: map[string][]cause.Remedy{cause.BatchTooLarge: ganWork, cause.TrainingStateTooLarge: ganWork, cause.ModelTooLarge: ganWork},
	Titles:   map[string]string{"lower_batch_size": "Limit the batch of each card (--batch-gpu)", "use_smaller_model": "Use fewer feature maps (--cbase)"},
	Costs:    map[string]string{"lower_batch_size": "Slower; below 4 also lower --mbstd-group.", "lower_resolution": "Detail in the results.", "use_smaller_model": "Some quality."},
	Like:     []*program.Program{&parts.Vision},
	Cards:    ganCards,
}

var ganWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "use_smaller_model", Fit: cause.Helps},
	{Fix: "lower_resolution", Fit: cause.MayHelp},
}

// Fastai is a library: code, mostly in notebooks.
var Fastai = program.Program{
	Name: "fastai", Shown: "fastai",
	Work: "vision", Edits: "code", Language: "python",
	Sources: program.Sources{"fastai/fastai/callback/training.py": "GradientAccumulation", "fastai/fastai/callback/fp16.py": "to_fp16"},
	Proofs:  []string{"-packages/fastai/", "fastai/callback/", "fastai/learner.py", "fastai/vision/"},
	Steps: parts.Spelling{
		"lower_batch_size":  step.Paste("python", "dls = ImageDataLoaders.from_folder(path, bs=16, item_tfms=Resize(224))   # bs: default 64\nlearn = vision_learner(dls, resnet34, cbs=GradientAccumulation(64))   # steps as with a batch of 64"),
		"lower_resolution":  step.Paste("python", "item_tfms = Resize(256)\nbatch_tfms = aug_transforms(size=160)"),
		"mixed_precision":   step.Paste("python", "learn = learn.to_fp16()"),
		"restart_session":   parts.Say("Restart the notebook kernel. After an out-of-memory error the traceback keeps tensors alive, so later cells can fail too."),
		"use_smaller_model": parts.Say("Use resnet18 or resnet34 instead of resnet50 and larger."),
	},
	Remedies: parts.PlainVision,
	Like:     []*program.Program{&parts.Vision},
	Cards:    fastaiCards,
}

// fewerGaussians raises the threshold above the reader's own.
func fewerGaussians(c *ledger.Case) []step.Step {
	threshold := "0.0004"
	if parts.Shows("densify_grad_threshold 0.0004", "densify_grad_threshold=0.0004", "densify_grad_threshold 0.0005", "densify_grad_threshold 0.0006")(c) {
		threshold = "0.0008"
	}
	return parts.Told("A higher threshold adds fewer Gaussians, and an earlier end stops their growth (defaults 0.0002 and 15000). `--test_iterations -1` skips test renders.", parts.Typed("train.py", step.Change{Flag: "--densify_grad_threshold", Value: threshold}, step.Change{Flag: "--densify_until_iter", Value: "10000"}, step.Change{Flag: "--test_iterations", Value: "-1"}))(c)
}

// batchGPU is half of the share that each GPU has.
func batchGPU(c *ledger.Case) []step.Step {
	return parts.Say("StyleGAN3: set `--batch-gpu=" + parts.HalfOf(c, 4, "--batch-gpu", "batch-gpu", "batch_gpu") + "`, then half of that. It accumulates gradients up to `--batch`, with the same result. StyleGAN2-ADA: halve `--batch`.")(c)
}
