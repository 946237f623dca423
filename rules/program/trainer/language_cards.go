package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var torchtuneCards = []cause.Card{
	stepCard("torchtune/step", []string{"torchtune/", "_single_device.py", "_distributed.py"},
		"A training step did not fit. max_seq_len is null by default, so that samples of any length go in and the longest one decides; logits of a vocabulary of 128,000 come on top.",
		"More epochs or a smaller data set: one step is what fails.", "torchtune/recipes/configs/llama3_1/8B_full_single_device.yaml",
		cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "gradient_checkpointing"}),
}

var swiftCards = []cause.Card{
	{
		ID: "ms-swift/pixels", Kinds: refused, Said: []string{"vision_tower", "in get_image_features", "visual(pixel_values", "self.visual(", "pixel_values_videos", "in get_video_features"},
		If: ownCard, Cause: cause.OversizedAllocation, Weight: 0.85,
		Means: "It failed in the vision part: pictures are cut into patches, and attention over the patches grows with their number squared. The default allows 16384 x 28 x 28 pixels a picture, about 12.8 million.",
		Not:   "--max_length: the vision part runs before the tokens are counted.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution"},
			{Fix: "efficient_attention", Title: "Flash attention", Kind: "text", Text: "Add `--attn_impl flash_attn` (needs the package flash-attn).", Cost: "None; usually faster."},
			{Fix: "gradient_checkpointing", Title: "Checkpoints in the vision part too", Kind: "text", Text: "Add `--vit_gradient_checkpointing true`.", Cost: "Slower steps."},
		},
		Sources: []string{"ms-swift/docs/source_en/Instruction/Command-line-parameters.md"},
	},
	stepCard("ms-swift/step", []string{"swift/trainers/", "swift/llm/", "swift/cli/"},
		"A training step did not fit: --per_device_train_batch_size times --max_length decides, and the tokens of pictures count too.",
		"More cards with plain DDP: each holds the whole model.", "ms-swift/docs/source_en/Instruction/Command-line-parameters.md",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "shard_training"}),
}

