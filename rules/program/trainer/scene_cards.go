package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var splatCards = []cause.Card{
	{
		ID: "gaussian-splatting/pictures", Kinds: refused, Said: []string{"in loadCam", "cameraList_from_camInfos", "scene/cameras.py", "utils/camera_utils.py"},
		Cause: cause.BatchTooLarge, Weight: 0.93,
		Means: "It failed while the training pictures were being loaded: all of them lie on the card in 32 bit, about 20 MB each at 1600 x 1060. No Gaussian was trained yet.",
		Not:   "--densify_grad_threshold: it counts once training runs.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload"},
			{Fix: "lower_resolution"},
			{Fix: "lower_batch_size", Title: "Use fewer pictures", Kind: "text", Text: "Leave out blurred and nearly identical ones, or split a large scene into parts.", Cost: "Gaps where pictures are missing."},
		},
		Sources: []string{"gaussian-splatting/README.md", "https://github.com/graphdeco-inria/gaussian-splatting/issues/1009", "https://github.com/graphdeco-inria/gaussian-splatting/issues/676", "https://github.com/hbb1/2d-gaussian-splatting/issues/97"},
	},
	{
		ID: "gaussian-splatting/raster-absurd", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"rasterize_gaussians", "_RasterizeGaussians"},
		If:    func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" },
		Cause: cause.OversizedAllocation, Weight: 0.7,
		Means: "The rasteriser asked for {asked}, more than the card has: Gaussians of a size or position that covers the whole picture, or numbers that are no longer valid. The count of Gaussians does not explain it.",
		Not:   "Keeping the pictures in system memory: they are not what was asked for.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Look at scales, poses and the point cloud", Kind: "text", Text: "Check the camera poses and the scale of the point cloud (metres against millimetres), and print the largest of `gaussians.get_scaling` before the failing step; NaN there means that training diverged.", Cost: "An hour of looking."},
			{Fix: "upgrade_version", Title: "Build the rasteriser for your card and CUDA", Kind: "shell", Text: "pip install --force-reinstall --no-build-isolation submodules/diff-gaussian-rasterization", Cost: "Some minutes."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"https://github.com/hbb1/2d-gaussian-splatting/issues/97", "https://github.com/waczjoan/gaussian-mesh-splatting/issues/35"},
	},
	{
		ID: "gaussian-splatting/growth", Kinds: refused, Said: []string{"densify_and_prune", "densify_and_split", "densify_and_clone", "densification_postfix", "cat_tensors_to_optimizer", "rasterize_gaussians", "gaussian_renderer/"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "The number of Gaussians grows until --densify_until_iter, and memory with it: about 1 KB each with gradients and Adam, and more while the rasteriser sorts them. It dies thousands of steps into training.",
		Not:   "Starting again at the same settings: the same scene grows to the same size.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "cpu_offload"},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"gaussian-splatting/README.md", "https://github.com/hbb1/2d-gaussian-splatting/issues/40"},
	},
}

var nerfCards = []cause.Card{
	{
		ID: "nerfstudio/cached-pictures", Kinds: refused, Said: []string{"full_images_datamanager.py", "_load_images", "in cache_images", "_undistort"},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "splatfacto keeps all training pictures on the card, in 32 bit: width x height x 12 bytes each. From 500 pictures on it changes to system memory by itself.",
		Not:     "Fewer rays: splatfacto has none.",
		Cures:   []cause.Cure{{Fix: "cpu_offload"}, {Fix: "lower_resolution"}},
		Sources: []string{"nerfstudio/nerfstudio/data/datamanagers/full_images_datamanager.py"},
	},
	{
		ID: "nerfstudio/render", Kinds: refused, Said: []string{"get_outputs_for_camera", "get_average_eval_image_metrics", "ns-render", "get_outputs_for_camera_ray_bundle", "get_eval_image_metrics"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means: "It failed while a whole picture was being rendered, for evaluation, the viewer or a video, not in a training step. Rays are worked off in chunks whose size is a setting.",
		Not:   "train-num-rays-per-batch: rendering does not read it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Smaller chunks of rays", Kind: "text", Text: "Add `--pipeline.model.eval-num-rays-per-chunk 4096`; a splat instead: render at a lower resolution.", Cost: "Slower."},
			{Fix: "lower_resolution", Title: "Evaluate later, or smaller", Kind: "text", Text: "Training with the viewer: lower its Max Res. Without evaluation: `--steps-per-eval-all-images 1000000`.", Cost: "No metrics in between."},
		},
		Sources: []string{"nerfstudio/nerfstudio/models/base_model.py"},
	},
	stepCard("nerfstudio/step", []string{"nerfstudio/engine/trainer.py", "nerfstudio/models/", "nerfstudio/pipelines/"},
		"A training step did not fit. nerfacto: rays times samples decide. splatfacto: the number of Gaussians grows until stop-split-at, so that it dies thousands of steps into training.",
		"A smaller number of steps alone, with splatfacto: most growth is early.", "nerfstudio/nerfstudio/models/splatfacto.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "cpu_offload"}, cause.Cure{Fix: "lower_resolution"}),
}

var ganCards = []cause.Card{
	stepCard("stylegan/step", []string{"training/training_loop.py", "training/networks_stylegan", "training/loss.py"},
		"A training step did not fit. --batch is divided by the cards, and all of that share goes through at once unless --batch-gpu says less. The regularisation steps need more than the others.",
		"--workers and --metrics: they do not count in a step.", "stylegan3/train.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "use_smaller_model"}, cause.Cure{Fix: "lower_resolution"}),
}

var fastaiCards = []cause.Card{
	stepCard("fastai/step", []string{"fastai/learner.py", "fastai/callback/"},
		"A training step did not fit; after unfreeze() it needs more than before. In a notebook the failed cell keeps its tensors, so that smaller batches then fail as well until the kernel is restarted.",
		"`torch.cuda.empty_cache()` in the next cell: the traceback still holds the tensors.", "fastai/fastai/callback/fp16.py",
		cause.Cure{Fix: "restart_session", Title: "Restart the kernel, then a smaller bs", Kind: "python", Text: "dls = ImageDataLoaders.from_folder(path, bs=16, item_tfms=Resize(224))   # bs: default 64", Cost: "The session is lost; slower."},
		cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_resolution"}),
}
