package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Pictures is what trainers of image models share: the frozen model is most of
// what fills a card, so that offloading and 8 bit help more than the batch.
var Pictures = program.Program{
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: pictureWork, cause.OversizedAllocation: pictureWork,
		cause.ModelTooLarge: pictureModel, cause.TrainingStateTooLarge: append([]cause.Remedy{{Fix: "optimizer_8bit", Fit: cause.Foremost}}, pictureModel...),
	},
	Titles: map[string]string{"lower_resolution": "Train at a lower resolution", "lowvram_mode": "Keep part of the model in system RAM", "use_lower_quant": "Load the base model in 8 bit"},
	Costs:  map[string]string{"lower_resolution": "Detail; 768 or 512 is enough for most styles.", "lowvram_mode": "Slower; much system memory.", "use_lower_quant": "Hardly any quality."},
}

var pictureWork = []cause.Remedy{
	{Fix: "gradient_checkpointing", Fit: cause.Cures},
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_resolution", Fit: cause.Cures},
	{Fix: "lowvram_mode", Fit: cause.Helps},
}

var pictureModel = []cause.Remedy{
	{Fix: "lowvram_mode", Fit: cause.Cures},
	{Fix: "use_lower_quant", Fit: cause.Cures},
	{Fix: "gradient_checkpointing", Fit: cause.Helps},
	{Fix: "optimizer_8bit", Fit: cause.MayHelp},
	{Fix: "lower_resolution", Fit: cause.MayHelp},
}

// OneTrainer has a window: everything is a field of a tab.
var OneTrainer = program.Program{
	Name: "onetrainer", Shown: "OneTrainer", Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{"OneTrainer/modules/util/enum/GradientCheckpointingMethod.py": "CPU_OFFLOADED", "OneTrainer/modules/util/enum/Optimizer.py": "ADAMW_8BIT ADAFACTOR"},
	Proofs:  []string{"OneTrainer/", "modules/trainer/GenericTrainer.py", "modules/modelSetup/", "modules/modelLoader/", ", smooth loss="},
	Steps: parts.Spelling{
		"gradient_checkpointing": step.Paste("ui", "Training tab: turn on Gradient Checkpointing for the transformer or UNet, and for the text encoders"),
		"lowvram_mode":           step.Paste("ui", "Training tab: set Gradient checkpointing to CPU_OFFLOADED, then Layer Offload Fraction to 0.5 (up to 0.9), and turn on Offload Activations if it is shown"),
		"lower_batch_size":       step.Paste("ui", "Training tab: Local Batch Size 1, Accumulation Steps 4"),
		"lower_resolution":       step.Paste("ui", "Training tab: Resolution 768, or 512"),
		"use_lower_quant":        step.Paste("ui", "Model tab: set the Data Type of the transformer (or Prior, UNet) to float8 (W8) or nfloat4, of the text encoders to float8"),
		"optimizer_8bit":         step.Paste("ui", "Training tab: Optimizer ADAMW_8BIT, or ADAFACTOR"),
		"lower_num_workers":      step.Paste("ui", "General tab: Dataloader Threads 1"),
	},
	Like:  []*program.Program{&Pictures},
	Cards: append([]cause.Card{calls.Saving("onetrainer", cause.Cure{Fix: "half_precision", Title: "Save it in 16 bit", Kind: "ui", Text: "Model tab: Output Data Type float16 or bfloat16", Cost: "none for making images"})}, oneTrainerCards...),
}

