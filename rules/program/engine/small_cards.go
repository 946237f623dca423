package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	teiMain     = "https://github.com/huggingface/text-embeddings-inference/blob/main/router/src/main.rs"
	teiIssues   = "https://github.com/huggingface/text-embeddings-inference/issues/"
	mistralArgs = "https://github.com/EricLBuehler/mistral.rs/blob/master/mistralrs-cli/src/args/"
)

// refusedCard are the ways in which a Rust server's backends say it.
var refusedCard = []fact.Kind{fact.RustDriver, fact.TorchAlloc, fact.PlainDevice, fact.DeviceAlloc}

var teiTokens = cause.Cure{
	Fix: "lower_max_batched_tokens", Title: "Lower `--max-batch-tokens`", Told: "{tokens_now} Longer texts are cut (before 1.9 only with `--auto-truncate`), so do not go below your longest text. Add it after the image's name in `docker run`, or set the environment variable MAX_BATCH_TOKENS:",
	Kind: "config", Text: "--max-batch-tokens {fewer_tokens}", Cost: "longer texts are cut, lower throughput",
}

var teiLook = cause.Cure{
	Fix: "close_other_apps", Title: "Check what else is on the GPU", Told: "Most embedding models need 0.2 to 2.5 GB, so the GPU may have been nearly full before the start.", Kind: "shell", Text: look, Cost: "free",
}

// teiCards are Text Embeddings Inference's.
var teiCards = []cause.Card{
	teiLoad, teiKilled,
	{
		ID: "tei/warmup", Kinds: refusedCard, Said: []string{"Model backend is not healthy", "Warming up model", "Starting model backend", "could not warmup", "model backend failed"}, Figures: cards.BatchTokens,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "did not start: its trial batch did not fit in GPU memory",
		Means:    "Before it serves, TEI runs the largest batch that it would accept, `--max-batch-tokens` (16384 by default). Without flash attention (an older GPU, or the image for another GPU generation), long texts need far more memory.",
		Not:      "Smaller requests from your client: the trial batch does not depend on them.",
		Cures: []cause.Cure{
			teiTokens, teiLook,
			{Fix: "upgrade_version", Title: "Use the image for your GPU", Told: "Tags begin with the GPU generation: `turing-`, `86-`, `89-`, `hopper-`, `100-`, `120-`; A100 and A30 have no prefix. Flash attention is on by default from Ampere on.", Cost: "a download"},
		},
		Sources: []string{teiMain, "https://github.com/huggingface/text-embeddings-inference/blob/main/backends/src/lib.rs", teiIssues + "670"},
	},
	{
		ID: "tei/serving", Kinds: refusedCard, Figures: cards.BatchTokens,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while embedding a batch",
		Means:    "TEI combines waiting texts of all clients into one batch of up to `--max-batch-tokens` (16384 by default), and this one did not fit. Check with `nvidia-smi` whether another program uses the GPU.",
		Cures: []cause.Cure{
			teiTokens,
			{Fix: "lower_batch_size", Title: "Or lower `--max-batch-requests`", Kind: "config", Text: "--max-batch-requests 8", Cost: "lower throughput"},
			teiLook,
		},
		Sources: []string{teiMain, teiIssues + "350"},
	},
}

