package trainer

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

var nnunetCards = []cause.Card{
	{
		ID: "nnunetv2/workers", Kinds: parts.RAMGone, Said: []string{"Background workers died", "background workers are no longer alive", "background worker is 6 feet under", "nnunetv2/inference/data_iterators.py", "nnunetv2/preprocessing/", "nnUNetv2_plan_and_preprocess", "export_prediction"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "lost a background worker: most likely system memory (RAM) ran out",
		Means: "nnU-Net's background workers hold whole cases in RAM, in prediction also the scores of every class at full size. 100 classes x 100 million voxels take 37 GiB. When RAM is full, the system kills a worker, and the main process only sees that it is gone.",
		Not:   "A smaller `-gpu_memory_target`: it is about GPU memory.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use fewer workers", Kind: "text", Text: "Predicting: add `-npp 1 -nps 1` to `nnUNetv2_predict`. Preprocessing: add `-np 2`. Training: run `export nnUNet_n_proc_DA=4` first.", Cost: "Slower."},
			{Fix: "add_swap"},
			{Fix: "raise_memory_limit", Title: "Raise the memory limit of the container or job", Kind: "text", Text: "Docker: a higher `--memory`, and `--shm-size=16g` or `--ipc=host`. Slurm: a higher `--mem`.", Cost: "Less for others."},
		},
		Sources: []string{"nnUNet/nnunetv2/inference/data_iterators.py", "nnUNet/nnunetv2/utilities/default_n_proc_DA.py", "https://github.com/MIC-DKFZ/nnUNet/issues/1572"}, Solved: 1,
	},
	{
		ID: "nnunetv2/predict", Kinds: parts.Refused, Said: []string{"predict_sliding_window_return_logits", "_internal_maybe_mirror_and_predict", "predict_logits_from_preprocessed_data", "nnUNetv2_predict", "Moving results arrays to CPU"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory while predicting a case", Figures: scores(2),
		Means: "By default nnU-Net keeps the scores of ALL classes for the whole case on the GPU: classes x voxels x 2 bytes[[ ({asked} would be {values} million scores)]]. Many classes or a large case at fine spacing are enough. Newer releases retry with the scores in RAM.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep the scores in system RAM (--not_on_device)", Kind: "text", Text: "Add `--not_on_device` to `nnUNetv2_predict`; in Python use `nnUNetPredictor(perform_everything_on_device=False)`.", Cost: "Slower; same result."},
			lookFirst,
			{Fix: "lower_num_workers", Title: "If RAM runs out then: use fewer processes", Kind: "text", Text: "Add `-npp 1 -nps 1`. By default three processes prepare and three save cases at the same time.", Cost: "Slower."},
		},
		Sources: []string{"nnUNet/nnunetv2/inference/predict_from_raw_data.py"},
	},
	parts.StepCard("nnunetv2/step", []string{"nnUNetTrainer.py", "run_training.py", "nnUNetv2_train", "ResEncUNetL", "ResEncUNetXL"},
		"nnU-Net plans batch and patch size for a GPU of about 8 GB, whatever GPU you have (ResEnc presets: M 9 to 11 GB, L 24, XL 40). A smaller GPU, a larger preset, or another program on the GPU is enough to make it fail.",
		"Looking for a batch size option: there is none; the plans file decides.", "nnUNet/documentation/resenc_presets.md",
		cause.Cure{Fix: "use_smaller_model", If: cures.Near("ResEncUNetL", "ResEncUNetXL"), Title: "Train the next smaller ResEnc preset", Told: "With your own dataset number and fold; XL to L likewise:", Kind: "shell", Text: "nnUNetv2_plan_experiment -d 1 -pl nnUNetPlannerResEncM\nnnUNetv2_preprocess -d 1 -plans_name nnUNetResEncUNetMPlans -c 3d_fullres\nnnUNetv2_train 1 3d_fullres 0 -p nnUNetResEncUNetMPlans", Cost: "Slightly lower scores."},
		lookFirst, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}),
}

