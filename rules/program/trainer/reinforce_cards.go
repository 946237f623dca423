package trainer

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/tuning"
)

// hostGone is RAM at its end, as Ray or the kernel tells it.
var hostGone = append([]fact.Kind{fact.RayKilled}, ramGone...)

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

const enginesShare = "verl's engine takes its share of the whole card (`gpu_memory_utilization`, 0.5 by default) while the trainer's weights, gradients and optimizer are there too, unless they are offloaded"

var offloadActor = cause.Cure{
	Fix: "offload_optimizer", Title: "Offload weights and optimizer to system memory (RAM)", Told: "Add to your command:",
	Kind: "config", Text: "actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True actor_rollout_ref.ref.fsdp_config.param_offload=True", Cost: "Slower steps; 12 bytes of RAM a parameter.",
}

var smallerShare = cause.Cure{
	Fix: "lower_gpu_memory_utilization", Title: "Give the engine a smaller share (gpu_memory_utilization)", Told: "The share must still hold the weights and some cache. The default is 0.5. Add to your command:",
	Kind: "config", Text: "actor_rollout_ref.rollout.gpu_memory_utilization=0.4", Cost: "Slower generation.",
}

var verlCards = []cause.Card{
	{
		ID: "verl/swap-full", Kinds: []fact.Kind{fact.VLLMSwapFull},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "aborted a rollout: vLLM's cache and its own swap pool are both full",
		Means:    "While generating, the KV cache on the card ran out of blocks. vLLM's V0 engine then moves requests with several samples (`rollout.n` above 1, beam search) to a pool in RAM, `swap_space`, 4 GiB per card unless set. That was full too: too many or too long answers run at once.",
		Not:      "Swap of the operating system: this pool is vLLM's own.",
		Cures: []cause.Cure{
			{Fix: "lower_max_num_seqs", Title: "Generate fewer sequences at once", Told: "Halve it again if it comes back. Add to your command:", Kind: "config", Text: "actor_rollout_ref.rollout.max_num_seqs=64", Cost: "slower rollouts, same results"},
			{Fix: "raise_gpu_memory_utilization", Title: "Give the cache a larger share (gpu_memory_utilization)", Told: "The default is 0.5. Raise it by 0.1 at a time: the trainer needs the rest.", Kind: "config", Text: "actor_rollout_ref.rollout.gpu_memory_utilization=0.6", Cost: "less for training"},
			{Fix: "upgrade_version", Title: "Enlarge the pool (swap_space), or move to vLLM V1", Told: "`++actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=16` takes 16 GiB of RAM for each card (an older verl has no such key: `swap_space=16` in the `LLM(` call of its vllm_rollout). V1 needs none; update verl and vLLM together, to versions that verl supports.", Cost: "RAM, or an update to test"},
		},
		Later:   "Resume from the last checkpoint.",
		Sources: []string{"vllm/core/scheduler.py", "https://github.com/verl-project/verl/pull/960"},
	},
	{
		ID: "verl/save-ram", Kinds: hostGone, Said: []string{"save_checkpoint", "_save_checkpoint"}, Figures: saverFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while saving a checkpoint",
		Means:    "[[{savers} workers in {worker} hold {saving} together. ]]Saving copies each worker's weights and optimizer to RAM, on top of what CPU offload keeps there. Ray usually ends the newest task, not the one that holds most. To see whether memory grows from save to save, run `watch -n5 'ps -eo pid,rss,cmd --sort=-rss | head'` over two saves.",
		Not:      "A higher `RAY_memory_usage_threshold`: a few GB later the kernel ends a process instead.",
		Later:    "Resume from the last complete checkpoint: the one being written may be partial.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save less, and less often (save_contents, save_freq)", Told: "Leave out `hf_model`: it gathers the whole model on rank 0. Older releases have `checkpoint.contents`, which decides about hf_model only. Add to your command:", Kind: "config", Text: "actor_rollout_ref.actor.checkpoint.save_contents='[\"model\"]' \\\ncritic.checkpoint.save_contents='[\"model\"]' \\\ntrainer.save_freq=100", Cost: "Without the optimizer a run cannot be resumed exactly."},
			{Fix: "raise_memory_limit", Title: "Turn off the offload to RAM, if the cards have room", Told: "Set to False: `param_offload` and `optimizer_offload` under `actor_rollout_ref.actor.fsdp_config` and `critic.model.fsdp_config` (newer: `critic.fsdp`). Without room on the cards you need more nodes or more RAM.", Cost: "Memory of the cards."},
			{Fix: "upgrade_version", Title: "If it grows from save to save: update verl", Kind: "shell", Text: "pip install -U verl", Cost: "Names of settings may have changed."},
		},
		Sources: []string{"verl/verl/utils/checkpoint/fsdp_checkpoint_manager.py", "verl/docs/advance/checkpoint.rst", "https://github.com/verl-project/verl/issues/1335", "https://github.com/verl-project/verl/issues/1964"},
	},
	{
		ID: "verl/offload-ram", Kinds: hostGone, Said: []string{"WorkerDict", "actor_rollout_"}, Unsaid: []string{"save_checkpoint", "_save_checkpoint"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)",
		Means:    "System memory ran out, not a card. With `param_offload` and `optimizer_offload` each worker keeps its weights and Adam's values there, 12 to 16 bytes per parameter over all workers of a node; vLLM's swap space (4 GiB an engine) and the data add to it. The process that was ended need not be the one that holds the memory.",
		Not:      "Smaller micro-batches: they are on the cards.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See what holds the RAM, and offload less", Told: "Run `ps -eo pid,rss,cmd --sort=-rss | head` while it runs. If the cards have room:", Kind: "config", Text: "actor_rollout_ref.actor.fsdp_config.optimizer_offload=False actor_rollout_ref.ref.fsdp_config.param_offload=False", Cost: "Memory of the cards."},
			{Fix: "shard_training", Title: "Spread it over more nodes (trainer.nnodes)", Told: "With twice the nodes each holds half of what is offloaded.", Cost: "Another machine."},
			{Fix: "use_lora", Title: "Train a LoRA", Told: "Add `actor_rollout_ref.model.lora_rank=32`: the optimizer state is then small.", Cost: "For most purposes the same result."},
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/verl-project/verl/issues/1964", "https://github.com/verl-project/verl/issues/2274"},
	},
	{
		ID: "verl/rollout", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad, fact.VLLMNoCache, fact.VLLMFreeTooLow}, Said: []string{"wake_up", "resume_memory_occupation", "rollout_sharding_manager", "fsdp_vllm", "fsdp_sglang"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory when the engine wanted its share back from the trainer",
		Means:    enginesShare + ". Here the engine woke up for a rollout and wanted its weights and cache back while the trainer still held its own.[[ {free} of {total} was free.]]",
		Cures:    []cause.Cure{smallerShare, offloadActor, {Fix: "shard_training", Title: "Split each engine over two cards (tensor_model_parallel_size)", Told: "Add `actor_rollout_ref.rollout.tensor_model_parallel_size=2`: each card then holds half of the engine's weights.", Cost: "Fewer engines."}},
		Sources:  []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/hiyouga/EasyR1/pull/1", "https://github.com/TideDra/lmm-r1/issues/43"}, Solved: 1,
	},
	{
		ID: "verl/log-prob", Kinds: refused, Said: []string{"compute_log_prob", "compute_ref_log_prob", "logprobs_from_logits", "entropy_from_logits"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: textFigures,
		Headline: "ran out of memory while computing log probabilities",
		Means:    "These need the logits of whole responses: tokens of a micro-batch x vocabulary, in 32 bit and once more for the softmax.[[ {asked} would be {tokens152} tokens with the vocabulary of Qwen.]]",
		Not:      "data.train_batch_size: only the micro-batch is on a card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the micro-batch sizes", Told: "With `use_dynamic_bsz=True` lower `ppo_max_token_len_per_gpu` and `log_prob_max_token_len_per_gpu` instead, to no less than prompt plus response.", Kind: "config", Text: "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1 actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=1 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1", Cost: "Slower; the same result."},
			{Fix: "efficient_attention", Title: "Compute the entropy in pieces", Told: "Add `actor_rollout_ref.actor.entropy_from_logits_with_chunking=True actor_rollout_ref.actor.entropy_checkpointing=True`. In newer releases `actor_rollout_ref.model.use_fused_kernels=True` does not store the logits at all.", Cost: "Slightly slower."},
			{Fix: "lower_context", Title: "Shorten the responses (data.max_response_length)", Told: "Halve `data.max_response_length`.", Cost: "Longer answers are cut."},
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "verl/verl/trainer/config/_generated_ppo_trainer.yaml"},
	},
	{
		ID: "verl/update", Kinds: refused, Said: []string{"update_actor", "update_policy", "update_critic", "dp_actor.py"},
		If: func(c *ledger.Case) bool { return !ledger.Crowded(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: textFigures,
		Headline: "ran out of memory in the update of the policy",
		Means:    "An update holds activations and logits of a micro-batch beside weights, gradients, optimizer state, and what the engine keeps.[[ {asked} would be the logits of {tokens152} tokens in 32 bit with the vocabulary of Qwen.]] If it fails at the first update, Adam's state is new; if later, longer responses are the usual reason.",
		Not:      "data.train_batch_size: only the micro-batch is on a card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Set the micro-batch to 1, turn on gradient checkpointing", Told: "With `use_dynamic_bsz=True` lower `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` instead.", Kind: "config", Text: "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 actor_rollout_ref.model.enable_gradient_checkpointing=True", Cost: "Slower; the same result."},
			offloadActor, smallerShare,
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "https://github.com/verl-project/verl/issues/328", "https://github.com/verl-project/verl/issues/40"},
	},
	{
		ID: "verl/generate", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"generate_sequences", "vllm_rollout", "sglang_rollout", "hf_rollout"}, Figures: textFigures,
		If: func(c *ledger.Case) bool { return !c.Limit.Has() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while generating the responses",
		Means:    enginesShare + ". It failed in a rollout[[; {mine} of {total} was this worker's]].[[ {asked} would be the probabilities of {tokens152} tokens in 32 bit with the vocabulary of Qwen; these grow with the sequences at once.]]",
		Not:      "ppo_micro_batch_size_per_gpu: it does not change the rollout.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Generate fewer sequences and tokens at a time", Told: "Add to your command (with the hf rollout: `++actor_rollout_ref.rollout.micro_batch_size=1`):", Kind: "config", Text: "actor_rollout_ref.rollout.max_num_seqs=64 actor_rollout_ref.rollout.max_num_batched_tokens=4096 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1", Cost: "Slower generation."},
			{Fix: "lower_gpu_memory_utilization", Title: "Give the engine a smaller share", Told: smallerShare.Told, Kind: "config", Text: smallerShare.Text, Cost: smallerShare.Cost},
			offloadActor,
		},
		Sources: []string{"verl/docs/perf/perf_tuning.rst", "verl/verl/trainer/config/_generated_ppo_trainer.yaml", "https://github.com/qiancheng0/ToolRL/issues/39"},
	},
}

