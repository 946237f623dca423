package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// vllmLines are what vLLM says of its memory while all is well: they complete
// the figures of a failure and carry the arithmetic of a fix.
var vllmLines = []text.Wording{
	text.On("Loading model weights took", vllmWeights),
	text.On("Model loading took", vllmWeights),
	text.On("Model weights loaded. Memory usage:", vllmWeights), // Aphrodite: per GPU x GPUs
	text.On("the current vLLM instance can use", vllmShare),
	text.On("Memory profiling results: total_gpu_memory=", vllmResults),
	text.On("model weights take", vllmProfile),
	text.On("non_torch_memory takes", vllmProfile),
	text.On("Total non KV cache memory:", vllmTotals),
	text.On("Requested memory:", vllmRequested),
	text.On("Available KV cache memory:", vllmAvailableLine),
	text.On("as specified by kv_cache_memory_bytes", vllmFixedCache),
	text.On("Estimated CUDA graph memory:", vllmGraphs),
	text.On("Graph capturing finished in", vllmGraphs),
	text.On("# GPU blocks:", vllmBlocks),
	text.On("# CUDA blocks:", vllmBlocks),
	text.On("# rocm blocks:", vllmBlocks),
	text.On("# xpu blocks:", vllmBlocks),
	text.On("Maximum concurrency for", vllmConcurrency),
	text.On("GPU KV cache size:", vllmCacheSize),
	text.On("Replace gpu_memory_utilization config with", vllmSuggestion),
	text.On("Auto-fit max_model_len: reduced from", vllmAutoFit),
	text.On("is preempted by", vllmPreempted),
	text.On("exceeds the capacity of block_manager", vllmPromptDropped),
}

var vllmWeightsText = text.NewPattern(`(?:took|usage:)(?<weights>SIZE)`)

// vllmWeights reads the load line: GB to 0.8.2, GiB since, both powers of 1024.
func vllmWeights(m text.Message) int {
	x := m.Find(vllmWeightsText, 90)
	m.Fact("weights", x.Size("weights"))
	m.Fact("weights_loaded", x.Size("weights"))
	return m.Took(x)
}

var vllmShareText = text.NewPattern(`total_gpu_memory\((?<total>SIZE)\)xgpu_memory_utilization\((?<utilization>NUM)\)=(?<desired>SIZE)`)

// vllmShare reads the first lines of V0's block (0.6.6 to 0.10). The
// utilization is rounded to two decimals there: the product is exact.
func vllmShare(m text.Message) int {
	x := m.Find(vllmShareText, 140)
	m.Fact("total", x.Size("total"))
	m.Fact("desired", x.Size("desired"))
	factCount(m, "utilization", x.Count("utilization"))
	return m.Took(x)
}

var vllmResultsText = text.NewPattern(`total_gpu_memory=(?<total>SIZE)initial_memory_usage=(?<initial>SIZE)peak_torch_memory=(?<peak>SIZE)memory_usage_post_profile=SIZEnon_torch_memory=(?<nontorch>SIZE)kv_cache_size=(?<kv>SIZE)gpu_memory_utilization=(?<utilization>NUM)`)

// vllmResults reads the one line of 0.6.4, whose peak includes the weights.
func vllmResults(m text.Message) int {
	x := m.Find(vllmResultsText, 400)
	m.Fact("total", x.Size("total"))
	m.Fact("peak_with_weights", x.Size("peak"))
	m.Fact("non_torch", x.Size("nontorch"))
	m.Fact("kv_available", x.Size("kv"))
	factCount(m, "utilization", x.Count("utilization"))
	return m.Took(x)
}

var (
	vllmProfileWeights  = text.NewPattern(`^modelweightstake(?<size>SIZE)`)
	vllmProfileNonTorch = text.NewPattern(`non_torch_memorytakes(?<size>SIZE)`)
	vllmProfilePeak     = text.NewPattern(`activationpeakmemorytakes(?<size>SIZE)`)
	vllmProfileRest     = text.NewPattern(`therestofthememoryreservedforkvcacheis(?<size>SIZE)`)
)

// vllmProfile reads V0's block, one line of 0.6.6 to 0.10 or the tabbed lines
// of 0.6.5. Its activation figure excludes the weights.
func vllmProfile(m text.Message) int {
	weights, rest := m.Find(vllmProfileWeights, 60), m.Find(vllmProfileRest, 260)
	nonTorch, peak := m.Find(vllmProfileNonTorch, 120), m.Find(vllmProfilePeak, 200)
	m.Fact("weights", weights.Size("size"))
	m.Fact("non_torch", nonTorch.Size("size"))
	m.Fact("activation_peak", peak.Size("size"))
	m.Fact("kv_available", rest.Size("size"))
	return max(m.Took(weights), m.Took(nonTorch), m.Took(peak), m.Took(rest))
}

var vllmTotalsText = text.NewPattern(`totalnonkvcachememory:(?<all>SIZE);torchpeakmemoryincrease:(?<peak>SIZE);non-torchforwardincreasememory:(?<nontorch>SIZE);weightsmemory:(?<weights>SIZE)`)

// vllmTotals reads V1's block (debug level, 0.9.1 and later).
func vllmTotals(m text.Message) int {
	x := m.Find(vllmTotalsText, 220)
	m.Fact("activation_peak", x.Size("peak"))
	m.Fact("non_torch", x.Size("nontorch"))
	m.Fact("weights", x.Size("weights"))
	return m.Took(x)
}

