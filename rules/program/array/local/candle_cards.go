// Package local knows the messages of candle and MLX, which run models on one's own
// machine.
package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// smallModels are names of models that fit any card.
var smallModels = []string{"W3_0_6b", "W3_1_7b", "0_6b", "0.6b", "0.5b", "1.5b", "1.7b", "TinyLlama"}

// watchCard tells when it fills; the driver's message says nothing.
var watchCard = cause.Cure{Fix: "kill_stale_process", Title: "Watch the card while it runs", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "free", Ways: []cause.Way{
	{For: "Full before the start", Text: "another program holds it: an earlier test, another model server, a browser. End that."},
	{For: "Full while loading", Text: "the weights are too large. Load them once, in 16 bit (`device.bf16_default_to_f32()` as the dtype), and drop an earlier model first."},
	{For: "Climbs while it generates", Text: "the KV cache and attention grow. Use a shorter prompt and fewer tokens."},
}}

// sixteenBit is candle's way to halve the weights.
var sixteenBit = cause.Cure{Fix: "half_precision", Title: "Load the weights in 16 bit", Told: "Set it where the code makes its `VarBuilder`, and drop an earlier model first. Cards before RTX 30: use `DType::F16`.", Kind: "config", Text: "let dtype = device.bf16_default_to_f32();\nlet vb = unsafe { VarBuilder::from_mmaped_safetensors(&files, dtype, &device)? };", Cost: "hardly any quality"}

var shorterRun = cause.Cure{Fix: "lower_context", Title: "Use a shorter prompt and generate fewer tokens", Told: "In the examples, set `sample_len` to a quarter. In your own code, call `clear_kv_cache()` between prompts. Without flash attention, memory grows with the square of the prompt.", Cost: "shorter answers"}

var newerCandle = cause.Cure{Fix: "upgrade_version", Title: "Update candle", Kind: "shell", Text: "cargo update -p candle-core -p candle-nn -p candle-transformers", Cost: "a rebuild"}

var quantized = cause.Cure{Fix: "use_lower_quant", Title: "Use a quantized GGUF of the model", Told: "The `quantized-*` examples load GGUF files. Q4_K_M takes about 0.6 GB per billion parameters, Q8_0 1.1 GB.", Cost: "slight loss of quality"}

// CandleCards are candle's.
var CandleCards = []cause.Card{
	{
		ID: "candle/small", Kinds: []fact.Kind{fact.RustDriver}, Said: smallModels,
		Cause: cause.Unknown, Weight: cause.Strong, Headline: "ran out of GPU memory with a small model",
		Means:   "The driver gives no figures. The weights are small: a model of 0.6 billion parameters takes 1.2 GB in 16 bit and 2.4 GB in 32 bit. So the card was probably in use already, the model is loaded more than once, or a long prompt makes a large attention matrix.",
		Cures:   []cause.Cure{watchCard, shorterRun, newerCandle},
		Sources: []string{"candle/candle-core/src/cuda_backend/device.rs", "https://github.com/huggingface/candle/issues/2950"},
	},
	{
		ID: "candle/loading", Kinds: []fact.Kind{fact.RustDriver}, Phases: []string{"load"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory while loading the weights",
		Means: "The backtrace is in the loader, so the weights are too large, or the card was in use already (`nvidia-smi` before the start shows it). A model takes 2 GB per billion parameters in 16 bit and 4 GB in 32 bit. The dtype given to `VarBuilder` decides, not the file's.",
		Not:   "A shorter prompt: the weights keep their size.",
		Cures: []cause.Cure{
			sixteenBit, quantized,
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "Count 2 GB per billion parameters in 16 bit, plus 1 to 2 GB to work.", Cost: "lower quality"},
		},
		Sources: []string{"candle/candle-nn/src/var_builder.rs", "https://github.com/huggingface/candle/issues/2631"},
	},
	{
		ID: "candle/attention", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"sdp_prefill", "PagedAttention>::forward", "attention::Attention>::forward", "Attention::forward"},
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory in an attention layer",
		Means: "The backtrace is in an attention layer, so the weights were loaded. A long prompt is the usual reason: without flash attention, each layer makes a matrix of length x length for every head. Half the prompt needs a quarter. The driver gives no figures.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Use a shorter prompt or fewer images", Told: "Server: halve its maximum length or context, and allow fewer requests at once. Your own code: read the prompt in chunks.", Cost: "less context"},
			{Fix: "efficient_attention", Title: "Build with flash attention", Told: "For RTX 30 and newer cards, if the program has the feature: `cargo build --release --features cuda,flash-attn`.", Cost: "a long build"},
			{Fix: "lower_gpu_memory_utilization", Title: "On a server: use a smaller KV cache", Told: "Lower its option for the share of the card or the size of the cache. That leaves more for the prompt.", Cost: "fewer requests at a time"},
			quantized,
		},
		Sources: []string{"candle/candle-examples/Cargo.toml", "candle/candle-flash-attn/src/lib.rs"},
	},
	{
		ID: "candle/card", Kinds: []fact.Kind{fact.RustDriver},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory",
		Means:   "The driver gives no figures. A model takes 2 GB per billion parameters in 16 bit and 4 GB in 32 bit. The KV cache, attention over a long prompt, or large images come on top.",
		Cures:   []cause.Cure{sixteenBit, watchCard, quantized},
		Sources: []string{"candle/candle-core/src/cuda_backend/device.rs", "candle/candle-nn/src/var_builder.rs"},
	},
}
