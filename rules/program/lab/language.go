package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
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
			"lower_batch_size":  say("`--batch_size=4` with `--gradient_accumulation_steps` raised alike (defaults 12 and 40): the same result."),
			"lower_context":     say("`--block_size=512` (1024 in GPT-2): attention and activations shrink with it."),
			"mixed_precision":   say("`--dtype=bfloat16`, or `float16` on cards before RTX 30; both are chosen by default where the GPU has them."),
			"use_smaller_model": say("From scratch: `--n_layer=6 --n_head=6 --n_embd=384`. Finetuning: `--init_from=gpt2` (124 M) instead of gpt2-xl (1.5 B)."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size, accumulate gradients", "lower_context": "Lower `block_size`"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{stepOf("nanogpt",
			"Activations grow with `batch_size` x `block_size` x layers. Logits are batch x block x 50,304 (GPT-2's vocabulary) at 32 bit: 2.3 GiB for 12 x 1024, and again for their gradient.",
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
		Proofs: []string{"litgpt/", "lit_gpt/", "lit-gpt/", "lit_llama/", "lit-llama/", ", iter time: ", "| iter time: "}, Beside: map[string][]string{", iter time: ": {"ms"}, "| iter time: ": {"ms"}},
		Steps: spelling{
			"lower_batch_size":  say("`--train.micro_batch_size 1`: `--train.global_batch_size` stays, it accumulates. Older lit-gpt: `micro_batch_size = 1` at the top of the script."),
			"lower_context":     say("`--train.max_seq_length 512`, or half of the present value: by default the longest sample of the data set decides."),
			"load_in_4bit":      say("`--quantize bnb.nf4 --precision bf16-true` (finetune_lora, generate and chat; one GPU)."),
			"half_precision":    say("`--precision bf16-true`: half of 32-true, and no 32-bit copy as in bf16-mixed."),
			"use_lora":          say("`litgpt finetune_lora` instead of `finetune_full`; with `--quantize bnb.nf4 --precision bf16-true` it is QLoRA."),
			"shard_training":    say("`--devices 4`: FSDP shares weights and optimizer out. It does not go with `--quantize`."),
			"use_smaller_model": say("The next smaller checkpoint of the family; `litgpt download list` shows them."),
		},
		Titles: map[string]string{"lower_context": "Lower `max_seq_length`"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			loadOf("litgpt", "Weights take 2 bytes a parameter at bf16-true, 4 at 32-true, about 0.7 at nf4.", "`micro_batch_size`: the model is loaded first.", "litgpt/tutorials/quantize.md", "load_in_4bit", "half_precision", "shard_training"),
			stepOf("litgpt",
				"A step holds `micro_batch_size` samples, and one long sample makes a step expensive.[[ {asked} is the size of {tokens128} tokens with Llama 3's vocabulary of 128,000 at 32 bit.]]",
				"A smaller `global_batch_size`: only the micro batch is on the GPU.", "litgpt/tutorials/oom.md",
				"lower_context", "lower_batch_size", "use_lora"),
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
			"shard_training":         config("\"pipe_parallel_size\": 2,      # layers over 2 cards\n\"model_parallel_size\": 2,     # each layer over 2 cards; NVLink\n\"zero_optimization\": {\"stage\": 1}"),
			"offload_optimizer":      config("\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true}   # needs pipe_parallel_size 0"),
		},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			loadOf("gpt-neox", "It failed while model and optimizer were set up: about 16 to 18 bytes for each parameter that a card holds, divided by pipeline x model parallel size.", "`train_micro_batch_size_per_gpu`: weights and optimizer state do not depend on it.", "gpt-neox/configs/README.md", "shard_training", "offload_optimizer", "use_smaller_model"),
			stepOf("gpt-neox",
				"Activations grow with `train_micro_batch_size_per_gpu` x `seq_length`; with pipeline parallelism the first stage keeps several micro batches. Weights and optimizer state (16 to 18 bytes a parameter) are divided by ZeRO 1 and the parallel sizes.",
				"A smaller `train_batch_size`: only the micro batch is on the GPU.", "gpt-neox/configs/neox_arguments.md",
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
		Titles: map[string]string{"lower_batch_size": "Set the micro batch size to 1"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			saying(stepOf("composer",
				"Composer had halved the micro batch down to one sample, which does not fit either. What is left to lower is the length of a sample, the activations that are kept, or weights and optimizer state on a card.",
				"A smaller global or micro batch: the micro batch is 1 already.", "composer/composer/trainer/trainer.py",
				"gradient_checkpointing", "lower_context", "shard_training"), "composer/one", "internal microbatch of size 1"),
			stepOf("composer",
				"`device_train_microbatch_size`, the samples of one forward pass, decides; the global batch is made of micro batches. Started with `python` instead of `composer` it runs on one GPU and shards nothing.",
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
		Like: []*program.Program{&Composer, &trainer.LanguageModels},
		Cards: []cause.Card{stepOf("llm-foundry",
			"`device_train_microbatch_size` x `max_seq_len` decides; the global batch is made of micro batches. Started with `python train.py` instead of `composer train/train.py` it runs on one GPU, and FSDP shards nothing.",
			"A smaller `global_train_batch_size`: it changes the result, not the memory.", "llm-foundry/TUTORIAL.md",
			"lower_batch_size", "gradient_checkpointing", "lower_context")},
	}
	// StanfordAlpaca trains all weights with the Trainer of Transformers.
	StanfordAlpaca = program.Program{
		Name: "stanford_alpaca", Shown: "Stanford Alpaca", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"pytorch/torch/distributed/run.py": "--nproc_per_node", "stanford_alpaca/README.md": "--per_device_train_batch_size --gradient_accumulation_steps --fsdp --deepspeed --bf16 --fsdp_transformer_layer_cls_to_wrap", "stanford_alpaca/train.py": "--model_max_length", "transformers/training_args.py": "--gradient_checkpointing"},
		Proofs:  []string{"stanford_alpaca/", "stanford-alpaca/"},
		Steps: spelling{
			"lower_batch_size":       say("`--per_device_train_batch_size 1 --gradient_accumulation_steps 32` (the README has 4 and 8)."),
			"lower_context":          say("`--model_max_length 256` (default 512): longer samples are cut."),
			"gradient_checkpointing": say("Add `--gradient_checkpointing True`."),
			"offload_optimizer":      say("`--deepspeed ./configs/default_offload_opt_param.json` instead of both `--fsdp` options, or `--fsdp \"full_shard auto_wrap offload\"`."),
			"shard_training":         say("Start it with `torchrun --nproc_per_node=4` and `--fsdp \"full_shard auto_wrap\" --fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer` (`LLaMADecoderLayer` in Transformers of March 2023: a wrong name wraps nothing)."),
			"use_lora":               say("The script trains all weights; for one GPU take alpaca-lora or the peft library: about 16 GB for 7B in 8 bit."),
		},
		Titles: map[string]string{"offload_optimizer": "Offload weights and optimizer to RAM"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{stepOf("stanford_alpaca",
			"It trains all weights: for 7B about 112 GB (7 x 4 x 4, by the README) before activations, sharded over the GPUs by FSDP. It is made for 4 cards of 80 GB.",
			"", "stanford_alpaca/README.md",
			"offload_optimizer", "shard_training", "use_lora")},
	}
	// AlpacaLoRA is tloen's, and its many forks.
	AlpacaLoRA = program.Program{
		Name: "alpaca-lora", Shown: "Alpaca-LoRA", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"alpaca-lora/finetune.py": "--micro_batch_size --batch_size --cutoff_len --lora_target_modules", "alpaca-lora/generate.py": "--load_8bit"},
		Proofs:  []string{"alpaca-lora/", "Training Alpaca-LoRA model with params"},
		Steps: spelling{
			"lower_batch_size":       say("`--micro_batch_size 1` (default 4); `--batch_size 128` stays, it accumulates."),
			"lower_context":          say("`--cutoff_len 256`, the default; forks have 512 and more."),
			"load_in_8bit":           say("Training does so already. Generating: `--load_8bit`."),
			"load_in_4bit":           say("The script has 8 bit only; 4 bit is in qlora.py and in the peft library."),
			"gradient_checkpointing": say("`prepare_model_for_int8_training(model)` in finetune.py turns it on: leave it in, and `model.config.use_cache = False`."),
		},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			loadOf("alpaca-lora", "At 8 bit the base model takes about 1 GB a billion parameters (7B: 7 to 8 GB in all). `generate.py` loads 16 bit, twice that, by default.", "`--micro_batch_size`: the model is loaded first.", "alpaca-lora/generate.py", "load_in_8bit", "use_smaller_model"),
			stepOf("alpaca-lora",
				"The frozen base model is at 8 bit; the rest grows with `micro_batch_size` x `cutoff_len`.",
				"A smaller `--batch_size`: it is the accumulated one.", "alpaca-lora/finetune.py",
				"lower_batch_size", "lower_context", "use_smaller_model")},
	}
	// QLoRA is the script of the paper.
	QLoRA = program.Program{
		Name: "qlora", Shown: "qlora.py", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"qlora/qlora.py": "--full_finetune --source_max_len --target_max_len --per_device_train_batch_size --gradient_accumulation_steps --max_memory_MB --bits --optim --gradient_checkpointing --eval_dataset_size --max_eval_samples --mmlu_source_max_len --do_mmlu_eval --bf16", "qlora/scripts/finetune.sh": "--per_device_eval_batch_size"},
		Proofs:  []string{"/qlora.py", "qlora/scripts/", "qlora/qlora"},
		Steps: spelling{
			"lower_batch_size":       say("`--per_device_train_batch_size 1 --gradient_accumulation_steps 16`, its defaults; evaluation: `--per_device_eval_batch_size 1`."),
			"lower_context":          say("`--source_max_len 512 --target_max_len 256` (defaults 1024 and 256); with `--do_mmlu_eval` also `--mmlu_source_max_len 1024`."),
			"load_in_4bit":           say("It is the default: `--bits 16` or `--full_finetune` in your command undo it."),
			"gradient_checkpointing": say("`--gradient_checkpointing True` is the default: leave it."),
			"optimizer_8bit":         say("`--optim paged_adamw_32bit` is the default: it moves to RAM when the GPU is full."),
			"shard_training":         say("Plain `python qlora.py` spreads the layers over all visible cards (`device_map=\"auto\"`), each filled up to `--max_memory_MB` (80000 by default)."),
		},
		Titles: map[string]string{"load_in_4bit": "Load it in 4 bit (`--bits 4`)"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			loadOf("qlora", "At 4 bit the base model takes about 0.6 GB a billion parameters, more where `--bits` is not 4. `--max_memory_MB` (default 80000) is how much of each GPU it plans to use: with less, layers go to RAM or to other cards.", "`--source_max_len`: the model is loaded first.", "qlora/qlora.py", "load_in_4bit", "shard_training", "use_smaller_model"),
			stepOf("qlora",
				"The base model is at 4 bit by default, so activations count: batch size x (`source_max_len` + `target_max_len`). Logits are tokens x vocabulary at 32 bit.[[ {asked} is the size of {tokens128} tokens with a vocabulary of 128,000.]]",
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
			"lower_batch_size": say("`--per_device_train_batch_size 1 --gradient_accumulation_steps 16`."),
			"cpu_offload":      say("On the CPU: `AutoModel.from_pretrained(\"THUDM/chatglm-6b\", trust_remote_code=True).float()`: about 32 GB of RAM, or the int4 checkpoint in 5.2 GB."),
			"multi_gpu":        say("`from utils import load_model_on_gpus` and `model = load_model_on_gpus(\"THUDM/chatglm-6b\", num_gpus=2)`; utils.py lies in the repository."),
			"use_lora":         say("P-Tuning v2 trains a prefix alone: `bash train.sh` in ptuning with `--pre_seq_len 128 --quantization_bit 4` fits into 7 GB."),
			"shard_training":   say("All weights: `bash ds_train_finetune.sh` (4 cards; ZeRO in deepspeed.json)."),
		},
		Titles: map[string]string{"lower_context": "Shorten the history or the samples", "use_lora": "Train with P-Tuning on a 4-bit model"},
		Like:   []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			loadOf("chatglm", "By the README's table for ChatGLM-6B 16 bit takes 13 GB, 8 bit 10 and 4 bit 6 in use. `quantize()` loads the weights at 16 bit first, 13 GB of RAM, unless you load the int4 checkpoint.", "A shorter conversation: the model is loaded first.", "ChatGLM-6B/README_en.md", "load_in_4bit", "multi_gpu", "cpu_offload"),
			{
				ID: "chatglm/tune", Kinds: cardFull, If: trainsAlone, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: phaseFigures,
				Headline: "ran out of memory in a training step",
				Means:    "P-Tuning trains a prefix only. The 16-bit base model takes 13 GB, and batch size x (`max_source_length` + `max_target_length`) comes on top; with `--quantization_bit 4` 7 GB are enough. Finetuning all weights takes several cards.",
				Not:      "A smaller `--pre_seq_len`: the prefix is small.",
				Cures:    fixes("use_lora", "lower_batch_size", "lower_context"), Sources: []string{"ChatGLM-6B/ptuning/README_en.md"},
			},
			useOf("chatglm", "while it answered", "Each turn gives the whole conversation to the model again, so memory grows with every question: by the README two or three turns take 10 GB at 8 bit and 6 at 4 bit.", "", "ChatGLM-6B/README_en.md", "lower_context", "load_in_4bit", "cpu_offload"),
		},
	}
	// XTuner is InternLM's.
	XTuner = program.Program{
		Name: "xtuner", Shown: "XTuner", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"xtuner"},
		Sources:  program.Sources{"xtuner/xtuner/tools/train.py": "--deepspeed", "xtuner/xtuner/configs/internlm/internlm2_5_chat_7b/internlm2_5_chat_7b_qlora_alpaca_e3.py": "pretrained_model_name_or_path max_length batch_size accumulative_counts sequence_parallel_size"},
		Proofs:   []string{"xtuner/"},
		TakenFor: []string{"mmengine"},
		Remedies: map[string][]cause.Remedy{cause.ModelTooLarge: {{Fix: "shard_training", Fit: cause.Foremost}, {Fix: "use_lora", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Helps}}},
		Steps: spelling{
			"lower_batch_size":  config("batch_size = 1  # per_device, in the config\naccumulative_counts = 16"),
			"lower_context":     config("max_length = 1024         # in the config; XTuner 1: pack_max_length instead\npack_to_max_length = True # False for single samples, which are mostly shorter"),
			"shard_training":    say("`--deepspeed deepspeed_zero3` in your `xtuner train` command; long samples on several cards: `sequence_parallel_size = 2` in the config."),
			"offload_optimizer": say("`--deepspeed deepspeed_zero3_offload` (or `deepspeed_zero2_offload`)."),
			"use_lora":          say("The `_qlora_` config of the model instead of `_full_`: `xtuner list-cfg` shows them."),
			"use_smaller_model": say("The config of a smaller model, of those that `xtuner list-cfg` shows (`pretrained_model_name_or_path` in it)."),
		},
		Titles: map[string]string{"lower_context": "Lower `max_length`", "use_smaller_model": "Use a smaller model"}, Costs: map[string]string{"use_smaller_model": "quality"},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{stepOf("xtuner",
			"Samples are packed up to `max_length`[[ ({length} here)]], whatever the data. `_full_` configs hold 16 bytes for each parameter.[[ {asked} is the size of {tokens152} tokens with Qwen's vocabulary of 152,000 at 32 bit.]]",
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
			"use_lora":               say("The recipe's `config_qlora.yaml` instead of `config_full.yaml`, started with `--config_file recipes/accelerate_configs/ddp.yaml` (in older releases multi_gpu.yaml)."),
			"shard_training":         say("`accelerate launch --config_file recipes/accelerate_configs/zero3.yaml` (or fsdp.yaml): not ddp.yaml with a full recipe."),
		},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{stepOf("alignment-handbook",
			"The full recipes are made for 8 cards of 80 GB: all weights, 16 bytes a parameter sharded by ZeRO-3, batches of 8 or 16 on each GPU. DPO keeps a reference model as well, and a sample is two answers.",
			"", "alignment-handbook/recipes/zephyr-7b-beta/sft/config_full.yaml",
			"lower_batch_size", "use_lora", "shard_training")},
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
			"shard_training":         say("`--zero_stage 3`; step 3: `--actor_zero_stage 3 --critic_zero_stage 3`."),
			"use_lora":               say("`--lora_dim 128 --only_optimize_lora` (with `--gradient_checkpointing` one of both in older releases)."),
			"quantize_kv_cache":      say("With `--enable_hybrid_engine` add `--release_inference_cache`, which gives the cache back after each generation."),
		},
		Titles: map[string]string{"quantize_kv_cache": "Free the inference cache (`--release_inference_cache`)"}, Costs: map[string]string{"quantize_kv_cache": "slower generation"},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{
			saying(phaseCard("", "ran out of memory with four models on the GPUs", "Step 3 trains an actor and a critic and keeps a reference and a reward model. With the hybrid engine the actor is there once more for generating, with a KV cache for `max_prompt_seq_len` + `max_answer_seq_len`.",
				"", "DeepSpeedExamples/applications/DeepSpeed-Chat/training/step3_rlhf_finetuning/main.py", stepped,
				fixes("shard_training", "offload_optimizer", "quantize_kv_cache")), "deepspeed-chat/four", "step3_rlhf_finetuning", "rlhf_engine.py", "ppo_trainer.py"),
			stepOf("deepspeed-chat", "Without LoRA all weights are trained: about 16 bytes a parameter, divided by the GPUs with ZeRO 3. `per_device_train_batch_size` x `max_seq_len` comes on top.",
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
			"lower_batch_size": say("`--batch-size 1 --gradient-accumulation 8` (defaults 2 and 4); in its page: Batch size 1."),
			"lower_context":    say("`--block-size 512`; -1, the default, takes what the model has."),
			"load_in_4bit":     say("`--peft --quantization int4`: int4 is the default, but counts with `--peft` alone."),
			"use_lora":         say("`--peft --quantization int4`: without `--peft` all weights are trained."),
			"mixed_precision":  say("`--mixed-precision bf16`, `fp16` before RTX 30."),
		},
		Like: []*program.Program{&trainer.LanguageModels},
		Cards: []cause.Card{autoTrainTasks(), stepOf("autotrain",
			"Without `--peft` all weights are trained, about 16 bytes a parameter (7B: 112 GB), and quantisation does not apply. With `--peft` `batch_size` x `block_size` decides; -1 is the model's own length.",
			"", "autotrain-advanced/src/autotrain/trainers/clm/params.py",
			"use_lora", "lower_batch_size", "lower_context")},
	}
)

