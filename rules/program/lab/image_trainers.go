package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
)

// fits is a card of a trainer of image models: of a step, or of what the log
// leaves open.
func fits(name, means, not, source string, cures ...string) cause.Card {
	k := stepOf(name, means, not, source, cures...)
	k.Headline = "ran out of GPU memory[[ {in}]][[: it fills the {full} card by itself]]"
	return k
}

// puts is a card on putting the model on the card.
func puts(name, means, not, source string, cures ...string) cause.Card {
	k := loadOf(name, means, not, source, cures...)
	k.Headline = "ran out of GPU memory while it put the model on the GPU"
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
			"use_lower_quant":        say("`--base_model_precision=int8-quanto` with `--quantize_via=cpu`; `int4-quanto` for the smallest cards."),
			"gradient_checkpointing": say("`--gradient_checkpointing=true`."),
			"lowvram_mode":           say("`--musubi_blocks_to_swap=10` or more (models that have it), or `--ramtorch=true`: weights then wait in RAM. Not together with `--enable_group_offload`."),
			"lower_batch_size":       say("`--train_batch_size=1`."),
			"lower_resolution":       say("In multidatabackend.json: `resolution` 768 or 512, then delete the caches of VAE outputs."),
			"optimizer_8bit":         say("`--optimizer=bnb-adamw8bit`, or `optimi-lion` with bf16 weights."),
			"lower_num_workers":      say("`--offload_during_startup=true`: text encoder and VAE are then on the GPU in turn while data is cached."),
		},
		Titles: map[string]string{"lower_num_workers": "One model at a time while data is cached"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{
			puts("simpletuner", "Weights go to the GPU at 16 bit before they are quantised, unless `--quantize_via=cpu` does that in RAM; while data is cached, text encoder and VAE are there as well.", "A smaller batch or resolution: the model is loaded first.", "SimpleTuner/documentation/OPTIONS.md", "use_lower_quant", "lower_num_workers", "lowvram_mode"),
			fits("simpletuner", "The frozen base model is most of what fills a card: 24 GB for Flux at 16 bit, half of that at int8. Without gradient checkpointing every layer's activations come on top.", "`--gradient_accumulation_steps`: it saves nothing for a batch of 1.", "SimpleTuner/documentation/OPTIONS.md", "gradient_checkpointing", "use_lower_quant", "lowvram_mode"),
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
			"shard_training":         say("`pipeline_stages = 2` for every two cards: each GPU then holds half of the layers."),
			"optimizer_8bit":         config("[optimizer]\ntype = 'AdamW8bitKahan'"),
		},
		Titles: map[string]string{"lowvram_mode": "Swap blocks to RAM (`blocks_to_swap`)", "gradient_checkpointing": "Keep the checkpoints in RAM (`activation_checkpointing = 'unsloth'`)"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{
			ram.Unloading("diffusion-pipe/unloading", cause.Cure{Fix: "lowvram_mode", Title: "Swap fewer blocks, at 8 bit", Told: "A lower `blocks_to_swap`, as far as the GPU allows; float8 halves what each block takes:", Kind: "config", Text: "blocks_to_swap = 10   # lower than now\n[model]\ntransformer_dtype = 'float8'", Cost: "More VRAM; hardly any quality."}),
			puts("diffusion-pipe", "The transformer's weights go to the GPUs as `transformer_dtype` says: 28 GB for Wan 14B at 16 bit, half of that at float8. `pipeline_stages` divides them among cards.", "A smaller batch or resolution: the model is loaded first.", "diffusion-pipe/docs/supported_models.md", "use_lower_quant", "lowvram_mode", "shard_training"),
			fits("diffusion-pipe", "The largest bucket decides, resolution times frames, so it can fail when the first batch of that bucket comes.", "", "diffusion-pipe/README.md", "lowvram_mode", "gradient_checkpointing", "lower_resolution"),
		},
	}
	// FluxGym is a page over kohya's scripts.
	FluxGym = program.Program{
		Name: "fluxgym", Shown: "FluxGym", Work: "image-generation", Edits: "flags", Language: "python",
		Proofs:  []string{"fluxgym/", "fluxgym.git/sd-scripts/", "fluxgym.git/app.py", "fluxgym.git/env/"},
		Sources: program.Sources{"fluxgym/app.py": "VRAM --split_mode"},
		Steps: spelling{
			"lowvram_mode":     say("In its page: VRAM 12G (it trains the single blocks alone, in two halves: `--split_mode`), or 16G."),
			"lower_resolution": say("In its page: Resize dataset images 512."),
			"use_lower_quant":  say("It loads Flux at fp8 already; Advanced options: tick `fp8_base` if it is not."),
		},
		Titles: map[string]string{"lowvram_mode": "Choose the VRAM entry of a smaller card"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{fits("fluxgym", "The VRAM entry chooses the optimizer and how much is trained: 20G AdamW 8 bit, 16G Adafactor, 12G the single blocks alone. Windows and a browser take 1 to 2 GB of the GPU, so take the entry below it.",
			"", "fluxgym/app.py", "lowvram_mode", "lower_resolution")},
	}
	// DiffSynth is ModelScope's studio, with training scripts of its own.
	DiffSynth = program.Program{
		Name: "diffsynth", Shown: "DiffSynth-Studio", Work: "image-generation", Edits: "code", Language: "python",
		Proofs:  []string{"diffsynth/", "DiffSynth-Studio"},
		Sources: program.Sources{"DiffSynth-Studio/diffsynth/diffusion/parsers.py": "--max_pixels --use_gradient_checkpointing_offload --fp8_models --offload_models --height --width", "DiffSynth-Studio/README.md": "vram_limit vram_config"},
		Steps: spelling{
			"gradient_checkpointing": say("Add `--use_gradient_checkpointing_offload` to your command: the checkpoints then wait in RAM."),
			"use_lower_quant":        say("Training: `--fp8_models PATH` for the frozen ones, `--offload_models` for those that only prepare the data."),
			"lower_resolution":       say("`--max_pixels 262144` (1048576 by default), or a smaller `--height` and `--width`; in video fewer frames."),
			"lowvram_mode":           say("In use: pass `**vram_config` with offload_device \"cpu\" to each ModelConfig, and `vram_limit=` some GB below the GPU's size to the pipeline, as its README shows."),
			"vae_tiling":             say("`tiled=True` in the call of the pipeline."),
		},
		Titles: map[string]string{"lowvram_mode": "Turn on its memory management (`vram_limit`)"},
		Like:   []*program.Program{&trainer.Pictures},
		Cards: []cause.Card{
			trainOf("diffsynth", "The frozen model and the activations of one picture or clip fill the GPU; `--max_pixels` bounds a frame.", "", "DiffSynth-Studio/diffsynth/diffusion/parsers.py", "gradient_checkpointing", "lower_resolution", "use_lower_quant"),
			useOf("diffsynth", "while it made a picture or clip", "Unless told otherwise all models of the pipeline are on the GPU together. With `vram_limit` they stay in RAM or on disk and pass through.", "Fewer steps: each needs the same.", "DiffSynth-Studio/README.md", "lowvram_mode", "vae_tiling", "lower_resolution"),
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
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			loadOf("ludwig", "Without `quantization` the weights take 2 to 4 bytes a parameter; without an `adapter` gradients and optimizer come on top.", "`batch_size`: the model is loaded first.", "ludwig/ludwig/schema/llms/quantization.py", "load_in_4bit", "use_smaller_model"),
			stepOf("ludwig", "With `batch_size: auto` Ludwig looks for the largest that runs, on samples that can be shorter than the longest; set a number instead. Samples are as long as their features allow unless `global_max_sequence_length` bounds them.", "", "ludwig/ludwig/schema/trainer.py", "lower_batch_size", "lower_context", "load_in_4bit"),
		},
	}
	// SecondMe trains a small model on one's own notes, from a page.
	SecondMe = program.Program{
		Name: "second-me", Shown: "Second Me", Work: "text-training", Edits: "flags", Language: "python",
		Proofs:  []string{"lpm_kernel/", "mindverse/second-me", "second-me-backend"},
		Units:   []string{"second-me-backend"},
		Sources: program.Sources{"Second-Me/lpm_kernel/L2/train.py": "model"},
		Steps: spelling{
			"use_smaller_model": say("In its page, before training: a smaller Base Model, Qwen2.5-0.5B-Instruct, then 1.5B."),
			"lower_parallel":    say("Concurrency threads 1 in the training parameters."),
		},
		Titles: map[string]string{"use_smaller_model": "Choose a smaller base model"}, Costs: map[string]string{"use_smaller_model": "Plainer answers."},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{while(stepOf("second-me", "It trains a LoRA on the chosen Qwen2.5 with gradient checkpointing, so the base model decides: its 16-bit weights take 2 GB for each billion parameters, and its large vocabulary comes on top in each step.",
			"", "Second-Me/lpm_kernel/L2/train.py", "use_smaller_model", "close_other_apps"), "while it trained your model")},
	}
)
