// Package server knows servers of language models: vLLM, SGLang, TGI,
// TensorRT-LLM, LMDeploy, MLC LLM, Ray.
package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/when"
)

// VLLM is what is peculiar to vLLM. Its share of the card,
// gpu_memory_utilization, has a direction: too small when the checks of the
// cache refuse, too large when the start check, the graphs, the warm-up of the
// sampler or a request fail, and without any part while weights load or the
// profile runs.
var VLLM = program.Program{
	Name: "vllm", Shown: "vLLM", Rank: 80,
	Proofs:   []string{"CUDA graphs can take additional 1~3 GiB memory per GPU"}, // worker/model_runner.py, to 0.6
	Commands: []string{"vllm"},
	Starts:   vllm.StartedBy,
	Units:    []string{"vllm", "vllm-openai", "vllm-server", "-vllm"},
	Work:     "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Sources: program.Sources{
		"flash-attention/README.md": "--no-build-isolation",
		"vllm/config/cache.py":      "--gpu-memory-utilization --kv-cache-dtype --kv-cache-memory-bytes --kv-offloading-backend --kv-offloading-size --num-gpu-blocks-override",
		"vllm/config/offload.py":    "--cpu-offload-gb",
		"vllm/config/lora.py":       "--max-lora-rank --max-loras",
		"vllm/envs.py":              "VLLM_CPU_KVCACHE_SPACE VLLM_DEEP_GEMM_WARMUP",
		"vllm/engine/arg_utils.py": "--disable-custom-all-reduce --enforce-eager --limit-mm-per-prompt --load-format --max-model-len --max-num-batched-tokens --max-num-seqs --mm-processor-kwargs" +
			" --quantization --swap-space --tensor-parallel-size --kv-transfer-config --mm-processor-cache-gb --speculative-config",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {vllmShareTooSmall, vllmShareTooLarge, vllmOutsideShare,
			cause.Said(cause.Good, "The cache blocks ran out and vLLM's own swap pool is full too: its settings, not the computer's swap.", fact.VLLMSwapFull)},
		cause.ContextTooLong: {vllmContextOverCache},
		cause.BatchTooLarge: {vllmManySequences,
			figures.First(cause.If(nil, cause.Strong, "Hybrid models keep one state block for each running sequence, and fewer exist than max_num_seqs asks for.| {mamba_blocks} exist.")).Of(fact.VLLMMamba)},
		cause.ModelTooLarge: {vllmWeightsFill},
		cause.LeakedProcess: {vllmCardTaken,
			cause.Said(cause.Hint, "Versions before 0.9.1 count what other programs hold as their own.", fact.VLLMNoCache),
			cause.Said(cause.Good, "Free memory grew while vLLM measured itself: another process on this card let go of memory at that moment.", fact.VLLMProfileMoved)},
		cause.SoftwareBug: {
			figures.First(cause.If(absurdGraphs, cause.Strong, "vLLM estimated {graphs_estimate} for CUDA graphs (0.2 to 3 GiB is usual) and took that off the cache, which VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 turns off.")),
			cause.Said(cause.Hint, "Free memory moved while vLLM measured itself; versions before 2026 also fail when it did not.", fact.VLLMProfileMoved)},
		cause.HostMemory: {
			cause.Said(cause.Decisive, "swap_space is system RAM, for each GPU, and more than 70 % of what the computer or container has.", fact.VLLMSwapTooLarge),
			cause.Said(cause.Strong, "Signal 9 ended the engine process: usually Linux did that because system RAM ran out.", fact.VLLMKilled),
		},
	},
	Remedies: vllmRemedies,
	Steps:    placed(vllmSteps),
	Effects:  vllmEffects,
	Useless:  vllmUseless,
	Whys:     map[string]func(c *ledger.Case) string{"use_lower_quant": func(*ledger.Case) string { return "" }}, // the cause says it
	Cards:    slices.Concat(engine.VLLMEarlyCards, vllmCards, engine.VLLMBareCards, []cause.Card{parts.CompilerKilled("vllm")}),
}

var (
	noCache      = when.Root(fact.VLLMNoCache)
	noRequest    = when.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall) // the cache holds less than one request of full length
	lacksLength  = when.All(noRequest, when.Not(vllm.MostlyTrial))
	startRefused = when.Root(fact.VLLMFreeTooLow)
	warmUp       = when.Root(fact.VLLMWarmup)
)

var vllmShareTooSmall = figures.First(
	cause.If(when.All(noCache, shareBelow(0.8)), cause.Strong, "After weights and working memory {kv_available} of vLLM's share of the card is left for the KV cache. The share was set to {share}."),
	cause.If(noCache, cause.Fair, "After weights and working memory {kv_available} of vLLM's share of the card is left for the KV cache."),
	cause.If(noCache, cause.Fair, "After weights and working memory nothing of vLLM's share of the card is left for the KV cache."),
	cause.If(noRequest, cause.Decisive, "The size of the cache was fixed by hand (kv_cache_memory_bytes, {kv_cache_memory_bytes}), and the share of the card is ignored then."),
	cause.If(noRequest, cause.Hint, "A larger share of the card would leave more for the cache."),
).Of(fact.VLLMNoCache, fact.VLLMTokens, fact.VLLMCacheTooSmall)

