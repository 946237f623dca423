package engine

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/when"
)

// pausedCards are about an engine that shares its card with the trainer of the
// same job, and sleeps while that works.
var pausedCards = []cause.Card{
	{
		ID: "sglang/paused-pool", Kinds: []fact.Kind{fact.MemorySaver}, Figures: holderFigures,
		If:    func(c *ledger.Case) bool { return holderFigures(c)["holder"] != "" },
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "could not take back the GPU memory that it had lent to the trainer",
		Means:    "The engine frees its memory while the trainer works and takes it back for the next rollout. This time the GPU was not free. {holder} PyTorch in the trainer may keep memory that it no longer uses, or it was not offloaded yet. Refused connections and SIGQUIT are consequences.",
		Not:      "Longer HTTP retries: they free no memory.",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", Title: "Set `expandable_segments` for the trainer", Cost: "none", Told: "Only for the train actors (Ray: `env_vars` of their `runtime_env`). Do not set it where torch_memory_saver runs (the engine, or a trainer that it offloads, as in slime): that refuses it.", Kind: "env", Text: "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
			{Fix: "empty_cache", Title: "Offload the trainer and empty its cache before the engine resumes", Cost: "a little time a step", Told: "First move weights and optimizer to RAM (verl: `param_offload`, `optimizer_offload`; slime: offloading of the train part). Then in that process:", Kind: "python", Text: "gc.collect()\ntorch.cuda.empty_cache()   # before resume_memory_occupation"},
			{Fix: "lower_mem_fraction", Title: "Or give the engine a smaller share", Cost: "a smaller KV cache"},
		},
		Sources: []string{"torch_memory_saver/csrc/core.cpp", "sglang/python/sglang/srt/server_args.py", "https://github.com/fzyzcjy/torch_memory_saver"},
	},
	{
		ID: "sglang/paused-open", Kinds: []fact.Kind{fact.MemorySaver},
		Headline: "could not take back the GPU memory that it had lent",
		Means:    "torch_memory_saver frees memory while others work and takes it back at `resume`. This time something else was using it. In training that is usually the trainer: its weights, optimizer state or PyTorch's cache.",
		Not:      "A larger share for the engine: it then needs even more.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Offload the trainer before the engine resumes", Cost: "a little time a step", Told: "Move weights and optimizer to RAM (verl: `param_offload`, `optimizer_offload`). Then in the trainer's process:", Kind: "python", Text: "gc.collect()\ntorch.cuda.empty_cache()   # before resume_memory_occupation"},
			{Fix: "lower_mem_fraction", Title: "Or lower the engine's `--mem-fraction-static`", Told: "By 0.1. In a training job it is a setting of the rollout engine.", Cost: "a smaller KV cache"},
			{Fix: "kill_stale_process", Title: "Check what uses the GPU at that moment", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"torch_memory_saver/csrc/core.cpp", "https://github.com/fzyzcjy/torch_memory_saver/issues/99"},
	},
}

// holderFigures say which listed process holds most.
func holderFigures(c *ledger.Case) map[string]string {
	out, most := map[string]string{"holder": ""}, int64(2*units.GiB)
	for _, p := range c.F().OtherProcesses {
		if p.Bytes > most && p.PID != c.OurPID {
			most = p.Bytes
			out["holder"] = fmt.Sprintf("Process %d holds %s of it; in such a job that is usually the trainer.", p.PID, units.Amount(p.Bytes))
		}
	}
	return out
}

// sglangSizesGraphs: this release can limit the batches that have a graph.
func sglangSizesGraphs(c *ledger.Case) bool { return !era.Lacks(c, "sglang", "--cuda-graph-max-bs") }

var (
	sglangGraphs   = cause.Cure{Fix: "enforce_eager", If: sglangSizesGraphs, Title: "Lower `--cuda-graph-max-bs`", Told: "Larger batches then run without graphs; `--disable-cuda-graph` turns all off. Since June 2026 the option is `--cuda-graph-max-bs-decode`.", Kind: "config", Text: "--cuda-graph-max-bs 16", Cost: "large batches run slower"}
	sglangNoGraphs = cause.Cure{Fix: "enforce_eager", If: when.Not(sglangSizesGraphs), Title: "Turn CUDA graphs off", Told: "Versions from 0.3.5 on can limit their size instead.", Kind: "config", Text: "--disable-cuda-graph", Cost: "slower answers"}
)

// sglangPixels is what the client sends.
var sglangPixels = cause.Cure{Fix: "lower_resolution", Title: "Send smaller images, or fewer in a request", Told: "Half the width and height is a quarter of the pixels. For videos send fewer frames.", Cost: "less fine detail"}

// farShort: more than a twelfth of the card is missing, which the share cannot
// give where weights take most of it.
func farShort(c *ledger.Case) bool {
	return c.Shortfall.Has() && c.Total.Has() && c.Shortfall.Bytes*12 > c.Total.Bytes
}

// sglangMaybeLoad: nothing of it speaks against the load: no graphs, and an
// allocator that keeps next to nothing unused, as no step of work leaves it.
func sglangMaybeLoad(c *ledger.Case) bool {
	return sglangLoading(c) && c.Slack.Has() && c.Slack.Bytes < 128*units.MiB
}
