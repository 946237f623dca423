package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
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
		Means:    "CPU and GPU share one memory on this machine, and several vLLM versions count Linux's file cache as used. Files read earlier, such as the weights, are probably part of the {taken} that looks used (`free -h`: buff/cache).",
		Not:      "A shorter context: this check comes before anything is loaded.",
		Cures: []cause.Cure{
			typed("restart_session", "Empty the file cache, then start vLLM at once", "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches", "free; files are read again"),
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization`", "{low} is {low_gib}. Always leave 8 to 16 GiB to the system.", "a smaller KV cache"),
			vllm.Given(when.Not(func(c *ledger.Case) bool { return era.Told(c, "vllm") && !era.Lacks(c, "vllm", era.ByStage) }), as("upgrade_version", "Update vLLM: versions from 2026 fixed this check", "flags may have changed")),
		},
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/48140", "https://github.com/NVIDIA/xr-ai/pull/440"}, Solved: 1,
	},
	{
		ID: "vllm/free-full", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.All(takenByJob, hardlyFree),
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: {taken} of the GPU is already in use",
		Means:    "{taken} of {total} was in use before vLLM loaded anything. Usually that is another server, a notebook, or processes left over from an earlier vLLM. {holder} The model and the context length do not matter here.",
		Not:      "A smaller model or a shorter context alone: nothing was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what uses the GPU and end what is yours", Told: "Look for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start. In a container, look on the host. [[{how}]]Stop its container or service, or run `kill PID`, and wait until the memory is free.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			keepBoth,
			lighterShare,
			vllm.Given(vllm.OnNVIDIA, otherGPU), vllm.Given(when.Not(vllm.OnNVIDIA), as("select_gpu", "Or use another GPU", "needs a free GPU")),
			sharedCard("Share the card: lower `gpu_memory_utilization`", "{low} is {low_gib}; weights, activations and KV cache must all fit in that. {where}"),
		},
		Later:   "If it happens at every restart, wait 15 seconds between stop and start: the old process needs time to free its memory.",
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135"},
	},
	{
		ID: "vllm/free-job", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: takenByJob,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: {short} too little is free for its share",
		Means:    "{taken} of {total} was in use before vLLM loaded anything, more than a desktop usually takes. Likely it is another server, a notebook, or processes left over from an earlier vLLM. {holder}",
		Not:      "`--max-model-len`, `--max-num-seqs` or a smaller model alone: this check only compares free memory with vLLM's share.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what uses the GPU and end what is yours", Told: "Look for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start. In a container, look on the host. [[{how}]]Stop its container or service, or run `kill PID`.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			lighterShare,
			vllm.Given(when.Not(heavyForShare), added("lower_gpu_memory_utilization", "Share the GPU: lower `gpu_memory_utilization`", "{low} is {low_gib}[[ and leaves {spare} free]] (the limit right now is {most}). The shares of two servers may add up to 0.95 at most. {where}", "a smaller KV cache")),
			vllm.Given(vllm.OnNVIDIA, otherGPU), vllm.Given(when.Not(vllm.OnNVIDIA), as("select_gpu", "Or use another GPU", "needs a free GPU")),
		},
		Later:   "If it happens at every restart, wait 15 seconds between stop and start: the old process needs time to free its memory.",
		Sources: []string{"vllm/v1/worker/utils.py", vllmThreads + "issues/50135", vllmThreads + "issues/20305"},
	},
	{
		ID: "vllm/free-desktop", Kinds: []fact.Kind{fact.VLLMFreeTooLow}, If: when.Not(takenByJob),
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: {short} too little is free for its share[[ of {share}]]",
		Means:    "[[{taken} of {total} was in use: a few hundred MiB by vLLM itself, the rest often by a desktop, a browser, Windows under WSL, or an earlier vLLM that was still stopping. ]]vLLM checks this before it loads anything, so your model may well fit.",
		Not:      "A smaller model or a shorter context alone: nothing was loaded yet.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization` slightly", "{low} is {low_gib}[[ and leaves {spare} free]] (the limit right now is {most}). Only the KV cache becomes smaller. {where}", "a slightly smaller KV cache"),
			{Fix: "close_other_apps", Title: "Or free {short} and keep the share", Told: "`nvidia-smi` on the host shows what uses it. Run `kill PID` for an old `VLLM::EngineCore` of yours, and close browsers or games.", Cost: "free"},
			vllm.Flags("lower_context", "If vLLM then says that the context does not fit, lower `max_model_len`", "For example:", "longer prompts are refused", vllm.Option("max_model_len", "8192")),
		},
		Later:   "If it happens only at restarts, wait 15 seconds between stop and start.",
		Sources: []string{"vllm/v1/worker/utils.py", "https://github.com/Alex8791-cyber/cognithor/pull/318"}, Solved: 1,
	},
	{
		ID: "vllm/profile-moved", Kinds: []fact.Kind{fact.VLLMProfileMoved},
		Cause: cause.LeakedProcess, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "did not start: another process freed GPU memory while vLLM was measuring",
		Means:    "Memory was not short. vLLM measures its own use by how much free memory shrinks, but free memory grew[[ by {grew}]][[: {before_gib} before, {room} after]]. Usually an earlier vLLM was still stopping, another server was starting, or a job finished. Where CPU and GPU share memory, Linux's file cache can do it too.",
		Not:      "Another share, a smaller model or a shorter context: only the measurement failed.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Wait until the GPU is quiet, then start again", Told: "End what is left of an earlier vLLM (`kill PID`). Start when the used memory no longer changes. If a service restarts vLLM, add a delay (systemd: `RestartSec=30`).", Ways: []cause.Way{
				{For: "Shared memory of CPU and GPU", Text: "`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches` just before the start."},
			}, Kind: "shell", Text: "nvidia-smi -l 1", Cost: "a minute"},
			{Fix: "kill_stale_process", Title: "Start several servers on one GPU one after the other", Told: "Start the next one when the first answers. Or use another GPU (`CUDA_VISIBLE_DEVICES=1`); separate containers on the same GPU do not help.", Kind: "shell", Text: "until curl -sf localhost:8000/health; do sleep 5; done   # the first one's port; then start the second", Cost: "a slower start"},
			{Fix: "upgrade_version", Title: "If it keeps failing, set `--kv-cache-memory-bytes`", Told: "Use the free memory minus the weights minus 2 to 4 GiB (this is 8 GiB); vLLM 0.11 and later then skip this measurement:", Kind: "config", Text: "--kv-cache-memory-bytes 8589934592", Cost: "vLLM does not check that it fits"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/cache.py", vllmThreads + "issues/56830"},
	},
}

// startsDraft: a draft model of speculative decoding is being loaded.
var startsDraft = []string{"drafter.load_model", "load_draft_model", "spec_decode/eagle.py", "spec_decode/speculator.py", "spec_decode/draft_model.py", "spec_decode/spec_decode_worker.py"}

// keepBoth is the cure where another server holds what vLLM wants, and both are
// to stay: each takes nine tenths of the card unless told otherwise.
var keepBoth = cause.Cure{
	Fix: "lower_gpu_memory_utilization", Title: "To keep both on this GPU, give each a share", If: when.All(twoFit, hardlyFree, when.Not(shareToUse)),
	Told: "By default each takes about 0.9 of the GPU. Restart the other server with `--gpu-memory-utilization {other_share}` (SGLang: `--mem-fraction-static`), then start this one with {this_share}. Each share must hold that model's weights and KV cache.", Cost: "a smaller KV cache for each",
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