// scores says how many values a refused tensor of scores has, with so many
// bytes each.
func scores(bytes int64) func(c *ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := parts.Filled(c)
		out["values"], out["thrice"], out["unused"] = "", "", ""
		if n := ledger.Requested(c) / bytes; n >= 1_000_000 && !ledger.AbsurdSize(c) {
			out["values"] = ledger.Thousands(n / 1_000_000)
			if c.Near("count_map = torch.zeros(output_shape") {
				out["thrice"] = units.Amount(3 * ledger.Requested(c))
			}
		}
		if c.Slack.Has() && c.Slack.Bytes > units.GiB/2 {
			out["unused"] = c.Slack.String()
		}
		return out
	}
}

// lookFirst is the cure that costs nothing: see who holds the card.
var lookFirst = cause.Cure{
	Fix: "kill_stale_process", Title: "See what else uses the GPU, and end what is yours", If: when.Not(ledger.FillsAlone), Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}

var nnunetV1Cards = []cause.Card{
	{
		ID: "nnunet/predict-ram", Kinds: parts.RAMGone, Said: []string{"nnunet/inference/", "in predict_cases", "in predict_from_folder", "nnunet/network_architecture/neural_network.py", "in save_segmentation_nifti_from_softmax", "in resample_data_or_seg"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) while predicting a volume",
		Means: "A prediction holds the scores of every class for the whole resampled volume in 32 bit, at times twice. 3 classes x 600 million voxels take 7 GiB. By default six processes also prepare the next cases and two save the last ones.",
		Not:   "A smaller patch: the scores of the whole volume are in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Prepare and save with one process each", Told: "Add to `nnUNet_predict` (the defaults are 6 and 2):", Kind: "config", Text: "--num_threads_preprocessing 1 --num_threads_nifti_save 1", Cost: "Slower; same result."},
			{Fix: "raise_memory_limit", Title: "Check whether RAM or a limit ran out", Told: "If little RAM is available while it runs, add RAM or swap, or end other large programs. If much is available, raise the limit of the shell, container or job.", Kind: "shell", Text: "free -h; ulimit -v; ps aux --sort=-rss | head -5", Cost: "Free to look."},
			{Fix: "lower_resolution", Title: "Predict a smaller volume", Told: "Crop to the region of interest before predicting, or predict with `3d_lowres`.", Cost: "The rest is not segmented; or less detail."},
			{Fix: "add_swap"},
		},
		Sources: []string{"nnUNet/nnunet/inference/predict_simple.py", "https://github.com/MIC-DKFZ/nnUNet/issues/178"},
	},
	parts.StepCard("nnunet/step", []string{"network_trainer.py", "nnUNetTrainerV2", "nnunet/training/"},
		"nnU-Net version 1 plans its networks for a GPU of about 11 GB, whatever GPU you have; most data sets need about 8 GB free. A smaller GPU, or a desktop on the same one, is enough to make it fail.",
		"Looking for a batch size option: version 1 has none; the plans file decides.", "https://github.com/MIC-DKFZ/nnUNet/issues/122",
		lookFirst, cause.Cure{Fix: "lower_batch_size"},
		cause.Cure{Fix: "lower_resolution", Title: "Train a smaller configuration", Told: "`3d_lowres` or `2d` instead of `3d_fullres`.", Cost: "Detail."},
		cause.Cure{Fix: "half_precision", Title: "Train in 16 bit", Told: "Later releases do it automatically with PyTorch 1.6 or newer: remove `--fp32`. Early ones need `--fp16` in run_training.py and NVIDIA's apex.", Cost: "Usually faster."}),
}

