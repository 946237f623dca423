package fix

var lowerGpuMemoryUtilization = Fix{
	ID:       "lower_gpu_memory_utilization",
	Title:    "Give the engine a smaller share of the card",
	Tradeoff: "A smaller KV cache: fewer requests at a time, or a shorter context.",
	Cost:     free,
	Check:    "The start runs through, and `nvidia-smi` shows 1 to 2 GiB free under load.",
	Next:     "If the KV cache is now too small, shorten the context or lower the number of sequences.",
	Told:     "Give the engine a smaller share of the card in your program's settings.",
}
