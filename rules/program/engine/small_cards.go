package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

const (
	teiMain     = "https://github.com/huggingface/text-embeddings-inference/blob/main/router/src/main.rs"
	teiIssues   = "https://github.com/huggingface/text-embeddings-inference/issues/"
	infinityCLI = "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/cli.py"
	vllmRs      = "https://github.com/guoqingbao/vllm.rs/blob/main/"
	mistralArgs = "https://github.com/EricLBuehler/mistral.rs/blob/master/mistralrs-cli/src/args/"
)

// refusedCard are the ways in which a Rust server's backends say it.
var refusedCard = []fact.Kind{fact.RustDriver, fact.TorchAlloc, fact.PlainDevice, fact.DeviceAlloc}

var teiTokens = cause.Cure{
	Fix: "lower_max_batched_tokens", Title: "Lower `--max-batch-tokens`", Told: "A quarter of the default. Longer texts are cut (before 1.9 only with `--auto-truncate`), so not below the longest text that you embed. After the image's name in `docker run`, or as the environment variable MAX_BATCH_TOKENS:",
	Kind: "config", Text: "--max-batch-tokens 4096", Cost: "longer texts are cut, lower throughput",
}

var teiLook = cause.Cure{
	Fix: "close_other_apps", Title: "Check what else is on the card", Told: "Most embedding models take 0.2 to 2.5 GB, so the card may have been nearly full before the start.", Kind: "shell", Text: look, Cost: "free",
}

// teiCards are Text Embeddings Inference's.
var teiCards = []cause.Card{
	teiLoad, teiKilled,
	{
		ID: "tei/warmup", Kinds: refusedCard, Said: []string{"Model backend is not healthy", "Warming up model", "Starting model backend", "could not warmup", "model backend failed"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "did not start: its trial batch did not fit",
		Means:    "Before it serves, TEI runs the largest batch that it would accept: `--max-batch-tokens`, 16384 unless set. Without flash attention (an older card, or an image for another GPU generation) its memory grows with the square of the text length.",
		Not:      "Smaller requests from your client: the trial batch does not depend on them.",
		Cures: []cause.Cure{
			teiTokens, teiLook,
			{Fix: "upgrade_version", Title: "Take the image for your card", Told: "Tags begin with the GPU generation: `turing-`, `86-`, `89-`, `hopper-`, `100-`, `120-`; none is for A100 and A30. Flash attention is on by default from Ampere on.", Cost: "a download"},
		},
		Sources: []string{teiMain, "https://github.com/huggingface/text-embeddings-inference/blob/main/backends/src/lib.rs", teiIssues + "670"},
	},
	{
		ID: "tei/serving", Kinds: refusedCard,
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "ran out of graphics memory while embedding a batch",
		Means:    "TEI gathers waiting texts of all clients into one batch of up to `--max-batch-tokens` (16384 unless set), and this one did not fit. The message has no figures; `nvidia-smi` shows whether another program is on the card.",
		Cures: []cause.Cure{
			teiTokens,
			{Fix: "lower_batch_size", Title: "Or lower `--max-batch-requests`", Kind: "config", Text: "--max-batch-requests 8", Cost: "lower throughput"},
			teiLook,
		},
		Sources: []string{teiMain, teiIssues + "350"},
	},
}

// infinityCards are Infinity's.
var infinityCards = []cause.Card{{
	ID: "infinity/batch", Kinds: onCard, Said: []string{"infinity_emb/inference/", "infinity_emb/transformer/", "infinity_emb/primitives"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of graphics memory on a batch of texts",
	Means:    "Infinity gathers up to `--batch-size` texts (32 unless set), pads them to the longest and computes them at once.[[ {mine} of {total} was its own when {asked} was refused.]] It does the same at start, as a warm-up with 512 tokens each.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `--batch-size`", Told: "Added to `infinity_emb v2`, or INFINITY_BATCH_SIZE=8 in the environment:", Kind: "config", Text: "--batch-size 8", Cost: "lower throughput"},
		{Fix: "lower_context", Title: "Send shorter pieces of text", Told: "512 to 1024 tokens each: one long text pads the whole batch to its length.", Cost: "more of them"},
		{Fix: "half_precision", Title: "Use 16 bit", Told: "If you set `float32`; late 2024 and later use 16 bit on a card by themselves.", Kind: "config", Text: "--dtype float16", Cost: "hardly any loss"},
	},
	Sources: []string{infinityCLI, "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/inference/select_model.py", "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/inference/loading_strategy.py", "https://github.com/michaelfeil/infinity/issues/498"}, Solved: 1,
}}