// vllmShareTooLarge: less is free at start than the share asks for, because of
// a desktop or a context, not of another job.
var vllmShareTooLarge = figures.First(
	cause.If(when.Not(takenByJob), cause.Strong, checked+" What is taken already, {taken}, is what a desktop or the contexts of drivers take."),
	cause.If(nil, cause.Hint, checked),
).Of(fact.VLLMFreeTooLow)

const checked = "{desired} of the card is wanted ({utilization}), {room} is free: {short} too little."

var vllmCardTaken = figures.First(
	cause.If(takenByJob, cause.Strong, "{taken} of {total} was in use before vLLM started."),
	cause.If(nil, cause.Hint, "{taken} of {total} was in use before vLLM started."),
).Of(fact.VLLMFreeTooLow)

// vllmOutsideShare: graphs, sampler and requests take memory beside the share.
var vllmOutsideShare = figures.First(append(outsideShare(stage.OnCard),
	cause.If(when.All(warmUp, manySequences), cause.Weak, "The share leaves no room for the sampler's warm-up.| The share is {share} of the card."),
	cause.If(warmUp, cause.Good, "At a usual number of sequences the sampler's warm-up did not fit: weights and cache took nearly all of the card.| The share is {share} of the card."),
	cause.If(serving, cause.Good, "vLLM fills the card up to its share; what is computed did not fit beside it.| The share is {share} of the card."))...)

// vllmContextOverCache: one request of the full length is more than the cache
// holds. A cache of next to nothing is not about the length.
var vllmContextOverCache = figures.First(
	cause.If(nextToNone, cause.Weak, "One request may have {max_model_len} tokens; next to no cache is left."),
	cause.If(hardlyAnyTokens, cause.Weak, "One request may have {max_model_len} tokens; the cache that is left holds {kv_tokens}."),
	cause.If(when.Root(fact.VLLMTokens), cause.Decisive, "One request may have {max_model_len} tokens; the cache that is left holds {kv_tokens}."),
	cause.If(when.All(noRequest, when.Set("kv_cache_memory_bytes", "")), cause.Fair, "The weights fit; what does not is the cache of one single request of {max_model_len} tokens."),
	cause.If(when.Root(fact.VLLMCacheTooSmall), cause.Decisive, "The weights fit; what does not is the cache of one single request of {max_model_len} tokens."),
	cause.If(noRequest, cause.Strong, "One request of the full length is more than the cache that is left holds."),
)

var vllmManySequences = figures.First(
	cause.If(when.All(warmUp, manySequences), cause.Likely, "The warm-up runs {max_num_seqs} sequences at once, each with a row of the whole vocabulary in 32 bit."),
	cause.If(warmUp, cause.Weak, "The sampler's warm-up needs a row of the vocabulary for each sequence."),
	cause.If(when.All(serving, largeTemporary), cause.Good, "One temporary of {requested} after the graphs were made is the size of sequences x vocabulary."),
	cause.If(capturing, cause.Hint, "Graphs are captured for up to max_num_seqs sequences."),
	cause.If(stage.Profiling, cause.Good, "It failed in vLLM's trial run, before the KV cache was allocated: too many tokens or sequences are computed at once beside the weights."),
)

var vllmWeightsFill = figures.First(
	cause.If(weightsAlone, cause.Decisive, "{allocated} of {total} is this process's own and almost nothing of it is unused, as while weights load. vLLM's share of the card has no effect then."),
	cause.If(weightsAlone, cause.Decisive, "It failed while the weights were being loaded; vLLM's share of the card has no effect then."),
	cause.If(hardlyAnyTokens, cause.Good, "Room for {kv_tokens} tokens is no usable cache: the weights take nearly all of the share."),
	cause.If(nextToNone, cause.Good, "Next to nothing is left for the KV cache: what is allocated before it takes nearly all of the share."),
	cause.If(noRequest, cause.Hint, "Smaller weights would leave more for the cache."),
	cause.If(when.All(noCache, when.Not(shareBelow(0.93))), cause.Good, "The share is {share} of the card already and nothing is left beside the weights."),
	cause.If(noCache, cause.Weak, "The weights may take nearly all of the share."),
)

// shareTooLarge: what does not count inside the share found no room, or not even
// the share itself. Lower it.
var shareTooLarge = when.Any(startRefused, warmUp, stage.TakingCache, capturing, serving)

func capturing(c *ledger.Case) bool { return stage.OnCard(c) && c.Phase == "graph_capture" }

