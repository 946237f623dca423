package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// ramGone are the ways in which a process is told that RAM is at its end.
var ramGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.CPUAlloc}

// writesCode: the reader has a script, not the file of a trainer.
func writesCode(c *ledger.Case) bool {
	return !c.In("llama-factory", "axolotl", "ms-swift", "flagembedding", "torchtune", "kohya", "verl", "openrlhf")
}

var transformersCards = []cause.Card{
	{
		ID: "transformers/eval-accumulates", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"nested_concat", "torch_pad_and_concatenate", "preds_host = logits", "EvalLoopContainer", "all_preds.add"},
		If:    writesCode,
		Cause: cause.RetainedMemory, Weight: 0.93,
		Means: "Trainer's evaluation keeps the logits of every sample on the card until the end: samples x length x vocabulary. Training fits; this grows with the evaluation set.",
		Not:   "A smaller per_device_eval_batch_size alone: the sum of the logits stays the same.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Keep the argmax, not the logits", Kind: "python", Text: "trainer = Trainer(model=model, args=args, eval_dataset=data,\n                  preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(dim=-1))", Cost: "None, if the metric needs predictions only."},
			{Fix: "lower_batch_size", Title: "Move them to RAM in between", Kind: "python", Text: "args = TrainingArguments(\"out\", eval_accumulation_steps=8, per_device_eval_batch_size=1)", Cost: "System memory for all logits; slower."},
			{Fix: "inference_mode", Title: "Only the loss is wanted: keep no logits", Kind: "python", Text: "args = TrainingArguments(\"out\", prediction_loss_only=True)", Cost: "compute_metrics is not called."},
		},
		Sources: []string{"transformers/src/transformers/trainer_pt_utils.py", "https://github.com/huggingface/transformers/issues/8476", "https://github.com/huggingface/transformers/issues/18947", "https://github.com/huggingface/transformers/issues/15466"}, Solved: 2,
	},
	{
		ID: "transformers/kbit-fp32", Kinds: refused, Said: []string{"in prepare_model_for_kbit_training", "in prepare_model_for_int8_training", "param.data = param.data.to(torch.float32)"},
		Cause: cause.ModelTooLarge, Weight: 0.9,
		Means: "prepare_model_for_kbit_training turns every parameter that is not quantised into 32 bit: norms, but also embeddings and lm_head. With a vocabulary of 150,000 these are some GB, and of a model that was not quantised it is everything.",
		Not:   "A smaller batch: it failed before training.",
		Cures: []cause.Cure{
			{Fix: "load_in_4bit", Title: "Check that the model is quantised at all", Kind: "python", Text: "print(getattr(model, \"is_loaded_in_4bit\", False), model.get_memory_footprint() / 2**30)   # GiB; load with a BitsAndBytesConfig if it is False", Cost: "Free."},
			{Fix: "half_precision", Title: "Skip the call, keep what it is for", Kind: "python", Text: "model.gradient_checkpointing_enable()\nmodel.enable_input_require_grads()   # instead of prepare_model_for_kbit_training(model)", Cost: "Norms stay in 16 bit: slightly less stable."},
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"peft/src/peft/utils/other.py", "https://github.com/huggingface/peft/issues/1149", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1569"}, Solved: 1,
	},
	{
		ID: "transformers/card-0-full", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"inference"}, Said: []string{"accelerate/hooks.py", "dispatch_model", "device_map", "accelerate/big_modeling.py"},
		If: func(c *ledger.Case) bool { return distributed(c) || len(c.Facts.Devices) > 1 }, Cause: cause.DeviceImbalance, Weight: 0.6,
		Means: "device_map splits the layers, not the work: what comes beside them (input, output, cache, logits) lies on one card, mostly the first. With its layers that card fills up while others have room.",
		Not:   "More cards with the same map: the first stays the fullest.",
		Cures: []cause.Cure{
			{Fix: "balance_split", Title: "Leave the first card more room", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, device_map=\"balanced_low_0\")   # name: your model; or max_memory={0: \"10GiB\", 1: \"20GiB\"}", Cost: "None."},
			{Fix: "lower_context", Title: "Shorten the input, lower max_new_tokens"},
		},
		Sources: []string{"accelerate/src/accelerate/utils/modeling.py", "accelerate/docs/source/concept_guides/big_model_inference.md"},
	},
	{
		ID: "transformers/load-killed", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.CPUAlloc}, Said: []string{"Loading checkpoint shards", "in from_pretrained", "load_state_dict"}, Unsaid: []string{"zero_optimization", "TRAINING"},
		If: func(c *ledger.Case) bool {
			return writesCode(c) && !reader.LooksLikeWindows(c) && !c.In("text-generation-webui")
		},
		Cause: cause.HostMemory, Weight: 0.85,
		Means: "It ended while weights were being read, by the system: RAM, not the card. Files are read into system memory first, in 16 or 32 bit, even where the card gets 4 bit.",
		Not:   "load_in_4bit: it shrinks what reaches the card, not what is read.",
		Cures: []cause.Cure{
			{Fix: "add_swap"},
			{Fix: "half_precision", Title: "Read straight to the card, in 16 bit", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, device_map=\"auto\", low_cpu_mem_usage=True)   # name: your model, in safetensors", Cost: "None."},
			{Fix: "use_lower_quant", Title: "Take a checkpoint that is 4 bit already", Kind: "text", Text: "Look on the Hub for the same model with -bnb-4bit, AWQ or GPTQ in its name: a quarter of the bytes are read.", Cost: "Another download."},
		},
		Sources: []string{"transformers/src/transformers/modeling_utils.py", "accelerate/docs/source/concept_guides/big_model_inference.md"},
	},
	{
		ID: "transformers/first-optimizer-step", Kinds: refused, Said: []string{"exp_avg_sq", "torch/optim/adam", `torch\optim\adam`, "in optimizer_step", "_init_group", "bitsandbytes/optim"}, Unsaid: []string{"deepspeed/runtime"},
		If: ownCard, Cause: cause.TrainingStateTooLarge, Weight: 0.88,
		Means: "The first forward and backward pass fitted; Adam then makes two values for each trained parameter. Full training in 16 and 32 bit takes about 16 bytes a parameter: 112 GB for 7 billion.",
		Not:   "A batch of 1: model, gradients and optimizer do not shrink with it.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train a LoRA on a 4-bit model"},
			{Fix: "optimizer_8bit", Title: "8-bit, paged Adam"},
			{Fix: "shard_training"},
		},
		Sources: []string{"pytorch/torch/optim/adam.py", "https://github.com/pytorch/pytorch/issues/9439", "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
	},
	{
		ID: "transformers/logits", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"logits.float()", "logits = logits.float", "in ForCausalLMLoss", "loss_function(", "fixed_cross_entropy", "shift_logits"},
		If: func(c *ledger.Case) bool { return ownCard(c) && c.Training() && !c.In("unsloth") }, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "It failed at the loss: logits are batch x length x vocabulary, in 32 bit, several times over. With 150,000 words, 4,096 tokens are 2.3 GiB a copy, however small the model is.",
		Not:   "LoRA or 4 bit: they do not touch the logits.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "One sample at a time"},
			{Fix: "efficient_attention", Title: "A loss that never writes them out (Liger)", Kind: "python", Text: "args = TrainingArguments(\"out\", use_liger_kernel=True)   # pip install liger-kernel", Cost: "None; needs the package liger-kernel."},
			{Fix: "lower_context"},
		},
		Sources: []string{"transformers/src/transformers/loss/loss_utils.py", "https://github.com/huggingface/trl/issues/3678"},
	},
	{
		ID: "transformers/cache-beside-checkpointing", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"past_key_value.update", "past_key_values.update", "in update_cache", "cache_utils.py"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: 0.65,
		Means: "Training failed in the key-value cache, which only generation needs. Either use_cache is on in the forward pass, or the step generates text, for evaluation or for rewards.",
		Not:   "More cards: each keeps its own cache.",
		Cures: []cause.Cure{
			{Fix: "gradient_checkpointing", Title: "Turn the cache off, checkpoints on", Kind: "python", Text: "model.config.use_cache = False\nmodel.gradient_checkpointing_enable()", Cost: "About 20 to 30 % more time a step."},
			{Fix: "lower_batch_size"},
			{Fix: "lower_context"},
		},
		Sources: []string{"transformers/src/transformers/cache_utils.py", "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
	},
	{
		ID: "transformers/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"in training_step", "_inner_training_loop", "in compute_loss", "trainer.train("}, Unsaid: []string{"deepspeed/runtime"},
		If: func(c *ledger.Case) bool {
			return ownCard(c) && !distributed(c) && !c.In("unsloth") && ledger.IntSetting(c, lengthSettings...) < 8192
		}, Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "A training step did not fit: activations of the batch, on top of weights, gradients and optimizer. Whether the batch or the longest sample is at fault shows by when it died: at once, or after many steps.",
		Not:   "`torch.cuda.empty_cache()` between steps: what fills the card is in use.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Batch 1, accumulate"},
			{Fix: "gradient_checkpointing"},
			{Fix: "lower_context", Title: "If it died late: cut the longest samples"},
		},
		Sources: []string{"transformers/src/transformers/training_args.py", "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
	},
}

