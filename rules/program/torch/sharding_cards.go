package torch

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// shardingCards are about PyTorch's own FSDP.
var shardingCards = []cause.Card{
	{
		ID: "pytorch/fsdp-save", Kinds: append([]fact.Kind{fact.TorchAlloc}, ramGone...), Said: []string{"_full_pre_state_dict_hook", "_full_post_state_dict_hook", "_common_unshard_pre_state_dict_hook", "FULL_STATE_DICT", "_optim_state_dict_impl", "FullStateDictConfig", "full_optim_state_dict"}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while saving: the whole model was gathered in one place",
		Means:    "Training fits, because every card holds a piece. A FULL state dict gathers all of it (and the optimizer) on one card or, offloaded, in RAM: 4 bytes per parameter for 32-bit weights, 12 with Adam[[; {w32} and {states} for {model}]].",
		Not:      "A smaller batch: the gathered model is as large.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save shards", Told: "In accelerate's file (`accelerate config` made it); for one file afterwards: `accelerate merge-weights CHECKPOINT_FOLDER OUT_FOLDER`.", Kind: "config", Text: "fsdp_config:\n  fsdp_state_dict_type: SHARDED_STATE_DICT", Cost: "A merge afterwards."},
			{Fix: "cpu_offload", Title: "Or gather in the RAM of the first rank only", Kind: "python", Text: "with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):\n    state = model.state_dict()", Cost: "RAM for the whole model on one machine."},
		},
		Sources: []string{"pytorch/torch/distributed/fsdp/_state_dict_utils.py", "accelerate/docs/source/usage_guides/fsdp.md", "https://github.com/ByteDance-Seed/Bagel/issues/116", "https://github.com/pytorch/pytorch/issues/118520"},
	},
	{
		ID: "pytorch/fsdp-wrap", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_init_param_handle_from_module", "_auto_wrap", "_move_module_to_device", "_init_param_handle_from_params", "flatten_tensors_into_flat_param"}, Figures: copyFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while FSDP was wrapping the model",
		Means:    "[[{again} So the whole model is one unit: there is no auto-wrap policy, or it matches no layer. ]]Each rank puts the whole model, or one whole unit of it, on its card before cutting it up[[: {w32} for {model} in 32 bit]]. Without an auto-wrap policy the unit is the model itself. Nothing was sharded yet, so that more cards do not help here.",
		Not:      "A smaller batch, or more cards: nothing was sharded yet.[[ Allocator settings: {slack} to gain.]]",
		Cures: []cause.Cure{
			{Fix: "shard_training", If: inLightning, Title: "Wrap each layer, and leave the model on the CPU", Told: "No `.cuda()` and no `device_map` before it: FSDP moves layer by layer. The class is that of one block of your model, from `print(model)`.", Kind: "python", Text: "from pytorch_lightning.strategies import FSDPStrategy   # or lightning.pytorch.strategies\n\nblocks = {MistralDecoderLayer}   # your model's\nstrategy = FSDPStrategy(auto_wrap_policy=blocks, activation_checkpointing_policy=blocks)   # with your other arguments", Cost: "None."},
			{Fix: "shard_training", If: when.Not(inLightning), Title: "Load on rank 0, wrap each layer, then share out", Told: "In accelerate's file; in a script of your own `auto_wrap_policy=`, `sync_module_states=True`, `device_id=local_rank`, with the model on the CPU.", Kind: "config", Text: "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: true", Cost: "None."},
			{Fix: "load_in_4bit", Title: "A LoRA: no FSDP, the base in 4 bit", Told: "0.6 GB per billion parameters, on each card: `BitsAndBytesConfig(load_in_4bit=True)`, plain DDP, not inside FSDP.", Cost: "Little quality."},
			{Fix: "half_precision", Title: "Load the weights in 16 bit, if they are 32", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)   # name: as in your call", Cost: "Training in pure bfloat16 is somewhat less exact."},
		},
		Sources: []string{"pytorch/torch/distributed/fsdp/_init_utils.py", "accelerate/docs/source/usage_guides/fsdp.md", "pytorch-lightning/src/lightning/pytorch/strategies/fsdp.py"},
	},
	{
		ID: "pytorch/second-copy", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onOneCard, asksAgain, cures.Ranked), Figures: copyFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory: it asked for as much again as it holds, a second copy of the whole model",
		Means:    "{again} That is one buffer for the whole model beside its weights[[ ({billion} billion parameters in 16 bit)]]: for its gradients (Megatron, NeMo, DDP), or its flat copy (FSDP without an auto-wrap policy). Each rank holds all of it, so that more cards under data parallelism change nothing.",
		Not:      "A smaller batch or shorter samples: nothing was computed yet.[[ Allocator settings: {slack} to gain.]]",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Cut the model up over the cards", Cost: "communication between the cards", Ways: []cause.Way{
				{For: "Megatron and NeMo", Text: "a tensor or pipeline parallel size above 1 (`--tensor-model-parallel-size 4`; NeMo and BioNeMo recipes: `tensor_model_parallel_size`)."},
				{For: "FSDP", Text: "`FULL_SHARD` with an auto-wrap policy of one layer, the model on the CPU before it."},
				{For: "DeepSpeed", Text: "stage 3, the model made after its configuration."},
			}},
			{Fix: "use_lora", Title: "Train an adapter", Cost: "for most purposes the same result", Told: "Then only its own parameters have gradients and an optimizer; the weights must still fit."},
			{Fix: "use_smaller_model", Title: "Or the next smaller model", Cost: "quality", Told: "In full training a card holds, beside work, 16 bytes per parameter, divided by the cards that share it."},
		},
		Sources: []string{"Megatron-LM/megatron/core/distributed/param_and_grad_buffer.py", "Megatron-LM/megatron/training/arguments.py", "pytorch/torch/distributed/fsdp/_flat_param.py"},
	},
	ramOfDeepSpeed("pytorch/deepspeed-killed", []string{"exits with return code = -9"}, nil),
}

