package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

const vllmThreads = "https://github.com/vllm-project/vllm/"

// vllmCards are vLLM's: its checks at start, then allocations by what was done.
var vllmCards = slices.Concat(vllmCheckCards, vllmMetalCards, vllmCPUCards, vllmCacheCards, vllmLoadCards, []cause.Card{crowdedCache}, vllmRunCards)

// vllmCheckCards are about refusals before anything is loaded, and kills.
var vllmCheckCards = []cause.Card{
	{
		ID: "vllm/free-unified", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, Said: []string{"GB10", "DGX Spark", "Jetson", "Thor", "GH200", "unified memory"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: {short} too little looks free for its share",
		Means:    "Processor and graphics share one memory here, and several vLLM versions count the file cache in it as taken. Files read before, such as the weights of the last start, are likely most of the {taken} that looks used; the model plays no part yet.",
		Not:      "A shorter context: the check runs before weights and cache.",
		Cures: []cause.Cure{
			typed("restart_session", "Drop the file cache, then start at once", "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches", "free; files are read again"),
			added("lower_gpu_memory_utilization", "Or ask for a smaller share", "{low} is {low_gib}; leave the system 8 to 16 GiB in any case.", "a smaller KV cache"),
			as("upgrade_version", "Update vLLM: this check was fixed in 2026", "flags may have changed"),
		},
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/48140", "https://github.com/NVIDIA/xr-ai/pull/440"}, Solved: 1,
	},
	{
		ID: "vllm/free-full", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.All(takenByJob, hardlyFree),
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: {taken} of the card is already taken",
		Means:    "Something else holds {taken} of {total}, before vLLM has loaded anything: another server or notebook, or workers of an earlier vLLM that outlived it. The log does not name it; `nvidia-smi` does. Your model and context play no part in this check.",
		Not:      "A smaller model or a shorter context: nothing was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what holds the card, end what is yours", Told: "Look on the host (a container does not show the others) for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start; stop its container or service, else `kill PID`, and wait until its memory is gone.", Kind: "shell", Text: "nvidia-smi", Cost: "whatever you end stops"},
			as("select_gpu", "Or use another card", "only where there is one"),
			lighterShare,
			sharedCard("Or share the card, for a small model only", "{low} is {low_gib}, in which weights, working memory and cache all have to fit. {where}"),
		},
		Later:   "If it comes back at every restart: the old process needs some seconds to let go; wait 15 seconds between stop and start.",
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135"},
	},
	{
		ID: "vllm/free-job", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: takenByJob,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: {short} too little is free for its share",
		Means:    "{taken} of {total} was in use before vLLM loaded anything, more than a desktop takes: another server, a notebook, or workers of an earlier vLLM that have not ended. The log does not name it; `nvidia-smi` does. The model plays no part yet.",
		Not:      "`--max-model-len`, `--max-num-seqs` or a smaller model: this check comes before any of them counts.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what holds the card, end what is yours", Told: "Look on the host (a container does not show the others) for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start; stop its container or service, else `kill PID`. {short} more has to be free.", Kind: "shell", Text: "nvidia-smi", Cost: "whatever you end stops"},
			lighterShare,
			given(when.Not(heavyForShare), added("lower_gpu_memory_utilization", "Or share the card: a smaller share", "{low} is {low_gib}[[ and leaves {spare}]] ({most} is the limit now). Two servers need shares that add up to 0.95 at most. {where}", "a smaller KV cache")),
			as("select_gpu", "Or use another card", "only where there is one"),
		},
		Later:   "If it comes back at every restart: the old process needs some seconds to let go; wait 15 seconds between stop and start.",
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135", vllmThreads + "issues/20305"},
	},
	{
		ID: "vllm/free-desktop", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.Not(takenByJob),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: {short} too little is free for its share[[ of {share}]]",
		Means:    "[[{taken} of {total} was in use at that moment. Some hundred MiB are vLLM's own CUDA context; whose the rest is the log does not say: a desktop and browser, Windows under WSL, or an earlier vLLM that was not gone yet. ]]vLLM checks this before it loads anything, so it says nothing against your model.",
		Not:      "A smaller model, a shorter context, `expandable_segments`: nothing was loaded yet.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Ask for a little less", "{low} is {low_gib}[[ and leaves {spare}]] (the limit at this moment: {most}). That much less KV cache: fewer tokens at once, same speed. {where}", "a slightly smaller KV cache"),
			{Fix: "close_other_apps", Title: "Or free {short} and keep the share", Told: "`nvidia-smi` on the host says who holds it: `kill PID` for an old `VLLM::EngineCore` of yours, close a browser or game.", Cost: "free"},
			flags("lower_context", "It then reports too little KV cache", "Allow shorter requests as well, for example:", "longer prompts are refused", option("max_model_len", "8192")),
		},
		Later:   "If it happens only at restarts, wait 15 seconds between stop and start.",
		Sources: []string{"vllm/v1/worker/utils.py", "https://github.com/Alex8791-cyber/cognithor/pull/318"}, Solved: 1,
	},
	{
		ID: "vllm/profile-moved", Kinds: []fact.Kind{fact.VLLMProfileMoved},
		Cause: cause.LeakedProcess, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "did not start: another process let go of GPU memory while it was measuring",
		Means:    "This is no shortage. vLLM works out its own use from what becomes less on the card, and while it measured there became [[{grew} ]]more[[: {before_gib} free before, {room} after]]. Something let go of memory just then: an earlier vLLM still ending, a second one starting, a job that finished; on machines with one memory for both (GH200, DGX Spark, Jetson) also the system's file cache.",
		Not:      "Another share, a smaller model, a shorter context: the measurement failed, not the amount.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Wait until the card is quiet, then start again", Told: "The list below shows what is left of an earlier vLLM: end it (`kill PID`), and start when the used memory no longer moves. Where something restarts vLLM by itself, let it wait (systemd: `RestartSec=30`).", Ways: []cause.Way{
				{For: "One memory for both", Text: "`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches` just before the start."},
			}, Kind: "shell", Text: "nvidia-smi -l 1", Cost: "a minute"},
			{Fix: "kill_stale_process", Title: "Several servers on one card: one after the other", Told: "Start the next when the first answers. A container of its own changes nothing on the same card; another card does (`CUDA_VISIBLE_DEVICES=1`).", Kind: "shell", Text: "until curl -sf localhost:8000/health; do sleep 5; done   # the first one's port; then start the second", Cost: "a slower start"},
			{Fix: "upgrade_version", Title: "It keeps failing: fix the cache's size by hand (8 GiB as an example)", Told: "Take what is free, less the weights and 2 to 4 GiB. vLLM (0.11 and later) then skips this measurement.", Kind: "config", Text: "--kv-cache-memory-bytes 8589934592", Cost: "nothing checks that it fits"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/cache.py", vllmThreads + "issues/56830"},
	},
	{
		ID: "vllm/swap-too-large", Kinds: []fact.Kind{fact.VLLMSwapTooLarge},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "did not start: its swap space would take {asked} of {room} of RAM",
		Means:    "No card is involved. `swap_space` is system memory, 4 GiB unless set, counted once for each card of `--tensor-parallel-size`: {asked} in all, more than 70 % of what this machine or container has. Only requests with beam search or several samples use it.",
		Not:      "A smaller model or share of the card: neither changes this sum.",
		Cures: []cause.Cure{
			as("lower_swap_space", "Set the swap space to 0", "preempted requests are computed again"),
			as("raise_memory_limit", "Or give the container more memory", "only if the machine has it"),
			tell("upgrade_version", "Or update vLLM", "The V1 engine has no use for it, and 2026 versions dropped the option. `pip install -U vllm`", "flags may have changed"),
		},
		Sources: []string{"vllm/config/cache.py", vllmThreads + "pull/1090"},
	},
	{
		ID: "vllm/swap-full", Kinds: []fact.Kind{fact.VLLMSwapFull},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: swapFigures,
		Headline: "aborted: its cache on the card and its own swap pool are both full",
		Means:    "The KV cache on the card ran out of blocks. vLLM's V0 engine (to 0.10) then moves requests that have several samples (n > 1, beam search) to a pool in system memory, `swap_space`, 4 GiB per card unless set, and that was full too. Too many or too long sequences run at once for the cache.",
		Not:      "Swap of the operating system, or free RAM by itself: this pool is vLLM's own and has a fixed size.",
		Cures: []cause.Cure{
			{Fix: "raise_gpu_memory_utilization", Title: "Give the cache more room", Told: "As far as the card allows; a trainer on the same card needs its part. {set_share}.", Cost: "less for everything else on the card"},
			{Fix: "lower_max_num_seqs", Title: "Run fewer sequences at once", Told: "{set_seqs}. Halve again if it comes back; shorter answers help the same way.", Cost: "slower"},
			{Fix: "upgrade_version", Title: "Or get rid of the swapping", Told: "The V1 engine (the default since 0.8) computes such requests again instead. Staying on V0: a larger pool, 16 GiB of RAM for each card, with {set_swap}; or ask n times for one sample each.", Cost: "an update to test, or RAM"},
		},
		Sources: []string{"vllm/core/scheduler.py", "https://github.com/verl-project/verl/pull/960"},
	},
	{
		ID: "vllm/killed-kernel", Said: []string{"Killed process"}, If: when.All(func(c *ledger.Case) bool {
			return c.Framework == "vllm" && c.Contains("killed process") && !c.Root(fact.BuildKilled)
		}),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "lost a worker: Linux killed it for want of system memory",
		Means:    "The kernel ended a worker of vLLM's: system memory ran out, not the card's. What fills it is likely what the ranks keep there: with `--cpu-offload-gb` each of them that many GiB, pinned, and while weights are packed for the kernels (Marlin) a second copy of a part.",
		Not:      "`--gpu-memory-utilization`, `--max-model-len`: both are about the card.",
		Cures: []cause.Cure{
			words("use_lower_quant", "Bring less into system memory", "Smaller weights (4 bit instead of 8 or 16), or a lower `--cpu-offload-gb`, so that ranks x value stays a quarter below the RAM.", "quality, or more cards"),
			{Fix: "raise_memory_limit", Title: "See how much was there", Told: "If it is a container, raise its limit.", Kind: "shell", Text: "free -h; sudo dmesg -T | grep -i 'killed process'", Cost: "only if the machine has the memory"},
			as("add_swap", "Or add swap for the moment of packing", "a slow start"),
		},
		Sources: []string{"vllm/config/offload.py", "https://github.com/wtdcode/vllm-backport/issues/68"},
	},
	{
		ID: "vllm/killed", Kinds: []fact.Kind{fact.VLLMKilled, fact.ShellKilled}, If: func(c *ledger.Case) bool { return c.Framework == "vllm" },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed (signal 9): system memory ran out, most likely",
		Means:    "No Python error ends a process with signal 9. As a rule it is the kernel's out-of-memory killer or a container's limit: system memory ran out, not the card's, likely while weights were read, converted or offloaded. The kernel's log settles it.",
		Not:      "`--gpu-memory-utilization`, `--max-model-len`: both are about the card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See who was killed, then raise the limit", Told: "In Docker also `docker inspect CONTAINER` (its name; look for OOMKilled), in Kubernetes `kubectl describe pod`. The limit has to hold the largest checkpoint file for each rank, and all that is offloaded.", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process'", Cost: "only if the machine has the memory"},
			tell("lower_num_workers", "Need less while loading", "A checkpoint in `.safetensors` files is mapped, one in `.bin` files is read whole by every rank. Lower `--cpu-offload-gb` or `--swap-space` (each counts for every card) if you set one.", "a slower start"),
			as("add_swap", "Or add swap", "a slow start"),
		},
		Sources: []string{"vllm/v1/engine/utils.py", "https://github.com/wtdcode/vllm-backport/issues/68"},
	},
}

