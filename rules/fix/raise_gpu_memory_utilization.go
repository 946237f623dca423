package fix

var raiseGpuMemoryUtilization = Fix{
	ID:       "raise_gpu_memory_utilization",
	Title:    "Give the engine a larger share of the card",
	Tradeoff: "Less reserve: a spike of a long prompt may fail later.",
	Cost:     free,
	Check:    "The start prints how many tokens the KV cache has; it must be above the context length.",
	Next:     "Shorten the context, or keep the cache at 8 bit.",
	Told:     "Give the engine a larger share of the card in your program's settings.",
}
