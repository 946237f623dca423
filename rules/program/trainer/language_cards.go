package trainer

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/step"
)

// trainedLength is what trainers call the length of a sample.
var trainedLength = []string{"max_seq_length", "max_length", "seq_length", "max_seq_len", "max_len", "cutoff_len", "sequence_len"}

// textFigures are batch and length of the log with their halves, what the model
// takes, and how many tokens the piece that was refused is as 32-bit logits.
func textFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"tokens128": "", "tokens152": "", "w16": "", "full": "", "length": "", "shorter": halved(c, "2048", trainedLength...)}
	if s, ok := c.Setting(trainedLength...); ok {
		out["length"] = s.Value
	}
	if c.Model != nil && c.Model.Parameters > 0 {
		out["w16"], out["full"] = units.Amount(2*c.Model.Parameters), units.Amount(16*c.Model.Parameters)
	}
	if n := ledger.Requested(c); n >= units.GiB/2 {
		out["tokens128"], out["tokens152"] = roundCount(n/128256/4), roundCount(n/151936/4)
	}
	return out
}

// roundCount is a count rounded to what it can mean: 20,300.
func roundCount(n int64) string {
	if n >= 1000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000/100*100)
	}
	return fmt.Sprint(n)
}

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
	k := stepCard(id, said, means, not, source, cures...)
	k.Headline, k.Figures = "ran out of memory in a training step", textFigures
	return k
}

var torchtuneCards = []cause.Card{
	textStep("torchtune/step", []string{"torchtune/", "_single_device.py", "_distributed.py"},
		"A step holds activations and logits of `batch_size` samples, each as long as it comes: `tokenizer.max_seq_len` is null by default, so that the longest sample decides.[[ {asked} is {tokens128} tokens of Llama 3's 128,000 words in 32 bit.]][[ This process holds {mine} of {total}.]] Full training takes 12 to 16 bytes per parameter besides[[ ({full} for {model} at 16)]].",
		"More epochs or a smaller data set: one step is what fails.", "torchtune/recipes/configs/llama3_1/8B_full_single_device.yaml",
		cause.Cure{Fix: "lower_context", Title: "Cut the samples, with checkpoints", Told: "Added to your `tune run` command:", Kind: "config", Text: "tokenizer.max_seq_len={shorter} enable_activation_checkpointing=True", Cost: "What is cut off is not learnt."},
		cause.Cure{Fix: "lower_batch_size", If: notOne, Title: "Halve the batch, accumulate twice", Steps: fewer("config", "batch_size=%d gradient_accumulation_steps=%d"), Cost: "Slower; nearly the same result."},
		cause.Cure{Fix: "use_lora", Title: "LoRA on 4 bit", Told: "`tune ls` lists recipes and configs; take the one of your model that ends in `_qlora_single_device`.", Kind: "shell", Text: "tune run lora_finetune_single_device --config llama3_1/8B_qlora_single_device", Cost: "For most purposes the same result."}),
}

