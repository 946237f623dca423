package fix

var raiseGpuMemoryUtilization = Fix{
	ID:    "raise_gpu_memory_utilization",
	Title: "Give the engine a larger share of the card",
	Doc: []string{
		"vLLM takes a fixed share of the card (`--gpu-memory-utilization`, 0.9 by default, 0.92 in versions of 2026) and fills what the weights and the working memory leave of it with KV cache. If the cache comes out too small, or none is left, a larger share helps, as long as the card really has it.",
		"Up to 0.95 is usual on a card that nothing else uses; above, CUDA graphs and the desktop collide with it. It does not help when the weights alone exceed the card, or when another program holds memory: then the start fails because less is free than the share.",
	},
	Tradeoff: "Less reserve: a spike of a long prompt may fail later.",
	Cost:     0.05,
	Check:    "The start prints how many tokens the KV cache has; it must be above the context length.",
	Next:     "Shorten the context, or keep the cache at 8 bit.",
	Steps:    stepsVLLM("--gpu-memory-utilization 0.95"),
}
