package trainer

import (
	"fmt"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// trainedLength is what trainers call the length of a sample.
var trainedLength = []string{"max_seq_length", "max_length", "seq_length", "max_seq_len", "max_len", "cutoff_len", "sequence_len", fact.OptionLength}

// textFigures are batch and length of the log with their halves, what the model
// takes, and how many tokens the piece that was refused is as 32-bit logits.
func textFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"tokens128": "", "tokens152": "", "zero2": map[bool]string{true: "ZeRO-2 splits gradients and Adam's state over the GPUs, but keeps all weights on each."}[!inGemini(c)], "w16": "", "full": "", "length": "", "shorter": parts.Halved(c, "2048", trainedLength...), "others": map[bool]string{true: c.Others.String()}[c.Others.Bytes >= units.GiB]}
	s, _ := c.Setting(trainedLength...)
	out["length"] = s.Value
	if c.Model != nil && c.Model.Parameters > 0 {
		out["w16"], out["full"] = units.Amount(2*c.Model.Parameters), units.Amount(16*c.Model.Parameters)
	}
	if n := ledger.Requested(c); n >= units.GiB/2 {
		out["tokens128"], out["tokens152"] = roundCount(n/128256/4), roundCount(n/151936/4)
	}
	return out
}

// roundCount is a count rounded to what it can mean: 20,300.
func roundCount(n int64) string { return ledger.Thousands(n / 100 * 100) }

// fewer spells half of the batch and twice the accumulation that the log shows.
func fewer(kind, format string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		batch, accumulate := ledger.IntSetting(c, step.BatchSettings...), max(ledger.IntSetting(c, "gradient_accumulation_steps"), 1)
		if batch < 2 {
			return []step.Step{{Kind: kind, Text: fmt.Sprintf(format, 1, 8)}}
		}
		return []step.Step{{Kind: kind, Text: fmt.Sprintf(format, batch/2, 2*accumulate) + fmt.Sprintf("   # was %d and %d", batch, accumulate)}}
	}
}

func notOne(c *ledger.Case) bool { return ledger.IntSetting(c, step.BatchSettings...) != 1 }

// textStep is a step of a language model that did not fit, in a trainer's words.
func textStep(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	k := parts.StepCard(id, said, means, not, source, cures...)
	k.Headline, k.Figures = "ran out of memory in a training step", textFigures
	return k
}

var torchtuneCards = []cause.Card{
	{
		ID: "torchtune/optimizer", Kinds: parts.Refused, Said: []string{"torch/optim/adam", "exp_avg_sq", "optimizer.step()"}, If: when.All(parts.Own, parts.Shows("full_finetune", "_optimizer.step", "exp_avg")), Figures: textFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory when the optimizer made its state, in the first step",
		Means: "AdamW keeps two numbers for every weight, beside weights and gradients: 8 bytes in all in bf16, 16 in 32 bit. For 8 billion parameters that is 64 GB or more. Batch and sample length do not change it.",
		Not:   "A smaller batch or shorter samples: the optimizer's state stays as large.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Use the paged 8-bit optimizer, step in the backward pass", Told: "One GPU (the single_device recipes; needs bitsandbytes). Gradients are then freed at once:", Kind: "config", Text: "optimizer=bitsandbytes.optim.PagedAdamW8bit optimizer_in_bwd=True gradient_accumulation_steps=1", Cost: "Hardly any quality."},
			{Fix: "use_lora", Title: "Train a LoRA on a 4-bit model (QLoRA)", Told: "`tune ls` lists the configs. Use your model's config that ends in `_qlora_single_device`:", Kind: "shell", Text: "tune run lora_finetune_single_device --config llama3_1/8B_qlora_single_device", Cost: "For most purposes the same result."},
			{Fix: "shard_training", Title: "Shard it over several GPUs (FSDP)", Kind: "text", Text: "`tune run --nproc_per_node 4 full_finetune_distributed --config` with its config; `fsdp_cpu_offload=True` moves the state to RAM.", Cost: "Communication between the GPUs."},
		},
		Sources: []string{"torchtune/recipes/configs/llama3_1/8B_full_single_device.yaml"},
	},
	textStep("torchtune/step", []string{"torchtune/", "_single_device.py", "_distributed.py"},
		"Memory grows with `batch_size` and the sample length. `tokenizer.max_seq_len` is null by default, so the longest sample decides.[[ With Llama 3's vocabulary, {asked} is the logits of {tokens128} tokens in 32 bit.]] Full training also takes 12 to 16 bytes per parameter[[ (up to {full} for {model})]]; a LoRA far less.",
		"", "torchtune/recipes/configs/llama3_1/8B_full_single_device.yaml",
		cause.Cure{Fix: "lower_context", Title: "Shorten the samples, with activation checkpointing", Told: "Add to your `tune run` command:", Kind: "config", Text: "tokenizer.max_seq_len={shorter} enable_activation_checkpointing=True", Cost: "Text that is cut off is not learned."},
		cause.Cure{Fix: "lower_batch_size", If: notOne, Title: "Lower the batch size, raise gradient accumulation", Told: "With `optimizer_in_bwd=True` keep the accumulation at 1.", Steps: fewer("config", "batch_size=%d gradient_accumulation_steps=%d"), Cost: "Slower; nearly the same result."},
		cause.Cure{Fix: "use_lora", Title: "Train a LoRA on a 4-bit model (QLoRA)", Told: "`tune ls` lists the configs. Use your model's config that ends in `_qlora_single_device`:", Kind: "shell", Text: "tune run lora_finetune_single_device --config llama3_1/8B_qlora_single_device", Cost: "For most purposes the same result."}),
}

