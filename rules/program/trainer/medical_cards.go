package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var nnunetCards = []cause.Card{
	{
		ID: "nnunetv2/workers", Kinds: ramGone, Said: []string{"Background workers died", "background workers are no longer alive", "background worker is 6 feet under", "nnunetv2/inference/data_iterators.py", "nnunetv2/preprocessing/", "nnUNetv2_plan_and_preprocess", "export_prediction"},
		Cause: cause.HostMemory, Weight: 0.9,
		Means: "nnU-Net's background workers hold whole cases in system memory: 32-bit images, and when predicting the scores of every class at full size. The system ended one when RAM was full; the main process then only sees that it is gone.",
		Not:   "A smaller -gpu_memory_target: the card was not full.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Fewer workers", Kind: "text", Text: "Predicting: add `-npp 1 -nps 1` to nnUNetv2_predict. Preprocessing: `-np 2`. Training: `export nnUNet_n_proc_DA=4`.", Cost: "Slower; free otherwise."},
			{Fix: "add_swap"},
			{Fix: "close_other_apps", Title: "Free system memory"},
		},
		Sources: []string{"nnUNet/nnunetv2/inference/data_iterators.py", "nnUNet/nnunetv2/utilities/default_n_proc_DA.py", "https://github.com/MIC-DKFZ/nnUNet/issues/1572"}, Solved: 1,
	},
	{
		ID: "nnunetv2/predict", Kinds: refused, Said: []string{"predict_sliding_window_return_logits", "_internal_maybe_mirror_and_predict", "predict_logits_from_preprocessed_data", "nnUNetv2_predict", "Moving results arrays to CPU"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.75,
		Means: "Predicting keeps the scores of all classes for the whole case on the card: classes x voxels of the resampled image. Newer releases try again with them in system memory by themselves.",
		Not:   "A smaller plan: the network is what was trained, the case is what is large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Keep the result in system memory", Kind: "text", Text: "Add `--not_on_device` to nnUNetv2_predict; in Python `nnUNetPredictor(perform_everything_on_device=False)`.", Cost: "Slower; RAM for the scores."},
			lookFirst,
			{Fix: "upgrade_version", Title: "Update nnU-Net", Kind: "shell", Text: "pip install --upgrade nnunetv2", Cost: "None, as a rule."},
		},
		Sources: []string{"nnUNet/nnunetv2/inference/predict_from_raw_data.py"},
	},
	stepCard("nnunetv2/step", []string{"nnUNetTrainer.py", "run_training.py", "nnUNetv2_train"},
		"nnU-Net planned batch and patch for a card of about 8 GB (ResEnc presets: M 9 to 11, L 24, XL 40), without looking at yours. A smaller card, or one that something else uses too, is not enough.",
		"A batch option: there is none; the plans decide.", "nnUNet/documentation/resenc_presets.md",
		lookFirst, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}),
}

// lookFirst is the cure that costs nothing: see who holds the card.
var lookFirst = cause.Cure{
	Fix: "kill_stale_process", Title: "See what holds the card, end what is yours", Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}

var nnunetV1Cards = []cause.Card{
	stepCard("nnunet/step", []string{"network_trainer.py", "nnUNetTrainerV2", "nnunet/training/"},
		"nnU-Net planned its networks for a card of about 11 GB, without looking at yours; most data sets need about 8 free.",
		"A batch option: version 1 has none; the plans file decides.", "https://github.com/MIC-DKFZ/nnUNet/issues/122",
		lookFirst, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}),
}

