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
		Told:     "Turn it on in the training settings, if the program has it.",
	},
	{
		ID:       "gradient_accumulation",
		Title:    "Accumulate gradients over smaller batches",
		Tradeoff: "Slower steps; the result is the same.",
		Cost:     cheap,
		Check:    checkStep,
		Next:     "Gradient checkpointing.",
		Needs:    Needs{size: true, works: trained, training: true, branch: "Training", told: "smaller batches with gradient accumulation."},
		Told:     "In the training settings, halve the batch size and double the accumulation steps.",
	},
	{
		ID:       "mixed_precision",
		Title:    "Train in mixed precision",
		Tradeoff: "Usually faster; float16 needs a scaler against overflow.",
		Cost:     cheap,
		Check:    checkStep,
		Next:     "Gradient checkpointing.",
		Needs:    Needs{size: true, works: trained, training: true, python: true, branch: "Training", told: "mixed precision (`torch.autocast`).", without: fact.MixedPrecision},
		Told:     "Choose bf16 in the training settings, or fp16 on NVIDIA GPUs older than RTX 30 and A100.",
	},
	{
		ID:       "use_lora",
		Title:    "Train adapters (LoRA) instead of all weights",
		Tradeoff: "Usually as good as full training; slightly worse where the model has to change a lot.",
		Cost:     costly,
		Check:    "`model.print_trainable_parameters()` says about 1 %; a whole step runs through.",
		Next:     "Load the frozen model in 4 bit.",
		Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training a language model", told: "adapters (LoRA) instead of all weights.", without: fact.Adapters},
		Told:     "Train a LoRA adapter instead of all weights.",
	},
	{
		ID:       "optimizer_8bit",
		Title:    "Use an 8-bit optimizer",
		Tradeoff: "Hardly any quality; needs the bitsandbytes package.",
		Cost:     cheap,
		Check:    "`torch.cuda.memory_allocated()` before and after the first `optimizer.step()`: it grows by about 2 bytes for each parameter.",
		Next:     "LoRA; or shard or offload the optimizer state.",
		Needs:    Needs{works: []string{"text-training", "vision"}, training: true, branch: "Training", told: "an 8-bit optimizer.", without: fact.SmallOptimizer},
		Told:     "Choose one in the training settings (AdamW 8-bit), if the program offers it.",
	},
	{
		ID:       "offload_optimizer",
		Title:    "Offload the optimizer to system memory (RAM)",
		Tradeoff: "Slower steps; needs much RAM.",
		Cost:     costly,
		Check:    "`nvidia-smi` and `free -h` during the first step: the optimizer state is in RAM.",
		Next:     "LoRA; or more GPUs.",
		Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training", told: "keep the optimizer in system memory (RAM)."},
		Told:     "Turn it on in the training settings, if the program offers it. It takes 12 to 16 bytes of RAM per trained parameter.",
	},
	{
		ID:       "shard_training",
		Title:    "Shard model and optimizer over several GPUs (ZeRO, FSDP)",
		Tradeoff: "Slower steps; a configuration to learn.",
		Cost:     costly,
		Check:    "`nvidia-smi` after the first step: every GPU holds only its part.",
		Next:     "Gradient checkpointing, then offload to system memory.",
		Needs:    Needs{works: []string{"text-training", "vision"}, training: true},
		Told:     "Shard model and optimizer over the GPUs (ZeRO or FSDP), if your program supports it.",
		Useless: func(c *ledger.Case) string {
			if c.Near("deepspeed/runtime/zero") {
				return "The traceback runs through DeepSpeed ZeRO: it is sharded already."
			}
			return ""
		},
	},
	{
		ID:       "inference_mode",
		Title:    "Turn gradients off (torch.inference_mode)",
		Tradeoff: "None, as long as nothing is trained there.",
		Cost:     free,
		Check:    "`torch.cuda.memory_allocated()`, printed after each input, no longer climbs.",
		Next:     "If it still climbs, look for lists that keep tensors.",
		Needs:    Needs{python: true, inference: true, notFor: noNetwork, branch: "Using a model", told: "`with torch.inference_mode():` around it (free), and smaller inputs."},
		Told:     "Run the model without gradients, if your program has a setting for it.",
	},
	{
		ID:       "detach_accumulated",
		Title:    "Store plain numbers, not tensors",
		Tradeoff: "None.",
		Cost:     free,
		Check:    "`torch.cuda.memory_allocated()` after each step stays level.",
		Next:     "`torch.inference_mode()` around everything that needs no gradients.",
		Told:     "From earlier steps keep plain numbers, not tensors: a tensor holds its whole graph.",
	},
	{
		ID:       "lower_num_workers",
		Title:    "Use fewer data loader workers, and do not pin memory",
		Tradeoff: "Loading data may become the bottleneck.",
		Cost:     cheap,
		Check:    CheckRAM,
		Next:     "`pin_memory=False`, a smaller batch; in a container a larger `--shm-size`.",
		Needs:    Needs{notFor: []string{"rendering", "build", "image-generation", "text-inference"}},
		Told:     "Set 0 workers in your program's settings first. If that works, try 2.",
	},
}