// serving: after the cache was taken and the graphs were made: a request, or a
// warm-up with graphs in place. An allocation without any sign of its phase
// counts when the allocator has done work already: loading leaves nothing
// cached.
func serving(c *ledger.Case) bool {
	return stage.OnCard(c) && (c.Phase == "inference" || c.Phase == "warmup" && stage.CacheTaken(c) || c.Phase == "unknown" && !stage.LooksLikeLoad(c))
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
	return stage.LoadingWeights(c) && c.Others.Bytes <= 4*units.GiB
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
		{Fix: "raise_gpu_memory_utilization", Fit: cause.Cures, If: when.All(ledger.ShareTooSmall, when.Not(vllm.MostlyTrial))},
		{Fix: "lower_gpu_memory_utilization", Fit: cause.Cures, If: shareTooLarge},
		{Fix: "lower_context", Fit: cause.Cures, If: lacksLength},
		{Fix: "lower_max_num_seqs", Fit: cause.Helps, If: when.Any(capturing, warmUp, when.Root(fact.VLLMNoCache, fact.VLLMSwapFull, fact.VLLMMamba))},
		{Fix: "quantize_kv_cache", Fit: cause.Helps, If: lacksLength},
		{Fix: "lower_max_batched_tokens", Fit: cause.Helps, If: serving},
		{Fix: "close_other_apps", Fit: cause.Helps, If: when.Any(startRefused, stage.TakingCache)},
		{Fix: "enforce_eager", Fit: cause.Helps, If: capturing},
		{Fix: "lower_max_batched_tokens", Fit: cause.MayHelp, If: when.All(noCache, when.Not(vllm.ShortPrompts))},
		{Fix: "upgrade_version", Fit: cause.MayHelp, If: when.Root(fact.VLLMSwapFull)},
		{Fix: "kill_stale_process", Fit: cause.MayHelp, If: when.All(startRefused, takenByJob)},
		{Fix: "lower_max_num_seqs", Fit: cause.MayHelp, If: serving},
		{Fix: "lower_context", Fit: cause.LastResort, If: when.Any(serving, stage.TakingCache)},
		{Fix: "select_gpu", Fit: cause.LastResort, If: startRefused},
	},
	cause.ContextTooLong: {
		{Fix: "lower_context", Fit: cause.Cures, If: when.Not(vllm.MostlyTrial)},
		{Fix: "quantize_kv_cache", Fit: cause.Cures, If: when.Not(vllm.MostlyTrial)},
		{Fix: "raise_gpu_memory_utilization", Fit: cause.Helps, If: when.Not(vllm.MostlyTrial)},
		{Fix: "multi_gpu", Fit: cause.MayHelp, If: when.Not(vllm.MostlyTrial)},
	},
	cause.BatchTooLarge: {
		{Fix: "lower_max_num_seqs", Fit: cause.Cures, If: when.Any(when.Not(stage.Profiling), sampling)},
		{Fix: "lower_max_batched_tokens", Fit: cause.Cures, If: stage.Profiling},
		{Fix: "raise_gpu_memory_utilization", Fit: cause.Helps, If: when.Root(fact.VLLMMamba)},
		{Fix: "lower_gpu_memory_utilization", Fit: cause.Helps, If: shareTooLarge},
		{Fix: "lower_max_num_seqs", Fit: cause.Helps, If: when.All(stage.Profiling, when.Not(sampling))},
		{Fix: "lower_max_batched_tokens", Fit: cause.MayHelp, If: when.Not(when.Any(stage.Profiling, warmUp, when.Root(fact.VLLMMamba), vllm.ShortPrompts))},
		{Fix: "lower_context", Fit: cause.MayHelp, If: when.Root(fact.VLLMMamba)},
		{Fix: "lower_resolution", Fit: cause.MayHelp, If: when.All(stage.Profiling, seesImages)},
		{Fix: "multi_gpu", Fit: cause.LastResort, If: when.Not(when.Any(when.Root(fact.VLLMMamba), vllm.MostlyTrial))},
		{Fix: "use_lower_quant", Fit: cause.LastResort, If: when.Not(when.Any(when.Root(fact.VLLMMamba, fact.VLLMWarmup), vllm.MostlyTrial))},
	},
	cause.ModelTooLarge: smallerWeights,
	cause.LeakedProcess: {
		{Fix: "kill_stale_process", Fit: cause.Cures},
		{Fix: "restart_session", Fit: cause.Helps, If: when.Root(fact.VLLMProfileMoved)},
		{Fix: "lower_gpu_memory_utilization", Fit: cause.Helps, If: startRefused},
		{Fix: "select_gpu", Fit: cause.Helps},
		{Fix: "close_other_apps", Fit: cause.LastResort},
	},
	cause.OversizedAllocation: {
		{Fix: "enable_flash_attention", Fit: cause.Cures},
		{Fix: "lower_resolution", Fit: cause.Cures, If: seesImages},
		{Fix: "upgrade_version", Fit: cause.MayHelp},
	},
	cause.SoftwareBug:   serverBug,
	cause.Fragmentation: inPieces,
	cause.HostMemory: {
		{Fix: "lower_swap_space", Fit: cause.Cures, If: when.Root(fact.VLLMSwapTooLarge)},
		{Fix: "raise_memory_limit", Fit: cause.Cures},
		{Fix: "lower_num_workers", Fit: cause.MayHelp},
		{Fix: "add_swap", Fit: cause.LastResort},
	},
}
