package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// Repositories that people train language models with, each with options of its
// own.
var (
	// NanoGPT is Karpathy's, and what is made from it; options are globals of
	// train.py, set on the command line.
	NanoGPT = program.Program{
		Name: "nanogpt", Shown: "nanoGPT", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"nanoGPT/train.py": "--batch_size --gradient_accumulation_steps --block_size --n_layer --n_embd --n_head --dtype --compile --device", "nanoGPT/README.md": "--init_from"},
		Proofs:  []string{"nanoGPT/", "nanogpt/", "build-nanogpt/"},
		Steps: spelling{
			"lower_batch_size":  say("Use `--batch_size=4` and raise `--gradient_accumulation_steps` in the same proportion (defaults 12 and 40)."),
			"lower_context":     say("Use `--block_size=512` (1024 in GPT-2). Attention and activations shrink with it."),
			"mixed_precision":   say("Use `--dtype=bfloat16`, or `float16` on GPUs before RTX 30. The default picks the better one already."),
			"use_smaller_model": say("From scratch: `--n_layer=6 --n_head=6 --n_embd=384`. Finetuning: `--init_from=gpt2` (124 M) instead of gpt2-xl (1.5 B)."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size, accumulate gradients", "lower_context": "Lower `block_size`"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("nanogpt",
			"Activations grow with `batch_size` x `block_size` x layers. With GPT-2's vocabulary of 50,304 the logits alone can take 2.3 GiB for the default 12 x 1024, and as much for their gradient.",
			"", "nanoGPT/train.py",
			"lower_batch_size", "lower_context", "use_smaller_model")},
	}
	// LitGPT is Lightning's, with lit-gpt and lit-llama before it.
	LitGPT = program.Program{
		Name: "litgpt", Shown: "LitGPT", Work: "text-training", Edits: "code", Language: "python", Commands: []string{"litgpt"},
		Sources: program.Sources{
			"litgpt/README.md":               "--train",
			"litgpt/litgpt/args.py":          "--train.micro_batch_size --train.max_seq_length --train.global_batch_size",
			"litgpt/litgpt/finetune/lora.py": "--quantize --precision --devices",
			"litgpt/tutorials/oom.md":        "--data.max_seq_length",
		},
		Proofs: []string{"litgpt/", "lit_gpt/", "lit-gpt/", "lit_llama/", "lit-llama/", "litgpt finetune", "litgpt generate ", "litgpt chat ", "litgpt pretrain ", "litgpt convert", ", iter time: ", "| iter time: "}, Beside: map[string][]string{", iter time: ": {"ms"}, "| iter time: ": {"ms"}},
		Steps: spelling{
			"lower_batch_size":  say("Use `--train.micro_batch_size 1`. Leave `--train.global_batch_size`: it accumulates. Older lit-gpt: `micro_batch_size = 1` at the top of the script."),
			"lower_context":     say("Use `--train.max_seq_length 512`, or half of the present value. The default is the longest sample of the data set."),
			"load_in_4bit":      say("Use `--quantize bnb.nf4 --precision bf16-true` (for finetune_lora, generate and chat, on one GPU)."),
			"half_precision":    say("Use `--precision bf16-true`. It takes half of 32-true, and keeps no 32-bit copy as bf16-mixed does."),
			"use_lora":          say("Use `litgpt finetune_lora` instead of `finetune_full`; with `--quantize bnb.nf4 --precision bf16-true` it is QLoRA."),
			"shard_training":    say("Use `--devices 4`. FSDP then splits weights and optimizer over the GPUs. It does not work with `--quantize`."),
			"use_smaller_model": say("Take the next smaller checkpoint of the family. `litgpt download list` shows them."),
		},
		Titles: map[string]string{"lower_context": "Lower `max_seq_length`"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("litgpt", "The weights take 2 bytes per parameter in bf16-true, 4 in 32-true, about 0.7 in nf4.", "A smaller `micro_batch_size`: it failed while loading the model.", "litgpt/tutorials/quantize.md", "load_in_4bit", "half_precision", "shard_training"),
			stepOf("litgpt",
				"A step processes `micro_batch_size` samples, and one long sample is enough to fill the GPU.[[ {asked} would be {tokens128} tokens with Llama 3's vocabulary of 128,000 in 32 bit.]]",
				"A smaller `global_batch_size`: only the micro-batch is on the GPU.", "litgpt/tutorials/oom.md",
				"lower_context", "lower_batch_size", "use_lora"),
			useOf("litgpt", "while generating", "The weights take 2 bytes per parameter in bf16-true (8B: 16 GB), about 0.7 in nf4. The KV cache for prompt and answer comes on top.", "Fewer new tokens: the weights take most of the memory.", "litgpt/tutorials/quantize.md", "load_in_4bit", "half_precision", "use_smaller_model"),
			{
				ID: "litgpt/ram", Kinds: parts.RAMGone, Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "ran out of system memory (RAM)",
				Means:    "Checkpoints pass through RAM. A conversion collects all weights before it saves them: 2 GB per billion parameters in 16 bit (70B: 140 GB), twice that in 32 bit.",
				Cures:    []cause.Cure{{Fix: "add_swap"}, {Fix: "use_smaller_model"}}, Sources: []string{"litgpt/README.md"},
			},
		},
	}
	// GPTNeoX is EleutherAI's trainer on DeepSpeed and Megatron.
	GPTNeoX = program.Program{
		Name: "gpt-neox", Shown: "GPT-NeoX", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{"gpt-neox/configs/1-3B.yml": "train_micro_batch_size_per_gpu seq_length checkpoint_activations zero_optimization", "gpt-neox/configs/neox_arguments.md": "model_parallel_size pipe_parallel_size"},
		Proofs:  []string{"gpt-neox/", "deepy.py", "megatron/neox_arguments/", "GPT2ModelPipe"},
		Steps: spelling{
			"lower_batch_size":       config("\"train_micro_batch_size_per_gpu\": 1,\n\"gradient_accumulation_steps\": 8"),
			"lower_context":          config("\"seq_length\": 1024,\n\"max_position_embeddings\": 1024"),
			"gradient_checkpointing": config("\"checkpoint_activations\": true,\n\"checkpoint_num_layers\": 1,\n\"partition_activations\": true"),
			"shard_training":         config("\"pipe_parallel_size\": 2,      # layers over 2 GPUs\n\"model_parallel_size\": 2,     # each layer over 2 GPUs; NVLink\n\"zero_optimization\": {\"stage\": 1}"),
			"offload_optimizer":      config("\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true}   # needs pipe_parallel_size 0"),
		},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("gpt-neox", "It failed while setting up the model and optimizer. They take about 16 to 18 bytes per parameter, divided by pipeline x model parallel size.", "A smaller `train_micro_batch_size_per_gpu`: weights and optimizer state do not depend on it.", "gpt-neox/configs/README.md", "shard_training", "offload_optimizer", "use_smaller_model"),
			stepOf("gpt-neox",
				"Activations grow with `train_micro_batch_size_per_gpu` x `seq_length`. With pipeline parallelism the first stage holds several micro-batches. Weights and optimizer state take 16 to 18 bytes per parameter, divided by the parallel sizes and ZeRO.",
				"A smaller `train_batch_size`: only the micro-batch is on the GPU.", "gpt-neox/configs/neox_arguments.md",
				"gradient_checkpointing", "lower_batch_size", "shard_training"),
		},
	}
	// Composer is MosaicML's trainer.
	Composer = program.Program{
		Name: "composer", Shown: "Composer", Work: "text-training", Edits: "flags", Language: "python", Rank: 62,
		Sources: program.Sources{"llm-foundry/scripts/train/yamls/pretrain/mpt-7b.yaml": "FULL_SHARD", "composer/composer/trainer/trainer.py": "device_train_microbatch_size"},
		Proofs:  []string{"composer/trainer/", "composer/core/", "composer/algorithms/", "The train loop failed with an internal microbatch of size 1", "Train microbatch size will be decreased from"},
		Steps: spelling{
			"lower_batch_size":       config("device_train_microbatch_size: 1   # or auto; the global batch stays\ndevice_eval_batch_size: 1"),
			"lower_context":          config("max_seq_len: 1024"),
			"gradient_checkpointing": config("fsdp_config:\n  activation_checkpointing: true\n  activation_checkpointing_reentrant: false\n  activation_cpu_offload: true   # saves more, slower"),
			"shard_training":         config("fsdp_config:\n  sharding_strategy: FULL_SHARD\n  mixed_precision: PURE"),
		},
		Titles: map[string]string{"lower_batch_size": "Set the micro-batch size to 1"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			saying(stepOf("composer",
				"Composer had already halved the micro-batch down to one sample, and even that does not fit. You can still shorten samples, keep fewer activations, or spread weights and optimizer state over more GPUs.",
				"A smaller global batch or micro-batch: the micro-batch is already 1.", "composer/composer/trainer/trainer.py",
				"gradient_checkpointing", "lower_context", "shard_training"), "composer/one", "internal microbatch of size 1"),
			stepOf("composer",
				"Memory depends on `device_train_microbatch_size`, the samples in one forward pass. If you start it with `python` instead of `composer`, it runs on one GPU and shards nothing.",
				"A smaller `global_train_batch_size`: it changes the result, not the memory.", "llm-foundry/TUTORIAL.md",
				"lower_batch_size", "gradient_checkpointing", "shard_training"),
		},
	}
	// LLMFoundry is MosaicML's recipes on Composer.
	LLMFoundry = program.Program{
		Name: "llm-foundry", Shown: "LLM Foundry", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{"llm-foundry/scripts/train/yamls/finetune/mpt-7b_dolly_sft.yaml": "FULL_SHARD", "llm-foundry/scripts/train/yamls/pretrain/mpt-7b.yaml": "device_train_microbatch_size activation_checkpointing fsdp_config", "llm-foundry/TUTORIAL.md": "device_eval_batch_size"},
		Proofs:  []string{"llmfoundry/", "llm-foundry/"},
		Steps:   Composer.Steps, Titles: Composer.Titles,
		Like: []*program.Program{&Composer, &parts.LanguageModels},
		Cards: []cause.Card{stepOf("llm-foundry",
			"Memory depends on `device_train_microbatch_size` x `max_seq_len`. If you start it with `python train.py` instead of `composer train/train.py`, it runs on one GPU and FSDP shards nothing.",
			"A smaller `global_train_batch_size`: it changes the result, not the memory.", "llm-foundry/TUTORIAL.md",
			"lower_batch_size", "gradient_checkpointing", "lower_context")},
	}
	// StanfordAlpaca trains all weights with the Trainer of Transformers.
	StanfordAlpaca = program.Program{
		Name: "stanford_alpaca", Shown: "Stanford Alpaca", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"pytorch/torch/distributed/run.py": "--nproc_per_node", "stanford_alpaca/README.md": "--per_device_train_batch_size --gradient_accumulation_steps --fsdp --deepspeed --bf16 --fsdp_transformer_layer_cls_to_wrap", "stanford_alpaca/train.py": "--model_max_length", "transformers/training_args.py": "--gradient_checkpointing"},
		Proofs:  []string{"stanford_alpaca/", "stanford-alpaca/"},
		Steps: spelling{
			"lower_batch_size":       say("Use `--per_device_train_batch_size 1 --gradient_accumulation_steps 32` (the README has 4 and 8)."),
			"lower_context":          say("Use `--model_max_length 256` (default 512). Longer samples are cut."),
			"gradient_checkpointing": say("Add `--gradient_checkpointing True`."),
			"offload_optimizer":      say("Use `--deepspeed ./configs/default_offload_opt_param.json` instead of both `--fsdp` options, or `--fsdp \"full_shard auto_wrap offload\"`."),
			"shard_training":         say("Start it with `torchrun --nproc_per_node=4` and `--fsdp \"full_shard auto_wrap\" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer` (`LLaMADecoderLayer` in Transformers of March 2023: a wrong name wraps nothing)."),
			"use_lora":               say("This script trains all weights. On one GPU use alpaca-lora or the peft library: about 16 GB for 7B in 8 bit."),
		},
		Titles: map[string]string{"offload_optimizer": "Offload weights and optimizer to RAM"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("stanford_alpaca",
			"The script trains all weights. For 7B that takes about 112 GB before activations, split over the GPUs by FSDP. It was made for 4 GPUs with 80 GB each.",
			"", "stanford_alpaca/README.md",
			"offload_optimizer", "shard_training", "use_lora")},
	}
	// AlpacaLoRA is tloen's, and its many forks.
	AlpacaLoRA = program.Program{
		Name: "alpaca-lora", Shown: "Alpaca-LoRA", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"alpaca-lora/finetune.py": "--micro_batch_size --batch_size --cutoff_len --lora_target_modules", "alpaca-lora/generate.py": "--load_8bit"},
		Proofs:  []string{"alpaca-lora/", "Training Alpaca-LoRA model with params"},
		Steps: spelling{
			"lower_batch_size":       say("Use `--micro_batch_size 1` (default 4). Leave `--batch_size 128`: it accumulates."),
			"lower_context":          say("Use `--cutoff_len 256`, the default. Forks use 512 and more."),
			"load_in_8bit":           say("For generating add `--load_8bit`. Training loads in 8 bit already."),
			"load_in_4bit":           say("This script has only 8 bit. For 4 bit use qlora.py or the peft library."),
			"gradient_checkpointing": say("`prepare_model_for_int8_training(model)` in finetune.py turns it on: leave it in, and `model.config.use_cache = False`."),
		},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("alpaca-lora", "In 8 bit the base model takes about 1 GB per billion parameters (7B: 7 to 8 GB in all). `generate.py` loads it in 16 bit by default, twice that.", "A smaller `--micro_batch_size`: it failed while loading the model.", "alpaca-lora/generate.py", "load_in_8bit", "use_smaller_model"),
			stepOf("alpaca-lora",
				"The frozen base model is loaded in 8 bit. The rest grows with `micro_batch_size` x `cutoff_len`.",
				"A smaller `--batch_size`: it only changes accumulation.", "alpaca-lora/finetune.py",
				"lower_batch_size", "lower_context", "use_smaller_model")},
	}
	// QLoRA is the script of the paper.
	QLoRA = program.Program{
		Name: "qlora", Shown: "qlora.py", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"qlora/qlora.py": "--full_finetune --source_max_len --target_max_len --per_device_train_batch_size --gradient_accumulation_steps --max_memory_MB --bits --optim --gradient_checkpointing --eval_dataset_size --max_eval_samples --mmlu_source_max_len --do_mmlu_eval --bf16", "qlora/scripts/finetune.sh": "--per_device_eval_batch_size"},
		Proofs:  []string{"/qlora.py", "qlora/scripts/", "qlora/qlora"},
		Steps: spelling{
			"lower_batch_size":       say("Use `--per_device_train_batch_size 1 --gradient_accumulation_steps 16` (the defaults). For evaluation: `--per_device_eval_batch_size 1`."),
			"lower_context":          say("Use `--source_max_len 512 --target_max_len 256` (defaults 1024 and 256); with `--do_mmlu_eval` also `--mmlu_source_max_len 1024`."),
			"load_in_4bit":           say("4 bit is the default: remove `--bits 16` or `--full_finetune` from your command."),
			"gradient_checkpointing": say("Leave `--gradient_checkpointing True`, the default."),
			"optimizer_8bit":         say("Leave `--optim paged_adamw_32bit`, the default: it moves to RAM when the GPU is full."),
			"shard_training":         say("Plain `python qlora.py` spreads the layers over all visible GPUs (`device_map=\"auto\"`), each up to `--max_memory_MB` (default 80000)."),
		},
		Titles: map[string]string{"load_in_4bit": "Load it in 4 bit (`--bits 4`)"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("qlora", "In 4 bit the base model takes about 0.6 GB per billion parameters, more with higher `--bits`. `--max_memory_MB` (default 80000) is how much of each GPU it plans to use.", "A smaller `--source_max_len`: it failed while loading the model.", "qlora/qlora.py", "load_in_4bit", "shard_training", "use_smaller_model"),
			stepOf("qlora",
				"The base model is in 4 bit by default, so activations matter most: batch size x (`source_max_len` + `target_max_len`). The logits take tokens x vocabulary in 32 bit.[[ {asked} would be {tokens128} tokens with a vocabulary of 128,000.]]",
				"", "qlora/qlora.py",
				"lower_context", "lower_batch_size", "use_smaller_model"),
		},
	}
	// ChatGLM are the repositories of ChatGLM-6B to ChatGLM3.
	ChatGLM = program.Program{
		Name: "chatglm", Shown: "ChatGLM", Work: "text-inference", Edits: "code", Language: "python",
		Sources: program.Sources{"ChatGLM-6B/README_en.md": "quantize", "ChatGLM-6B/ptuning/train.sh": "--quantization_bit --per_device_train_batch_size --gradient_accumulation_steps --max_source_length --max_target_length --pre_seq_len"},
		Proofs:  []string{"ChatGLM-6B/", "ChatGLM2-6B/", "ChatGLM3/", "chatglm-6b/", "chatglm2-6b/", "chatglm3-6b/", "ptuning/main.py", "ptuning/trainer.py", "ptuning/trainer_seq2seq.py"},
		Hints:   []string{"modeling_chatglm.py"},
		Steps: spelling{
			"load_in_4bit":     step4bit,
			"load_in_8bit":     step8bit,
			"lower_context":    lessTalk,
			"lower_batch_size": say("Use `--per_device_train_batch_size 1 --gradient_accumulation_steps 16`."),
			"cpu_offload":      say("`AutoModel.from_pretrained(\"THUDM/chatglm-6b\", trust_remote_code=True).float()` runs on the CPU in about 32 GB of RAM; the int4 checkpoint takes 5.2 GB."),
			"multi_gpu":        say("Use `from utils import load_model_on_gpus` and `model = load_model_on_gpus(\"THUDM/chatglm-6b\", num_gpus=2)` (utils.py is in the repository)."),
			"use_lora":         say("Run `bash train.sh` in the folder ptuning with `--pre_seq_len 128 --quantization_bit 4`. P-Tuning v2 trains only a prefix and fits into 7 GB."),
			"shard_training":   say("To train all weights: `bash ds_train_finetune.sh` (4 GPUs; ZeRO in deepspeed.json)."),
		},
		Titles: map[string]string{"lower_context": "Shorten the chat history or the samples", "use_lora": "Train with P-Tuning on a 4-bit model"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			loadOf("chatglm", "ChatGLM-6B takes 13 GB in 16 bit, 10 GB in 8 bit and 6 GB in 4 bit, its README says. `quantize()` first loads the 16-bit weights into RAM (13 GB), unless you load the int4 checkpoint.", "A shorter conversation: the model is loaded first.", "ChatGLM-6B/README_en.md", "load_in_4bit", "multi_gpu", "cpu_offload"),
			{
				ID: "chatglm/tune", Kinds: cardFull, If: trainsAlone, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: phaseFigures,
				Headline: "ran out of GPU memory in a training step",
				Means:    "P-Tuning trains only a prefix, but the 16-bit base model takes 13 GB. Batch size x (`max_source_length` + `max_target_length`) comes on top. With `--quantization_bit 4`, 7 GB are enough. Training all weights takes several GPUs.",
				Not:      "A smaller `--pre_seq_len`: the prefix is small.",
				Cures:    fixes("use_lora", "lower_batch_size", "lower_context"), Sources: []string{"ChatGLM-6B/ptuning/README_en.md"},
			},
			titled("lower_context", "Shorten the chat history", "it forgets earlier turns", useOf("chatglm", "while answering", "Each turn passes the whole conversation to the model again, so memory grows with every question. For ChatGLM-6B the README lists 10 GB in 8 bit and 6 GB in 4 bit after two or three turns.", "", "ChatGLM-6B/README_en.md", "lower_context", "load_in_4bit", "cpu_offload")),
		},
	}
	// XTuner is InternLM's.
	XTuner = program.Program{
		Name: "xtuner", Shown: "XTuner", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"xtuner"},
		Sources:  program.Sources{"xtuner/xtuner/tools/train.py": "--deepspeed", "xtuner/xtuner/configs/internlm/internlm2_5_chat_7b/internlm2_5_chat_7b_qlora_alpaca_e3.py": "pretrained_model_name_or_path max_length batch_size accumulative_counts sequence_parallel_size"},
		Proofs:   []string{"xtuner/", "xtuner train ", "xtuner convert ", "xtuner chat "},
		TakenFor: []string{"mmengine"},
		Remedies: map[string][]cause.Remedy{cause.ModelTooLarge: {{Fix: "shard_training", Fit: cause.Foremost}, {Fix: "use_lora", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Helps}}},
		Steps: spelling{
			"lower_batch_size":  config("batch_size = 1  # per_device, in the config\naccumulative_counts = 16"),
			"lower_context":     config("max_length = 1024         # in the config; XTuner 1: pack_max_length instead\npack_to_max_length = True # False for single samples, which are mostly shorter"),
			"shard_training":    say("Use `--deepspeed deepspeed_zero3` in your `xtuner train` command. For long samples on several GPUs also set `sequence_parallel_size = 2` in the config."),
			"offload_optimizer": say("Use `--deepspeed deepspeed_zero3_offload` (or `deepspeed_zero2_offload`)."),
			"use_lora":          say("Use the model's `_qlora_` config instead of `_full_`. `xtuner list-cfg` shows them."),
			"use_smaller_model": say("Use the config of a smaller model. `xtuner list-cfg` shows them."),
		},
		Titles: map[string]string{"lower_context": "Lower `max_length`", "use_smaller_model": "Use a smaller model"}, Costs: map[string]string{"use_smaller_model": "quality"},
		Useless: clues.Useless(cures.Mentions("qlora"), "Your config trains a LoRA in 4 bit already.", "use_lora"),
		Like:    []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("xtuner",
			"XTuner packs samples up to `max_length`[[ ({length} here)]], however short your data is. `_full_` configs take 16 bytes per parameter.[[ {asked} would be {tokens152} tokens with Qwen's vocabulary of 152,000 in 32 bit.]]",
			"Shorter data: packing fills samples up again.", "xtuner/xtuner/tools/train.py",
			"lower_context", "shard_training", "use_lora")},
	}
	// AlignmentHandbook are Hugging Face's recipes on TRL.
	AlignmentHandbook = program.Program{
		Name: "alignment-handbook", Shown: "alignment-handbook", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{"alignment-handbook/recipes/zephyr-7b-beta/sft/config_qlora.yaml": "load_in_4bit max_seq_length per_device_train_batch_size gradient_accumulation_steps", "alignment-handbook/README.md": "--config_file"},
		Proofs:  []string{"alignment-handbook/", "src/alignment/"},
		Steps: spelling{
			"lower_batch_size":       config("per_device_train_batch_size: 1\nper_device_eval_batch_size: 1\ngradient_accumulation_steps: 16"),
			"lower_context":          config("max_seq_length: 1024   # DPO: max_length and max_prompt_length"),
			"gradient_checkpointing": config("gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false"),
			"use_lora":               say("Use the recipe's `config_qlora.yaml` instead of `config_full.yaml`, started with `--config_file recipes/accelerate_configs/ddp.yaml` (in older releases multi_gpu.yaml)."),
			"shard_training":         say("Use `accelerate launch --config_file recipes/accelerate_configs/zero3.yaml` (or fsdp.yaml). Do not use ddp.yaml with a full recipe."),
		},
		Useless: clues.Useless(cures.Mentions("config_qlora"), "Your recipe trains a LoRA in 4 bit already.", "use_lora"),
		Like:    []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("alignment-handbook",
			"The full recipes are made for 8 GPUs with 80 GB each. They train all weights (16 bytes per parameter, split by ZeRO-3) with batches of 8 or 16 per GPU. DPO also keeps a reference model, and each sample has two answers.",
			"", "alignment-handbook/recipes/zephyr-7b-beta/sft/config_full.yaml",
			"lower_batch_size", "use_lora", "lower_context", "gradient_checkpointing", "shard_training")},
	}
	// DeepSpeedChat is the RLHF pipeline of DeepSpeedExamples.
	DeepSpeedChat = program.Program{
		Name: "deepspeed-chat", Shown: "DeepSpeed-Chat", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{
			"DeepSpeedExamples/applications/DeepSpeed-Chat/training/step2_reward_model_finetuning/main.py": "--gradient_accumulation_steps",
			"DeepSpeedExamples/applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py":   "--per_device_train_batch_size --max_seq_len --gradient_checkpointing --offload --zero_stage --lora_dim --only_optimize_lora",
			"DeepSpeedExamples/applications/DeepSpeed-Chat/training/step3_rlhf_finetuning/main.py":         "--per_device_generation_batch_size --per_device_training_batch_size --max_prompt_seq_len --max_answer_seq_len --enable_hybrid_engine --release_inference_cache --unpin_actor_parameters --inference_tp_size --offload_reference_model --actor_zero_stage --critic_zero_stage --actor_gradient_checkpointing --critic_gradient_checkpointing --actor_lora_dim",
		},
		Proofs: []string{"DeepSpeed-Chat/", "step1_supervised_finetuning/", "step2_reward_model_finetuning/", "step3_rlhf_finetuning/", "-packages/dschat/"},
		Steps: spelling{
			"lower_batch_size":       say("Steps 1 and 2: `--per_device_train_batch_size 1 --gradient_accumulation_steps 8`. Step 3: `--per_device_generation_batch_size 1 --per_device_training_batch_size 1`."),
			"lower_context":          say("Steps 1 and 2: `--max_seq_len 512`. Step 3: `--max_prompt_seq_len 256 --max_answer_seq_len 256`."),
			"gradient_checkpointing": say("Steps 1 and 2: `--gradient_checkpointing`. Step 3: `--actor_gradient_checkpointing --critic_gradient_checkpointing`."),
			"offload_optimizer":      say("Add `--offload`; step 3 also `--offload_reference_model`."),
			"shard_training":         say("Use `--zero_stage 3`; step 3: `--actor_zero_stage 3 --critic_zero_stage 3`."),
			"use_lora":               say("Use `--lora_dim 128 --only_optimize_lora` (older releases do not allow it together with `--gradient_checkpointing`)."),
			"quantize_kv_cache":      say("With `--enable_hybrid_engine` add `--release_inference_cache`. It frees the cache after each generation."),
		},
		Titles: map[string]string{"quantize_kv_cache": "Free the inference cache (`--release_inference_cache`)"}, Costs: map[string]string{"quantize_kv_cache": "slower generation"},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			saying(phaseCard("", "ran out of GPU memory in RLHF (step 3), which needs four models", "Step 3 trains an actor and a critic and also keeps a reference and a reward model. The hybrid engine adds buffers and a KV cache for generating `max_prompt_seq_len` + `max_answer_seq_len` tokens.",
				"", "DeepSpeedExamples/applications/DeepSpeed-Chat/training/step3_rlhf_finetuning/main.py", stepped,
				fixes("shard_training", "offload_optimizer", "quantize_kv_cache")), "deepspeed-chat/four", "step3_rlhf_finetuning", "rlhf_engine.py", "ppo_trainer.py"),
			stepOf("deepspeed-chat", "Without `--only_optimize_lora` (beside `--lora_dim`) it trains all weights: about 16 bytes per parameter. ZeRO 3 splits them over the GPUs; on one GPU it splits nothing. `per_device_train_batch_size` x `max_seq_len` comes on top.",
				"", "DeepSpeedExamples/applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py",
				"shard_training", "offload_optimizer", "lower_batch_size"),
		},
	}
	// AutoTrain is Hugging Face's autotrain-advanced.
	AutoTrain = program.Program{
		Name: "autotrain", Shown: "AutoTrain", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"autotrain"},
		Sources: program.Sources{"autotrain-advanced/src/autotrain/trainers/clm/params.py": "--batch-size --block-size --gradient-accumulation --mixed-precision --quantization --peft"},
		Proofs:  []string{"autotrain/trainers/", "autotrain/cli/", "autotrain-advanced", "autotrain llm ", "autotrain.trainers."},
		Steps: spelling{
			"lower_batch_size": say("Use `--batch-size 1 --gradient-accumulation 8` (defaults 2 and 4); in its page: Batch size 1."),
			"lower_context":    say("Use `--block-size 512`. The default, -1, uses the model's maximum."),
			"load_in_4bit":     say("Use `--peft --quantization int4`. int4 is the default, but it applies only with `--peft`."),
			"use_lora":         say("Use `--peft --quantization int4`. Without `--peft` it trains all weights."),
			"mixed_precision":  say("Use `--mixed-precision bf16`, `fp16` before RTX 30."),
		},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{autoTrainTasks(), stepOf("autotrain",
			"Without `--peft` it trains all weights, about 16 bytes per parameter (7B: 112 GB), and quantisation does not apply. With `--peft`, memory depends on `batch_size` x `block_size`; -1 means the model's maximum length.",
			"", "autotrain-advanced/src/autotrain/trainers/clm/params.py",
			"use_lora", "lower_batch_size", "lower_context")},
	}
)

