package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// Trainers of language models whose recipes are files or one long command.
var (
	// InstructLab trains on what a taxonomy generates.
	InstructLab = program.Program{
		Name: "instructlab", Shown: "InstructLab", Work: "text-training", Edits: "flags", Language: "python", Commands: []string{"ilab"},
		Sources: program.Sources{
			"instructlab/src/instructlab/cli/model/train.py":  "--pipeline --lora-rank --lora-quantize-dtype --max-batch-len --max-seq-len --effective-batch-size --deepspeed-cpu-offload-optimizer --optimize-memory --gpus",
			"instructlab/src/instructlab/configuration.py":    "max_batch_len lora_rank",
			"instructlab/src/instructlab/model/full_train.py": "--optimize-memory",
		},
		Proofs: []string{"ilab model train", "ilab train --", "/instructlab/model/", "instructlab/training/", "/share/instructlab/"},
		Steps: spelling{
			"use_lora":          say("Add `--pipeline accelerated --lora-rank 4 --lora-quantize-dtype nf4`. This trains a LoRA on 4-bit weights. The default rank, 0, trains all weights."),
			"lower_batch_size":  say("Use `--max-batch-len 4096` (tokens per GPU; default 5000, up to 60000 in profiles; not below `--max-seq-len`)."),
			"lower_context":     say("Use `--max-seq-len 2048 --max-batch-len 2048` (default 4096). Longer samples are left out."),
			"offload_optimizer": say("Use `--deepspeed-cpu-offload-optimizer true`: 12 bytes of RAM per parameter."),
			"shard_training":    say("Use `--gpus 4`. Weights, gradients and optimizer are then spread over the GPUs."),
		},
		Titles: map[string]string{"use_lora": "Train a LoRA (`--lora-rank`)", "lower_batch_size": "Fewer tokens in a step (`--max-batch-len`)", "shard_training": "Use several GPUs"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{{
			ID: "instructlab/train", Kinds: cardFull, If: func(c *ledger.Case) bool { return ours(c) && !ledger.Roomy(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Figures: phaseFigures,
			Headline: "ran out of GPU memory while training",
			Means:    "Without `--lora-rank` it trains all weights: about 16 bytes per parameter (112 GB for 7B), divided by the number of GPUs. The built-in profiles are for 2 to 8 data-centre GPUs. A running `ilab model serve` or `ilab model chat` takes its share too.",
			Not:      "`--optimize-memory` with `--pipeline accelerated`: only the pipeline `full` uses it. `--effective-batch-size`: it only changes accumulation.",
			Cures:    append(fixes("use_lora"), cause.Cure{Fix: "kill_stale_process", Title: "Stop `ilab model serve` and `ilab model chat`", Told: "Each keeps a model on the GPU. Check with:", Kind: "shell", Text: "nvidia-smi", Cost: "free"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "shard_training"}),
			Sources:  []string{"instructlab/src/instructlab/configuration.py", "instructlab/src/instructlab/model/full_train.py", "https://github.com/instructlab/instructlab/issues/2666"},
		}},
	}
	// NeMoRL is NVIDIA's, on DTensor or Megatron.
	NeMoRL = program.Program{
		Name: "nemo-rl", Shown: "NeMo RL", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{"NeMo-RL/examples/configs/grpo_math_1B.yaml": "policy.train_micro_batch_size policy.logprob_batch_size policy.max_total_sequence_length policy.logprob_chunk_size policy.megatron_cfg.defer_fp32_logits policy.megatron_cfg.activation_checkpointing policy.megatron_cfg.tensor_model_parallel_size policy.megatron_cfg.optimizer.optimizer_cpu_offload policy.dtensor_cfg.activation_checkpointing policy.dtensor_cfg.tensor_parallel_size policy.dtensor_cfg.cpu_offload"},
		Proofs:  []string{"nemo_rl/", "nemo-rl/", "nemo_rl.models.", "NeMo-RL"},
		Steps: spelling{
			"lower_batch_size":       config("policy.train_micro_batch_size=1 policy.logprob_batch_size=1"),
			"lower_context":          config("policy.max_total_sequence_length=4096   # half of yours"),
			"gradient_checkpointing": say("Use `policy.megatron_cfg.activation_checkpointing=true` (DTensor: `policy.dtensor_cfg.activation_checkpointing=true`); both are false by default."),
			"shard_training":         say("Use `policy.megatron_cfg.tensor_model_parallel_size=4` (DTensor: `policy.dtensor_cfg.tensor_parallel_size`). This splits the logits too."),
			"offload_optimizer":      say("Use `policy.megatron_cfg.optimizer.optimizer_cpu_offload=true` with `optimizer_offload_fraction: 1.0` beside it; DTensor: `policy.dtensor_cfg.cpu_offload=true`."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower the micro-batches", "shard_training": "Raise the tensor parallel size"},
		TakenFor: []string{"megatron"},
		Like:     []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			{
				ID: "nemo-rl/fp32-logits", Kinds: cardFull, Said: []string{"in float16_to_fp32", "in float_conversion"}, If: ours, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: phaseFigures,
				Headline: "ran out of GPU memory while converting logits to 32 bit",
				Means:    "Megatron converts the model's output to 32 bit all at once: micro-batch x length x vocabulary, on top of the 16-bit copy.[[ {asked} would be {tokens152} tokens with Qwen's vocabulary of 152,000.]] With `defer_fp32_logits` the loss does it later, in chunks.",
				Not:      "More data-parallel nodes: each rank still processes whole micro-batches.",
				Cures: []cause.Cure{
					{Fix: "efficient_attention", Title: "Convert the logits in chunks (`defer_fp32_logits`)", Told: "Both are off by default, and the second needs the first:", Kind: "config", Text: "policy.megatron_cfg.defer_fp32_logits=true policy.logprob_chunk_size=1024", Cost: "hardly slower"},
					{Fix: "lower_batch_size", Own: true, Cost: "slower"},
					{Fix: "shard_training", Own: true, Cost: "communication between the GPUs"},
				},
				Sources: []string{"NeMo-RL/examples/configs/grpo_math_1B.yaml", "NeMo-RL/nemo_rl/models/megatron/setup.py", "NeMo-RL/nemo_rl/models/megatron/train.py", "Megatron-LM/megatron/core/transformer/module.py"},
			},
			stepOf("nemo-rl", "Each rank processes `policy.train_micro_batch_size` x `max_total_sequence_length` tokens and needs their logits. Activation checkpointing is off by default. With colocated generation, vLLM takes a share of the GPU too.[[ {asked} would be {tokens152} tokens with Qwen's vocabulary in 32 bit.]]", "`train_global_batch_size`: it only changes accumulation.", "NeMo-RL/examples/configs/grpo_math_1B.yaml", "lower_batch_size", "gradient_checkpointing", "shard_training"),
		},
	}
)