var swiftCards = []cause.Card{
	{
		ID: "ms-swift/pixels", Kinds: parts.Refused, Said: []string{"vision_tower", "in get_image_features", "visual(pixel_values", "self.visual(", "pixel_values_videos", "in get_video_features"},
		If: parts.Own, Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "ran out of memory in the vision part of the model: probably the images are too large",
		Means: "Images are split into patches, and attention over them grows with the square of their number. By default Qwen2-VL and 2.5-VL accept images of up to 12.8 million pixels (16384 x 28 x 28).",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Limit the pixels of each image (MAX_PIXELS)", Told: "Run this before your command; it allows about a million pixels per image (the last two are for video). For other models than Qwen-VL add `--max_pixels 1003520` instead.", Kind: "env", Text: "export MAX_PIXELS=1003520 VIDEO_MAX_PIXELS=50176 FPS_MAX_FRAMES=12", Cost: "Small print becomes unreadable."},
			{Fix: "efficient_attention", Title: "Use flash attention", Told: "Add `--attn_impl flash_attn` (after `pip install flash-attn`).", Cost: "None; usually faster."},
			{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing in the vision part", Told: "If you train that part (`--freeze_vit false`), add `--vit_gradient_checkpointing true`. Or freeze it, which is the default.", Cost: "Slower steps."},
		},
		Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md"},
	},
	{
		ID: "ms-swift/rlhf", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"swift/cli/rlhf.py", "rlhf_main", "grpo_trainer", "swift rlhf"}, Figures: textFigures,
		If: func(c *ledger.Case) bool {
			return ledger.OnCard(c) && !c.Limit.Has() && !operation.Is(operation.Exchange)(c)
		}, Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory in RLHF training",
		Means: "RLHF often keeps the trained model, a reference model and vLLM on the same GPUs. It also needs the logits of whole answers (tokens x vocabulary).[[ With Qwen's vocabulary, {asked} is {tokens152} tokens in 32 bit.]][[ Something outside this process holds {others}: usually the run's own vLLM or another rank. `nvidia-smi` shows whether it is an old run.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: notOne, Title: "Lower the batch size and the answer length", Told: "Also halve `--max_completion_length` (GRPO) or `--max_length` (DPO and others). Add to `swift rlhf`:", Steps: fewer("config", "--per_device_train_batch_size %d --gradient_accumulation_steps %d"), Cost: "Slower; long answers are cut."},
			{Fix: "lower_gpu_memory_utilization", If: func(c *ledger.Case) bool { return c.Near("grpo_trainer") || c.In("vllm") }, Title: "Give vLLM a smaller share, and let it sleep while training", Told: "If vLLM runs on the same GPUs, add `--vllm_gpu_memory_utilization 0.3 --sleep_level 1 --offload_optimizer true --offload_model true`.", Cost: "Slower generation and steps."},
			{Fix: "shard_training", Title: "Shard weights and optimizer over several GPUs (ZeRO-3)", Told: "Add `--deepspeed zero3` (or `zero3_offload`), and set `NPROC_PER_NODE` to the number of GPUs per machine.", Cost: "Communication between the GPUs."},
		},
		Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md", "https://github.com/modelscope/ms-swift/issues/5943"},
	},
	tuning.SwiftEvaluation,
	textStep("ms-swift/step", []string{"swift/trainers/", "swift/llm/", "swift/cli/", "--train_type lora", "--tuner_type lora", "--quant_bits", "--quantization_bit", "-AWQ", "-GPTQ"},
		"Memory grows with `--per_device_train_batch_size` and the sample length (`--max_length`[[, here {length}]]). Image tokens count too.[[ With Qwen's vocabulary, {asked} is the logits of {tokens152} tokens in 32 bit.]]",
		"More GPUs with plain DDP: each holds the whole model.", "ms-swift/docs/source_en/Instruction/Command-line-parameters.md",
		cause.Cure{Fix: "lower_batch_size", If: notOne, Title: "Lower the batch size, raise gradient accumulation", Told: "Add to `swift sft` (the default is 1 since ms-swift 3):", Steps: fewer("config", "--per_device_train_batch_size %d --gradient_accumulation_steps %d"), Cost: "Slower; nearly the same result."},
		cause.Cure{Fix: "lower_context", Title: "Shorten the samples (--max_length)", Told: "For vision models also limit the pixels: `MAX_PIXELS=1003520` before the command (Qwen-VL) or `--max_pixels 1003520` (others).", Kind: "config", Text: "--max_length {shorter} --use_liger_kernel true", Cost: "Longer samples are dropped or cut (`--truncation_strategy`)."},
		cause.Cure{Fix: "shard_training", Title: "Train a 4-bit LoRA, or shard with ZeRO-3", Told: "One GPU: `--quant_method bnb --quant_bits 4` with LoRA. Several: `--deepspeed zero3` and `NPROC_PER_NODE` set to their number.", Cost: "Little quality, or communication between the GPUs."}),
}

