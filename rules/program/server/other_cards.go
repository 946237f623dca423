package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const sglangDocs = "docs/advanced_features/hyperparameter_tuning.md"

// sglangCards are SGLang's: the static share has a direction.
var sglangCards = []cause.Card{
	{
		ID: "sglang/static", Kinds: []fact.Kind{fact.SGLangStatic},
		Cause: cause.BudgetMisconfigured, Weight: 0.65,
		Means: "SGLang's static share is for weights and KV pool together, and the weights took all of it: nothing is left for the pool. That is why it asks for more, not less; only if the share is near 0.9 already are the weights too large.",
		Not:   "A lower `--mem-fraction-static`, the usual advice for running out later: it makes this worse.",
		Cures: []cause.Cure{
			as("raise_mem_fraction", "Raise the static share", "less for graphs and requests"),
			as("use_lower_quant", "Or load smaller weights", "slight loss of quality"),
			as("multi_gpu", "Or split it over more cards", "needs them"),
		},
		Sources: []string{"python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py", sglangDocs, "https://github.com/sgl-project/sglang-omni/pull/292"},
	},
	{
		ID: "sglang/state", Kinds: []fact.Kind{fact.SGLangState},
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means: "A hybrid model keeps a state for each running request beside the KV pool, and the static share leaves no room for so many.",
		Not:   "`--context-length`: these states do not grow with it.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Run fewer requests at a time", "others wait"),
			as("raise_mem_fraction", "Raise the static share", "less for graphs and requests"),
		},
		Sources: []string{"python/sglang/srt/mem_cache/memory_pool.py"},
	},
	{
		ID: "sglang/unbalanced", Kinds: []fact.Kind{fact.SGLangUnbalanced},
		Cause: cause.LeakedProcess, Weight: 0.75,
		Means: "Before it loads, SGLang compares the free memory of the cards, and one has far less than the others: another process is on it, often a worker of an earlier start, or that card is smaller.",
		Cures: []cause.Cure{
			typed("kill_stale_process", "See what is on that card; end what is yours", "nvidia-smi   # end what is yours with: kill PID", "free"),
			as("select_gpu", "Or leave that card out", "fewer cards"),
		},
		Sources: []string{"python/sglang/srt/model_executor/model_runner.py"},
	},
	{
		ID: "sglang/tokens", Kinds: []fact.Kind{fact.SGLangTokens},
		Cause: cause.BatchTooLarge, Weight: 0.65,
		Means: "The token pool, not the card's memory as such, had no room for the next step of all running requests. SGLang took in more than it could finish, as it guesses how long answers will be.",
		Not:   "A lower `--mem-fraction-static`: it makes the pool smaller.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Run fewer requests at a time", "others wait"),
			tell("lower_parallel", "Let it take in requests more carefully", "Start it with `--schedule-conservativeness 1.3`: it then expects longer answers.", "lower throughput"),
			as("raise_mem_fraction", "Or a larger pool", "less for graphs and requests"),
		},
		Sources: []string{sglangDocs},
	},
	{
		ID: "sglang/load", Kinds: onCard, Phases: []string{"load"}, If: sglangOnCard,
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "It failed while SGLang loaded the weights: {mine} of {total} is its own, and more layers were to come. The static share counts only afterwards.",
		Not:   "`--mem-fraction-static`, `--context-length`: neither counts while weights load.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
			as("multi_gpu", "Split it over more cards", "needs them"),
			as("cpu_offload", "Keep a part in system memory", "much slower"),
		},
		Sources: []string{"python/sglang/srt/model_loader/loader.py"},
	},
	{
		ID: "sglang/graphs", Kinds: onCard, Phases: []string{"graph_capture"}, If: sglangOnCard,
		Cause: cause.BudgetMisconfigured, Weight: 0.85,
		Means: "Weights and KV pool took the static share; capturing CUDA graphs for large batches found no room in the rest. Graphs of 160 to 512 requests need some GB each rank.",
		Not:   "A higher `--mem-fraction-static`: it leaves the graphs less.",
		Cures: []cause.Cure{
			as("lower_mem_fraction", "Lower the static share", "a smaller KV pool"),
			tell("enforce_eager", "Capture graphs for smaller batches only", "Start it with `--cuda-graph-max-bs 16` (since June 2026 `--cuda-graph-max-bs-decode 16`); `--disable-cuda-graph` makes none.", "larger batches run slower"),
		},
		Sources: []string{sglangDocs, "https://github.com/sgl-project/sglang/pull/5634", "https://github.com/sgl-project/sglang/pull/5893"}, Solved: 2,
	},
	{
		ID: "sglang/pool", Kinds: onCard, Phases: []string{"kv_cache"}, If: sglangOnCard,
		Cause: cause.BudgetMisconfigured, Weight: 0.75,
		Means: "The KV pool was sized by the static share, and the card no longer had that much when it was taken: another process, or other ranks on the same card.",
		Cures: []cause.Cure{
			as("lower_mem_fraction", "Lower the static share", "a smaller KV pool"),
			typed("close_other_apps", "See who else is on the card", "nvidia-smi", "free"),
		},
		Sources: []string{"python/sglang/srt/mem_cache/memory_pool.py"},
	},
	{
		ID: "sglang/prefill", Kinds: onCard, Said: []string{"in forward_extend"}, Phases: []string{"inference"}, If: sglangOnCard,
		Cause: cause.BudgetMisconfigured, Weight: 0.78,
		Means: "It failed while a prompt was read: a chunk of prompts needed {asked} beside weights and pool, and {room} was left. SGLang's guide keeps 5 to 8 GB free for that.",
		Not:   "A shorter `--context-length`: a chunk has the same size at any length.",
		Cures: []cause.Cure{
			as("lower_max_batched_tokens", "Read prompts in smaller chunks", "slower long prompts"),
			as("lower_mem_fraction", "Lower the static share", "a smaller KV pool"),
		},
		Sources: []string{sglangDocs},
	},
	{
		ID: "sglang/decode", Kinds: onCard, Phases: []string{"inference"}, If: sglangOnCard,
		Cause: cause.BudgetMisconfigured, Weight: 0.7,
		Means: "It failed while requests ran: {asked} was needed beside weights, pool and graphs, and {room} was left. The static share keeps the rest of the card too small for this load.",
		Cures: []cause.Cure{
			as("lower_mem_fraction", "Lower the static share", "a smaller KV pool"),
			as("lower_max_num_seqs", "Run fewer requests at a time", "others wait"),
			as("lower_max_batched_tokens", "Read prompts in smaller chunks", "slower long prompts"),
		},
		Sources: []string{sglangDocs},
	},
}

