package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// writesTraining: the reader has the Trainer's arguments in a script.
func writesTraining(c *ledger.Case) bool { return writesCode(c) && !c.In("unsloth") }

// lessState is what full training in 16 and 32 bit takes for each parameter.
const lessState = "Weights, gradients and Adam's two values take about 16 bytes for each trained parameter"

// stateFigures are modelFigures with what an optimizer of the run's kind takes.
func stateFigures(c *ledger.Case) map[string]string {
	out := modelFigures(c)
	out["state"], out["spilled"] = lessState, ""
	if ledger.Has(c, fact.SmallOptimizer) {
		out["state"], out["full"] = "Even with 8-bit Adam, which is on, full training takes 6 to 10 bytes per parameter", ""
	}
	if overCommitted(c) {
		out["spilled"] = ": more than the card has; the rest is in system memory (Windows), which is very slow"
	}
	return out
}

var qlora = "from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training\n\nmodel = AutoModelForCausalLM.from_pretrained(name, device_map={\"\": 0},   # name: as in your call\n    quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=torch.bfloat16))\nmodel = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=\"all-linear\", task_type=\"CAUSAL_LM\"))"

var trainOnLoRA = cause.Cure{
	Fix: "use_lora", Title: "Train a LoRA on a 4-bit model",
	Told: "It takes about 1 byte per parameter instead of 16.[[ {model}: {w4} of weights.]] Before RTX 30, use float16 instead of bfloat16.",
	Kind: "python", Text: qlora, Cost: "For most purposes the same result.",
}

var pagedAdam = cause.Cure{
	Fix: "optimizer_8bit", If: when.Not(cures.Has(fact.SmallOptimizer)), Title: "Use paged 8-bit Adam (paged_adamw_8bit)",
	Told: "2 bytes per parameter instead of 8 (`pip install bitsandbytes`):",
	Kind: "python", Text: "args = TrainingArguments(\"out\", optim=\"paged_adamw_8bit\", bf16=True)   # with your other arguments", Cost: "Hardly any quality.",
}

