package fix

var lowerGpuMemoryUtilization = Fix{
	ID:    "lower_gpu_memory_utilization",
	Title: "Give the engine a smaller share of the card",
	Doc: []string{
		"vLLM plans its memory at the start and takes the whole share. What it did not plan for then fails: CUDA graphs, NCCL, a second process, an image encoder, a sampler warm-up with many sequences. A smaller share leaves room for that.",
		"It also is the cure when the start says that less memory is free than the share asks for, if what holds the rest has to stay. It does not help when the KV cache is too small: then it makes things worse.",
	},
	Tradeoff: "A smaller KV cache: fewer requests at a time, or a shorter context.",
	Cost:     0.05,
	Check:    "The start runs through, and `nvidia-smi` shows 1 to 2 GiB free under load.",
	Next:     "If the KV cache is now too small, shorten the context or lower the number of sequences.",
	Steps:    stepsVLLM("--gpu-memory-utilization 0.8"),
}
