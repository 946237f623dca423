package rules

var fixesMemory = []Fix{
	{
		ID:    "kill_stale_process",
		Title: "Find what holds the card and end it",
		Cost:  0.05,
		Steps: paste("shell", "nvidia-smi"),
	},
	{
		ID:    "restart_session",
		Title: "Restart the program or notebook kernel",
		Cost:  0.05,
		Steps: paste("text", "Restart the kernel and run only what is needed."),
	},
	{
		ID:    "empty_cache",
		Title: "Drop what is no longer needed",
		Cost:  0.05,
		Steps: paste("python", "del model; gc.collect(); torch.cuda.empty_cache()"),
	},
	{
		ID:    "select_gpu",
		Title: "Use another card",
		Cost:  0.05,
		Steps: paste("env", "CUDA_VISIBLE_DEVICES=1"),
	},
	{
		ID:    "balance_split",
		Title: "Split the model unevenly over the cards",
		Cost:  0.15,
		Steps: paste("text", "Give the full card less."),
	},
	{
		ID:    "close_other_apps",
		Title: "Close other programs that use memory",
		Cost:  0.05,
		Steps: paste("text", "Close browsers, games and other AI programs."),
	},
	{
		ID:    "expandable_segments",
		Title: "Let PyTorch grow its segments",
		Cost:  0.02,
		Steps: paste("env", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
	},
	{
		ID:    "max_split_size",
		Title: "Keep PyTorch from splitting large blocks",
		Cost:  0.1,
		Steps: paste("env", "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128"),
	},
	{
		ID:    "limit_framework_preallocation",
		Title: "Keep the framework from taking the whole card at start",
		Cost:  0.05,
		Steps: paste("env", "XLA_PYTHON_CLIENT_PREALLOCATE=false"),
	},
	{
		ID:    "tf_cuda_malloc_async",
		Title: "Use the asynchronous allocator",
		Cost:  0.05,
		Steps: paste("env", "TF_GPU_ALLOCATOR=cuda_malloc_async"),
	},
	{
		ID:    "upgrade_version",
		Title: "Update the program",
		Cost:  0.2,
		Steps: paste("text", "Install the newest version."),
	},
}
