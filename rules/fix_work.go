package rules

var fixesWork = []Fix{
	{
		ID:    "lower_context",
		Title: "Shorten the context",
		Cost:  0.2,
		Steps: paste("text", "Halve the context length."),
	},
	{
		ID:    "quantize_kv_cache",
		Title: "Keep the KV cache at 8 bit",
		Cost:  0.15,
		Steps: paste("text", "Use an 8-bit KV cache."),
	},
	{
		ID:    "enable_flash_attention",
		Title: "Turn flash attention on",
		Cost:  0.05,
		Steps: paste("text", "Enable flash attention."),
	},
	{
		ID:    "efficient_attention",
		Title: "Use a memory-efficient attention",
		Cost:  0.1,
		Steps: paste("python", "attn_implementation='sdpa'"),
	},
	{
		ID:    "lower_batch_size",
		Title: "Lower the batch size",
		Cost:  0.15,
		Steps: paste("text", "Set the batch size to 1, then raise it."),
	},
	{
		ID:    "lower_resolution",
		Title: "Lower the resolution or the number of frames",
		Cost:  0.25,
		Steps: paste("text", "Halve width and height."),
	},
	{
		ID:    "vae_tiling",
		Title: "Decode the image in tiles",
		Cost:  0.1,
		Steps: paste("python", "pipe.vae.enable_tiling()"),
	},
	{
		ID:    "lower_ubatch",
		Title: "Lower the physical batch",
		Cost:  0.1,
		Steps: paste("shell", "-ub 256"),
	},
	{
		ID:    "lower_parallel",
		Title: "Serve fewer requests at a time",
		Cost:  0.2,
		Steps: paste("text", "Use one slot."),
	},
	{
		ID:    "lower_max_num_seqs",
		Title: "Lower the number of concurrent sequences",
		Cost:  0.15,
		Steps: paste("shell", "--max-num-seqs 64"),
	},
	{
		ID:    "lower_max_batched_tokens",
		Title: "Lower the tokens of one batch",
		Cost:  0.15,
		Steps: paste("shell", "--max-num-batched-tokens 2048"),
	},
	{
		ID:    "chunked_prefill",
		Title: "Turn chunked prefill on",
		Cost:  0.1,
		Steps: paste("shell", "--enable-chunked-prefill"),
	},
	{
		ID:    "enforce_eager",
		Title: "Run without CUDA graphs",
		Cost:  0.25,
		Steps: paste("shell", "--enforce-eager"),
	},
	{
		ID:    "fix_shape",
		Title: "Look for the shape that is wrong",
		Cost:  0.2,
		Steps: paste("python", "print(x.shape)"),
	},
}
