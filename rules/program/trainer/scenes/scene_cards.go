package scenes

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// rebuilt compiles the extensions anew for the card that is there.
var rebuilt = cause.Cure{
	Fix: "upgrade_version", Title: "Rebuild the extensions for this card", Told: "Run it on the training machine, in the folder that has `submodules`, after deleting `build` in both submodules. Replace 8.6 by your GPU's number: 7.0 V100, 7.5 RTX 20 and T4, 8.0 A100, 8.6 RTX 30, 8.9 RTX 40, 9.0 H100, 12.0 RTX 50.",
	Kind: "shell", Text: "pip uninstall -y diff_gaussian_rasterization simple_knn\nexport TORCH_CUDA_ARCH_LIST=8.6   # Windows: set TORCH_CUDA_ARCH_LIST=8.6\npip install --no-build-isolation --no-cache-dir submodules/diff-gaussian-rasterization submodules/simple-knn", Cost: "Some minutes.",
}

// absurd is what was asked for, in a unit that can be read.
func absurd(c *ledger.Case) map[string]string {
	size := c.Asked.String()
	if n := ledger.Requested(c) >> 40; n >= 10 {
		size = ledger.Thousands(n) + " TiB"
	}
	return map[string]string{"size": size}
}

// grown says how many Gaussians fill what this program holds: 59 numbers each,
// with gradient and two moments of Adam.
func grown(c *ledger.Case) map[string]string {
	out := parts.Filled(c)
	out["millions"], out["now"], out["pieces"] = "", "", ""
	if n := c.Mine.Bytes / (59 * 16); c.Mine.Has() && n > 2_000_000 {
		out["millions"] = ledger.Thousands(n / 1_000_000)
	}
	if n := ledger.Requested(c) / (45 * 4); n > 300_000 && c.Near("densify_and_split", "densify_and_clone", "densify_and_prune") && ledger.NeverFits(c) == "" {
		// While Gaussians are added or pruned, the largest piece is their colour.
		out["millions"], out["now"] = "", fmt.Sprintf("%s would be the colour (45 values) of %.1f million Gaussians, which take %s in all.", c.Asked, float64(n)/1e6, units.Amount(n*59*16))
	}
	if unusedReserve(c) {
		out["pieces"] = fmt.Sprintf("%s of what PyTorch holds is unused but in pieces too small for %s: each densification creates all tensors again in another size.", c.Slack, c.Asked)
	}
	return out
}

// unusedReserve: the allocator's reserve would cover what was refused.
func unusedReserve(c *ledger.Case) bool {
	return c.Slack.Has() && c.Asked.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*12 > c.Total.Bytes
}

// counted says of how many Gaussians a refused tensor of two numbers each is.
func counted(c *ledger.Case) map[string]string {
	out := map[string]string{"million": ledger.Thousands(ledger.Requested(c) / 8_000_000), "points": ""}
	if x, ok := c.Fact("points"); ok && x.Count != nil {
		out["points"] = ledger.Thousands(int64(x.Count.Value))
	}
	return out
}

var fewerImages = cause.Cure{Fix: "lower_batch_size", Title: "Use fewer images", Kind: "text", Text: "Remove blurred and nearly identical images, or split a large scene into parts.", Cost: "Gaps where images are missing."}

