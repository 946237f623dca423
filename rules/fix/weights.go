package fix

// ofWeights say where the weights lie.
var ofWeights = []Fix{
	{
		ID:       "cpu_offload",
		Title:    "Put some layers into system memory",
		Tradeoff: "5 to 20 times slower, and system memory for what is moved.",
		Cost:     costly,
		Check:    "`print(model.hf_device_map)` shows which layers are on `cpu`; `nvidia-smi` shows 1 to 2 GiB free after loading.",
		Next:     "Lower the limit for the card by 1 GiB; if most layers are on `cpu`, use a smaller model.",
		Needs:    Needs{works: generated, branch: "A language model", told: "put some of its layers into system memory."},
		Told:     "Leave a part of the model in system memory, if your program has a setting for it; it is slower.",
	},
	{
		ID:       "fewer_gpu_layers",
		Title:    "Put fewer layers on the GPU",
		Tradeoff: "Speed: the layers left in system memory run at the processor's pace.",
		Cost:     costly,
		Check:    "The log says `offloaded 20/33 layers to GPU`, and `nvidia-smi` shows room left.",
		Next:     "A smaller quantisation with all layers on the card is usually faster.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Put fewer layers on the card in your program's settings: half of what is set now, then up again.",
	},
	{
		ID:       "moe_cpu_offload",
		Title:    "Keep the experts in system memory",
		Tradeoff: "Some speed, far less than with whole layers; system memory for the experts.",
		Cost:     costly,
		Check:    "The log's model buffers: a large one on CPU, a small one on the card.",
		Next:     "Move the experts of more layers, or use a smaller quantisation.",
		Needs:    Needs{works: []string{"text-inference"}, own: true},
		Told:     "Keep the experts in system memory, if your program has a setting for it.",
	},
	{
		ID:       "multi_gpu",
		Title:    "Spread it over more cards",
		Tradeoff: "Another card; some speed is lost between the cards.",
		Cost:     dear,
		Check:    "`nvidia-smi` after loading: all cards hold a share.",
		Next:     "If one card fills first, give it less.",
		Told:     "Spread it over more cards, if your program can.",
	},
	{
		ID:       "lowvram_mode",
		Title:    "Start the program in its low-memory mode",
		Tradeoff: "Speed, and system memory for the parts that wait.",
		Cost:     costly,
		Check:    "The free memory of the card stays above 1 GiB while an image is made.",
		Next:     "A lower resolution, or a quantised model (fp8, GGUF).",
		Needs:    Needs{own: true},
	},
}