var monaiCards = []cause.Card{
	{
		ID: "monai/stitch", Kinds: parts.Refused, Said: []string{"sliding_window_inference", "monai/inferers/", "output_image_list", "count_map", "count_map = torch.zeros(output_shape"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory in the sliding-window inference of one volume", Figures: scores(4),
		Means: "By default `sliding_window_inference` keeps the scores of the whole volume on the GPU: classes x voxels x 4 bytes[[ ({asked} would be {values} million values)]].[[ This MONAI version adds two more tensors of that size: {thrice} in all.]] So it fails at a large volume although training patches fit. If the traceback ends inside the network, lower `sw_batch_size` instead.",
		Not:   "A smaller training batch: the scores of the volume stay as large.",
		Later: "Print `image.shape` for each case to find the volume that is too large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Assemble the result in system RAM (device=\"cpu\")", Told: "Add the last two arguments to your call (or to its `partial(...)`), and leave the image on the CPU.", Kind: "python", Text: "pred = sliding_window_inference(image, roi_size, sw_batch_size, model,\n                                sw_device=\"cuda\", device=\"cpu\")\nlabel = label.cpu()   # before the metric", Cost: "A little slower; same result."},
			{Fix: "upgrade_version", Title: "Update MONAI", If: func(c *ledger.Case) bool { return c.Near("count_map = torch.zeros(output_shape") }, Told: "Newer releases need about a third of the memory here.", Kind: "shell", Text: "pip install --upgrade monai", Cost: "Some transforms were renamed."},
			{Fix: "inference_mode", Title: "Validate without gradients, one window at a time", Told: "`torch.cuda.empty_cache()` frees what training left unused[[ (up to {unused} here)]]:", Kind: "python", Text: "model.eval()\ntorch.cuda.empty_cache()\nwith torch.no_grad(), torch.autocast(\"cuda\"):\n    pred = sliding_window_inference(image, roi_size, 1, model)   # your call, one window at a time", Cost: "None."},
			{Fix: "lower_resolution", Title: "Make the volume smaller", Kind: "text", Text: "Add `CropForegroundd` to the validation transforms: it removes the air around a body. Or use a coarser `Spacingd`.", Cost: "Detail, with coarser spacing."},
		},
		Sources: []string{"MONAI/monai/inferers/utils.py", "https://github.com/ljwztc/CLIP-Driven-Universal-Model/issues/55", "https://github.com/Project-MONAI/MONAI/issues/6427", "https://github.com/Project-MONAI/research-contributions/issues/22"}, Solved: 1,
	},
	{
		ID: "monai/cache", Kinds: parts.RAMGone, Said: []string{"CacheDataset", "monai/data/dataset.py", "Loading dataset:", "SmartCacheDataset"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled system memory (RAM) with cached cases",
		Means: "`CacheDataset` keeps every transformed case in system RAM in 32 bit: 512 x 512 x 300 voxels take 300 MiB, with the label 600. Multiply that by the number of cases, and by the number of GPU processes.",
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Cache on disk (PersistentDataset)", Kind: "python", Text: "train_ds = PersistentDataset(data=files, transform=transforms, cache_dir=\"cache\")   # in place of CacheDataset", Cost: "Disk space; somewhat slower."},
			{Fix: "lower_num_workers", Title: "Cache only a part (cache_rate)", Kind: "python", Text: "train_ds = CacheDataset(data=files, transform=transforms, cache_rate=0.25, num_workers=2)", Cost: "The rest is loaded again in each epoch."},
		},
		Sources: []string{"MONAI/monai/data/dataset.py"},
	},
	parts.StepCard("monai/step", []string{"monai/networks/", "monai/losses/", "monai/engines/"},
		"Memory grows with the cube of the patch size and the number of patches. `RandCropByPosNegLabeld` makes `num_samples` patches per case: `batch_size=2` with `num_samples=4` is a batch of 8. An uncropped volume counts as one very large patch.",
		"`cache_rate`: it uses system RAM.", "MONAI/monai/transforms/croppad/dictionary.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
}