// trainerCards are about transformers' Trainer.
var trainerCards = []cause.Card{
	{
		ID: "transformers/eval-accumulates", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"nested_concat", "torch_pad_and_concatenate", "preds_host = logits", "EvalLoopContainer", "all_preds.add"},
		If:    writesCode,
		Cause: cause.RetainedMemory, Weight: cause.Decisive,
		Headline: "ran out of memory in evaluation: the Trainer keeps the logits of every sample",
		Means:    "The Trainer keeps the logits of all evaluation batches on the GPU until the end: samples x length x vocabulary. It failed while adding one more batch, which for a moment needs the old and the new copy.",
		Not:      "A smaller per_device_eval_batch_size alone: the sum of the logits stays the same.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Keep the argmax, not the logits", Told: "This keeps one number per token instead of the whole vocabulary. `compute_metrics` then gets predictions, not logits:", Kind: "python", Text: "trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=data,\n    preprocess_logits_for_metrics=lambda logits, labels: (logits[0] if isinstance(logits, tuple) else logits).argmax(dim=-1))", Cost: "None, if the metric needs predictions only."},
			{Fix: "lower_batch_size", Title: "Move the logits to RAM (eval_accumulation_steps)", Kind: "python", Text: "args = TrainingArguments(\"out\", eval_accumulation_steps=8, per_device_eval_batch_size=1)   # with your other arguments", Cost: "RAM for all logits; slower."},
			{Fix: "inference_mode", Title: "Keep no logits (prediction_loss_only)", Told: "If you only need the loss:", Kind: "python", Text: "args = TrainingArguments(\"out\", prediction_loss_only=True)   # with your other arguments", Cost: "compute_metrics is not called."},
		},
		Sources: []string{"transformers/src/transformers/trainer_pt_utils.py", "https://github.com/huggingface/transformers/issues/8476", "https://github.com/huggingface/transformers/issues/18947", "https://github.com/huggingface/transformers/issues/15466"}, Solved: 2,
	},
	{
		ID: "transformers/first-optimizer-step", Kinds: refused, Said: []string{"exp_avg_sq", "torch/optim/adam", "in optimizer_step", "_init_group", "bitsandbytes/optim"}, Unsaid: append([]string{"deepspeed/runtime"}, temporaryWords...),
		If: func(c *ledger.Case) bool { return ownCard(c) && writesCode(c) && clues.InOptimizer(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Figures: stateFigures,
		Headline: "ran out of memory in the optimizer step: model, gradients and Adam's state do not fit together",
		Means:    "There was no room for the two values that Adam keeps for each trained parameter, created in the first step.[[ This process holds {mine} of {total} already{spilled}.]] {state}[[: {full} for {model}]], whatever the batch.",
		Not:      "A smaller batch: weights, gradients and optimizer state do not shrink with it.",
		Cures: []cause.Cure{
			trainOnLoRA, pagedAdam,
			{Fix: "use_smaller_model", If: cures.Has(fact.SmallOptimizer), Title: "Use a smaller model", Cost: "quality", Told: "8-bit Adam is on already, and in full training weights, gradients and its state must all fit."},
			{Fix: "shard_training", Title: "Shard the training over several cards (ZeRO-3 or FSDP)", Told: "It divides the 16 bytes by the number of GPUs. With one GPU, use ZeRO-2 with the optimizer offloaded (12 bytes of RAM per parameter)."},
		},
		Sources: []string{"pytorch/torch/optim/adam.py", "https://github.com/pytorch/pytorch/issues/9439", "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
	},
	{
		ID: "transformers/logits", Kinds: []fact.Kind{fact.TorchAlloc}, Said: cures.LogitWords,
		If: func(c *ledger.Case) bool {
			return ownCard(c) && c.Training() && writesTraining(c)
		}, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: logitFigures,
		Headline: "ran out of memory at the loss: the logits of a batch are too large",
		Means:    "Logits take batch x padded length x vocabulary, in 16 bit, again in 32 and again for the gradient, even if the model is small.[[ {asked} is {tokens128} tokens with a vocabulary of 128,000 (Llama 3), {tokens152} with 152,000 (Qwen) or {tokens32} with 32,000.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Told: "Half the batch halves the logits, with nearly the same result:", Steps: smallerBatch("config", "per_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower."},
			{Fix: "lower_context", Title: "Truncate the longest samples", Told: "A batch is padded to its longest sample, so one long sample decides:", Kind: "python", Text: "SFTConfig(max_length={shorter})   # or half of yours; max_seq_length= in trl before 0.20; without trl: tokenizer(text, truncation=True, max_length={shorter})", Cost: "What is cut off is not learned."},
			{Fix: "efficient_attention", Title: "Use a fused loss (use_liger_kernel)", Told: "For Llama, Mistral, Gemma, Qwen and more:", Kind: "python", Text: "args = TrainingArguments(\"out\", use_liger_kernel=True)   # pip install liger-kernel", Cost: "Linux only."},
		},
		Sources: []string{"transformers/src/transformers/loss/loss_utils.py", "https://github.com/huggingface/trl/issues/3678"},
	},
	{
		ID: "transformers/cache-beside-checkpointing", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"past_key_value.update", "past_key_values.update", "in update_cache", "cache_utils.py"},
		If: ownCard, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of memory in the KV cache during training",
		Means:    "The KV cache is only for generation; a training pass does not need it. Either `use_cache` is on, or the step generates text for evaluation or rewards.",
		Cures: []cause.Cure{
			{Fix: "gradient_checkpointing", Title: "Turn off use_cache, turn on gradient checkpointing", Kind: "python", Text: "model.config.use_cache = False\nmodel.gradient_checkpointing_enable()", Cost: "About 20 to 30 % more time per step."},
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Steps: smallerBatch("config", "per_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower."},
			{Fix: "lower_context", Cost: "what comes after the limit is cut off"},
		},
		Sources: []string{"transformers/src/transformers/cache_utils.py", "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
	},
	{
		ID: "transformers/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"in training_step", "_inner_training_loop", "in compute_loss", "trainer.train(", "in train()"}, Unsaid: []string{"deepspeed/runtime"},
		If: func(c *ledger.Case) bool {
			return ownCard(c) && !distributed(c) && writesTraining(c) && ledger.IntSetting(c, lengthSettings...) < 8192
		}, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: lengthFigures,
		Headline: "ran out of memory in a training step",
		Means:    "The activations and gradients of this batch did not fit beside the weights. If it fails only after many steps, it is usually one long sample. " + lessState + " in full training[[, {full} for {model}]], whatever the batch.",
		Later:    "If it fails in an evaluation instead, the Trainer keeps logits there: set `eval_accumulation_steps=8`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, turn on gradient checkpointing and 16 bit", Told: "In your TrainingArguments (or SFTConfig). Checkpointing costs 20 to 30 % more time:", Steps: smallerBatch("python", "gradient_checkpointing=True, bf16=True,   # fp16=True before RTX 30\nper_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower."},
			{Fix: "gradient_checkpointing", If: batchIsOne, Title: "Turn on gradient checkpointing and 16 bit", Told: "The batch size is already 1. In your TrainingArguments (20 to 30 % more time):", Kind: "python", Text: "gradient_checkpointing=True, bf16=True   # fp16=True before RTX 30", Cost: "Slower."},
			{Fix: "lower_context", Title: "Truncate the longest samples", Kind: "python", Text: "SFTConfig(max_length={shorter})   # or half of yours; max_seq_length= in trl before 0.20; without trl: tokenizer(text, truncation=True, max_length={shorter})", Cost: "What is cut off is not learned."},
			trainOnLoRA,
		},
		Sources: []string{"transformers/src/transformers/training_args.py", "https://huggingface.co/docs/transformers/perf_train_gpu_one"},
	},
}