var swiftCards = []cause.Card{
	{
		ID: "ms-swift/pixels", Kinds: refused, Said: []string{"vision_tower", "in get_image_features", "visual(pixel_values", "self.visual(", "pixel_values_videos", "in get_video_features"},
		If: ownCard, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory in the vision part: the images are too large",
		Means:    "Images are cut into patches before the language model sees them, and attention over the patches grows with their number squared.[[ {asked} was asked for in one piece.]] By default up to 16384 x 28 x 28 pixels an image (12.8 million) go in.",
		Not:      "`--max_length`: the vision part runs before tokens are counted.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Fewer pixels", Told: "Before your command; about a million pixels an image. The names with FPS and VIDEO are for video.", Kind: "env", Text: "export MAX_PIXELS=1003520 VIDEO_MAX_PIXELS=50176 FPS_MAX_FRAMES=12", Cost: "Small print is lost."},
			{Fix: "efficient_attention", Title: "Flash attention", Told: "Add `--attn_impl flash_attn` (pip install flash-attn).", Cost: "None; usually faster."},
			{Fix: "gradient_checkpointing", Title: "Checkpoints in the vision part too", Told: "Add `--vit_gradient_checkpointing true`, or freeze it: `--freeze_vit true`.", Cost: "Slower steps."},
		},
		Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md"},
	},
	{
		ID: "ms-swift/rlhf", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"swift/cli/rlhf.py", "rlhf_main", "grpo_trainer", "swift rlhf"}, Figures: textFigures,
		If: func(c *ledger.Case) bool {
			return ledger.OnCard(c) && !c.Limit.Has() && !operation.Is(operation.Exchange)(c)
		}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in RLHF, where several parts of a run share each card",
		Means:    "RLHF keeps a policy in training, a reference and often vLLM on the same cards, and needs the logits of whole answers: tokens x vocabulary.[[ {asked} is {tokens152} tokens with Qwen's 152,000 words in 32 bit.]][[ Outside this process {others} of the card is taken: in such a run mostly its own vLLM or another rank, which a container hides; `nvidia-smi` on the machine tells whether it is an older run.]]",
		Not:      "Killing the other processes, if they belong to the run.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: notOne, Title: "Fewer and shorter answers at a time", Told: "Added to `swift rlhf`:", Steps: fewer("config", "--max_completion_length 1024 --per_device_train_batch_size %d --gradient_accumulation_steps %d"), Cost: "Slower; long answers are cut."},
			{Fix: "lower_gpu_memory_utilization", Title: "vLLM on these cards: a smaller share, asleep while training", Told: "`--vllm_gpu_memory_utilization 0.3 --sleep_level 1 --offload_optimizer true --offload_model true`.", Cost: "Slower generation and steps."},
			{Fix: "shard_training", Title: "Share weights and optimizer out", Told: "`--deepspeed zero3` (or `zero3_offload`), and `NPROC_PER_NODE` = the cards of a machine.", Cost: "Communication between the cards."},
		},
		Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md", "https://github.com/modelscope/ms-swift/issues/5943"},
	},
	textStep("ms-swift/step", []string{"swift/trainers/", "swift/llm/", "swift/cli/"},
		"`--per_device_train_batch_size` x `--max_length`[[ ({length} here)]] decides, and the tokens of images count too; logits are tokens x vocabulary besides.[[ {asked} is {tokens152} tokens with Qwen's 152,000 words in 32 bit.]][[ This process holds {mine} of {total}.]]",
		"More cards with plain DDP: each holds the whole model.", "ms-swift/docs/source_en/Instruction/Command-line-parameters.md",
		cause.Cure{Fix: "lower_batch_size", If: notOne, Title: "Halve the batch, accumulate twice", Told: "Added to `swift sft`:", Steps: fewer("config", "--per_device_train_batch_size %d --gradient_accumulation_steps %d"), Cost: "Slower; nearly the same result."},
		cause.Cure{Fix: "lower_context", Title: "Shorter samples, fewer pixels", Told: "And for vision models `MAX_PIXELS=1003520` before the command.", Kind: "config", Text: "--max_length {shorter} --use_liger_kernel true", Cost: "Longer samples are dropped or cut (`--truncation_strategy`)."},
		cause.Cure{Fix: "shard_training", Title: "4-bit LoRA on one card, ZeRO-3 on several", Told: "`--quant_method bnb --quant_bits 4` or `--deepspeed zero3` with `NPROC_PER_NODE` = the cards (not both).", Cost: "Little quality, or communication between the cards."}),
}

