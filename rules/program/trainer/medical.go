package trainer

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// NNUNetV2 plans batch and patch by itself, for a card of about 10 GB.
var NNUNetV2 = program.Program{
	Name: "nnunetv2", Shown: "nnU-Net",
	Carries:  []string{"nnunet"},
	Commands: []string{"nnUNetv2_train", "nnUNetv2_preprocess", "nnUNetv2_plan_experiment"},
	Work:     "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"nnUNet/nnunetv2/experiment_planning/plan_and_preprocess_entrypoints.py": "-gpu_memory_target -overwrite_plans_name -np",
		"nnUNet/nnunetv2/inference/predict_from_raw_data.py":                     "--not_on_device --disable_tta -npp -nps -step_size",
	},
	Proofs: []string{"nnunetv2/", "nnUNetv2_"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: nnunetWork, cause.TrainingStateTooLarge: nnunetWork, cause.ModelTooLarge: nnunetWork,
		cause.OversizedAllocation: nnunetWork,
		cause.Unknown: {
			{Fix: "kill_stale_process", Fit: cause.Cures},
			{Fix: "lower_batch_size", Fit: cause.Helps},
			{Fix: "restart_session", Fit: cause.MayHelp},
		},
		cause.HostMemory: {
			{Fix: "lower_num_workers", Fit: cause.Cures},
			{Fix: "close_other_apps", Fit: cause.MayHelp},
			{Fix: "add_swap", Fit: cause.LastResort},
		},
	},
	Steps: parts.Spelling{
		"lower_batch_size":  planAnew,
		"lower_resolution":  parts.Say("Train `3d_lowres` instead of `3d_fullres` if your plans have it, or `2d`."),
		"cpu_offload":       parts.Say("Predicting: add `--not_on_device` to nnUNetv2_predict. The result then stays in system RAM (slower)."),
		"lower_num_workers": parts.Say("Training: `export nnUNet_n_proc_DA=4`. Predicting: `-npp 1 -nps 1`. Preprocessing: `-np 2`. Each worker holds whole cases in RAM."),
	},
	Titles: map[string]string{"lower_batch_size": "Plan for a smaller card (-gpu_memory_target)", "lower_resolution": "Train 3d_lowres or 2d"},
	Costs:  map[string]string{"lower_batch_size": "Preprocessing again; smaller patches score a little less.", "lower_resolution": "Less detail."},
	Like:   []*program.Program{&parts.DataAside},
	Cards:  nnunetCards,
}

// planAnew plans for four fifths of what this program can have of the card.
func planAnew(c *ledger.Case) []step.Step {
	target := int64(6)
	if c.Total.Has() {
		own := c.Total.Bytes
		if ledger.Crowded(c) && c.Others.Has() {
			own -= c.Others.Bytes
		}
		target = max(2, own*4/5/units.GiB)
	}
	gb := strconv.FormatInt(target, 10)
	plans := "nnUNetPlans_" + gb + "G"
	return []step.Step{
		{Kind: "text", Text: "For " + gb + " GB, dataset 1 and fold 0 (replace with your own):"},
		{Kind: "shell", Text: "nnUNetv2_plan_experiment -d 1 -gpu_memory_target " + gb + " -overwrite_plans_name " + plans +
			"\nnnUNetv2_preprocess -d 1 -plans_name " + plans + " -c 3d_fullres\nnnUNetv2_train 1 3d_fullres 0 -p " + plans},
	}
}

var nnunetWork = []cause.Remedy{
	{Fix: "cpu_offload", Fit: cause.Foremost, If: predicting},
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "close_other_apps", Fit: cause.Helps, If: when.Not(ledger.FillsCard)},
	{Fix: "lower_resolution", Fit: cause.MayHelp},
}

// predicting: the log shows a model at use and no training.
func predicting(c *ledger.Case) bool {
	return !c.Training() && (c.Phase == "inference" || c.Signal("inferring") != nil)
}

// NNUNetV1 is the first version, with other commands and no such options.
var NNUNetV1 = program.Program{
	Name: "nnunet", Shown: "nnU-Net (version 1)",
	Work: "vision", Edits: "flags", Language: "python",
	Proofs: []string{"nnunet/training/", "nnunet/run/", "nnunet/inference/", "nnunet/network_architecture/", "nnUNet_train ", "nnUNet_predict ", "nnUNetTrainerV2"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: nnunetWork, cause.TrainingStateTooLarge: nnunetWork, cause.ModelTooLarge: nnunetWork,
		cause.OversizedAllocation: nnunetWork,
	},
	Steps: parts.Spelling{
		"lower_batch_size":  parts.Say("Lower `batch_size` in the plans file (nnUNetPlansv2.1_plans_3D.pkl, under `plans_per_stage`; at least 2 for 3D). Or move to nnU-Net v2, which can plan for a given GPU size."),
		"cpu_offload":       parts.Say("Predicting: give nnUNet_predict `--all_in_gpu False`."),
		"lower_resolution":  parts.Say("Train `3d_lowres` or `2d` instead of `3d_fullres`."),
		"lower_num_workers": parts.Say("Training: `export nnUNet_n_proc_DA=4`. Predicting: `--num_threads_preprocessing 1 --num_threads_nifti_save 1`."),
	},
	Sources: program.Sources{"nnUNet/nnunet/inference/predict_simple.py": "--all_in_gpu --num_threads_preprocessing --num_threads_nifti_save"},
	Titles:  map[string]string{"lower_batch_size": "Lower the batch in the plans file"},
	Like:    []*program.Program{&parts.DataAside},
	Cards:   nnunetV1Cards,
}

