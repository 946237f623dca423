package torch

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// alone is a run on one card, of which others hold little.
func alone(c *ledger.Case) bool { return ownCard(c) && !distributed(c) && !c.In("deepspeed") }

// trainBash: LLaMA-Factory of before the middle of 2024, without llamafactory-cli.
func trainBash(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool { return strings.Contains(f.File, "llmtuner/") })
}

// batchLines is a smaller batch in the file of a trainer.
func batchLines(batch string) func(*ledger.Case) []step.Step {
	return smallerBatch("config", batch+": %d\ngradient_accumulation_steps: %d")
}

var unslothCards = []cause.Card{
	{
		ID: "unsloth/fast-inference", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad}, Said: []string{"fast_inference=True", "fast_inference = True", "load_vllm", "unsloth_zoo/vllm_utils.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory: vLLM (fast_inference) and the trainer share the GPU",
		Means:    "With `fast_inference=True`, Unsloth starts vLLM in the same process. vLLM first takes its share of the whole card (`gpu_memory_utilization`); the training step must fit into the rest.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower vLLM's share (gpu_memory_utilization)", Told: "The share must still hold the weights; the rest of it is KV cache. In newer releases, set UNSLOTH_VLLM_STANDBY=1 before the import: vLLM then frees its cache while training.", Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length={shorter}, load_in_4bit=True,\n    fast_inference=True, gpu_memory_utilization=0.4)   # name: as in your call", Cost: "Slower generation."},
			{Fix: "limit_framework_preallocation", Title: "Turn off vLLM (fast_inference=False)", Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length={shorter}, load_in_4bit=True, fast_inference=False)", Cost: "Rollouts are much slower."},
			tuning.ShortCompletions,
		}, Figures: lengthFigures,
		Sources: []string{"unsloth/unsloth/models/llama.py", "https://unsloth.ai/docs/get-started/reinforcement-learning-rl-guide/memory-efficient-rl"},
	},
	{
		ID: "unsloth/logits", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_convert_to_fp32", "in convert_to_fp32", "logits.float()", "logits = logits.float", "fixed_cross_entropy", "in ForCausalLMLoss"}, Figures: logitFigures,
		If: ownCard, Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of memory while computing the logits of a batch",
		Means:    "It failed at the logits: batch x padded length x vocabulary, in 32 bit. Unsloth's own loss avoids that copy; usual exceptions are an older release, an evaluation, or a metric that needs logits.[[ {asked} is {tokens128} tokens with a vocabulary of 128,000 (Llama 3), {tokens152} with 152,000 (Qwen) or {tokens32} with 32,000.]] One long sample pads the whole batch.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the samples (max_seq_length)", Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length={shorter}, load_in_4bit=True)   # name: as in your call; the same length in SFTConfig", Cost: "What is cut off is not learned."},
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Steps: smallerBatch("config", "per_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower."},
			{Fix: "upgrade_version", Title: "Update Unsloth", Kind: "shell", Text: "pip install --upgrade unsloth unsloth_zoo", Cost: "Free."},
			{Fix: "inference_mode", Title: "In evaluation: batch 1 and 16 bit", Kind: "python", Text: "SFTConfig(per_device_eval_batch_size=1, eval_accumulation_steps=4, fp16_full_eval=True)   # bf16_full_eval from RTX 30 on", Cost: "Slower evaluation."},
		},
		Sources: []string{"unsloth/unsloth/models/llama.py", "https://docs.unsloth.ai/basics/troubleshooting-and-faqs"},
	},
	{
		ID: "unsloth/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Unsaid: optimizerWords, Phases: []string{"training", "unknown"}, If: func(c *ledger.Case) bool { return ownCard(c) && c.Training() }, Said: []string{"unsloth_compiled_cache", "_unsloth_training_step", "unsloth/models/", "unsloth_zoo/", "==((====))=="}, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a training step",
		Means:    "With Unsloth's usual 4-bit LoRA the weights are small (0.6 GB per billion parameters[[, {w4} for {model}]]). Batch size x sample length decides, and one long sample pads the whole batch. If it fails only after many steps, it is usually one long sample.",
		Not:      "A second card: a plain Unsloth run trains on one.",
		Later:    "If it fails in an evaluation: `per_device_eval_batch_size=1, eval_accumulation_steps=4`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Steps: smallerBatch("config", "per_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower."},
			{Fix: "lower_context", Title: "Shorten the samples (max_seq_length)", Told: "Samples are cut at the length that you load the model with:", Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length={shorter}, load_in_4bit=True)   # name: as in your call", Cost: "What is cut off is not learned."},
			{Fix: "gradient_checkpointing", Title: "Turn on Unsloth's gradient checkpointing", Told: "It moves activations to RAM. It is the default since July 2025, but not with PEFT's own `get_peft_model`:", Kind: "python", Text: "model = FastLanguageModel.get_peft_model(model, use_gradient_checkpointing=\"unsloth\")   # with your other arguments", Cost: "A few per cent of time."},
		},
		Sources: []string{"unsloth/unsloth/models/llama.py"},
	},
}