// mistralCards are mistral.rs'.
var mistralCards = []cause.Card{
	mistralPlan,
	{
		ID: "mistral.rs/unpacked", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"dequantize_f16", "forward_via_f16"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it unpacked quantised weights for a prompt",
		Means:    "The backtrace shows `forward_via_f16` or `dequantize_f16`: for a prompt this version unpacks a quantised matrix to 16 bit for a moment, about four times its size at 4 bit, beside the weights. The weights had loaded and left too little for that.",
		Not:      "A smaller KV cache alone, where it is not what fills the card.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Keep fewer layers on the card", Told: "The rest runs on the processor; begin with three quarters of the model's layers (`0:24` is 24 on the first card):", Kind: "config", Text: "-n 0:24", Cost: "slower"},
			{Fix: "upgrade_version", Title: "Update mistral.rs", Told: "Which weights are unpacked depends on its kernels for card and format; a newer version may do without.", Cost: "a build"},
			{Fix: "use_lower_quant", Title: "Or take a smaller GGUF", Told: "Of fewer bits, or the next smaller model.", Cost: "slight loss of quality"},
		},
		Sources: []string{"https://github.com/huggingface/candle/blob/main/candle-core/src/quantized/mod.rs", mistralArgs + "model.rs"},
	},
	{
		ID: "mistral.rs/request", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"Model failed with error", "prompt step - Model failed", "completion step - Model failed", "Serving on http", "OpenAI-compatible server listening"},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of graphics memory on a request",
		Means:    "The model was loaded; then the driver refused memory while it computed, and named no size. KV cache and activations grow with the length of a request, and weights and cache left too little for this one.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the KV cache, and prompts with it", Told: "Needs paged attention (August 2024 and later); before, keep prompts short:", Steps: mistralSets("--pa-context-len 4096 --max-seqs 4", "--pa-ctxt-len 4096 --max-seqs 4"), Cost: "longer conversations are refused, others wait"},
			{Fix: "use_lower_quant", Title: "Or quantise while it loads", Told: "About a quarter of 16-bit weights; or take a GGUF of fewer bits.", Steps: mistralSets("--isq 4", "--isq Q4K"), Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Or give the KV cache a smaller part", Told: "Instead of a length; 0.9 of the card is the default:", Steps: mistralSets("--pa-memory-fraction 0.7", "--pa-gpu-mem-usage 0.7"), Cost: "fewer tokens at a time"},
		},
		Sources: []string{mistralArgs + "paged_attn.rs", mistralArgs + "model.rs", "https://github.com/EricLBuehler/mistral.rs/issues/44"},
	},
	{
		ID: "mistral.rs/card", Kinds: []fact.Kind{fact.RustDriver},
		Cause: cause.ModelTooLarge, Weight: cause.Fair,
		Headline: "was refused graphics memory by the driver",
		Means:    "The driver names no size. mistral.rs loads weights at 16 bit unless told otherwise (2 GB per billion parameters), and its KV cache takes nine tenths of the memory, so little remains for a prompt. While loading the weights are too large; on a request the cache is.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Quantise while it loads", Told: "4 bit is about a quarter of 16. For `mistralrs-server` before the model's kind (`plain`, `run`), else after `serve` or `run`:", Steps: mistralSets("--isq 4", "--isq Q4K"), Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller part", Steps: mistralSets("--pa-memory-fraction 0.7", "--pa-gpu-mem-usage 0.7"), Cost: "fewer tokens at a time"},
			{Fix: "lower_context", Title: "Or limit it by length", Steps: mistralSets("--pa-context-len 8192", "--pa-ctxt-len 8192"), Cost: "shorter conversations"},
		},
		Sources: []string{mistralArgs + "paged_attn.rs", mistralArgs + "model.rs"},
	},
}

var vllmRsQuant = cause.Cure{Fix: "use_lower_quant", Title: "Or quantise while it loads", Told: "About a quarter of 16-bit weights; or take a GGUF of fewer bits (`--f`).", Kind: "config", Text: "--isq q4k", Cost: "slight loss of quality"}

// vllmRsCards are those of vllm.rs.
var vllmRsCards = []cause.Card{
	{
		ID: "vllm.rs/prompt", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"prefill", "Prefix cache miss seq", "GPU Kvcache:"},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it read a prompt",
		Means:    "The model was loaded; the driver refused memory while a prompt was computed, and named no size. The KV cache takes its part of the card at start, and a long prompt has only the rest. Without a flash attention kernel that need grows with the square of the length.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller part", Told: "Added to the start in place of `--max-model-len` (since late November 2025; before, halve `--max-model-len`). In a prefill/decode split do it for the server that reads the prompts:", Kind: "config", Text: "--kv-fraction 0.4", Cost: "shorter conversations"},
			{Fix: "enable_flash_attention", Title: "Build it with flash attention", Told: "On RTX 30, A100 and newer. With 2025 sources (since 2026 `flashattn`, or `flashinfer`); `nccl` is for several cards. On older cards send shorter prompts instead.", Kind: "shell", Text: "./build.sh --release --features cuda,nccl,graph,flash-attn,flash-context", Cost: "a long build"},
			vllmRsQuant,
		},
		Sources: []string{vllmRs + "src/server/mod.rs", vllmRs + "ReadMe.md", "https://github.com/guoqingbao/attention.rs/blob/main/src/lib.rs"},
	},
	{
		ID: "vllm.rs/card", Kinds: []fact.Kind{fact.RustDriver},
		Cause: cause.ModelTooLarge, Weight: cause.Fair,
		Headline: "was refused graphics memory by the driver",
		Means:    "The driver names no size, and the log does not show whether the weights were loading or a request was computed. Weights take 2 GB per billion parameters at 16 bit; the KV cache takes a part of what they leave.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Quantise while it loads", Told: vllmRsQuant.Told, Kind: "config", Text: "--isq q4k", Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller part", Told: "In place of `--max-model-len` (late November 2025 and later):", Kind: "config", Text: "--kv-fraction 0.4", Cost: "shorter conversations"},
			{Fix: "close_other_apps", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{vllmRs + "src/server/mod.rs", vllmRs + "ReadMe.md"},
	},
}
