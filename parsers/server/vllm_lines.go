package server

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// vllmLines are what vLLM says of its memory while all is well: they complete
// the figures of a failure and carry the arithmetic of a fix.
var vllmLines = []text.Wording{
	text.On("Loading model weights took", vllmWeights), text.On("Model loading took", vllmWeights),
	text.On("Model weights loaded. Memory usage:", vllmWeights), // Aphrodite: per GPU x GPUs
	// The first line of V0's block (0.6.6 to 0.10). The utilization is rounded to
	// two decimals there: the product is exact.
	text.On("the current vLLM instance can use", text.States(0, 140, text.NewPattern(`total_gpu_memory\((?<total>SIZE)\)xgpu_memory_utilization\((?<utilization>NUM)\)=(?<desired>SIZE)`))),
	// The one line of 0.6.4, whose peak includes the weights.
	text.On("Memory profiling results: total_gpu_memory=", text.States(0, 400, text.NewPattern(`total_gpu_memory=(?<total>SIZE)initial_memory_usage=SIZEpeak_torch_memory=(?<peak_torch>SIZE)memory_usage_post_profile=SIZE`+
		`non_torch_memory=(?<non_torch>SIZE)kv_cache_size=(?<kv_available>SIZE)gpu_memory_utilization=(?<utilization>NUM)`))),
	// The rest of V0's block, one line of 0.6.6 to 0.10 or the tabbed lines of
	// 0.6.5. Its activation figure excludes the weights.
	text.On("model weights take", text.States(0, 60, text.NewPattern(`^modelweightstake(?<weights>SIZE)`))), text.On("non_torch_memory takes", text.States(0, 60, text.NewPattern(`^non_torch_memorytakes(?<non_torch>SIZE)`))),
	text.On("activation peak memory takes", text.States(0, 60, text.NewPattern(`^activationpeakmemorytakes(?<activation_peak>SIZE)`))),
	text.On("the rest of the memory reserved for KV Cache is", text.States(0, 90, text.NewPattern(`^therestofthememoryreservedforkvcacheis(?<kv_available>(?<kv_left>SIZE))`))),
	// V1's block (debug level, 0.9.1 and later).
	text.On("Total non KV cache memory:", text.States(0, 220, text.NewPattern(`totalnonkvcachememory:SIZE;torchpeakmemoryincrease:(?<activation_peak>SIZE);`+
		`non-torchforwardincreasememory:(?<non_torch>SIZE);weightsmemory:(?<weights>SIZE)`))),
	text.On("Requested memory:", text.States(60, 60, text.NewPattern(`initialfreememory:SIZE;requestedmemory:(?<utilization>NUM)\(util\),(?<desired>SIZE)`))),
	text.On("Available KV cache memory:", vllmAvailableLine), text.On("as specified by kv_cache_memory_bytes", vllmFixedCache), text.On("Maximum concurrency for", vllmConcurrency),
	text.On("Estimated CUDA graph memory:", text.States(0, 70, text.NewPattern(`memory:(?<graphs_estimate>SIZE)`))), text.On("Graph capturing finished in", text.States(0, 70, text.NewPattern(`took(?<graphs>SIZE)`))),
	text.On(", # CPU blocks:", text.Says("vllm_v0")), // V1 does not swap to them; "# GPU blocks" may have lost its "# "
	text.On("GPU blocks: ", vllmBlocks), text.On("CUDA blocks: ", vllmBlocks), text.On("rocm blocks: ", vllmBlocks), text.On("xpu blocks: ", vllmBlocks),
	text.On("offload plan check", text.States(0, 120, text.NewPattern(`overheadplanned(?<overhead_planned>SIZE),measured(?<overhead_measured>SIZE)`))),
	text.On("model_executor/models/", text.States(0, 60, text.NewPattern(`model_executor/models/(?<model_module>[a-z0-9_]{2,40})\.py`))),
	text.On("GPU KV cache size:", text.States(0, 60, text.NewPattern(`cachesize:(?<cache_tokens>INT)tokens`))),
	text.On("embeddings in the worst case", text.States(0, 80, text.NewPattern(`worstcase\((?<is_mm_tokens>INT)tokensintotal`))), text.On("Encoder cache will be initialized with a budget of", text.States(0, 90, text.NewPattern(`budgetof(?<is_mm_tokens>INT)tokens`))),
	text.On("Prefilling User", text.States(0, 60, text.NewPattern(`upto(?<tt_prompt>INT)tokens`))), // Tenstorrent's tt_transformers
	text.On("Auto-fit max_model_len: reduced from", text.Notices("auto_fit_length",
		"vLLM shortened the context to what fits, as it was told to; it goes on.")),
	text.On("is preempted by", text.When(text.Notices("preempted", "A request waits for cache space and is computed again later: slower, no failure."),
		text.Behind("preemptionmode", 40), text.Behind("notenoughkvcachespace", 160))),
	text.On("exceeds the capacity of block_manager", text.Notices("prompt_too_long",
		"One prompt is longer than the whole cache: that request is refused, the server goes on.")),
}

