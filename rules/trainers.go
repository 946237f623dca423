package rules

// Trainers on top of transformers: the same cures, in the files and calls that
// each of them reads.

// unslothEngine is what is peculiar to Unsloth.
var unslothEngine = Engine{
	Programs: []string{"unsloth"},
	Steps: map[string]func(*Case) []Step{
		"lower_context": func(c *Case) []Step {
			return []Step{{"python", "model, tokenizer = FastLanguageModel.from_pretrained(" + pyQuote(c.ModelName()) + ", max_seq_length=" + shorterSample(c) + ", load_in_4bit=True)"}}
		},
		"gradient_checkpointing": paste("python", "model = FastLanguageModel.get_peft_model(model, use_gradient_checkpointing=\"unsloth\")"),
		"upgrade_version":        paste("shell", "pip install --upgrade unsloth unsloth_zoo"),
	},
}

// llamaFactoryEngine is what is peculiar to LLaMA-Factory: a YAML file, or
// options of the same names.
var llamaFactoryEngine = Engine{
	Programs: []string{"llama-factory"},
	Steps: map[string]func(*Case) []Step{
		"lower_context":     func(c *Case) []Step { return []Step{{"config", "cutoff_len: " + shorterSample(c)}} },
		"lower_batch_size":  paste("config", "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8"),
		"load_in_4bit":      paste("config", "quantization_bit: 4"),
		"load_in_8bit":      paste("config", "quantization_bit: 8"),
		"use_lora":          paste("config", "finetuning_type: lora\nlora_rank: 8\nquantization_bit: 4"),
		"optimizer_8bit":    paste("config", "optim: paged_adamw_8bit"),
		"shard_training":    paste("config", "deepspeed: examples/deepspeed/ds_z3_config.json"),
		"offload_optimizer": paste("config", "deepspeed: examples/deepspeed/ds_z3_offload_config.json"),
		"upgrade_version":   paste("shell", "pip install --upgrade llamafactory transformers accelerate"),
	},
}

// axolotlEngine is what is peculiar to axolotl's YAML file.
var axolotlEngine = Engine{
	Programs: []string{"axolotl"},
	Steps: map[string]func(*Case) []Step{
		"lower_context":          func(c *Case) []Step { return []Step{{"config", "sequence_len: " + shorterSample(c)}} },
		"lower_batch_size":       paste("config", "micro_batch_size: 1\ngradient_accumulation_steps: 8"),
		"gradient_checkpointing": paste("config", "gradient_checkpointing: true"),
		"load_in_4bit":           paste("config", "load_in_4bit: true\nadapter: qlora"),
		"load_in_8bit":           paste("config", "load_in_8bit: true\nadapter: lora"),
		"use_lora":               paste("config", "adapter: qlora\nload_in_4bit: true\nlora_r: 16\nlora_target_linear: true"),
		"optimizer_8bit":         paste("config", "optimizer: paged_adamw_8bit"),
		"shard_training":         paste("config", "deepspeed: deepspeed_configs/zero3_bf16.json"),
		"offload_optimizer":      paste("config", "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json"),
		"upgrade_version":        paste("shell", "pip install --upgrade axolotl transformers accelerate"),
	},
}
