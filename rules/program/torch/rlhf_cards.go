package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
)

var trlCards = []cause.Card{
	tuning.VLLMDevice,
	tuning.Colocated,
	{
		ID: "trl/grpo-logits", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_get_per_token_logps", "selective_log_softmax", "grpo_trainer.py", "rloo_trainer.py"}, Figures: logitFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory computing the log probabilities (logits) of completions",
		Means:    "Log probabilities need logits: completions per batch x completion length x vocabulary, in 16 and again in 32 bit. Even a 0.5B model can fill 24 GB with them.[[ {asked} is {tokens152} tokens with the vocabulary of Qwen, {tokens128} with that of Llama 3.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Told: "Batch size x accumulation x GPUs must be divisible by `num_generations`.", Steps: smallerBatch("config", "per_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower; the same result."},
			tuning.ShortCompletions,
			{Fix: "efficient_attention", Title: "Use the fused loss (use_liger_kernel)", Told: "It does not store the logits as a whole:", Kind: "python", Text: "args = GRPOConfig(\"out\", use_liger_kernel=True)   # pip install liger-kernel; use_liger_loss=True in trl before 0.25", Cost: "Linux only."},
		},
		Sources: []string{"trl/trl/trainer/grpo_trainer.py", "https://github.com/huggingface/trl/issues/3678", "https://github.com/huggingface/trl/issues/2709", "https://github.com/huggingface/trl/issues/4585"}, Solved: 1,
	},
	{
		ID: "trl/dpo-pairs", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"dpo_trainer.py", "concatenated_forward", "compute_ref_log_probs", "kto_trainer.py", "orpo_trainer.py"}, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in preference training (DPO, ORPO or KTO)",
		Means:    "DPO and ORPO send chosen and rejected answers through the model together: twice the batch that you set, with logits for both. DPO without a LoRA also keeps a second, frozen copy of the model as the reference[[ ({w16} for {model} at 16 bit)]].",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train a LoRA: it needs no reference copy", Told: "The base model without the adapter is then the reference:", Kind: "python", Text: "trainer = DPOTrainer(model=model, ref_model=None, args=args, train_dataset=data, processing_class=tokenizer,\n    peft_config=LoraConfig(r=16, target_modules=\"all-linear\", task_type=\"CAUSAL_LM\"))", Cost: "For most purposes the same result."},
			{Fix: "lower_context", Title: "Set the batch to 1, shorten the pairs, precompute the reference", Told: "With `precompute_ref_log_probs` the reference model is not needed during training.", Kind: "python", Text: "args = DPOConfig(\"out\", precompute_ref_log_probs=True, max_length={shorter}, gradient_checkpointing=True,\n    per_device_train_batch_size=1, gradient_accumulation_steps=8)   # with your other arguments", Cost: "A pass over the data first; long pairs are cut."},
			{Fix: "shard_training", Title: "Shard both models over several cards (ZeRO-3)"},
		},
		Sources: []string{"trl/trl/trainer/dpo_trainer.py", "trl/docs/source/reducing_memory_usage.md"},
	},
	{
		ID: "trl/ppo-models", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"ppo_trainer.py", "PPOTrainer", "batched_forward_pass", "PolicyAndValueWrapper"}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in PPO, which keeps up to four models on the card",
		Means:    "PPO keeps policy, reference, reward and value model on the card at once, plus the logits of whole responses.[[ {model} alone is {w16} at 16 bit, and up to {full} while it is trained.]] If it fails before the first step, the models alone are too large.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train a LoRA: the reference shares the base model", Kind: "python", Text: "trainer = PPOTrainer(args=args, processing_class=tokenizer, model=policy, ref_model=None, reward_model=reward, value_model=value,\n    train_dataset=data, peft_config=LoraConfig(task_type=\"CAUSAL_LM\"))", Cost: "For most purposes the same result."},
			{Fix: "lower_batch_size", Title: "Lower the batch sizes and the response length", Kind: "python", Text: "args = PPOConfig(output_dir=\"out\", per_device_train_batch_size=1, local_rollout_forward_batch_size=1,\n    response_length=128)   # or half of yours; with your other arguments", Cost: "Slower."},
			{Fix: "shard_training", Title: "Shard the models over several cards (ZeRO-3)"},
		},
		Sources: []string{"trl/trl/experimental/ppo/ppo_config.py"},
	},
}
