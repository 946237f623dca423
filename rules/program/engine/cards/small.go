package cards

import (
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

const (
	infinityCLI = "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/cli.py"
	vllmRs      = "https://github.com/guoqingbao/vllm.rs/blob/main/"
	look        = "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv"
	decoders    = "Choose it with `--model-id`. A decoder of 7 billion parameters (gte-Qwen2-7B, NV-Embed) takes 14 to 15 GB at 16 bit; one of 0.6 billion, or a BERT, 0.5 to 1.5 GB."
)

// onCard are the failures of an allocation on the card under a server.
var onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.XPURuntime}

type steps = map[string]func(*ledger.Case) []step.Step

func text(words string) func(*ledger.Case) []step.Step { return step.Paste("text", words) }

// BatchTokens are a smaller batch of Text Embeddings Inference's than the log's own,
// 16384 where it shows none.
func BatchTokens(c *ledger.Case) map[string]string {
	now := ledger.IntSetting(c, "max_batch_tokens")
	if now <= 0 || now > 4096 {
		return map[string]string{"fewer_tokens": "4096", "tokens_now": "The default is 16384."}
	}
	return map[string]string{"fewer_tokens": strconv.Itoa(max(now/2, 128)), "tokens_now": "Half of yours."}
}

// InPlace are words of quantising while the weights load: the option, and what
// mistral.rs prints.
var InPlace = []string{"--isq ", "--isq=", "Applying in-situ quantization", "Applying ISQ"}

// QuantisesInPlace: the log shows that.
func QuantisesInPlace(c *ledger.Case) bool { return c.Near(InPlace...) }

// fewTexts are Infinity's words for a small batch.
var fewTexts = []string{"batch_size=1 and avg", "batch_size=2 and avg", "batch_size=4 and avg", "batch_size=8 and avg", "--batch-size 1 ", "--batch-size 2 ", "--batch-size 4 ", "--batch-size 8 "}

// weights are what fills the card where batches are small.
var weights = cause.Card{
	ID: "infinity/weights", Kinds: onCard, Said: fewTexts, If: func(c *ledger.Case) bool {
		return ledger.FillsAlone(c) && c.Near("infinity_emb/inference/", "infinity_emb/transformer/", "infinity_emb/primitives")
	},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory: the model nearly fills it",
	Means:    "It holds {mine} of {total} although only a few texts are computed at once (`--batch-size`): mostly the weights, 2 GB per billion parameters at 16 bit. The texts of a batch, in the warm-up 512 tokens each, have only the rest.",
	Not:      "PyTorch's allocator settings: the memory is in use.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: decoders, Cost: "other embeddings: index again"},
		{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return !c.Near("batch_size=1 and avg", "--batch-size 1 ") }, Title: "Compute one text at a time", Told: "If little is missing, that may be enough, with texts of at most 512 tokens:", Kind: "config", Text: "--batch-size 1", Cost: "slow"},
		{Fix: "bigger_gpu", Title: "Or use a GPU with more memory", Told: "About 1.3 times the weights. With several GPUs in this computer, choose one with `--device cuda --device-id 1`.", Cost: "another GPU"},
	},
	Sources: []string{infinityCLI, "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/inference/select_model.py"},
}

// Infinity is michaelfeil's server for embeddings and rerankers, on PyTorch.
var Infinity = program.Program{
	Name: "infinity", Shown: "Infinity", Work: "embedding", Edits: "flags", Language: "python",
	Proofs:  []string{"infinity_emb/", "infinity_emb "},
	Sources: program.Sources{"infinity/libs/infinity_emb/infinity_emb/cli.py": "--batch-size --device --device-id --dtype --model-id --no-bettertransformer --no-model-warmup"},
	Steps: steps{
		"lower_batch_size":  text("Start it with `--batch-size 8` (the default is 32): that many texts are computed at once, also in the warm-up at start."),
		"half_precision":    text("Start it with `--dtype float16`, if you set `float32`: since late 2024 it uses 16 bit on a GPU by default."),
		"select_gpu":        text("Start it with `--device cuda --device-id 1`, the number of a free GPU."),
		"lower_context":     text("Send shorter pieces of text, 512 to 1024 tokens each."),
		"use_smaller_model": text("Choose a smaller model with `--model-id`: a decoder of 7 billion parameters such as NV-Embed needs ten times what a BERT does."),
		"cpu_offload":       text("Or run it on the CPU: `--device cpu`."),
		"upgrade_version":   step.Paste("shell", "pip install -U infinity-emb"),
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {{Fix: "lower_batch_size", Fit: cause.Foremost}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "half_precision", Fit: cause.Helps}, {Fix: "use_smaller_model", Fit: cause.MayHelp}},
		cause.ModelTooLarge: {{Fix: "half_precision", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Cures}, {Fix: "select_gpu", Fit: cause.Helps}, {Fix: "lower_batch_size", Fit: cause.MayHelp}},
	},
	Cards: infinityCards,
}

