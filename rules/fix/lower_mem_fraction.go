package fix

var lowerMemFraction = Fix{
	ID:       "lower_mem_fraction",
	Title:    "Lower the static memory fraction",
	Tradeoff: "A smaller KV cache: fewer requests at a time.",
	Cost:     free,
	Check:    "It survives the longest prompt you expect, with 1 to 2 GiB free in `nvidia-smi`.",
	Next:     "Lower `--chunked-prefill-size`, then the largest batch for CUDA graphs.",
	Told:     "Lower the static memory fraction in your program's settings.",
}