var megatronCards = []cause.Card{
	{
		ID: "megatron/buffers", Kinds: parts.Refused, Said: []string{"param_and_grad_buffer.py", "distrib_optimizer.py", "_allocate_grad_buffers", "core/optimizer/", "optimizer_param_scheduler"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Figures: textFigures, Headline: "ran out of memory for gradients and optimizer state",
		Means: "It failed in the gradient or optimizer buffers. Weights, gradients and optimizer take 18 bytes per parameter on a GPU. With the distributed optimizer it is 6 bytes, plus 12 divided by the data-parallel size. Tensor x pipeline parallel size decides how many parameters each GPU holds.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Split the model further, shard the optimizer", Told: "Double the tensor or pipeline parallel size. On 8 GPUs for example:", Kind: "config", Text: "--use-distributed-optimizer --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel", Cost: "Communication between the GPUs."},
			{Fix: "offload_optimizer", Title: "Keep the optimizer in system memory (RAM)", Told: "Add `--optimizer-cpu-offload --use-precision-aware-optimizer --use-distributed-optimizer`.", Cost: "Slower steps; 12 bytes of RAM per parameter."},
		},
		Sources: []string{"Megatron-LM/megatron/core/distributed/param_and_grad_buffer.py", "Megatron-LM/megatron/core/optimizer/__init__.py", "Megatron-LM/docs/user-guide/features/dist_optimizer.md"},
	},
	textStep("megatron/step", []string{"megatron/core/transformer/", "megatron/core/pipeline_parallel/", "megatron/training/training.py", "vocab_parallel_cross_entropy"},
		"Memory depends on micro-batch size x sequence length[[ ({length} here)]], not on the global batch size. With pipeline parallelism the first stage holds activations of the most micro-batches, so it fills up first.",
		"", "Megatron-LM/megatron/training/arguments.py",
		cause.Cure{Fix: "gradient_checkpointing", If: when.Not(recomputes), Title: "Recompute activations", Told: "Add to your command; it takes about a third more time. `--recompute-activations` alone is faster and saves less:", Kind: "config", Text: "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", Cost: "Slower steps."},
		cause.Cure{Fix: "lower_batch_size", If: notOne, Title: "Lower --micro-batch-size", Told: "Set it to 1; the global batch size stays the same.", Cost: "Slower; same result."},
		cause.Cure{Fix: "shard_training", Title: "Split long sequences over GPUs (context parallel)", Told: "Double `--context-parallel-size`. With tensor parallelism also add `--sequence-parallel`.", Cost: "Communication between the GPUs."},
		cause.Cure{Fix: "multi_gpu", If: recomputes, Title: "Double the tensor parallel size", Told: "Within one machine, with `--sequence-parallel`: each GPU then holds half of the weights, of the logits and of most activations.", Cost: "Communication between the GPUs."}),
}

