package parsers

// vllmLines are what vLLM says of its memory while all is well: they complete
// the figures of a failure and carry the arithmetic of a fix.
var vllmLines = []wording{
	{"Loading model weights took", vllmWeights},
	{"Model loading took", vllmWeights},
	{"Model weights loaded. Memory usage:", vllmWeights}, // Aphrodite: per GPU x GPUs
	{"the current vLLM instance can use", vllmShare},
	{"Memory profiling results: total_gpu_memory=", vllmResults},
	{"model weights take", vllmProfile},
	{"non_torch_memory takes", vllmProfile},
	{"Total non KV cache memory:", vllmTotals},
	{"Requested memory:", vllmRequested},
	{"Available KV cache memory:", vllmAvailableLine},
	{"as specified by kv_cache_memory_bytes", vllmFixedCache},
	{"Estimated CUDA graph memory:", vllmGraphs},
	{"Graph capturing finished in", vllmGraphs},
	{"# GPU blocks:", vllmBlocks},
	{"# CUDA blocks:", vllmBlocks},
	{"# rocm blocks:", vllmBlocks},
	{"# xpu blocks:", vllmBlocks},
	{"Maximum concurrency for", vllmConcurrency},
	{"GPU KV cache size:", vllmCacheSize},
	{"Replace gpu_memory_utilization config with", vllmSuggestion},
	{"Auto-fit max_model_len: reduced from", vllmAutoFit},
	{"is preempted by", vllmPreempted},
	{"exceeds the capacity of block_manager", vllmPromptDropped},
}

var vllmWeightsText = pattern(`(?:took|usage:)(?<weights>SIZE)`)

// vllmWeights reads the load line: GB to 0.8.2, GiB since, both powers of 1024.
func vllmWeights(m message) int {
	x := m.find(vllmWeightsText, 90)
	m.fact("weights", x.Size("weights"))
	m.fact("weights_loaded", x.Size("weights"))
	return m.took(x)
}

var vllmShareText = pattern(`total_gpu_memory\((?<total>SIZE)\)xgpu_memory_utilization\((?<utilization>NUM)\)=(?<desired>SIZE)`)

// vllmShare reads the first lines of V0's block (0.6.6 to 0.10). The
// utilization is rounded to two decimals there: the product is exact.
func vllmShare(m message) int {
	x := m.find(vllmShareText, 140)
	m.fact("total", x.Size("total"))
	m.fact("desired", x.Size("desired"))
	m.factCount("utilization", x.Count("utilization"))
	return m.took(x)
}

var vllmResultsText = pattern(`total_gpu_memory=(?<total>SIZE)initial_memory_usage=(?<initial>SIZE)peak_torch_memory=(?<peak>SIZE)memory_usage_post_profile=SIZEnon_torch_memory=(?<nontorch>SIZE)kv_cache_size=(?<kv>SIZE)gpu_memory_utilization=(?<utilization>NUM)`)

// vllmResults reads the one line of 0.6.4, whose peak includes the weights.
func vllmResults(m message) int {
	x := m.find(vllmResultsText, 400)
	m.fact("total", x.Size("total"))
	m.fact("peak_with_weights", x.Size("peak"))
	m.fact("non_torch", x.Size("nontorch"))
	m.fact("kv_available", x.Size("kv"))
	m.factCount("utilization", x.Count("utilization"))
	return m.took(x)
}

var (
	vllmProfileWeights  = pattern(`^modelweightstake(?<size>SIZE)`)
	vllmProfileNonTorch = pattern(`non_torch_memorytakes(?<size>SIZE)`)
	vllmProfilePeak     = pattern(`activationpeakmemorytakes(?<size>SIZE)`)
	vllmProfileRest     = pattern(`therestofthememoryreservedforkvcacheis(?<size>SIZE)`)
)

// vllmProfile reads V0's block, one line of 0.6.6 to 0.10 or the tabbed lines
// of 0.6.5. Its activation figure excludes the weights.
func vllmProfile(m message) int {
	weights, rest := m.find(vllmProfileWeights, 60), m.find(vllmProfileRest, 260)
	nonTorch, peak := m.find(vllmProfileNonTorch, 120), m.find(vllmProfilePeak, 200)
	m.fact("weights", weights.Size("size"))
	m.fact("non_torch", nonTorch.Size("size"))
	m.fact("activation_peak", peak.Size("size"))
	m.fact("kv_available", rest.Size("size"))
	return max(m.took(weights), m.took(nonTorch), m.took(peak), m.took(rest))
}

var vllmTotalsText = pattern(`totalnonkvcachememory:(?<all>SIZE);torchpeakmemoryincrease:(?<peak>SIZE);non-torchforwardincreasememory:(?<nontorch>SIZE);weightsmemory:(?<weights>SIZE)`)

// vllmTotals reads V1's block (debug level, 0.9.1 and later).
func vllmTotals(m message) int {
	x := m.find(vllmTotalsText, 220)
	m.fact("activation_peak", x.Size("peak"))
	m.fact("non_torch", x.Size("nontorch"))
	m.fact("weights", x.Size("weights"))
	return m.took(x)
}

