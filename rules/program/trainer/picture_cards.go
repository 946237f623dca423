package trainer

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/step"
)

// pictureStep is a card on a training step that did not fit.
func pictureStep(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	k := stepCard(id, said, means, not, source, cures...)
	k.Headline = "ran out of graphics memory[[ ({total})]][[ {while}]]"
	return k
}

// diffusersScripts are the example scripts by the names that commands show.
var diffusersScripts = []string{
	"train_dreambooth_lora_flux.py", "train_dreambooth_lora_sdxl.py", "train_dreambooth_lora_sd3.py", "train_dreambooth_lora.py", "train_dreambooth_flux.py", "train_dreambooth_sd3.py", "train_dreambooth.py",
	"train_text_to_image_lora_sdxl.py", "train_text_to_image_lora.py", "train_text_to_image_sdxl.py", "train_text_to_image.py", "train_controlnet_sdxl.py", "train_controlnet_flux.py", "train_controlnet.py",
	"train_instruct_pix2pix.py", "train_cogvideox_lora.py", "textual_inversion.py", "train_unconditional.py",
}

// diffusersAdds is the log's own command with options changed, else a line of
// them.
func diffusersAdds(all ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		changes := slices.DeleteFunc(slices.Clone(all), func(x step.Change) bool { return lacking(c, x.Flag) })
		for _, script := range diffusersScripts {
			if own := step.Typed(c, script); own != nil {
				return []step.Step{{Kind: "shell", Text: "accelerate launch " + script + " " + step.Edited(c, own, changes...)}}
			}
		}
		return []step.Step{{Kind: "text", Text: "Add to the command, or change in it:"}, {Kind: "config", Text: step.Edited(c, nil, changes...)}}
	}
}

// diffusersLack are scripts and the options that they do not have.
var diffusersLack = [][2]string{{"textual_inversion.py", "--use_8bit_adam"}, {"train_unconditional.py", "--use_8bit_adam --gradient_checkpointing"}, {"train_cogvideox_lora.py", "--resolution"}}

// lacking: the script that ran does not have the option.
func lacking(c *ledger.Case, flag string) bool {
	return slices.ContainsFunc(diffusersLack, func(x [2]string) bool {
		return slices.Contains(strings.Fields(x[1]), flag) && (step.Typed(c, x[0]) != nil || slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.HasSuffix(f.File, x[0]) }))
	})
}

// wholeModel: the script that failed is not one for LoRAs already.
func wholeModel(c *ledger.Case) bool {
	return !slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.Contains(f.File, "lora") })
}

var diffusersLean = cause.Cure{
	Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing, bf16 and, where the script has it, 8-bit Adam", Cost: "About a third slower.",
	Steps: diffusersAdds(step.Change{Flag: "--train_batch_size", Value: "1"}, step.Change{Flag: "--gradient_accumulation_steps", Value: "4"}, step.Change{Flag: "--gradient_checkpointing"}, step.Change{Flag: "--use_8bit_adam"}, step.Change{Flag: "--mixed_precision", Value: "bf16"}),
}

