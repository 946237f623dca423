package torch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// shardingCards are about PyTorch's own FSDP.
var shardingCards = []cause.Card{
	{
		ID: "pytorch/fsdp-save", Kinds: append([]fact.Kind{fact.TorchAlloc}, ramGone...), Said: []string{"_full_pre_state_dict_hook", "_full_post_state_dict_hook", "_common_unshard_pre_state_dict_hook", "FULL_STATE_DICT", "_optim_state_dict_impl", "FullStateDictConfig", "full_optim_state_dict"},
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "Training fits in pieces; saving a FULL state dict gathers the whole model (and optimizer) in one place: the card of each rank, or the RAM of the first if it is offloaded.",
		Not:   "A smaller batch: the gathered model is as large.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save shards", Kind: "config", Text: "fsdp_config:\n  fsdp_state_dict_type: SHARDED_STATE_DICT   # accelerate's file; merge afterwards: accelerate merge-weights", Cost: "A merge afterwards."},
			{Fix: "cpu_offload", Title: "Or gather on the first rank's CPU only", Kind: "python", Text: "with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=True, rank0_only=True)):\n    state = model.state_dict()", Cost: "RAM for the whole model on one machine."},
		},
		Sources: []string{"pytorch/torch/distributed/fsdp/_state_dict_utils.py", "accelerate/docs/source/usage_guides/fsdp.md", "https://github.com/ByteDance-Seed/Bagel/issues/116", "https://github.com/pytorch/pytorch/issues/118520"},
	},
	{
		ID: "pytorch/fsdp-wrap", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_init_param_handle_from_module", "_auto_wrap", "_move_module_to_device", "_init_param_handle_from_params", "flatten_tensors_into_flat_param"},
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "FSDP failed while wrapping: each rank put the whole model, or one whole unit of it in 32 bit, on its card before cutting it up. More cards do not help at this point.",
		Not:   "A smaller batch, or more cards: nothing was sharded yet.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Load on rank 0, wrap each layer, then share out", Kind: "config", Text: "fsdp_config:\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: true", Cost: "None."},
			{Fix: "half_precision", Title: "Load the weights in 16 bit"},
		},
		Sources: []string{"pytorch/torch/distributed/fsdp/_init_utils.py", "accelerate/docs/source/usage_guides/fsdp.md"},
	},
}

var deepspeedCards = []cause.Card{
	{
		ID: "deepspeed/offload-ram", Kinds: ramGone, Said: []string{"cpu_adam", "offload_optimizer", "ZeROOptions", "DeepSpeedCPUAdam", "deepspeed/launcher", "DeepSpeed info:", "zero_optimization"}, Unsaid: []string{"Loading checkpoint shards"},
		Cause: cause.HostMemory, Weight: 0.8,
		Means: "Offload moves optimizer and 32-bit weights to system memory: 12 bytes a parameter, 16 with gradients, of all ranks of a machine together. 7 billion parameters take 84 to 112 GB of RAM.",
		Not:   "A smaller batch: what was full is RAM, not a card.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train a LoRA: nearly nothing to offload"},
			{Fix: "shard_training", Title: "More cards instead of offload", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3}", Cost: "Needs the cards."},
			{Fix: "raise_memory_limit"},
		},
		Sources: []string{"DeepSpeed/deepspeed/ops/adam/cpu_adam.py", "DeepSpeed/docs/_pages/config-json.md"},
	},
	{
		ID: "deepspeed/zero3-save", Kinds: refused, Said: []string{"_zero3_consolidated_16bit_state_dict", "_zero3_consolidated_fp16_state_dict", "save_16bit_model", "save_fp16_model"},
		Cause: cause.ModelTooLarge, Weight: 0.9,
		Means: "Training fits in pieces; stage3_gather_16bit_weights_on_model_save then gathers the whole model to write one file. It failed at saving, so that the training itself is not too large.",
		Not:   "A smaller batch: saving gathers the same weights.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Save shards, join them later", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"stage3_gather_16bit_weights_on_model_save\": false}", Cost: "Afterwards run zero_to_fp32.py in the checkpoint folder."},
			{Fix: "empty_cache", Title: "Free the cache before saving", Kind: "python", Text: "from deepspeed.accelerator import get_accelerator\n\nget_accelerator().empty_cache()", Cost: "None."},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/engine.py", "DeepSpeed/docs/_pages/config-json.md"},
	},
	{
		ID: "deepspeed/init-states", Kinds: refused, Said: []string{"initialize_optimizer_states", "_create_fp32_partitions", "_create_fp16_partitions", "single_partition_of_fp32_groups", "flatten_dense_tensors_aligned", "in _configure_zero_optimizer"},
		If: when.Not(ledger.Crowded), Cause: cause.TrainingStateTooLarge, Weight: 0.9,
		Means: "DeepSpeed failed while laying out the optimizer, before the first step: 32-bit weights and two Adam values, 12 bytes a parameter, divided by the number of cards. On one card ZeRO divides by one.",
		Not:   "A smaller batch: no batch was made yet.",
		Cures: []cause.Cure{
			{Fix: "offload_optimizer", Title: "Offload the optimizer to RAM", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}", Cost: "Slower steps; 12 bytes of RAM a parameter."},
			{Fix: "shard_training", Title: "Stage 3, or more cards"},
			{Fix: "use_lora"},
		},
		Sources: []string{"DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py", "DeepSpeed/deepspeed/runtime/zero/stage3.py"},
	},
	{
		ID: "deepspeed/buckets", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"reduce_ipg_grads", "reduce_independent_p_g_buckets", "all_gather_dp_groups", "average_tensor", "allreduce_bucket", "__avg_scatter_grads"},
		If: when.Not(ledger.Crowded), Cause: cause.TrainingStateTooLarge, Weight: 0.65,
		Means: "It failed while gradients were being exchanged. Buckets of 5e8 elements, the default, are 1 GB each in 16 bit, and several are alive at once, on top of a step that had filled the card.",
		Not:   "Stage 2 for stage 1: the buckets are the same.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Smaller buckets", Kind: "config", Text: "\"zero_optimization\": {\"reduce_bucket_size\": 5e7, \"allgather_bucket_size\": 5e7, \"overlap_comm\": false}", Cost: "Somewhat slower exchange."},
			{Fix: "lower_batch_size", Title: "Halve train_micro_batch_size_per_gpu", Kind: "config", Text: "\"train_micro_batch_size_per_gpu\": 1,\n\"gradient_accumulation_steps\": 16", Cost: "Slower; the same result."},
			{Fix: "offload_optimizer"},
		},
		Sources: []string{"DeepSpeed/docs/_pages/config-json.md", "DeepSpeed/deepspeed/runtime/zero/stage_1_and_2.py"},
	},
}