var openrlhfCards = []cause.Card{
	tuning.FourModels,
	{
		ID: "openrlhf/wake-up", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.VLLMLoad, fact.VLLMNoCache, fact.VLLMFreeTooLow}, Said: []string{"wake_up", "cumem.py", "vllm_engine", "LLMRayActor"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory where vLLM and the trainer share a card",
		Means:    "With `--colocate_all_models` (newer: `--train.colocate_all`) vLLM runs on the trainer's cards. Its share counts against the whole card and is 0.95 by default, while the trainer keeps its own memory.[[ {free} of {total} was free.]]",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower vLLM's share, and let both sleep in turn", Told: "Newer releases spell them with a dot: `--vllm.gpu_memory_utilization`, `--vllm.enable_sleep`, `--ds.enable_sleep`.", Kind: "config", Text: "--vllm_gpu_memory_utilization 0.5 --vllm_enable_sleep --deepspeed_enable_sleep", Cost: "Slower generation."},
			{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Told: "Add `--adam_offload` (newer: `--ds.adam_offload`).", Cost: "Slower steps; 12 bytes of RAM a parameter."},
			{Fix: "shard_training", Title: "Shard the trainer's weights (ZeRO-3)", Told: "Set `--zero_stage 3` (newer: `--ds.zero_stage 3`).", Cost: "Communication between the cards."},
		},
		Sources: []string{"OpenRLHF/openrlhf/cli/train_ppo_ray.py", "https://github.com/TideDra/lmm-r1/issues/43"},
	},
	textStep("openrlhf/step", []string{"openrlhf/trainer", "openrlhf/models", "openrlhf/cli"},
		"Prompt and response together are the length, and log probabilities need logits of all of it: tokens x vocabulary in 32 bit for each sample of a micro-batch.[[ {asked} would be {tokens152} tokens with the vocabulary of Qwen.]][[ This process holds {mine} of {total}.]]",
		"The global batch sizes: only the micro-batch is on a card.", "OpenRLHF/openrlhf/cli/train_ppo_ray.py",
		cause.Cure{Fix: "lower_batch_size", Title: "Set the micro-batch to 1, turn on gradient checkpointing", Told: "Newer releases: `--train.micro_batch_size 1 --rollout.micro_batch_size 1 --actor.gradient_checkpointing_enable`.", Kind: "config", Text: "--micro_train_batch_size 1 --micro_rollout_batch_size 1 --gradient_checkpointing", Cost: "Slower; the same result."},
		cause.Cure{Fix: "offload_optimizer", Title: "Offload the optimizer, shard the weights (ZeRO-3)", Told: "Add `--adam_offload --zero_stage 3` (newer: `--ds.adam_offload --ds.zero_stage 3`).", Cost: "Slower steps; 12 bytes of RAM a parameter."},
		cause.Cure{Fix: "lower_context", Title: "Shorten the responses", Told: "Halve `--generate_max_len` (newer: `--data.max_len`, prompt and response together).", Cost: "Longer answers are cut."}),
}