var oneTrainerCards = []cause.Card{
	{
		ID: "onetrainer/load", Kinds: refused, Said: []string{"modules/modelSetup", "in train_device", "model.to(", "setup_train_device", "modelLoader"}, Figures: pictures.Weighs,
		Unsaid: []string{"calculate_loss", "backward(", "in predict", "optimizer.step"}, If: ownCard, Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory[[ ({total})]] while it put the model on the card",
		Means:   "It failed while the model was put on the card. [[{base} ]]The data types of transformer and text encoders, and the fraction of layers that stays in RAM, decide how much that takes.[[ {beside}]]",
		Cures:   []cause.Cure{{Fix: "use_lower_quant"}, {Fix: "lowvram_mode"}, {Fix: "close_other_apps", Title: "Close what else is on the card", Told: "Desktop, browser, another run: what they hold is missing here. A screen on the graphics of the processor frees some more.", Kind: "shell", Text: "nvidia-smi", Cost: "free"}},
		Sources: []string{"OneTrainer/modules/ui/BaseTrainingTabView.py", "OneTrainer/modules/ui/BaseModelTabView.py"},
	},
	{
		ID: "onetrainer/caching", Kinds: refused, Said: []string{"EncodeVAE", "EncodeMoments", "mgds/"}, If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while it cached the images",
		Means:    "The VAE was encoding the training images, several at a time: one for each data loader thread. It grows with the size of the images, not with the batch.",
		Not:      "Gradient checkpointing, a smaller batch: no step had begun.",
		Cures:    []cause.Cure{{Fix: "lower_num_workers", Title: "Cache one image at a time", Told: "Tab general: Dataloader Threads 1.", Cost: "Slower caching, once."}, {Fix: "lower_resolution"}, {Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources:  []string{"OneTrainer/modules/ui/BaseTrainUIView.py"},
	},
	pictureStep("onetrainer/step", []string{"GenericTrainer.py", "modules/trainer/"},
		"The activations of the batch at the chosen resolution did not fit beside the model. Without gradient checkpointing they are several times as large.",
		"", "OneTrainer/modules/ui/BaseTrainingTabView.py", cause.Cure{Fix: "gradient_checkpointing"}, cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "lower_resolution"}),
}

// aiToolkitElsewhere: the configured card is not the one that was used.
func aiToolkitElsewhere(c *ledger.Case) bool { return c.In("ai-toolkit") && ledger.Crowded(c) }

var aiToolkitCards = []cause.Card{
	{
		ID: "ai-toolkit/others-hold", Kinds: []fact.Kind{fact.TorchAlloc}, If: aiToolkitElsewhere, Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out on a card of which others hold {others%}",
		Means: "This process holds {mine}, others {others} of {total}. If your file names another card (`device: cuda:1` and so on), parts of the loaders and libraries still use the first visible card. Hiding the other cards helps.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", Title: "Show it only the free card (CUDA_VISIBLE_DEVICES)", Told: "Replace 3 by the free card's number in `nvidia-smi`; the file then needs `device: cuda:0`.", Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=3 python run.py config/train.yaml   # your file", Cost: "None."},
			{Fix: "kill_stale_process", Title: "End what holds it, if it is yours", Told: "An earlier run that still exists: `ps aux | grep run.py` shows it.", Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its work."},
		},
		Sources: []string{"https://github.com/ostris/ai-toolkit/issues/277"},
	},
	{
		ID: "ai-toolkit/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.ContainerKill, fact.CPUAlloc, fact.CommitLimit}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not graphics memory",
		Means:    "The model is read into RAM at 16 bit before it is quantised: FLUX 24 GB and T5-XXL 9.8, Wan 14B 28. With `low_vram: true` it is quantised there too, and layers that are offloaded stay there.",
		Not:      "A smaller batch or resolution: they save graphics memory.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add 64 GB of swap, or a larger page file", Ways: []cause.Way{{For: "Linux", Text: "`sudo fallocate -l 64G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"}, {For: "Windows", Text: "Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: 32768 to 98304 MB, restart"}, {For: "Docker, WSL, a rented pod", Text: "raise its memory limit; take a pod with 64 GB of RAM"}}, Cost: "Disk; slow while it loads."},
			{Fix: "lowvram_mode", Title: "With a card of 24 GB or more: `low_vram: false`", Kind: "config", Text: "model:\n  low_vram: false", Cost: "Needs room for the 16-bit weights on the card."},
			{Fix: "use_smaller_model", Title: "Train a smaller base model", Told: "Set `name_or_path` to SDXL, or to a smaller model of the family.", Cost: "The LoRA fits that model only."},
		},
		Sources: []string{"ai-toolkit/toolkit/stable_diffusion_model.py", "ai-toolkit/config/examples/train_lora_flux_24gb.yaml"},
	},
	ram.Unloading("ai-toolkit/unloading", cause.Cure{Fix: "upgrade_version", Title: "Update AI Toolkit", Told: "Releases from 5 October 2025 to 11 July 2026 moved each quantised block to pinned RAM and never gave that back; later ones do not pin it.", Kind: "shell", Text: "git pull && pip install -r requirements.txt", Cost: "Some minutes."}),
	{ID: "ai-toolkit/text-encoder", Kinds: refused, Said: []string{"Quantizing Mistral", "Quantizing T5", "Quantizing Qwen", "Quantizing UMT5", "Quantizing Text Encoder", "Quantizing Gemma", "Quantizing llama"}, Unsaid: []string{"hook_train_loop", "Generating baseline samples", "Caching latents"}, If: func(c *ledger.Case) bool { return c.In("ai-toolkit") && !ledger.Crowded(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it quantised the text encoder, before training", Means: "The last line before it is \"Quantizing\" with the text encoder's name: its 16-bit weights go to the card to be quantised there (Mistral of FLUX.2, 24 billion parameters: 48 GB; T5-XXL 9.5). The transformer had been moved to RAM before.", Not: "A smaller batch or resolution: training had not begun.",
		Cures: []cause.Cure{{Fix: "lowvram_mode", Title: "Turn on Low VRAM and Layer Offloading, the text encoder at 100 %", Told: "In its page: Low VRAM, Layer Offloading, Text Encoder Offload % 100. In the file:", Kind: "config", Text: "model:\n  low_vram: true\n  layer_offloading: true\n  layer_offloading_text_encoder_percent: 1.0", Cost: "Slower; RAM for the whole encoder."}, {Fix: "upgrade_version", Title: "If it ran before an update: go back to that version", Told: "`git checkout COMMIT` in its folder (Stability Matrix: the package's version), or update once more.", Cost: "Some minutes."}, {Fix: "close_other_apps", Title: "Close what else uses the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}}, Sources: []string{"ai-toolkit/toolkit/config_modules.py", "ai-toolkit/ui/src/app/jobs/new/SimpleJob.tsx", "https://github.com/ostris/ai-toolkit/issues/872"}},
	{
		ID: "ai-toolkit/load", Kinds: refused, Said: []string{"in load_model", "quantize_model", "in quantize", "stable_diffusion_model.py"},
		Phases: []string{"load", "unknown"}, If: ownCard, Figures: pictures.Weighs, Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory[[ ({total})]] while it loaded the model",
		Means: "The model was being loaded or quantised. Without `low_vram` the 16-bit weights go to the card first and are quantised there: 22 GiB for FLUX.1 (12 billion parameters), 38 for Qwen-Image.[[ {beside}]]",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Quantise in system memory (low_vram)", Kind: "config", Text: "model:\n  quantize: true\n  low_vram: true", Cost: "Loading takes longer; RAM for 16 bit."},
			{Fix: "load_in_8bit", Title: "Quantise the text encoder too (quantize_te)", Kind: "config", Text: "model:\n  quantize_te: true", Cost: "Hardly any quality."},
			lookFirst,
		},
		Sources: []string{"ai-toolkit/config/examples/train_lora_flux_24gb.yaml", "ai-toolkit/toolkit/config_modules.py"},
	},
	pictureStep("ai-toolkit/step", []string{"BaseSDTrainProcess.py", "SDTrainer.py", "hook_train_loop"},
		"Steps of the largest resolution bucket decide: with [512, 768, 1024] some steps can fit and others not. Newer releases skip a batch and give up after three in a row.",
		"", "ai-toolkit/jobs/process/BaseSDTrainProcess.py",
		cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "use_lower_quant"}),
	{
		ID: "ai-toolkit/no-figures", Kinds: []fact.Kind{fact.CUDAError}, Among: []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.LeakedProcess, cause.HostMemory},
		Means: "The message is the driver's and has no figures: graphics memory was full, or the RAM (on Windows with its page file) that offloaded layers and pinned memory take.",
		Cures: []cause.Cure{{Fix: "use_lower_quant"}, {Fix: "lowvram_mode"}, {Fix: "raise_pagefile", If: (*ledger.Case).Windows}, lookFirst, {Fix: "lower_resolution"}}, Sources: []string{"ai-toolkit/toolkit/config_modules.py"},
	},
}

var diffusersTrainCards = []cause.Card{
	{
		ID: "diffusers-train/validation", Kinds: refused, Said: []string{"in log_validation", "log_validation("},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory while it made validation images",
		Means: "The validation images did not fit: for them the script builds a whole pipeline, text encoders and VAE included, beside the training state.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Train without validation images", Told: "Leave out `--validation_prompt` (train_text_to_image.py: `--validation_prompts`), and make images from the checkpoints afterwards.", Cost: "No images while it trains."},
			{Fix: "lower_batch_size", Title: "Make one validation image (--num_validation_images 1)", Told: "The default is 4; train_text_to_image.py makes one for each prompt instead.", Cost: "Fewer to judge by."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"diffusers/examples/text_to_image/train_text_to_image_sdxl.py", "diffusers/examples/dreambooth/train_dreambooth_lora_flux.py"},
	},
	{
		ID: "diffusers-train/class-images", Kinds: refused, Said: []string{"Generating class images"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory before training, while it generated class images",
		Means: "They are made for prior preservation by a whole pipeline on the card, `--sample_batch_size` (default 4) at once.",
		Not:   "--train_batch_size: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Generate one image at a time (--sample_batch_size 1)", Steps: diffusersAdds(step.Change{Flag: "--sample_batch_size", Value: "1"}, step.Change{Flag: "--prior_generation_precision", Value: "fp16"}), Cost: "Slower."},
			{Fix: "stream_dataset", Title: "Provide your own class images", Told: "Put as many images as `--num_class_images` says into `--class_data_dir`; then none is generated.", Cost: "Collecting them."},
			{Fix: "restart_session", Title: "Train without prior preservation", Told: "Leave out `--with_prior_preservation`: no class images are needed then.", Cost: "The model may forget what its class looks like."},
		},
		Sources: []string{"diffusers/examples/dreambooth/train_dreambooth.py"},
	},
	{
		ID: "diffusers-train/optimizer", Kinds: refused, Said: []string{"torch/optim/adam", "exp_avg_sq", "optimizer.step()"},
		If: ownCard, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in the optimizer",
		Means:   "Adam's values did not fit: 8 bytes for each trained parameter, made in the first step. SDXL's whole UNet has 2.6 billion parameters: 20 GB.",
		Cures:   []cause.Cure{{Fix: "optimizer_8bit", If: func(c *ledger.Case) bool { return !lacking(c, "--use_8bit_adam") }, Title: "Use 8-bit Adam (--use_8bit_adam)", Steps: diffusersAdds(step.Change{Flag: "--use_8bit_adam"}), Cost: "Hardly any quality; needs bitsandbytes."}, {Fix: "use_lower_quant", If: wholeModel}, diffusersLean},
		Sources: []string{"diffusers/examples/text_to_image/train_text_to_image_sdxl.py"},
	},
	pictureStep("diffusers-train/step", []string{"train_dreambooth", "train_text_to_image", "train_controlnet", "train_instruct_pix2pix", "train_textual_inversion", "textual_inversion.py"},
		"By default the scripts train in 32 bit and keep all activations. Gradient checkpointing, 16 bit and 8-bit Adam together need a fraction of that.",
		"`--gradient_accumulation_steps` alone: the batch on the card stays the same.", "diffusers/examples/dreambooth/train_dreambooth.py",
		diffusersLean, cause.Cure{Fix: "lower_resolution", Title: "Lower --resolution", Steps: func(c *ledger.Case) []step.Step {
			return diffusersAdds(step.Change{Flag: "--resolution", Value: halved(c, "512", "resolution")})(c)
		}, Cost: "Less detail learned."}, cause.Cure{Fix: "use_lower_quant", If: wholeModel}),
}