// startsDraft: a draft model of speculative decoding is being loaded.
var startsDraft = []string{"drafter.load_model", "load_draft_model", "spec_decode/eagle.py", "spec_decode/speculator.py", "spec_decode/draft_model.py", "spec_decode/spec_decode_worker.py"}

// noRoomAtAll: so little is free at the start that no share of it helps.
func noRoomAtAll(c *ledger.Case) bool { return startRefused(c) && c.Room.Has() && c.Room.Bytes < 3<<30 }

// sharedCard is the cure where a model can still run beside what is there.
func sharedCard(title, told string) cause.Cure {
	cure := added("lower_gpu_memory_utilization", title, told, "little KV cache")
	cure.If = func(c *ledger.Case) bool { return c.Room.Has() && c.Room.Bytes > 4<<30 && !heavyForShare(c) }
	return cure
}

// heldByOthers: what others hold is in the way, while weights load or at a time
// that the log does not show.
func heldByOthers(c *ledger.Case) bool {
	return (stage.LoadingWeights(c) || stage.OnCard(c) && c.Phase == "unknown" && !stage.CacheTaken(c)) && otherHolders(c)
}

// fixedByHand: the cache's size is set, so it is the same at every start, and
// by both figures most of the length fits.
func fixedByHand(c *ledger.Case) bool {
	need, have := ledger.SizeOf(c.F().KVNeeded), ledger.SizeOf(c.F().KVAvailable)
	return when.Set("kv_cache_memory_bytes", "")(c) && need > 0 && have > need/2
}
