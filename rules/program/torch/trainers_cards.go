package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var unslothCards = []cause.Card{
	{
		ID: "unsloth/fast-inference", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad}, Said: []string{"fast_inference=True", "fast_inference = True", "load_vllm", "unsloth_zoo/vllm_utils.py"},
		Cause: cause.BudgetMisconfigured, Weight: 0.75,
		Means: "With fast_inference Unsloth starts vLLM beside the trainer, and both share the card. vLLM takes its part first (gpu_memory_utilization); what is left was not enough for the other.",
		Not:   "A smaller training batch, if it fails while the model is being loaded.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Give vLLM a smaller share", Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length=1024, load_in_4bit=True, fast_inference=True, gpu_memory_utilization=0.4)   # name: your model", Cost: "Generation is slower."},
			{Fix: "lower_context", Title: "Or do without vLLM", Kind: "python", Text: "model, tokenizer = FastLanguageModel.from_pretrained(name, max_seq_length=1024, load_in_4bit=True, fast_inference=False)   # name: your model", Cost: "Rollouts are much slower."},
		},
		Sources: []string{"unsloth/unsloth/models/llama.py"},
	},
	{
		ID: "unsloth/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, If: ownCard, Said: []string{"unsloth_compiled_cache", "_unsloth_training_step", "unsloth/models/", "unsloth_zoo/"},
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "A training step did not fit. With Unsloth's 4-bit LoRA weights are a small part; batch times length decides, and one long sample is enough.",
		Not:   "A second card: the open-source Unsloth trains on one unless it is set up for more.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Batch 1, accumulate", Kind: "python", Text: "args = SFTConfig(per_device_train_batch_size=1, gradient_accumulation_steps=8)", Cost: "Slower; the same result."},
			{Fix: "lower_context"},
			{Fix: "gradient_checkpointing", Title: "Unsloth's own checkpointing"},
		},
		Sources: []string{"unsloth/unsloth/models/llama.py"},
	},
}

var llamaFactoryCards = []cause.Card{
	{
		ID: "llama-factory/preprocess", Kinds: append([]fact.Kind{fact.WorkerKilled, fact.PythonMemory, fact.NumpyAlloc}, ramGone...), Said: []string{"Running tokenizer on dataset", "preprocess_dataset", "preprocess_supervised_dataset", "Converting format of dataset", "get_dataset("},
		Cause: cause.HostMemory, Weight: 0.85,
		Means: "It ended while samples were being tokenised, before training: each of the preprocessing processes holds its own part in system memory, and vision data are decoded there.",
		Not:   "A smaller training batch: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Fewer preprocessing processes", Kind: "config", Text: "preprocessing_num_workers: 2\npreprocessing_batch_size: 128", Cost: "Tokenising takes longer."},
			{Fix: "stream_dataset", Title: "Stream the data", Kind: "config", Text: "streaming: true\nmax_steps: 1000   # the length must be given then", Cost: "No epochs; the order is less random."},
			{Fix: "lower_context", Title: "Cut samples (cutoff_len)"},
		},
		Sources: []string{"LLaMA-Factory/src/llamafactory/hparams/data_args.py"},
	},
	{
		ID: "llama-factory/evaluation", Kinds: refused, Said: []string{"in evaluate", "in evaluation_loop", "in prediction_step", "compute_accuracy"}, If: ownCard,
		Cause: cause.RetainedMemory, Weight: 0.7,
		Means: "Training runs; evaluation does not fit: it keeps the logits of its samples, and predict_with_generate keeps a cache as well.",
		Not:   "A smaller training batch: evaluation has its own.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Evaluate one at a time", Kind: "config", Text: "per_device_eval_batch_size: 1\neval_accumulation_steps: 4", Cost: "Evaluation is slower."},
			{Fix: "restart_session", Title: "Or go without evaluation", Kind: "config", Text: "val_size: 0\neval_strategy: \"no\"", Cost: "No evaluation loss."},
		},
		Sources: []string{"LLaMA-Factory/examples/train_lora/qwen3_lora_sft.yaml", "https://github.com/huggingface/transformers/issues/8476"},
	},
	{
		ID: "llama-factory/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, If: func(c *ledger.Case) bool { return ownCard(c) && !distributed(c) && !c.In("deepspeed") },
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "A training step did not fit. cutoff_len times per_device_train_batch_size decides; with pictures or video the tokens of these count too.",
		Not:   "More epochs' worth of cache clearing: what fills the card is in use.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "lower_context", Title: "Lower cutoff_len"},
			{Fix: "efficient_attention", Title: "Fused kernels", Kind: "config", Text: "enable_liger_kernel: true\nflash_attn: fa2", Cost: "None; needs liger-kernel and flash-attn."},
		},
		Sources: []string{"LLaMA-Factory/src/llamafactory/hparams/model_args.py"},
	},
}

var axolotlCards = []cause.Card{
	{
		ID: "axolotl/merge", Kinds: append([]fact.Kind{fact.TorchAlloc}, ramGone...), Said: []string{"do_merge_lora", "merge_and_unload", "axolotl.cli.merge_lora", "cli/merge_lora.py"},
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "Merging loads the whole base model in 16 bit, not in the 4 bit that it was trained in, and adds the adapter.",
		Not:   "Training settings: the batch plays no part in a merge.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Merge on the CPU", Kind: "text", Text: "Set `CUDA_VISIBLE_DEVICES=\"\"` before `axolotl merge-lora` with your config: it then merges in RAM, 2 bytes a parameter.", Cost: "Some minutes; RAM for the 16-bit model."},
			{Fix: "restart_session", Title: "If the trainer still runs: end it first"},
		},
		Sources: []string{"axolotl/src/axolotl/cli/merge_lora.py"},
	},
	{
		ID: "axolotl/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, If: func(c *ledger.Case) bool { return ownCard(c) && !distributed(c) && !c.In("deepspeed") },
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "A training step did not fit. With sample_packing every row is filled to sequence_len, so that micro_batch_size times sequence_len is what each step really computes.",
		Not:   "Shorter data: packing fills the row again.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "gradient_checkpointing"},
			{Fix: "lower_context", Title: "Lower sequence_len"},
		},
		Sources: []string{"axolotl/docs/optimizations.qmd", "axolotl/docs/agents/sft.md"},
	},
}