var vllmRequestedText = text.NewPattern(`initialfreememory:(?<free>SIZE);requestedmemory:(?<utilization>NUM)\(util\),(?<desired>SIZE)`)

func vllmRequested(m text.Message) int {
	x := m.Around(vllmRequestedText, 60, 60)
	m.Fact("initial_free", x.Size("free"))
	m.Fact("desired", x.Size("desired"))
	factCount(m, "utilization", x.Count("utilization"))
	return m.Took(x)
}

var vllmAvailableText = text.NewPattern(`^availablekvcachememory:(?<available>SIZE)`)

// vllmAvailableLine reads one line a worker. Where it is negative the refusal
// follows, also if the paste ends before it.
func vllmAvailableLine(m text.Message) int {
	x := m.Find(vllmAvailableText, 60)
	m.Fact("kv_available", x.Size("available"))
	m.Fact("kv_left", x.Size("available"))
	if left := x.Size("available"); left != nil && left.Bytes <= 0 && !m.Mentions("noavailablememoryforthecacheblocks", "kvcacheisneeded") {
		return m.Fail(fact.Failure{Kind: fact.VLLMNoCache, Framework: "vllm", Phase: "kv_cache", Figures: fact.Figures{KVAvailable: left}}, m.Took(x))
	}
	return m.Took(x)
}

var vllmFixedText = text.NewPattern(`initialfreememory(?<free>SIZE),reserved(?<kv>SIZE)memoryforkvcache`)

// vllmFixedCache: kv_cache_memory_bytes is set, and the share of the card
// changes nothing.
func vllmFixedCache(m text.Message) int {
	x := m.Around(vllmFixedText, 80, 40)
	m.Fact("free", x.Size("free"))
	m.Fact("kv_available", x.Size("kv"))
	m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: "kv_cache_memory_bytes", Value: x.Text("kv"), Line: m.Log.Line(m.At)})
	return m.Took(x)
}

var vllmGraphsText = text.NewPattern(`(?:memory:|took)(?<size>SIZE)`)

func vllmGraphs(m text.Message) int {
	x := m.Find(vllmGraphsText, 70)
	name := "graphs"
	if m.Follows("estimatedcudagraph", 24) {
		name = "graphs_estimate"
	}
	m.Fact(name, x.Size("size"))
	return m.Took(x)
}

var vllmBlocksText = text.NewPattern(`blocks:(?<blocks>INT)`)

func vllmBlocks(m text.Message) int {
	x := m.Find(vllmBlocksText, 40)
	factCount(m, "kv_blocks", x.Count("blocks"))
	return m.Took(x)
}

var vllmConcurrencyText = text.NewPattern(`for(?<length>INT)tokensperrequest:(?<times>NUM)x`)

// vllmConcurrency: under 1.00x one request does not fit. V0 prints that and
// refuses right after; the figures are exact.
func vllmConcurrency(m text.Message) int {
	x := m.Find(vllmConcurrencyText, 90)
	length, times := x.Count("length"), x.Count("times")
	if length == nil || times == nil {
		return m.End
	}
	factCount(m, "concurrency", times)
	factCount(m, "concurrency_length", length)
	if times.Value < 1 && !m.Mentions("canbestoredinkvcache", "kvcacheisneeded", "noavailablememoryforthecacheblocks") {
		return m.Fail(fact.Failure{Kind: fact.VLLMTokens, Framework: "vllm", Phase: "kv_cache", Figures: fact.Figures{MaxModelLen: length}}, m.Took(x))
	}
	return m.Took(x)
}

var vllmCacheSizeText = text.NewPattern(`cachesize:(?<tokens>INT)tokens`)

func vllmCacheSize(m text.Message) int {
	x := m.Find(vllmCacheSizeText, 60)
	factCount(m, "cache_tokens", x.Count("tokens"))
	return m.Took(x)
}

var vllmSuggestionText = text.NewPattern(`--kv-cache-memory(?:-bytes)?=(?<bytes>INT)`)

// vllmSuggestion: the exact cache size for the next start on the same card.
func vllmSuggestion(m text.Message) int {
	x := m.Find(vllmSuggestionText, 110)
	m.Fact("kv_suggested", x.Size("bytes"))
	return m.Took(x)
}

func vllmAutoFit(m text.Message) int {
	notice(m.Facts, m.Log, m.At, "auto_fit_length", "vLLM shortened the context to what fits, as it was told to; it goes on.")
	return m.End
}

func vllmPreempted(m text.Message) int {
	if m.Follows("preemptionmode", 40) || m.Follows("notenoughkvcachespace", 160) {
		notice(m.Facts, m.Log, m.At, "preempted", "A request waits for cache space and is computed again later: slower, no failure.")
	}
	return m.End
}

func vllmPromptDropped(m text.Message) int {
	notice(m.Facts, m.Log, m.At, "prompt_too_long", "One prompt is longer than the whole cache: that request is refused, the server goes on.")
	return m.End
}

// factCount is [message.fact] for a number.
func factCount(m text.Message, name string, count *fact.Count) {
	if count != nil {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: name, Count: count, Text: m.Log.LineText(m.At), Line: count.Line})
	}
}
