package fix

var cpuOffload = Fix{
	ID:       "cpu_offload",
	Title:    "Put some layers into system memory",
	Tradeoff: "5 to 20 times slower, and system memory for what is moved.",
	Cost:     costly,
	Check:    "`print(model.hf_device_map)` shows which layers are on `cpu`; `nvidia-smi` shows 1 to 2 GiB free after loading.",
	Next:     "Lower the limit for the card by 1 GiB; if most layers are on `cpu`, use a smaller model.",
	Needs:    Needs{works: generated, branch: "A language model", told: "put some of its layers into system memory."},
	Told:     "Leave a part of the model in system memory, if your program has a setting for it; it is slower.",
}
