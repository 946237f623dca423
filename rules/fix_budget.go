package rules

var fixesBudget = []Fix{
	{
		ID:    "raise_gpu_memory_utilization",
		Title: "Give the engine a larger share of the card",
		Cost:  0.05,
		Steps: paste("shell", "--gpu-memory-utilization 0.95"),
	},
	{
		ID:    "lower_gpu_memory_utilization",
		Title: "Give the engine a smaller share of the card",
		Cost:  0.05,
		Steps: paste("shell", "--gpu-memory-utilization 0.8"),
	},
	{
		ID:    "raise_mem_fraction",
		Title: "Raise the static memory fraction",
		Cost:  0.05,
		Steps: paste("shell", "--mem-fraction-static 0.9"),
	},
	{
		ID:    "lower_mem_fraction",
		Title: "Lower the static memory fraction",
		Cost:  0.05,
		Steps: paste("shell", "--mem-fraction-static 0.8"),
	},
	{
		ID:    "raise_memory_limit",
		Title: "Raise the memory limit",
		Cost:  0.2,
		Steps: paste("text", "Raise the limit."),
	},
	{
		ID:    "raise_watermark",
		Title: "Raise the MPS watermark",
		Cost:  0.3,
		Steps: paste("env", "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"),
	},
	{
		ID:    "lower_swap_space",
		Title: "Lower vLLM's swap space",
		Cost:  0.05,
		Steps: paste("shell", "--swap-space 1"),
	},
}