var splatCards = []cause.Card{
	{
		ID: "gaussian-splatting/ram", Kinds: pictureRAM, Said: []string{"Loading Training Cameras", "Reading camera ", "scene/cameras.py", "utils/camera_utils.py", "scene/dataset_readers.py"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) while loading the images",
		Means: "All images are read into RAM before training. With `--data_device cpu` they also stay there in 32 bit: width x height x 12 bytes, 19 MiB each at 1600 x 1060.",
		Not:   "Fewer Gaussians: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Train on smaller images (-r)", Kind: "text", Text: "Add `-r 2` (a quarter of the memory), then `-r 4`. Images wider than 1600 pixels are scaled to 1600 by default, but read at full size: better scale the files themselves.", Cost: "Fine detail."},
			fewerImages, {Fix: "add_swap"},
			{Fix: "raise_memory_limit", Title: "Raise the limit of the container or VM", Kind: "text", Text: "Docker `--memory`, WSL `memory=` in .wslconfig, Slurm `--mem`.", Cost: "RAM for others"},
		},
		Sources: []string{"gaussian-splatting/utils/camera_utils.py", "gaussian-splatting/README.md"},
	},
	{
		ID: "gaussian-splatting/pictures", Kinds: parts.Refused, Said: []string{"in loadCam", "cameraList_from_camInfos", "scene/cameras.py", "utils/camera_utils.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while loading the images, before training began", Figures: parts.Filled,
		Means:   "By default all training images are loaded onto the GPU at the start, in 32 bit: width x height x 12 bytes. 500 images of 1600 x 1060 take 9.5 GiB.",
		Cures:   []cause.Cure{{Fix: "cpu_offload"}, {Fix: "lower_resolution"}, fewerImages},
		Sources: []string{"gaussian-splatting/README.md", "https://github.com/graphdeco-inria/gaussian-splatting/issues/1009", "https://github.com/graphdeco-inria/gaussian-splatting/issues/676", "https://github.com/hbb1/2d-gaussian-splatting/issues/97"},
	},
	{
		ID: "gaussian-splatting/raster-absurd", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"rasterize_gaussians", "_RasterizeGaussians", "diff_gaussian_rasterization/__init__.py", "diff_gaussian_rasterization"},
		If:    func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" || ledger.AbsurdSize(c) },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {size}: the rasteriser computed a nonsense size", Figures: absurd,
		Means: "The rasteriser sizes a buffer by a count that its own CUDA kernel computes, and that count is wrong. Usually the kernel did not run, because the extension was compiled for another GPU or CUDA version. Less often, camera poses are broken or Gaussians cover every tile.",
		Not:   "Smaller images or a bigger card: the size is not a real need.",
		Cures: []cause.Cure{
			rebuilt,
			{Fix: "fix_shape", Title: "If that does not help: check the inputs, run with --debug", Told: "NaN or huge values mean diverged training, wrong poses or a wrong unit. `--debug` of graphdeco's train.py (elsewhere `debug=True` in the rasteriser's settings) stops at the failing kernel.", Kind: "python", Text: "print(gaussians.get_scaling.max(), gaussians.get_xyz.isnan().any())   # before render(...)", Cost: "Slow with --debug."},
			{Fix: "restart_session", Title: "Compare the CUDA versions", Told: "`nvcc` must have the CUDA version that PyTorch was built with:", Kind: "shell", Text: "python -c \"import torch; print(torch.version.cuda, torch.cuda.get_device_capability())\"; nvcc --version | tail -2", Cost: "Free"},
		},
		Sources: []string{"https://github.com/ashawkey/diff-gaussian-rasterization/issues/27", "https://github.com/ingra14m/Deformable-3D-Gaussians/issues/57", "https://github.com/donydchen/mvsplat/issues/104", "https://github.com/hbb1/2d-gaussian-splatting/issues/97", "https://github.com/waczjoan/gaussian-mesh-splatting/issues/35", "gaussian-splatting/README.md"}, Solved: 2,
	},
	{
		ID: "gaussian-splatting/point-cloud", Kinds: parts.Refused, Said: []string{"create_from_pcd", "distCUDA2", "simple_knn"},
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "failed in simple-knn on the point cloud, before training began",
		Means: "simple-knn computes distances between the points of the cloud, which normally takes only a few MB of GPU memory. Usual reasons: the extension was built for another GPU or CUDA version, or the images loaded just before already fill the GPU.",
		Not:   "Fewer iterations, other densification settings: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See how full the GPU is when it fails", Told: "Nearly empty: rebuild the extensions. Full with your images: `--data_device cpu`, or `-r 2`. Full before you start: end old runs of yours.", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "Free"},
			rebuilt,
			{Fix: "lower_resolution"},
		},
		Sources: []string{"gaussian-splatting/scene/gaussian_model.py", "https://github.com/graphdeco-inria/gaussian-splatting/issues/99"}, Solved: 1,
	},
	{
		ID: "gaussian-splatting/statistics", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"add_densification_stats", "max_radii2D[", "xyz_gradient_accum"}, If: func(c *ledger.Case) bool { return ledger.Requested(c) >= units.GiB/2 }, Figures: counted,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for {asked} in a line that needs only a few numbers per Gaussian",
		Means: "That would be enough for {million} million Gaussians[[, and there are {points} points]]. So a mask or a count is wrong; the scene is not too large. Usually the rasteriser and the Python code have different versions, or the rasteriser was compiled for another GPU or CUDA version.",
		Not:   "Smaller images, `--data_device cpu` or a bigger card: the size is not a real need.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the mask before the failing call", Kind: "python", Text: "print(visibility_filter.dtype, visibility_filter.shape, visibility_filter.sum(), gaussians.get_xyz.shape)   # before the failing call", Told: "It should have one boolean per Gaussian. Indices, or a sum above their number, are wrong.", Cost: "A minute."},
			{Fix: rebuilt.Fix, Title: "Rebuild the extensions from the same checkout as the code", Told: "First `git submodule update --init --recursive`. " + rebuilt.Told, Kind: "shell", Text: rebuilt.Text, Cost: rebuilt.Cost},
		},
		Sources: []string{"gaussian-splatting/scene/gaussian_model.py", "gaussian-splatting/train.py", "https://github.com/graphdeco-inria/gaussian-splatting/issues/587"},
	},
	{
		ID: "gaussian-splatting/growth", Kinds: parts.Refused, Said: []string{"densify_and_prune", "densify_and_split", "densify_and_clone", "densification_postfix", "cat_tensors_to_optimizer", "rasterize_gaussians", "gaussian_renderer/"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory: too many Gaussians, or too large images", Figures: grown,
		Means: "[[{pieces} ]]Training adds Gaussians until `--densify_until_iter` (default: step 15,000). Each takes about 0.9 KiB with gradient and Adam state, and more while rendering.[[ {now}]][[ The memory in use would fit at most {millions} million Gaussians, less what the images take.]]",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", If: when.All(unusedReserve, reader.HasExpandableSegments), Title: "Turn on expandable_segments (against fragmentation)", Cost: "none"},
			{Fix: "max_split_size", If: when.All(unusedReserve, cures.SplitEra), Title: "Set max_split_size_mb (against fragmentation)", Cost: "sometimes slower", Steps: cures.SplitSize},
			{Fix: "use_smaller_model"},
			{Fix: "cpu_offload", If: when.Not(parts.Shows("--data_device cpu"))}, {Fix: "lower_resolution"},
		},
		Sources: []string{"gaussian-splatting/README.md", "gaussian-splatting/arguments/__init__.py", "gaussian-splatting/scene/gaussian_model.py", "https://github.com/hbb1/2d-gaussian-splatting/issues/40"},
	},
}

