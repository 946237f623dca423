package fix

var detachAccumulated = Fix{
	ID:       "detach_accumulated",
	Title:    "Keep numbers, not graphs",
	Tradeoff: "None.",
	Cost:     free,
	Check:    "`torch.cuda.memory_allocated()` after each step stays level.",
	Next:     "`torch.inference_mode()` around everything that needs no gradients.",
	Told:     "Keep plain numbers of earlier steps, not tensors with their graphs.",
}
