package fix

var moeCpuOffload = Fix{
	ID:       "moe_cpu_offload",
	Title:    "Keep the experts in system memory",
	Tradeoff: "Some speed, far less than with whole layers; system memory for the experts.",
	Cost:     costly,
	Check:    "The log's model buffers: a large one on CPU, a small one on the card.",
	Next:     "Move the experts of more layers, or use a smaller quantisation.",
	Needs:    Needs{works: []string{"text-inference"}, own: true},
	Told:     "Keep the experts in system memory, if your program has a setting for it.",
}