// AIToolkit is ostris' trainer: a YAML file, or the same fields in its page.
var AIToolkit = program.Program{
	Name: "ai-toolkit", Shown: "AI Toolkit",
	Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"ai-toolkit/config/examples/train_lora_flux_24gb.yaml": "quantize low_vram gradient_checkpointing resolution batch_size cache_latents_to_disk",
		"ai-toolkit/toolkit/config_modules.py":                 "layer_offloading layer_offloading_transformer_percent cache_text_embeddings unload_text_encoder",
	},
	Proofs: []string{"ai-toolkit/", "BaseSDTrainProcess.py", "extensions_built_in/sd_trainer", "OOM during training step", "s/it, lr: ", "it/s, lr: "},
	Hints:  []string{"Quantizing transformer", "Quantizing Transformer"}, Beside: map[string][]string{"s/it, lr: ": {"loss:"}, "it/s, lr: ": {"loss:"}},
	Steps: parts.Spelling{
		"gradient_checkpointing": parts.Config("train:\n  gradient_checkpointing: true"),
		"lowvram_mode":           parts.Config("model:\n  low_vram: true\n  layer_offloading: true   # in newer releases\n  layer_offloading_transformer_percent: 0.5"),
		"lower_batch_size":       parts.Config("train:\n  batch_size: 1\n  gradient_accumulation: 4"),
		"lower_resolution":       parts.Config("datasets:\n  - resolution: [512, 768]   # without 1024"),
		"use_lower_quant":        parts.Config("model:\n  quantize: true   # 8 bit\n  quantize_te: true"),
		"optimizer_8bit":         parts.Config("train:\n  optimizer: adamw8bit"),
	},
	Like:  []*program.Program{&Pictures},
	Cards: aiToolkitCards,
}

// DiffusersTrain are the example scripts of diffusers.
var DiffusersTrain = program.Program{
	Name: "diffusers-train", Shown: "diffusers' training script",
	Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"diffusers/examples/dreambooth/train_dreambooth_lora_flux.py":  "--train_batch_size --gradient_accumulation_steps --gradient_checkpointing --use_8bit_adam --mixed_precision --resolution --cache_latents --num_validation_images",
		"diffusers/examples/text_to_image/train_text_to_image_sdxl.py": "--enable_xformers_memory_efficient_attention",
		"diffusers/examples/dreambooth/train_dreambooth.py":            "--set_grads_to_none --pre_compute_text_embeddings --train_text_encoder",
	},
	Proofs: []string{"train_dreambooth_", `File "train_dreambooth.py`, "launch train_dreambooth.py", `File "train_controlnet.py`, "launch train_controlnet.py", `File "textual_inversion.py`, "launch textual_inversion.py", "train_text_to_image", "train_instruct_pix2pix", "train_t2i_adapter", "train_cogvideox", "train_unconditional.py", "examples/controlnet/train_controlnet", "examples/dreambooth/", "examples/text_to_image/", "train_textual_inversion", "examples/textual_inversion/"},
	Steps: parts.Spelling{
		"gradient_checkpointing": parts.Say("Add `--gradient_checkpointing`."),
		"lowvram_mode":           parts.Leaner("--gradient_checkpointing --use_8bit_adam --mixed_precision bf16", "Add `--gradient_checkpointing --use_8bit_adam --mixed_precision bf16`, and `--cache_latents` if the script has it. If that is not enough, use an accelerate config with DeepSpeed ZeRO-2 and optimizer offload."),
		"lower_batch_size":       parts.Say("Add `--train_batch_size 1 --gradient_accumulation_steps 4`."),
		"lower_resolution":       parts.Say("Lower `--resolution`: half of it takes about a quarter for activations."),
		"optimizer_8bit":         parts.Say("Add `--use_8bit_adam` (needs the package bitsandbytes; textual_inversion.py and train_unconditional.py do not have it)."),
		"mixed_precision":        parts.Say("Add `--mixed_precision bf16` (fp16 before RTX 30)."),
		"efficient_attention":    parts.Say("Add `--enable_xformers_memory_efficient_attention` if the script has it. With PyTorch 2 it gains little."),
		"use_lower_quant":        parts.Say("Use the LoRA variant of the script instead of training the full model. The base model then stays frozen in 16 bit."),
	},
	Titles: map[string]string{"use_lower_quant": "Train a LoRA instead of the whole model", "lowvram_mode": "Turn on checkpointing, 8-bit Adam and bf16"},
	Costs:  map[string]string{"use_lower_quant": "For most purposes the same.", "lowvram_mode": "Slower steps; the same result."},
	Like:   []*program.Program{&Pictures},
	Cards:  diffusersTrainCards,
}
