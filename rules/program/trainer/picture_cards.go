package trainer

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// pictureStep is a card on a training step that did not fit.
func pictureStep(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	k := parts.StepCard(id, said, means, not, source, cures...)
	k.Headline = "ran out of GPU memory[[ ({total})]][[ {while}]]"
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
		return []step.Step{{Kind: "text", Text: "Add or change these options in your command:"}, {Kind: "config", Text: step.Edited(c, nil, changes...)}}
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
	return !c.Near("textual_inversion.py") && !slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.Contains(f.File, "lora") })
}

var diffusersLean = cause.Cure{
	Fix: "gradient_checkpointing", Title: "Use batch size 1, gradient checkpointing, bf16 (and 8-bit Adam)", Cost: "About a third slower.",
	Steps: diffusersAdds(step.Change{Flag: "--train_batch_size", Value: "1"}, step.Change{Flag: "--gradient_accumulation_steps", Value: "4"}, step.Change{Flag: "--gradient_checkpointing"}, step.Change{Flag: "--use_8bit_adam"}, step.Change{Flag: "--mixed_precision", Value: "bf16"}),
}

var oneTrainerCards = []cause.Card{
	{
		ID: "onetrainer/load", Kinds: parts.Refused, Said: []string{"modules/modelSetup", "in train_device", "model.to(", "setup_train_device", "modelLoader"}, Figures: pictures.Weighs,
		Unsaid: []string{"calculate_loss", "backward(", "in predict", "optimizer.step"}, If: parts.Own, Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]] while moving the model to the GPU",
		Means:   "[[{base} ]]How much the model takes depends on the data types of transformer and text encoders, and on the fraction of layers that stays in RAM.[[ {beside}]]",
		Cures:   []cause.Cure{{Fix: "use_lower_quant"}, {Fix: "lowvram_mode"}, {Fix: "close_other_apps", Title: "Close other programs on the GPU", Told: "For example the browser or another run; connecting the screen to the processor's graphics frees some more.", Kind: "shell", Text: "nvidia-smi", Cost: "free"}},
		Sources: []string{"OneTrainer/modules/ui/BaseTrainingTabView.py", "OneTrainer/modules/ui/BaseModelTabView.py"},
	},
	{
		ID: "onetrainer/caching", Kinds: parts.Refused, Said: []string{"EncodeVAE", "EncodeMoments", "mgds/"}, If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while caching the training images",
		Means:    "The VAE encodes the training images, one per data loader thread at a time. That grows with the image size, not with the batch size.",
		Not:      "Gradient checkpointing, a smaller batch: training had not begun.",
		Cures:    []cause.Cure{{Fix: "lower_num_workers", Title: "Cache one image at a time", Told: "In the general tab set Dataloader Threads to 1.", Cost: "Slower caching, once."}, {Fix: "lower_resolution"}, {Fix: "close_other_apps", Title: "See what else uses the GPU", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources:  []string{"OneTrainer/modules/ui/BaseTrainUIView.py"},
	},
	{
		ID: "onetrainer/sample", Kinds: parts.Refused, Said: []string{"modules/modelSampler/", "__sample_during_training", "__sample_base"}, If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory[[ ({total})]] while making a sample image, not in a training step",
		Means:    "A sample runs text encoders, model and VAE, beside the optimizer's state. Its size is that of the sample's definition, not of training.",
		Not:      "Gradient checkpointing, a smaller batch: samples do not use them.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make smaller samples", Kind: "ui", Text: "Sampling tab: open each sample, set width and height to 512", Cost: "Smaller previews."},
			{Fix: "restart_session", Title: "Or train without samples", Kind: "ui", Text: "Sampling tab: Sample After: NEVER; make images from the backups or saves afterwards", Cost: "No previews."},
			{Fix: "lowvram_mode", Title: "Or keep more of the model in RAM"}, lookFirst,
		},
		Sources: []string{"OneTrainer/modules/trainer/GenericTrainer.py"},
	},
	pictureStep("onetrainer/step", []string{"GenericTrainer.py", "modules/trainer/"},
		"The batch at this resolution did not fit beside the model. Without gradient checkpointing it takes several times the memory.",
		"", "OneTrainer/modules/ui/BaseTrainingTabView.py", cause.Cure{Fix: "gradient_checkpointing"}, cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "lower_resolution"}),
}

// aiToolkitElsewhere: the configured card is not the one that was used.
func aiToolkitElsewhere(c *ledger.Case) bool { return c.In("ai-toolkit") && ledger.Crowded(c) }