var llamaFactoryCards = []cause.Card{
	{
		ID: "llama-factory/preprocess", Kinds: append([]fact.Kind{fact.WorkerKilled, fact.PythonMemory, fact.NumpyAlloc}, ramGone...), Said: []string{"Running tokenizer on dataset", "preprocess_dataset", "preprocess_supervised_dataset", "Converting format of dataset", "get_dataset("},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM) while tokenising the data",
		Means:    "It failed while the data was being prepared. Each preprocessing process holds 1,000 samples at a time in RAM, including decoded images or video.",
		Not:      "A smaller training batch: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Lower preprocessing_num_workers and preprocessing_batch_size", Told: "In your YAML:", Kind: "config", Text: "preprocessing_num_workers: 2\npreprocessing_batch_size: 128", Cost: "Tokenising takes longer."},
			{Fix: "stream_dataset", Title: "Tokenise once (tokenized_path), or stream", Told: "With `tokenized_path: FOLDER`, the first run saves the result to disk and the next one starts from there. To stream:", Kind: "config", Text: "streaming: true\nmax_steps: 1000   # the length must be given then", Cost: "No epochs with streaming."},
			{Fix: "raise_memory_limit", If: when.Not(cures.MachineFull), Title: "Raise the memory limit of the container or job"},
			{Fix: "add_swap", If: cures.MachineFull, Title: "Add swap: all of the machine's RAM was full"},
		},
		Sources: []string{"LLaMA-Factory/src/llamafactory/hparams/data_args.py"},
	},
	{
		ID: "llama-factory/evaluation", Kinds: refused, Said: []string{"in evaluate", "in evaluation_loop", "in prediction_step", "compute_accuracy"}, If: ownCard, Figures: lengthFigures,
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "ran out of memory in evaluation",
		Means:    "Evaluation keeps the logits of its samples on the GPU, and `predict_with_generate` also needs a KV cache.",
		Not:      "A smaller training batch: evaluation has its own.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Set the evaluation batch to 1, move results to RAM", Told: "In your YAML:", Kind: "config", Text: "per_device_eval_batch_size: 1\neval_accumulation_steps: 4", Cost: "Evaluation is slower."},
			{Fix: "lower_context", Title: "Shorten the samples (cutoff_len)", Told: "Logits grow with the length.", Kind: "config", Text: "cutoff_len: {shorter}", Cost: "What is cut off is not learned."},
			{Fix: "restart_session", Title: "Turn off the evaluation", Kind: "config", Text: "val_size: 0\neval_strategy: \"no\"", Cost: "No evaluation loss."},
		},
		Sources: []string{"LLaMA-Factory/examples/train_lora/qwen3_lora_sft.yaml", "https://github.com/huggingface/transformers/issues/8476"},
	},
	{
		ID: "llama-factory/idle-ranks", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return clues.BareContexts(c).Weight > cause.None }, Figures: modelFigures,
		Cause: cause.DeviceImbalance, Weight: cause.Strong,
		Headline: "ran out of memory on GPU 0, where the other ranks also hold memory",
		Means:    "The small processes on this GPU are probably the other ranks of the same launch: each opened a CUDA context on GPU 0 besides its own GPU, some hundred MiB each.[[ {short} was missing, so freeing these may be enough.]] But this rank's own model and step still nearly fill the GPU.",
		Not:      "Ending the listed processes: they are most likely ranks of this run.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", If: when.Not(trainBash), Title: "Start with LLaMA-Factory's launcher", Told: "It gives each rank its GPU before CUDA starts:", Kind: "shell", Text: "FORCE_TORCHRUN=1 llamafactory-cli train CONFIG.yaml", Cost: "Free."},
			{Fix: "shard_training", If: trainBash, Title: "Shard weights and optimizer over the cards (ZeRO-3)", Told: "Save this as ds_z3.json and start `deepspeed --num_gpus 4 src/train_bash.py --deepspeed ds_z3.json` (4: your GPUs) with your other arguments. Plain DDP keeps everything on each GPU.", Kind: "config", Text: "{\n  \"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": true},\n  \"bf16\": {\"enabled\": \"auto\"}, \"fp16\": {\"enabled\": \"auto\"},\n  \"train_micro_batch_size_per_gpu\": \"auto\", \"gradient_accumulation_steps\": \"auto\"\n}", Cost: "Communication between the cards."},
			{Fix: "load_in_4bit", If: trainBash, Title: "Train a LoRA on a 4-bit model", Told: "Add to your arguments: `--finetuning_type lora --quantization_bit 4 --cutoff_len 1024 --per_device_train_batch_size 1`.", Cost: "Little quality."},
			{Fix: "select_gpu", If: trainBash, Title: "Start it with accelerate", Told: "`accelerate launch src/train_bash.py` with your arguments gives each rank its GPU before CUDA starts.", Cost: "Free."},
			{Fix: "shard_training", If: when.Not(trainBash), Title: "Shard weights and optimizer over the cards (ZeRO-3)", Told: "In your YAML (plain DDP keeps everything on each GPU):", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_config.json", Cost: "Communication between the cards."},
			{Fix: "load_in_4bit", If: when.Not(trainBash), Title: "Train a LoRA on a 4-bit model, with shorter samples", Kind: "config", Text: "finetuning_type: lora\nquantization_bit: 4\ncutoff_len: 1024\nper_device_train_batch_size: 1", Cost: "Little quality."},
		},
		Sources: []string{"LLaMA-Factory/README.md", "https://github.com/hiyouga/LLaMA-Factory/issues/1936"},
	},
	rest.LoadFourBitYAML,
	{
		ID: "llama-factory/load", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"load"}, Figures: modelFigures,
		If: ownCard, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while loading the model",
		Means:    "The weights do not fit.[[ {model} takes {w16} at 16 bit, {w4} at 4.]] With several GPUs, each rank loads the whole model unless DeepSpeed ZeRO-3 or FSDP shards it.",
		Not:      "cutoff_len or the batch size: the model is still being loaded.",
		Cures: []cause.Cure{
			{Fix: "shard_training", If: when.Not(cures.OfCUDA), Title: "Shard over several cards (ZeRO-3)", Told: "In your YAML (from 0.8.3 on also with `quantization_bit: 4`), started with `FORCE_TORCHRUN=1 llamafactory-cli train`:", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_config.json", Cost: "Communication between the cards."},
			{Fix: "load_in_4bit", If: cures.OfCUDA, Title: "Train a LoRA on a 4-bit model", Told: "In your YAML (chat needs the same line, export must not have it):", Kind: "config", Text: "finetuning_type: lora\nquantization_bit: 4   # pip install bitsandbytes", Cost: "Little quality."},
			{Fix: "shard_training", If: cures.OfCUDA, Title: "Shard over several cards (ZeRO-3)", Told: "In your YAML (from 0.8.3 on also with `quantization_bit: 4`), started with `FORCE_TORCHRUN=1 llamafactory-cli train`:", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_config.json", Cost: "Communication between the cards."},
			{Fix: "cpu_offload", If: when.Not(cures.OfCUDA), Title: "If they still do not fit: keep them in RAM (ZeRO-3 with offload)", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_offload_config.json", Cost: "Slower steps; RAM for the model."},
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "Weights take 2 GB per billion parameters at 16 bit.", Cost: "Quality."},
		},
		Sources: []string{"LLaMA-Factory/src/llamafactory/hparams/model_args.py", "LLaMA-Factory/examples/README.md"},
	},
	rest.LoadCard,
	{
		ID: "llama-factory/logits", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: cures.LogitWords, If: ownCard, Figures: logitFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory at the loss: the logits of a batch are too large",
		Means: "Logits take batch x length x vocabulary, in 16 and again in 32 bit, on every GPU, even with ZeRO-3. A batch is padded to its longest sample, at most `cutoff_len` (2048 by default[[; here {length}]]).[[ {asked} is {tokens128} tokens with a vocabulary of 128,000 (Llama 3), {tokens152} with 152,000 (Qwen) or {tokens32} with 32,000.]]",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "Use the fused loss (enable_liger_kernel)", Told: "In your YAML. In the stages pt and sft it never stores the full logits (Llama, Mistral, Gemma, Qwen and more):", Kind: "config", Text: "enable_liger_kernel: true   # pip install liger-kernel", Cost: "Linux only."},
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Steps: batchLines("per_device_train_batch_size"), Cost: "Slower; nearly the same result."},
			{Fix: "lower_context", Title: "Shorten the samples (cutoff_len)", Kind: "config", Text: "cutoff_len: {shorter}", Cost: "What is cut off is not learned."},
		},
		Sources: []string{"LLaMA-Factory/src/llamafactory/model/model_utils/liger_kernel.py", "LLaMA-Factory/src/llamafactory/hparams/data_args.py"},
	},
	{
		ID: "llama-factory/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, If: alone, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a training step",
		Means:    "Besides the weights, `per_device_train_batch_size` x `cutoff_len` (2048 by default[[; here {length}]]) decides; tokens of images and video count too. If it fails only after many steps, it is usually the longest sample. With `finetuning_type: full`, " + lowered(lessState) + ".",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, raise the accumulation", Told: "In your YAML:", Steps: batchLines("per_device_train_batch_size"), Cost: "Slower; nearly the same result."},
			{Fix: "lower_context", Title: "Shorten the samples (cutoff_len)", Told: "With images, also lower `image_max_pixels` (such as 262144); with video, `video_maxlen` (such as 32).", Kind: "config", Text: "cutoff_len: {shorter}", Cost: "What is cut off is not learned."},
			{Fix: "load_in_4bit", Title: "Train a LoRA on a 4-bit model, with Liger kernels", Kind: "config", Text: "finetuning_type: lora\nquantization_bit: 4\nenable_liger_kernel: true   # pip install liger-kernel", Cost: "Little quality."},
		},
		Sources: []string{"LLaMA-Factory/src/llamafactory/hparams/model_args.py", "LLaMA-Factory/src/llamafactory/hparams/data_args.py"},
	},
	{
		ID: "llama-factory/ranks-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Unsaid: ranks.MakesState, If: when.All(ownCard, when.Not(cures.CutInLoading)), Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory in training on several cards",
		Means: "Each GPU computes a whole micro-batch, so activations and logits do not shrink with more GPUs. {shares}",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Shard with ZeRO-3; if that is on, add offload", Told: "In your YAML. With offload to RAM: ds_z3_offload_config.json.", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_config.json", Cost: "Slower steps."},
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size of each card", Steps: batchLines("per_device_train_batch_size"), Cost: "Slower; nearly the same result."},
			{Fix: "use_lora", Title: "Train a LoRA instead of all weights", Kind: "config", Text: "finetuning_type: lora\nlora_rank: 8", Cost: "For most purposes the same result."},
		},
		Sources: []string{"LLaMA-Factory/examples/README.md", "DeepSpeed/docs/_pages/config-json.md"},
	},
}