// autoTrainTasks is about AutoTrain's trainers beside the one for language models:
// none of them knows LoRA or fewer bits.
func autoTrainTasks() cause.Card {
	k := stepOf("autotrain", "This trainer trains all weights in 32 bit, about 16 bytes a parameter with `adamw_torch` (2 billion: 32 GB), before any batch; it has no LoRA and no 4 bit, which AutoTrain has for language models and seq2seq only. A model of some hundred million parameters leaves the GPU to the batch.",
		"`--peft`, `--quantization`: this trainer has neither.", "autotrain-advanced/src/autotrain/trainers/sent_transformers/params.py", "use_smaller_model")
	k.ID, k.Said = "autotrain/tasks", []string{"trainers.sent_transformers", "trainers/sent_transformers", "trainers.text_", "trainers/text_", "trainers.token_classification", "trainers/token_classification", "trainers.extractive", "trainers/extractive", "trainers.image_", "trainers/image_", "trainers.object_detection", "trainers/object_detection"}
	k.Cures = []cause.Cure{
		{Fix: "use_smaller_model", Title: "Train a smaller model", Told: "`--model` with some hundred million parameters: for sentences `sentence-transformers/all-mpnet-base-v2` or `BAAI/bge-base-en-v1.5`, for classes `distilbert-base-uncased`. If it has no more than that already, begin with the batch.", Cost: "quality, perhaps"},
		{Fix: "lower_batch_size", Title: "Lower the batch size", Told: "`--batch-size 2 --gradient-accumulation 4` (defaults 8 and 1); text also `--max-seq-length 64` (default 128).", Cost: "slower"},
		{Fix: "optimizer_8bit", Title: "Use an optimizer with less state", Told: "`--optimizer adafactor`, or `adamw_8bit` with bitsandbytes installed: 8 or 6 bytes a parameter less.", Cost: "hardly any"},
	}
	return k
}