// recomputes: all activations are computed again already.
func recomputes(c *ledger.Case) bool {
	s, _ := c.Setting("recompute_granularity")
	return s.Value == "full"
}

// inGemini: the plugin that shards the weights as well is at work.
var inGemini = cures.Near("gemini_mgr.py", "zero/gemini", "chunk/manager", "init_chunk", "gemini_ddp.py")

var colossalCards = []cause.Card{
	{
		ID: "colossalai/placement", Kinds: parts.Refused, Said: []string{"gemini_mgr.py", "zero/gemini", "chunk/manager", "init_chunk", "gemini_ddp.py", "low_level_optim.py", "zero/sharded_optim", "strategies/colossalai.py"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Figures: textFigures, Headline: "ran out of memory in the plugin that places weights and optimizer state",
		Means: "Full training takes about 16 bytes per parameter in all[[, {full} for {model}]].[[ {zero2}]] Without offload nothing goes to RAM.",
		Cures: []cause.Cure{
			{Fix: "offload_optimizer", If: inGemini, Title: "Move the optimizer to system memory (RAM)", Kind: "python", Text: "plugin = GeminiPlugin(precision=\"bf16\", placement_policy=\"static\", offload_optim_frac=1.0)   # with your other arguments", Cost: "Slower steps; 12 bytes of RAM per parameter."},
			{Fix: "cpu_offload", If: inGemini, Title: "If that is not enough: move the weights too", Told: "Add `offload_param_frac=1.0` to the same call.", Cost: "Much slower steps."},
			{Fix: "offload_optimizer", If: when.Not(inGemini), Title: "Move the optimizer to system memory (RAM)", Told: "Older ColossalChat scripts: `--strategy colossalai_zero2_cpu`. With the booster:", Kind: "python", Text: "plugin = LowLevelZeroPlugin(stage=2, precision=\"bf16\", cpu_offload=True)", Cost: "Slower steps; 12 bytes of RAM per parameter."},
			{Fix: "shard_training", If: when.Not(inGemini), Title: "Shard the weights too (Gemini, ZeRO-3)", Kind: "python", Text: "plugin = GeminiPlugin(precision=\"bf16\", placement_policy=\"static\", shard_param_frac=1.0,\n                      offload_optim_frac=1.0, offload_param_frac=1.0)   # lower the fractions while it fits", Cost: "Slower steps."},
			{Fix: "use_lora", Title: "Train a LoRA", Told: "ColossalChat: `--lora_rank 8`; newer releases take a file with `--lora_config`.", Cost: "For most purposes the same result."},
		},
		Sources: []string{"ColossalAI/colossalai/booster/plugin/gemini_plugin.py", "ColossalAI/colossalai/booster/plugin/low_level_zero_plugin.py", "https://github.com/hpcaitech/ColossalAI/issues/3509"},
	},
}