var axolotlCards = []cause.Card{
	{
		ID: "axolotl/merge", Kinds: append([]fact.Kind{fact.TorchAlloc}, ramGone...), Said: []string{"do_merge_lora", "merge_and_unload", "axolotl.cli.merge_lora", "cli/merge_lora.py"}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while merging the LoRA",
		Means:    "Merging loads the whole base model in 16 bit (2 GB per billion parameters[[, {w16} for {model}]]), even if you trained in 4 bit.",
		Not:      "The batch size and other training settings: a merge does not use them.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Merge on the CPU", If: ledger.OnCard, Told: "It then uses system memory (RAM). CONFIG.yaml is your training file; add `--lora-model-dir` if the adapter is not in its output_dir.", Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=\"\" axolotl merge-lora CONFIG.yaml", Cost: "Some minutes; RAM for the 16-bit model."},
			{Fix: "restart_session", Title: "End a training that still runs", If: ledger.OnCard, Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"axolotl/src/axolotl/cli/merge_lora.py", "axolotl/docs/inference.qmd"},
	},
	{
		ID: "axolotl/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, If: alone, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a training step",
		Means:    "A step computes `micro_batch_size` x `sequence_len`[[ ({length} here)]] tokens; with `sample_packing` every row is full, whatever the data. The logits come on top: tokens x vocabulary, in 32 bit.",
		Not:      "Shorter samples in the data, with packing: it fills the row again.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower micro_batch_size, turn on gradient checkpointing", Told: "In your YAML:", Steps: batchLines("gradient_checkpointing: true\nmicro_batch_size"), Cost: "Slower; nearly the same result."},
			{Fix: "lower_context", Title: "Lower sequence_len", Told: "Longer samples are dropped or cut:", Kind: "config", Text: "sequence_len: {shorter}", Cost: "Long samples are lost."},
			{Fix: "efficient_attention", Title: "Use Cut Cross Entropy", Told: "It never stores the full logits. Install the package that axolotl's docs name for it, and add:", Kind: "config", Text: "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\nflash_attention: true", Cost: "None, for the models it knows."},
		},
		Sources: []string{"axolotl/docs/optimizations.qmd", "axolotl/docs/agents/sft.md", "axolotl/src/axolotl/integrations/cut_cross_entropy/README.md"},
	},
	{
		ID: "axolotl/ranks-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Unsaid: ranks.MakesState, If: ownCard, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory in training on several cards",
		Means: "Each GPU computes a whole micro-batch of `sequence_len` tokens; with `sample_packing` every row is full. More GPUs only shrink the training state[[ ({full} for {model} in all)]], and only with ZeRO or FSDP.",
		Cures: []cause.Cure{
			loosePieces,
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower micro_batch_size, turn on gradient checkpointing", Steps: batchLines("gradient_checkpointing: true\nmicro_batch_size"), Cost: "Slower; nearly the same result."},
			{Fix: "lower_context", Title: "Lower sequence_len", Kind: "config", Text: "sequence_len: {shorter}", Cost: "Long samples are lost."},
			{Fix: "shard_training", Title: "Shard the state; if it is, offload it to RAM", Ways: []cause.Way{{For: "DeepSpeed", Text: "`deepspeed: deepspeed_configs/zero3_bf16.json`, with offload zero3_bf16_cpuoffload_all.json"}, {For: "FSDP", Text: "`offload_params: true` under `fsdp_config` (before FSDP 2 `fsdp_offload_params`); no `deepspeed:` line beside it"}}, Cost: "Slower steps."},
		},
		Sources: []string{"axolotl/docs/multi-gpu.qmd", "axolotl/docs/optimizations.qmd"},
	},
	{
		ID: "axolotl/no-figures", Kinds: []fact.Kind{fact.CUDAError}, Among: append([]string{cause.TrainingStateTooLarge, cause.LeakedProcess}, ownDoing...),
		Means: "The message comes from the GPU driver and has no figures. The GPU was full, because of this training or something else. Without DeepSpeed ZeRO-3 or FSDP every GPU holds the whole model.", Not: "`PYTORCH_CUDA_ALLOC_CONF`: it does not affect the driver.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train a QLoRA, with short rows", Told: "In your YAML (change keys that are there already):", Kind: "config", Text: "adapter: qlora\nload_in_4bit: true\nsequence_len: 2048\nmicro_batch_size: 1\ngradient_checkpointing: true", Cost: "Long samples are cut or dropped."},
			{Fix: "shard_training", Title: "With several cards: shard the model over them", Told: "`deepspeed: deepspeed_configs/zero3_bf16.json` (with offload to RAM: zero3_bf16_cpuoffload_all.json), or FSDP.", Cost: "Slower steps."}, cures.LookFirst,
		}, Sources: []string{"axolotl/docs/multi-gpu.qmd"},
	},
}
