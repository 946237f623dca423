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
		Headline: "did not start: fewer state blocks fit than max_num_seqs asks for",
		Means:    "This is a hybrid model (Mamba or linear attention): each running sequence needs one state block of fixed size, and the free memory holds [[{mamba} of them for {seqs} sequences]][[{fewer_than} than max_num_seqs]]. The number of requests counts here, not their length. The default is 256, on large cards 1024; one user needs far fewer.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "Nothing changes until more requests than that run at once. {where}", "more requests wait"),
			added("raise_gpu_memory_utilization", "Or raise `gpu_memory_utilization`", "The default is {default}; 0.05 more is {five}.", "less for everything else on the card"),
			vllm.Words("use_lower_quant", "Or load smaller weights", "{fewer_bits}", "slight loss of quality"),
		},
		Sources: []string{"vllm/config/compilation.py", vllmThreads + "pull/38270"},
	},
	{
		ID: "vllm/cache-fixed", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Set("kv_cache_memory_bytes", ""),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: fixedFigures,
		Headline: "did not start: the KV cache size that was set by hand is [[{short} ]]too small",
		Means:    "`kv_cache_memory_bytes` sets the cache size[[ to {room}, and one request of {tokens} tokens needs {asked}]]. vLLM uses that number as it is, so the share of the card has no effect, although the message recommends to raise it. The card need not be full.",
		Not:      "`--gpu-memory-utilization`, up or down: beside `kv_cache_memory_bytes` it has no effect.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Raise or remove `--kv-cache-memory-bytes`", Told: "[[{more_gib} holds {tokens} tokens with room to spare; nothing checks that it fits beside weights (`Model loading took`) and activations. ]]Without the option vLLM measures and gives the cache what is left of its share. In place of your value:", Kind: "config", Text: "--kv-cache-memory-bytes {more}", Cost: "that much less for the rest"},
			added("lower_context", "Or lower the context length: `max_model_len`", "By the two figures {fit} tokens fit; the end of vLLM's message names the exact limit.", "longer prompts are refused"),
			added("quantize_kv_cache", "Or use an 8-bit KV cache", "[[{half} instead of {asked}, ]]if it is 16 bit now and this card's attention backend supports it.", "slight loss"),
		},
		Sources: []string{"vllm/config/cache.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-offload-plan", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Fact("overhead_measured"),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: planFigures,
		Headline: "did not start: its plan for the experts left the KV cache [[{short} ]]too small",
		Means:    "This build decides which experts stay on the card by a planned run-time overhead of {planned_overhead}; {measured_overhead} was measured. The difference comes out of the KV cache[[, which is {short} too small]] for one request[[ of {tokens} tokens]].",
		Not:      "`--gpu-memory-utilization` alone: the plan may give the extra memory to experts.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Plan for more overhead, or keep more experts in system memory", Told: "The setting is this build's own: set slightly more than the measured {measured_overhead}, or keep one expert layer less on the card.", Cost: "slightly slower"},
			added("lower_context", "Or lower the context length: `max_model_len`", "[[{fit} tokens fit with {margin} to spare. ]]{where}", "longer prompts are refused"),
			added("quantize_kv_cache", "Or use an 8-bit KV cache", "[[{half} instead of {asked}, ]]if it is 16 bit now.", "slight loss"),
			{Fix: "upgrade_version", Title: "Or take a newer image", Told: "If the build is not your own, report the planner's figure to its authors.", Cost: "an update to test"},
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/cache-next-to-none", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: nextToNone,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: next to nothing is left for its KV cache",
		Means:    "One request of {tokens} tokens needs {asked}, and {room} is left for the KV cache[[: {limit_tokens} tokens, hardly enough to be useful]]. What is allocated before the cache takes too much: weights[[ ({weights})]], a draft model of speculative decoding if you use one, the trial run, or another program on the card.",
		Not:      "An 8-bit cache alone: twice of next to nothing.",
		Cures: []cause.Cure{
			vllm.Given(when.All(shareBelow(0.88), shareCloses), added("raise_gpu_memory_utilization", "Raise `gpu_memory_utilization`, which is {share}", "{short} is missing. Only if nothing else uses the card (`nvidia-smi`).", "less for other programs")),
			vllm.Words("use_lower_quant", "Load smaller weights of the same model", "{fewer_bits} With speculative decoding, first start without `--speculative-config`: the draft model takes part of the share too.", "slight loss of quality"),
			{Fix: "raise_gpu_memory_utilization", Title: "Or raise `gpu_memory_utilization`", If: when.All(shareLeft, shareCloses, when.Not(shareBelow(0.88))), Told: "{short} is missing; 0.05 more is {five}. Only if nothing else uses the card (`nvidia-smi`).", Steps: func(c *ledger.Case) []step.Step { return spelled(c, "raise_gpu_memory_utilization") }, Cost: "little left for graphs"},
			vllm.Given(func(c *ledger.Case) bool { return fittingLength(c) >= 512 }, added("lower_context", "Or, if {fit} tokens do for you, lower `max_model_len`", "Prompt and answer together are limited to that.", "longer ones are refused")),
			added("multi_gpu", "Or split the model over twice as many cards", "Each then holds half of the weights.", "needs more cards"),
			{Fix: "lower_max_batched_tokens", Title: "Or shrink the trial run", Told: "Its memory is subtracted before the cache is sized.", Steps: vllm.Server.Sets(launch.AtMost("max_num_batched_tokens", 2048), launch.AtMost("max_num_seqs", 16), vllm.Chunks), Cost: "slower long prompts, more requests wait"},
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-share", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: enoughCard,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Figures: vllmFigures,
		Means: "The weights fit; the context does not. vLLM starts only if one request of the full length fits in the KV cache, even if none ever comes[[ (here {per_token} per token)]]. The share is {from}, and the card has more: {needed} is enough for the full length.",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare[[ (vLLM's own limit here: {limit_tokens})]]. {where}", "longer prompts are refused"),
			added("raise_gpu_memory_utilization", "Or keep {tokens} tokens and raise `gpu_memory_utilization`", "{short} is missing; 0.05 more is {five}. Only if nothing else uses the card.", "little left for graphs and other programs"),
			as("quantize_kv_cache", "Or use an 8-bit KV cache", "slight loss; not on every attention backend"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-length", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.All(when.Not(enoughCard), halfFits),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: processorFigures,
		Means: "The weights fit[[ ({weights})]]; the context does not.[[ {no_length}]] vLLM starts only if one request of the full length fits in the KV cache, even if none ever comes[[ (here {per_token} per token)]].",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare[[ (vLLM's own limit here: {limit_tokens})]]; take less if your prompts are shorter. {where}", "longer prompts are refused"),
			perhapsProcessor,
			added("quantize_kv_cache", "Or keep {tokens} tokens with an 8-bit KV cache", "One such request then takes {half} of the {room}, if the cache is 16 bit now. Not every card and attention backend supports it.", "slight loss"),
			moreShare,
			added("multi_gpu", "Or use twice as many cards", "Each then holds half of the weights and, if the model has enough attention heads, half of the cache.", "needs more cards"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-far", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.Not(enoughCard),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: processorFigures,
		Means: "The weights fit[[ ({weights})]]; the context does not, by far.[[ {no_length}]] vLLM starts only if one request of the full length fits in the KV cache, even if none ever comes[[ (here {per_token} per token)]].",
		Not:   "An 8-bit cache alone[[ ({half} for this length)]][[, or {no_share}]].",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare[[ (vLLM's own limit here: {limit_tokens})]]. {where}", "longer prompts are refused"),
			perhapsProcessor,
			{Fix: "quantize_kv_cache", Title: "For more tokens, use an 8-bit KV cache as well", Told: "About twice as many fit, {fit_eight}. Not every card and attention backend supports it.", Steps: shorterInEight, Cost: "slight loss"},
			{Fix: "use_lower_quant", Title: "Or load smaller weights", If: notQuantised, Told: "{fewer_bits} The cache gets what the weights shrink by. With twice the cards `--tensor-parallel-size {twice}` halves both.", Cost: "slight loss of quality, or a card"},
			moreShare,
			added("multi_gpu", "Or use twice as many cards", "Each then holds half of the weights and half of the cache.", "needs more cards"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-hardly-any", Kinds: []fact.Kind{fact.VLLMTokens}, If: hardlyAnyTokens,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "did not start: only {held} tokens of KV cache are left",
		Means:    "After weights and trial run the KV cache holds {held} tokens, too few to be useful. What is allocated before the cache takes too much, usually weights that fill the share, or the share is small. It is {default} unless you set it.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
			added("raise_gpu_memory_utilization", "Or, if it is below 0.9, raise `gpu_memory_utilization`", "0.05 more is {five}. Check with `nvidia-smi` that the card is empty before the start.", "less for everything else on the card"),
			added("multi_gpu", "Or split it over more cards", "Each then holds half of the weights.", "needs more cards"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens-far", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.All(when.Not(hardlyAnyTokens), when.Not(halfFits), tokensKnown),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its KV cache holds {held} tokens, one request may have {tokens}",
		Means:    "The model itself fits; a request of {tokens} tokens is {times} times what the cache holds.[[ {no_length}]] vLLM starts only if one request of the full length fits in the KV cache, even if none ever comes.",
		Cures: []cause.Cure{
			added("lower_context", "Lower the context length: `max_model_len`", "{fit} tokens fit with {margin} to spare; a shorter length leaves room for more requests at once. {where}", "prompt and answer together are limited to that"),
			{Fix: "quantize_kv_cache", Title: "For twice the length, use an 8-bit KV cache as well", Told: "It holds {held_eight} tokens. Not every card and attention backend supports it.", Steps: shorterInEight, Cost: "slight loss"},
			vllm.Given(when.All(shareLeft, func(c *ledger.Case) bool { return c.Reader.Work != "text-training" }), added("raise_gpu_memory_utilization", "Or raise `gpu_memory_utilization`", "0.05 more is {five}; 1 GiB is about 8,000 tokens of a current 8B model, 2,000 of a Llama 2 7B. Only if the card is empty before the start (`nvidia-smi`).", "little reserve")),
			vllm.Words("use_lower_quant", "For still more, load smaller weights", "{fewer_bits} Or take twice the cards with `--tensor-parallel-size {twice}`.", "slight loss of quality, or a card"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.Not(hardlyAnyTokens),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its KV cache[[ of {held} tokens]] is smaller than one request[[ of {tokens}]]",
		Means:    "The model itself fits.[[ {lacking} tokens of cache are missing, {lack} at {per_token} per token.]][[ The trial run took {trial} beside the weights, because prompts are computed whole here: in chunks most of that goes to the cache.]] vLLM starts only if one request of the full length fits in the KV cache, even if none ever comes.",
		Cures: []cause.Cure{
			{Fix: "chunked_prefill", Title: "Turn on chunked prefill, and keep {tokens} tokens", If: wholeTrial, Told: "The trial run then takes 2048 tokens at a time instead of {tokens}, and most of its {trial} goes to the cache, which needs {lack} more. {where}", Steps: vllm.Server.Sets(launch.To("max_num_batched_tokens", "2048"), vllm.Chunks), Cost: "long prompts are slightly slower"},
			added("lower_context", "Lower the context length: `max_model_len`", "[[{fit} tokens fit with {margin} to spare (the limit now: {held}). ]][[{fit_half} is a first try: the log does not say how many fit. ]]{where}", "prompt and answer together are limited to that"),
			added("raise_gpu_memory_utilization", "Or raise `gpu_memory_utilization`", "0.05 more is {five}. With `--enforce-eager` as well, no CUDA graphs need the rest. Only if the card is empty before the start (`nvidia-smi`).", "little reserve; slower with eager"),
			{Fix: "quantize_kv_cache", Title: "Or use an 8-bit KV cache", Told: "[[{held_eight} tokens instead of {held}. ]]Not every card and attention backend supports it.", Steps: func(c *ledger.Case) []step.Step { return spelled(c, "quantize_kv_cache") }, Cost: "slight loss"},
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-graph-estimate", Kinds: []fact.Kind{fact.VLLMNoCache}, If: absurdGraphs,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: its estimate for CUDA graphs took the whole cache",
		Means:    "vLLM estimated [[{graphs} ]]for its CUDA graphs, where 0.2 to 3 GiB is usual, and subtracted that from the KV cache. The estimate is almost certainly wrong.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Turn off the CUDA graph estimate", Kind: "env", Text: "export VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", Cost: "graphs then take memory outside the share"},
			as("enforce_eager", "Or run without CUDA graphs", "slower tokens"),
			added("lower_max_num_seqs", "Or capture fewer graphs: `max_num_seqs`", "Graphs are captured for up to that many sequences.", "more requests wait"),
		},
		Sources: []string{"vllm/envs.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-none-share", Kinds: []fact.Kind{fact.VLLMNoCache}, If: shareBelow(0.8),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: its share of {share} leaves nothing for the KV cache",
		Means:    "vLLM may use {share} of the card[[, {share_gib}]]. After weights[[ ({weights})]] and the activations of its trial run nothing of that is left.[[ By the model's name the weights are about {named}.]] It does not use the rest of the card.[[ {counts_others}]]",
		Cures: []cause.Cure{
			added("raise_gpu_memory_utilization", "Raise `gpu_memory_utilization`", "If other programs use the card too, only as far as they allow. {where}", "less for everything else on the card"),
			vllm.Words("use_lower_quant", "Or load smaller weights", "{fewer_bits}", "slight loss of quality"),
			smallerTrial,
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", vllmThreads + "issues/2248"},
	},
	{
		ID: "vllm/cache-none-weights", Kinds: []fact.Kind{fact.VLLMNoCache}, If: weightsFillShare,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: the weights leave nothing for the KV cache",
		Means:    "The weights take {weights} on each card[[ of the {share_gib} that a share of {share} is]][[ ({weights%} of it all)]], and the activations of one trial run take the rest. The KV cache comes last and gets nothing.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load smaller weights of the same model", "{fewer_bits} 4 bit is a little over a quarter of 16 bit.", "slight loss of quality"),
			added("multi_gpu", "Or split them over more cards", "Each then holds {weights_half}.", "needs more cards"),
			added("cpu_offload", "Or keep a part in system memory", "The value is GiB per card; every token reads that part over the bus. If little is missing, raise `gpu_memory_utilization` instead: 0.05 more is {five}.", "much slower"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/offload.py"},
	},
	{
		ID: "vllm/cache-none-far", Kinds: []fact.Kind{fact.VLLMNoCache}, If: when.All(farFromShare, when.Not(shareBelow(0.8)), when.Not(seesImages)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: weights and trial run take {lacking} more than its share",
		Means:    "The weights take {weights}, and with one trial run that is {lacking} more than vLLM's share ({a_share}), before any KV cache. If the trial run took the usual 1 to 2 GiB, this is a card of about {likely_card}, and the weights are too large for it.",
		Not:      "`--gpu-memory-utilization` alone: 0.05 more is {gain} at most. A shorter context alone: it frees no weights.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load smaller weights of the same model", "{fewer_bits}", "slight loss of quality"),
			vllm.Flags("lower_max_batched_tokens", "Or, if the card is much larger, shrink the trial run", "It computes this many tokens and sequences at once.", "long prompts and many users are slower", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "16")),
			added("multi_gpu", "Or split the model over more cards", "Each then holds {weights_half} of weights.", "needs more cards"),
			added("cpu_offload", "Or keep a part in system memory", "The value is GiB per card; every token reads that part over the bus.", "much slower"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	vllm.FirstNone,
	{
		ID: "vllm/cache-none-versions", Kinds: []fact.Kind{fact.VLLMNoCache}, Said: []string{"determine_num_available_blocks", "worker/worker.py", "worker/gpu_executor.py", "executor/gpu_executor.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Figures: noCacheFigures,
		Headline: "did not start: nothing of its share is left for the KV cache",
		Means:    "Weights and one trial run took all of vLLM's share of the card ({default} unless set). The trial run of this older engine (V0) has as many tokens as the context is long, so a long default length also takes cache. Before 0.9 vLLM counts other programs on the card as its own. `Model loading took` and `nvidia-smi` show which it is.",
		Not:      "A smaller share: it leaves even less.",
		Cures: []cause.Cure{
			vllm.Flags("lower_context", "Lower `max_model_len` to what you need", "The trial run shrinks with it. {where}", "longer prompts are refused", vllm.Option("max_model_len", "8192")),
			added("raise_gpu_memory_utilization", "Raise `gpu_memory_utilization`", "0.05 more is {five}. Only on a card that is otherwise empty.", "less for everything else on the card"),
			vllm.Words("use_lower_quant", "If the weights take most of the card, load smaller ones", "{fewer_bits} Or take twice the cards with `--tensor-parallel-size {twice}`.", "slight loss of quality"),
		},
		Sources: []string{"vllm/worker/worker.py", vllmThreads + "issues/2248", vllmThreads + "pull/18974"},
	},
	{
		ID: "vllm/cache-none", Kinds: []fact.Kind{fact.VLLMNoCache}, Figures: noCacheFigures,
		Headline: "did not start: nothing of its share is left for the KV cache",
		Means:    "vLLM may use its share of the card ({default} unless set): it loads the weights, runs one trial batch, and the KV cache gets what remains, here nothing[[ ({lacking} is missing)]].[[ {light}]][[ {which}]][[ By the model's name the weights are about {named}.]]",
		Cures: []cause.Cure{
			added("raise_gpu_memory_utilization", "If the card is otherwise empty, raise `gpu_memory_utilization`", "0.05 more is {five}[[; {lacking} and the cache are missing]]. {where}", "less for everything else on the card"),
			vllm.Given(when.Not(vllm.Light), smallerTrial),
			vllm.Given(when.Not(vllm.Light), vllm.Words("use_lower_quant", "If the weights nearly fill the card, load smaller ones", "{fewer_bits} Or `--tensor-parallel-size {twice}` with twice the cards, or `--cpu-offload-gb 4` (slow).", "slight loss of quality")),
			vllm.Given(vllm.Light, vllm.Words("use_lower_quant", "Or load smaller weights of the same model", "{fewer_bits} On Ascend a W8A8 checkpoint (made by ModelSlim, with `--quantization ascend`).", "slight loss of quality")),
			vllm.Given(vllm.Light, added("multi_gpu", "Or split them over two cards", "Each then holds {weights_half}.", "needs a second card")),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py", vllmThreads + "issues/2248", vllmThreads + "issues/14992"},
	},
}

// smallerTrial cures a trial run that takes what the cache should have.
var smallerTrial = vllm.Flags("lower_max_num_seqs", "Shrink the trial run", "It computes this many tokens and sequences at once. For models that read images also lower `--limit-mm-per-prompt`.", "long prompts and many users are slower", vllm.Option("max_num_seqs", "32"), vllm.Option("max_num_batched_tokens", "2048"))
