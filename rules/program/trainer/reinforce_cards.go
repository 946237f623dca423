package trainer

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

// hostGone is RAM at its end, as Ray or the kernel tells it.
var hostGone = append([]fact.Kind{fact.RayKilled}, parts.RAMGone...)

// saverFigures are the processes of the log's table that were saving.
func saverFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"savers": "", "saving": "", "worker": ""}
	count, bytes := 0, int64(0)
	for _, p := range c.Facts.Tasks {
		if strings.Contains(p.Name, "save_checkpoint") {
			count, bytes = count+1, bytes+p.Bytes
			_, out["worker"], _ = strings.Cut(p.Name, "::")
		}
	}
	if count > 0 {
		out["savers"], out["saving"] = strconv.Itoa(count), units.Amount(bytes)
	}
	return out
}

// trainedFigures are what the two models hold that OpenRLHF trains.
func trainedFigures(c *ledger.Case) map[string]string {
	bytes := int64(0)
	for _, p := range c.Facts.Tasks {
		if _, role, _ := strings.Cut(p.Name, "::"); strings.HasPrefix(role, "ActorModel") || strings.HasPrefix(role, "CriticModel") || strings.HasPrefix(role, "PolicyModel") {
			bytes += p.Bytes
		}
	}
	if bytes == 0 {
		return map[string]string{"trained": ""}
	}
	return map[string]string{"trained": units.Amount(bytes)}
}

const enginesShare = "verl's rollout engine takes a share of the whole GPU (`gpu_memory_utilization`, default 0.5). The trainer's weights, gradients and optimizer state are there too, unless they are offloaded"

var offloadActor = cause.Cure{
	Fix: "offload_optimizer", If: when.Not(cures.Near("actor_rollout_ref.actor.fsdp_config.optimizer_offload=True")), Title: "Offload weights and optimizer to system memory (RAM)", Told: "Add to your command:",
	Kind: "config", Text: "actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True actor_rollout_ref.ref.fsdp_config.param_offload=True", Cost: "Slower steps; 12 bytes of RAM per parameter.",
}

// longSplit splits long responses over the GPUs of a machine.
var longSplit = cause.Cure{
	Fix: "multi_gpu", Title: "Split each sequence over two GPUs (Ulysses)", Told: "Add to your command; it needs `use_remove_padding=True`:",
	Kind: "config", Text: "actor_rollout_ref.model.use_remove_padding=True actor_rollout_ref.actor.ulysses_sequence_parallel_size=2", Cost: "Communication between the GPUs.",
}