var megatronCards = []cause.Card{
	{
		ID: "megatron/buffers", Kinds: refused, Said: []string{"param_and_grad_buffer.py", "distrib_optimizer.py", "_allocate_grad_buffers", "core/optimizer/", "optimizer_param_scheduler"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Figures: textFigures,
		Headline: "ran out of memory laying out gradients and optimizer",
		Means:    "It failed before a sample was computed: 18 bytes for each parameter that a card holds; with the distributed optimizer 6, and 12 divided by the data-parallel cards.[[ This process holds {mine} of {total}.]] How many parameters that is follows from tensor x pipeline parallel size.",
		Not:      "`--micro-batch-size`: nothing of a batch is there yet.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Cut the model up further, share the optimizer", Told: "Added to your command; with 8 cards 4 x 2 or 8 x 1 of tensor x pipeline.", Kind: "config", Text: "--use-distributed-optimizer --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel", Cost: "Communication between the cards."},
			{Fix: "offload_optimizer", Title: "Keep the optimizer in RAM", Told: "`--optimizer-cpu-offload --use-precision-aware-optimizer`.", Cost: "Slower steps; 12 bytes of RAM a parameter."},
		},
		Sources: []string{"Megatron-LM/megatron/core/distributed/param_and_grad_buffer.py", "Megatron-LM/docs/source/api-guide/dist_optimizer.md"},
	},
	textStep("megatron/step", []string{"megatron/core/transformer/", "megatron/core/pipeline_parallel/", "megatron/training/training.py", "vocab_parallel_cross_entropy"},
		"The first pipeline stage holds activations of as many micro-batches as there are stages, so that it fills up first; one micro-batch x length[[ ({length} here)]] decides, not the global batch.[[ This process holds {mine} of {total}.]]",
		"A smaller global batch: only the micro-batch is on the card.", "Megatron-LM/megatron/training/arguments.py",
		cause.Cure{Fix: "gradient_checkpointing", Title: "Recompute activations", Told: "Least memory, about a third more time; `--recompute-activations` alone is cheaper and saves less.", Kind: "config", Text: "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1", Cost: "Slower steps."},
		cause.Cure{Fix: "lower_batch_size", Title: "The smallest micro-batch", Told: "`--micro-batch-size 1`; the global batch stays as it is.", Cost: "Slower; the same result."},
		cause.Cure{Fix: "shard_training", Title: "Split long sequences over cards", Told: "`--context-parallel-size 2`, and `--sequence-parallel` beside tensor parallelism.", Cost: "Communication between the cards."}),
}

var colossalCards = []cause.Card{
	{
		ID: "colossalai/placement", Kinds: refused, Said: []string{"gemini_mgr.py", "zero/gemini", "chunk/manager", "init_chunk", "gemini_ddp.py", "low_level_optim.py", "zero/sharded_optim", "strategies/colossalai.py"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Figures: textFigures,
		Headline: "ran out of memory in the optimizer: its values stay on the cards",
		Means:    "It failed in the plug-in that places parameters, gradients and optimizer values, in a step that forward and backward had passed.[[ This process holds {mine} of {total}.]] ZeRO-2 divides gradients and Adam's values by the cards but keeps all weights on each; without offload nothing goes to RAM. Full training takes about 16 bytes per parameter in all[[, {full} for {model}]].",
		Not:      "A smaller batch alone, if it fails at the first step.",
		Cures: []cause.Cure{
			{Fix: "offload_optimizer", Title: "Move the optimizer to RAM", Told: "ColossalChat's older scripts: `--strategy colossalai_zero2_cpu`. With the booster:", Kind: "python", Text: "plugin = LowLevelZeroPlugin(stage=2, precision=\"bf16\", cpu_offload=True)", Cost: "Slower steps; 12 bytes of RAM a parameter in all."},
			{Fix: "shard_training", Title: "Share the weights out too (Gemini, ZeRO-3)", Kind: "python", Text: "plugin = GeminiPlugin(precision=\"bf16\", placement_policy=\"static\", shard_param_frac=1.0,\n                      offload_optim_frac=1.0, offload_param_frac=1.0)   # lower the fractions while it fits", Cost: "Slower steps."},
			{Fix: "use_lora", Title: "Train a LoRA", Told: "ColossalChat: `--lora_rank 8`, newer releases `--lora_config` with a file.", Cost: "For most purposes the same result."},
		},
		Sources: []string{"ColossalAI/colossalai/booster/plugin/gemini_plugin.py", "ColossalAI/colossalai/booster/plugin/low_level_zero_plugin.py", "https://github.com/hpcaitech/ColossalAI/issues/3509"},
	},
}
