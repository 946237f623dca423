// Package server knows servers of language models: vLLM, SGLang, TGI,
// TensorRT-LLM, LMDeploy, MLC LLM, Ray.
package server

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// VLLM is what is peculiar to vLLM. Its share of the card,
// gpu_memory_utilization, has a direction: too small when the checks of the
// cache refuse, too large when the start check, the graphs, the warm-up of the
// sampler or a request fail, and without any part while weights load or the
// profile runs.
var VLLM = program.Program{
	Name: "vllm", Shown: "vLLM", Rank: 80,
	Commands: []string{"vllm"},
	Units:    []string{"vllm", "vllm-openai", "vllm-server"},
	Work:     "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Sources: program.Sources{
		"flash-attention/README.md": "--no-build-isolation",
		"vllm/config/cache.py":      "--gpu-memory-utilization --kv-cache-dtype",
		"vllm/config/offload.py":    "--cpu-offload-gb",
		"vllm/engine/arg_utils.py": "--enforce-eager --limit-mm-per-prompt --max-model-len --max-num-batched-tokens --max-num-seqs --mm-processor-kwargs" +
			" --quantization --swap-space --tensor-parallel-size",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {vllmShareTooSmall, vllmShareTooLarge, vllmOutsideShare,
			cause.Said(0.62, "The cache blocks ran out and vLLM's own swap pool is full too: its settings, not the computer's swap.", fact.VLLMSwapFull)},
		cause.ContextTooLong: {vllmContextOverCache},
		cause.BatchTooLarge: {vllmManySequences,
			figures.First(cause.If(when.Root(fact.VLLMMamba), 0.75, "Hybrid models keep one state block for each running sequence, and fewer exist than max_num_seqs asks for.| {mamba_blocks} exist."))},
		cause.ModelTooLarge: {vllmWeightsFill},
		cause.LeakedProcess: {vllmCardTaken,
			cause.Said(0.1, "Versions before 0.9.1 count what other programs hold as their own.", fact.VLLMNoCache),
			cause.Said(0.6, "Free memory grew while vLLM measured itself: another process on this card let go of memory at that moment.", fact.VLLMProfileMoved)},
		cause.SoftwareBug: {
			figures.First(cause.If(absurdGraphs, 0.85, "vLLM estimated {graphs_estimate} for CUDA graphs (0.2 to 3 GiB is usual) and took that off the cache, which VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 turns off.")),
			cause.Said(0.25, "Free memory moved while vLLM measured itself; versions before 2026 also fail when it did not.", fact.VLLMProfileMoved)},
		cause.HostMemory: {
			cause.Said(0.95, "swap_space is system memory, for each card, and more than 70 % of what the computer or container has.", fact.VLLMSwapTooLarge),
			cause.Said(0.8, "The engine process ended by signal 9: as a rule the kernel's out-of-memory killer, and then system memory ran out.", fact.VLLMKilled),
		},
	},
	Remedies: vllmRemedies,
	Steps:    vllmSteps,
	Effects:  vllmEffects,
	Useless:  vllmUseless,
	Whys:     map[string]func(c *ledger.Case) string{"use_lower_quant": func(*ledger.Case) string { return "" }}, // the cause says it
	Cards:    vllmCards,
}

var (
	noCache      = when.Root(fact.VLLMNoCache)
	noRequest    = when.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall) // the cache holds less than one request of full length
	startRefused = when.Root(fact.VLLMFreeTooLow)
	warmUp       = when.Root(fact.VLLMWarmup)
)

var vllmShareTooSmall = figures.First(
	cause.If(when.All(noCache, shareBelow(0.8)), 0.75, "After weights and working memory {kv_available} of vLLM's share of the card is left for the KV cache. The share was set to {share}."),
	cause.If(noCache, 0.5, "After weights and working memory {kv_available} of vLLM's share of the card is left for the KV cache."),
	cause.If(noCache, 0.5, "After weights and working memory nothing of vLLM's share of the card is left for the KV cache."),
	cause.If(noRequest, 0.9, "The size of the cache was fixed by hand (kv_cache_memory_bytes, {kv_cache_memory_bytes}), and the share of the card is ignored then."),
	cause.If(noRequest, 0.12, "A larger share of the card would leave more for the cache."),
)

// vllmShareTooLarge: less is free at start than the share asks for, because of
// a desktop or a context, not of another job.
var vllmShareTooLarge = figures.First(
	cause.If(when.All(startRefused, when.Not(takenByJob)), 0.78, checked+" What is taken already, {taken}, is what a desktop or the contexts of drivers take."),
	cause.If(startRefused, 0.2, checked),
)

const checked = "{desired} of the card is wanted ({utilization}), {room} is free: {short} too little."

var vllmCardTaken = figures.First(
	cause.If(when.All(startRefused, takenByJob), 0.8, "{taken} of {total} was in use before vLLM started."),
	cause.If(startRefused, 0.22, "{taken} of {total} was in use before vLLM started."),
)

