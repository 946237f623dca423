package rules

var hostMemory = Rule{
	ID:      HostMemory,
	Title:   "The computer's own memory (RAM) ran out, not the card's",
	Doc:     `System memory is short: RAM and page file, a container's limit, or shared memory. The graphics card is not the problem, and options for it change nothing.`,
	Settles: "Run free -h (Linux) or open Task Manager, Performance, Memory (Windows) while it loads; dmesg -T | grep -i -E 'oom|killed process' shows what the kernel killed.",
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: 0.8},
		{Fix: "close_other_apps", Fit: 0.75},
		{Fix: "add_swap", Fit: 0.75},
		{Fix: "lower_num_workers", Fit: 0.5},
		{Fix: "use_smaller_model", Fit: 0.5},
	},
}