var lightningCards = []cause.Card{
	{
		ID: "lightning/sanity-check", Kinds: refused, Said: []string{"_run_sanity_check", "Sanity Checking"}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "It failed in the sanity check: two validation batches before the first training step. The optimizer holds nothing yet, so that training would need more still. Often validation uses larger pictures or a larger batch.",
		Not:   "num_sanity_val_steps=0: it only moves the failure to the end of the epoch.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "A smaller batch for validation too", Kind: "python", Text: "def val_dataloader(self):\n    return DataLoader(self.val_set, batch_size=1, num_workers=2)", Cost: "A little time."},
			{Fix: "mixed_precision", Title: "16 bit", Kind: "python", Text: "trainer = Trainer(precision=\"16-mixed\")   # bf16-mixed on RTX 30 and later; before 2.0: precision=16", Cost: "None, as a rule."},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
	{
		ID: "lightning/validation-outputs", Kinds: refused, Said: []string{"in validation_step", "validation_epoch_end", "on_validation_epoch_end", "validation_step_outputs", "evaluation_loop.py"}, If: ownCard,
		Cause: cause.RetainedMemory, Weight: 0.6,
		Means: "It failed in validation. Lightning turns gradients off there, so that what grows is what validation_step returns or appends: tensors kept on the card until the epoch ends. A larger validation batch is the other reason.",
		Not:   "Another `torch.no_grad()`: the loop has it.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Log numbers, return nothing", Kind: "python", Text: "def validation_step(self, batch, batch_idx):\n    loss = self(batch)\n    self.log(\"val_loss\", loss)   # and append .cpu() of what is needed later", Cost: "None."},
			{Fix: "lower_batch_size", Title: "A smaller batch for validation"},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/loops/evaluation_loop.py"},
	},
	{
		ID: "lightning/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"in training_step", "optimizer_closure", "_run_optimization", "training_epoch_loop.py"}, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means: "A training step did not fit: activations of the batch beside weights, gradients and optimizer.",
		Not:   "More devices with strategy ddp: each holds a whole copy and the same batch.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, accumulate twice", Kind: "python", Text: "trainer = Trainer(accumulate_grad_batches=2)   # and half of batch_size in your DataLoader", Cost: "Slower; the same result."},
			{Fix: "mixed_precision", Title: "16 bit", Kind: "python", Text: "trainer = Trainer(precision=\"16-mixed\")   # bf16-mixed on RTX 30 and later; before 2.0: precision=16", Cost: "None, as a rule."},
			{Fix: "shard_training", Title: "Shard over the cards", Kind: "python", Text: "trainer = Trainer(strategy=\"fsdp\", devices=4)   # or deepspeed_stage_2", Cost: "Communication between the cards."},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
}
