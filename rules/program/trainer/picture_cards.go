package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
)

var oneTrainerCards = []cause.Card{
	{
		ID: "onetrainer/load", Kinds: refused, Said: []string{"modules/modelSetup", "in train_device", "model.to(", "setup_train_device", "modelLoader"},
		Phases: []string{"load", "unknown"}, If: ownCard, Cause: cause.ModelTooLarge, Weight: 0.75,
		Means:   "It failed while the model was being put on the card, before the first step. The data type of transformer and text encoders, and the fraction of layers that stays in RAM, decide that.",
		Not:     "Local Batch Size or Resolution: no picture is there yet.",
		Cures:   []cause.Cure{{Fix: "use_lower_quant"}, {Fix: "lowvram_mode"}, lookFirst},
		Sources: []string{"OneTrainer/modules/ui/BaseTrainingTabView.py", "OneTrainer/modules/ui/BaseModelTabView.py"},
	},
	stepCard("onetrainer/step", []string{"GenericTrainer.py", "modules/trainer/"},
		"A training step did not fit: activations of the batch at the chosen resolution, beside the model. Without gradient checkpointing they are several times as large.",
		"Rank of the LoRA: it is a small part.", "OneTrainer/modules/ui/BaseTrainingTabView.py",
		cause.Cure{Fix: "gradient_checkpointing"}, cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "lower_resolution"}),
}

var aiToolkitCards = []cause.Card{
	{
		ID: "ai-toolkit/load", Kinds: refused, Said: []string{"in load_model", "quantize_model", "in quantize", "stable_diffusion_model.py"},
		Phases: []string{"load", "unknown"}, If: ownCard, Cause: cause.ModelTooLarge, Weight: 0.78,
		Means: "It failed while the model was being loaded or quantised, before the first step. Without low_vram the 16-bit weights go to the card first and are quantised there: 24 GB for FLUX.",
		Not:   "A smaller rank or resolution: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Quantise in system memory (low_vram)", Kind: "config", Text: "model:\n  quantize: true\n  low_vram: true", Cost: "Loading takes longer; RAM for 16 bit."},
			lookFirst,
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"ai-toolkit/config/examples/train_lora_flux_24gb.yaml", "ai-toolkit/toolkit/config_modules.py"},
	},
	stepCard("ai-toolkit/step", []string{"BaseSDTrainProcess.py", "SDTrainer.py", "hook_train_loop"},
		"A training step did not fit. Steps of the largest resolution bucket decide: with [512, 768, 1024] some steps fit and others do not. Newer releases skip a batch and give up after three in a row.",
		"Rank of the LoRA: it is a small part.", "ai-toolkit/jobs/process/BaseSDTrainProcess.py",
		cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "use_lower_quant"}),
}

var diffusersTrainCards = []cause.Card{
	{
		ID: "diffusers-train/validation", Kinds: refused, Said: []string{"in log_validation", "log_validation("},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "Training runs; the pictures for validation did not fit: the script builds a whole pipeline, text encoders and VAE included, beside the training state.",
		Not:   "A smaller training batch: validation does not depend on it.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Train without validation pictures", Kind: "text", Text: "Leave out `--validation_prompt` (and `--num_validation_images`), and look at checkpoints in a run of their own.", Cost: "No pictures while it trains."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"diffusers/examples/text_to_image/train_text_to_image_sdxl.py", "diffusers/examples/dreambooth/train_dreambooth_lora_flux.py"},
	},
	{
		ID: "diffusers-train/class-images", Kinds: refused, Said: []string{"Generating class images"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "It failed while pictures of the class were being generated for prior preservation, before training: sample_batch_size (4) pictures at once.",
		Not:   "--train_batch_size: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Generate one picture at a time", Kind: "text", Text: "Add `--sample_batch_size 1 --prior_generation_precision fp16`.", Cost: "Slower."},
			{Fix: "stream_dataset", Title: "Bring your own class pictures", Kind: "text", Text: "Put as many pictures as `--num_class_images` says into `--class_data_dir`: none is generated then.", Cost: "Collecting them."},
		},
		Sources: []string{"diffusers/examples/dreambooth/train_dreambooth.py"},
	},
	{
		ID: "diffusers-train/optimizer", Kinds: refused, Said: []string{"torch/optim/adam", "exp_avg_sq", "optimizer.step()"},
		If: ownCard, Cause: cause.TrainingStateTooLarge, Weight: 0.82,
		Means:   "The first forward and backward pass fitted, Adam's values did not: 8 bytes for each trained parameter. Training all of SDXL's UNet takes 2.6 billion of them.",
		Not:     "A lower resolution: weights and optimizer stay as large.",
		Cures:   []cause.Cure{{Fix: "optimizer_8bit"}, {Fix: "use_lower_quant"}, {Fix: "gradient_checkpointing"}},
		Sources: []string{"diffusers/examples/text_to_image/train_text_to_image_sdxl.py"},
	},
	stepCard("diffusers-train/step", []string{"train_dreambooth", "train_text_to_image", "train_controlnet", "train_instruct_pix2pix", "train_textual_inversion", "textual_inversion.py"},
		"A training step did not fit. The scripts train in 32 bit with all activations kept unless told otherwise: checkpointing, 16 bit and 8-bit Adam together take it to a fraction.",
		"`--gradient_accumulation_steps` alone: the batch on the card stays.", "diffusers/examples/dreambooth/train_dreambooth.py",
		cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_resolution"}),
}
