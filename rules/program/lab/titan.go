package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// Torchtitan is PyTorch's own trainer for large language models, with a TOML file
// and options of the same names; AMD's Primus runs it.
var Torchtitan = program.Program{
	Name: "torchtitan", Shown: "torchtitan", Work: "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"torchtitan/torchtitan/config/job_config.py": "local_batch_size global_batch_size seq_len enable_cpu_offload activation_checkpoint mode",
		"torchtitan/torchtitan/config/configs.py":    "num_tokens_per_microbatch_per_dp_rank max_context_length",
	},
	Proofs: []string{"torchtitan/torchtitan/", "torchtitan/train.py", "torchtitan/models/", "torchtitan/components/", "torchtitan/distributed/", "-m torchtitan.train", "[titan] "},
	Steps: spelling{
		"lower_batch_size":       config("[training]   # in Primus under modules: pre_trainer: overrides: training:\nlocal_batch_size = 1   # per GPU, default 8; global_batch_size may stay: it accumulates"),
		"gradient_checkpointing": config("[activation_checkpoint]\nmode = \"full\"   # default: \"selective\""),
		"lower_context":          config("[training]\nseq_len = 2048   # or half of yours; newest versions: max_context_length"),
		"offload_optimizer":      config("[training]\nenable_cpu_offload = true   # weights, gradients and optimizer"),
	},
	Titles: map[string]string{"lower_batch_size": "Lower `local_batch_size`", "gradient_checkpointing": "Checkpoint all activations", "lower_context": "Lower `seq_len`", "offload_optimizer": "Keep the training state in RAM (`enable_cpu_offload`)"},
	Like:   []*program.Program{&parts.LanguageModels},
	Cards: []cause.Card{
		loadOf("torchtitan", "It failed while making the model and the optimizer. FSDP divides their 16 bytes or so per parameter by the GPUs (`data_parallel_shard_degree`).", "A smaller `local_batch_size`: no batch is on the GPU yet.", "torchtitan/torchtitan/config/job_config.py", "offload_optimizer", "use_smaller_model"),
		stepOf("torchtitan",
			"FSDP divides weights, gradients and optimizer by the GPUs. Activations and logits are not divided: each GPU computes `local_batch_size` x `seq_len` tokens (newest versions: `num_tokens_per_microbatch_per_dp_rank`).[[ {asked} would be the logits of {tokens128} tokens with Llama 3's vocabulary of 128,000 in 32 bit.]]",
			"More GPUs alone: each still computes its own batch.", "torchtitan/torchtitan/config/job_config.py",
			"lower_batch_size", "gradient_checkpointing", "lower_context"),
	},
}