var aiToolkitCards = []cause.Card{
	{
		ID: "ai-toolkit/others-hold", Kinds: []fact.Kind{fact.TorchAlloc}, If: aiToolkitElsewhere, Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of memory on a GPU of which other programs hold {others%}",
		Means: "Other programs hold {others} of {total}. If your config names another GPU (such as `device: cuda:1`), parts of the libraries may still use the first visible one. Hiding the other GPUs helps.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", Title: "Show it only a free GPU (CUDA_VISIBLE_DEVICES)", Told: "Replace 3 by the free GPU's number in `nvidia-smi`, and set `device: cuda:0` in the config.", Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=3 python run.py config/train.yaml   # your file", Cost: "None."},
			{Fix: "kill_stale_process", Title: "Or end what uses the GPU, if it is yours", Told: "`ps aux | grep run.py` shows an earlier run that still exists.", Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its work."},
		},
		Sources: []string{"https://github.com/ostris/ai-toolkit/issues/277"},
	},
	{
		ID: "ai-toolkit/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.ContainerKill, fact.CPUAlloc, fact.CommitLimit}, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not GPU memory",
		Means:    "The model is loaded into RAM in 16 bit before it is quantised: FLUX takes 24 GB plus 9.8 GB for T5-XXL, Wan 14B 28 GB. With `low_vram: true` it is also quantised there, and offloaded layers stay there.",
		Not:      "A smaller batch or resolution: they save GPU memory.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add 64 GB of swap, or a larger page file", Ways: []cause.Way{{For: "Linux", Text: "`sudo fallocate -l 64G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile`"}, {For: "Windows", Text: "Win+R, `sysdm.cpl`, Advanced, Performance: Settings, Advanced, Virtual memory: initial 32768, maximum 98304 MB; restart"}, {For: "Docker, WSL, a rented pod", Text: "raise the memory limit, or rent a pod with 64 GB of RAM"}}, Cost: "Disk; slow while it loads."},
			{Fix: "lowvram_mode", Title: "On a GPU with 24 GB or more: `low_vram: false`", Kind: "config", Text: "model:\n  low_vram: false", Cost: "The 16-bit weights must fit on the GPU."},
			{Fix: "use_smaller_model", Title: "Train a smaller base model", Told: "Set `name_or_path` to SDXL, or to a smaller model of the same family.", Cost: "The LoRA fits that model only."},
		},
		Sources: []string{"ai-toolkit/toolkit/stable_diffusion_model.py", "ai-toolkit/config/examples/train_lora_flux_24gb.yaml"},
	},
	ram.Unloading("ai-toolkit/unloading", cause.Cure{Fix: "upgrade_version", Title: "Update AI Toolkit", Told: "Releases from 5 October 2025 to 11 July 2026 pinned RAM for each quantised block and never freed it. Later ones do not.", Kind: "shell", Text: "git pull && pip install -r requirements.txt", Cost: "Some minutes."}),
	{ID: "ai-toolkit/text-encoder", Kinds: parts.Refused, Said: []string{"Quantizing Mistral", "Quantizing T5", "Quantizing Qwen", "Quantizing UMT5", "Quantizing Text Encoder", "Quantizing Gemma", "Quantizing llama"}, Unsaid: []string{"hook_train_loop", "Generating baseline samples", "Caching latents"}, If: func(c *ledger.Case) bool { return c.In("ai-toolkit") && !ledger.Crowded(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while quantising the text encoder, before training", Means: "The text encoder's 16-bit weights go to the GPU to be quantised there. FLUX.2's Mistral (24 billion parameters) takes 48 GB, T5-XXL 9.5 GB.", Not: "A smaller batch or resolution: training had not begun.",
		Cures: []cause.Cure{{Fix: "lowvram_mode", Title: "Offload the text encoder (Low VRAM, Layer Offloading)", Told: "In the web page: Low VRAM, Layer Offloading, Text Encoder Offload % 100. In the config file:", Kind: "config", Text: "model:\n  low_vram: true\n  layer_offloading: true\n  layer_offloading_text_encoder_percent: 1.0", Cost: "Slower; RAM for the whole encoder."}, {Fix: "upgrade_version", Title: "If it worked before an update: go back to that version", Told: "`git checkout COMMIT` in its folder (Stability Matrix: the package's version), or update again.", Cost: "Some minutes."}, {Fix: "close_other_apps", Title: "Close other programs on the GPU", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}}, Sources: []string{"ai-toolkit/toolkit/config_modules.py", "ai-toolkit/ui/src/app/jobs/new/SimpleJob.tsx", "https://github.com/ostris/ai-toolkit/issues/872"}},
	{
		ID: "ai-toolkit/load", Kinds: parts.Refused, Said: []string{"in load_model", "quantize_model", "in quantize", "stable_diffusion_model.py"},
		Phases: []string{"load", "unknown"}, If: parts.Own, Figures: pictures.Weighs, Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]] while loading the model",
		Means: "Without `low_vram` the 16-bit weights go to the GPU first and are quantised there. FLUX.1 (12 billion parameters) takes 22 GiB, Qwen-Image 38 GiB.[[ {beside}]]",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Quantise in system RAM (low_vram)", Kind: "config", Text: "model:\n  quantize: true\n  low_vram: true", Cost: "Slower loading; RAM for the 16-bit weights."},
			{Fix: "load_in_8bit", Title: "Quantise the text encoder too (quantize_te)", Kind: "config", Text: "model:\n  quantize_te: true", Cost: "Hardly any quality."},
			lookFirst,
		},
		Sources: []string{"ai-toolkit/config/examples/train_lora_flux_24gb.yaml", "ai-toolkit/toolkit/config_modules.py"},
	},
	{
		ID: "ai-toolkit/sample", Kinds: parts.Refused, Said: []string{"Generating Images:", "in generate_images", "Generating baseline samples"}, If: func(c *ledger.Case) bool { return parts.Own(c) && c.Near("in generate_images") }, Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory[[ ({total})]] while making sample images, not in a training step",
		Means:    "A sample runs the whole pipeline with its VAE, beside the training state. Its size is `width` x `height` under `sample`, not the `resolution` of training.",
		Not:      "A smaller batch or training resolution: samples do not use them.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make smaller samples", Kind: "config", Text: "sample:\n  width: 512\n  height: 512", Cost: "Smaller previews."},
			{Fix: "restart_session", Title: "Or train without samples", Kind: "config", Text: "train:\n  disable_sampling: true", Cost: "No previews."},
			{Fix: "lowvram_mode"}, lookFirst,
		},
		Sources: []string{"ai-toolkit/config/examples/train_lora_flux_24gb.yaml", "ai-toolkit/toolkit/config_modules.py"},
	},
	pictureStep("ai-toolkit/step", []string{"BaseSDTrainProcess.py", "SDTrainer.py", "hook_train_loop"},
		"The largest resolution decides: with `resolution: [512, 768, 1024]` some steps fit and others do not. Newer releases skip a failed batch, and give up after three in a row.",
		"", "ai-toolkit/jobs/process/BaseSDTrainProcess.py",
		cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "lowvram_mode"}, cause.Cure{Fix: "use_lower_quant"}),
	{
		ID: "ai-toolkit/no-figures", Kinds: []fact.Kind{fact.CUDAError}, Among: []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.LeakedProcess, cause.HostMemory},
		Means: "The driver's message has no figures. Either GPU memory was full, or the system RAM (on Windows with its page file) that offloaded layers and pinned memory use.",
		Cures: []cause.Cure{{Fix: "use_lower_quant"}, {Fix: "lowvram_mode"}, {Fix: "raise_pagefile", If: (*ledger.Case).Windows}, lookFirst, {Fix: "lower_resolution"}}, Sources: []string{"ai-toolkit/toolkit/config_modules.py"},
	},
}