// pictureRAM are the ways in which RAM runs out while images are kept there.
var pictureRAM = append(append([]fact.Kind{}, parts.RAMGone...), fact.CommitLimit)

var nerfCards = []cause.Card{
	{
		ID: "nerfstudio/ram", Kinds: pictureRAM, Said: []string{"nerfstudio/data/", "nerfstudio_collate.py", "Loading data batch", "Caching all", "Caching / undistorting"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) while loading all training images",
		Means: "nerfacto and most methods stack all training images in RAM before the first step: width x height x 12 bytes each[[; {asked} is that stack]]. 1,000 images of 1920 x 1080 take 23 GiB, and twice that for a moment. splatfacto caches them one by one.",
		Not:   "Fewer rays, a larger GPU: the images are in system RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Load only some of the images at a time", Told: "It exchanges them after every 1,000 steps. Add to your ns-train command (nerfacto and other methods with rays):", Kind: "config", Text: "--pipeline.datamanager.train-num-images-to-sample-from 200 --pipeline.datamanager.train-num-times-to-repeat-images 1000", Cost: "Somewhat slower."},
			{Fix: "lower_resolution", Title: "Train on smaller images (--downscale-factor)", Kind: "text", Text: "Add `nerfstudio-data --downscale-factor 2` at the end of the command: a quarter of the memory; 4: a sixteenth.", Cost: "Fine detail."},
			fewerImages, {Fix: "add_swap"},
		},
		Sources: []string{"nerfstudio/nerfstudio/data/datamanagers/base_datamanager.py", "nerfstudio/nerfstudio/data/utils/dataloaders.py", "nerfstudio/nerfstudio/data/dataparsers/nerfstudio_dataparser.py"},
	},
	{
		ID: "nerfstudio/cached-pictures", Kinds: parts.Refused, Said: []string{"full_images_datamanager.py", "_load_images", "in cache_images", "_undistort"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while caching the training images", Figures: parts.Filled,
		Means:   "splatfacto keeps all training images on the GPU: 6 MB each at 1920 x 1080, and four times that with `cache-images-type` float32. Newer releases keep more than 500 images in RAM.",
		Not:     "Fewer rays: splatfacto has none.",
		Cures:   []cause.Cure{{Fix: "cpu_offload"}, {Fix: "lower_resolution"}, fewerImages},
		Sources: []string{"nerfstudio/nerfstudio/data/datamanagers/full_images_datamanager.py", "nerfstudio/nerfstudio/configs/method_configs.py"},
	},
	{
		ID: "nerfstudio/render", Kinds: parts.Refused, Said: []string{"get_outputs_for_camera", "get_average_eval_image_metrics", "ns-render", "get_outputs_for_camera_ray_bundle", "get_eval_image_metrics"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory while rendering a whole image, not in training",
		Means: "It failed while rendering for evaluation, the viewer or a video, not in a training step. NeRF models render rays in chunks, and the chunk size decides.",
		Not:   "`train-num-rays-per-batch`: it only affects training.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the rays per chunk (eval-num-rays-per-chunk)", Kind: "text", Text: "Add `--pipeline.model.eval-num-rays-per-chunk 4096`, then 2048. splatfacto has no chunks: render at a lower resolution.", Cost: "Slower."},
			{Fix: "lower_resolution", Title: "Lower the viewer's resolution, or skip evaluation", Kind: "text", Text: "Lower Max Res in the viewer. To skip evaluating all images: `--steps-per-eval-all-images 1000000`.", Cost: "No metrics in between."},
		},
		Sources: []string{"nerfstudio/nerfstudio/models/base_model.py"},
	},
	parts.StepCard("nerfstudio/step", []string{"nerfstudio/engine/trainer.py", "nerfstudio/models/", "nerfstudio/pipelines/"},
		"nerfacto: memory depends on rays x samples, from the first step on. splatfacto: the number of Gaussians grows until `stop-split-at`, and memory with it.",
		"", "nerfstudio/nerfstudio/models/splatfacto.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "cpu_offload", If: when.Not(cures.Through("nerfacto.py"))},
		cause.Cure{Fix: "lower_context", If: cures.Through("nerfacto.py"), Title: "Use fewer samples per ray", Kind: "text", Text: "Add `--pipeline.model.num-nerf-samples-per-ray 24` (default 48).", Cost: "Detail."},
		cause.Cure{Fix: "lower_resolution"}),
}

