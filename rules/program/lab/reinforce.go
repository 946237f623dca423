package lab

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// step4bit and step8bit are ChatGLM's own quantisation.
var (
	step4bit = step.Paste("python", "model = AutoModel.from_pretrained(\"THUDM/chatglm-6b-int4\", trust_remote_code=True).half().cuda()   # ChatGLM 1 and 2; 16-bit checkpoints: .half().quantize(4).cuda()")
	step8bit = step.Paste("python", "model = AutoModel.from_pretrained(\"THUDM/chatglm-6b\", trust_remote_code=True).half().quantize(8).cuda()   # 10 GB")
)

// lessTalk is a shorter talk, or shorter samples.
var lessTalk = kit.ByPhase(step.Step{Kind: "text", Text: "Use `--max_source_length 64 --max_target_length 64`, those of train.sh."}, step.Step{Kind: "text", Text: "Put `history = history[-4:]` before each `model.chat`, which passes the whole history to the model."})

// trainsAlone is a training step on a card that is the program's own.
func trainsAlone(c *ledger.Case) bool { return stepped(c) && c.Training() }

// Reinforcement of language models, beside verl and OpenRLHF.
var (
	// EasyR1 is hiyouga's fork of verl, with other names for its options.
	EasyR1 = program.Program{
		Name: "easyr1", Shown: "EasyR1", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{"EasyR1/examples/config.yaml": "worker.actor.micro_batch_size_per_device_for_update worker.actor.micro_batch_size_per_device_for_experience worker.actor.offload.offload_params worker.rollout.gpu_memory_utilization worker.rollout.tensor_parallel_size data.max_response_length data.max_pixels"},
		Proofs:  []string{"EasyR1/", "EasyR1-main/", "easy_r1/"},
		Steps: spelling{
			"lower_batch_size":             say("Use `worker.actor.micro_batch_size_per_device_for_update=1 worker.actor.micro_batch_size_per_device_for_experience=1` (verl's names do not exist here). The global batch size stays the same."),
			"lower_context":                say("Use `data.max_response_length=1024 data.max_prompt_length=1024`."),
			"lower_resolution":             say("Use `data.max_pixels=1048576` (4194304 in its config): fewer tokens for each image."),
			"lower_gpu_memory_utilization": say("Use `worker.rollout.gpu_memory_utilization=0.4` (0.6 in its config)."),
			"offload_optimizer":            say("Use `worker.actor.offload.offload_params=true worker.actor.offload.offload_optimizer=true`, and `worker.ref.fsdp.enable_cpu_offload=true`."),
			"use_lora":                     say("Its LoRA example: examples/qwen3_vl_4b_geo3k_grpo_lora.sh."),
			"shard_training":               say("More GPUs: `trainer.n_gpus_per_node`; `worker.rollout.tensor_parallel_size=2` shares vLLM's weights out."),
		},
		Like: []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{
			{
				ID: "easyr1/vllm-wakes", Said: []string{"cumem_allocator.cpp", "wake_up", "init_cache_engine", "in sleep"}, Kinds: cardFull,
				Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Figures: phaseFigures, If: ledger.OnCard,
				Headline: "ran out of GPU memory when vLLM woke up",
				Means:    "The trainer and vLLM take turns on each GPU: vLLM sleeps during training and wakes to generate. When it woke, the trainer still held too much for vLLM's share (`gpu_memory_utilization`).",
				Cures:    fixes("lower_gpu_memory_utilization", "offload_optimizer", "lower_context"), Sources: []string{"EasyR1/README.md"},
			},
			stepOf("easyr1", "Log-probabilities need the logits of whole answers: micro-batch x (prompt + answer) x vocabulary.[[ {asked} would be {tokens152} tokens with Qwen's vocabulary of 152,000 in 32 bit.]] vLLM keeps a part of the GPU, even asleep.",
				"", "EasyR1/examples/config.yaml",
				"lower_batch_size", "offload_optimizer", "lower_context"),
		},
	}
	// Slime is THUDM's, on Megatron and SGLang.
	Slime = program.Program{
		Name: "slime", Shown: "slime", Work: "text-training", Edits: "flags", Language: "python",
		Sources: program.Sources{"slime/docs/en/get_started/agent.md": "--sglang-", "slime/docs/en/get_started/quick_start.md": "--max-tokens-per-gpu --use-dynamic-batch-size --colocate --context-parallel-size --recompute-granularity --recompute-method --recompute-num-layers", "slime/docs/en/get_started/usage.md": "--sglang-mem-fraction-static", "Megatron-LM/megatron/training/arguments.py": "--optimizer-cpu-offload --use-precision-aware-optimizer --tensor-model-parallel-size", "slime/slime/utils/arguments.py": "--rollout-max-response-len"},
		Proofs:  []string{"slime/backends/", "slime/ray/", "slime/utils/", "slime_plugins/", "slime/rollout/"},
		Steps: spelling{
			"lower_batch_size":       say("Use `--max-tokens-per-gpu 4608 --use-dynamic-batch-size`. With dynamic batches this counts, not the micro-batch size."),
			"lower_context":          say("`--context-parallel-size 2` splits long answers over GPUs; `--rollout-max-response-len 4096` makes them shorter."),
			"gradient_checkpointing": say("Use `--recompute-granularity full --recompute-method uniform --recompute-num-layers 1`."),
			"lower_mem_fraction":     say("Use `--sglang-mem-fraction-static 0.6` (SGLang's own options begin with `--sglang-` here)."),
			"offload_optimizer":      say("Use `--optimizer-cpu-offload --use-precision-aware-optimizer`."),
			"shard_training":         say("Raise `--tensor-model-parallel-size`. Or leave out `--colocate`: training and rollout then use separate GPUs."),
		},
		Titles: map[string]string{"lower_batch_size": "Lower `--max-tokens-per-gpu`"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("slime", "With dynamic batches, samples are packed up to `--max-tokens-per-gpu`; a longer answer goes in alone. With `--colocate`, SGLang shares the GPU with Megatron.",
			"", "slime/docs/en/get_started/qa.md",
			"lower_batch_size", "lower_context", "lower_mem_fraction")},
	}
	// TRLX is CarperAI's.
	TRLX = program.Program{
		Name: "trlx", Shown: "trlX", Work: "text-training", Edits: "code", Language: "python",
		Sources: program.Sources{"accelerate/src/accelerate/commands/launch.py": "--config_file", "peft/src/peft/utils/peft_types.py": "CAUSAL_LM", "trlx/trlx/data/configs.py": "batch_size minibatch_size seq_length num_layers_unfrozen", "trlx/trlx/models/modeling_ppo.py": "chunk_size num_rollouts"},
		Proofs:  []string{"trlx/"},
		Steps: spelling{
			"lower_batch_size":  step.Paste("python", "config = config.evolve(train=dict(batch_size=8, minibatch_size=1), method=dict(chunk_size=8))"),
			"lower_context":     step.Paste("python", "config = config.evolve(train=dict(seq_length=512), method=dict(gen_kwargs=dict(max_new_tokens=128)))"),
			"use_lora":          step.Paste("python", "config = config.evolve(model=dict(num_layers_unfrozen=2))   # a reference of two layers only; or peft_config=LoraConfig(task_type=\"CAUSAL_LM\")"),
			"shard_training":    say("Use `accelerate launch --config_file configs/accelerate/zero2-bf16.yaml` (zero3.yaml shares the weights out too)."),
			"offload_optimizer": say("In the accelerate file: `offload_optimizer_device: cpu` below `deepspeed_config`."),
		},
		Titles: map[string]string{"use_lora": "Freeze most layers (`num_layers_unfrozen`)", "lower_batch_size": "Lower the batch size and `chunk_size`"},
		Like:   []*program.Program{&parts.LanguageModels},
		Cards: []cause.Card{stepOf("trlx", "trlX generates `chunk_size` answers at a time (default 128) and trains on `batch_size` of them per step, unless `minibatch_size` splits that. With `num_layers_unfrozen=-1` it also keeps a whole second model as the reference.",
			"", "trlx/trlx/data/configs.py",
			"lower_batch_size", "use_lora", "lower_context")},
	}
)