// mistralCards are mistral.rs'.
var mistralCards = []cause.Card{
	mistralPlan,
	{
		ID: "mistral.rs/unpacked", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"dequantize_f16", "forward_via_f16"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while unpacking quantised weights for a prompt",
		Means:    "For a prompt this version unpacks a quantised matrix to 16 bit for a moment (`forward_via_f16` or `dequantize_f16` in the backtrace). At 4 bit that is about four times its size. The weights left too little for that.",
		Not:      "A smaller KV cache alone, unless the KV cache fills the GPU.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Keep fewer layers on the GPU", Told: "The rest runs on the CPU. Begin with three quarters of the model's layers (`0:24` is 24 on the first GPU):", Kind: "config", Text: "-n 0:24", Cost: "slower"},
			{Fix: "upgrade_version", Title: "Update mistral.rs", Told: "A newer version may not need to unpack these weights on your GPU.", Cost: "a build"},
			{Fix: "use_lower_quant", Title: "Or use a smaller GGUF", Told: "Use one with fewer bits, or the next smaller model.", Cost: "slight loss of quality"},
		},
		Sources: []string{"https://github.com/huggingface/candle/blob/main/candle-core/src/quantized/mod.rs", mistralArgs + "model.rs"},
	},
	{
		ID: "mistral.rs/request", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"Model failed with error", "prompt step - Model failed", "completion step - Model failed", "Serving on http", "OpenAI-compatible server listening"},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of GPU memory on a request",
		Means:    "The model was loaded, but weights and KV cache left too little for this request. KV cache and working memory grow with the length of a request. The message names no size.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the KV cache, and with it the prompts", Told: "This needs paged attention (August 2024 and later); with older versions keep prompts short:", Steps: mistralSets("--pa-context-len 4096 --max-seqs 4", "--pa-ctxt-len 4096 --max-seqs 4"), Cost: "longer conversations are refused, others wait"},
			{Fix: "use_lower_quant", If: when.Not(cards.QuantisesInPlace), Title: "Or quantise while it loads", Told: "4 bit is about a quarter of 16 bit. Or use a GGUF with fewer bits.", Steps: mistralSets("--isq 4", "--isq Q4K"), Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Or give the KV cache a smaller share", Told: "Instead of a length; the default is 0.9:", Steps: mistralSets("--pa-memory-fraction 0.7", "--pa-gpu-mem-usage 0.7"), Cost: "fewer tokens at a time"},
		},
		Sources: []string{mistralArgs + "paged_attn.rs", mistralArgs + "model.rs", "https://github.com/EricLBuehler/mistral.rs/issues/44"},
	},
	{
		ID: "mistral.rs/quantised", Kinds: []fact.Kind{fact.RustDriver}, Said: cards.InPlace,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory, although it quantises the weights",
		Means:    "The weights are quantised while they load (ISQ). The KV cache comes next, and requests have what it leaves. The message names no size.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit the KV cache to a short length", Told: "Instead of your values; raise it when it runs:", Steps: mistralSets("--pa-context-len 2048 --max-seqs 1", "--pa-ctxt-len 2048 --max-seqs 1"), Cost: "shorter conversations, others wait"},
			{Fix: "fewer_gpu_layers", Title: "Or keep fewer layers on the GPU", Told: "The rest runs on the CPU (`0:24` is 24 on the first GPU):", Kind: "config", Text: "-n 0:24", Cost: "slower"},
			{Fix: "use_smaller_model", Title: "Or use a smaller model, or fewer bits", Told: "4 bit takes about 0.6 GB per billion parameters, beside it 1 to 2 GB are needed.", Cost: "lower quality"},
		},
		Sources: []string{mistralArgs + "paged_attn.rs", mistralArgs + "model.rs"},
	},
	{
		ID: "mistral.rs/card", Kinds: []fact.Kind{fact.RustDriver},
		Cause: cause.ModelTooLarge, Weight: cause.Fair,
		Headline: "ran out of GPU memory",
		Means:    "The message names no size. If it failed while loading, the weights are too large: 2 GB per billion parameters at 16 bit, the default. If it failed on a request, the KV cache, which takes nine tenths of the memory, left too little.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Quantise while it loads", Told: "4 bit is about a quarter of 16 bit. With `mistralrs-server` put it before the model's kind (`plain`, `run`), otherwise after `serve` or `run`:", Steps: mistralSets("--isq 4", "--isq Q4K"), Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller share", Steps: mistralSets("--pa-memory-fraction 0.7", "--pa-gpu-mem-usage 0.7"), Cost: "fewer tokens at a time"},
			{Fix: "lower_context", Title: "Or limit it by length", Steps: mistralSets("--pa-context-len 8192", "--pa-ctxt-len 8192"), Cost: "shorter conversations"},
		},
		Sources: []string{mistralArgs + "paged_attn.rs", mistralArgs + "model.rs"},
	},
}
