package rules

var fixesTraining = []Fix{
	{
		ID:    "gradient_checkpointing",
		Title: "Turn gradient checkpointing on",
		Cost:  0.2,
		Steps: paste("python", "model.gradient_checkpointing_enable()"),
	},
	{
		ID:    "gradient_accumulation",
		Title: "Accumulate gradients over smaller batches",
		Cost:  0.15,
		Steps: paste("text", "Halve the batch and double the accumulation steps."),
	},
	{
		ID:    "mixed_precision",
		Title: "Train in mixed precision",
		Cost:  0.15,
		Steps: paste("python", "with torch.autocast('cuda', dtype=torch.bfloat16):"),
	},
	{
		ID:    "use_lora",
		Title: "Train adapters (LoRA) instead of all weights",
		Cost:  0.35,
		Steps: paste("python", "model = get_peft_model(model, LoraConfig(r=16))"),
	},
	{
		ID:    "optimizer_8bit",
		Title: "Use an 8-bit optimizer",
		Cost:  0.15,
		Steps: paste("python", "optimizer = bitsandbytes.optim.AdamW8bit(model.parameters())"),
	},
	{
		ID:    "offload_optimizer",
		Title: "Keep the optimizer in system memory",
		Cost:  0.35,
		Steps: paste("text", "ZeRO offload."),
	},
	{
		ID:    "shard_training",
		Title: "Shard model and optimizer over the cards",
		Cost:  0.45,
		Steps: paste("text", "FSDP or ZeRO-3."),
	},
	{
		ID:    "inference_mode",
		Title: "Run it without gradients",
		Cost:  0.02,
		Steps: paste("python", "with torch.inference_mode():"),
	},
	{
		ID:    "detach_accumulated",
		Title: "Keep numbers, not graphs",
		Cost:  0.05,
		Steps: paste("python", "total += loss.item()"),
	},
	{
		ID:    "stream_dataset",
		Title: "Stream the data instead of loading all of it",
		Cost:  0.25,
		Steps: paste("text", "Use an IterableDataset."),
	},
	{
		ID:    "lower_num_workers",
		Title: "Use fewer data loader workers",
		Cost:  0.1,
		Steps: paste("python", "DataLoader(dataset, num_workers=0)"),
	},
}
