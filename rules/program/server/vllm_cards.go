package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const vllmThreads = "https://github.com/vllm-project/vllm/"

// vllmCards are vLLM's: its checks at start, then allocations by what was done.
var vllmCards = slices.Concat(vllmCheckCards, vllmCacheCards, vllmLoadCards, vllmRunCards)

// vllmCheckCards are about refusals before anything is loaded, and kills.
var vllmCheckCards = []cause.Card{
	{
		ID: "vllm/free-unified", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, Said: []string{"GB10", "DGX Spark", "Jetson", "Thor", "GH200", "unified memory"},
		Cause: cause.BudgetMisconfigured, Weight: 0.75,
		Means: "This machine has one memory for processor and graphics, and several vLLM versions count the file cache in it as taken: {room} of {total} looks free, {asked} is wanted. Files read before, such as the weights, are likely what fills it.",
		Not:   "A shorter context: the check runs before weights and cache.",
		Cures: []cause.Cure{
			typed("restart_session", "Drop the file cache, then start at once", "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches", "free; files are read again"),
			as("lower_gpu_memory_utilization", "Ask for a smaller share of the memory", "a smaller KV cache"),
			as("upgrade_version", "Update vLLM: this check was mended in 2026", "flags may have changed"),
		},
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/48140", "https://github.com/NVIDIA/xr-ai/pull/440"}, Solved: 1,
	},
	{
		ID: "vllm/free-full", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.All(takenByJob, hardlyFree),
		Cause: cause.LeakedProcess, Weight: 0.9,
		Means: "vLLM asks for its whole share before it loads: {asked} of {total}, and finds {room}. Most of the card is taken: by another server, or by workers of an earlier start that have not ended.",
		Not:   "A smaller `--gpu-memory-utilization`: what is free now would hardly hold the weights.",
		Cures: []cause.Cure{
			typed("kill_stale_process", "See what holds the card; end what is yours", "nvidia-smi   # look for VLLM::EngineCore, VLLM::Worker or python of an earlier start; end it with: kill PID", "free"),
			as("select_gpu", "Or use another card", "only where there is one"),
		},
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135"},
	},
	{
		ID: "vllm/free-job", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: takenByJob,
		Cause: cause.LeakedProcess, Weight: 0.85,
		Means: "vLLM asks for its whole share before it loads: {asked} of {total}, and finds {room}. That much is no desktop. It is another server, or workers of an earlier start that have not ended.",
		Not:   "`--max-model-len` or `--max-num-seqs`: this check comes before either counts.",
		Cures: []cause.Cure{
			typed("kill_stale_process", "See what holds the card; end what is yours", "nvidia-smi   # look for VLLM::EngineCore, VLLM::Worker or python of an earlier start; end it with: kill PID", "free"),
			as("lower_gpu_memory_utilization", "Or share the card: a smaller share", "a smaller KV cache"),
			as("select_gpu", "Or use another card", "only where there is one"),
		},
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135", vllmThreads + "issues/20305"},
	},
	{
		ID: "vllm/free-desktop", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.Not(takenByJob),
		Cause: cause.BudgetMisconfigured, Weight: 0.88,
		Means: "vLLM asks for {asked} of {total} before it loads and finds {room}: {short} too little. What is missing is the size of a desktop, a driver context or WSL's own part, so the share is what does not fit.",
		Not:   "`wsl --shutdown` or a reboot: WSL and a desktop take the same again.",
		Cures: []cause.Cure{
			as("lower_gpu_memory_utilization", "Lower the share to what is free", "a slightly smaller KV cache"),
			as("close_other_apps", "Or close what uses the card", "free; comes back with the next desktop program"),
		},
		Sources: []string{"vllm/v1/worker/utils.py", "https://github.com/Alex8791-cyber/cognithor/pull/318"}, Solved: 1,
	},
	{
		ID: "vllm/profile-moved", Kinds: []fact.Kind{fact.VLLMProfileMoved},
		Cause: cause.LeakedProcess, Weight: 0.65,
		Means: "vLLM measures its own use by what becomes less on the card, and while it measured there became more: another process let go of memory just then, as a rule one that was still ending.",
		Not:   "A larger or smaller share: the measurement failed, not the amount.",
		Cures: []cause.Cure{
			as("restart_session", "Wait until the card is quiet, start again", "a minute"),
			as("kill_stale_process", "End what else starts and stops on this card", "depends on what it is"),
			as("upgrade_version", "Update vLLM", "flags may have changed"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/swap-too-large", Kinds: []fact.Kind{fact.VLLMSwapTooLarge},
		Cause: cause.HostMemory, Weight: 0.95,
		Means: "No card is involved. `swap_space` is system memory, counted once for each card of `--tensor-parallel-size`: {asked} in all, more than 70 % of the RAM this machine or container has.",
		Not:   "A smaller model or share of the card: neither changes this sum.",
		Cures: []cause.Cure{
			as("lower_swap_space", "Set the swap space to 0", "preempted requests are computed again"),
			as("raise_memory_limit", "Or give the container more memory", "only if the machine has it"),
		},
		Sources: []string{"vllm/config/cache.py", vllmThreads + "pull/1090"},
	},
	{
		ID: "vllm/swap-full", Kinds: []fact.Kind{fact.VLLMSwapFull},
		Cause: cause.BudgetMisconfigured, Weight: 0.75,
		Means: "A V0 engine (to 0.10) ran out of cache blocks on the card, moved requests to its swap pool in system memory, and that pool was full too. Beam search and n > 1 do that.",
		Not:   "Swap of the operating system: this pool is vLLM's own.",
		Cures: []cause.Cure{
			as("raise_gpu_memory_utilization", "Give the cache a larger share", "less for everything else on the card"),
			as("lower_max_num_seqs", "Run fewer sequences at a time", "lower throughput"),
			tell("upgrade_version", "Update vLLM", "Versions with the V1 engine have no swap pool: they compute preempted requests again. `pip install -U vllm`", "flags may have changed"),
		},
		Sources: []string{"vllm/core/scheduler.py", "https://github.com/verl-project/verl/pull/960"},
	},
	{
		ID: "vllm/killed", Kinds: []fact.Kind{fact.VLLMKilled},
		Cause: cause.HostMemory, Weight: 0.85,
		Means: "The engine process got signal 9, which no Python error does: as a rule the kernel's out-of-memory killer, or a container's limit. System memory ran out, likely while weights were read or packed, not the card's.",
		Not:   "`--gpu-memory-utilization`: it is about the card.",
		Cures: []cause.Cure{
			typed("raise_memory_limit", "Look who was killed, then raise the limit", "sudo dmesg -T | grep -i 'killed process'   # in a container also: docker inspect CONTAINER, OOMKilled (CONTAINER: its name or number)", "only if the machine has the memory"),
			tell("lower_num_workers", "Read fewer parts at once", "Each rank of `--tensor-parallel-size` reads the checkpoint itself; fewer ranks, or `--load-format safetensors` instead of `.bin` files, need less at a time.", "a slower start"),
			as("add_swap", "Add swap", "a slow start"),
		},
		Sources: []string{"vllm/v1/engine/utils.py", "https://github.com/wtdcode/vllm-backport/issues/68"},
	},
}

// vllmCacheCards are about the checks of the KV cache.
var vllmCacheCards = []cause.Card{
	{
		ID: "vllm/cache-mamba", Kinds: []fact.Kind{fact.VLLMMamba},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "A hybrid model keeps one state block for each running sequence, and the memory that is left holds fewer blocks than `max_num_seqs` asks for. It is the number of requests, not their length.",
		Not:   "`--max-model-len`: these states do not grow with the length.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Allow as many sequences as there are blocks", "more requests wait"),
			as("raise_gpu_memory_utilization", "Give the cache a larger share", "less for everything else on the card"),
		},
		Sources: []string{"vllm/config/compilation.py"},
	},
	{
		ID: "vllm/cache-fixed", Kinds: []fact.Kind{fact.VLLMCacheTooSmall, fact.VLLMNoCache}, If: when.Set("kv_cache_memory_bytes", ""),
		Cause: cause.BudgetMisconfigured, Weight: 0.9,
		Means: "The cache's size was set by hand (`kv_cache_memory_bytes`, {kv_cache_memory_bytes}), and one request of the allowed length needs more than that. vLLM ignores the share of the card while it is set.",
		Not:   "`--gpu-memory-utilization`: it does not count beside `--kv-cache-memory-bytes`.",
		Cures: []cause.Cure{
			tell("raise_gpu_memory_utilization", "Raise or remove the fixed size", "Take `--kv-cache-memory-bytes` out of the command, so that vLLM sizes the cache by its share of the card, or raise it by what is lacking.", "free"),
			as("lower_context", "Or accept shorter requests", "longer prompts are refused"),
		},
		Sources: []string{"vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-share", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: enoughCard,
		Cause: cause.ContextTooLong, Weight: 0.85,
		Means: "The model fits. One request of the full length needs {asked} of cache and {room} is left of vLLM's share: {short} short. The card has more than the share takes, so the share or the length can give it.",
		Not:   "`--max-num-seqs`: the check is for one request.",
		Cures: []cause.Cure{
			as("lower_context", "Accept shorter requests", "longer prompts are refused"),
			as("raise_gpu_memory_utilization", "Or raise vLLM's share of the card", "less for everything else on the card"),
			as("quantize_kv_cache", "Or keep the cache at 8 bit", "slight loss; not on every attention backend"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/config/cache.py"},
	},
	{
		ID: "vllm/cache-length", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: when.Not(enoughCard),
		Cause: cause.ContextTooLong, Weight: 0.92,
		Means: "The weights fit. vLLM reserves for the longest request it would accept, even if none comes: {asked} of cache for one, {room} left, {short} short. The default length is the model's own maximum.",
		Not:   "`--max-num-seqs` or CUDA graphs: the check is for a single request.",
		Cures: []cause.Cure{
			as("lower_context", "Accept shorter requests", "longer prompts are refused"),
			as("quantize_kv_cache", "Keep the cache at 8 bit", "slight loss; not on every attention backend"),
			as("multi_gpu", "Split it over more cards", "needs them"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/cache-hardly-any", Kinds: []fact.Kind{fact.VLLMTokens}, If: hardlyAnyTokens,
		Cause: cause.ModelTooLarge, Weight: 0.65,
		Means: "After the weights the cache holds only a few hundred tokens, which serves nobody. It is the weights that take the share, not the length of the context.",
		Not:   "`--max-model-len` alone: it would have to be a few hundred tokens.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
			as("raise_gpu_memory_utilization", "Give vLLM a larger share, if below 0.9", "less for everything else on the card"),
			as("multi_gpu", "Split it over more cards", "needs them"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-tokens", Kinds: []fact.Kind{fact.VLLMTokens}, If: when.Not(hardlyAnyTokens),
		Cause: cause.ContextTooLong, Weight: 0.9,
		Means: "The model runs; one request of the longest length it would accept is larger than the cache that is left. vLLM refuses that at start, even if no request is ever that long.",
		Not:   "`--max-num-seqs`: the check is for one request.",
		Cures: []cause.Cure{
			as("lower_context", "Accept shorter requests", "longer prompts are refused"),
			as("quantize_kv_cache", "Keep the cache at 8 bit", "slight loss; not on every card"),
			as("raise_gpu_memory_utilization", "Give vLLM a larger share", "less for everything else on the card"),
		},
		Sources: []string{"vllm/worker/worker.py"},
	},
	{
		ID: "vllm/cache-graph-estimate", Kinds: []fact.Kind{fact.VLLMNoCache}, If: absurdGraphs,
		Cause: cause.SoftwareBug, Weight: 0.85,
		Means: "vLLM estimated the memory of its CUDA graphs far above the usual 0.2 to 3 GiB and took that off the cache. The estimate is wrong, not the card too small.",
		Not:   "A larger share: the estimate takes it away again.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Turn the estimate off", Kind: "env", Text: "export VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", Cost: "graphs may then need a little of the rest"},
			as("enforce_eager", "Or run without CUDA graphs", "slower tokens"),
		},
		Sources: []string{"vllm/envs.py", "vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/cache-none-share", Kinds: []fact.Kind{fact.VLLMNoCache}, If: shareBelow(0.8),
		Cause: cause.BudgetMisconfigured, Weight: 0.85,
		Means: "vLLM may use only a part of the card, by the share that was set, and weights and the measured working memory take all of that part. The rest of the card stays unused.",
		Not:   "A shorter context: it is the share that leaves nothing.",
		Cures: []cause.Cure{
			as("raise_gpu_memory_utilization", "Raise vLLM's share of the card", "less for everything else on the card"),
			as("use_lower_quant", "Or load smaller weights", "slight loss of quality"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", vllmThreads + "issues/2248"},
	},
	{
		ID: "vllm/cache-none-versions", Kinds: []fact.Kind{fact.VLLMNoCache}, Said: []string{"determine_num_available_blocks", "worker/worker.py", "worker/gpu_executor.py", "executor/gpu_executor.py"},
		Cause: cause.BudgetMisconfigured, Weight: 0.6,
		Means: "After the weights and one trial run nothing of vLLM's share is left for the cache. The trial run of this older engine runs as many tokens as the context is long, so a long default length eats the cache too.",
		Cures: []cause.Cure{
			as("lower_context", "Set the length that you need", "longer prompts are refused"),
			as("raise_gpu_memory_utilization", "Give vLLM a larger share", "less for everything else on the card"),
			as("use_lower_quant", "Or load smaller weights", "slight loss of quality"),
		},
		Sources: []string{"vllm/worker/worker.py", vllmThreads + "issues/2248"},
	},
	{
		ID: "vllm/cache-none", Kinds: []fact.Kind{fact.VLLMNoCache},
		Cause: cause.ModelTooLarge, Weight: 0.55,
		Means: "Weights, one trial run and the graphs take all of vLLM's share, so nothing is left for the cache. Weights are likely most of it; the trial run grows with `--max-num-batched-tokens` and with images.",
		Not:   "`--max-num-seqs`: sequences live in the cache, which does not exist yet.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
			as("raise_gpu_memory_utilization", "Raise the share, if it is 0.92 or less", "less for everything else on the card"),
			as("lower_max_batched_tokens", "Compute fewer tokens at once", "slower long prompts"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/v1/worker/gpu_worker.py", vllmThreads + "issues/2248"},
	},
}

// startsDraft: a draft model of speculative decoding is being loaded.
var startsDraft = []string{"drafter.load_model", "load_draft_model", "spec_decode/eagle.py", "spec_decode/speculator.py", "spec_decode/draft_model.py", "spec_decode/spec_decode_worker.py"}

var heldByOthers = func(c *ledger.Case) bool { return ledger.LoadingWeights(c) && otherHolders(c) }