// vllmWeights reads the load line: GB to 0.8.2, GiB since, both powers of 1024.
var vllmWeights = text.States(0, 90, text.NewPattern(`(?:took|usage:)(?<weights>(?<weights_loaded>SIZE))`))

var vllmBlocks = text.States(0, 40, text.NewPattern(`blocks:(?<kv_blocks>INT)`))

var vllmAvailableText = text.NewPattern(`^availablekvcachememory:(?<kv_available>(?<kv_left>SIZE))`)

// vllmAvailableLine reads one line a worker. Where it is negative the refusal
// follows, also if the paste ends before it.
func vllmAvailableLine(m text.Message) int {
	x := m.Find(vllmAvailableText, 60)
	x.States(m.Facts, nil)
	if left := x.Size("kv_left"); left != nil && left.Bytes <= 0 && !m.Mentions("noavailablememoryforthecacheblocks", "kvcacheisneeded") {
		return m.Fail(fact.Failure{Kind: fact.VLLMNoCache, Framework: "vllm", Phase: "kv_cache", Figures: fact.Figures{KVAvailable: left}}, m.Took(x))
	}
	return m.Took(x)
}

var vllmFixedText = text.NewPattern(`initialfreememory(?<free>SIZE),reserved(?<kv_available>SIZE)memoryforkvcache`)

// vllmFixedCache: kv_cache_memory_bytes is set, and the share of the card
// changes nothing.
func vllmFixedCache(m text.Message) int {
	x := m.Around(vllmFixedText, 80, 40)
	x.States(m.Facts, nil)
	m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: "kv_cache_memory_bytes", Value: x.Text("kv_available"), Line: m.Log.Line(m.At)})
	return m.Took(x)
}

var vllmConcurrencyText = text.NewPattern(`for(?<concurrency_length>INT)tokensperrequest:(?<concurrency>NUM)x`)

// vllmConcurrency: under 1.00x one request does not fit. V0 prints that and
// refuses right after; the figures are exact.
func vllmConcurrency(m text.Message) int {
	x := m.Find(vllmConcurrencyText, 90)
	x.States(m.Facts, nil)
	if times := x.Count("concurrency"); times != nil && times.Value < 1 && !m.Mentions("canbestoredinkvcache", "kvcacheisneeded", "noavailablememoryforthecacheblocks") {
		return m.Fail(fact.Failure{Kind: fact.VLLMTokens, Framework: "vllm", Phase: "kv_cache", Figures: fact.Figures{MaxModelLen: x.Count("concurrency_length")}}, m.Took(x))
	}
	return m.Took(x)
}

// vllmRanks reads from the prefixes of its workers over how many cards a model
// is split, where no option says it: those of V0 stand beside the first rank,
// which has no prefix.
func vllmRanks(l *text.Log, f *fact.Facts) {
	if slices.ContainsFunc(f.Settings, func(s fact.Setting) bool {
		return s.Name == "tensor_parallel_size" || s.Name == "pipeline_parallel_size"
	}) {
		return
	}
	workers, beside, first := map[string]bool{}, 0, 0
	for _, line := range l.Lines {
		if strings.HasPrefix(line.Source, "VllmWorker") {
			name, _, _ := strings.Cut(line.Source, " pid=")
			if name == "VllmWorkerProcess" {
				name, beside = line.Source, 1
			}
			workers[name], first = true, cmp.Or(first, line.Number)
		}
	}
	few := func(x fact.Failure) bool {
		return x.Figures.Device != nil && int(x.Figures.Device.Value) >= len(workers)+beside
	} // not all of them stand here
	if n := len(workers) + beside; (n == 2 || n == 4 || n == 8) && !slices.ContainsFunc(f.Failures, few) { // of two starts in one log the workers would be counted twice
		f.Settings = append(f.Settings, fact.Setting{Name: "tensor_parallel_size", Value: strconv.Itoa(n), Line: first})
	}
}