var ganCards = []cause.Card{
	parts.EvaluationCard("stylegan/metrics", []string{"metrics/metric_main.py", "metrics/metric_utils.py", "Evaluating metrics..."},
		"The metrics (FID by default) run at every snapshot, with the generator, a detector network and batches of 64 images, beside the training state.",
		"`--batch-gpu`: the metrics have their own batch.", "stylegan3/train.py",
		cause.Cure{Fix: "restart_session", Title: "Train without metrics (--metrics=none)", Kind: "text", Text: "Add `--metrics=none --resume=` with your last snapshot. Afterwards: `python calc_metrics.py --metrics=fid50k_full --network=SNAPSHOT.pkl --data=DATA.zip` (your own files).", Cost: "No scores in between."},
		cause.Cure{Fix: "lower_batch_size", Title: "Or use smaller batches in the metrics", Kind: "text", Text: "In metrics/metric_utils.py lower `batch_size=64` of the `compute_feature_stats` functions to 16.", Cost: "Slower metrics; same scores."}, parts.FreeOthers),
	parts.StepCard("stylegan/step", []string{"training/training_loop.py", "training/networks_stylegan", "training/loss.py"},
		"`--batch` is split over the GPUs, and each share is processed at once unless `--batch-gpu` (StyleGAN3) is lower. The regularisation steps need more than the others.",
		"`--workers`: they use system RAM.", "stylegan3/train.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "use_smaller_model"}, cause.Cure{Fix: "lower_resolution"}),
}

var fastaiCards = []cause.Card{
	parts.EvaluationCard("fastai/predict", []string{"in get_preds", "_do_epoch_validate", "in validate", "in predict"},
		"It failed in validation or prediction, which fastai runs without gradients. The validation batch is as large as in training by default (`val_bs`), a test loader takes its size too. `get_preds` keeps the predictions on the CPU.",
		"`torch.no_grad()`: fastai uses it here already.", "fastai/fastai/learner.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Use a smaller batch for validation and tests", Told: "With your own files; where you make the DataLoaders, `val_bs=8` does it for validation.", Kind: "python", Text: "test_dl = learn.dls.test_dl(files, bs=8)\npreds, _ = learn.get_preds(dl=test_dl)", Cost: "slower"},
		cause.Cure{Fix: "restart_session", Title: "Restart the kernel, and load the model alone", Told: "Training keeps the optimizer's state. Call `learn.export()` first, then in a fresh kernel:", Kind: "python", Text: "learn = load_learner(\"export.pkl\", cpu=False)", Cost: "The kernel's variables are lost."},
		cause.Cure{Fix: "lower_resolution"}, parts.FreeOthers),
	parts.StepCard("fastai/step", []string{"fastai/learner.py", "fastai/callback/"},
		"Memory grows with the batch size (`bs`, default 64), the square of the image size, and after `unfreeze()`. In a notebook the failed cell keeps its tensors, so smaller batches can fail too until you restart the kernel.",
		"`torch.cuda.empty_cache()` in the next cell: the error still holds the tensors.", "fastai/fastai/callback/fp16.py",
		cause.Cure{Fix: "restart_session", Title: "Lower the batch size (bs); in a notebook restart the kernel first", Kind: "python", Text: "dls = ImageDataLoaders.from_folder(path, bs=16, item_tfms=Resize(224))   # bs: default 64", Cost: "The kernel's variables are lost; slower."},
		cause.Cure{Fix: "mixed_precision"}, cause.Cure{Fix: "lower_resolution"}),
}
