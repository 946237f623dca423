package torch

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Trainers on top of transformers: the same cures, in the files and calls that
// each of them reads.

// Unsloth is what is peculiar to Unsloth.
var Unsloth = program.Program{
	Name: "unsloth",
	Work: "text-training", Edits: "code", Language: "python",
	Proofs: []string{"==((====))==", "-packages/unsloth/", "unsloth_compiled_cache"},
	Like:   []*program.Program{&Transformers},
	Cards:  slices.Concat([]cause.Card{tuning.UnslothGRPO, tuning.UnslothTrained}, unslothCards), Starts: tuning.StartsVLLM,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(" + quote.Python(c.ModelName()) + ", max_seq_length=" + shorterSample(c) + ", load_in_4bit=True)"}}
		},
		"gradient_checkpointing": step.Paste("python", "model = FastLanguageModel.get_peft_model(model, use_gradient_checkpointing=\"unsloth\")"),
		"upgrade_version":        step.Paste("shell", "pip install --upgrade unsloth unsloth_zoo"),
	},
}

// LLaMAFactory is what is peculiar to LLaMA-Factory: a YAML file, or
// options of the same names.
var LLaMAFactory = program.Program{
	Name: "llama-factory", Shown: "LLaMA-Factory",
	Commands: []string{"llamafactory-cli"},
	Work:     "text-training", Edits: "flags", Language: "python",
	Proofs: []string{"llamafactory/", "llmtuner/", "LLaMA-Factory/"},
	Like:   []*program.Program{&Transformers},
	Cards:  llamaFactoryCards,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "config", Text: "cutoff_len: " + shorterSample(c)}}
		},
		"lower_batch_size":  step.Paste("config", "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8   # batch x accumulation as before"),
		"load_in_4bit":      step.Paste("config", "quantization_bit: 4"),
		"load_in_8bit":      step.Paste("config", "quantization_bit: 8"),
		"use_lora":          step.Paste("config", "finetuning_type: lora\nlora_rank: 8\nquantization_bit: 4"),
		"optimizer_8bit":    step.Paste("config", "optim: paged_adamw_8bit"),
		"shard_training":    step.Paste("config", "deepspeed: examples/deepspeed/ds_z3_config.json"),
		"offload_optimizer": step.Paste("config", "deepspeed: examples/deepspeed/ds_z3_offload_config.json"),
		"upgrade_version":   step.Paste("shell", "pip install --upgrade llamafactory transformers accelerate"),
	},
}

// Axolotl is what is peculiar to axolotl's YAML file.
var Axolotl = program.Program{
	Name: "axolotl", Commands: []string{"axolotl"},
	Work: "text-training", Edits: "flags", Language: "python",
	Proofs: []string{"axolotl/", "[axolotl.", "axolotl.cli", "packing_efficiency_estimate"},
	Beside: map[string][]string{"axolotl/": {"src/", "cli/", "train.py", "utils/", "core/", "monkeypatch/"}},
	Like:   []*program.Program{&Transformers},
	Cards:  axolotlCards,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_context": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "config", Text: "sequence_len: " + shorterSample(c)}}
		},
		"lower_batch_size":       step.Paste("config", "micro_batch_size: 1\ngradient_accumulation_steps: 8   # batch x accumulation as before"),
		"gradient_checkpointing": step.Paste("config", "gradient_checkpointing: true"),
		"load_in_4bit":           step.Paste("config", "load_in_4bit: true\nadapter: qlora"),
		"load_in_8bit":           step.Paste("config", "load_in_8bit: true\nadapter: lora"),
		"use_lora":               step.Paste("config", "adapter: qlora\nload_in_4bit: true\nlora_r: 16\nlora_target_linear: true"),
		"optimizer_8bit":         step.Paste("config", "optimizer: paged_adamw_8bit"),
		"shard_training":         step.Paste("config", "deepspeed: deepspeed_configs/zero3_bf16.json"),
		"offload_optimizer":      step.Paste("config", "deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json"),
		"upgrade_version":        step.Paste("shell", "pip install --upgrade axolotl transformers accelerate"),
	},
}