var samCards = []cause.Card{
	{
		ID: "segment-anything/train", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"training/trainer.py", "training/model/sam2.py", "sam2.1_training/"}, If: when.All(parts.Own, (*ledger.Case).Training),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a training step of SAM 2", Figures: parts.Filled,
		Means: "A step keeps the activations of `num_frames` frames (8 in the config for MOSE) with up to `max_num_objects` objects (3) at 1024 x 1024 pixels. `train_batch_size` is 1 already by default. The authors trained on GPUs with 80 GB.",
		Not:   "`points_per_batch`, `offload_video_to_cpu`: they are about prediction.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Train on fewer frames and objects at a time", Told: "In the config file, under `scratch:`", Kind: "config", Text: "scratch:\n  num_frames: 4\n  max_num_objects: 2", Cost: "less memory of earlier frames is learned"},
			{Fix: "use_smaller_model", Title: "Train a smaller model", Kind: "text", Text: "Take the config values and the checkpoint of sam2.1_hiera_small or _tiny.", Cost: "Edges are a little coarser."},
			{Fix: "lower_resolution", Title: "Lower the resolution of training", Kind: "text", Text: "`scratch.resolution: 768` in the config, and `image_size` of the model likewise.", Cost: "detail"},
			lookFirst,
		},
		Sources: []string{"sam2/sam2/configs/sam2.1_training/sam2.1_hiera_b+_MOSE_finetune.yaml", "sam2/training/README.md"},
	},
	{
		ID: "segment-anything/encoder", Kinds: parts.Refused, Said: []string{"image_encoder.py", "add_decomposed_rel_pos", "in set_image", "in set_torch_image"},
		If: parts.Own, Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of memory in the image encoder", Figures: parts.Filled,
		Means: "SAM's image encoder always works at 1024 x 1024, whatever the size of your image. vit_h takes several GB (2.4 GB of weights), vit_b about a third of that.",
		Not:   "A smaller image: the encoder always works at 1024 x 1024.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model"},
			{Fix: "half_precision", Title: "Run it in 16 bit, without gradients", Kind: "python", Text: "with torch.inference_mode(), torch.autocast(\"cuda\", dtype=torch.float16):\n    predictor.set_image(image)", Cost: "Hardly any quality."},
			lookFirst,
		},
		Sources: []string{"segment-anything/segment_anything/modeling/image_encoder.py", "https://github.com/facebookresearch/segment-anything/issues/137"},
	},
	{
		ID: "segment-anything/points", Kinds: parts.Refused, Said: []string{"automatic_mask_generator", "SamAutomaticMaskGenerator", "_process_batch", "postprocess_masks", "batched_mask_to_box"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory on the masks of a batch of points",
		Means:   "The mask generator makes `points_per_batch` (default 64) x 3 masks at once, at the full image size, 4 bytes per pixel. At 4000 x 3000 pixels that is 8.6 GiB, at 1500 x 1000 it is 1.1 GiB.",
		Not:     "A lower `points_per_side`: each batch stays as large.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "lower_resolution"}, {Fix: "use_smaller_model"}},
		Sources: []string{"segment-anything/segment_anything/automatic_mask_generator.py", "https://github.com/facebookresearch/segment-anything/issues/351", "https://github.com/facebookresearch/segment-anything/issues/490"}, Solved: 2,
	},
	{
		ID: "segment-anything/video", Kinds: append(append([]fact.Kind{}, parts.Refused...), parts.RAMGone...), Said: []string{"sam2_video_predictor", "load_video_frames", "in init_state", "propagate_in_video"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory on a video, which it loads as a whole",
		Means: "SAM 2 loads all frames of a video at once, 12 MB each at 1024 x 1024: 1,000 frames take 12 GB before the first mask. It also keeps features of each tracked frame.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", If: ledger.OnCard, Title: "Keep frames and states in system memory (RAM)"},
			{Fix: "lower_resolution", Title: "Cut the video into shorter parts", Kind: "text", Text: "Split it into parts of a few hundred frames, and start each with the last mask of the previous one. Or keep only every second frame.", Cost: "Some lines of code."},
			{Fix: "inference_mode", If: ledger.OnCard, Title: "Run it in 16 bit, without gradients", Kind: "python", Text: "with torch.inference_mode(), torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    state = predictor.init_state(video_path, offload_video_to_cpu=True)   # video_path: as in your call", Cost: "Hardly any quality."},
		},
		Sources: []string{"sam2/sam2/sam2_video_predictor.py"},
	},
}
