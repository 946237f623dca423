package rules

var fixesModel = []Fix{
	{
		ID:    "use_lower_quant",
		Title: "Load a smaller quantisation of the same model",
		Cost:  0.25,
		Steps: paste("text", "Choose a 4-bit file or checkpoint of the model (Q4_K_M, AWQ, GPTQ)."),
	},
	{
		ID:    "use_smaller_model",
		Title: "Use a smaller model",
		Cost:  0.35,
		Steps: paste("text", "Choose a model with fewer parameters."),
	},
	{
		ID:    "load_in_4bit",
		Title: "Load it in 4 bit",
		Cost:  0.25,
		Steps: paste("python", "model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_4bit=True), device_map='auto')"),
	},
	{
		ID:    "load_in_8bit",
		Title: "Load it in 8 bit",
		Cost:  0.2,
		Steps: paste("python", "model = AutoModelForCausalLM.from_pretrained(name, quantization_config=BitsAndBytesConfig(load_in_8bit=True), device_map='auto')"),
	},
	{
		ID:    "half_precision",
		Title: "Load the weights at 16 bit",
		Cost:  0.1,
		Steps: paste("python", "torch_dtype=torch.float16"),
	},
	{
		ID:    "cpu_offload",
		Title: "Put some layers into system memory",
		Cost:  0.45,
		Steps: paste("python", "device_map='auto', max_memory={0: '7GiB', 'cpu': '24GiB'}"),
	},
	{
		ID:    "fewer_gpu_layers",
		Title: "Put fewer layers on the GPU",
		Cost:  0.3,
		Steps: paste("shell", "-ngl 20"),
	},
	{
		ID:    "moe_cpu_offload",
		Title: "Keep the experts in system memory",
		Cost:  0.3,
		Steps: paste("shell", "--n-cpu-moe 20"),
	},
	{
		ID:    "multi_gpu",
		Title: "Spread it over more cards",
		Cost:  0.6,
		Steps: paste("text", "Use two cards."),
	},
	{
		ID:    "bigger_gpu",
		Title: "Use a card with more memory",
		Cost:  0.95,
		Steps: paste("text", "Rent or buy a larger card."),
	},
	{
		ID:    "lowvram_mode",
		Title: "Start the program in its low-memory mode",
		Cost:  0.3,
		Steps: paste("shell", "--lowvram"),
	},
	{
		ID:    "use_mmap",
		Title: "Let the file be mapped instead of copied",
		Cost:  0.05,
		Steps: paste("text", "Leave memory mapping on."),
	},
}
