// Package tuning knows what trainers on top of transformers do in one part of
// their work: rollouts, log-probabilities, trained embeddings.
package tuning

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// StartsVLLM: trl and Unsloth make vLLM's engine themselves, so that its options
// are theirs.
func StartsVLLM(_ *ledger.Case, by *program.Program) bool { return by.Name == "vllm" }

// ownDevice: trl 0.14 and 0.15, by the line of grpo_trainer.py in which they make
// the engine (313 and 404; in 0.18 and later it is 530 and more).
func ownDevice(c *ledger.Case) bool {
	for _, f := range c.Facts.Code {
		if strings.HasSuffix(f.File, "trl/trainer/grpo_trainer.py") && f.At > 0 && f.At < 450 && strings.Contains(f.Source, "self.llm = LLM(") {
			return true
		}
	}
	return false
}

// VLLMDevice is about the engine's start in these versions.
var VLLMDevice = cause.Card{
	ID: "trl/vllm-device", Kinds: cures.Refused, Said: []string{"self.llm = LLM("}, If: ownDevice,
	Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "ran out of memory while vLLM started for the rollouts",
	Means: "In trl 0.14 and 0.15 vLLM takes 0.9 of a GPU (`vllm_gpu_memory_utilization`). By default that is the GPU after those of training (`vllm_device`), with a single GPU the same one.",
	Not:   "Sharding or a smaller training batch: vLLM's own start fails.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower vLLM's share and its longest request", Told: "The share must still hold the weights (2 GB per billion parameters). On a single GPU try 0.3, newer trl's default.", Kind: "python", Text: "args = GRPOConfig(\"out\", use_vllm=True, vllm_gpu_memory_utilization=0.6, vllm_max_model_len=4096)   # with your other arguments; prompt + completion must fit", Cost: "slower generation"},
		{Fix: "select_gpu", Title: "With several GPUs: leave the last one to vLLM", Told: "Start one training process fewer than you have GPUs (7 of 8).", Kind: "shell", Text: "accelerate launch --num_processes 7 SCRIPT.py   # SCRIPT.py: yours, with your options", Cost: "one GPU less for training"},
		{Fix: "upgrade_version", Title: "Update trl", Told: "0.16 moved vLLM into its own server (`trl vllm-serve`), 0.18 added colocate mode.", Kind: "shell", Text: "pip install -U trl", Cost: "some minutes"},
	},
	Sources: []string{"https://github.com/huggingface/trl/blob/v0.15.2/trl/trainer/grpo_trainer.py", "https://github.com/huggingface/trl/issues/2688", "https://github.com/huggingface/trl/issues/3128"}, Solved: 1,
}

// answerFigures are how many tokens of an answer the piece that was refused is.
func answerFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"tokens": "", "few": ""}
	if n := ledger.Requested(c); n >= units.GiB/2 {
		out["tokens"] = ledger.Thousands(n / 151936 / 2 / 100 * 100)
	}
	if few := cures.StateIsSmall(c); few != "" {
		out["few"] = "Training state is not the cause: " + few
	}
	return out
}