// singly: the micro-batch of the update is 1 already.
var singly = cures.Near("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 ", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1")

var smallerShare = cause.Cure{
	Fix: "lower_gpu_memory_utilization", If: when.Not(cures.Near("rollout.gpu_memory_utilization=0.4", "rollout.gpu_memory_utilization=0.3", "rollout.gpu_memory_utilization=0.2")), Title: "Give the engine a smaller share (gpu_memory_utilization)", Told: "The share must still hold the weights and some KV cache (default 0.5). Add to your command:",
	Kind: "config", Text: "actor_rollout_ref.rollout.gpu_memory_utilization=0.4", Cost: "Slower generation.",
}

var verlCards = []cause.Card{
	{
		ID: "verl/swap-full", Kinds: []fact.Kind{fact.VLLMSwapFull},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "aborted a rollout: vLLM's KV cache and its swap space are both full",
		Means:    "The KV cache on the GPU was full. vLLM's V0 engine then moves requests with several samples to its own pool in RAM (`swap_space`, default 4 GiB per GPU). That was full too: too many or too long answers ran at once.",
		Not:      "Swap of the operating system: vLLM has its own pool.",
		Cures: []cause.Cure{
			{Fix: "lower_max_num_seqs", Title: "Generate fewer sequences at once", Told: "Add to your command, and halve it again if the error returns:", Kind: "config", Text: "actor_rollout_ref.rollout.max_num_seqs=64", Cost: "slower rollouts, same results"},
			{Fix: "raise_gpu_memory_utilization", Title: "Give the cache a larger share (gpu_memory_utilization)", Told: "The default is 0.5. Raise it in steps of 0.1: the trainer needs the rest.", Kind: "config", Text: "actor_rollout_ref.rollout.gpu_memory_utilization=0.6", Cost: "less for training"},
			{Fix: "upgrade_version", Title: "Enlarge the pool (swap_space), or move to vLLM V1", Told: "`++actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=16` takes 16 GiB of RAM per GPU (older verl: `swap_space=16` in the `LLM(` call of vllm_rollout). V1 needs none: update verl and vLLM together, to versions that verl supports.", Cost: "RAM, or an update to test"},
		},
		Later:   "Resume from the last checkpoint.",
		Sources: []string{"vllm/core/scheduler.py", "https://github.com/verl-project/verl/pull/960"},
	},
	{
		ID: "verl/save-ram", Kinds: hostGone, Said: []string{"save_checkpoint", "_save_checkpoint"}, Figures: saverFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while saving a checkpoint",
		Means:    "[[{savers} workers in {worker} hold {saving} together. ]]Saving copies each worker's weights and optimizer state to RAM, on top of what CPU offload keeps there. The killed task is not always the one that holds the most.",
		Not:      "A higher `RAY_memory_usage_threshold`: a few GB later the kernel kills a process instead.",
		Later:    "Resume from the last complete checkpoint: the one being written may be incomplete.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save less, and less often (save_contents, save_freq)", Told: "Leave out `hf_model`, which gathers the whole model on rank 0. Older releases have only `checkpoint.contents`, for hf_model. Add to your command:", Kind: "config", Text: "actor_rollout_ref.actor.checkpoint.save_contents='[\"model\"]' \\\ncritic.checkpoint.save_contents='[\"model\"]' \\\ntrainer.save_freq=100", Cost: "Without the optimizer you cannot resume exactly."},
			{Fix: "raise_memory_limit", Title: "Turn off CPU offload, if the GPUs have room", Told: "Set `param_offload` and `optimizer_offload` to False under `actor_rollout_ref.actor.fsdp_config` and `critic.model.fsdp_config` (newer: `critic.fsdp`). Otherwise you need more nodes or more RAM.", Cost: "GPU memory."},
			{Fix: "upgrade_version", Title: "If RAM grows from save to save: update verl", Kind: "shell", Text: "pip install -U verl", Cost: "Settings may have been renamed."},
		},
		Sources: []string{"verl/verl/utils/checkpoint/fsdp_checkpoint_manager.py", "verl/docs/advance/checkpoint.rst", "https://github.com/verl-project/verl/issues/1335", "https://github.com/verl-project/verl/issues/1964"},
	},
	{
		ID: "verl/offload-ram", Kinds: hostGone, Said: []string{"WorkerDict", "actor_rollout_", "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 ", "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1", "rollout.gpu_memory_utilization=0.4", "rollout.gpu_memory_utilization=0.3", "rollout.gpu_memory_utilization=0.2"}, Unsaid: []string{"save_checkpoint", "_save_checkpoint"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)",
		Means:    "This is system RAM, not GPU memory. With `param_offload` and `optimizer_offload` the workers of a node keep 12 to 16 bytes per parameter there. vLLM's swap space and the data add to it. The killed process is not always the one that holds the most.",
		Not:      "Smaller micro-batches: they save GPU memory.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See what uses the RAM, and offload less", Told: "Run `ps -eo pid,rss,cmd --sort=-rss | head` while it runs. If the GPUs have room:", Kind: "config", Text: "actor_rollout_ref.actor.fsdp_config.optimizer_offload=False actor_rollout_ref.ref.fsdp_config.param_offload=False", Cost: "GPU memory."},
			{Fix: "shard_training", Title: "Spread it over more nodes (trainer.nnodes)", Told: "With twice the nodes, each holds half of the offloaded data.", Cost: "Another machine."},
			{Fix: "use_lora", Title: "Train a LoRA", Told: "Add `actor_rollout_ref.model.lora_rank=32`. The optimizer state is then small.", Cost: "For most purposes the same result."},
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/verl-project/verl/issues/1964", "https://github.com/verl-project/verl/issues/2274"},
	},
	{
		ID: "verl/rollout", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad, fact.VLLMNoCache, fact.VLLMFreeTooLow}, Said: []string{"wake_up", "resume_memory_occupation", "rollout_sharding_manager", "fsdp_vllm", "fsdp_sglang"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory when the rollout engine woke up beside the trainer",
		Means:    enginesShare + ". Here the engine woke up for a rollout and needed its weights and KV cache back.",
		Cures:    []cause.Cure{smallerShare, offloadActor, {Fix: "shard_training", Title: "Split each engine over two GPUs (tensor_model_parallel_size)", Told: "Add `actor_rollout_ref.rollout.tensor_model_parallel_size=2`. Each GPU then holds half of the engine's weights.", Cost: "Fewer engines."}},
		Sources:  []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/hiyouga/EasyR1/pull/1", "https://github.com/TideDra/lmm-r1/issues/43"}, Solved: 1,
	},
	{
		ID: "verl/log-prob", Kinds: parts.Refused, Said: []string{"compute_log_prob", "compute_ref_log_prob", "logprobs_from_logits", "entropy_from_logits"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: textFigures,
		Headline: "ran out of memory while computing log probabilities",
		Means:    "Log probabilities need the logits of whole responses: tokens of a micro-batch x vocabulary in 32 bit, and a second copy for the softmax.[[ With Qwen's vocabulary, {asked} is {tokens152} tokens.]]",
		Not:      "`data.train_batch_size`: only the micro-batch is on the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: when.Not(when.All(singly, cures.Near("update_policy", "update_actor"))), Title: "Lower the micro-batch sizes", Told: "With `use_dynamic_bsz=True` lower `ppo_max_token_len_per_gpu` and `log_prob_max_token_len_per_gpu` instead, but not below prompt plus response. Otherwise add to your command:", Kind: "config", Text: "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1", Cost: "Slower; same result."},
			{Fix: "efficient_attention", Title: "Compute the entropy in chunks", Told: "Add `actor_rollout_ref.actor.entropy_from_logits_with_chunking=True actor_rollout_ref.actor.entropy_checkpointing=True`. In newer releases `actor_rollout_ref.model.use_fused_kernels=True` avoids storing the logits.", Cost: "Slightly slower."},
			{Fix: "lower_context", Title: "Shorten the responses (data.max_response_length)", Told: "Halve `data.max_response_length`.", Cost: "Longer answers are cut."}, longSplit,
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "verl/verl/trainer/config/_generated_ppo_trainer.yaml"},
	},
	{
		ID: "verl/update", Kinds: parts.Refused, Said: []string{"update_actor", "update_policy", "update_critic", "dp_actor.py"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: textFigures,
		Headline: "ran out of memory in a training update",
		Means:    "An update holds activations and logits of a micro-batch, beside weights, gradients, optimizer state and what the rollout engine keeps.[[ With Qwen's vocabulary, {asked} is the logits of {tokens152} tokens in 32 bit.]] If it fails later than the first update, longer responses are the usual reason.",
		Not:      "`data.train_batch_size`: only the micro-batch is on the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Set the micro-batch to 1, turn on gradient checkpointing", Told: "With `use_dynamic_bsz=True` lower `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` instead. Otherwise add to your command:", Kind: "config", Text: "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.model.enable_gradient_checkpointing=True", If: when.Not(singly), Cost: "Slower; same result."},
			{Fix: "efficient_attention", If: singly, Title: "Compute the entropy in chunks", Told: "Add `actor_rollout_ref.actor.entropy_from_logits_with_chunking=True actor_rollout_ref.actor.entropy_checkpointing=True`. In newer releases `actor_rollout_ref.model.use_fused_kernels=True` avoids storing the logits.", Cost: "Slightly slower."},
			offloadActor, smallerShare, longSplit,
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/verl-project/verl/issues/328", "https://github.com/verl-project/verl/issues/40"},
	},
	{
		ID: "verl/generate", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"generate_sequences", "vllm_rollout", "sglang_rollout", "hf_rollout"}, Figures: textFigures,
		If: func(c *ledger.Case) bool { return !c.Limit.Has() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while generating the responses",
		Means:    enginesShare + ". It failed in a rollout.[[ With Qwen's vocabulary, {asked} is the probabilities of {tokens152} tokens in 32 bit; they grow with the number of sequences at once.]]",
		Not:      "`ppo_micro_batch_size_per_gpu`: it does not affect the rollout.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Generate fewer sequences and tokens at a time", Told: "Add to your command (with the hf rollout: `++actor_rollout_ref.rollout.micro_batch_size=1`):", Kind: "config", Text: "actor_rollout_ref.rollout.max_num_seqs=64 actor_rollout_ref.rollout.max_num_batched_tokens=4096 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1", Cost: "Slower generation."},
			{Fix: "lower_gpu_memory_utilization", Title: "Give the engine a smaller share", Told: smallerShare.Told, Kind: "config", Text: smallerShare.Text, Cost: smallerShare.Cost},
			offloadActor,
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "verl/verl/trainer/config/_generated_ppo_trainer.yaml", "https://github.com/qiancheng0/ToolRL/issues/39"},
	},
}

