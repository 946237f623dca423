package torch

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/when"
)

// shardingCards are about PyTorch's own FSDP.
var shardingCards = []cause.Card{
	ranks.CloneFailed,
	{
		ID: "pytorch/fsdp-save", Kinds: append([]fact.Kind{fact.TorchAlloc}, ramGone...), Said: []string{"_full_pre_state_dict_hook", "_full_post_state_dict_hook", "_common_unshard_pre_state_dict_hook", "FULL_STATE_DICT", "_optim_state_dict_impl", "FullStateDictConfig", "full_optim_state_dict"}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory while it gathered the full state dict of the model",
		Means: "In training each card holds only a shard. A full state dict gathers everything on one card or, if offloaded, in system memory (RAM): 4 bytes per parameter for 32-bit weights, 12 with Adam[[; {w32} and {states} for {model}]].",
		Not:   "A smaller batch: the gathered model stays as large.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save a sharded state dict (SHARDED_STATE_DICT)", Told: "Set this in your accelerate config file. To get one file afterwards: `accelerate merge-weights CHECKPOINT_FOLDER OUT_FOLDER`.", Kind: "config", Text: "fsdp_config:\n  fsdp_state_dict_type: SHARDED_STATE_DICT", Cost: "A merge afterwards."},
			{Fix: "cpu_offload", Title: "Or gather it in the RAM of rank 0 only", Kind: "python", Text: "with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):\n    state = model.state_dict()", Cost: "RAM for the whole model on one machine."},
			{Fix: "empty_cache", If: ledger.OnCard, Title: "Free the cache before saving", Kind: "python", Text: "torch.cuda.empty_cache()   # on every rank, before the state dict is gathered", Cost: "None."},
		},
		Sources: []string{"pytorch/torch/distributed/fsdp/_state_dict_utils.py", "accelerate/docs/source/usage_guides/fsdp.md", "https://github.com/ByteDance-Seed/Bagel/issues/116", "https://github.com/pytorch/pytorch/issues/118520"},
	},
	{
		ID: "pytorch/fsdp-wrap", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_init_param_handle_from_module", "_auto_wrap", "_move_module_to_device", "_init_param_handle_from_params", "flatten_tensors_into_flat_param"}, Figures: copyFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory while FSDP was wrapping the model",
		Means: "[[{again} So probably the whole model is one unit: there is no auto-wrap policy, or it matches no layer. ]]Each rank puts one whole unit on its card before it shards it. Without an auto-wrap policy that unit is the whole model[[ ({w32} for {model} in 32 bit)]], and more cards do not help.",
		Not:   "A smaller batch: no sample is on the card yet.[[ Allocator settings: at most {slack} to gain.]]",
		Cures: []cause.Cure{
			{Fix: "shard_training", If: inLightning, Title: "Wrap each layer (auto_wrap_policy), and keep the model on the CPU", Told: "Use no `.cuda()` or `device_map` before it: FSDP moves it layer by layer. `print(model)` shows the class of one block:", Kind: "python", Text: "from pytorch_lightning.strategies import FSDPStrategy   # or lightning.pytorch.strategies\n\nblocks = {MistralDecoderLayer}   # your model's\nstrategy = FSDPStrategy(auto_wrap_policy=blocks, activation_checkpointing_policy=blocks)   # with your other arguments", Cost: "None."},
			{Fix: "shard_training", If: when.Not(inLightning), Title: "Wrap each layer, and load on rank 0 only", Told: "Set this in accelerate's config file. In your own script, keep the model on the CPU and pass `auto_wrap_policy=`, `sync_module_states=True`, `device_id=local_rank`.", Kind: "config", Text: "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: true", Cost: "None."},
			{Fix: "load_in_4bit", Title: "Train a LoRA on a 4-bit model, without FSDP", Told: "Use `BitsAndBytesConfig(load_in_4bit=True)` with plain DDP: about 0.6 GB per billion parameters on each card.", Cost: "Little quality."},
			{Fix: "half_precision", Title: "Load the weights in 16 bit, if they are in 32", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)   # name: as in your call", Cost: "Training in pure bfloat16 is somewhat less exact."},
		},
		Sources: []string{"pytorch/torch/distributed/fsdp/_init_utils.py", "accelerate/docs/source/usage_guides/fsdp.md", "pytorch-lightning/src/lightning/pytorch/strategies/fsdp.py"},
	},
	{
		ID: "pytorch/second-copy", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onOneCard, asksAgain, cures.Ranked), Figures: copyFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory asking for as much again as it holds: most likely a second copy of the model",
		Means: "{again} Most likely that is a second buffer for the whole model[[ ({billion} billion parameters, if in 16 bit)]]: its gradients (Megatron, NeMo, DDP), or a flat copy (FSDP without an auto-wrap policy). Each rank holds all of it, so more data-parallel cards change nothing.",
		Not:   "A smaller batch: this buffer does not depend on it.[[ Allocator settings: at most {slack} to gain.]]",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Shard the model over the cards", Cost: "communication between the cards", Ways: []cause.Way{{For: "Megatron and NeMo", Text: "use tensor or pipeline parallelism: `--tensor-model-parallel-size 4` (NeMo and BioNeMo recipes: `tensor_model_parallel_size`)."}, {For: "FSDP", Text: "use `FULL_SHARD` with an auto-wrap policy for one layer, and keep the model on the CPU before it."}, {For: "DeepSpeed", Text: "use stage 3, and create the model after its configuration."}}},
			{Fix: "use_lora", Title: "Train a LoRA", Cost: "for most purposes the same result", Told: "Then only the LoRA has gradients and optimizer state. The weights must still fit."},
			{Fix: "use_smaller_model", Title: "Use the next smaller model", Cost: "quality", Told: "Full training needs about 16 bytes per parameter, divided by the cards that share it."},
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
		out["again"] = fmt.Sprintf("%s is on the card, and as much again was asked for.", c.F().Allocated)
		out["billion"] = fmt.Sprintf("%.1f", float64(c.Asked.Bytes)/2e9)
	}
	return out
}