// MONAI is a library, so that what its readers change is code.
var MONAI = program.Program{
	Name: "monai", Shown: "MONAI",
	Work: "vision", Edits: "code", Language: "python",
	Sources: program.Sources{"MONAI/monai/inferers/utils.py": "device sw_device sw_batch_size roi_size", "MONAI/monai/data/dataset.py": "cache_rate"},
	Proofs:  []string{"-packages/monai/", "monai/networks/", "monai/inferers/", "monai/data/", "monai.inferers", "monai.bundle", "in sliding_window_inference", "sliding_window_inference(", "count_map = torch.zeros(output_shape", "monai/transforms/"},
	Steps: parts.Spelling{
		"lower_batch_size":  step.Paste("python", "train_loader = DataLoader(train_ds, batch_size=1)\n# RandCropByPosNegLabeld makes num_samples patches of each case: 1 or 2 instead of 4"),
		"lower_resolution":  parts.Say("Set `spatial_size=(64, 64, 64)` in RandCropByPosNegLabeld: it takes less than a third of 96. Use the same `roi_size` for inference."),
		"cpu_offload":       step.Paste("python", "output = sliding_window_inference(image, roi_size, sw_batch_size=1, predictor=model,\n                                  sw_device=\"cuda\", device=\"cpu\")   # stitched in system memory"),
		"lower_num_workers": step.Paste("python", "train_ds = CacheDataset(data=files, transform=transforms, cache_rate=0.1)   # or PersistentDataset, on disk\ntrain_loader = DataLoader(train_ds, batch_size=1, num_workers=2)"),
		"mixed_precision":   step.Paste("python", "half = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16\nscaler = torch.amp.GradScaler(\"cuda\", enabled=half is torch.float16)\nwith torch.autocast(\"cuda\", dtype=half):\n    loss = loss_function(model(inputs), labels)   # as in your script\nscaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()"),
		"use_smaller_model": parts.Say("Lower `feature_size` (SwinUNETR 48 to 24) or the `channels` of the UNet; SwinUNETR takes `use_checkpoint=True`."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {
			{Fix: "cpu_offload", Fit: cause.Cures, If: predicting},
			{Fix: "lower_resolution", Fit: cause.Cures},
			{Fix: "lower_batch_size", Fit: cause.Cures},
			{Fix: "mixed_precision", Fit: cause.Helps, If: (*ledger.Case).Training},
			{Fix: "use_smaller_model", Fit: cause.LastResort},
		},
	},
	Titles: map[string]string{"cpu_offload": "Stitch the windows in system memory (RAM)", "lower_resolution": "Crop smaller patches", "lower_num_workers": "Cache less in system memory"},
	Costs:  map[string]string{"cpu_offload": "A little slower; system memory for the result.", "lower_resolution": "Less context for each voxel."},
	Like:   []*program.Program{&parts.DataAside, &parts.Vision},
	Cards:  monaiCards,
}

// SegmentAnything is SAM and SAM 2.
var SegmentAnything = program.Program{
	Name: "segment-anything", Shown: "Segment Anything",
	Work: "vision", Edits: "code", Language: "python",
	Sources: program.Sources{
		"segment-anything/scripts/amg.py":   "--points-per-batch --crop-n-layers --model-type",
		"sam2/sam2/sam2_video_predictor.py": "offload_video_to_cpu offload_state_to_cpu",
	},
	Proofs: []string{"segment_anything/", "segment-anything/", "sam2/modeling/", "sam2/utils/", "sam2/sam2_", "sam2/automatic_mask_generator", "SamAutomaticMaskGenerator"},
	Steps: parts.Spelling{
		"lower_batch_size": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "python", Text: "generator = SamAutomaticMaskGenerator(sam, points_per_batch=" + parts.HalfOf(c, 16, "points_per_batch") + ")   # default 64; SAM2AutomaticMaskGenerator takes it too"}}
		},
		"lower_resolution":  parts.Say("Masks are scaled up to the image size: 4000 pixels per side take 16 times the memory of 1000."),
		"use_smaller_model": parts.Say("Use vit_b instead of vit_h (2.4 GB of weights), or sam2.1_hiera_tiny or _small."),
		"cpu_offload":       step.Paste("python", "state = predictor.init_state(video_path, offload_video_to_cpu=True, offload_state_to_cpu=True)   # SAM 2, video"),
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: samWork, cause.OversizedAllocation: samWork,
		cause.ModelTooLarge: {{Fix: "use_smaller_model", Fit: cause.Cures}, {Fix: "close_other_apps", Fit: cause.Helps}, {Fix: "lower_batch_size", Fit: cause.MayHelp}},
	},
	Titles: map[string]string{"lower_batch_size": "Lower points_per_batch", "lower_resolution": "Use a smaller image", "cpu_offload": "Keep the frames in system memory (video)", "use_smaller_model": "Use a smaller checkpoint"},
	Costs:  map[string]string{"lower_batch_size": "Slower; the masks are the same.", "use_smaller_model": "Edges are a little coarser.", "cpu_offload": "Somewhat slower."},
	Like:   []*program.Program{&parts.DataAside},
	Cards:  samCards,
}

var samWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Cures},
	{Fix: "use_smaller_model", Fit: cause.Helps},
	{Fix: "cpu_offload", Fit: cause.MayHelp},
}
