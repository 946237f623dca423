package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// fits is a card of a trainer of image models: of a step, or of what the log
// leaves open.
func fits(name, means, not, source string, cures ...string) cause.Card {
	k := stepOf(name, means, not, source, cures...)
	k.Headline = "ran out of GPU memory[[ {in}]][[: this run alone fills the {full} GPU]]"
	return k
}

// puts is a card on putting the model on the card.
func puts(name, means, not, source string, cures ...string) cause.Card {
	k := loadOf(name, means, not, source, cures...)
	k.Headline = "ran out of GPU memory while loading the model"
	return k
}

// Trainers of models that make pictures and films, and Ludwig and Second Me,
// which are set up without code.
var (
	// SimpleTuner is bghira's.
	SimpleTuner = program.Program{
		Name: "simpletuner", Shown: "SimpleTuner", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"SimpleTuner", "simpletuner/", "text encoders from orbit", "(helpers.training."},
		Sources: program.Sources{"SimpleTuner/documentation/OPTIONS.md": "--base_model_precision --quantize_via --gradient_checkpointing --train_batch_size --musubi_blocks_to_swap --ramtorch --enable_group_offload --offload_during_startup --resolution --optimizer"},
		Steps: spelling{
			"use_lower_quant":        say("Use `--base_model_precision=int8-quanto` with `--quantize_via=cpu`; for the smallest GPUs `int4-quanto`."),
			"gradient_checkpointing": say("Use `--gradient_checkpointing=true`."),
			"lowvram_mode":           say("Use `--musubi_blocks_to_swap=10` or more (models that support it), or `--ramtorch=true`. Weights then wait in RAM. Do not combine with `--enable_group_offload`."),
			"lower_batch_size":       say("Use `--train_batch_size=1`."),
			"lower_resolution":       say("In multidatabackend.json set `resolution` to 768 or 512. Then delete the cached VAE outputs."),
			"optimizer_8bit":         say("Use `--optimizer=bnb-adamw8bit`, or `optimi-lion` with bf16 weights."),
			"lower_num_workers":      say("Use `--offload_during_startup=true`. Text encoder and VAE then take turns on the GPU while data is cached."),
		},
		Titles: map[string]string{"lower_num_workers": "One model at a time while data is cached"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{
			puts("simpletuner", "Weights go to the GPU in 16 bit before they are quantised, unless `--quantize_via=cpu` does that in RAM. While data is cached, the text encoder and VAE are on the GPU too.", "A smaller batch or resolution: the model is loaded first.", "SimpleTuner/documentation/OPTIONS.md", "use_lower_quant", "lower_num_workers", "lowvram_mode"),
			fits("simpletuner", "The frozen base model takes most of the memory: 24 GB for Flux in 16 bit, half of that in int8. Without gradient checkpointing, the activations of every layer come on top.", "`--gradient_accumulation_steps`: it saves nothing for a batch of 1.", "SimpleTuner/documentation/OPTIONS.md", "gradient_checkpointing", "use_lower_quant", "lowvram_mode"),
		},
	}
	// DiffusionPipe is tdrussell's pipeline-parallel trainer on DeepSpeed.
	DiffusionPipe = program.Program{
		Name: "diffusion-pipe", Shown: "diffusion-pipe", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs: []string{"diffusion-pipe"},
		Sources: program.Sources{
			"diffusion-pipe/README.md":                  "blocks_to_swap activation_checkpointing pipeline_stages",
			"diffusion-pipe/examples/main_example.toml": "micro_batch_size_per_gpu",
			"diffusion-pipe/docs/supported_models.md":   "transformer_dtype",
		},
		Steps: spelling{
			"lowvram_mode":           config("blocks_to_swap = 20   # up to 32 and more, by the model; LoRA only"),
			"gradient_checkpointing": config("activation_checkpointing = 'unsloth'   # instead of true: kept in RAM"),
			"use_lower_quant":        config("[model]\ntransformer_dtype = 'float8'   # LoRA"),
			"lower_batch_size":       config("micro_batch_size_per_gpu = 1\ngradient_accumulation_steps = 4"),
			"lower_resolution":       say("In dataset.toml: `resolutions = [512]`, and for video a smaller entry in `frame_buckets`."),
			"shard_training":         say("Use `pipeline_stages = 2` on two GPUs: each then holds half of the layers."),
			"optimizer_8bit":         config("[optimizer]\ntype = 'AdamW8bitKahan'"),
		},
		Titles: map[string]string{"lowvram_mode": "Swap blocks to RAM (`blocks_to_swap`)", "gradient_checkpointing": "Keep activation checkpoints in RAM (`activation_checkpointing = 'unsloth'`)"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{
			ram.Unloading("diffusion-pipe/unloading", cause.Cure{Fix: "lowvram_mode", Title: "Swap fewer blocks, in 8 bit", Told: "Lower `blocks_to_swap` as far as the GPU allows. float8 halves each block:", Kind: "config", Text: "blocks_to_swap = 10   # lower than now\n[model]\ntransformer_dtype = 'float8'", Cost: "More VRAM; hardly any quality."}),
			puts("diffusion-pipe", "The transformer's weights are loaded in `transformer_dtype`: 28 GB for Wan 14B in 16 bit, half of that in float8. `pipeline_stages` divides them among several GPUs.", "A smaller batch or resolution: the model is loaded first.", "diffusion-pipe/docs/supported_models.md", "use_lower_quant", "lowvram_mode", "shard_training"),
			fits("diffusion-pipe", "The largest bucket (resolution times frames) needs the most memory, so training can run for a while and then fail on the first batch of that bucket.", "", "diffusion-pipe/README.md", "lowvram_mode", "gradient_checkpointing", "lower_resolution"),
		},
	}
	// FluxGym is a page over kohya's scripts.
	FluxGym = program.Program{
		Name: "fluxgym", Shown: "FluxGym", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"fluxgym/", "fluxgym.git/sd-scripts/", "fluxgym.git/app.py", "fluxgym.git/env/"},
		Sources: program.Sources{"fluxgym/app.py": "VRAM --split_mode"},
		Steps: spelling{
			"lowvram_mode":     say("In its page choose VRAM 16G, or 12G, which trains only the single blocks (`--split_mode`)."),
			"lower_resolution": say("In its page set Resize dataset images to 512."),
			"use_lower_quant":  say("It loads Flux in fp8 already. If not, tick `fp8_base` in Advanced options."),
		},
		Titles: map[string]string{"lowvram_mode": "Choose a smaller VRAM setting"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{fits("fluxgym", "The VRAM setting selects the optimizer and how much is trained: 20G uses 8-bit AdamW, 16G Adafactor, 12G trains only the single blocks. Windows and a browser take 1 to 2 GB, so choose the setting below your GPU's size.",
			"", "fluxgym/app.py", "lowvram_mode", "lower_resolution")},
	}
	// DiffSynth is ModelScope's studio, with training scripts of its own.
	DiffSynth = program.Program{
		Name: "diffsynth", Shown: "DiffSynth-Studio", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"diffsynth/", "DiffSynth-Studio"},
		Sources: program.Sources{"DiffSynth-Studio/diffsynth/diffusion/parsers.py": "--max_pixels --use_gradient_checkpointing_offload --fp8_models --offload_models --height --width", "DiffSynth-Studio/README.md": "vram_limit vram_config"},
		Steps: spelling{
			"gradient_checkpointing": say("Add `--use_gradient_checkpointing_offload` to your command. The checkpoints then wait in RAM."),
			"use_lower_quant":        say("Training: `--fp8_models PATH` for frozen models, `--offload_models` for models that only prepare the data."),
			"lower_resolution":       say("Use `--max_pixels 262144` (1048576 by default), or a smaller `--height` and `--width`; in video fewer frames."),
			"lowvram_mode":           say("Pass `**vram_config` with offload_device \"cpu\" to each ModelConfig. Pass `vram_limit=` to the pipeline, a few GB below the GPU's size. Its README has an example."),
			"vae_tiling":             say("Use `tiled=True` in the call of the pipeline."),
		},
		Titles: map[string]string{"lowvram_mode": "Turn on its memory management (`vram_limit`)"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{
			trainOf("diffsynth", "The frozen model and the activations of one picture or clip fill the GPU. `--max_pixels` limits the size of a frame.", "", "DiffSynth-Studio/diffsynth/diffusion/parsers.py", "gradient_checkpointing", "lower_resolution", "use_lower_quant"),
			titled("lower_resolution", "Make a smaller picture, or fewer frames", "detail", useOf("diffsynth", "while making a picture or clip", "By default all models of the pipeline are on the GPU at the same time. With `vram_limit` they stay in RAM or on disk until needed.", "Fewer steps: each step needs the same memory.", "DiffSynth-Studio/README.md", "lowvram_mode", "vae_tiling", "lower_resolution")),
		},
	}
	// Ludwig is set up by a file.
	Ludwig = program.Program{
		Name: "ludwig", Shown: "Ludwig", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"ludwig"},
		Proofs:  []string{"ludwig/trainers/", "ludwig/models/", "ludwig/encoders/", "ludwig/utils/", "-packages/ludwig/"},
		Sources: program.Sources{"ludwig/ludwig/schema/trainer.py": "batch_size max_batch_size gradient_accumulation_steps enable_gradient_checkpointing", "ludwig/ludwig/schema/llms/quantization.py": "quantization bits", "ludwig/ludwig/schema/metadata/configs/preprocessing.yaml": "global_max_sequence_length"},
		Steps: spelling{
			"lower_batch_size":       config("trainer:\n  batch_size: 1\n  gradient_accumulation_steps: 16"),
			"gradient_checkpointing": config("trainer:\n  enable_gradient_checkpointing: true"),
			"lower_context":          config("preprocessing:\n  global_max_sequence_length: 512"),
			"load_in_4bit":           config("adapter:\n  type: lora\nquantization:\n  bits: 4"),
			"use_lora":               config("adapter:\n  type: lora\nquantization:\n  bits: 4"),
		},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("ludwig", "Without `quantization` the weights take 2 to 4 bytes per parameter. Without an `adapter`, gradients and optimizer state come on top.", "`batch_size`: the model is loaded first.", "ludwig/ludwig/schema/llms/quantization.py", "load_in_4bit", "use_smaller_model"),
			stepOf("ludwig", "With `batch_size: auto` Ludwig searches for the largest batch that runs, which can be too large for longer samples; set a number instead. `global_max_sequence_length` limits the length of samples.", "", "ludwig/ludwig/schema/trainer.py", "lower_batch_size", "lower_context", "load_in_4bit"),
		},
	}
	// SecondMe trains a small model on one's own notes, from a page.
	SecondMe = program.Program{
		Name: "second-me", Shown: "Second Me", Work: "text-training", Edits: "flags", Language: "python",
		Proofs:  []string{"lpm_kernel/", "mindverse/second-me", "second-me-backend"},
		Units:   []string{"second-me-backend"},
		Sources: program.Sources{"Second-Me/lpm_kernel/L2/train.py": "model"},
		Steps: spelling{
			"use_smaller_model": say("Before training, choose a smaller Base Model in its page: Qwen2.5-0.5B-Instruct first, then 1.5B."),
			"lower_parallel":    say("Set Concurrency threads to 1 in the training parameters."),
		},
		Titles: map[string]string{"use_smaller_model": "Choose a smaller base model"}, Costs: map[string]string{"use_smaller_model": "Plainer answers."},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{while(stepOf("second-me", "It trains a LoRA on the Qwen2.5 model that you chose. Its 16-bit weights take 2 GB per billion parameters, and each step needs more for its large vocabulary.",
			"", "Second-Me/lpm_kernel/L2/train.py", "use_smaller_model", "close_other_apps"), "while training your model")},
	}
)