var megatronCards = []cause.Card{
	{
		ID: "megatron/buffers", Kinds: refused, Said: []string{"param_and_grad_buffer.py", "distrib_optimizer.py", "_allocate_grad_buffers", "core/optimizer/", "optimizer_param_scheduler"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: 0.85,
		Means:   "It failed while gradient buffers or optimizer values were laid out: 18 bytes a parameter on each card (6 and 12 divided by the data-parallel cards with the distributed optimizer). No sample was computed yet.",
		Not:     "--micro-batch-size: nothing of a batch is there yet.",
		Cures:   []cause.Cure{{Fix: "shard_training"}, {Fix: "offload_optimizer"}},
		Sources: []string{"Megatron-LM/megatron/core/distributed/param_and_grad_buffer.py", "Megatron-LM/docs/source/api-guide/dist_optimizer.md"},
	},
	stepCard("megatron/step", []string{"megatron/core/transformer/", "megatron/core/pipeline_parallel/", "megatron/training/training.py", "vocab_parallel_cross_entropy"},
		"A step did not fit. The first pipeline stage holds activations of as many micro-batches as there are stages, so that it fills up first; one micro-batch times its length decides.",
		"A smaller global batch: only the micro-batch is on the card.", "Megatron-LM/megatron/training/arguments.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "gradient_checkpointing"}, cause.Cure{Fix: "shard_training"}),
}

var colossalCards = []cause.Card{
	{
		ID: "colossalai/placement", Kinds: refused, Said: []string{"gemini_mgr.py", "zero/gemini", "chunk/manager", "init_chunk", "gemini_ddp.py", "low_level_optim.py"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: 0.7,
		Means:   "It failed in the plug-in that places parameters, gradients and optimizer values. Static placement keeps all of the optimizer on the cards unless a fraction to offload is given.",
		Not:     "A smaller batch alone, if it fails before the first step.",
		Cures:   []cause.Cure{{Fix: "shard_training"}, {Fix: "offload_optimizer"}, {Fix: "gradient_checkpointing"}},
		Sources: []string{"ColossalAI/colossalai/booster/plugin/gemini_plugin.py"},
	},
}

var embedCards = []cause.Card{
	{
		ID: "sentence-transformers/encode", Kinds: refused, Said: []string{"in encode", "in encode_multi_process", "in predict", "in rank"},
		If: func(c *ledger.Case) bool { return ownCard(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: 0.82,
		Means: "encode() sorts texts by length and begins with the longest, 32 at a time: the first batch is the worst. Models that read 8,192 tokens need far more for a long text than those of 512.",
		Not:   "Splitting the list of texts: a batch of 32 long ones stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size"},
			{Fix: "lower_context"},
			{Fix: "half_precision"},
		},
		Sources: []string{"sentence-transformers/sentence_transformers/SentenceTransformer.py"},
	},
	stepCard("sentence-transformers/step", []string{"sentence_transformers/trainer.py", "sentence_transformers/losses/", "sentence_transformers/SentenceTransformer.py"},
		"A training step did not fit. With pairs or triplets each sample is two or three texts, and a loss over in-batch negatives wants large batches.",
		"Gradient accumulation alone: negatives come from the batch on the card.", "sentence-transformers/sentence_transformers/losses/CachedMultipleNegativesRankingLoss.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "mixed_precision"}),
}

var flagCards = []cause.Card{
	stepCard("flagembedding/group", []string{"FlagEmbedding/finetune", "FlagEmbedding/abc/finetune", "FlagEmbedding.finetune"},
		"A training step did not fit. Each query brings train_group_size passages (8 by default), so that a batch of 4 encodes 32 passages of passage_max_len tokens.",
		"--query_max_len alone: passages are most of it.", "FlagEmbedding/FlagEmbedding/abc/finetune/embedder/AbsArguments.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "lower_context"}, cause.Cure{Fix: "half_precision"}),
}

var verlCards = []cause.Card{
	{
		ID: "verl/rollout", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad, fact.VLLMNoCache, fact.VLLMFreeTooLow}, Said: []string{"wake_up", "vllm_rollout", "sglang_rollout", "resume_memory_occupation", "rollout_sharding_manager", "fsdp_vllm"},
		Cause: cause.BudgetMisconfigured, Weight: 0.78,
		Means:   "The inference engine wanted its weights and cache back while the trainer still held its own on the same cards. gpu_memory_utilization counts against the whole card, not against what is free.",
		Not:     "A smaller ppo_micro_batch_size_per_gpu: the trainer is not in a step here.",
		Cures:   []cause.Cure{{Fix: "lower_gpu_memory_utilization"}, {Fix: "offload_optimizer"}, {Fix: "shard_training"}},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/hiyouga/EasyR1/pull/1", "https://github.com/TideDra/lmm-r1/issues/43"}, Solved: 1,
	},
	{
		ID: "verl/log-prob", Kinds: refused, Said: []string{"compute_log_prob", "compute_ref_log_prob", "logprobs_from_logits", "entropy_from_logits"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: 0.82,
		Means: "It failed over log probabilities or entropy, which need the logits of whole responses: tokens of a micro-batch x vocabulary in 32 bit. The vocabulary decides, not the size of the model.",
		Not:   "Offloading parameters: logits are not among them.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer tokens at a time", Kind: "text", Text: "Add `actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1` (also for `ref`), or lower `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` where use_dynamic_bsz is on.", Cost: "Slower."},
			{Fix: "efficient_attention", Title: "Entropy in pieces", Kind: "text", Text: "Add `actor_rollout_ref.actor.entropy_from_logits_with_chunking=True actor_rollout_ref.actor.entropy_checkpointing=True`.", Cost: "Slightly slower."},
			{Fix: "lower_context"},
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "verl/verl/trainer/config/_generated_ppo_trainer.yaml"},
	},
	{
		ID: "verl/update", Kinds: refused, Said: []string{"update_actor", "update_policy", "update_critic", "dp_actor.py"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "The update of the policy did not fit: activations of a micro-batch beside weights, gradients and optimizer, and what the inference engine keeps. Its first step is the largest, when Adam makes its values.",
		Not:     "data.train_batch_size: only the micro-batch is on a card.",
		Cures:   []cause.Cure{{Fix: "lower_batch_size"}, {Fix: "offload_optimizer"}, {Fix: "gradient_checkpointing"}},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/verl-project/verl/issues/328", "https://github.com/verl-project/verl/issues/40"},
	},
}

var openrlhfCards = []cause.Card{
	{
		ID: "openrlhf/wake-up", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad, fact.VLLMNoCache, fact.VLLMFreeTooLow}, Said: []string{"wake_up", "cumem.py", "vllm_engine", "LLMRayActor"},
		Cause: cause.BudgetMisconfigured, Weight: 0.78,
		Means:   "vLLM shares the cards with the trainer and wanted its memory back (wake_up) while the trainer still held its own. The share that it was given, and what the trainer keeps, are together more than the card.",
		Not:     "A smaller micro-batch: the trainer is not in a step here.",
		Cures:   []cause.Cure{{Fix: "lower_gpu_memory_utilization"}, {Fix: "offload_optimizer"}, {Fix: "shard_training"}},
		Sources: []string{"OpenRLHF/openrlhf/cli/train_ppo_ray.py", "https://github.com/TideDra/lmm-r1/issues/43"},
	},
	stepCard("openrlhf/step", []string{"openrlhf/trainer", "openrlhf/models", "openrlhf/cli"},
		"A step did not fit. Prompt and response together are the length, and log probabilities need logits of all of it: tokens x vocabulary in 32 bit for each sample of a micro-batch.",
		"The global batch sizes: only the micro-batch is on a card.", "OpenRLHF/openrlhf/cli/train_ppo_ray.py",
		cause.Cure{Fix: "lower_batch_size"}, cause.Cure{Fix: "offload_optimizer"}, cause.Cure{Fix: "gradient_checkpointing"}),
}
