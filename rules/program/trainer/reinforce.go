package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// Reinforced is what trainers share that generate and learn on the same cards.
var Reinforced = program.Program{
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {
			{Fix: "lower_batch_size", Fit: cause.Cures},
			{Fix: "lower_gpu_memory_utilization", Fit: cause.Helps},
			{Fix: "offload_optimizer", Fit: cause.Helps},
			{Fix: "lower_context", Fit: cause.MayHelp},
		},
		cause.ModelTooLarge: {
			{Fix: "offload_optimizer", Fit: cause.Cures},
			{Fix: "lower_gpu_memory_utilization", Fit: cause.Helps},
			{Fix: "shard_training", Fit: cause.Helps},
			{Fix: "use_lora", Fit: cause.MayHelp},
		},
		cause.TrainingStateTooLarge: {
			{Fix: "offload_optimizer", Fit: cause.Cures},
			{Fix: "shard_training", Fit: cause.Helps},
			{Fix: "lower_gpu_memory_utilization", Fit: cause.Helps},
			{Fix: "use_lora", Fit: cause.MayHelp},
		},
	},
	Titles: map[string]string{"lower_gpu_memory_utilization": "Lower the engine's share (gpu_memory_utilization)", "offload_optimizer": "Offload weights and optimizer to system memory"},
	Costs:  map[string]string{"lower_gpu_memory_utilization": "A smaller cache: generation is slower.", "offload_optimizer": "Slower steps; much system memory."},
}

// Verl is ByteDance's reinforcement trainer: Hydra overrides.
var Verl = program.Program{
	Name: "verl", Shown: "verl",
	Work: "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"verl/verl/trainer/config/_generated_ppo_trainer.yaml": "gpu_memory_utilization param_offload optimizer_offload entropy_from_logits_with_chunking entropy_checkpointing",
		"verl/docs/perf/perf_tuning.rst":                       "ppo_micro_batch_size_per_gpu log_prob_micro_batch_size_per_gpu use_dynamic_bsz enable_gradient_checkpointing",
	},
	Proofs: []string{"(WorkerDict pid=", "(TaskRunner pid=", "ray::WorkerDict.", "verl/workers/", "verl/trainer/", "verl/utils/", "verl.trainer", "verl/single_controller/", "ray_trainer.py", "actor_rollout_", "local_global_step_folder"},
	Steps: parts.Spelling{
		"lower_gpu_memory_utilization": parts.Say("Add `actor_rollout_ref.rollout.gpu_memory_utilization=0.4` (default 0.5)."),
		"raise_gpu_memory_utilization": parts.Say("Add `actor_rollout_ref.rollout.gpu_memory_utilization=0.6` (default 0.5), if the trainer is offloaded while it generates."),
		"lower_max_num_seqs":           parts.Say("Add `actor_rollout_ref.rollout.max_num_seqs=64`."),
		"lower_batch_size":             parts.Say("Add `actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1` and `actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1` (with a reference model also `actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1`); with use_dynamic_bsz lower `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` instead."),
		"offload_optimizer":            parts.Say("Add `actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True actor_rollout_ref.ref.fsdp_config.param_offload=True`."),
		"gradient_checkpointing":       parts.Say("Add `actor_rollout_ref.model.enable_gradient_checkpointing=True`."),
		"lower_context":                parts.Say("Lower `data.max_response_length` and `data.max_prompt_length`."),
		"shard_training":               parts.Say("Use more GPUs (`trainer.n_gpus_per_node`), and `actor_rollout_ref.rollout.tensor_model_parallel_size=2` so that each GPU holds half of an engine's weights."),
		"use_lora":                     parts.Say("Train with LoRA: `actor_rollout_ref.model.lora_rank=32`."),
	},
	Like:  []*program.Program{&Reinforced, &parts.LanguageModels},
	Cards: verlCards,
}

// OpenRLHF spells its options with dots now, with underscores in older releases.
var OpenRLHF = program.Program{
	Name: "openrlhf", Shown: "OpenRLHF",
	Work: "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{"OpenRLHF/openrlhf/cli/train_ppo_ray.py": "--vllm.gpu_memory_utilization --vllm --vllm.enable_sleep --train.micro_batch_size --train --rollout.micro_batch_size --rollout --ds.adam_offload --ds --ds.zero_stage --actor.gradient_checkpointing_enable --actor --data.max_len --data --ref.offload --ref" +
		" --micro_train_batch_size --micro_rollout_batch_size --vllm_gpu_memory_utilization --adam_offload --gradient_checkpointing --generate_max_len --vllm_enable_sleep",
		"https://github.com/OpenRLHF/OpenRLHF/blob/v0.4.0/openrlhf/cli/train_ppo.py": "--zero_stage --lora_rank --ref_num_gpus_per_node --critic_num_gpus_per_node --actor_num_nodes --critic_num_nodes --ref_reward_offload"},
	Proofs: []string{"(LLMRayActor pid=", "(PolicyModelActor pid=", "(ReferenceModelActor pid=", "(RewardModelActor pid=", "(CriticModelActor pid=", "ray::ActorModelRayActor", "ray::CriticModelRayActor", "ray::PolicyModelActor", "ray::CriticModelActor", "openrlhf/", "OpenRLHF/", "openrlhf.cli"},
	Steps: parts.Spelling{
		"lower_gpu_memory_utilization": parts.Say("Set `--vllm.gpu_memory_utilization 0.5` with `--vllm.enable_sleep` (older releases: `--vllm_gpu_memory_utilization 0.5 --vllm_enable_sleep`)."),
		"raise_gpu_memory_utilization": parts.Say("Raise `--vllm.gpu_memory_utilization` (older releases: `--vllm_gpu_memory_utilization`) by 0.1, as far as the trainer on the same GPU allows."),
		"lower_batch_size":             parts.Say("Set `--train.micro_batch_size 1 --rollout.micro_batch_size 1` (older releases: `--micro_train_batch_size 1 --micro_rollout_batch_size 1`)."),
		"offload_optimizer":            parts.Say("Add `--ds.adam_offload` (older releases: `--adam_offload`), and `--ref.offload` for the reference model."),
		"gradient_checkpointing":       parts.Say("Add `--actor.gradient_checkpointing_enable` (older releases: `--gradient_checkpointing`)."),
		"lower_context":                parts.Say("Lower `--data.max_len` (older releases: `--generate_max_len`)."),
		"shard_training":               parts.Say("Set `--ds.zero_stage 3`."),
	},
	Like:  []*program.Program{&Reinforced, &parts.LanguageModels},
	Cards: openrlhfCards,
}
