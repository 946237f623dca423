package fix

import "github.com/oomdoc/oomdoc/rules/step"

var offloadOptimizer = Fix{
	ID:    "offload_optimizer",
	Title: "Keep the optimizer in system memory",
	Doc: []string{
		"DeepSpeed's ZeRO-Offload keeps optimizer states (and with stage 3 the weights) in system memory and computes the optimizer's step there. The card is left with weights, gradients and activations. System memory has to hold about 12 to 16 bytes for each parameter.",
	},
	Tradeoff: "Each step takes longer; much system memory.",
	Cost:     0.35,
	Check:    "`nvidia-smi` and `free -h` during the first step: the states are in RAM.",
	Next:     "LoRA; or more cards.",
	Steps: step.Paste("config", `{
  "zero_optimization": {
    "stage": 2,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 8,
  "bf16": {"enabled": true}
}`),
}