// vllmOutsideShare: graphs, sampler and requests take memory beside the share.
var vllmOutsideShare = figures.First(append(outsideShare(ledger.VLLMOnCard),
	cause.If(when.All(warmUp, manySequences), 0.3, "The share leaves no room for the sampler's warm-up.| The share is {share} of the card."),
	cause.If(warmUp, 0.6, "At a usual number of sequences the sampler's warm-up found no room: weights and cache took nearly all of the card.| The share is {share} of the card."),
	cause.If(serving, 0.56, "vLLM fills the card up to its share; what is computed found no room beside it.| The share is {share} of the card."))...)

// vllmContextOverCache: one request of the full length is more than the cache
// holds. A cache of next to nothing is not about the length.
var vllmContextOverCache = figures.First(
	cause.If(nextToNone, 0.4, "One request may have {max_model_len} tokens; next to no cache is left."),
	cause.If(hardlyAnyTokens, 0.3, "One request may have {max_model_len} tokens; the cache that is left holds {kv_tokens}."),
	cause.If(when.Root(fact.VLLMTokens), 0.88, "One request may have {max_model_len} tokens; the cache that is left holds {kv_tokens}."),
	cause.If(when.All(noRequest, when.Set("kv_cache_memory_bytes", "")), 0.5, "The weights fit; what does not is the cache of one single request of {max_model_len} tokens."),
	cause.If(when.Root(fact.VLLMCacheTooSmall), 0.9, "The weights fit; what does not is the cache of one single request of {max_model_len} tokens."),
	cause.If(noRequest, 0.8, "One request of the full length is more than the cache that is left holds."),
)

var vllmManySequences = figures.First(
	cause.If(when.All(warmUp, manySequences), 0.72, "The warm-up runs {max_num_seqs} sequences at once, each with a row of the whole vocabulary in 32 bit."),
	cause.If(warmUp, 0.36, "The sampler's warm-up needs a row of the vocabulary for each sequence."),
	cause.If(when.All(serving, largeTemporary), 0.62, "One temporary of {requested} after the graphs were made is the size of sequences x vocabulary."),
	cause.If(capturing, 0.2, "Graphs are captured for up to max_num_seqs sequences."),
	cause.If(ledger.Profiling, 0.62, "It failed in vLLM's dummy run, before any cache was taken: too many tokens or sequences are computed at once beside the weights."),
)

var vllmWeightsFill = figures.First(
	cause.If(weightsAlone, 0.87, "{allocated} of {total} is this process's own, nothing of it cached: weights. vLLM's share of the card plays no part while they load."),
	cause.If(weightsAlone, 0.87, "It failed while the weights were being loaded; vLLM's share of the card plays no part then."),
	cause.If(hardlyAnyTokens, 0.6, "Room for {kv_tokens} tokens is no usable cache: the weights take nearly all of the share."),
	cause.If(nextToNone, 0.6, "Next to nothing is left for the cache: what stands before it takes nearly all of the share."),
	cause.If(noRequest, 0.08, "Smaller weights would leave more for the cache."),
	cause.If(when.All(noCache, when.Not(shareBelow(0.93))), 0.6, "The share is {share} of the card already and nothing is left beside the weights."),
	cause.If(noCache, 0.3, "The weights may take nearly all of the share."),
)

// shareTooLarge: what does not count inside the share found no room, or not even
// the share itself. Lower it.
var shareTooLarge = when.Any(startRefused, warmUp, ledger.TakingCache, capturing, serving)

func capturing(c *ledger.Case) bool { return ledger.VLLMOnCard(c) && c.Phase == "graph_capture" }

// serving: after the cache was taken and the graphs were made: a request, or a
// warm-up with graphs in place. An allocation without any sign of its phase
// counts when the allocator has done work already: loading leaves nothing
// cached.
func serving(c *ledger.Case) bool {
	return ledger.VLLMOnCard(c) && (c.Phase == "inference" || c.Phase == "warmup" && ledger.CacheTaken(c) || c.Phase == "unknown" && !ledger.LooksLikeLoad(c))
}

// largeTemporary: over 1 GiB, where graphs exist and no request runs yet.
func largeTemporary(c *ledger.Case) bool {
	return ledger.SizeOf(c.F().Requested) > units.GiB && c.Phase != "inference" && c.Contains("private pools")
}

// sampling: the sampler's frames stand in the log. It sorts a row of the
// vocabulary for each sequence.
var sampling = when.Fact("vllm_sampler")

func manySequences(c *ledger.Case) bool { return ledger.IntSetting(c, "max_num_seqs") >= 512 }

// takenAtStart is what was in use before vLLM began, 0 if unknown.
func takenAtStart(c *ledger.Case) int64 {
	f := c.F()
	if f.Total == nil || f.Free == nil {
		return 0
	}
	return f.Total.Bytes - f.Free.Bytes
}

// takenByJob: more than a desktop and the contexts of drivers take.
func takenByJob(c *ledger.Case) bool { return takenAtStart(c) >= 3*units.GiB }

func beyondCard(c *ledger.Case) bool { u, ok := neededUtilization(c); return ok && u > mostUtilization }

