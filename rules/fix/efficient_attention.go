package fix

var efficientAttention = Fix{
	ID:       "efficient_attention",
	Title:    "Use a memory-efficient attention",
	Tradeoff: "None; usually faster.",
	Cost:     cheap,
	Check:    "The request of the next message, if there is one, is far smaller.",
	Next:     "Lower the resolution or the length.",
	Needs:    Needs{notFor: []string{"rendering", "build", "data", "graph"}},
	Told:     "Choose a memory-efficient attention (SDPA, flash or xformers) in your program's settings.",
}