var diffusersTrainCards = []cause.Card{
	{
		ID: "diffusers-train/validation", Kinds: parts.Refused, Said: []string{"in log_validation", "log_validation("},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory while making validation images",
		Means: "For validation images the script runs a whole pipeline, with text encoders and VAE, beside the training state.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Train without validation images", Told: "Remove `--validation_prompt` (train_text_to_image.py: `--validation_prompts`). Make images from the checkpoints afterwards.", Cost: "No images during training."},
			{Fix: "lower_batch_size", Title: "Make one validation image (--num_validation_images 1)", Told: "The default is 4. In train_text_to_image.py pass fewer prompts instead.", Cost: "Fewer images to judge by."},
			{Fix: "lower_resolution"},
		},
		Sources: []string{"diffusers/examples/text_to_image/train_text_to_image_sdxl.py", "diffusers/examples/dreambooth/train_dreambooth_lora_flux.py"},
	},
	{
		ID: "diffusers-train/class-images", Kinds: parts.Refused, Said: []string{"Generating class images"},
		If: parts.Own, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory before training, while generating class images",
		Means: "Prior preservation generates class images with a whole pipeline on the GPU, `--sample_batch_size` (default 4) at once.",
		Not:   "`--train_batch_size`: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Generate one image at a time (--sample_batch_size 1)", Steps: diffusersAdds(step.Change{Flag: "--sample_batch_size", Value: "1"}, step.Change{Flag: "--prior_generation_precision", Value: "fp16"}), Cost: "Slower."},
			{Fix: "stream_dataset", Title: "Or provide your own class images", Told: "Put as many images as `--num_class_images` says into `--class_data_dir`. Then none are generated.", Cost: "You have to collect them."},
			{Fix: "restart_session", Title: "Or train without prior preservation", Told: "Remove `--with_prior_preservation`: then no class images are needed.", Cost: "The model may forget what the class looks like."},
		},
		Sources: []string{"diffusers/examples/dreambooth/train_dreambooth.py"},
	},
	{
		ID: "diffusers-train/optimizer", Kinds: parts.Refused, Said: []string{"torch/optim/adam", "exp_avg_sq", "optimizer.step()"},
		If: parts.Own, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in the optimizer",
		Means:   "Adam creates 8 bytes of state per trained parameter in its first step. For SDXL's whole UNet (2.6 billion parameters) that is 20 GB.",
		Cures:   []cause.Cure{{Fix: "optimizer_8bit", If: func(c *ledger.Case) bool { return !lacking(c, "--use_8bit_adam") }, Title: "Use 8-bit Adam (--use_8bit_adam)", Steps: diffusersAdds(step.Change{Flag: "--use_8bit_adam"}), Cost: "Hardly any quality; needs bitsandbytes."}, {Fix: "use_lower_quant", If: wholeModel}, diffusersLean},
		Sources: []string{"diffusers/examples/text_to_image/train_text_to_image_sdxl.py"},
	},
	{
		ID: "diffusers-train/load", Kinds: parts.Refused, Said: []string{"transformer.to(accelerator.device", "unet.to(accelerator.device", "vae.to(accelerator.device", "text_encoder.to(accelerator.device", "text_encoder_one.to(accelerator.device", "text_encoder_two.to(accelerator.device"},
		If: parts.Own, Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory[[ ({total})]] while moving the model there, before training", Figures: pictures.Weighs,
		Means: "The weights did not fit, without any training.[[ {base}]] In 16 bit FLUX.1 takes 22 GiB and its T5 9 GiB more, SD 3.5 Large 15 GiB, SDXL 5 GiB; in 32 bit twice that.",
		Not:   "A smaller batch or resolution, 8-bit Adam: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "half_precision", If: func(c *ledger.Case) bool {
				s, _ := c.Setting("mixed_precision")
				return s.Value == "" || s.Value == "no"
			}, Title: "Load the frozen parts in 16 bit", Steps: diffusersAdds(step.Change{Flag: "--mixed_precision", Value: "bf16"}), Cost: "hardly any quality"},
			{Fix: "load_in_4bit", Title: "Train a LoRA on a model in 4 bit (QLoRA)", Kind: "text", Text: "FLUX: examples/research_projects/flux_lora_quantization of diffusers needs about 9 GB. Other trainers, such as AI Toolkit and OneTrainer, quantise while they load.", Cost: "hardly any quality; another script"},
			{Fix: "use_smaller_model", Title: "Train a smaller base model", Kind: "text", Text: "SDXL or SD 1.5, with their own scripts (train_dreambooth_lora_sdxl.py, train_dreambooth_lora.py).", Cost: "The result fits that model only."},
			lookFirst,
		},
		Sources: []string{"diffusers/examples/dreambooth/train_dreambooth_lora_flux.py", "diffusers/examples/research_projects/flux_lora_quantization/README.md"},
	},
	pictureStep("diffusers-train/step", []string{"train_dreambooth", "train_text_to_image", "train_controlnet", "train_instruct_pix2pix", "train_textual_inversion", "textual_inversion.py"},
		"By default the scripts train in 32 bit and keep all activations. Gradient checkpointing, 16 bit and 8-bit Adam together need a fraction of that.",
		"`--gradient_accumulation_steps` alone: the batch on the GPU stays the same.", "diffusers/examples/dreambooth/train_dreambooth.py",
		diffusersLean, cause.Cure{Fix: "lower_resolution", Title: "Lower --resolution", Steps: func(c *ledger.Case) []step.Step {
			return diffusersAdds(step.Change{Flag: "--resolution", Value: parts.Halved(c, "512", "resolution")})(c)
		}, Cost: "Less detail learned."}, cause.Cure{Fix: "use_lower_quant", If: wholeModel}),
}
