package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Torchtune reads a YAML file with overrides key=value.
var Torchtune = program.Program{
	Name: "torchtune", Shown: "torchtune",
	Commands: []string{"tune"},
	Work:     "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{"torchtune/recipes/configs/llama3_1/8B_full_single_device.yaml": "batch_size gradient_accumulation_steps enable_activation_checkpointing enable_activation_offloading tokenizer.max_seq_len optimizer_in_bwd", "torchtune/README.md": "--nproc_per_node --config"},
	Proofs:  []string{"-packages/torchtune/", "torchtune/", "tune run full_", "tune run lora_", "tune run qat_", "tune run --n", "tune run knowledge_", "tune run generate", "tune run eleuther_"},
	Steps: parts.Spelling{
		"lower_batch_size":       parts.Config("batch_size: 1\ngradient_accumulation_steps: 8   # 1 with optimizer_in_bwd: True"),
		"lower_context":          parts.Say("Add `tokenizer.max_seq_len=2048` to your `tune run` command. The default, null, allows samples of any length."),
		"gradient_checkpointing": parts.Config("enable_activation_checkpointing: True\nenable_activation_offloading: True   # with it, saves more, slower"),
		"optimizer_8bit":         parts.Config("optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n  lr: 2e-5"),
		"offload_optimizer":      parts.Config("fsdp_cpu_offload: True   # distributed recipes"),
		"shard_training":         parts.Say("Several GPUs: `tune run --nproc_per_node 4 full_finetune_distributed --config` with its config. One GPU: the single_device recipe with PagedAdamW8bit and `optimizer_in_bwd: True`."),
		"use_lora":               parts.Say("Run the recipe `lora_finetune_single_device` with a config that ends in `_qlora_single_device`."),
	},
	Like:  []*program.Program{&parts.LanguageModels},
	Cards: torchtuneCards,
}

// Swift is ModelScope's ms-swift.
var Swift = program.Program{
	Name: "ms-swift", Shown: "ms-swift",
	Work: "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md": "--per_device_train_batch_size --gradient_accumulation_steps --max_length --gradient_checkpointing --vit_gradient_checkpointing --deepspeed --quant_method --quant_bits --use_liger_kernel --attn_impl --padding_free --truncation_strategy --tuner_type --train_type NPROC_PER_NODE CUDA_VISIBLE_DEVICES MAX_PIXELS VIDEO_MAX_PIXELS FPS_MAX_FRAMES --freeze_vit --max_pixels --eval_strategy --split_dataset_ratio --per_device_eval_batch_size"},
	Proofs:  []string{"swift/llm/", "swift/trainers/", "swift/cli/", "ms-swift/", "[INFO:swift]", "[ERROR:swift]"},
	Steps: parts.Spelling{
		"lower_batch_size":       parts.Say("Add `--per_device_train_batch_size 1 --gradient_accumulation_steps 16` to `swift sft`."),
		"lower_context":          parts.Say("Add `--max_length 2048`: longer samples are dropped or cut (`--truncation_strategy`). For vision models fewer pixels save more: `MAX_PIXELS=1003520` before the command (Qwen-VL), `--max_pixels 1003520` (others)."),
		"gradient_checkpointing": parts.Say("Keep `--gradient_checkpointing true`, the default. If you train the vision part (`--freeze_vit false`), add `--vit_gradient_checkpointing true`."),
		"lower_resolution":       parts.Say("Qwen2-VL and 2.5-VL: put `MAX_PIXELS=1003520` before the command (video: `VIDEO_MAX_PIXELS=50176 FPS_MAX_FRAMES=12`). Other models: add `--max_pixels 1003520`."),
		"shard_training":         parts.Say("Add `--deepspeed zero3` and set `NPROC_PER_NODE` to the number of GPUs. On one GPU: `--deepspeed zero2_offload`."),
		"offload_optimizer":      parts.Say("Add `--deepspeed zero3_offload`."),
		"load_in_4bit":           parts.Say("Add `--quant_method bnb --quant_bits 4`."),
		"multi_gpu":              parts.Say("Show it several GPUs, such as `CUDA_VISIBLE_DEVICES=0,1` without NPROC_PER_NODE: it then splits the layers over them."),
		"use_lora":               parts.Say("Train with LoRA (`--tuner_type lora`, in older releases `--train_type lora`) and `--quant_method bnb --quant_bits 4`."),
	},
	Titles: map[string]string{"lower_resolution": "Lower the pixels of each image (MAX_PIXELS)", "lower_context": "Shorten the samples (--max_length)"},
	Remedies: map[string][]cause.Remedy{cause.ModelTooLarge: {
		{Fix: "use_lora", Fit: cause.Cures, If: when.Not(when.All(swiftAdapts, swiftQuantised))},
		{Fix: "multi_gpu", Fit: cause.Cures, If: swiftAdapts},
		{Fix: "shard_training", Fit: cause.Cures, If: when.Not(swiftAdapts)},
		{Fix: "use_smaller_model", Fit: cause.Helps},
		{Fix: "offload_optimizer", Fit: cause.MayHelp, If: when.Not(swiftAdapts)},
		{Fix: "close_other_apps", Fit: cause.MayHelp, If: when.Not(ledger.FillsCard)},
	}},
	Like:  []*program.Program{&parts.LanguageModels},
	Cards: swiftCards,
}

