package parts

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Buffers is about an engine whose working memory, which its runtime prints, is a
// large part of what it takes: it is planned when the engine is built
// (docs/source/reference/memory.md).
var Buffers = cause.Card{
	ID: "tensorrt-llm/buffers", Kinds: []fact.Kind{fact.TRTRuntime, fact.TRTCacheTooSmall}, If: largeBuffers, Figures: bufferFigures,
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory beside the {buffers} of working memory that its engine reserves",
	Means:    "The engine's weights are {engine} and its working memory {buffers} (\"execution context memory\")[[, the KV cache {pool}]]. The working memory is fixed when the engine is built, for the most tokens per step (`max_num_tokens`, or `max_batch_size` x `max_input_len`).[[ {later}]]",
	Not:      "A smaller batch at run time: the engine keeps the sizes of its build.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Build the engine for fewer tokens per step", Told: "An eighth of the tokens needs about an eighth of the {buffers}. Longer prompts are then computed in chunks (with `enable_chunked_context` at run time):", Kind: "config", Text: "trtllm-build ... --max_num_tokens 8192 --use_paged_context_fmha enable", Cost: "a new build"},
		{Fix: "lower_mem_fraction", Title: "Leave more memory beside the KV cache", Ways: []cause.Way{
			{For: "Triton", Text: "`kv_cache_free_gpu_mem_fraction` 0.7 in config.pbtxt"}, {For: "Python", Text: "`KvCacheConfig(free_gpu_memory_fraction=0.7)`"},
		}, Cost: "fewer tokens at a time"},
		{Fix: "lower_context", Title: "If it was built with `--gather_context_logits`, leave that out", Told: "It keeps a score of every word for each prompt token, which needs much extra memory.", Cost: "no scores for prompts"},
	},
	Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/docs/source/reference/memory.md", "https://github.com/NVIDIA/TensorRT-LLM/issues/3636", "https://github.com/triton-inference-server/tensorrtllm_backend/blob/main/docs/multimodal.md"},
}

// largeBuffers: the working memory is more than a fifth of the card, or than the
// weights.
func largeBuffers(c *ledger.Case) bool {
	n, w := ledger.SizeOf(c.F().ComputeBuffer), ledger.SizeOf(c.F().Weights)
	return n > 2*units.GiB && w > 0 && (n > w || c.Total.Has() && n*5 > c.Total.Bytes)
}

func bufferFigures(c *ledger.Case) map[string]string {
	f := c.F()
	out := map[string]string{"buffers": units.Amount(ledger.SizeOf(f.ComputeBuffer)), "engine": units.Amount(ledger.SizeOf(f.Weights)), "pool": "", "later": ""}
	if n := ledger.SizeOf(f.KVBuffer); n > 0 {
		out["pool"] = units.Amount(n)
	}
	if c.Phase == "inference" {
		out["later"] = "A request failed: it has only what these leave."
	}
	return out
}