// infinityCards are Infinity's.
var infinityCards = []cause.Card{weights, {
	ID: "infinity/batch", Kinds: onCard, Said: []string{"infinity_emb/inference/", "infinity_emb/transformer/", "infinity_emb/primitives"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory on a batch of texts",
	Means:    "Infinity combines up to `--batch-size` texts (32 by default), pads them to the longest and computes them at once. At start it does the same as a warm-up, with 512 tokens each.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `--batch-size`", Told: "Add it to `infinity_emb v2`, or set INFINITY_BATCH_SIZE=8 in the environment:", Kind: "config", Text: "--batch-size 8", Cost: "lower throughput"},
		{Fix: "lower_context", Title: "Send shorter pieces of text", Told: "Use 512 to 1024 tokens each: one long text makes the whole batch as long.", Cost: "more of them"},
		{Fix: "half_precision", Title: "Use 16 bit", Told: "Only if you set `float32`: since late 2024 it uses 16 bit on a GPU by default.", Kind: "config", Text: "--dtype float16", Cost: "hardly any loss"},
	},
	Sources: []string{infinityCLI, "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/inference/select_model.py", "https://github.com/michaelfeil/infinity/blob/main/libs/infinity_emb/infinity_emb/inference/loading_strategy.py", "https://github.com/michaelfeil/infinity/issues/498"}, Solved: 1,
}}

// VLLMRs is vllm.rs, a server in Rust on candle; it is no part of vLLM.
var VLLMRs = program.Program{
	Name: "vllm.rs", Work: "text-inference", Edits: "flags", Language: "rust",
	Proofs:  []string{"vllm_rs::", "attention_rs::", "vllm_rs.server", "target/release/vllm-rs"},
	Sources: program.Sources{"vllm.rs/src/server/mod.rs": "--fp8-kvcache --isq --kv-fraction --max-model-len --max-num-seqs", "vllm.rs/ReadMe.md": "--features --release"},
	Steps: steps{
		"lower_mem_fraction": text("Give the KV cache a smaller share: `--kv-fraction 0.4` instead of `--max-model-len` (late November 2025 and later)."),
		"lower_context":      text("Start it with a lower `--max-model-len`."),
		"lower_max_num_seqs": text("Serve fewer requests at a time: `--max-num-seqs 1`, with a `--max-model-len` (without one newer versions choose both)."),
		"use_lower_quant":    text("Quantise it while it loads: `--isq q4k`, or load a GGUF with fewer bits (`--f`)."),
		"quantize_kv_cache":  text("Add `--fp8-kvcache`."),
		"upgrade_version":    text("Update vllm.rs: `git pull` and build again, or `pip install -U vllm_rs`."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:  {{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_mem_fraction", Fit: cause.Helps}, {Fix: "lower_context", Fit: cause.Helps}},
		cause.ContextTooLong: {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Helps}},
		cause.BatchTooLarge:  {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_max_num_seqs", Fit: cause.Helps}, {Fix: "use_lower_quant", Fit: cause.Helps}},
	},
	Cards: vllmRsCards,
}

var vllmRsQuant = cause.Cure{Fix: "use_lower_quant", Title: "Or quantise while it loads", Told: "That is about a quarter of 16 bit. Or load a GGUF with fewer bits (`--f`).", Kind: "config", Text: "--isq q4k", Cost: "slight loss of quality"}

// vllmRsCards are those of vllm.rs.
var vllmRsCards = []cause.Card{
	{
		ID: "vllm.rs/prompt", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"prefill", "Prefix cache miss seq", "GPU Kvcache:"},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "ran out of GPU memory while reading a prompt",
		Means:    "The model was loaded. The KV cache takes its share of the GPU at the start, and a long prompt has only the rest. Without flash attention the need grows with the square of the length. The message names no size.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller share", Told: "Use it instead of `--max-model-len` (since late November 2025; before, halve `--max-model-len`). If prefill and decode run on separate servers, set it for the one that reads the prompts:", Kind: "config", Text: "--kv-fraction 0.4", Cost: "shorter conversations"},
			{Fix: "enable_flash_attention", Title: "Build it with flash attention", Told: "For RTX 30, A100 and newer. These names are from 2025 (since 2026 `flashattn` or `flashinfer`); `nccl` is for several GPUs. On older GPUs send shorter prompts instead.", Kind: "shell", Text: "./build.sh --release --features cuda,nccl,graph,flash-attn,flash-context", Cost: "a long build"},
			vllmRsQuant,
		},
		Sources: []string{vllmRs + "src/server/mod.rs", vllmRs + "ReadMe.md", "https://github.com/guoqingbao/attention.rs/blob/main/src/lib.rs"},
	},
	{
		ID: "vllm.rs/quantised", Kinds: []fact.Kind{fact.RustDriver}, Said: []string{"--isq ", "--isq="},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory",
		Means:    "The message names no size, and the log does not show whether it failed while loading or on a request. `--isq` quantises the weights already; the KV cache takes a part of what they leave, and prompts have the rest.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller share", Told: "Instead of `--max-model-len` (late November 2025 and later):", Kind: "config", Text: "--kv-fraction 0.4", Cost: "shorter conversations"},
			{Fix: "close_other_apps", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "4 bit takes about 0.6 GB per billion parameters. Leave 2 GB and more for KV cache and prompts.", Cost: "lower quality"},
		},
		Sources: []string{vllmRs + "src/server/mod.rs", vllmRs + "ReadMe.md"},
	},
	{
		ID: "vllm.rs/card", Kinds: []fact.Kind{fact.RustDriver},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory",
		Means:    "The message names no size, and the log does not show whether it failed while loading or on a request. Weights take 2 GB per billion parameters at 16 bit; the KV cache takes a part of what they leave.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Quantise while it loads", Told: vllmRsQuant.Told, Kind: "config", Text: "--isq q4k", Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Give the KV cache a smaller share", Told: "Instead of `--max-model-len` (late November 2025 and later):", Kind: "config", Text: "--kv-fraction 0.4", Cost: "shorter conversations"},
			{Fix: "close_other_apps", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{vllmRs + "src/server/mod.rs", vllmRs + "ReadMe.md"},
	},
}