// swiftAdapts: an adapter is trained; swiftQuantised: on a model in 4 or 8 bit.
func swiftAdapts(c *ledger.Case) bool { return c.Near("--train_type lora", "--tuner_type lora") }
func swiftQuantised(c *ledger.Case) bool {
	return c.Near("--quant_bits", "--quantization_bit", "-AWQ", "-GPTQ")
}

// Megatron is NVIDIA's Megatron-LM and its core, which others build on.
var Megatron = program.Program{
	Name: "megatron", Shown: "Megatron-LM", Rank: 66,
	Work: "text-training", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"Megatron-LM/megatron/training/arguments.py":                  "--recompute-activations --optimizer-cpu-offload --use-distributed-optimizer --seq-length --use-precision-aware-optimizer --micro-batch-size --num-workers",
		"Megatron-LM/megatron/core/transformer/transformer_config.py": "--recompute-granularity --recompute-method --recompute-num-layers",
		"Megatron-LM/megatron/core/model_parallel_config.py":          "--tensor-model-parallel-size --pipeline-model-parallel-size --context-parallel-size --sequence-parallel",
	},
	Proofs: []string{"megatron/core/", "megatron/training/", "Megatron-LM/", "megatron/legacy/", "Pai-Megatron-Patch", "[before the start of training step] datetime"},
	Steps: parts.Spelling{
		"lower_num_workers":      parts.Say("Pass `--num-workers 0` to the training script (default: 2 in each rank). If that works, try 1."),
		"lower_batch_size":       parts.Say("Set `--micro-batch-size 1`. The global batch size stays the same."),
		"lower_context":          parts.Say("Split long sequences over GPUs with `--context-parallel-size 2`, or lower `--seq-length`."),
		"gradient_checkpointing": parts.Say("Add `--recompute-granularity full --recompute-method uniform --recompute-num-layers 1` (least memory), or `--recompute-activations` (cheaper, saves less)."),
		"shard_training":         parts.Say("Double `--tensor-model-parallel-size` (within one machine, with `--sequence-parallel`) or `--pipeline-model-parallel-size`, and add `--use-distributed-optimizer`."),
		"offload_optimizer":      parts.Say("Add `--optimizer-cpu-offload` (it needs `--use-precision-aware-optimizer` and `--use-distributed-optimizer`)."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:         {{Fix: "shard_training", Fit: cause.Cures}, {Fix: "offload_optimizer", Fit: cause.MayHelp}, {Fix: "use_smaller_model", Fit: cause.LastResort}},
		cause.TrainingStateTooLarge: {{Fix: "shard_training", Fit: cause.Cures}, {Fix: "offload_optimizer", Fit: cause.Helps}, {Fix: "gradient_checkpointing", Fit: cause.LastResort}},
		cause.BatchTooLarge:         {{Fix: "lower_batch_size", Fit: cause.Cures}, {Fix: "gradient_checkpointing", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "shard_training", Fit: cause.MayHelp}},
	},
	Like:  []*program.Program{&parts.LanguageModels},
	Cards: megatronCards,
}