// hardlyAnyTokens: a cache that no request of any use fits.
func hardlyAnyTokens(c *ledger.Case) bool {
	n := c.F().KVTokens
	asked := c.F().MaxModelLen
	return c.Root(fact.VLLMTokens) && n != nil && (n.Value < 512 || asked != nil && asked.Value > 2*leastLength && fittingLength(c) < leastLength)
}

func weightsAlone(c *ledger.Case) bool {
	return ledger.LoadingWeights(c) && c.Others.Bytes <= 4*units.GiB
}

// absurdGraphs: an estimate for CUDA graphs that no card ever needed is taken
// off the cache (0.21 and later).
func absurdGraphs(c *ledger.Case) bool {
	x, ok := c.Fact("graphs_estimate")
	return ok && ledger.SizeOf(x.Size) >= 8*units.GiB && ledger.ShareTooSmall(c)
}

// vllmRemedies order cures by when it failed; the share of the card only ever
// moves in the direction that helps there.
var vllmRemedies = map[string][]cause.Remedy{
	cause.BudgetMisconfigured: {
		{Fix: "raise_gpu_memory_utilization", Fit: 1, If: ledger.ShareTooSmall},
		{Fix: "lower_context", Fit: 0.95, If: noRequest},
		{Fix: "quantize_kv_cache", Fit: 0.85, If: noRequest},
		{Fix: "lower_max_batched_tokens", Fit: 0.72, If: noCache},
		{Fix: "upgrade_version", Fit: 0.65, If: when.Root(fact.VLLMSwapFull)},
		{Fix: "lower_gpu_memory_utilization", Fit: 1, If: shareTooLarge},
		{Fix: "close_other_apps", Fit: 0.8, If: when.Any(startRefused, ledger.TakingCache)},
		{Fix: "kill_stale_process", Fit: 0.65, If: when.All(startRefused, takenByJob)},
		{Fix: "select_gpu", Fit: 0.4, If: startRefused},
		{Fix: "lower_max_num_seqs", Fit: 0.88, If: when.Any(capturing, warmUp, when.Root(fact.VLLMNoCache, fact.VLLMSwapFull, fact.VLLMMamba))},
		{Fix: "enforce_eager", Fit: 0.8, If: capturing},
		{Fix: "lower_max_batched_tokens", Fit: 0.85, If: serving},
		{Fix: "lower_max_num_seqs", Fit: 0.6, If: serving},
		{Fix: "lower_context", Fit: 0.57, If: when.Any(serving, ledger.TakingCache)},
	},
	cause.ContextTooLong: {
		{Fix: "lower_context", Fit: 1},
		{Fix: "raise_gpu_memory_utilization", Fit: 0.85},
		{Fix: "quantize_kv_cache", Fit: 0.95},
		{Fix: "multi_gpu", Fit: 0.6},
	},
	cause.BatchTooLarge: {
		{Fix: "lower_max_num_seqs", Fit: 1, If: when.Any(when.Not(ledger.Profiling), sampling)},
		{Fix: "lower_max_num_seqs", Fit: 0.8, If: when.All(ledger.Profiling, when.Not(sampling))},
		{Fix: "lower_max_batched_tokens", Fit: 0.95, If: ledger.Profiling},
		{Fix: "lower_max_batched_tokens", Fit: 0.7, If: when.Not(when.Any(ledger.Profiling, warmUp, when.Root(fact.VLLMMamba)))},
		{Fix: "raise_gpu_memory_utilization", Fit: 0.85, If: when.Root(fact.VLLMMamba)},
		{Fix: "lower_context", Fit: 0.7, If: when.Root(fact.VLLMMamba)},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.85, If: shareTooLarge},
		{Fix: "lower_resolution", Fit: 0.6, If: when.All(ledger.Profiling, seesImages)},
		{Fix: "multi_gpu", Fit: 0.45, If: when.Not(when.Root(fact.VLLMMamba))},
		{Fix: "use_lower_quant", Fit: 0.4, If: when.Not(when.Root(fact.VLLMMamba, fact.VLLMWarmup))},
	},
	cause.ModelTooLarge: smallerWeights,
	cause.LeakedProcess: {
		{Fix: "restart_session", Fit: 0.9, If: when.Root(fact.VLLMProfileMoved)},
		{Fix: "kill_stale_process", Fit: 1},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.85, If: startRefused},
		{Fix: "select_gpu", Fit: 0.8},
		{Fix: "close_other_apps", Fit: 0.5},
	},
	cause.OversizedAllocation: {
		{Fix: "enable_flash_attention", Fit: 1},
		{Fix: "lower_resolution", Fit: 0.95, If: seesImages},
		{Fix: "upgrade_version", Fit: 0.7},
	},
	cause.SoftwareBug:   serverBug,
	cause.Fragmentation: inPieces,
	cause.HostMemory: {
		{Fix: "lower_swap_space", Fit: 1.02, If: when.Root(fact.VLLMSwapTooLarge)},
		{Fix: "raise_memory_limit", Fit: 1},
		{Fix: "lower_num_workers", Fit: 0.6},
		{Fix: "add_swap", Fit: 0.5},
	},
}
