package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// vllmCacheCards are about the checks of the KV cache.
var vllmCacheCards = []cause.Card{
	{
		ID: "vllm/cache-mamba", Kinds: []fact.Kind{fact.VLLMMamba},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: mambaFigures,
		Headline: "did not start: `max_num_seqs` allows more requests than fit in GPU memory",
		Means:    "This is a hybrid model (Mamba or linear attention). Each running request needs one state block of fixed size, and there are [[only {mamba} for {seqs} requests]][[{fewer_than} than max_num_seqs]]. The length of the requests does not matter. One user needs far fewer than the default (256, or 1024 on large GPUs).",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "This changes nothing until more requests than that run at once. {where}", "more requests wait"),
			added("raise_gpu_memory_utilization", "Or raise `gpu_memory_utilization`", "The default is {default}; 0.05 more is {five}.", "less for other programs"),
			vllm.Words("use_lower_quant", "Or load smaller weights", "{fewer_bits}", "slight loss of quality"),
		},
		Sources: []string{"vllm/config/compilation.py", vllmThreads + "pull/38270"},
	},
	{
		ID: "vllm/cache-fixed", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Set("kv_cache_memory_bytes", ""),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: fixedFigures,
		Headline: "did not start: the KV cache size that was set by hand is [[{short} ]]too small",
		Means:    "`kv_cache_memory_bytes` fixes the size of the KV cache[[ at {room}]], and one request of full length needs more. vLLM then ignores `gpu_memory_utilization`, although the message suggests raising it. The GPU need not be full.",
		Not:      "`--gpu-memory-utilization`: it has no effect together with `kv_cache_memory_bytes`.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Remove `--kv-cache-memory-bytes`, or raise it", Told: "Without it, vLLM measures what is free.[[ Or set {more_gib}, which holds {tokens} tokens; vLLM does not check that this fits beside the weights:]]", Kind: "config", Text: "--kv-cache-memory-bytes {more}", Cost: "less for the rest"},
			added("lower_context", "Or lower the context length: `max_model_len`", "By these figures {fit} tokens fit; the end of vLLM's message names the exact limit.", "longer prompts are refused"),
			vllm.Given(vllm.HalfTooLarge, added("quantize_kv_cache", "With that, use an 8-bit KV cache", "Alone it is not enough: {half} of {room}. About twice as many tokens fit if the cache is 16 bit now and your GPU's attention backend supports it.", "slight loss")),
			vllm.Given(when.Not(vllm.HalfTooLarge), added("quantize_kv_cache", "Or use an 8-bit KV cache", "[[{half} instead of {asked}, ]]if the cache is 16 bit now and your GPU's attention backend supports it.", "slight loss")),
		},
		Sources: []string{"vllm/config/cache.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-offload-plan", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Fact("overhead_measured"),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: planFigures,
		Headline: "did not start: its plan for the experts left the KV cache [[{short} ]]too small",
		Means:    "This build decides how many experts stay on the GPU from a planned overhead of {planned_overhead}. It measured {measured_overhead}. The difference is missing for the KV cache.",
		Not:      "`--gpu-memory-utilization` alone: the plan may give the extra memory to experts.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Plan for more overhead, or keep fewer experts on the GPU", Told: "This is a setting of your build: set slightly more than the measured {measured_overhead}, or move one more expert layer to system RAM.", Cost: "slightly slower"},
			added("lower_context", "Or lower the context length: `max_model_len`", "[[{fit} tokens fit with {margin} to spare. ]]{where}", "longer prompts are refused"),
			vllm.Given(when.Not(vllm.HalfTooLarge), added("quantize_kv_cache", "Or use an 8-bit KV cache", "[[{half} instead of {asked}, ]]if the cache is 16 bit now.", "slight loss")),
			{Fix: "upgrade_version", Title: "Or use a newer image", Told: "If the build is not yours, report these two figures to its authors.", Cost: "an update to test"},
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/cache-next-to-none", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: nextToNone,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: almost nothing is left for its KV cache",
		Means:    "Only {room} is left for the KV cache[[, or {limit_tokens} tokens]]. Something before it takes too much: the weights[[ ({weights})]], a draft model for speculative decoding, the trial run, or another program on the GPU.",
		Not:      "An 8-bit KV cache alone: twice almost nothing is not enough.",
		Cures: []cause.Cure{
			vllm.Given(when.All(shareBelow(0.88), shareCloses), added("raise_gpu_memory_utilization", "Raise `gpu_memory_utilization`, which is {share}", "{short} is missing. Do this only if nothing else uses the GPU (`nvidia-smi`).", "less for other programs")),
			vllm.Words("use_lower_quant", "Load a smaller version of the model", "{fewer_bits} If you use speculative decoding, first start without `--speculative-config`: the draft model takes memory too.", "slight loss of quality"),
			{Fix: "raise_gpu_memory_utilization", Title: "Or raise `gpu_memory_utilization`", If: when.All(shareLeft, shareCloses, when.Not(shareBelow(0.88))), Told: "{short} is missing; 0.05 more is {five}. Do this only if nothing else uses the GPU (`nvidia-smi`).", Steps: func(c *ledger.Case) []step.Step { return spelled(c, "raise_gpu_memory_utilization") }, Cost: "little left for graphs"},
			vllm.Given(func(c *ledger.Case) bool { return fittingLength(c) >= 512 }, added("lower_context", "Or, if {fit} tokens are enough for you, lower `max_model_len`", "That is the limit for prompt and answer together.", "longer requests are refused")),
			added("multi_gpu", "Or split the model over twice as many GPUs", "Each then holds half of the weights.", "needs more GPUs"),
			{Fix: "lower_max_batched_tokens", Title: "Or make the trial run smaller", Told: "vLLM subtracts its memory before it sizes the cache.", Steps: vllm.Server.Sets(launch.AtMost("max_num_batched_tokens", 2048), launch.AtMost("max_num_seqs", 16), vllm.Chunks), Cost: "slower long prompts, more requests wait"},
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-share", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: enoughCard,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Figures: vllmFigures,
		Means: "The weights fit, but the context does not. vLLM starts only if one request of full length fits in the KV cache, even if you never send one. vLLM may use {from} of the GPU here; {needed} would be enough for the full length.",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare[[ (vLLM's own limit here: {limit_tokens})]]. {where}", "longer prompts are refused"),
			added("raise_gpu_memory_utilization", "Or keep {tokens} tokens and raise `gpu_memory_utilization`", "0.05 more is {five}. Do this only if nothing else uses the GPU.", "little left for CUDA graphs and other programs"),
			as("quantize_kv_cache", "Or use an 8-bit KV cache", "slight loss; not on every attention backend"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-length", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.All(when.Not(enoughCard), halfFits),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: processorFigures,
		Means: "The weights fit[[ ({weights})]], but the context does not.[[ {no_length}]] vLLM starts only if one request of full length fits in the KV cache, even if you never send one.",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare[[ (vLLM's own limit here: {limit_tokens})]]. Take less if your prompts are shorter. {where}", "longer prompts are refused"),
			perhapsProcessor,
			added("quantize_kv_cache", "Or keep {tokens} tokens with an 8-bit KV cache", "One such request then needs {half} of the {room}, if the cache is 16 bit now. Not every GPU and attention backend supports it.", "slight loss"),
			moreShare,
			added("multi_gpu", "Or use twice as many GPUs", "Each then holds half of the weights and usually half of the cache.", "needs more GPUs"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-far", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.Not(enoughCard),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: processorFigures,
		Means: "The weights fit[[ ({weights})]], but the context is far too long for this GPU.[[ {no_length}]] vLLM starts only if one request of full length fits in the KV cache, even if you never send one.",
		Not:   "An 8-bit KV cache alone[[: {half} for this length]][[, or {no_share}]].",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare[[ (vLLM's own limit here: {limit_tokens})]]. {where}", "longer prompts are refused"),
			perhapsProcessor,
			{Fix: "quantize_kv_cache", Title: "For more tokens, use an 8-bit KV cache as well", Told: "About twice as many tokens fit: {fit_eight}. Not every GPU and attention backend supports it.", Steps: shorterInEight, Cost: "slight loss"},
			{Fix: "use_lower_quant", Title: "Or load smaller weights", If: notQuantised, Told: "{fewer_bits} What the weights no longer take goes to the KV cache. Twice as many GPUs (`--tensor-parallel-size {twice}`) do the same.", Cost: "slight loss of quality, or more GPUs"},
			moreShare,
			added("multi_gpu", "Or use twice as many GPUs", "Each then holds half of the weights and usually half of the cache.", "needs more GPUs"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-hardly-any", Kinds: []fact.Kind{fact.VLLMTokens}, If: hardlyAnyTokens,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "did not start: only {held} tokens of KV cache are left",
		Means:    "After the weights and the trial run, almost no memory is left for the KV cache. Usually the weights are too large for this GPU, or `gpu_memory_utilization` is low ({default} unless you set it).",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
			added("raise_gpu_memory_utilization", "Or, if it is below 0.9, raise `gpu_memory_utilization`", "0.05 more is {five}. Check with `nvidia-smi` that the GPU is empty before the start.", "less for other programs"),
			added("multi_gpu", "Or split it over more GPUs", "Each then holds half of the weights.", "needs more GPUs"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens-far", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.All(when.Not(hardlyAnyTokens), when.Not(halfFits), tokensKnown),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its KV cache holds {held} tokens, but one request may have {tokens}",
		Means:    "The model itself fits, but the context is {times} times what the cache holds.[[ {no_length}]] vLLM starts only if one request of full length fits in the KV cache, even if you never send one.",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare. A shorter length leaves room for more requests at once. {where}", "prompt and answer together are limited to that"),
			{Fix: "quantize_kv_cache", Title: "For twice the length, use an 8-bit KV cache as well", Told: "It holds {held_eight} tokens. Not every GPU and attention backend supports it.", Steps: shorterInEight, Cost: "slight loss"},
			vllm.Given(when.All(shareLeft, func(c *ledger.Case) bool { return c.Reader.Work != "text-training" }), added("raise_gpu_memory_utilization", "Or raise `gpu_memory_utilization`", "0.05 more is {five}. Do this only if the GPU is empty before the start (`nvidia-smi`).", "little left for CUDA graphs")),
			vllm.Words("use_lower_quant", "For even more tokens, load smaller weights", "{fewer_bits} Or use twice as many GPUs: `--tensor-parallel-size {twice}`.", "slight loss of quality, or more GPUs"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.Not(hardlyAnyTokens),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its KV cache[[ of {held} tokens]] is smaller than one request[[ of {tokens}]]",
		Means:    "The model itself fits.[[ The cache lacks {lacking} tokens: {lack} at {per_token} per token.]][[ The trial run took {trial} beside the weights, because this version computes whole prompts at once.]] vLLM starts only if one request of full length fits in the KV cache, even if you never send one.",
		Cures: []cause.Cure{
			{Fix: "chunked_prefill", Title: "Turn on chunked prefill, and keep {tokens} tokens", If: wholeTrial, Told: "The trial run then takes 2048 tokens at a time instead of {tokens}. Most of its {trial} goes to the cache, which needs only {lack} more. {where}", Steps: vllm.Server.Sets(launch.To("max_num_batched_tokens", "2048"), vllm.Chunks), Cost: "long prompts are slightly slower"},
			added("lower_context", "Lower the context length: `max_model_len`", "[[{fit} tokens fit with {margin} to spare (the limit is {held}). ]][[Try {fit_half} first: the log does not say how many fit. ]]{where}", "prompt and answer together are limited to that"),
			added("raise_gpu_memory_utilization", "Or raise `gpu_memory_utilization`", "0.05 more is {five}. Do this only if the GPU is empty before the start (`nvidia-smi`). If CUDA graphs then do not fit, add `--enforce-eager`.", "little left for CUDA graphs"),
			{Fix: "quantize_kv_cache", Title: "Or use an 8-bit KV cache", Told: "[[It holds {held_eight} tokens instead of {held}. ]]Not every GPU and attention backend supports it.", Steps: func(c *ledger.Case) []step.Step { return spelled(c, "quantize_kv_cache") }, Cost: "slight loss"},
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-graph-estimate", Kinds: []fact.Kind{fact.VLLMNoCache}, If: absurdGraphs,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: it reserved too much for CUDA graphs, and nothing was left for the KV cache",
		Means:    "vLLM estimated [[{graphs} ]]for its CUDA graphs and subtracted that from the KV cache. They usually need 0.2 to 3 GiB, so the estimate is almost certainly wrong.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Turn off the CUDA graph estimate", Kind: "env", Text: "export VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", Cost: "free"},
			as("enforce_eager", "Or run without CUDA graphs", "slower tokens"),
			added("lower_max_num_seqs", "Or capture fewer graphs: `max_num_seqs`", "vLLM captures graphs for up to that many requests.", "more requests wait"),
		},
		Sources: []string{"vllm/envs.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-none-share", Kinds: []fact.Kind{fact.VLLMNoCache}, If: shareBelow(0.8),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: it may use only {share} of the GPU, and nothing is left for the KV cache",
		Means:    "`gpu_memory_utilization` is {share}[[, here {share_gib}]]. The weights[[ ({weights})]] and the trial run use all of that.[[ By the model's name the weights are about {named}.]] vLLM does not touch the rest of the GPU.[[ {counts_others}]]",
		Cures: []cause.Cure{
			added("raise_gpu_memory_utilization", "Raise `gpu_memory_utilization`", "If other programs use the GPU too, leave enough for them. {where}", "less for other programs"),
			vllm.Words("use_lower_quant", "Or load smaller weights", "{fewer_bits}", "slight loss of quality"),
			smallerTrial,
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", vllmThreads + "issues/2248"},
	},
	{
		ID: "vllm/cache-none-weights", Kinds: []fact.Kind{fact.VLLMNoCache}, If: weightsFillShare,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: the weights leave nothing for the KV cache",
		Means:    "The weights take {weights} on each GPU[[ of the {share_gib} that vLLM may use]]. The trial run takes the rest, and the KV cache gets nothing.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load a smaller version of the model", "{fewer_bits} 4 bit is a little over a quarter of 16 bit.", "slight loss of quality"),
			added("multi_gpu", "Or split them over more GPUs", "Each then holds {weights_half}.", "needs more GPUs"),
			added("cpu_offload", "Or keep a part in system RAM", "In GiB per GPU; every token then reads that part over the slow bus. If little is missing, raise `gpu_memory_utilization` instead: 0.05 more is {five}.", "much slower"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/offload.py"},
	},
	{
		ID: "vllm/cache-none-far", Kinds: []fact.Kind{fact.VLLMNoCache}, If: when.All(farFromShare, when.Not(shareBelow(0.8)), when.Not(seesImages)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: weights and trial run need {lacking} more than vLLM may use",
		Means:    "The weights take {weights}. Together with the trial run that is {lacking} more than vLLM's share of the GPU ({a_share}). If the trial run took the usual 1 to 2 GiB, this is a GPU with about {likely_card}, and the weights are too large for it.",
		Not:      "`--gpu-memory-utilization` alone: 0.05 more is {gain} at most. A shorter context alone: it does not shrink the weights.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load a smaller version of the model", "{fewer_bits}", "slight loss of quality"),
			vllm.Flags("lower_max_batched_tokens", "Or, if the GPU is much larger, make the trial run smaller", "These limits set how much it computes at once.", "long prompts and many users are slower", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "16")),
			added("multi_gpu", "Or split the model over more GPUs", "Each then holds {weights_half} of weights.", "needs more GPUs"),
			added("cpu_offload", "Or keep a part in system RAM", "In GiB per GPU; every token then reads that part over the slow bus.", "much slower"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	vllm.FirstNone,
	{
		ID: "vllm/cache-none-versions", Kinds: []fact.Kind{fact.VLLMNoCache}, Said: []string{"determine_num_available_blocks", "worker/worker.py", "worker/gpu_executor.py", "executor/gpu_executor.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Figures: noCacheFigures,
		Headline: "did not start: nothing of its share is left for the KV cache",
		Means:    "The weights and the trial run took all of vLLM's share of the GPU ({default} by default). In this older engine (V0) the trial run is as long as the context, so a long context takes much. Before 0.9 vLLM also counts other programs on the GPU as its own.",
		Not:      "A smaller share: it leaves even less.",
		Cures: []cause.Cure{
			vllm.Flags("lower_context", "Lower `max_model_len` to what you need", "The trial run shrinks with it. {where}", "longer prompts are refused", vllm.Option("max_model_len", "8192")),
			added("raise_gpu_memory_utilization", "Raise `gpu_memory_utilization`", "0.05 more is {five}. Do this only if nothing else uses the GPU (`nvidia-smi`).", "less for other programs"),
			vllm.Words("use_lower_quant", "If the weights take most of the GPU, load smaller ones", "The line `Model loading took` shows their size. {fewer_bits} Or use twice as many GPUs: `--tensor-parallel-size {twice}`.", "slight loss of quality"),
		},
		Sources: []string{"vllm/worker/worker.py", vllmThreads + "issues/2248", vllmThreads + "pull/18974"},
	},
	{
		ID: "vllm/cache-none", Kinds: []fact.Kind{fact.VLLMNoCache}, Figures: noCacheFigures,
		Headline: "did not start: nothing of its share is left for the KV cache",
		Means:    "vLLM may use a share of the GPU ({default} by default). It loads the weights, runs one trial batch, and uses the rest for the KV cache. Here nothing is left[[: {lacking} is missing]].[[ {light}]][[ {which}]][[ By the model's name the weights are about {named}.]]",
		Cures: []cause.Cure{
			added("raise_gpu_memory_utilization", "If nothing else uses the GPU, raise `gpu_memory_utilization`", "0.05 more is {five}[[; {lacking} is missing, and the KV cache on top]]. {where}", "less for other programs"),
			vllm.Given(when.Not(vllm.Light), smallerTrial),
			vllm.Given(when.Not(vllm.Light), vllm.Words("use_lower_quant", "If the weights nearly fill the GPU, load smaller ones", "{fewer_bits} Or split them over twice as many GPUs: `--tensor-parallel-size {twice}`.", "slight loss of quality")),
			vllm.Given(vllm.Light, vllm.Words("use_lower_quant", "Or load a smaller version of the model", "{fewer_bits} On Ascend use a W8A8 checkpoint (made by ModelSlim, with `--quantization ascend`).", "slight loss of quality")),
			vllm.Given(vllm.Light, added("multi_gpu", "Or split it over two GPUs", "Each then holds {weights_half}.", "needs a second GPU")),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py", vllmThreads + "issues/2248", vllmThreads + "issues/14992"},
	},
}

// smallerTrial cures a trial run that takes what the cache should have.
var smallerTrial = vllm.Flags("lower_max_num_seqs", "Make the trial run smaller", "These limits set how much it computes at once. For models that read images also lower `--limit-mm-per-prompt`.", "long prompts and many users are slower", vllm.Option("max_num_seqs", "32"), vllm.Option("max_num_batched_tokens", "2048"))
