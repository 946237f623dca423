package fix

var offloadOptimizer = Fix{
	ID:       "offload_optimizer",
	Title:    "Keep the optimizer in system memory",
	Tradeoff: "Each step takes longer; much system memory.",
	Cost:     costly,
	Check:    "`nvidia-smi` and `free -h` during the first step: the states are in RAM.",
	Next:     "LoRA; or more cards.",
	Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training", told: "keep the optimizer in system memory."},
	Told:     "Offload the optimizer to system memory in the training settings.",
}
