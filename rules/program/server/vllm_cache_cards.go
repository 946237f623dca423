package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// vllmCacheCards are about the checks of the KV cache.
var vllmCacheCards = []cause.Card{
	{
		ID: "vllm/cache-mamba", Kinds: []fact.Kind{fact.VLLMMamba},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: mambaFigures,
		Headline: "did not start: fewer state blocks fit than max_num_seqs asks for",
		Means:    "This is a hybrid model (Mamba or linear attention): each running sequence needs one state block of fixed size, and the memory that is left holds [[{mamba} of them for {seqs} sequences]][[{fewer_than} than max_num_seqs]]. It is the number of requests, not their length. The default of 256, on large cards 1024, is far above what one user needs.",
		Not:      "`--max-model-len`: these states do not grow with the length.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Allow as many sequences as there are blocks", "Nothing is lost below that many requests at a time; more wait. {where}", "more requests wait"),
			added("raise_gpu_memory_utilization", "Or give the cache a larger share", "From {default}, 0.05 more is {five}.", "less for everything else on the card"),
			words("use_lower_quant", "Or load smaller weights", "{fewer_bits}", "slight loss of quality"),
		},
		Sources: []string{"vllm/config/compilation.py", vllmThreads + "pull/38270"},
	},
	{
		ID: "vllm/cache-fixed", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Set("kv_cache_memory_bytes", ""),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: fixedFigures,
		Headline: "did not start: the cache that was fixed by hand is [[{short} ]]too small",
		Means:    "`kv_cache_memory_bytes` fixes the cache[[ at {room}, and one request of {tokens} tokens needs {asked}]]. vLLM takes the number as it is and measures nothing, so the share of the card changes nothing, although the message recommends it. This is not a full card.",
		Not:      "`--gpu-memory-utilization`, up or down: it does not count beside a fixed cache.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Fix a little more, or let vLLM measure", Told: "[[{more_gib} holds {tokens} tokens with room to spare; nothing checks that it fits beside the weights (`Model loading took`) and working memory. ]]Left out, vLLM measures, and the cache takes all that they leave of its share. Instead of the number you pass now:", Kind: "config", Text: "--kv-cache-memory-bytes {more}", Cost: "that much less for the rest"},
			added("lower_context", "Or accept slightly shorter requests", "{fit} tokens fit what is fixed, by the two figures; the end of vLLM's message names the exact limit.", "longer prompts are refused"),
			added("quantize_kv_cache", "Or an 8-bit cache", "[[{half} instead of {asked}, ]]if it is 16 bit now and the attention backend of this card has it.", "slight loss"),
		},
		Sources: []string{"vllm/config/cache.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-offload-plan", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Fact("overhead_measured"),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: planFigures,
		Headline: "did not start: its plan for the experts left the KV cache [[{short} ]]too small",
		Means:    "This build plans which experts stay on the card from a figure for run-time overhead: {planned_overhead}, and {measured_overhead} was measured. What is over comes out of the cache[[, which lacks {short}]] for one request[[ of {tokens} tokens]]. The weights of that plan fit; its reckoning was off.",
		Not:      "`--gpu-memory-utilization` by itself: the plan may give what it wins to experts.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Plan for more overhead, or leave more experts in system memory", Told: "The setting is this build's own: give it the measured {measured_overhead} and a little more, or one expert layer less on the card.", Cost: "slightly slower"},
			added("lower_context", "Or accept shorter requests", "[[{fit} tokens leave {margin} for what varies. ]]{where}", "longer prompts are refused"),
			added("quantize_kv_cache", "Or an 8-bit cache", "[[{half} instead of {asked}, ]]if it is 16 bit now.", "slight loss"),
			{Fix: "upgrade_version", Title: "And a newer image", Told: "If the build is not your own: the planner's figure is its bug to mend.", Cost: "an update to test"},
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/cache-next-to-none", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: nextToNone,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: next to nothing is left for its KV cache",
		Means:    "Of the {asked} that one request of {tokens} tokens needs, {room} is left[[: {limit_tokens} tokens, which serves nobody]]. So it is not the length but what stands before the cache: weights[[ ({weights})]], a draft model of speculative decoding if you use one, the trial run, or another program on the card.",
		Not:      "A shorter context or an 8-bit cache alone: of next to nothing either leaves next to nothing.",
		Cures: []cause.Cure{
			words("use_lower_quant", "Take out or shrink what stands before the cache", "Start without the draft model (`--speculative-config`), if you have one. Then smaller weights: an AWQ, GPTQ or FP8 checkpoint of the same model (its name with that ending on huggingface.co).", "speed, or slight loss of quality"),
			{Fix: "raise_gpu_memory_utilization", Title: "Or give vLLM more of the card", If: shareLeft, Told: "{short} is lacking; 0.05 more is {five}. Only where nothing else needs the card, and `nvidia-smi` shows it empty before.", Steps: func(c *ledger.Case) []step.Step { return spelled(c, "raise_gpu_memory_utilization") }, Cost: "little left for graphs"},
			added("multi_gpu", "Or split it over twice the cards", "Each then holds half of the weights.", "needs them"),
			{Fix: "lower_max_batched_tokens", Title: "Or make the trial run smaller", Told: "It takes its part before the cache does.", Steps: vllmServer.Sets(launch.To("max_num_batched_tokens", "2048"), launch.To("max_num_seqs", "16"), chunks), Cost: "slower long prompts, more requests wait"},
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-share", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: enoughCard,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Figures: vllmFigures,
		Means: "The weights fit; the context does not. vLLM reserves for the longest request it would accept, even if none comes[[, here {per_token} per token]]. The share is {from}, and the card has more: {needed} would be enough for the full length.",
		Not:   "`--max-num-seqs`: the check is for one request.",
		Cures: []cause.Cure{
			added("lower_context", "Accept shorter requests", "{fit} tokens leave {margin} for what varies from start to start[[ (vLLM's own limit here: {limit_tokens})]]. {where}", "longer prompts are refused"),
			added("raise_gpu_memory_utilization", "Or keep {tokens} and raise the share", "0.05 more is {five}; {short} is lacking. Only where nothing else needs the card.", "little left for graphs and other programs"),
			as("quantize_kv_cache", "Or keep the cache at 8 bit", "slight loss; not on every attention backend"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-length", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.All(when.Not(enoughCard), halfFits),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Means: "The weights fit[[ ({weights})]]; the context does not.[[ {no_length}]] vLLM reserves for the longest request it would accept, even if none comes[[, here {per_token} per token]].",
		Not:   "`--max-num-seqs`: the check is for one request.",
		Cures: []cause.Cure{
			added("lower_context", "Accept shorter requests", "{fit} tokens leave {margin} for what varies from start to start[[ (vLLM's own limit here: {limit_tokens})]]; take less if your prompts are shorter. {where}", "longer prompts are refused"),
			added("quantize_kv_cache", "Or keep {tokens} with an 8-bit cache", "{half} of the {room}, if it is 16 bit now; one such request at a time. Not every card and attention backend has it.", "slight loss"),
			moreShare,
			added("multi_gpu", "Or use twice the cards", "Each then holds half of the weights and half of the cache, if the model has attention heads enough.", "needs them"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-far", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.Not(enoughCard),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Means: "The weights fit[[ ({weights})]]; the context does not, by far.[[ {no_length}]] vLLM reserves for the longest request it would accept, even if none comes[[, here {per_token} per token]].",
		Not:   "An 8-bit cache alone[[ ({half} for this length)]],[[ {no_share},]] `--max-num-seqs` (the check is for one request).",
		Cures: []cause.Cure{
			added("lower_context", "Accept shorter requests", "{fit} tokens leave {margin} for what varies from start to start[[ (vLLM's own limit here: {limit_tokens})]]. {where}", "longer prompts are refused"),
			{Fix: "quantize_kv_cache", Title: "More tokens: an 8-bit cache with it", Told: "About twice as many fit, {fit_eight}. Not every card and attention backend has it.", Steps: shorterInEight, Cost: "slight loss"},
			{Fix: "use_lower_quant", Title: "Or make room", If: notQuantised, Told: "An AWQ, GPTQ or FP8 checkpoint of the same model (search its name with that ending on huggingface.co) leaves to the cache what the weights shrink by. With a second card `--tensor-parallel-size 2` halves both.", Cost: "slight loss of quality, or a card"},
			moreShare,
			added("multi_gpu", "Or use twice the cards", "Each then holds half of the weights and half of the cache.", "needs them"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-hardly-any", Kinds: []fact.Kind{fact.VLLMTokens}, If: hardlyAnyTokens,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "did not start: only {held} tokens of KV cache are left",
		Means:    "After weights and working memory the cache holds {held} tokens, which serves nobody. It is not the length of {tokens} but what stands before the cache: weights that fill the share, or a share that is small. The share is {default} unless you set it.",
		Not:      "`--max-model-len` alone: it would have to be {held}.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
			added("raise_gpu_memory_utilization", "Or a larger share, if it is below 0.9", "0.05 more is {five}. Look with `nvidia-smi` whether the card is empty before.", "less for everything else on the card"),
			added("multi_gpu", "Or split it over more cards", "Each holds half of the weights.", "needs them"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens-far", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.All(when.Not(hardlyAnyTokens), when.Not(halfFits), tokensKnown),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its KV cache holds {held} tokens, one request may have {tokens}",
		Means:    "The model itself fits; a request of {tokens} tokens is {times} times what the cache holds.[[ {no_length}]] vLLM refuses to start where one request of the longest length that it would accept is larger than the cache, even if none is ever that long.",
		Not:      "A larger share alone: so much it does not add. `--max-num-seqs`: the check is for one request.",
		Cures: []cause.Cure{
			added("lower_context", "Accept shorter requests", "{fit} tokens leave {margin} for what varies from start to start; take what you need, shorter leaves room for more requests at a time. {where}", "prompt and answer together are limited to that"),
			{Fix: "quantize_kv_cache", Title: "Twice as long: an 8-bit cache with it", Told: "It holds {held_eight} tokens. Not every card and attention backend has it.", Steps: shorterInEight, Cost: "slight loss"},
			words("use_lower_quant", "Still longer: make room", "4-bit weights (AWQ, GPTQ) instead of 16-bit ones, or a second card with `--tensor-parallel-size 2`.", "slight loss of quality, or a card"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.Not(hardlyAnyTokens),
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its KV cache[[ of {held} tokens]] is smaller than one request[[ of {tokens}]]",
		Means:    "The model itself fits.[[ {lacking} tokens of cache are lacking, {lack} at {per_token} per token.]][[ The trial run took {trial} beside the weights, because prompts are computed whole here: in chunks most of that goes to the cache.]][[ {lacking} tokens of cache are lacking: {small_token} for a current 8B model (128 KiB per token), {large_token} for a Llama 2 7B (512 KiB).]] vLLM refuses to start where one request of the longest length that it would accept is larger than the cache, even if none is ever that long.",
		Not:      "`--max-num-seqs`: the check is for one request.",
		Cures: []cause.Cure{
			{Fix: "chunked_prefill", Title: "Compute prompts in chunks, and keep {tokens}", If: wholeTrial, Told: "The trial run then takes 2048 tokens at a time instead of {tokens}, and most of its {trial} goes to the cache, which lacks {lack}. {where}", Steps: vllmServer.Sets(launch.To("max_num_batched_tokens", "2048"), chunks), Cost: "long prompts are slightly slower"},
			added("lower_context", "Accept shorter requests", "[[{fit} tokens leave {margin} for what varies from start to start (the limit now: {held}). ]][[{fit_half} is a first try: the log does not say how many fit. ]]{where}", "prompt and answer together are limited to that"),
			added("raise_gpu_memory_utilization", "Or give vLLM more of the card", "0.05 more is {five}; with `--enforce-eager` beside it no CUDA graphs need the rest. Only if `nvidia-smi` shows the card empty before.", "little reserve; slower with eager"),
			{Fix: "quantize_kv_cache", Title: "Or an 8-bit cache", Told: "[[{held_eight} tokens instead of {held}. ]]Not every card and attention backend has it.", Steps: func(c *ledger.Case) []step.Step { return spelled(c, "quantize_kv_cache") }, Cost: "slight loss"},
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-graph-estimate", Kinds: []fact.Kind{fact.VLLMNoCache}, If: absurdGraphs,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: its estimate for CUDA graphs took the whole cache",
		Means:    "vLLM estimated [[{graphs} ]]for its CUDA graphs, where 0.2 to 3 GiB is usual, and took that off the cache. The estimate is wrong; the card is not too small.",
		Not:      "A larger share: the estimate takes it away again.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Turn the estimate off", Kind: "env", Text: "export VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", Cost: "graphs may then need a little of the rest"},
			as("enforce_eager", "Or run without CUDA graphs", "slower tokens"),
			added("lower_max_num_seqs", "Or capture fewer graphs", "They are made for up to that many sequences.", "more requests wait"),
		},
		Sources: []string{"vllm/envs.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-none-share", Kinds: []fact.Kind{fact.VLLMNoCache}, If: shareBelow(0.8),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: its share of {share} leaves nothing for the KV cache",
		Means:    "vLLM may use {share} of the card[[, {share_gib},]] and weights and the working memory of its trial run take all of that[[: {weights} are weights]]. The rest of the card stays unused by it.",
		Not:      "A shorter context: it is the share that leaves nothing, at any length.",
		Cures: []cause.Cure{
			added("raise_gpu_memory_utilization", "Raise vLLM's share of the card", "If the card is for vLLM alone; else as far as the other program allows. {where}", "less for everything else on the card"),
			words("use_lower_quant", "Or load smaller weights", "{fewer_bits}", "slight loss of quality"),
			smallerTrial,
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", vllmThreads + "issues/2248"},
	},
	{
		ID: "vllm/cache-none-weights", Kinds: []fact.Kind{fact.VLLMNoCache}, If: weightsFillShare,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: noCacheFigures,
		Headline: "did not start: the weights leave nothing for the KV cache",
		Means:    "The weights take {weights} on each card[[ of the {share_gib} that a share of {share} is]][[ ({weights%} of it all)]], and the working memory of one trial run the rest. The cache, which comes last, gets nothing.",
		Not:      "A shorter context: at any length nothing is left.",
		Cures: []cause.Cure{
			words("use_lower_quant", "Load smaller weights of the same model", "{fewer_bits} 4 bit takes a little over a quarter of 16 bit.", "slight loss of quality"),
			added("multi_gpu", "Or split them over more cards", "Each then holds {weights_half}.", "needs them"),
			added("cpu_offload", "Or keep a part in system memory", "For each card and in GiB; every token reads it over the bus. A share of 0.95 adds {five}, if that is what is missing.", "much slower"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/offload.py"},
	},
	{
		ID: "vllm/cache-none-versions", Kinds: []fact.Kind{fact.VLLMNoCache}, Said: []string{"determine_num_available_blocks", "worker/worker.py", "worker/gpu_executor.py", "executor/gpu_executor.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Figures: noCacheFigures,
		Headline: "did not start: nothing of its share is left for the KV cache",
		Means:    "Weights and one trial run took all of vLLM's share of the card ({default} unless set). This older engine (V0) runs as many tokens as the context is long, so a long default length eats the cache too; before 0.9 other programs on the card count as its own as well. Which it was, `Model loading took` and `nvidia-smi` tell.",
		Not:      "A smaller share: it leaves even less.",
		Cures: []cause.Cure{
			flags("lower_context", "Set the length that you need", "The trial run shrinks with it. {where}", "longer prompts are refused", option("max_model_len", "8192")),
			added("raise_gpu_memory_utilization", "Give vLLM a larger share", "0.05 more is {five}. Only on a card that is otherwise empty.", "less for everything else on the card"),
			words("use_lower_quant", "Or load smaller weights", "If they take four fifths of the card: an AWQ or GPTQ checkpoint, or a second card with `--tensor-parallel-size 2`.", "slight loss of quality"),
		},
		Sources: []string{"vllm/worker/worker.py", vllmThreads + "issues/2248", vllmThreads + "pull/18974"},
	},
	{
		ID: "vllm/cache-none", Kinds: []fact.Kind{fact.VLLMNoCache}, Figures: noCacheFigures,
		Headline: "did not start: nothing of its share is left for the KV cache",
		Means:    "vLLM takes its share of the card ({default} unless set), loads the weights, runs one trial batch, and what remains is the cache: here nothing[[, {lacking} less than nothing]]. The line `Model loading took … GiB` above[[ ({weights})]] tells which part is too large: near four fifths of the card it is the weights, far below that the trial run or a small share.",
		Not:      "A shorter `--max-model-len` by itself: the check fails before the length counts.",
		Cures: []cause.Cure{
			added("raise_gpu_memory_utilization", "Share below 0.9, or the card otherwise empty: raise it", "0.05 more is {five}[[; {lacking} and a cache is what is missing]]. {where}", "less for everything else on the card"),
			smallerTrial,
			words("use_lower_quant", "Weights near the card's size: smaller ones", "An AWQ, GPTQ or FP8 checkpoint (search the model's name with that ending on huggingface.co), `--tensor-parallel-size 2` with a second card, or `--cpu-offload-gb 4` (slow).", "slight loss of quality"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py", vllmThreads + "issues/2248", vllmThreads + "issues/14992"},
	},
}

// smallerTrial cures a trial run that takes what the cache should have.
var smallerTrial = flags("lower_max_num_seqs", "Make the trial run smaller", "It computes this many tokens and sequences at once; models that see images also take fewer of them (`--limit-mm-per-prompt`).", "long prompts and many users are slower", option("max_num_seqs", "32"), option("max_num_batched_tokens", "2048"))