var vllmRequestedText = pattern(`initialfreememory:(?<free>SIZE);requestedmemory:(?<utilization>NUM)\(util\),(?<desired>SIZE)`)

func vllmRequested(m message) int {
	x := m.around(vllmRequestedText, 60, 60)
	m.fact("initial_free", x.Size("free"))
	m.fact("desired", x.Size("desired"))
	m.factCount("utilization", x.Count("utilization"))
	return m.took(x)
}

var vllmAvailableText = pattern(`^availablekvcachememory:(?<available>SIZE)`)

// vllmAvailableLine reads one line a worker. Where it is negative the refusal
// follows, also if the paste ends before it.
func vllmAvailableLine(m message) int {
	x := m.find(vllmAvailableText, 60)
	m.fact("kv_available", x.Size("available"))
	m.fact("kv_left", x.Size("available"))
	if left := x.Size("available"); left != nil && left.Bytes <= 0 && !m.mentions("noavailablememoryforthecacheblocks", "kvcacheisneeded") {
		return m.fail(Failure{Kind: VLLMNoCache, Framework: "vllm", Phase: "kv_cache", Figures: Figures{KVAvailable: left}}, m.took(x))
	}
	return m.took(x)
}

var vllmFixedText = pattern(`initialfreememory(?<free>SIZE),reserved(?<kv>SIZE)memoryforkvcache`)

// vllmFixedCache: kv_cache_memory_bytes is set, and the share of the card
// changes nothing.
func vllmFixedCache(m message) int {
	x := m.around(vllmFixedText, 80, 40)
	m.fact("free", x.Size("free"))
	m.fact("kv_available", x.Size("kv"))
	m.f.Settings = append(m.f.Settings, Setting{Name: "kv_cache_memory_bytes", Value: x.Text("kv"), Line: m.l.Line(m.at)})
	return m.took(x)
}

var vllmGraphsText = pattern(`(?:memory:|took)(?<size>SIZE)`)

func vllmGraphs(m message) int {
	x := m.find(vllmGraphsText, 70)
	name := "graphs"
	if m.follows("estimatedcudagraph", 24) {
		name = "graphs_estimate"
	}
	m.fact(name, x.Size("size"))
	return m.took(x)
}

var vllmBlocksText = pattern(`blocks:(?<blocks>INT)`)

func vllmBlocks(m message) int {
	x := m.find(vllmBlocksText, 40)
	m.factCount("kv_blocks", x.Count("blocks"))
	return m.took(x)
}

var vllmConcurrencyText = pattern(`for(?<length>INT)tokensperrequest:(?<times>NUM)x`)

// vllmConcurrency: under 1.00x one request does not fit. V0 prints that and
// refuses right after; the figures are exact.
func vllmConcurrency(m message) int {
	x := m.find(vllmConcurrencyText, 90)
	length, times := x.Count("length"), x.Count("times")
	if length == nil || times == nil {
		return m.end
	}
	m.factCount("concurrency", times)
	m.factCount("concurrency_length", length)
	if times.Value < 1 && !m.mentions("canbestoredinkvcache", "kvcacheisneeded", "noavailablememoryforthecacheblocks") {
		return m.fail(Failure{Kind: VLLMTokens, Framework: "vllm", Phase: "kv_cache", Figures: Figures{MaxModelLen: length}}, m.took(x))
	}
	return m.took(x)
}

var vllmCacheSizeText = pattern(`cachesize:(?<tokens>INT)tokens`)

func vllmCacheSize(m message) int {
	x := m.find(vllmCacheSizeText, 60)
	m.factCount("cache_tokens", x.Count("tokens"))
	return m.took(x)
}

var vllmSuggestionText = pattern(`--kv-cache-memory(?:-bytes)?=(?<bytes>INT)`)

// vllmSuggestion: the exact cache size for the next start on the same card.
func vllmSuggestion(m message) int {
	x := m.find(vllmSuggestionText, 110)
	m.fact("kv_suggested", x.Size("bytes"))
	return m.took(x)
}

func vllmAutoFit(m message) int {
	m.f.notice(m.l, m.at, "auto_fit_length", "vLLM shortened the context to what fits, as it was told to; it goes on.")
	return m.end
}

func vllmPreempted(m message) int {
	if m.follows("preemptionmode", 40) || m.follows("notenoughkvcachespace", 160) {
		m.f.notice(m.l, m.at, "preempted", "A request waits for cache space and is computed again later: slower, no failure.")
	}
	return m.end
}

func vllmPromptDropped(m message) int {
	m.f.notice(m.l, m.at, "prompt_too_long", "One prompt is longer than the whole cache: that request is refused, the server goes on.")
	return m.end
}

// factCount is [message.fact] for a number.
func (m message) factCount(name string, count *Count) {
	if count != nil {
		m.f.Facts = append(m.f.Facts, Fact{Name: name, Count: count, Text: m.l.LineText(m.at), Line: count.Line})
	}
}