// ColossalAI shards with plug-ins of its booster.
var ColossalAI = program.Program{
	Name: "colossalai", Shown: "Colossal-AI",
	Work: "text-training", Edits: "code", Language: "python",
	Sources: program.Sources{
		"ColossalAI/colossalai/booster/plugin/gemini_plugin.py":                       "placement_policy offload_optim_frac offload_param_frac",
		"ColossalAI/applications/ColossalChat/examples/training_scripts/train_sft.py": "--batch_size --max_len --grad_checkpoint --lora_config --microbatch_size",
	},
	Proofs: []string{"colossalai/", "ColossalAI/", "coati/"},
	Steps: parts.Spelling{
		"lower_batch_size":       parts.Say("Add `--batch_size 1` to your script (ColossalChat's train_sft.py: default 4)."),
		"lower_context":          parts.Say("Halve `--max_len` of your script."),
		"gradient_checkpointing": parts.Say("Add `--grad_checkpoint`, or call `model.gradient_checkpointing_enable()` before the booster."),
		"shard_training":         step.Paste("python", "plugin = GeminiPlugin(precision=\"bf16\", placement_policy=\"static\", shard_param_frac=1.0,\n                      offload_optim_frac=1.0, offload_param_frac=1.0)   # lower the fractions while it fits"),
		"offload_optimizer":      step.Paste("python", "plugin = LowLevelZeroPlugin(stage=2, precision=\"bf16\", cpu_offload=True)"),
	},
	Like:  []*program.Program{&parts.LanguageModels},
	Cards: colossalCards,
}

// SentenceTransformers makes and trains embeddings; many apps use it.
var SentenceTransformers = program.Program{
	Name: "sentence-transformers", Script: "sentence-transformers-script", Shown: "Sentence Transformers", Rank: 63,
	Work: "embedding", Edits: "code", Language: "python",
	Sources: program.Sources{"sentence-transformers/sentence_transformers/sentence_transformer/losses/cached_multiple_negatives_ranking.py": "mini_batch_size"},
	Proofs:  []string{"sentence_transformers/"},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: embedWork, cause.ContextTooLong: embedWork, cause.OversizedAllocation: embedWork,
		cause.ModelTooLarge: {{Fix: "half_precision", Fit: cause.Cures}, {Fix: "lower_batch_size", Fit: cause.Helps}, {Fix: "use_smaller_model", Fit: cause.Helps}, {Fix: "lower_context", Fit: cause.Helps}},
	},
	Steps: parts.Spelling{
		"lower_batch_size": func(c *ledger.Case) []step.Step {
			if c.Training() {
				return []step.Step{{Kind: "python", Text: "args = SentenceTransformerTrainingArguments(output_dir=\"out\", per_device_train_batch_size=16, fp16=True)\nloss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=16)   # keeps a large batch of negatives"}}
			}
			return []step.Step{{Kind: "python", Text: "vectors = model.encode(texts, batch_size=8)   # default 32; the longest texts go first"}}
		},
		"lower_context":  step.Paste("python", "model.max_seq_length = 512   # models with 8192 read that much of each text"),
		"half_precision": step.Paste("python", "model = SentenceTransformer(name, model_kwargs={\"torch_dtype\": \"float16\"})   # or model.half()"),
	},
	Titles: map[string]string{"lower_context": "Read less of each text (max_seq_length)", "lower_batch_size": "Encode fewer texts at a time"},
	Costs:  map[string]string{"lower_batch_size": "A little slower; the vectors are the same.", "lower_context": "What comes after is not in the vector."},
	Cards:  embedCards,
}

var embedWork = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Cures},
	{Fix: "lower_context", Fit: cause.Cures},
	{Fix: "half_precision", Fit: cause.Helps},
}

// FlagEmbedding is BAAI's trainer and library of the BGE models.
var FlagEmbedding = program.Program{
	Name: "flagembedding", Shown: "FlagEmbedding",
	Work: "embedding", Edits: "flags", Language: "python",
	Sources: program.Sources{"FlagEmbedding/FlagEmbedding/abc/finetune/embedder/AbsArguments.py": "--train_group_size --query_max_len --passage_max_len --sub_batch_size --per_device_train_batch_size --gradient_checkpointing --fp16 --deepspeed"},
	Proofs:  []string{"FlagEmbedding/", "FlagEmbedding."},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: embedWork, cause.ContextTooLong: embedWork, cause.OversizedAllocation: embedWork,
	},
	Steps: parts.Spelling{
		"lower_batch_size": func(c *ledger.Case) []step.Step {
			if c.Training() {
				return []step.Step{{Kind: "text", Text: "Lower `--train_group_size` (default 8 passages per query) and `--per_device_train_batch_size`, and add `--gradient_checkpointing`."}}
			}
			return []step.Step{{Kind: "python", Text: "vectors = model.encode(texts, batch_size=16, max_length=512)   # default batch 256"}}
		},
		"lower_context":  parts.Say("Training: `--query_max_len 64 --passage_max_len 256`. Encoding: `max_length=512`."),
		"half_precision": parts.Say("Training: `--fp16`. Encoding: pass `use_fp16=True` to the model."),
	},
	Titles: map[string]string{"lower_context": "Shorten queries and passages"},
	Cards:  flagCards,
}
