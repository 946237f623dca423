package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/when"
)

const vllmThreads = "https://github.com/vllm-project/vllm/"

// vllmCards are vLLM's: its checks at start, then allocations by what was done.
var vllmCards = slices.Concat(vllm.Around, vllmOpenCards, vllmCheckCards, vllm.MetalCards(noCacheFigures), vllmCPUCards, vllmCacheCards, vllmLoadCards, []cause.Card{crowdedCache}, vllmRunCards)

// vllmCheckCards are about refusals before anything is loaded, and kills.
var vllmCheckCards = []cause.Card{
	{
		ID: "vllm/free-unified", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, Said: []string{"GB10", "DGX Spark", "Jetson", "Thor", "GH200", "unified memory"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: {short} too little looks free for its share",
		Means:    "On this machine CPU and GPU share one memory, and several vLLM versions count Linux's file cache as used. Files read earlier, such as the weights of the last start, are probably part of the {taken} that looks used (`free -h`: buff/cache).",
		Not:      "A shorter context: the check runs before weights and cache are allocated.",
		Cures: []cause.Cure{
			typed("restart_session", "Drop the file cache, then start vLLM at once", "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches", "free; files are read again"),
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization`", "{low} is {low_gib}. Leave the system 8 to 16 GiB in any case.", "a smaller KV cache"),
			as("upgrade_version", "Update vLLM: 2026 versions fixed this check", "flags may have changed"),
		},
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/48140", "https://github.com/NVIDIA/xr-ai/pull/440"}, Solved: 1,
	},
	{
		ID: "vllm/free-full", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.All(takenByJob, hardlyFree),
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: {taken} of the card is already taken",
		Means:    "{taken} of {total} was in use before vLLM loaded anything. Usually that is another server, a notebook, or workers of an earlier vLLM that are still running. {holder} Model and context length play no part in this check.",
		Not:      "A smaller model or a shorter context alone: nothing was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what holds the card and end what is yours", Told: "On the host (a container may not show other processes) look for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start. [[{how}]]Stop its container or service, or `kill PID`, and wait until its memory is free.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			keepBoth,
			lighterShare,
			as("select_gpu", "Or use another card", "needs a free card"),
			sharedCard("Share the card: lower `gpu_memory_utilization`", "{low} is {low_gib}; weights, activations and KV cache must all fit in that. {where}"),
		},
		Later:   "If it happens at every restart, wait 15 seconds between stop and start: the old process needs time to free its memory.",
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135"},
	},
	{
		ID: "vllm/free-job", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: takenByJob,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: {short} too little is free for its share",
		Means:    "{taken} of {total} was in use before vLLM loaded anything, more than a desktop usually takes. Likely holders are another server, a notebook, or workers of an earlier vLLM that are still running. {holder}",
		Not:      "`--max-model-len`, `--max-num-seqs` or a smaller model alone: the check compares only free memory with the share.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what holds the card and end what is yours", Told: "On the host (a container may not show other processes) look for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start. [[{how}]]Stop its container or service, or `kill PID`. {short} more must be free.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			lighterShare,
			vllm.Given(when.Not(heavyForShare), added("lower_gpu_memory_utilization", "Share the card: lower `gpu_memory_utilization`", "{low} is {low_gib}[[ and leaves {spare} free]] (the limit right now is {most}). The shares of two servers may add up to 0.95 at most. {where}", "a smaller KV cache")),
			as("select_gpu", "Or use another card", "needs a free card"),
		},
		Later:   "If it happens at every restart, wait 15 seconds between stop and start: the old process needs time to free its memory.",
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135", vllmThreads + "issues/20305"},
	},
	{
		ID: "vllm/free-desktop", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.Not(takenByJob),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: {short} too little is free for its share[[ of {share}]]",
		Means:    "[[{taken} of {total} was in use at that moment. A few hundred MiB are vLLM's own CUDA context; the log does not say what the rest is, often a desktop and browser, Windows under WSL, or an earlier vLLM that had not ended yet. ]]vLLM checks this before it loads anything, so your model may well fit.",
		Not:      "A smaller model or a shorter context alone: nothing was loaded yet.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization` slightly", "{low} is {low_gib}[[ and leaves {spare} free]] (the limit right now is {most}). The KV cache shrinks by as much; speed stays the same. {where}", "a slightly smaller KV cache"),
			{Fix: "close_other_apps", Title: "Or free {short} and keep the share", Told: "`nvidia-smi` on the host shows who holds it: end an old `VLLM::EngineCore` of yours with `kill PID`, close a browser or game.", Cost: "free"},
			vllm.Flags("lower_context", "If the KV cache is then too small, lower `max_model_len`", "For example:", "longer prompts are refused", vllm.Option("max_model_len", "8192")),
		},
		Later:   "If it happens only at restarts, wait 15 seconds between stop and start.",
		Sources: []string{"vllm/v1/worker/utils.py", "https://github.com/Alex8791-cyber/cognithor/pull/318"}, Solved: 1,
	},
	{
		ID: "vllm/profile-moved", Kinds: []fact.Kind{fact.VLLMProfileMoved},
		Cause: cause.LeakedProcess, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "did not start: another process let go of GPU memory while it was measuring",
		Means:    "Memory was not short. vLLM measures its own use by how much free memory shrinks, and while it measured, free memory grew[[ by {grew}]][[: {before_gib} before, {room} after]]. Something freed memory just then. Usual reasons: an earlier vLLM that was still ending, another server starting, a job that finished; where CPU and GPU share one memory (GH200, DGX Spark, Jetson) also Linux's file cache.",
		Not:      "Another share, a smaller model or a shorter context: the measurement failed, memory was not short.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Wait until the card is quiet, then start again", Told: "End what is left of an earlier vLLM (`kill PID`), and start when the used memory no longer changes. If a service restarts vLLM, add a delay (systemd: `RestartSec=30`).", Ways: []cause.Way{
				{For: "Shared memory of CPU and GPU", Text: "`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches` just before the start."},
			}, Kind: "shell", Text: "nvidia-smi -l 1", Cost: "a minute"},
			{Fix: "kill_stale_process", Title: "Start several servers on one card one after the other", Told: "Start the next when the first answers. Separate containers change nothing on the same card; another card does (`CUDA_VISIBLE_DEVICES=1`).", Kind: "shell", Text: "until curl -sf localhost:8000/health; do sleep 5; done   # the first one's port; then start the second", Cost: "a slower start"},
			{Fix: "upgrade_version", Title: "If it keeps failing, set `--kv-cache-memory-bytes`", Told: "vLLM (0.11 and later) then skips this measurement; use the free memory less the weights and 2 to 4 GiB (this is 8 GiB):", Kind: "config", Text: "--kv-cache-memory-bytes 8589934592", Cost: "nothing checks that it fits"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/cache.py", vllmThreads + "issues/56830"},
	},
}

// startsDraft: a draft model of speculative decoding is being loaded.
var startsDraft = []string{"drafter.load_model", "load_draft_model", "spec_decode/eagle.py", "spec_decode/speculator.py", "spec_decode/draft_model.py", "spec_decode/spec_decode_worker.py"}

// keepBoth is the cure where another server holds what vLLM wants, and both are
// to stay: each takes nine tenths of the card unless told otherwise.
var keepBoth = cause.Cure{
	Fix: "lower_gpu_memory_utilization", Title: "To keep both on this card, give each a share", If: when.All(twoFit, hardlyFree, when.Not(shareToUse)),
	Told: "Start the other server again with `--gpu-memory-utilization {other_share}` (SGLang: `--mem-fraction-static`), then this one with {this_share}: each takes about 0.9 unless told otherwise, and each share must hold its own weights and cache.", Cost: "a smaller KV cache for each",
	Steps: vllm.Server.Sets(launch.From("gpu_memory_utilization", func(c *ledger.Case) string { this, _ := vllm.Both(c); return this })),
}

// shareToUse: what is free is a share that a model can run in.
func shareToUse(c *ledger.Case) bool {
	return ledger.SizeOf(c.F().Free) > 4<<30 && ledger.SizeOf(c.F().Free)*5 > cardTotal(c)
}

// twoFit: another server and this one's model fit the card side by side.
func twoFit(c *ledger.Case) bool { this, _ := vllm.Both(c); return this != "" }

// noRoomAtAll: so little is free at the start that no share of it helps.
func noRoomAtAll(c *ledger.Case) bool {
	f := c.F().Free
	return startRefused(c) && f != nil && f.Bytes < 3<<30
}

// sharedCard is the cure where a model can still run beside what is there.
func sharedCard(title, told string) cause.Cure {
	cure := added("lower_gpu_memory_utilization", title, told, "little KV cache")
	cure.If = when.All(shareToUse, when.Not(heavyForShare))
	return cure
}

// heldByOthers: what others hold is in the way, while weights load or at a time
// that the log does not show.
func heldByOthers(c *ledger.Case) bool {
	return (stage.LoadingWeights(c) || stage.OnCard(c) && c.Phase == "unknown" && !stage.CacheTaken(c)) && otherHolders(c) && !ledger.Roomy(c)
}

// fixedByHand: the cache's size is set, so it is the same at every start, and
// by both figures most of the length fits.
func fixedByHand(c *ledger.Case) bool {
	need, have := ledger.SizeOf(c.F().KVNeeded), ledger.SizeOf(c.F().KVAvailable)
	return when.Set("kv_cache_memory_bytes", "")(c) && need > 0 && have > need/2
}