// inTGI: an allocation on the card under TGI.
func inTGI(c *ledger.Case) bool { return c.In("tgi") && c.Root(onCard...) }

const tgiIssues = "https://github.com/huggingface/text-generation-inference/issues/"

var tgiCards = []cause.Card{
	{
		ID: "tgi/warmup", Kinds: []fact.Kind{fact.TGIWarmup}, If: func(c *ledger.Case) bool { return !tgiTiny(c) },
		Cause: cause.BatchTooLarge, Weight: 0.6,
		Means: "At start TGI runs the largest prompt batch that the settings allow, and that failed. Several versions put this sentence on any error of the warm-up, so look whether a traceback above it names another one.",
		Not:   "A lower number of concurrent requests: the warm-up follows the tokens.",
		Cures: []cause.Cure{
			as("lower_max_batched_tokens", "Lower the prefill tokens", "longer prompts are refused"),
			as("use_lower_quant", "Or quantise the weights", "slight loss of quality"),
			as("multi_gpu", "Or split it over more cards", "needs them"),
		},
		Sources: []string{"server/text_generation_server/models/flash_causal_lm.py", "launcher/src/main.rs", tgiIssues + "1067"},
	},
	{
		ID: "tgi/load", Kinds: onCard, Phases: []string{"load"}, If: inTGI,
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "It failed while TGI loaded the weights: {mine} of {total} is its own already, and more was to come. Token limits count only afterwards.",
		Not:   "`--max-batch-prefill-tokens`, `--max-total-tokens`: nothing was computed yet.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Quantise the weights", "slight loss of quality"),
			as("multi_gpu", "Split it over more cards", "needs them"),
			as("use_smaller_model", "Or use a smaller model", "lower quality"),
		},
		Sources: []string{"server/text_generation_server/models/__init__.py"},
	},
	{
		ID: "tgi/request", Kinds: onCard, Phases: []string{"inference"}, If: inTGI,
		Cause: cause.BudgetMisconfigured, Weight: 0.7,
		Means: "The warm-up passed, and a real request found no room: after it TGI gives nearly all that is left to the cache, and a prompt near the limit can need more than the warm-up's.",
		Cures: []cause.Cure{
			tell("lower_mem_fraction", "Leave TGI's cache less of the card", "Start it with `--cuda-memory-fraction 0.9` (1.0 is the default).", "fewer tokens at a time"),
			as("lower_max_batched_tokens", "Lower the prefill tokens", "longer prompts are refused"),
		},
		Sources: []string{"launcher/src/main.rs", tgiIssues + "2744", tgiIssues + "2083"},
	},
}

