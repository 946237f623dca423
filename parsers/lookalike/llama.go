package lookalike

// llamaDisguises are what llama.cpp and Ollama say in the frame of a memory
// failure, and is none.
var llamaDisguises = []disguise{
	{
		literals: []string{"unknown model architecture", "unknown projector type", "unknown pre-tokenizer type", "wrong number of tensors;", "invalid magic characters"},
		id:       "unsupported_model", title: "This build does not know the model's architecture or file format; nothing was allocated.",
		advice: "Update llama.cpp, Ollama or the front end (or its engine); if that is the newest, take another conversion of the model.",
	},
	{
		literals: []string{"failed to mlock", "failed to VirtualLock"},
		id:       "mlock_limit", title: "Locking pages in RAM was refused by a limit of this user; the program goes on without the lock.",
		advice: "Leave --mlock out, or raise the limit (`ulimit -l unlimited` as root, LimitMEMLOCK= in systemd). It only keeps pages from being swapped.",
	},
	{
		literals: []string{"could not find a KV slot for the batch", "failed to find available cells in kv cache", ">= n_seq_max"},
		id:       "context_full", title: "The context that was reserved at the start is full (in tokens); no memory was refused.",
		advice: "Start with a larger context (-c: it costs memory) or fewer slots (--parallel).",
	},
	{
		literals: []string{"V cache quantization requires flash_attn", "quantized V cache was requested, but this requires Flash Attention"},
		id:       "cache_needs_flash_attention", title: "A quantised V cache works only with flash attention; nothing was allocated.",
		advice: "Add -fa on (builds before September 2025: -fa), or leave -ctv at f16.",
	},
	{
		literals: []string{"ROCm error: invalid device function", "CUDA error: invalid device function", "Memory critical error by agent node"},
		id:       "gpu_setup", title: "This build has no code for this card, or the runtime faulted: nothing is full.",
		advice: "Take a build for the card's target (gfx number or compute capability); for AMD cards outside the list, HSA_OVERRIDE_GFX_VERSION of the nearest supported one often helps.",
	},
	{
		literals: []string{"gpu VRAM usage didn't recover within timeout"},
		id:       "vram_reported_late", title: "Ollama's scheduler says that the driver reported freed memory late; by itself nothing failed.",
		advice: "Nothing, if the next model loads. If it does not, look at the first error after this line.",
		when:   nothingElseFailed,
	},
}