// autoTrainTasks is about AutoTrain's trainers beside the one for language models:
// none of them knows LoRA or fewer bits.
func autoTrainTasks() cause.Card {
	k := stepOf("autotrain", "This trainer trains all weights in 32 bit, about 16 bytes per parameter with `adamw_torch` (2 billion parameters: 32 GB). It has no LoRA and no 4 bit; AutoTrain offers those only for language models and seq2seq. For models under a few hundred million parameters, the batch matters more.",
		"`--peft` or `--quantization`: this trainer has neither.", "autotrain-advanced/src/autotrain/trainers/sent_transformers/params.py", "use_smaller_model")
	k.ID, k.Said = "autotrain/tasks", []string{"trainers.sent_transformers", "trainers/sent_transformers", "trainers.text_", "trainers/text_", "trainers.token_classification", "trainers/token_classification", "trainers.extractive", "trainers/extractive", "trainers.image_", "trainers/image_", "trainers.object_detection", "trainers/object_detection"}
	k.Cures = []cause.Cure{
		{Fix: "use_smaller_model", Title: "Train a smaller model", Told: "Set `--model` to one with some hundred million parameters: for sentences `BAAI/bge-base-en-v1.5`, for classification `distilbert-base-uncased`. If yours is that small already, lower the batch size instead.", Cost: "quality, perhaps"},
		{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "`--batch-size 2 --gradient-accumulation 4` (defaults 8 and 1). For text also `--max-seq-length 64` (default 128).", Cost: "slower"},
		{Fix: "optimizer_8bit", Title: "Use an optimizer with less state", Told: "`--optimizer adafactor`, or `adamw_8bit` with bitsandbytes installed. They save 8 or 6 bytes per parameter.", Cost: "hardly any"},
	}
	return k
}
