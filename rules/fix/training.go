package fix

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// ofTraining keep less of a training step.
var ofTraining = []Fix{
	{
		ID:       "gradient_checkpointing",
		Title:    "Turn gradient checkpointing on",
		Tradeoff: "About 20 to 30 % more time per step; the result is the same.",
		Cost:     moderate,
		Check:    checkStep,
		Next:     "Lower the batch or the length; then look at the optimizer.",
		Needs:    Needs{size: true, works: trained, training: true, branch: "Training", told: "gradient checkpointing: 20 to 30 % slower, the same result.", without: fact.Checkpoints},
		Told:     "In the training settings, where the program has it.",
	},
	{
		ID:       "gradient_accumulation",
		Title:    "Accumulate gradients over smaller batches",
		Tradeoff: "Time per step; the result is the same.",
		Cost:     cheap,
		Check:    checkStep,
		Next:     "Gradient checkpointing.",
		Needs:    Needs{size: true, works: trained, training: true, branch: "Training", told: "smaller batches with gradient accumulation."},
		Told:     "In the training settings: half the batch, twice the accumulation.",
	},
	{
		ID:       "mixed_precision",
		Title:    "Train in mixed precision",
		Tradeoff: "Usually faster; float16 needs a scaler against overflow.",
		Cost:     cheap,
		Check:    checkStep,
		Next:     "Gradient checkpointing.",
		Needs:    Needs{size: true, works: trained, training: true, python: true, branch: "Training", told: "mixed precision (`torch.autocast`).", without: fact.MixedPrecision},
		Told:     "In the training settings: bf16, or fp16 on older cards.",
	},
	{
		ID:       "use_lora",
		Title:    "Train adapters (LoRA) instead of all weights",
		Tradeoff: "Slightly less than full training for large changes of a model; for most purposes the same.",
		Cost:     costly,
		Check:    "`model.print_trainable_parameters()` says about 1 %; a whole step runs through.",
		Next:     "Load the frozen model in 4 bit.",
		Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training a language model", told: "adapters (LoRA) instead of all weights.", without: fact.Adapters},
		Told:     "Train a LoRA adapter instead of all weights.",
	},
	{
		ID:       "optimizer_8bit",
		Title:    "Use an 8-bit optimizer",
		Tradeoff: "None worth mentioning; needs the bitsandbytes package.",
		Cost:     cheap,
		Check:    "`torch.cuda.memory_allocated()` before and after the first `optimizer.step()`: it grows by about 2 bytes for each parameter.",
		Next:     "LoRA; or shard or offload the states.",
		Needs:    Needs{works: []string{"text-training", "vision"}, training: true, branch: "Training", told: "an 8-bit optimizer.", without: fact.SmallOptimizer},
		Told:     "In the training settings, where the program offers one.",
	},
	{
		ID:       "offload_optimizer",
		Title:    "Offload the optimizer to system memory (RAM)",
		Tradeoff: "Each step takes longer; much system memory.",
		Cost:     costly,
		Check:    "`nvidia-smi` and `free -h` during the first step: the states are in RAM.",
		Next:     "LoRA; or more cards.",
		Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training", told: "keep the optimizer in system memory."},
		Told:     "In the training settings, where the program offers it; RAM has to hold 12 bytes for each trained parameter.",
	},
	{
		ID:       "shard_training",
		Title:    "Shard model and optimizer over several GPUs (ZeRO, FSDP)",
		Tradeoff: "Communication between the cards; a configuration to learn.",
		Cost:     costly,
		Check:    "`nvidia-smi` after the first step: every card holds its share only.",
		Next:     "Gradient checkpointing, then offload to system memory.",
		Needs:    Needs{works: []string{"text-training", "vision"}, training: true},
		Told:     "Shard model and optimizer over the cards (ZeRO or FSDP), if your program supports it.",
		Useless: func(c *ledger.Case) string {
			if c.Near("deepspeed/runtime/zero") {
				return "The traceback runs through ZeRO: it is sharded already."
			}
			return ""
		},
	},
	{
		ID:       "inference_mode",
		Title:    "Turn gradients off (torch.inference_mode)",
		Tradeoff: "None, as long as no gradients are wanted there.",
		Cost:     free,
		Check:    "`torch.cuda.memory_allocated()` printed after each input stays the same instead of climbing.",
		Next:     "If it still climbs, look for lists that keep tensors.",
		Needs:    Needs{python: true, inference: true, notFor: noNetwork, branch: "Using a model", told: "`with torch.inference_mode():` around it (free), and smaller input."},
		Told:     "Run the model without gradients, if your program has a setting for it.",
	},
	{
		ID:       "detach_accumulated",
		Title:    "Store plain numbers, not tensors",
		Tradeoff: "None.",
		Cost:     free,
		Check:    "`torch.cuda.memory_allocated()` after each step stays level.",
		Next:     "`torch.inference_mode()` around everything that needs no gradients.",
		Told:     "Keep plain numbers of earlier steps, not tensors with their graphs.",
	},
	{
		ID:       "lower_num_workers",
		Title:    "Use fewer data loader workers, and do not pin memory",
		Tradeoff: "The card may wait for data.",
		Cost:     cheap,
		Check:    CheckRAM,
		Next:     "`pin_memory=False`, a smaller batch; in a container a larger `--shm-size`.",
		Needs:    Needs{notFor: []string{"rendering", "build", "image-generation", "text-inference"}},
		Told:     "In your program's settings: 0 shows what one process needs, then 2.",
	},
}