var trlCards = []cause.Card{
	{
		ID: "trl/colocated-vllm", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"vllm_generation", "colocate", "llm.wake_up", "cumem", "self.llm.generate", "self.llm = LLM("},
		Cause: cause.BudgetMisconfigured, Weight: 0.7,
		Means: "vLLM lives on the same card as the trainer and keeps its share of it. What the two need at once is more than the card: the share is too large, or vLLM was not asleep.",
		Not:   "A smaller batch alone: vLLM's share stays taken.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Give vLLM a smaller share, let it sleep", Kind: "python", Text: "args = GRPOConfig(\"out\", use_vllm=True, vllm_mode=\"colocate\", vllm_gpu_memory_utilization=0.2, vllm_enable_sleep_mode=True)", Cost: "Generation is slower."},
			{Fix: "select_gpu", Title: "Or run vLLM on a card of its own", Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=1 trl vllm-serve --model MODEL   # MODEL: the one you train; trainer: vllm_mode=\"server\"", Cost: "One card less for training."},
			{Fix: "lower_context", Title: "Shorten completions (max_completion_length)", Kind: "python", Text: "args = GRPOConfig(\"out\", max_completion_length=512)", Cost: "Longer answers are cut."},
		},
		Sources: []string{"trl/trl/trainer/grpo_config.py", "https://github.com/huggingface/trl/issues/2688", "https://github.com/huggingface/trl/issues/4585"}, Solved: 1,
	},
	{
		ID: "trl/grpo-logits", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_get_per_token_logps", "selective_log_softmax", "grpo_trainer.py", "rloo_trainer.py"},
		Cause: cause.BatchTooLarge, Weight: 0.88,
		Means: "Log probabilities need the logits of whole completions: batch x completion length x vocabulary. The vocabulary decides, not the size of the model, so that even 0.5B models fill 24 GB; ZeRO-3 does not split it.",
		Not:   "LoRA, 4 bit or ZeRO-3: they do not touch the logits.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "The fused loss (Liger)", Kind: "python", Text: "args = GRPOConfig(\"out\", use_liger_kernel=True)   # pip install liger-kernel", Cost: "None; needs the package liger-kernel."},
			{Fix: "lower_batch_size", Title: "Fewer completions at a time", Kind: "python", Text: "args = GRPOConfig(\"out\", per_device_train_batch_size=4, gradient_accumulation_steps=8, num_generations=4)   # the total batch must divide by num_generations", Cost: "Slower; a smaller group compares less."},
			{Fix: "lower_context", Title: "Shorten completions (max_completion_length)", Kind: "python", Text: "args = GRPOConfig(\"out\", max_completion_length=512)", Cost: "Longer answers are cut."},
		},
		Sources: []string{"trl/trl/trainer/grpo_trainer.py", "https://github.com/huggingface/trl/issues/3678", "https://github.com/huggingface/trl/issues/2709", "https://github.com/huggingface/trl/issues/4585"}, Solved: 1,
	},
	{
		ID: "trl/dpo-pairs", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"dpo_trainer.py", "concatenated_forward", "compute_ref_log_probs", "kto_trainer.py", "orpo_trainer.py"},
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means: "Preference training sends chosen and rejected through the model together, twice the batch that is set, and keeps a second, frozen copy of the model as the reference unless an adapter is trained.",
		Not:   "A batch of 1 that is 1 already: it counts as two samples.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train an adapter: no reference copy is needed", Kind: "python", Text: "trainer = DPOTrainer(model=model, ref_model=None, args=args, train_dataset=data, processing_class=tokenizer, peft_config=LoraConfig(task_type=\"CAUSAL_LM\"))", Cost: "For most purposes the same result."},
			{Fix: "lower_context", Title: "Compute the reference before, cut long pairs", Kind: "python", Text: "args = DPOConfig(\"out\", precompute_ref_log_probs=True, max_length=1024, per_device_train_batch_size=1)", Cost: "A pass over the data first."},
			{Fix: "gradient_checkpointing"},
		},
		Sources: []string{"trl/trl/trainer/dpo_trainer.py", "trl/docs/source/reducing_memory_usage.md"},
	},
	{
		ID: "trl/ppo-models", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"ppo_trainer.py", "PPOTrainer", "batched_forward_pass", "PolicyAndValueWrapper"},
		Cause: cause.ModelTooLarge, Weight: 0.7,
		Means: "PPO holds up to four models: policy, reference, reward and value. Their weights alone may fill the card before the first rollout; then come the logits of whole responses.",
		Not:   "A smaller batch, if it fails before the first step.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train an adapter: the reference shares the base", Kind: "python", Text: "trainer = PPOTrainer(args=args, processing_class=tokenizer, model=policy, ref_model=None, reward_model=reward, value_model=value, train_dataset=data, peft_config=LoraConfig(task_type=\"CAUSAL_LM\"))", Cost: "For most purposes the same result."},
			{Fix: "lower_batch_size", Title: "Score fewer responses at a time", Kind: "python", Text: "args = PPOConfig(output_dir=\"out\", per_device_train_batch_size=1, local_rollout_forward_batch_size=1, response_length=128)", Cost: "Slower."},
			{Fix: "shard_training"},
		},
		Sources: []string{"trl/trl/experimental/ppo/ppo_config.py"},
	},
}