var monaiCards = []cause.Card{
	{
		ID: "monai/stitch", Kinds: refused, Said: []string{"sliding_window_inference", "monai/inferers/", "output_image_list", "count_map"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.88,
		Means: "sliding_window_inference keeps the stitched result of the whole volume where the input is: classes x voxels x 4 bytes, and a map of weights beside it. The windows themselves are small.",
		Not:   "A smaller roi_size: the stitched result stays as large.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload"},
			{Fix: "lower_batch_size", Title: "One window at a time", Kind: "text", Text: "Pass `sw_batch_size=1`, and keep the input on the CPU with `sw_device=\"cuda\"`.", Cost: "Slower."},
			{Fix: "inference_mode"},
		},
		Sources: []string{"MONAI/monai/inferers/utils.py", "https://github.com/ljwztc/CLIP-Driven-Universal-Model/issues/55", "https://github.com/Project-MONAI/MONAI/issues/6427", "https://github.com/Project-MONAI/research-contributions/issues/22"}, Solved: 1,
	},
	{
		ID: "monai/cache", Kinds: ramGone, Said: []string{"CacheDataset", "monai/data/dataset.py", "Loading dataset:", "SmartCacheDataset"},
		Cause: cause.HostMemory, Weight: 0.88,
		Means: "CacheDataset keeps every case in system memory after the fixed transforms, resampled and in 32 bit: often 100 to 500 MB each. The system ended the process when RAM was full.",
		Not:   "A smaller batch: the cache holds the whole data set.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers"},
			{Fix: "stream_dataset", Title: "Cache on disk", Kind: "python", Text: "train_ds = PersistentDataset(data=files, transform=transforms, cache_dir=\"cache\")", Cost: "Disk space; somewhat slower."},
		},
		Sources: []string{"MONAI/monai/data/dataset.py"},
	},
	stepCard("monai/step", []string{"monai/networks/", "monai/losses/", "monai/engines/"},
		"A training step did not fit. Patch size cubed times patches counts: RandCropByPosNegLabeld makes num_samples of each case, so that batch_size=2 with num_samples=4 is a batch of 8.",
		"cache_rate: it is about system memory.", "MONAI/monai/transforms/croppad/dictionary.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
}

var samCards = []cause.Card{
	{
		ID: "segment-anything/encoder", Kinds: refused, Said: []string{"image_encoder.py", "add_decomposed_rel_pos", "in set_image", "in set_torch_image"},
		If: ownCard, Cause: cause.ModelTooLarge, Weight: 0.8,
		Means: "It failed in the picture encoder, which always works at 1024 x 1024, whatever the picture. vit_h takes several GB for it, 2.4 of weights included; the size of the picture changes nothing here.",
		Not:   "A smaller picture or points_per_batch: the encoder does the same work.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model"},
			{Fix: "half_precision", Title: "16 bit, without gradients", Kind: "python", Text: "with torch.inference_mode(), torch.autocast(\"cuda\", dtype=torch.float16):\n    predictor.set_image(image)", Cost: "None that shows."},
			lookFirst,
		},
		Sources: []string{"segment-anything/segment_anything/modeling/image_encoder.py", "https://github.com/facebookresearch/segment-anything/issues/137"},
	},
	{
		ID: "segment-anything/points", Kinds: refused, Said: []string{"automatic_mask_generator", "_process_batch", "postprocess_masks", "batched_mask_to_box"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.88,
		Means: "The picture was encoded; what failed are the masks: points_per_batch (64) x 3 masks, each scaled to the full size of the picture in 32 bit.",
		Not:   "Fewer points_per_side: each batch stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "lower_resolution"},
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"segment-anything/segment_anything/automatic_mask_generator.py", "https://github.com/facebookresearch/segment-anything/issues/351", "https://github.com/facebookresearch/segment-anything/issues/490"}, Solved: 2,
	},
	{
		ID: "segment-anything/video", Kinds: append(append([]fact.Kind{}, refused...), ramGone...), Said: []string{"sam2_video_predictor", "load_video_frames", "in init_state", "propagate_in_video"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "SAM 2 loads all frames of a video at once, 12 MB each at 1024 x 1024 in 32 bit, and keeps the memory of each tracked frame: 1,000 frames are 12 GB before the first mask.",
		Not:   "A smaller checkpoint alone: frames are most of it.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload"},
			{Fix: "lower_resolution", Title: "Cut the video into parts", Kind: "text", Text: "Split the video into pieces of some hundred frames and start each with the last mask of the one before.", Cost: "Some lines of code."},
			{Fix: "inference_mode", Title: "16 bit, without gradients", Kind: "python", Text: "with torch.inference_mode(), torch.autocast(\"cuda\", dtype=torch.bfloat16):\n    state = predictor.init_state(video_path, offload_video_to_cpu=True)   # video_path: as in your call", Cost: "None that shows."},
		},
		Sources: []string{"sam2/sam2/sam2_video_predictor.py"},
	},
}