var deepspeedCards = []cause.Card{
	ramOfDeepSpeed("deepspeed/offload-ram", []string{"cpu_adam", "offload_optimizer", "ZeROOptions", "DeepSpeedCPUAdam", "deepspeed/launcher", "DeepSpeed info:", "zero_optimization", "exits with return code = -9"}, []string{"Loading checkpoint shards"}),
	{
		ID: "deepspeed/zero3-save", Kinds: refused, Said: []string{"_zero3_consolidated_16bit_state_dict", "_zero3_consolidated_fp16_state_dict", "save_16bit_model", "save_fp16_model"}, Figures: modelFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while saving: ZeRO-3 gathered the whole model",
		Means: "In training each card holds a shard. To write one file, `stage3_gather_16bit_weights_on_model_save` gathers the whole model: 2 bytes per parameter[[, {w16} for {model}]].",
		Not:   "A smaller batch: saving gathers the same weights.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Save shards, and join them on the CPU later", Told: "Set this in the DeepSpeed file. Afterwards run `python zero_to_fp32.py . out` in the checkpoint folder (on the CPU).", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": false}", Cost: "A conversion afterwards; RAM for it."},
			{Fix: "empty_cache", Title: "Free the cache before saving", Kind: "python", Text: "from deepspeed.accelerator import get_accelerator\n\nget_accelerator().empty_cache()", Cost: "None."},
			{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Kind: "config", Text: "\"offload_optimizer\": {\"device\": \"cpu\"}", Cost: "Slower steps."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/engine.py", "DeepSpeed/docs/_pages/config-json.md"},
	},
	{
		ID: "deepspeed/init-states", Kinds: refused, Said: []string{"initialize_optimizer_states", "_create_fp32_partitions", "_create_fp16_partitions", "single_partition_of_fp32_groups", "flatten_dense_tensors_aligned", "in _configure_zero_optimizer"}, Figures: modelFigures,
		If: when.Not(when.Any(ledger.Crowded, ram.Pins)), Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while creating the optimizer state",
		Means: "32-bit weights and Adam's two values take 12 bytes per parameter, divided by the number of cards[[ ({states} in all for {model})]]. 16-bit weights and gradients come on top. On one card ZeRO divides nothing.",
		Not:   "A smaller batch: no sample is on the card yet.",
		Cures: []cause.Cure{
			{Fix: "offload_optimizer", Title: "Offload the optimizer to system memory (RAM)", Told: "In the DeepSpeed file (DeepSpeed before 0.3.15: `\"cpu_offload\": true`):", Steps: ranks.OffloadSteps, Cost: "Slower steps; 12 bytes of RAM a parameter."},
			ranks.OffloadWeights,
			{Fix: "cpu_offload", If: when.All(inZeRO, when.Not(ranks.Stage3)), Title: "Shard and offload the weights too (stage 3)", Told: "Stage 3 also divides the weights by the cards (DeepSpeed 0.3.15 and later).", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}", Cost: "Slower steps."},
			{Fix: "shard_training", If: when.Not(inZeRO), Title: "Shard the weights too (stage 3)", Told: "Stage 2 divides gradients and optimizer by the cards, stage 3 also the weights (DeepSpeed 0.3.15 and later).", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}", Cost: "Slower steps."},
			{Fix: "use_lora", If: onTransformers, Title: "Train a LoRA: its optimizer state is small"},
			{Fix: "use_smaller_model", If: when.Not(onTransformers), Title: "Use more cards, or a smaller model", Told: "Twice the data-parallel cards halve each one's share. Fewer layers or a smaller hidden size lower everything.", Cost: "Cards, or quality."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py", "DeepSpeed/deepspeed/runtime/zero/stage3.py"},
	},
	ranks.FirstStep,
	{
		ID: "deepspeed/whole-model", Kinds: refused, Said: []string{"_configure_distributed_model"}, Figures: modelFigures,
		If: when.Not(ledger.Crowded), Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory while it put the whole model on each card",
		Means: "DeepSpeed was moving all weights to this card (`self.module.to(self.device)`). With stage 1 or 2 that is normal. With stage 3 it means that the model was created before DeepSpeed was set up.[[ {model} takes {w16} on each card at 16 bit, {w32} at 32.]] More cards do not change it.",
		Not:   "A smaller batch: no sample is on the card yet.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Use stage 3, and create the model under it", Cost: "communication between the cards", Told: "Create the `TrainingArguments` with this file before `from_pretrained`; in your own code create the model inside `with deepspeed.zero.Init():`. Each card then loads only its part.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"cpu\"}}   // without offload_param if the parts fit"},
			{Fix: "use_lora", Title: "Train a LoRA on a 4-bit model", Kind: "python", Text: "from transformers import BitsAndBytesConfig   # pip install -U bitsandbytes\nfrom peft import LoraConfig, get_peft_model\n\nmodel = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))   # name: as in your call\nmodel = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules=\"all-linear\", task_type=\"CAUSAL_LM\"))"},
			{Fix: "half_precision", Title: "Load it in 16 bit, if it is in 32", Cost: "Hardly any quality.", Told: "Pass `torch_dtype=torch.bfloat16` to `from_pretrained`, and turn on `bf16` in the DeepSpeed file."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/engine.py", "transformers/docs/source/en/deepspeed.md"},
	},
	ranks.Buckets,
	ranks.NoZeRO,
	{
		ID: "deepspeed/step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"deepspeed/runtime/engine.py", "deepspeed/runtime/zero"}, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) && writesCode(c) }, Figures: lengthFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "ran out of memory in a training step",
		Means: "Each card computes a whole micro-batch: its activations and logits do not shrink with more cards. The training state is divided: ZeRO-1 the optimizer, 2 also the gradients, 3 also the weights. If it fails after many steps, usually the longest sample is the reason.",
		Not:   "`train_batch_size`: only `train_micro_batch_size_per_gpu` is on a card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: manyInBatch, Title: "Lower the batch size, turn on gradient checkpointing", Told: "In your TrainingArguments (`\"auto\"` in the DeepSpeed file takes the values from there):", Steps: smallerBatch("python", "gradient_checkpointing=True,\nper_device_train_batch_size=%d, gradient_accumulation_steps=%d"), Cost: "Slower; nearly the same result."},
			{Fix: "offload_optimizer", If: ranks.Stage3, Title: "Offload the optimizer to system memory (RAM)", Told: "Stage 3, which you run, divides the weights already. In the DeepSpeed file:", Steps: ranks.OffloadSteps, Cost: "Slower steps; 12 bytes of RAM a parameter."},
			{Fix: "offload_optimizer", If: when.Not(ranks.Stage3), Title: "Use ZeRO stage 3, or offload", Told: "Stages 1 and 2 keep all of the weights on each GPU. In the DeepSpeed file:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}", Cost: "Slower steps; 12 bytes of RAM a parameter."},
			{Fix: "lower_context", Title: "Shorten the samples", Cost: "what comes after the limit is cut off"},
		},
		Sources: []string{"DeepSpeed/docs/_pages/config-json.md", "transformers/docs/source/en/deepspeed.md"},
	},
}

// inZeRO: the traceback runs through ZeRO, so that the run is sharded already.
func inZeRO(c *ledger.Case) bool { return c.Near("deepspeed/runtime/zero") }

// onTransformers: the model is one of transformers, which LoRA adapters fit.
func onTransformers(c *ledger.Case) bool { return c.In("transformers", "peft", "trl") }

// offloads: the log shows state in system memory.
func offloads(c *ledger.Case) bool {
	return c.Near("cpu_adam", "DeepSpeedCPUAdam", "offload_optimizer")
}

// loadsShards: it ended while transformers read a checkpoint.
func loadsShards(c *ledger.Case) bool { return c.Near("Loading checkpoint shards") }

// filledFigures say what fills RAM at that moment.
func filledFigures(c *ledger.Case) map[string]string {
	out := modelFigures(c)
	out["filled"] = "In a DeepSpeed run, RAM usually fills up while data sets are read and tokenised whole, while every rank loads its own copy of the model, or because of CPU offload (12 to 16 bytes per parameter for all ranks together)."
	if loadsShards(c) {
		out["filled"] = "It ended while a checkpoint was being read, and every rank reads its own copy: 2 bytes per parameter in 16 bit, 4 in 32, times the ranks of the machine."
	}
	return out
}

// lighterRanks is for copies of a model that all pass through RAM.
var lighterRanks = cause.Cure{
	Fix: "half_precision", Title: "Load the model with less RAM (fewer ranks, 16 bit)", Told: "In the loading code use `torch_dtype=torch.float16, low_cpu_mem_usage=True` (transformers) and safetensors, or `torch.load(..., mmap=True)` (PyTorch 2.1 and later). Test with one rank (`deepspeed --num_gpus 1`): if that loads, the copies of the ranks fill the RAM.", Cost: "None, usually.",
}

// ramOfDeepSpeed is a DeepSpeed run that the system ended.
func ramOfDeepSpeed(id string, said, unsaid []string) cause.Card {
	return cause.Card{
		ID: id, Kinds: ramGone, Said: said, Unsaid: unsaid, Figures: filledFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "lost a process to signal 9: most likely system memory (RAM) ran out",
		Means:    "Signal 9 comes from outside the program, usually because RAM or a container's RAM limit is full. {filled}",
		Not:      "A smaller batch on the card: system memory was full.",
		Cures: []cause.Cure{
			onlyIf(loadsShards, lighterRanks),
			{Fix: "raise_memory_limit", Title: "Check for a RAM limit and raise it, or add RAM", Told: "If the output shows `oom_kill` above 0, a limit was hit: raise Docker `--memory`, Kubernetes `limits.memory` or Slurm `--mem`. Otherwise the machine's RAM was full: add RAM or swap.", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'oom|killed process' | tail\ncat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.events", Cost: "None."},
			onlyIf(when.Not(when.Any(loadsShards, offloads)), lighterRanks),
			{Fix: "shard_training", If: offloads, Title: "Offload less to system memory (RAM)", Told: "Remove `offload_optimizer` and `offload_param` from the DeepSpeed file if the cards have room. With stage 3, create the TrainingArguments before `from_pretrained`, so that each rank loads only its part.", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3}", Cost: "Memory of the cards."},
			{Fix: "add_swap"},
			{Fix: "use_lora", If: offloads, Title: "Train a LoRA: its optimizer state is small"},
		},
		Sources: []string{"DeepSpeed/deepspeed/ops/adam/cpu_adam.py", "DeepSpeed/docs/_pages/config-json.md", "DeepSpeed/deepspeed/launcher/launch.py"},
	}
}