// UnslothGRPO is about the policy's step of GRPO in Unsloth.
var UnslothGRPO = cause.Card{
	ID: "unsloth/grpo", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"in grpo_accumulated_loss", "in _get_per_token_logps", "in _get_per_token_logps_and_entropies", "UnslothGRPOTrainer", "in grpo_compute_loss", "in _generate_and_score_completions"},
	If: when.All(cures.OwnCard, (*ledger.Case).Training), Figures: answerFigures,
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory in a GRPO step",
	Means: "Each prompt gets `num_generations` answers (default 8), and GRPO computes logits for the tokens of all of them.[[ With Qwen's vocabulary, {asked} is {tokens} tokens in 16 bit.]] With `fast_inference`, vLLM keeps its share of the GPU meanwhile (`gpu_memory_utilization`, default 0.5).[[ {few}]]",
	Not:   "`use_gradient_checkpointing=\"unsloth\"`: it is already the default.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Score fewer answers at once", Told: "Batch x accumulation must be a multiple of `num_generations`, or Unsloth raises the batch. `unsloth_grpo_mini_batch` (2026.1 and later) splits them into that many parts:", Kind: "python", Text: "args = GRPOConfig(num_generations=4, per_device_train_batch_size=1, gradient_accumulation_steps=4,\n    unsloth_grpo_mini_batch=4)   # with your other arguments; older releases: without the last", Cost: "slower; fewer answers to compare"},
		{Fix: "lower_context", Title: "Shorten the answers (max_completion_length)", Steps: func(*ledger.Case) []step.Step {
			return []step.Step{{Kind: "python", Text: "args = GRPOConfig(max_completion_length=512)   # or half of yours; with your other arguments"}}
		}, Cost: "longer answers are cut"},
		{Fix: "lower_gpu_memory_utilization", Title: "With fast_inference: let vLLM sleep, or lower its share", Told: "Before `import unsloth`, and not together with expandable_segments:", Kind: "python", Text: "os.environ[\"UNSLOTH_VLLM_STANDBY\"] = \"1\"   # or FastLanguageModel.from_pretrained(..., gpu_memory_utilization=0.3)", Cost: "slower generation"},
	},
	Sources: []string{"unsloth/unsloth/models/rl.py", "unsloth/unsloth/models/rl_replacements.py", "unsloth/unsloth/models/llama.py", "unsloth-zoo/unsloth_zoo/vllm_utils.py"},
}

// manyTrained: what is trained is more than adapters, and its state a large part of
// the card.
func manyTrained(c *ledger.Case) bool {
	return cures.Trained(c) > 2e8 && c.Mine.Has() && 8*cures.Trained(c) > c.Mine.Bytes/4
}

// trainedFigures are how many parameters are trained, and what their state takes.
func trainedFigures(c *ledger.Case) map[string]string {
	n := cures.Trained(c)
	return map[string]string{"trained": ledger.Thousands(n), "least": units.Amount(6 * n), "most": units.Amount(16 * n)}
}

// UnslothTrained is about a run of Unsloth that trains more than small adapters.
var UnslothTrained = cause.Card{
	ID: "unsloth/many-trained", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Trainable parameters = ", "Number of trainable parameters = "}, Unsaid: ranks.MakesState,
	If: when.All(cures.OwnCard, (*ledger.Case).Training, manyTrained), Figures: trainedFigures,
	Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory while training {trained} parameters, far more than a LoRA has",
	Means: "Either you train all weights, or `embed_tokens` and `lm_head` are in `target_modules` or `modules_to_save`, which trains them in full. Weights, gradients and Adam state of the trained part take {least} (8-bit Adam) to {most}, whatever the batch size.",
	Not:   "A smaller batch or shorter samples alone: the training state stays as large.",
	Cures: []cause.Cure{
		{Fix: "use_lora", Title: "Train a small LoRA only", Told: "Leave out `embed_tokens` and `lm_head`, and do not set `full_finetuning=True`. Unsloth then reports about 1 % trained parameters.", Kind: "python", Text: "model = FastLanguageModel.get_peft_model(model, r=16, target_modules=[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\",\n    \"gate_proj\", \"up_proj\", \"down_proj\"])   # with your other arguments", Cost: "new tokens are not learned"},
		{Fix: "optimizer_8bit", If: when.Not(cures.Has(fact.SmallOptimizer)), Title: "Use 8-bit Adam", Kind: "python", Text: "SFTConfig(optim=\"adamw_8bit\")   # with your other arguments", Cost: "hardly any quality"},
		{Fix: "use_smaller_model", Title: "Or use a smaller model", Cost: "quality"},
	},
	Sources: []string{"unsloth/unsloth/models/llama.py", "unsloth/unsloth/models/loader.py"},
}

// fourFigures are what the four models take on a card, where the log names one.
func fourFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"four": ""}
	if n := ledger.Named(c).Parameters; n > 0 {
		out["four"] = units.Amount(8 * n)
	}
	return out
}