func inLightning(c *ledger.Case) bool { return c.In("lightning") }

// asksAgain: what was asked for is what the tensors take already.
func asksAgain(c *ledger.Case) bool {
	held := c.F().Allocated
	return held != nil && c.Asked.Bytes >= 2*units.GiB && ledger.Near(held.Bytes, c.Asked.Bytes, c.Asked.Bytes/200)
}

// copyFigures are modelFigures with what a second copy says.
func copyFigures(c *ledger.Case) map[string]string {
	out := modelFigures(c)
	out["again"], out["billion"] = "", ""
	if asksAgain(c) {
		out["again"] = fmt.Sprintf("%s lies on the card, and exactly as much was asked for once more.", c.F().Allocated)
		out["billion"] = fmt.Sprintf("%.1f", float64(c.Asked.Bytes)/2e9)
	}
	return out
}

var deepspeedCards = []cause.Card{
	ramOfDeepSpeed("deepspeed/offload-ram", []string{"cpu_adam", "offload_optimizer", "ZeROOptions", "DeepSpeedCPUAdam", "deepspeed/launcher", "DeepSpeed info:", "zero_optimization", "exits with return code = -9"}, []string{"Loading checkpoint shards"}),
	{
		ID: "deepspeed/zero3-save", Kinds: refused, Said: []string{"_zero3_consolidated_16bit_state_dict", "_zero3_consolidated_fp16_state_dict", "save_16bit_model", "save_fp16_model"}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory while saving: ZeRO-3 gathered the whole model",
		Means:    "Training fits in pieces; `stage3_gather_16bit_weights_on_model_save` then gathers the model (2 bytes per parameter[[, {w16} for {model}]]) to write one file. It failed at saving: the training itself fits.",
		Not:      "A smaller batch: saving gathers the same weights.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save shards, join them later", Told: "In the DeepSpeed file; afterwards in the checkpoint folder, on the CPU: `python zero_to_fp32.py . out`.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": false}", Cost: "A conversion afterwards; RAM for it."},
			{Fix: "empty_cache", Title: "Free the cache before saving", Kind: "python", Text: "from deepspeed.accelerator import get_accelerator\n\nget_accelerator().empty_cache()", Cost: "None."},
			{Fix: "offload_optimizer", Title: "Or make room on the cards: the optimizer to RAM", Kind: "config", Text: "\"offload_optimizer\": {\"device\": \"cpu\"}", Cost: "Slower steps."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/engine.py", "DeepSpeed/docs/_pages/config-json.md"},
	},
	{
		ID: "deepspeed/init-states", Kinds: refused, Said: []string{"initialize_optimizer_states", "_create_fp32_partitions", "_create_fp16_partitions", "single_partition_of_fp32_groups", "flatten_dense_tensors_aligned", "in _configure_zero_optimizer"}, Figures: modelFigures,
		If: when.Not(ledger.Crowded), Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory while laying out the optimizer, before the first step",
		Means:    "32-bit weights and Adam's two values take 12 bytes per parameter, divided by the number of cards[[: {states} in all for {model}]]; 16-bit weights and gradients come besides. On one card ZeRO divides by one.[[ This process holds {mine} of {total} already.]]",
		Not:      "A smaller batch: no batch was made yet.",
		Cures: []cause.Cure{
			{Fix: "offload_optimizer", Title: "Keep the optimizer in RAM", Told: "In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}", Cost: "Slower steps; 12 bytes of RAM a parameter."},
			{Fix: "shard_training", Title: "Stage 3: share out the weights too", Told: "Or more cards: stage 2 divides gradients and optimizer, stage 3 everything.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}", Cost: "Slower steps."},
			{Fix: "use_lora", Title: "Train a LoRA: hardly any optimizer"},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py", "DeepSpeed/deepspeed/runtime/zero/stage3.py"},
	},
	{
		ID: "deepspeed/whole-model", Kinds: refused, Said: []string{"_configure_distributed_model"}, Figures: modelFigures,
		If: when.Not(ledger.Crowded), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory as it put the whole model on each card",
		Means:    "DeepSpeed moves all weights to the card here (`self.module.to(self.device)`): with stage 1 or 2 that is the rule, with stage 3 the model was made before DeepSpeed knew of it.[[ {model} takes {w16} on each card at 16 bit, {w32} at 32.]][[ This process holds {mine} of {total}.]] More cards change nothing.",
		Not:      "A smaller batch: no batch was made yet.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Stage 3, the model made under it", Cost: "communication between the cards", Told: "Make the `TrainingArguments` with this file before `from_pretrained` (code of your own: inside `with deepspeed.zero.Init():`). Each card then loads its part only.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}}   // without offload_param if the parts fit"},
			{Fix: "use_lora", Title: "A LoRA on a base in 4 bit"},
			{Fix: "half_precision", Title: "16 bit, if it is 32 now", Cost: "none to speak of", Told: "`torch_dtype=torch.bfloat16` in `from_pretrained`, and `bf16` in the DeepSpeed file."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/engine.py", "transformers/docs/source/en/deepspeed.md"},
	},
	{
		ID: "deepspeed/buckets", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"reduce_ipg_grads", "reduce_independent_p_g_buckets", "all_gather_dp_groups", "average_tensor", "allreduce_bucket", "__avg_scatter_grads"},
		If: when.Not(ledger.Crowded), Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory while exchanging gradients",
		Means:    "A step had filled the card, and the exchange wanted its buckets: 5e8 elements by default, 1 GB each in 16 bit, and several are alive at once with `overlap_comm`.[[ {asked} was asked for with {free} free.]]",
		Not:      "Stage 2 for stage 1: the buckets are the same.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Smaller buckets", Told: "In the DeepSpeed file: a tenth, 0.1 GB each, and one at a time.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 5e7, \"allgather_bucket_size\": 5e7, \"overlap_comm\": false}", Cost: "Somewhat slower exchange."},
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Halve the batch of a card", Kind: "config", Text: "\"train_micro_batch_size_per_gpu\": 1,\n\"gradient_accumulation_steps\": 16", Cost: "Slower; the same result."},
			{Fix: "offload_optimizer", Title: "Keep the optimizer in RAM", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}", Cost: "Slower steps; 12 bytes of RAM a parameter."},
		},
		Sources: []string{"DeepSpeed/docs/_pages/config-json.md", "DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py"},
	},
	{
		ID: "deepspeed/no-zero", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"deepspeed/runtime/fp16/fused_optimizer.py", "deepspeed/runtime/fp16/unfused_optimizer.py"}, If: when.Not(ledger.Crowded),
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the optimizer: every card holds all of its values",
		Means:    "The optimizer in the traceback is DeepSpeed's for ZeRO stage 0: nothing is divided. Each card holds 32-bit weights and Adam's two values for its whole part of the model, 12 bytes per parameter beside 16-bit weights and gradients, and a copy of the gradients during the step.[[ {asked} was such a piece, beside {mine}.]]",
		Not:      "A smaller batch: these are as large for a batch of 1.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Turn ZeRO on", Cost: "hardly slower", Told: "Stage 1 divides the optimizer's values by the number of data-parallel cards, stage 2 the gradients too. In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 1}"},
			{Fix: "offload_optimizer", Title: "Keep them in RAM", Cost: "slower steps", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}"},
			{Fix: "use_smaller_model", Title: "Or spread the model over more cards", Cost: "more cards, or a smaller model", Told: "Megatron: a larger tensor or pipeline parallel size; experts: a larger expert parallel size; fewer layers."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/fp16/fused_optimizer.py", "DeepSpeed/docs/_pages/config-json.md"},
	},
	{
		ID: "deepspeed/step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"deepspeed/runtime/engine.py", "deepspeed/runtime/zero"}, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) && writesCode(c) }, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "ran out of memory in a training step",
		Means:    "Each card holds its share of the training state (ZeRO-1 the optimizer, 2 also the gradients, 3 also the weights) and a whole micro-batch: activations and logits do not get smaller with more cards.[[ This process holds {mine} of {total}.]] At the first step: too much in all; after many: the longest sample.",
		Not:      "`train_batch_size`: only `train_micro_batch_size_per_gpu` is on a card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Halve the batch of a card, with checkpoints", Told: "In your TrainingArguments (`\"auto\"` in the DeepSpeed file takes it from there):", Steps: smallerBatch("python", "gradient_checkpointing=True,\nper_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower; nearly the same result."},
			{Fix: "shard_training", Title: "The next stage, or offload", Told: "In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}", Cost: "Slower steps; 12 bytes of RAM a parameter."},
			{Fix: "lower_context", Title: "Shorter samples"},
		},
		Sources: []string{"DeepSpeed/docs/_pages/config-json.md", "transformers/docs/source/en/deepspeed.md"},
	},
}

