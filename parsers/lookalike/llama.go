package lookalike

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// llamaDisguises are what llama.cpp and Ollama say in the frame of a memory
// failure, and is none.
var llamaDisguises = []disguise{
	{
		literals: []string{"unknown model architecture", "unknown projector type", "unknown pre-tokenizer type", "wrong number of tensors;", "invalid magic characters"},
		is: fact.Lookalike{
			ID: "unsupported_model", Title: "This build does not know the model's architecture or file format; nothing was allocated.",
			Advice: "Update llama.cpp, Ollama or the front end (or its engine); if that is the newest, take another conversion of the model.",
		},
	},
	{
		literals: []string{"failed to mlock", "failed to VirtualLock"},
		is: fact.Lookalike{
			ID: "mlock_limit", Title: "Locking pages in RAM was refused by a limit of this user; the program goes on without the lock.",
			Advice: "Leave --mlock out, or raise the limit (`ulimit -l unlimited` as root, LimitMEMLOCK= in systemd). It only keeps pages from being swapped.",
		},
	},
	{
		literals: []string{"could not find a KV slot for the batch", "failed to find available cells in kv cache", ">= n_seq_max"},
		is: fact.Lookalike{
			ID: "context_full", Title: "The context that was reserved at the start is full (in tokens); no memory was refused.",
			Advice: "Start with a larger context (-c: it costs memory) or fewer slots (--parallel).",
		},
	},
	{
		literals: []string{"V cache quantization requires flash_attn", "quantized V cache was requested, but this requires Flash Attention"},
		is: fact.Lookalike{
			ID: "cache_needs_flash_attention", Title: "A quantised V cache works only with flash attention; nothing was allocated.",
			Advice: "Add -fa on (builds before September 2025: -fa), or leave -ctv at f16.",
		},
	},
	{
		literals: []string{"ROCm error: invalid device function", "CUDA error: invalid device function", "Memory critical error by agent node"},
		is: fact.Lookalike{
			ID: "gpu_setup", Title: "This build has no code for this card, or the runtime faulted: nothing is full.",
			Advice: "Take a build for the card's target (gfx number or compute capability); for AMD cards outside the list, HSA_OVERRIDE_GFX_VERSION of the nearest supported one often helps.",
		},
	},
	{
		literals: []string{"gpu VRAM usage didn't recover within timeout"},
		is: fact.Lookalike{
			ID: "vram_reported_late", Title: "Ollama's scheduler says that the driver reported freed memory late; by itself nothing failed.",
			Advice: "Nothing, if the next model loads. If it does not, look at the first error after this line.",
		},
		when: func(m text.Message) bool { return len(m.Facts.Failures) == 0 },
	},
}
