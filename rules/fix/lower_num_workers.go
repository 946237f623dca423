package fix

var lowerNumWorkers = Fix{
	ID:       "lower_num_workers",
	Title:    "Use fewer data loader workers, and do not pin memory",
	Tradeoff: "The card may wait for data.",
	Cost:     cheap,
	Check:    CheckRAM,
	Next:     "`pin_memory=False`, a smaller batch; in a container a larger `--shm-size`.",
	Needs:    Needs{notFor: []string{"rendering", "build", "image-generation", "text-inference"}},
	Told:     "Use fewer worker processes for loading data (0, then 2), in your program's settings.",
}