var trtCards = []cause.Card{
	{
		ID: "tensorrt-llm/cache-short", Kinds: []fact.Kind{fact.TRTCacheTooSmall},
		Cause: cause.ContextTooLong, Weight: 0.6,
		Means: "The engine is in place; what is left for the KV cache holds less than one sequence of the full length. Either the length is more than you need, or something else left the cache too little.",
		Not:   "A smaller batch: the check is for one sequence.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Accept shorter sequences", Kind: "text", Text: "Start `trtllm-serve` with `--max_seq_len 8192`; an engine of the older `trtllm-build` has to be built again with a smaller `--max_seq_len`.", Cost: "longer requests are refused"},
			as("raise_mem_fraction", "Give the cache more of what is free", "less for everything else"),
		},
		Sources: []string{"tensorrt_llm/commands/serve.py", "cpp/tensorrt_llm/batch_manager"},
	},
	{
		ID: "tensorrt-llm/runtime", Kinds: []fact.Kind{fact.TRTRuntime},
		Cause: cause.BatchTooLarge, Weight: 0.45,
		Means: "TensorRT-LLM's runtime was refused memory and names no size. Buffers follow the batch size and tokens of the engine; the cache takes nine tenths of what is free after it. Which it was, the log does not say.",
		Cures: []cause.Cure{
			as("lower_batch_size", "Smaller batches", "lower throughput"),
			{Fix: "lower_mem_fraction", Title: "Give the cache less of what is free", Kind: "text", Text: "Start `trtllm-serve` with `--free_gpu_memory_fraction 0.7` (0.9 is the default); in Triton `kv_cache_free_gpu_mem_fraction` in config.pbtxt.", Cost: "fewer requests at a time"},
		},
		Sources: []string{"tensorrt_llm/commands/serve.py", "cpp/tensorrt_llm/runtime"},
	},
}

var lmdeployCards = []cause.Card{
	{
		ID: "lmdeploy/no-cache", Kinds: []fact.Kind{fact.LMDeployCache},
		Cause: cause.ModelTooLarge, Weight: 0.55,
		Means: "After the weights LMDeploy's PyTorch engine found no room for its cache. The share it may take is of what is left, so that a larger share helps little: weights or prefill buffers leave nothing.",
		Cures: []cause.Cure{
			tell("lower_max_batched_tokens", "Smaller prefill buffers", "Start it with `--max-prefill-token-num 2048` (8192 is the default).", "slower long prompts"),
			as("use_lower_quant", "Or load 4-bit weights", "slight loss of quality"),
			as("multi_gpu", "Or split it over more cards", "needs them"),
		},
		Sources: []string{"lmdeploy/pytorch/engine/executor/base.py", "lmdeploy/cli/utils.py"},
	},
	{
		ID: "lmdeploy/turbomind", Kinds: []fact.Kind{fact.TurboMind}, If: func(c *ledger.Case) bool { return !shareBelow(0.31)(c) && c.Failure.Stage != "weights" },
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means: "TurboMind was refused memory and names no size. Its cache takes 0.8 of what is free after the weights, and what comes later, buffers of requests or a vision model, finds too little. LMDeploy's own guide names that share.",
		Cures: []cause.Cure{
			as("lower_mem_fraction", "Give the cache a smaller share", "fewer tokens at a time"),
			as("lower_context", "Accept shorter sessions", "longer ones are refused"),
			as("lower_batch_size", "Or fewer requests at a time", "others wait"),
		},
		Sources: []string{"lmdeploy/docs/en/faq.md", "lmdeploy/messages.py"},
	},
}