// ramOfDeepSpeed is a DeepSpeed run that the system ended.
func ramOfDeepSpeed(id string, said, unsaid []string) cause.Card {
	return cause.Card{
		ID: id, Kinds: ramGone, Said: said, Unsaid: unsaid, Figures: modelFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "lost a process to signal 9: most likely system memory (RAM) ran out",
		Means:    "-9 is sent from outside, nearly always by the kernel or a container's limit; the card plays no part. Two things fill RAM in a DeepSpeed run: every rank reads its own copy of the model while loading, and offload keeps optimizer and 32-bit weights there, 12 to 16 bytes per parameter of all ranks together: 84 to 112 GB for 7 billion[[; {states} for {model}]].",
		Not:      "A smaller batch: what was full is RAM, not a card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See what ended it, and raise that", Told: "`oom_kill` above 0: the container's limit (Docker `--memory`, Kubernetes `limits.memory`, Slurm `--mem`); else the machine's RAM.", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'oom|killed process' | tail\ncat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.events", Cost: "None."},
			{Fix: "shard_training", Title: "Keep less of it in RAM", Told: "Take `offload_optimizer` and `offload_param` out of the DeepSpeed file if the cards have room. With stage 3 make the TrainingArguments before `from_pretrained`: each rank then loads its part only.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3}", Cost: "Memory of the cards."},
			{Fix: "use_lora", Title: "Train a LoRA: nearly nothing to offload"},
			{Fix: "add_swap"},
		},
		Sources: []string{"DeepSpeed/deepspeed/ops/adam/cpu_adam.py", "DeepSpeed/docs/_pages/config-json.md", "DeepSpeed/deepspeed/launcher/launch.py"},
	}
}