// shortSamples: trained on given samples; nothing is generated.
var shortSamples = cures.Near("openrlhf.cli.train_sft", "openrlhf.cli.train_dpo", "openrlhf.cli.train_rm")

var openrlhfCards = []cause.Card{
	tuning.FourModels,
	{
		ID: "openrlhf/offload-ram", Kinds: hostGone, Said: []string{"ActorModelRayActor", "CriticModelRayActor", "PolicyModelActor", "CriticModelActor", "--adam_offload", "ds.adam_offload"}, Figures: trainedFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)",
		Means:    "[[Actor and critic, the two models that are trained, hold {trained} of RAM together. ]]With `--adam_offload` each of them keeps 12 to 16 bytes per parameter there (weights and Adam's states in 32 bit): 156 to 208 GB for 13 billion. The killed process is not always one of them.",
		Not:      "Smaller batches: they save GPU memory. Turning off Ray's monitor: the kernel then kills instead.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Leave out --adam_offload, if the GPUs have room", Told: "Newer: `--ds.adam_offload`. With `--zero_stage 3` each model's state is split over its GPUs, so give both more: `--actor_num_gpus_per_node`, `--critic_num_gpus_per_node`.", Cost: "GPU memory."},
			{Fix: "shard_training", Title: "Spread both over more nodes", Told: "With `--actor_num_nodes 2 --critic_num_nodes 2` each node holds half of the offloaded state. Or use a node with more RAM.", Cost: "Another machine."},
			{Fix: "use_lora", If: when.Not(cures.Near("--lora_rank", "lora.rank")), Title: "Train a LoRA", Told: "Add `--lora_rank 32`: the optimizer's state is then small. A smaller critic saves as well.", Cost: "For most purposes the same result."},
		},
		Sources: []string{"OpenRLHF/openrlhf/cli/train_ppo_ray.py", "https://www.deepspeed.ai/docs/config-json/"},
	},
	{
		ID: "openrlhf/wake-up", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad, fact.VLLMNoCache, fact.VLLMFreeTooLow}, Said: []string{"wake_up", "cumem.py", "vllm_engine", "LLMRayActor"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory in vLLM, which may share the GPU with the trainer",
		Means:    "With `--colocate_all_models` (newer: `--train.colocate_all`) vLLM runs on the trainer's GPUs. It takes 0.95 of the whole GPU by default, while the trainer keeps its own memory.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower vLLM's share, and let both sleep in turn", Told: "Newer releases: `--vllm.gpu_memory_utilization 0.5 --vllm.enable_sleep --ds.enable_sleep`. Older ones:", Kind: "config", Text: "--vllm_gpu_memory_utilization 0.5 --vllm_enable_sleep --deepspeed_enable_sleep", Cost: "Slower generation."},
			{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Told: "Add `--adam_offload` (newer: `--ds.adam_offload`).", Cost: "Slower steps; 12 bytes of RAM per parameter."},
			{Fix: "shard_training", Title: "Shard the trainer's weights (ZeRO-3)", Told: "Set `--zero_stage 3` (newer: `--ds.zero_stage 3`).", Cost: "Communication between the GPUs."},
		},
		Sources: []string{"OpenRLHF/openrlhf/cli/train_ppo_ray.py", "https://github.com/TideDra/lmm-r1/issues/43"},
	},
	textStep("openrlhf/step", []string{"openrlhf/trainer", "openrlhf/models", "openrlhf/cli", "--adam_offload", "ds.adam_offload", "zero_stage 3", "openrlhf.cli.train_sft", "openrlhf.cli.train_dpo", "openrlhf.cli.train_rm", "--lora_rank", "lora.rank"},
		"The loss needs logits for prompt and response: tokens x vocabulary in 32 bit for each sample of a micro-batch.[[ With Qwen's vocabulary, {asked} is {tokens152} tokens.]]",
		"The global batch sizes: only the micro-batch is on the GPU.", "OpenRLHF/openrlhf/cli/train_ppo_ray.py",
		cause.Cure{Fix: "lower_batch_size", If: notOne, Title: "Set the micro-batch to 1, turn on gradient checkpointing", Told: "Newer releases: `--train.micro_batch_size 1 --rollout.micro_batch_size 1 --actor.gradient_checkpointing_enable`. Older ones:", Kind: "config", Text: "--micro_train_batch_size 1 --micro_rollout_batch_size 1 --gradient_checkpointing", Cost: "Slower; same result."},
		cause.Cure{Fix: "offload_optimizer", If: when.Not(when.All(cures.Near("--adam_offload", "ds.adam_offload"), cures.Near("zero_stage 3"))), Title: "Offload the optimizer, shard the weights (ZeRO-3)", Told: "Add `--adam_offload --zero_stage 3` (newer: `--ds.adam_offload --ds.zero_stage 3`).", Cost: "Slower steps; 12 bytes of RAM per parameter."},
		cause.Cure{Fix: "lower_context", If: when.Not(shortSamples), Title: "Shorten the responses", Told: "Halve `--generate_max_len` (newer: `--data.max_len`, prompt and response together).", Cost: "Longer answers are cut."},
		cause.Cure{Fix: "lower_context", If: shortSamples, Title: "Shorten the samples (--max_len)", Told: "Halve `--max_len` (newer: `--data.max_len`).", Cost: "What is cut off is not learned."},
		cause.Cure{Fix: "use_lora", If: when.Not(cures.Near("--lora_rank", "lora.rank")), Title: "Train a LoRA", Told: "Add `--lora_rank 32`.", Cost: "For most purposes the same result."}),
}