// FourModels is about OpenRLHF's PPO without Ray (openrlhf.cli.train_ppo, until
// 0.6), whose models all lie on each card.
var FourModels = cause.Card{
	ID: "openrlhf/four-models", Kinds: cures.Refused, Said: []string{"openrlhf.cli.train_ppo", "openrlhf/cli/train_ppo.py"}, Unsaid: []string{"train_ppo_ray"},
	If: when.All(cures.OwnCard, when.Not(cures.Has(fact.Sharded))), Figures: fourFigures,
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory: each GPU holds all four PPO models",
	Means: "`train_ppo` keeps policy, critic, reward and reference model on every GPU. ZeRO stage 2, the default, does not split their weights: 2 bytes per parameter each (four 8B models take 60 GiB[[, four of yours {four}]]). Gradients and optimizer state come on top.",
	Not:   "Smaller micro-batches alone: the weights stay as large.",
	Cures: []cause.Cure{
		{Fix: "shard_training", Title: "Split the weights of all four over the GPUs (ZeRO-3)", Told: "Add to your command:", Kind: "config", Text: "--zero_stage 3 --adam_offload --gradient_checkpointing --micro_train_batch_size 1 --micro_rollout_batch_size 1", Cost: "slower steps; 12 bytes of RAM per parameter"},
		{Fix: "multi_gpu", Title: "Or give each model its own GPUs (train_ppo_ray)", Told: "`python -m openrlhf.cli.train_ppo_ray` with `--ref_num_gpus_per_node`, `--critic_num_gpus_per_node` and so on, and `--ref_reward_offload`. Newer releases have only this one.", Cost: "more GPUs"},
		{Fix: "use_lora", Title: "Or train a LoRA", Kind: "config", Text: "--lora_rank 16", Cost: "for most purposes the same result; the weights stay as large"},
	},
	Sources: []string{"https://github.com/OpenRLHF/OpenRLHF/blob/v0.4.0/openrlhf/cli/train_ppo.py", "https://github.com/OpenRLHF/OpenRLHF/issues/398", "https://github.com/OpenRLHF/OpenRLHF/issues/858"},
}

var ShortCompletions = cause.Cure{
	Fix: "lower_context", Title: "Shorten the completions (max_completion_length)", Told: "Logits, KV cache and activations all grow with them.",
	Kind: "python", Text: "args = GRPOConfig(\"out\", max_completion_length=512)   # or half of yours; with your other arguments", Cost: "Longer answers are cut.",
}

// Colocated is about an engine on the cards of training. Only one in sleep mode
// allocates through cumem.py.
var Colocated = cause.Card{
	ID: "trl/colocated-vllm", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"vllm_generation", "colocate", "llm.wake_up", "cumem", "self.llm.generate", "self.llm = LLM("},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of memory where vLLM and the trainer share a card",
	Means:    "In colocate mode (the default from trl 1.0 on), vLLM takes a share of the whole card (0.3 by default) and keeps it unless sleep mode is on. The trainer has only the rest for weights, gradients, optimizer state and activations.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", If: cures.Near("cumem", "llm.wake_up"), Title: "Lower vLLM's share", Told: "Sleep mode is on already. The share must still hold the weights (2 GB per billion parameters) and some KV cache.", Kind: "python", Text: "args = GRPOConfig(\"out\", use_vllm=True, vllm_mode=\"colocate\", vllm_enable_sleep_mode=True,\n    vllm_gpu_memory_utilization=0.25)   # or less than yours; with your other arguments", Cost: "Slower generation."},
		{Fix: "lower_gpu_memory_utilization", If: when.Not(cures.Near("cumem", "llm.wake_up")), Title: "Let vLLM sleep while the trainer works, and lower its share", Told: "The share must still hold the weights (2 GB per billion parameters) and some KV cache.", Kind: "python", Text: "args = GRPOConfig(\"out\", use_vllm=True, vllm_mode=\"colocate\", vllm_enable_sleep_mode=True,\n    vllm_gpu_memory_utilization=0.25)   # with your other arguments", Cost: "Slower generation."},
		{Fix: "select_gpu", Title: "Run vLLM on its own card (vllm_mode=\"server\")", Told: "Set `vllm_mode=\"server\"` in GRPOConfig, and start this first.", Kind: "shell", Text: "CUDA_VISIBLE_DEVICES=1 trl vllm-serve --model MODEL", Cost: "One card less for training."},
		ShortCompletions,
	},
	Sources: []string{"trl/trl/trainer/grpo_config.py", "https://github.com/huggingface/trl/issues/2688", "https://github.com/huggingface/trl/issues/4585"}, Solved: 1,
}
